"""Kernels of reports that name several cells, compiled. ``subset_plain`` says what each does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled
from tacit._base.kernels.subset_plain import BLOCK, block_subsets, n_subsets, upper_sizes, write_of_rank

__all__ = ["count_wrong", "repair", "write_of_rank", "write_ranked"]

# written out, because a number without a type is signed and turns what it touches into a float
_0, _1, _3, _6, _7, _8, _16, _32, _63 = (np.uint64(number) for number in (0, 1, 3, 6, 7, 8, 16, 32, 63))
_LOWER = np.uint64((1 << 32) - 1)
_DIVISION = 44  # binary digits of the inverse of a divisor
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint16)


def write_ranked(
    cells: NDArray[np.int32], n_cells: int, size: int, words: NDArray[np.uint64], include: int, out: NDArray[np.uint8]
) -> NDArray[np.int64]:
    work: Any = _write_one_block if n_cells - 1 <= BLOCK else _write_two_blocks
    settings = np.uint64(n_cells), np.uint64(include), block_subsets()[0], *_tables(n_cells, size)
    width = out.shape[1]
    n_first = max(0, words.size - 8)
    # a row is stored as 8 bytes, of which the next rows overwrite what is not its own: the last have no next ones
    rest = np.empty((words.size - n_first) * width + 8, np.uint8)
    unsure = np.empty(words.size, np.int64)
    n_unsure = work(*settings, cells, words, 0, n_first, _windows(out.reshape(-1)), unsure)
    n_more = work(*settings, cells, words, n_first, words.size, _windows(rest), unsure[n_unsure:])
    out[n_first:] = rest[:-8].reshape(-1, width)
    return unsure[: n_unsure + n_more]


def _windows(memory: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The 8 bytes from each byte on, as a word."""
    return np.ndarray((max(0, memory.size - 7),), np.uint64, memory, strides=(1,))


@lru_cache(maxsize=64)
def _tables(n_cells: int, size: int) -> tuple[NDArray[Any], ...]:
    """The numbers of subsets of the others without the true cell and with it, their surplus, and how ranks are read."""
    limits = np.array(n_subsets(n_cells, size), np.uint64)
    surplus = (_LOWER + _1) % limits
    starts = block_subsets()[1].astype(np.uint64)
    if n_cells - 1 <= BLOCK:
        return limits, surplus, starts[[size, size - 1]]
    edges = np.full((2, BLOCK), _LOWER, np.uint32)
    ways = np.zeros((2, BLOCK + 1, 5), np.uint64)
    for coin in (0, 1):
        before, n_lower = upper_sizes(n_cells - 1, size - coin)
        edges[coin, : before.size - 1] = before[1:]
        for upper in np.flatnonzero(n_lower).tolist():
            count = int(n_lower[upper])
            inverse = -(-(1 << _DIVISION) // count)
            ways[coin, upper] = before[upper], count, inverse, starts[upper], starts[size - coin - upper]
    return limits, surplus, edges, ways


@compiled
def _write_one_block(
    n_cells: Any,
    include: Any,
    subsets: NDArray[np.uint16],
    limits: NDArray[np.uint64],
    surplus: NDArray[np.uint64],
    starts: NDArray[np.uint64],
    cells: NDArray[np.int32],
    words: NDArray[np.uint64],
    first: int,
    last: int,
    out: NDArray[np.uint64],
    unsure: NDArray[np.int64],
) -> int:
    n_unsure, width = 0, (n_cells + _7) >> _3
    for r in range(np.uint64(first), np.uint64(last)):
        coin, rank, is_unsure = _drawn(words[r], include, limits, surplus)
        if is_unsure:
            unsure[n_unsure] = r
            n_unsure += 1
        line = np.uint64(subsets[starts[coin] + rank])
        out[(r - np.uint64(first)) * width] = _with_truth(line, np.uint64(cells[r]), coin, n_cells - _1)
    return n_unsure


@compiled
def _write_two_blocks(
    n_cells: Any,
    include: Any,
    subsets: NDArray[np.uint16],
    limits: NDArray[np.uint64],
    surplus: NDArray[np.uint64],
    edges: NDArray[np.uint32],
    ways: NDArray[np.uint64],
    cells: NDArray[np.int32],
    words: NDArray[np.uint64],
    first: int,
    last: int,
    out: NDArray[np.uint64],
    unsure: NDArray[np.int64],
) -> int:
    n_unsure, width = 0, (n_cells + _7) >> _3
    for r in range(np.uint64(first), np.uint64(last)):
        coin, rank, is_unsure = _drawn(words[r], include, limits, surplus)
        if is_unsure:
            unsure[n_unsure] = r
            n_unsure += 1
        n_beyond = np.uint32(0)
        for i in range(16):  # all of them: a search would have to guess
            n_beyond += np.uint32(edges[coin, i] <= np.uint32(rank))
        way = np.uint64(n_beyond)
        rest = rank - ways[coin, way, 0]
        # the quotient of a division, exactly: 2**44 exceeds each rest, below 2**30, times each number of subsets
        quotient = (rest * ways[coin, way, 2]) >> np.uint64(_DIVISION)
        upper_part = np.uint64(subsets[ways[coin, way, 3] + quotient])
        lower_part = np.uint64(subsets[ways[coin, way, 4] + (rest - quotient * ways[coin, way, 1])])
        line = (upper_part << _16) | lower_part
        out[(r - np.uint64(first)) * width] = _with_truth(line, np.uint64(cells[r]), coin, n_cells - _1)
    return n_unsure


@compiled
def _drawn(word: Any, include: Any, limits: NDArray[np.uint64], surplus: NDArray[np.uint64]) -> Any:
    """Return whether the true cell is in the subset, the rank of the others', and whether more words must decide."""
    upper = word >> _32
    coin = np.uint64(upper < include)
    product = (word & _LOWER) * limits[coin]
    return coin, product >> _32, (upper == include) | ((product & _LOWER) < surplus[coin])


@compiled
def _with_truth(line: Any, cell: Any, coin: Any, last: Any) -> Any:
    moved = (line >> cell) & _1
    return ((line | (moved << last)) & ~(_1 << cell)) | (coin << cell)


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
    unfinished = np.empty(rows.size, np.int64)
    lane_bits = 8 * lanes.itemsize
    work: Any = _repair_narrow if lines.shape[1] == 1 else _repair_wide
    settings = np.uint64(n_cells), np.uint64(size), np.uint64(lane_bits), np.uint64((1 << lane_bits) % (n_cells - 1))
    flat = out.reshape(-1)
    return unfinished[: work(*settings, cells, coins, lines, rows, lanes, flat, _windows(flat), unfinished)]


@compiled
def _repair_narrow(
    n_cells: Any,
    size: Any,
    lane_bits: Any,
    surplus: Any,
    cells: NDArray[np.int32],
    coins: NDArray[np.bool_],
    lines: NDArray[np.uint64],
    rows: NDArray[np.int64],
    lanes: NDArray[Any],
    out: NDArray[np.uint8],
    windows: NDArray[np.uint64],
    unfinished: NDArray[np.int64],
) -> int:
    """Keep the line in a register."""
    n_unfinished, mask = 0, (_1 << lane_bits) - _1
    n_places, n_lanes, n_bytes = n_cells - _1, np.uint64(lanes.shape[1]), (n_cells + _7) >> _3
    for i in range(np.uint64(rows.size)):
        r = np.uint64(rows[i])
        line, coin = lines[r, _0], np.uint64(coins[r])
        count, target = _ones(line), size - coin
        wanted = _0 - np.uint64(count < target)
        left = (count - target) ^ wanted
        left -= wanted
        lane = _0
        while left != _0 and lane < n_lanes:
            product = np.uint64(lanes[i, lane]) * n_places
            place = product >> lane_bits
            moves = ((line ^ wanted) >> place) & np.uint64((product & mask) >= surplus)
            line ^= moves << place
            left -= moves
            lane += _1
        lines[r, _0] = line
        if left != _0:
            unfinished[n_unfinished] = r
            n_unfinished += 1
        else:
            row = _with_truth(line, np.uint64(cells[r]), coin, n_places)
            for byte in range(n_bytes):
                out[r * n_bytes + byte] = np.uint8(row >> (byte << _3))
    return n_unfinished


@compiled
def _repair_wide(
    n_cells: Any,
    size: Any,
    lane_bits: Any,
    surplus: Any,
    cells: NDArray[np.int32],
    coins: NDArray[np.bool_],
    lines: NDArray[np.uint64],
    rows: NDArray[np.int64],
    lanes: NDArray[Any],
    out: NDArray[np.uint8],
    windows: NDArray[np.uint64],
    unfinished: NDArray[np.int64],
) -> int:
    n_unfinished, mask = 0, (_1 << lane_bits) - _1
    n_places, n_lanes, n_bytes = n_cells - _1, np.uint64(lanes.shape[1]), (n_cells + _7) >> _3
    for i in range(np.uint64(rows.size)):
        r = np.uint64(rows[i])
        count, target = _0, size - np.uint64(coins[r])
        for word in range(np.uint64(lines.shape[1])):
            count += _ones(lines[r, word])
        wanted = _0 - np.uint64(count < target)
        left = (count - target) ^ wanted
        left -= wanted
        lane = _0
        while left != _0 and lane < n_lanes:
            product = np.uint64(lanes[i, lane]) * n_places
            word, bit = product >> (lane_bits + _6), (product >> lane_bits) & _63
            moves = ((lines[r, word] ^ wanted) >> bit) & np.uint64((product & mask) >= surplus)
            lines[r, word] ^= moves << bit
            left -= moves
            lane += _1
        if left != _0:
            unfinished[n_unfinished] = r
            n_unfinished += 1
        else:
            cell = np.uint64(cells[r])
            moved = (lines[r, cell >> _6] >> (cell & _63)) & _1
            lines[r, n_places >> _6] |= moved << (n_places & _63)
            lines[r, cell >> _6] &= ~(_1 << (cell & _63))
            lines[r, cell >> _6] |= np.uint64(coins[r]) << (cell & _63)
            for word in range(n_bytes >> _3):
                windows[r * n_bytes + (word << _3)] = lines[r, word]
            for byte in range(n_bytes & ~_7, n_bytes):
                out[r * n_bytes + byte] = np.uint8(lines[r, byte >> _3] >> ((byte & _7) << _3))
    return n_unfinished


@compiled
def _ones(word: Any) -> Any:
    """The number of bits set: the compiler knows this loop and makes one instruction of it."""
    count = _0
    while word != 0:
        word &= word - _1
        count += _1
    return count


@compiled
def count_wrong(rows: NDArray[np.uint8], n_cells: int, size: int) -> int:
    n_bytes = (n_cells + 7) // 8
    beyond = np.uint8(0) if n_cells % 8 == 0 else np.uint8(255 << (n_cells % 8) & 255)
    n_wrong = 0
    for r in range(len(rows)):
        n_ones = 0
        for byte in range(n_bytes):
            n_ones += _ONES[rows[r, byte]]
        n_wrong += (n_ones != size) | ((rows[r, n_bytes - 1] & beyond) != 0)
    return n_wrong
