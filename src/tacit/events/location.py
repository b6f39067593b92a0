"""Coordinates as people write them: ``(47.2380, 6.0243)``, ``47,2380; 6,0243``, or two columns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.events.arrays import is_text, text_of

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SIGNS: Final = {None: "[.,]", ".": "[.]", ",": "[,]"}
# eastings and northings of Lambert-93 do not overlap, so that their order need not be known
_LEAST_NORTHING: Final = 3_000_000.0


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
