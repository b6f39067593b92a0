"""Arrow columns of any make as text, codes or numbers in NumPy arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require

LONGEST_TEXT: Final = 1 << 12
"""Bytes of one text of a table: no date, name or number has so many. A batch of 65,536 rows then has 256 MiB at most;
twice the length is twice the memory."""


def is_text(kind: Any) -> bool:
    """Whether a type holds text, be it through a dictionary."""
    types = require("pyarrow", extra="events").types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def text_of(column: Any) -> Any:
    """The column as plain Arrow text, with nulls as blanks; whole numbers lose a decimal part of zeros, each by itself.

    >>> import pyarrow as pa
    >>> text_of(pa.array([25056.0, None, 2.5])).to_pylist()
    ['25056', '', '2.5']
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_floating(column.type):
        # a column of whole numbers with gaps is often stored as floats; beyond 2^53 not every whole number is one
        is_whole = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), 2.0**53))
        whole = pc.if_else(is_whole, column, None).cast(pa.int64()).cast(pa.large_string())
        column = pc.coalesce(whole, column.cast(pa.large_string()))
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        column = readable(column) if types.is_binary(column.type) else column.cast(pa.large_string())
    return column.fill_null("") if column.null_count else column


def bounded(column: Any) -> Any:
    """The column of text without those longer than :data:`LONGEST_TEXT`, each by itself: they are read as missing.

    >>> import pyarrow as pa
    >>> bounded(pa.array(["Ornans", "x" * 5000])).to_pylist()
    ['Ornans', None]
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    if not longest_text(column) > LONGEST_TEXT:
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, bounded(column.dictionary))
    texts = column.cast(pa.large_string())
    return pc.if_else(pc.less_equal(pc.binary_length(texts), LONGEST_TEXT), texts, None)


def longest_text(column: Any) -> int:
    """The bytes of the longest text of a column, or of those its rows share."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    return pc.max(pc.binary_length(texts.cast(pa.large_string()))).as_py() or 0


def readable(column: Any) -> Any:
    """The column with every text or bytes that are no UTF-8 replaced by text that says so, each by itself.

    >>> import pyarrow as pa
    >>> readable(pa.array([b"Ornans", b"Besan\\xe7on"])).to_pylist()
    ['Ornans', 'Besan\ufffdon']
    """
    pa = require("pyarrow", extra="events")
    types = pa.types
    is_binary = types.is_binary(column.type) or types.is_large_binary(column.type)
    if types.is_dictionary(column.type) and is_text(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, readable(column.dictionary))
    if not (is_binary or is_text(column.type)):
        return column
    plain = column if is_binary else column.cast(pa.large_string())
    if not unreadable_texts(plain.cast(pa.large_binary()).fill_null(b"")):
        return plain.cast(pa.large_string())
    texts = [None if one is None else one.decode(errors="replace") for one in plain.cast(pa.large_binary()).to_pylist()]
    return pa.array(texts, pa.large_string())


def bytes_and_offsets(column: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a column of text and where each text begins and ends in them, without a copy of the bytes."""
    pa = require("pyarrow", extra="events")
    width: type[np.signedinteger[Any]] = np.int32 if pa.types.is_string(column.type) else np.int64
    _, starts, data = column.buffers()
    if starts is None or not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(starts, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return (np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)), offsets


def codes_of(column: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Distinct texts of a column, and for every row which of them it holds.

    >>> import pyarrow as pa
    >>> codes, names = codes_of(pa.array(["Ornans", None, "Ornans"]))
    >>> codes.tolist(), names
    ([0, 1, 0], ['Ornans', ''])
    """
    pa = require("pyarrow", extra="events")
    if not pa.types.is_dictionary(column.type):
        column = text_of(column).dictionary_encode()
    names = text_of(column.dictionary).to_pylist()
    indices = column.indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(len(names))
        names.append("")
    codes: NDArray[np.int32] = indices.to_numpy(zero_copy_only=False)
    return codes, names


def is_utf8(data: bytes | NDArray[np.uint8]) -> bool:
    """Whether bytes are valid UTF-8; several times as fast as decoding them."""
    pa = require("pyarrow", extra="events")
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int64)), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowException:
        return False
    return True


def unreadable_texts(column: Any) -> list[int]:
    """Which texts of a column of text or bytes are no UTF-8, each by itself."""
    data, offsets = bytes_and_offsets(column)
    part = data[offsets[0] : offsets[-1]]
    special = np.flatnonzero(part >= 0x80) + offsets[0]
    if not len(special):
        return []
    with_special = np.unique(np.searchsorted(offsets, special, side="right") - 1).tolist()
    # a character that begins in one text and ends in the next would be good for both together
    starts = data[offsets[:-1][np.diff(offsets) > 0]]
    if is_utf8(part) and not ((starts & 0xC0) == 0x80).any():
        return []
    return [number for number in with_special if not _decodes(data[offsets[number] : offsets[number + 1]].tobytes())]


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
