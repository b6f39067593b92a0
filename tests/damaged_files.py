"""Damage to files: of their bytes, and of what they say in well-formed JSON, TOML or zip."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tacit.errors import TacitError

WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, -5, 0.5, -0.5, 1e308, -1e308, 1 << 31, 1 << 63, -(1 << 63), 1 << 64, 10**40),
    *(
        float("nan"),
        float("inf"),
        float("-inf"),
        "",
        "x",
        "0",
        "-1",
        "1/0",
        "nan",
        "inf",
        "0x",
        "0x" + "f" * 40,
        "\x00",
    ),
    *("1e400000000", "1e-400000000", "9" * 5000, "é" * 300, "\ud83d\ude00", "=1+1", "../../etc/hosts", "2018-02-30"),
    *(
        [],
        [[]],
        [0],
        [-1, 5],
        ["x"],
        [None],
        list(range(300)),
        {},
        {"": None},
        {"kind": "x"},
        {"dict": 3},
        {"array": 9},
    ),
)
"""What a damaged file may hold where something else should stand."""
_DEEP = "nested far too deeply"


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which some were changed, taken out, put in, repeated or cut off."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.geometric(0.1))
        way = rng.integers(0, 7)
        if way < 2 and at < len(data):
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif way == 2:
            del data[at : at + length]
        elif way == 3:
            data[at:at] = rng.bytes(length)
        elif way == 4:
            del data[at:]
        elif way == 5:
            data[at:at] = data[max(0, at - length) : at]
        else:
            data[at : at + length] = (
                rng.choice(list(b"0123456789-+.eE\"',[]{}:#=\n\t\x00"), length).astype(np.uint8).tobytes()
            )
    return bytes(data)


def distorted(tree: Any, rng: np.random.Generator) -> Any:
    """Return a copy of plain data in which something has the wrong type or value, is missing, or is too much."""
    changed = copy.deepcopy(tree)
    for _ in range(int(rng.integers(1, 3))):
        holders = [(parent, key) for parent, key in _places(changed)]
        if not holders:
            return changed
        parent, key = holders[int(rng.integers(0, len(holders)))]
        way = rng.integers(0, 8)
        if way == 0:
            del parent[key]
        elif way == 1 and isinstance(parent, dict):
            parent[f"{key}x"] = WRONG[int(rng.integers(0, len(WRONG)))]
        elif way == 1:
            parent.append(parent[key])
        elif way == 2:
            parent[key] = [[[parent[key]]]] if rng.random() < 0.5 else _DEEP
        elif way == 3 and isinstance(parent[key], (int, float)) and not isinstance(parent[key], bool):
            parent[key] = parent[key] * [-1, 2, 1000, 0.5, 10**12][int(rng.integers(0, 5))]
        elif way == 4 and isinstance(parent[key], str) and parent[key]:
            at = int(rng.integers(0, len(parent[key])))
            parent[key] = parent[key][:at] + "Z" + parent[key][at + 1 :]
        else:
            parent[key] = copy.deepcopy(WRONG[int(rng.integers(0, len(WRONG)))])
    return changed


def json_text(tree: Any) -> str:
    """Plain data as JSON, also where they are nested more deeply than Python writes."""
    return json.dumps(tree).replace(f'"{_DEEP}"', "[" * 100_000 + "]" * 100_000)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of plain data; depth is bounded, so that nested damage is not walked twice."""
    waiting = [(tree, 0)]
    while waiting:
        at, depth = waiting.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else []
        for key in keys:
            yield at, key
            if depth < 30:
                waiting.append((at[key], depth + 1))


def members(content: bytes) -> dict[str, bytes]:
    """The members of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(content: dict[str, bytes], *, twice: str = "") -> bytes:
    """A zip archive of these members, one of them twice if so wanted."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of names that stand twice, which is meant
        for name, data in content.items():
            for _ in range(2 if name == twice else 1):
                archive.writestr(name, data)
    return out.getvalue()


def wrong_array(array: np.ndarray, rng: np.random.Generator) -> bytes:
    """An array as NumPy's file with the wrong type, shape or numbers, or a header that says so."""
    shape = array.shape
    ways: list[Callable[[], np.ndarray]] = [
        lambda: -array.astype(np.int64) - 1,
        lambda: array.astype(np.float64) * np.nan,
        lambda: array.astype(np.float64) + 0.5,
        lambda: array.astype(np.float64) * np.inf,
        lambda: array.astype(np.complex128) * 1j,
        lambda: np.full(shape, 1 << 63, np.uint64),
        lambda: np.full(shape, (1 << 63) - 1, np.int64),
        lambda: np.full(shape, 1e300),
        lambda: array.astype(bool),
        lambda: array.astype(str),
        lambda: array.astype("S8"),
        lambda: array.astype("datetime64[s]") if array.dtype.kind == "i" else array.astype("f2"),
        lambda: array[:0],
        lambda: array.ravel(),
        lambda: array[..., None],
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: np.zeros((0, 0)),
        lambda: np.array(5),
        lambda: np.zeros(shape, [("a", "i4")]),
        lambda: array.astype(array.dtype.newbyteorder(">")),
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        way = int(rng.integers(0, len(ways) + 2))
        chosen = ways[way]() if way < len(ways) else array
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(chosen), allow_pickle=False)
    data = out.getvalue()
    if way < len(ways):
        return data
    huge = b"(%d," % [10**9, 10**30][int(rng.integers(0, 2))]  # more than memory holds, in a header of the same length
    at = data.index(b"(")
    return data[:at] + huge + data[at + len(huge) :]


def outcomes(damaged: Iterator[bytes], use: Callable[[bytes], Any]) -> Counter[str]:
    """How many files were read and refused; anything but an error of ours that says what to do fails."""
    found: Counter[str] = Counter()
    for content in damaged:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                use(content)
            except TacitError as refused:
                message = str(refused)
                assert message, content[:200]
                assert message.rstrip()[-1] in ".!?)>`…”" or ":" in message, message
                found["refused"] += 1
            except Exception as other:
                found[f"FAILED {type(other).__name__}: {str(other)[:100]}"] += 1
            else:
                found["read"] += 1
    return found
