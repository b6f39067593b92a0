"""Numbers as people write them: coordinates, as in ``(47.2380, 6.0243)`` or ``47,2380; 6,0243``, and counts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.events.arrays import is_text, text_of
from tacit.events.badrows import Reason

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SIGNS: Final = {None: "[.,]", ".": "[.]", ",": "[,]"}
# eastings and northings of Lambert-93 do not overlap, so that their order need not be known
_LEAST_NORTHING: Final = 3_000_000.0
MAX_COUNT: Final = 10**12
"""What a row counts up to: more events than people ever lived are a misprint, and 2^22 such rows fit into 64 bits."""
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
    """Read one coordinate per row: NaN where unreadable, and which rows are blank."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    if not is_text(column.type):
        if not (
            pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)
        ):
            return np.full(len(column), np.nan), np.full(len(column), pa.types.is_null(column.type))
        numbers: Numbers = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return numbers, np.isnan(numbers)
    text = pc.utf8_trim_whitespace(text_of(column))
    matched = pc.extract_regex(text, rf"^(?P<number>[-+]?[0-9]+(?:{_SIGNS[decimal]}[0-9]+)?)$")
    return _floats(pc, pc.struct_field(matched, ["number"])), _flags(pc.equal(pc.binary_length(text), 0))


def east_and_north(first: Numbers, second: Numbers, *, crs: str) -> tuple[Numbers, Numbers]:
    """The pair as x and y: in EPSG:4326 latitude is written first, in EPSG:2154 either may be."""
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
    """Digits as 64-bit integers, null where there are none; those too long for it are cut to the largest count."""
    digits = pc.utf8_ltrim(digits, characters="0")
    is_long = pc.greater(pc.binary_length(digits), _DIGITS)
    short = pc.if_else(is_long, str(MAX_COUNT), pc.if_else(pc.equal(digits, ""), "0", digits))
    return pc.cast(short, pa.int64())


def _whole_numbers(pa: Any, pc: Any, column: Any) -> Any:
    """Typed numbers as 64-bit integers, null where they are not whole or below 0."""
    if pa.types.is_signed_integer(column.type):
        return column.cast(pa.int64())
    values = column.cast(pa.float64(), safe=False)
    is_whole = pc.and_(pc.equal(values, pc.floor(values)), pc.and_(pc.is_finite(values), pc.greater_equal(values, 0)))
    return pc.if_else(is_whole, pc.min_element_wise(values, float(MAX_COUNT)), None).cast(pa.int64())
