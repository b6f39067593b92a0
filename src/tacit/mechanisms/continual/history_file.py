"""The published history as a file: text that grows at its end, a line for each bin.

The head holds the description of the stream, so that any reader can compute errors and intervals. Each line ends with a
check over it and all lines before it. A last line that was not finished is no record: readers leave it out, and the
counter's next start completes it from the state. Anything else that is wrong is damage.
"""

from __future__ import annotations

import csv
import io
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.csv_cells import harmless
from tacit._base.reading import parse_json, read_document, reading
from tacit.errors import FormatError, Remedy, SettingError
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.continual.stream import Stream

FORMAT: Final = 1
_MARK: Final = "# tacit: "
_FEW_LABELS: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class HistoryText:
    """What a history file holds: its records up to the first that is not whole, where they end, and their check.

    ``is_torn`` if something follows them, ``is_damaged`` if that is more than one unfinished record.
    """

    history: History
    n_bytes: int
    check: int
    is_torn: bool
    is_damaged: bool

    def refuse_damage(self, path: Path) -> None:
        """Damage is not for a reader to mend."""
        if self.is_damaged:
            raise FormatError(
                f"{path} is damaged in record {self.history.n_bins}: its check does not agree. Restore it from a copy; "
                "what was published stays published."
            )


def head_of(stream: Stream) -> bytes:
    """The lines before the first record."""
    grid = stream.noise_model.grid
    unit = "events" if grid == 1 else f"1/{grid} of an event"
    about = {"format": FORMAT, "kind": "counter history", "stream": stream.to_dict()}
    columns = io.StringIO()
    csv.writer(columns, lineterminator="\n").writerow(
        ["bin", "period", *map(harmless, stream.domain.place.cells), "check"]
    )
    promise = "SIMULATION: protects nobody." if stream.is_simulation else " ".join(stream.guarantee.sentences())
    words = [
        "A Tacit counter. It may be published: these are running totals with noise, after every period.",
        f"Totals are in units of {unit}. The count of a range is the difference of two totals.",
        f"Costs {stream.noise_model.cost} per {stream.unit}. {promise}",
        f"Does not protect: {stream.unit.does_not_protect}",
        "Later releases of the same events add up: whoever publishes states the sum beside this history.",
    ]
    if not stream.noise_model.is_causal:
        words.append("Its noise was drawn ahead: it protects only events that do not react to what is published.")
    text = "".join(f"# {line}\n" for line in words)
    text += f"{_MARK}{json.dumps(about, sort_keys=True, ensure_ascii=False)}\n{columns.getvalue()}"
    return text.encode()


class Labels:
    """The names of bins, made in advance where many are needed."""

    def __init__(self, stream: Stream) -> None:
        self._time: Final = stream.domain.time
        self._known: list[str] = self._time.labels() if self._time.n_bins and self._time.n_bins <= _FEW_LABELS else []

    def between(self, first: int, stop: int) -> list[str]:
        if stop <= len(self._known):
            return self._known[first:stop]
        if stop - first <= _FEW_LABELS:
            return [self._time.label(bin) for bin in range(first, stop)]
        if self._time.n_bins is None:
            try:
                self._known = self._time.labels(2 * stop)
            except SettingError:  # beyond the calendar
                self._known = self._time.labels(stop)
        else:
            self._known = self._time.labels()
        return self._known[first:stop]


def lines_of(labels: Labels, first: int, totals: IntArray, check: int) -> tuple[bytes, int]:
    """Records of bins from ``first`` on, and the check of the last."""
    lines = []
    named = zip(labels.between(first, first + len(totals)), totals.tolist(), strict=True)
    for bin, (label, row) in enumerate(named, first):
        line = f"{bin},{label},{','.join(map(str, row))},".encode()
        check = zlib.crc32(line, check)
        lines.append(line + b"%08x\n" % check)
    return b"".join(lines), check


def first_check(head: bytes) -> int:
    return zlib.crc32(head)


def read_history(path: str | Path) -> History:
    """Read a published history; a last line that is not finished is left out."""
    text = read_text(Path(path))
    text.refuse_damage(Path(path))
    return text.history


def read_text(path: Path) -> HistoryText:
    """Read a history file with what is needed to go on writing it."""
    with reading(path, "a counter history", "Restore it from a copy.", missing=Remedy.START_COUNTER):
        content = read_document(path)
        stream, head = _head(content)
        return _records(stream, content, len(head), first_check(head))


def _head(content: bytes) -> tuple[Stream, bytes]:
    end = 0
    about: dict[str, Any] = {}
    while content[end : end + 1] == b"#":
        stop = content.index(b"\n", end) + 1
        line = content[end:stop].decode()
        if line.startswith(_MARK):
            about = parse_json(line[len(_MARK) :])
        end = stop
    if about["kind"] != "counter history":
        raise ValueError("kind")
    if about["format"] != FORMAT:
        raise FormatError(f"the history has format {about['format']}, not {FORMAT}. Install a newer Tacit.")
    stream = Stream.from_dict(about["stream"])
    stop = content.index(b"\n", end) + 1
    columns = next(csv.reader([content[end:stop].decode()]))
    names = stream.domain.place.cells
    # earlier versions wrote names as they are
    if columns not in [["bin", "period", *some, "check"] for some in (map(harmless, names), names)]:
        raise ValueError("columns")
    return stream, content[:stop]


def _records(stream: Stream, content: bytes, start: int, check: int) -> HistoryText:
    rows: list[list[int]] = []
    end = start
    is_damaged = False
    while end < len(content):
        newline = content.find(b"\n", end)
        line = content[end:newline] if newline >= 0 else b""
        body = line[:-8]
        after = zlib.crc32(body, check)
        parts = body.split(b",")
        is_whole = line[-8:] == b"%08x" % after and len(parts) == stream.n_places + 3 and parts[0] == b"%d" % len(rows)
        if not is_whole:
            is_damaged = 0 <= newline < len(content) - 1
            break
        rows.append([int(part) for part in parts[2:-1]])
        end, check = newline + 1, after
    totals = np.array(rows, np.int64).reshape(-1, stream.n_places)
    return HistoryText(History(stream, totals), end, check, is_torn=end < len(content), is_damaged=is_damaged)


def append(path: Path, lines: bytes, *, at: int) -> None:
    """Write records at a place in the file, cut what follows, and see them on the disk."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(lines)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
