"""Kernels of reports that name one cell or several, in plain NumPy: what the compiled ones must equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_REPORTS_AT_ONCE = 1 << 16  # numbers widened at a time


def respond(cells: NDArray[np.int32], drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Write ``cells[i]`` where bit i of ``coins`` is set, and ``drawn[i]`` elsewhere."""
    in_order = coins.astype("<u8", copy=False).view(np.uint8)
    keeps = np.unpackbits(in_order, count=cells.size, bitorder="little")
    named = np.where(keeps, cells, drawn).astype("<u4")
    out[:] = named.view(np.uint8).reshape(-1, 4)[:, : out.shape[1]]


def count_beyond(named: NDArray[Any], n_cells: int) -> int:
    """Return how many of the numbers are not below ``n_cells``."""
    return int(np.count_nonzero(named >= n_cells))


def count_grouped(named: NDArray[Any], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Add to ``counts[g, j]`` how many of the numbers ``starts[g] .. starts[g + 1] - 1`` are j."""
    flat = counts.reshape(-1)
    for first in range(0, named.size, _REPORTS_AT_ONCE):
        part = np.arange(first, min(first + _REPORTS_AT_ONCE, named.size))
        group = np.searchsorted(starts, part, side="right") - 1
        np.add.at(flat, group * counts.shape[1] + named[part], 1)


_ROWS_AT_ONCE = 1 << 12  # bits unpacked at a time: a byte each


def write_subsets(
    cells: NDArray[np.int32], n_cells: int, drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]
) -> None:
    """Write a subset of the cells for each row of ``drawn``, of as many cells as it has columns.

    The other cells stand in a line 0 .. n_cells - 2: those after the true one move up. Column s holds a place on the
    first n_cells - size + s of them; where that place is taken, the last of these is meant (Floyd). Where bit r of
    ``coins`` is set, the true cell is in the subset in the stead of what column 0 drew.
    """
    n, size = drawn.shape
    rows = np.arange(n)
    in_order = coins.astype("<u8", copy=False).view(np.uint8)
    bits = np.zeros((n, n_cells), np.uint8)
    bits[rows, cells] = np.unpackbits(in_order, count=n, bitorder="little")
    for step in range(size):
        place = drawn[:, step].astype(np.int64)
        last = n_cells - 1 - size + step
        wanted = place + (place >= cells)
        meant = np.where(bits[rows, wanted], last + (last >= cells), wanted)
        bits[rows, meant] = 1 - bits[rows, cells] if step == 0 else 1
    out[:] = np.packbits(bits, axis=1, bitorder="little")


def count_wrong(rows: NDArray[np.uint8], n_cells: int, size: int) -> int:
    """Return how many rows have not exactly ``size`` bits, all of them of cells."""
    n_wrong = 0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        bits = np.unpackbits(rows[first : first + _ROWS_AT_ONCE], axis=1, bitorder="little")
        right = (bits[:, :n_cells].sum(axis=1) == size) & ~bits[:, n_cells:].any(axis=1)
        n_wrong += int(np.count_nonzero(~right))
    return n_wrong
