"""The row kernels in plain NumPy: what the compiled ones must equal, and what a device runs.

A row is one report: ``ceil(n_cells / 8)`` bytes, bit j of the little-endian bit string for cell j, the bits
beyond the last cell zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS_AT_ONCE = 1 << 12  # bits unpacked at a time: a byte each


def write_rows(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> None:
    """Cut a bit string of noise into rows and mark the true cell of each.

    Row r takes the bits ``r * n_cells .. (r + 1) * n_cells - 1`` of ``noise``. Where ``truth`` is empty the bit of the
    true cell is flipped; otherwise bit r of ``truth`` replaces it.
    """
    n = cells.size
    bits = _bits(noise, n * n_cells)
    true_bits = np.arange(0, n * n_cells, n_cells) + cells
    if truth.size:
        bits[true_bits] = _bits(truth, n)
    else:
        bits[true_bits] ^= 1
    out[:] = np.packbits(bits.reshape(n, n_cells), axis=1, bitorder="little")


def mark_rows(cells: NDArray[np.int32], truth: NDArray[np.uint64], rows: NDArray[np.uint8]) -> None:
    """Mark the true cell of each row of noise, in place, as ``write_rows`` does."""
    each, byte = np.arange(cells.size), cells >> 3
    lane = np.uint8(1) << (cells & 7).astype(np.uint8)
    if truth.size:
        rows[each, byte] = (rows[each, byte] & ~lane) | (lane * _bits(truth, cells.size))
    else:
        rows[each, byte] ^= lane


def count_rows(rows: NDArray[np.uint8], n_cells: int, counts: NDArray[np.int64]) -> None:
    """Add to ``counts[j]`` the number of rows whose bit j is set."""
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        counts += _unpacked(rows[first : first + _ROWS_AT_ONCE], n_cells).sum(axis=0, dtype=np.int64)


def count_grouped(rows: NDArray[np.uint8], starts: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]) -> None:
    """Add to ``counts[g, j]`` the rows ``starts[g] .. starts[g + 1] - 1`` whose bit j is set."""
    for group in range(len(counts)):
        count_rows(rows[starts[group] : starts[group + 1]], n_cells, counts[group])


def count_by_bin(rows: NDArray[np.uint8], bins: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]) -> None:
    """Add to ``counts[b, j]`` the rows r with ``bins[r] == b`` whose bit j is set; in any order of bins."""
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        row, cell = np.nonzero(_unpacked(rows[part], n_cells))
        np.add.at(counts.reshape(-1), bins[part][row] * n_cells + cell, 1)


def _unpacked(rows: NDArray[np.uint8], n_cells: int) -> NDArray[np.uint8]:
    return np.unpackbits(rows, axis=1, count=n_cells, bitorder="little")


def _bits(words: NDArray[np.uint64], count: int) -> NDArray[np.uint8]:
    in_order = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(in_order, count=count, bitorder="little")
