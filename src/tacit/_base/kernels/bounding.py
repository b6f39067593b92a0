"""The bounding kernels, compiled. ``bounding_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.bounding_plain import CELL_SHIFT, CELL_STEP, UNITS
from tacit._base.kernels.compiling import compiled

# of SplitMix64, as in tacit._base.arrays
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31, _64 = (np.uint64(number) for number in (27, 30, 31, 64))
_BUCKET_BITS = 3  # eight to sixteen rows a bucket, for hashes are uniform; half or twice as many take a tenth longer
_GAP_OVER, _GAP_UNDER = 9, 4  # gaps that grow by 9/4, as Tokuda found best


@compiled
def arrange(rows: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    n = len(rows)
    bits = 1
    while n >> (bits + _BUCKET_BITS):
        bits += 1
    shift = _64 - np.uint64(bits)
    ends = np.zeros((1 << bits) + 1, np.int64)
    for i in range(n):
        ends[np.int64(rows[i, 1] >> shift) + 1] += 1
    for bucket in range(1 << bits):
        ends[bucket + 1] += ends[bucket]
    priority = np.empty(n, np.uint64)
    for i in range(n):
        mine = np.int64(rows[i, 1] >> shift)
        at = ends[mine]
        ends[mine] = at + 1
        out[at, 0], out[at, 1], out[at, 2] = rows[i, 0], rows[i, 1], rows[i, 2]
        priority[at] = _mixed(rows[i, 1] + (rows[i, 2] >> CELL_SHIFT) * CELL_STEP)
    for bucket in range(1 << bits):
        first = ends[bucket - 1] if bucket else 0
        _sort(out[first : ends[bucket]], priority[first : ends[bucket]])


@compiled
def allow(
    rows: NDArray[np.uint64],
    starts: NDArray[np.int64],
    most: NDArray[np.int64],
    most_per_cell: int,
    within: NDArray[np.int64],
) -> None:
    for group in range(len(starts)):
        end = starts[group + 1] if group + 1 < len(starts) else len(rows)
        left, left_in_cell, cell = most[group], most_per_cell, rows[starts[group], 2] >> CELL_SHIFT
        for i in range(starts[group], end):
            if rows[i, 2] >> CELL_SHIFT != cell:
                left_in_cell, cell = most_per_cell, rows[i, 2] >> CELL_SHIFT
            within[i] = min(left, left_in_cell, np.int64(rows[i, 2] & UNITS))
            left_in_cell -= within[i]
            left -= within[i]


@compiled
def _mixed(word: Any) -> Any:
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@compiled
def _sort(rows: NDArray[np.uint64], priority: NDArray[np.uint64]) -> None:
    """Sort in place, as Shell did: insertion alone for a few rows, and far below n^2 steps for one large group."""
    n, gap = len(rows), 1
    while _GAP_OVER * gap < _GAP_UNDER * n:
        gap = _GAP_OVER * gap // _GAP_UNDER + 1
    while gap > 0:
        for i in range(gap, n):
            first, second, third, mine = rows[i, 0], rows[i, 1], rows[i, 2], priority[i]
            j = i - gap
            while j >= 0 and _is_before(second, first, mine, third, rows[j, 1], rows[j, 0], priority[j], rows[j, 2]):
                rows[j + gap, 0], rows[j + gap, 1], rows[j + gap, 2] = rows[j, 0], rows[j, 1], rows[j, 2]
                priority[j + gap] = priority[j]
                j -= gap
            rows[j + gap, 0], rows[j + gap, 1], rows[j + gap, 2], priority[j + gap] = first, second, third, mine
        gap = gap * _GAP_UNDER // _GAP_OVER


@compiled
def _is_before(b: Any, a: Any, p: Any, c: Any, other_b: Any, other_a: Any, other_p: Any, other_c: Any) -> bool:
    """Return whether one row's second word, first word, priority and third word come before another's."""
    if b != other_b:
        return bool(b < other_b)
    if a != other_a:
        return bool(a < other_a)
    return bool(c < other_c if p == other_p else p < other_p)
