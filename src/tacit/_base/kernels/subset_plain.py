"""Kernels of reports that name several cells, in plain NumPy: what the compiled ones must equal.

All cells but the true one stand in a line. A place on it is the cell of its number; the place with the number of the
true cell stands for the last cell. The places that a report names are a number with a bit for each of them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 16
"""Places whose subsets are listed: 2**16 numbers of 2 bytes, which stay in the second cache. Part of what a seed gives.

With half as many, a line of 32 places would take four looks and three divisions; twice as many cannot be listed."""

LOWER: Final = np.uint64((1 << 32) - 1)  # the lower half of a word
_16, _32, _1 = np.uint64(16), np.uint64(32), np.uint64(1)  # numbers of bits as words
_ROWS_AT_ONCE = 1 << 12  # bits unpacked at a time: a byte each


@cache
def block_subsets() -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return all subsets of a block, by their sizes and then as numbers, and where those of each size start."""
    numbers = np.arange(1 << BLOCK, dtype=np.uint16)
    sizes = np.unpackbits(numbers.view(np.uint8).reshape(-1, 2), axis=1).sum(axis=1)
    starts = np.concatenate(([0], np.cumsum([math.comb(BLOCK, size) for size in range(BLOCK + 1)])))
    return numbers[np.argsort(sizes, kind="stable")], starts


@cache
def upper_sizes(n_places: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, by how many places are taken beyond the first block, the ranks before and the subsets of the first."""
    n_upper = max(0, n_places - BLOCK)
    lower = [math.comb(min(n_places, BLOCK), size - upper) if upper <= size else 0 for upper in range(n_upper + 1)]
    counts = [math.comb(n_upper, upper) * n_lower for upper, n_lower in enumerate(lower)]
    return np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64), np.array(lower, np.int64)


def write_ranked(
    cells: NDArray[np.int32], n_cells: int, size: int, words: NDArray[np.uint64], include: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:
    """Write a report for each word, of at most 33 cells; return the rows whose word does not decide it.

    The true cell is named where the upper half of the word is below ``include``, and open where it equals it. The other
    cells are the subset whose rank is the upper half of the product of the lower half and the number of subsets;
    products whose lower half is below 2**32 modulo that number are the surplus, which must be drawn again.
    """
    upper = words >> _32
    coins = upper < include
    limits = np.array(n_subsets(n_cells, size), np.uint64)
    products = (words & LOWER) * limits[coins.view(np.uint8)]
    write_of_rank(cells, n_cells, size, coins, products >> _32, out)
    surplus = (LOWER + _1) % limits
    return np.flatnonzero((upper == include) | ((products & LOWER) < surplus[coins.view(np.uint8)]))


def write_of_rank(
    cells: NDArray[np.int32],
    n_cells: int,
    size: int,
    coins: NDArray[np.bool_],
    ranks: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> None:
    """Write reports that name the true cell where ``coins`` says so, and the other cells of these ranks."""
    for first in range(0, len(out), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        lines = np.empty(len(out[part]), np.uint64)
        for coin in (0, 1):
            lines[coins[part] == coin] = _lines_of_rank(ranks[part][coins[part] == coin], n_cells - 1, size - coin)
        _write_lines(cells[part], coins[part], _bits_of(lines[:, None]), n_cells, out[part])


def n_subsets(n_cells: int, size: int) -> tuple[int, int]:
    """Return how many subsets of the others there are without the true cell in the report, and with it."""
    return math.comb(n_cells - 1, size), math.comb(n_cells - 1, size - 1)


def _lines_of_rank(ranks: NDArray[np.uint64], n_places: int, size: int) -> NDArray[np.uint64]:
    """Return subsets of the places of a line, of at most two blocks, by their ranks.

    They are ordered by how many places are taken beyond the first block, then by these, then by those of the first.
    """
    subsets, starts = block_subsets()
    before, n_lower = upper_sizes(n_places, size)
    rank = ranks.astype(np.int64)
    n_beyond = np.searchsorted(before, rank, side="right") - 1
    upper, lower = np.divmod(rank - before[n_beyond], n_lower[n_beyond])
    lines = subsets[starts[n_beyond] + upper].astype(np.uint64) << _16
    return lines | subsets[starts[size - n_beyond] + lower]


def repair(
    cells: NDArray[np.int32],
    n_cells: int,
    size: int,
    coins: NDArray[np.bool_],
    lines: NDArray[np.uint64],
    rows: NDArray[np.int64],
    lanes: NDArray[Any],
    out: NDArray[np.uint8],
) -> NDArray[np.int64]:
    """Give the lines of some rows as many places as they should have, and write their reports.

    A row should take ``size`` places, or one less where its coin names the true cell. While it takes too few, each of
    its lanes draws a place and takes it; while it takes too many, each draws a place and gives it back. A place that is
    so already stays so, and lanes of the surplus do nothing. Return the rows whose lanes did not suffice; their lines
    are as far as the lanes brought them.
    """
    n_places, lane_bits = n_cells - 1, 8 * lanes.itemsize
    bits, row = _bits_of(lines[rows]), np.arange(rows.size)
    lacking = size - coins[rows] - bits.sum(axis=1, dtype=np.int64)
    wanted, left = lacking > 0, np.abs(lacking)
    for lane in lanes.T:
        if not left.any():
            break
        products = lane.astype(np.uint64) * np.uint64(n_places)
        places = (products >> np.uint64(lane_bits)).astype(np.int64)
        is_even = products.astype(lanes.dtype) >= (1 << lane_bits) % n_places
        moves = (bits[row, places] != wanted) & is_even & (left > 0)
        bits[row, places] ^= moves
        left -= moves
    is_done: NDArray[np.bool_] = left == 0
    done, unfinished = rows[is_done], rows[~is_done]
    lines[rows] = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    reports = np.empty((done.size, out.shape[1]), np.uint8)
    _write_lines(cells[done], coins[done], bits[is_done], n_cells, reports)
    out[done] = reports
    return unfinished


def _bits_of(lines: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bits of lines, a byte each, for whole words."""
    in_order = lines.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(in_order, axis=1, bitorder="little")


def _write_lines(
    cells: NDArray[np.int32], coins: NDArray[np.bool_], bits: NDArray[np.uint8], n_cells: int, out: NDArray[np.uint8]
) -> None:
    """Write the reports of lines: the bit of the true cell moves to the last cell, and its coin takes its place."""
    row = np.arange(len(out))
    bits[row, n_cells - 1] |= bits[row, cells]
    bits[row, cells] = coins
    out[:] = np.packbits(bits, axis=1, bitorder="little")[:, : out.shape[1]]


def count_wrong(rows: NDArray[np.uint8], n_cells: int, size: int) -> int:
    """Return how many rows have not exactly ``size`` bits, all of them of cells."""
    n_wrong = 0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        bits = np.unpackbits(rows[first : first + _ROWS_AT_ONCE], axis=1, bitorder="little")
        right = (bits[:, :n_cells].sum(axis=1) == size) & ~bits[:, n_cells:].any(axis=1)
        n_wrong += int(np.count_nonzero(~right))
    return n_wrong
