"""The bounding kernels in plain NumPy: what the compiled ones must equal.

A row is three words: two of the hash of its group, and one with its cell in the upper half and its number of events in
the lower. The priority of a cell is SplitMix64 of the group's second word, so different cells of a group have different
ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import mix

CELL_SHIFT: Final = np.uint64(32)  # the upper half of a word holds the cell
UNITS: Final = np.uint64(2**32 - 1)  # the lower half holds the number of events
CELL_STEP: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, as in SplitMix64; any odd one does


def arrange(rows: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Write the rows by group (its second word first), then by the priority of the cell, then by number of events."""
    priority = mix(rows[:, 1] + (rows[:, 2] >> CELL_SHIFT) * CELL_STEP)
    out[:] = rows[np.lexsort((rows[:, 2], priority, rows[:, 0], rows[:, 1]))]


def allow(
    rows: NDArray[np.uint64],
    starts: NDArray[np.int64],
    most: NDArray[np.int64],
    most_per_cell: int,
    within: NDArray[np.int64],
) -> None:
    """Write the number of events of each arranged row that are within the bounds of its group and of its cell.

    ``starts`` are the first rows of the groups, ``most`` the events that each may have.
    """
    cells, units = (rows[:, 2] >> CELL_SHIFT).view(np.int64), (rows[:, 2] & UNITS).view(np.int64)
    is_cell = np.diff(cells, prepend=-1) != 0
    is_cell[starts] = True
    in_cell = np.clip(most_per_cell - _before(units, np.flatnonzero(is_cell)), 0, units)
    left = np.repeat(most, np.diff(np.append(starts, len(rows))))
    within[:] = np.clip(left - _before(in_cell, starts), 0, in_cell)


def _before(units: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of events before each row in its own run."""
    before = np.cumsum(units) - units
    return before - np.repeat(before[starts], np.diff(np.append(starts, len(units))))
