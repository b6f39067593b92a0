"""A column of counts, where a row stands for several events."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.events.arrays import is_text, text_of
from tacit.events.badrows import Reason

# sums of nine million such counts still fit into 64 bits
MAX_COUNT: Final = 10**12
# 1,000 is a thousand to some and one to others: with exactly three digits after it a sign tells nothing
_WHOLE: Final = r"^\+?(?P<whole>[0-9]{1,13})(?:[.,](?:0{0,2}|0{4,}))?$"


def read_counts(column: Any, *, decimal: str | None = None) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Read whole numbers of 0 or more, written or typed; the second array is a reason's code, 0 for a good row.

    Once the decimal sign is known, the other one groups thousands.

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
        numbers = pc.cast(pc.replace_substring_regex(whole, "[.,]", ""), pa.int64())
    elif types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        is_blank = column.is_null(nan_is_null=True)
        numbers = _whole_numbers(pa, pc, column)
    else:
        is_blank = column.is_null()
        numbers = pa.nulls(len(column), pa.int64())
    is_bad = numbers.is_null().to_numpy(zero_copy_only=False)
    counts: NDArray[np.int64] = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    reason[is_bad | (counts < 0) | (counts > MAX_COUNT)] = Reason.BAD_COUNT.code
    reason[is_blank.to_numpy(zero_copy_only=False)] = Reason.NO_COUNT.code
    return counts, reason


def _pattern(decimal: str) -> str:
    group = "," if decimal == "." else "."
    return rf"^\+?(?P<whole>[0-9]{{1,13}}|[1-9][0-9]{{0,2}}(?:[{group}][0-9]{{3}}){{1,4}})(?:[{decimal}]0*)?$"


def _whole_numbers(pa: Any, pc: Any, column: Any) -> Any:
    """Typed numbers as 64-bit integers, null where they are not whole or far too large."""
    if pa.types.is_signed_integer(column.type):
        return column.cast(pa.int64())
    values = column.cast(pa.float64(), safe=False)
    fits = pc.and_(pc.equal(values, pc.floor(values)), pc.less_equal(pc.abs(values), float(MAX_COUNT)))
    return pc.if_else(fits, values, None).cast(pa.int64())
