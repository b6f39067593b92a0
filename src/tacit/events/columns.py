"""Arrow columns of any make as text, codes, numbers and users.

Numbers are read as people write them: coordinates, as in ``(47.2380, 6.0243)`` or ``47,2380; 6,0243``, and counts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.events.badrows import Reason

LONGEST_TEXT: Final = 1 << 12
"""Bytes of one text of a table: no date, name or number has so many. A batch of 65,536 rows then has 256 MiB at most;
twice the length is twice the memory."""


def is_text(kind: Any) -> bool:
    """Return whether a type holds text, be it through a dictionary."""
    types = require("pyarrow", extra="events").types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind))


def text_of(column: Any) -> Any:
    """Return the column as Arrow text, nulls as blanks; whole numbers lose a decimal part of zeros, each by itself.

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
    """Return the text column with those longer than :data:`LONGEST_TEXT` missing, each judged by itself.

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
    """Return the bytes of the longest text of a column, or of those its rows share."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    return pc.max(pc.binary_length(texts.cast(pa.large_string()))).as_py() or 0


def readable(column: Any) -> Any:
    """Return the column with every text or bytes that are no UTF-8 replaced by text that says so, each by itself.

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
    """Return the bytes of a column of text and where each text begins and ends in them, without a copy of the bytes."""
    pa = require("pyarrow", extra="events")
    width: type[np.signedinteger[Any]] = np.int32 if pa.types.is_string(column.type) else np.int64
    _, starts, data = column.buffers()
    if starts is None or not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(starts, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return (np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)), offsets


def codes_of(column: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Return distinct texts of a column, and for every row which of them it holds.

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
    """Return whether bytes are valid UTF-8; several times as fast as decoding them."""
    pa = require("pyarrow", extra="events")
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int64)), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowException:
        return False
    return True


def unreadable_texts(column: Any) -> list[int]:
    """Return the numbers of the texts in a column of text or bytes that are no UTF-8, each by itself."""
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


Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SIGNS: Final = {None: "[.,]", ".": "[.]", ",": "[,]"}
# eastings and northings of Lambert-93 do not overlap, so that their order need not be known
_LEAST_NORTHING: Final = 3_000_000.0
MAX_COUNT: Final = 10**12
"""The most events of a row: more than people ever lived are a misprint, and 2^22 such rows fit into 64 bits."""
# 13 digits hold it; longer numbers are cut to it before they become 64-bit ones
_DIGITS: Final = 13
# 1,000 is a thousand to some and one to others: with exactly three digits after it a sign tells nothing
_WHOLE: Final = r"^\+?(?P<whole>[0-9]+)(?:[.,](?:0{0,2}|0{4,}))?$"


def read_location(column: Any, *, decimal: str | None) -> tuple[Numbers, Numbers, Flags]:
    """Read pairs of numbers: the first, the second (NaN where unreadable), and which rows are blank.

    >>> import pyarrow as pa
    >>> first, second, is_blank = read_location(pa.array(["(47.2380, 6.0243)", "47,2380; 6,0243", None]), decimal=None)
    >>> first.tolist()[:2], second.tolist()[:2], is_blank.tolist()
    ([47.238, 47.238], [6.0243, 6.0243], [False, False, True])
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    text = pc.utf8_trim_whitespace(text_of(column) if is_text(column.type) else pa.array([""] * len(column)))
    number = rf"[-+]?[0-9]+(?:{_SIGNS[decimal]}[0-9]+)?"
    pair = rf"^[\[(]?\s*(?P<first>{number})\s*[;,/ \t]\s*(?P<second>{number})\s*[\])]?$"
    matched = pc.extract_regex(text, pair)
    first, second = (_floats(pc, pc.struct_field(matched, [name])) for name in ("first", "second"))
    return first, second, _flags(pc.equal(pc.binary_length(text), 0))


def read_number(column: Any, *, decimal: str | None) -> tuple[Numbers, Flags]:
    """Read one number per row, as in ``47,2380`` or ``1.5e-3``: NaN where unreadable, and which rows are blank."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    if not is_text(column.type):
        if not (
            pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
        ):
            return np.full(len(column), np.nan), np.full(len(column), pa.types.is_null(column.type))
        numbers: Numbers = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return numbers, np.isnan(numbers)
    text = pc.utf8_trim_whitespace(text_of(column))
    matched = pc.extract_regex(text, rf"^(?P<number>[-+]?[0-9]+(?:{_SIGNS[decimal]}[0-9]+)?(?:[eE][-+]?[0-9]+)?)$")
    return _floats(pc, pc.struct_field(matched, ["number"])), _flags(pc.equal(pc.binary_length(text), 0))


def east_and_north(first: Numbers, second: Numbers, *, crs: str) -> tuple[Numbers, Numbers]:
    """Return the pair as x and y: in EPSG:4326 latitude is written first, in EPSG:2154 either may be."""
    if crs == "EPSG:4326":
        return second, first
    is_swapped = first > _LEAST_NORTHING
    return np.where(is_swapped, second, first), np.where(is_swapped, first, second)


def _floats(pc: Any, text: Any) -> Numbers:
    plain = pc.replace_substring(pc.replace_substring(text, ",", "."), "+", "")
    numbers: Numbers = pc.cast(plain, "float64").fill_null(np.nan).to_numpy(zero_copy_only=False)
    return numbers


def _flags(mask: Any) -> Flags:
    flags: Flags = mask.to_numpy(zero_copy_only=False)
    return flags


def read_counts(column: Any, *, decimal: str | None = None) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Read whole numbers of 0 or more, written or typed; the second array is a reason's code, 0 for a good row.

    Once the decimal sign is known, the other one groups thousands. A number above :data:`MAX_COUNT` counts as that: one
    event more in a row must never make the whole row go away.

    >>> import pyarrow as pa
    >>> counts, reason = read_counts(pa.array(["3", "4,0", "2.5", "-1", "", "1,000"]))
    >>> counts[:2].tolist(), (reason > 0).tolist()
    ([3, 4], [False, False, True, True, True, True])
    >>> [read_counts(pa.array(["1,000"]), decimal=sign)[0].tolist() for sign in (".", ",")]
    [[1000], [1]]
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    types = pa.types
    reason = np.zeros(len(column), np.uint8)
    if is_text(column.type):
        text = pc.utf8_trim_whitespace(text_of(column))
        is_blank = pc.equal(pc.binary_length(text), 0)
        whole = pc.struct_field(pc.extract_regex(text, _WHOLE if decimal is None else _pattern(decimal)), ["whole"])
        numbers = _written_numbers(pa, pc, pc.replace_substring_regex(whole, "[.,]", ""))
    elif types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        is_blank = column.is_null(nan_is_null=True)
        numbers = _whole_numbers(pa, pc, column)
    else:
        is_blank = column.is_null()
        numbers = pa.nulls(len(column), pa.int64())
    is_bad = numbers.is_null().to_numpy(zero_copy_only=False)
    counts: NDArray[np.int64] = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    reason[is_bad | (counts < 0)] = Reason.BAD_COUNT.code
    reason[is_blank.to_numpy(zero_copy_only=False)] = Reason.NO_COUNT.code
    return np.minimum(counts, MAX_COUNT), reason


def _pattern(decimal: str) -> str:
    group = "," if decimal == "." else "."
    return rf"^\+?(?P<whole>[0-9]+|[1-9][0-9]{{0,2}}(?:[{group}][0-9]{{3}})+)(?:[{decimal}]0*)?$"


def _written_numbers(pa: Any, pc: Any, digits: Any) -> Any:
    """Return digits as 64-bit integers, null where there are none, the largest count where they are too long."""
    digits = pc.utf8_ltrim(digits, characters="0")
    is_long = pc.greater(pc.binary_length(digits), _DIGITS)
    short = pc.if_else(is_long, str(MAX_COUNT), pc.if_else(pc.equal(digits, ""), "0", digits))
    return pc.cast(short, pa.int64())


def _whole_numbers(pa: Any, pc: Any, column: Any) -> Any:
    """Return typed numbers as 64-bit integers, null where they are not whole or below 0."""
    if pa.types.is_signed_integer(column.type):
        return column.cast(pa.int64())
    values = column.cast(pa.float64(), safe=False)
    is_whole = pc.and_(pc.equal(values, pc.floor(values)), pc.and_(pc.is_finite(values), pc.greater_equal(values, 0)))
    return pc.if_else(is_whole, pc.min_element_wise(values, float(MAX_COUNT)), None).cast(pa.int64())


_WHOLE_USER: Final = r"^(?P<whole>[-+]?[0-9]+)(?:\.0*)?$"


def read_users(column: Any) -> tuple[Any, NDArray[np.uint8]]:
    """Return the users of a column as text or bytes, and a reason's code for each row, 0 where it names a user.

    Text counts as it is written, but for spaces around it; numbers must be whole, so that 7, 7.0 and 7.00 are one
    user whatever the rows around them hold.

    >>> import pyarrow as pa
    >>> users, reason = read_users(pa.array([7.0, None, 2.5]))
    >>> users.to_pylist()[0], [bool(code) for code in reason]
    ('7', [False, True, True])
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_number = types.is_floating(column.type) or types.is_decimal(column.type)
    if is_text(column.type):
        users = pc.utf8_trim_whitespace(text_of(column))
    elif types.is_binary(column.type) or types.is_large_binary(column.type) or types.is_fixed_size_binary(column.type):
        users = column.cast(pa.large_binary()).fill_null(b"")
    elif is_number:
        users = _whole_texts(pa, pc, column)
    else:
        users = text_of(column)
    reason = np.zeros(len(column), np.uint8)
    is_blank = np.diff(bytes_and_offsets(users)[1]) == 0 if len(column) else np.empty(0, np.bool_)
    reason[is_blank] = Reason.UNREADABLE_USER.code if is_number else Reason.NO_USER.code
    if is_number:
        reason[column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)] = Reason.NO_USER.code
    return users, reason


def _whole_texts(pa: Any, pc: Any, column: Any) -> Any:
    """Return numbers as the digits of a whole number, blank where they are none."""
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64())
        # beyond 2^53 two users may have become one number
        is_whole = pc.and_(pc.equal(values, pc.floor(values)), pc.less(pc.abs(values), 2.0**53))
        column = pc.if_else(is_whole, values, None).cast(pa.int64())
        return column.cast(pa.large_string()).fill_null("")
    text = column.cast(pa.string())
    return pc.struct_field(pc.extract_regex(text, _WHOLE_USER), ["whole"]).fill_null("")
