"""Arrow columns of any make as text, codes or numbers in NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require


def is_text(kind: Any) -> bool:
    """Whether a type holds text, be it through a dictionary."""
    types = require("pyarrow", extra="events").types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def text_of(column: Any) -> Any:
    """The column as plain Arrow text, with nulls as blanks; whole numbers lose a decimal part of zeros.

    >>> import pyarrow as pa
    >>> text_of(pa.array([25056.0, None])).to_pylist()
    ['25056', '']
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_floating(column.type):
        # a column of whole numbers with gaps is often stored as floats
        is_whole = pc.all(pc.equal(column, pc.floor(column))).as_py() is not False
        if is_whole and (pc.max(pc.abs(column)).as_py() or 0) < 2**53:
            column = column.cast(pa.int64())
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        column = column.cast(pa.large_string())
    return column.fill_null("") if column.null_count else column


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
