"""The private state as a file: true sums, and the key of all noise. For its owner only (mode 600).

JSON: ``format``, ``kind`` (``"counter state"``), ``warning``, ``stream`` as in the history, ``spend`` (the ledger's
name for what was paid), ``key`` (32 bytes in hexadecimal), ``position`` (bins counted), ``memory`` (packed arrays:
true sums and noises that later totals need), ``latest`` (the totals published last) and ``checksum``, the SHA-256 of
the rest with its keys sorted. ``memory`` may change with a version.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.fields import text, whole, whole_numbers
from tacit._base.files import write_whole
from tacit._base.reading import parse_json, read_document, reading
from tacit.errors import FormatError, Remedy
from tacit.mechanisms.continual.counter import Counter, CounterState
from tacit.mechanisms.continual.stream import Stream
from tacit.privacy.guarantee import heads_from_dict, heads_to_dict

FORMAT: Final = 1
_LEAST: Final = -(1 << 61)
"""Sums and totals stay within 61 bits, whatever their sign."""


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """A counter, its state, and the totals of the last bins that were published, to complete the history with.

    ``spend`` is the ledger's name for what was paid, ``ledger_heads`` its head when the last bins were noted.
    """

    counter: Counter
    state: CounterState
    latest: IntArray
    spend: str
    ledger_heads: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SavedState({self.counter.stream.identity}, {self.state.position} bins, values withheld)"


def write_state(path: Path, saved: SavedState) -> None:
    """Write the state beside the old one, see it on the disk, and put it in its place: whole or not at all."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "kind": "counter state",
        "warning": "Private: holds true sums and the key of the noise. Guard it like the events.",
        "stream": saved.counter.stream.to_dict(),
        "spend": saved.spend,
        "key": saved.counter.key.hex(),
        "position": saved.state.position,
        "memory": {name: _packed(part) for name, part in saved.state.memory.items()},
        "latest": _packed(saved.latest),
    } | heads_to_dict(saved.ledger_heads)
    written = json.dumps(content | {"checksum": _checksum(content)}, sort_keys=True, ensure_ascii=False)
    write_whole(path, written.encode(), is_private=True)


def read_state(path: Path) -> SavedState:
    """Read a state and check that nothing in it was changed."""
    remedy = "Restore it from a copy that is as new as the history; nothing was counted."
    with reading(path, "a counter's state", remedy, missing=Remedy.START_COUNTER):
        content = parse_json(read_document(path))
        if content["kind"] != "counter state":
            raise ValueError("kind")
        if content["format"] != FORMAT:
            raise FormatError(f"{path} has format {content['format']}, not {FORMAT}. Install a newer Tacit.")
        if content["checksum"] != _checksum({name: part for name, part in content.items() if name != "checksum"}):
            raise ValueError("checksum")
        stream = Stream.from_dict(content["stream"])
        counter = Counter(stream, bytes.fromhex(content["key"]))
        memory = {name: whole_numbers(content["memory"], name, least=_LEAST) for name in content["memory"]}
        state = counter.restored(whole(content, "position"), memory)
        latest = whole_numbers(content, "latest", least=_LEAST).reshape(-1, stream.n_places)
        return SavedState(counter, state, latest, text(content, "spend"), heads_from_dict(content))


def _packed(part: IntArray) -> dict[str, Any]:
    """An array as short text, packed in a hurry: it is read back by ``unpack_array``."""
    portable = np.ascontiguousarray(part, "<i8")
    text = base64.b64encode(zlib.compress(portable.tobytes(), 1)).decode()
    return {"type": portable.dtype.str, "shape": list(part.shape), "zlib": text}


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
