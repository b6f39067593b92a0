"""Kernels of reports that name one cell or several, compiled. ``response_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_MOST_IN_A_LANE = 1 << 20  # counted before 32 bits are added up: far below where they run over
_0, _1, _6, _56, _63, _64 = (np.uint64(number) for number in (0, 1, 6, 56, 63, 64))


def respond(cells: NDArray[np.int32], drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    n_bytes = out.shape[1]
    if n_bytes == 3:
        wide = np.empty((cells.size, 4), np.uint8)
        _respond(cells, drawn, coins, wide.view(np.uint32)[:, 0])
        out[:] = wide[:, :3]
    else:
        _respond(cells, drawn, coins, out.reshape(-1).view(f"u{n_bytes}"))


@compiled
def _respond(cells: NDArray[np.int32], drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[Any]) -> None:
    n_full = cells.size // 64
    for w in range(n_full):
        coin, first = coins[w], 64 * w
        truth, other, row = cells[first : first + 64], drawn[first : first + 64], out[first : first + 64]
        for j in range(64):
            row[j] = _chosen(np.uint32(truth[j]), np.uint32(other[j]), coin >> np.uint64(j))
    for i in range(64 * n_full, cells.size):
        out[i] = _chosen(np.uint32(cells[i]), np.uint32(drawn[i]), coins[n_full] >> (np.uint64(i) & _63))


@compiled
def _chosen(truth: Any, other: Any, coin: Any) -> Any:
    # without a branch: coins cannot be predicted
    return other ^ ((other ^ truth) & np.uint32(np.uint32(0) - np.uint32(coin & _1)))


@compiled
def count_beyond(named: NDArray[Any], n_cells: int) -> int:
    largest = named.dtype.type(0)
    for i in range(named.size):  # in registers of narrow numbers, where counting would widen them
        largest = max(largest, named[i])
    n_beyond = 0
    if largest >= n_cells:
        for i in range(named.size):
            n_beyond += named[i] >= n_cells
    return n_beyond


@compiled
def count_grouped(named: NDArray[Any], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    # the same cell twice running would wait for its own last count: four lanes take turns
    lanes = np.zeros((4, counts.shape[1]), np.uint32)
    for run in range(len(counts)):
        first, last = starts[run], starts[run + 1]
        if last - first < 8 * counts.shape[1]:
            for i in range(first, last):
                counts[run, named[i]] += 1
            continue
        for start in range(first, last, _MOST_IN_A_LANE):
            _count_long(named[start : min(start + _MOST_IN_A_LANE, last)], lanes)
            for lane in range(4):
                for j in range(counts.shape[1]):
                    counts[run, j] += lanes[lane, j]
                    lanes[lane, j] = 0


@compiled
def _count_long(named: NDArray[Any], lanes: NDArray[np.uint32]) -> None:
    n_fours = named.size // 4 * 4
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for i in range(0, n_fours, 4):
        a[named[i]] += np.uint32(1)
        b[named[i + 1]] += np.uint32(1)
        c[named[i + 2]] += np.uint32(1)
        d[named[i + 3]] += np.uint32(1)
    for i in range(n_fours, named.size):
        a[named[i]] += np.uint32(1)


_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint16)
_GATHER = np.uint64(0x0102_0408_1020_4080)  # times eight bytes of 0 or 1: their bits side by side, in the highest byte
_NARROW = 64  # cells: a row is one word


def write_subsets(
    cells: NDArray[np.int32], n_cells: int, drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]
) -> None:
    if n_cells <= _NARROW:
        _write_narrow(cells, n_cells, drawn, coins, out.reshape(-1))
    else:
        _write_wide(cells, n_cells, drawn, coins, out)


@compiled
def _write_narrow(
    cells: NDArray[np.int32], n_cells: int, drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]
) -> None:
    """Keep the line of other cells in one word, then make room in it for the true cell."""
    n_bytes, size = (n_cells + 7) // 8, drawn.shape[1]
    first_last = np.uint64(n_cells - 1 - size)
    for r in range(cells.size):
        coin, cell = _bit(coins, np.uint64(r)), np.uint64(cells[r])
        line = (coin ^ _1) << np.uint64(drawn[r, 0])
        for step in range(1, size):
            place = np.uint64(drawn[r, step])
            is_taken = _0 - ((line >> place) & _1)
            line |= _1 << (place ^ ((place ^ (first_last + np.uint64(step))) & is_taken))
        before = line & ((_1 << cell) - _1)
        row = before | (coin << cell) | ((line ^ before) << _1)
        for byte in range(n_bytes):
            out[r * n_bytes + byte] = np.uint8(row >> np.uint64(8 * byte))


@compiled
def _write_wide(
    cells: NDArray[np.int32], n_cells: int, drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]
) -> None:
    """Keep a byte for each cell: bits that share a word would wait for each other."""
    n_bytes, size = out.shape[1], drawn.shape[1]
    named = np.zeros(8 * n_bytes, np.uint8)
    eights = named.view(np.uint64)
    for r in range(cells.size):
        for byte in range(n_bytes):
            eights[byte] = 0
        coin, cell, places = _bit(coins, np.uint64(r)), np.uint64(cells[r]), drawn[r]
        named[cell] = np.uint8(coin)
        named[_moved(np.uint64(places[0]), cell)] = np.uint8(coin ^ _1)
        for step in range(1, size):
            wanted = _moved(np.uint64(places[step]), cell)
            last = _moved(np.uint64(n_cells - 1 - size + step), cell)
            is_taken = _0 - np.uint64(named[wanted])
            named[wanted ^ ((wanted ^ last) & is_taken)] = np.uint8(1)
        for byte in range(n_bytes):
            out[r, byte] = np.uint8((eights[byte] * _GATHER) >> _56)


@compiled
def _moved(place: Any, cell: Any) -> Any:
    return place + np.uint64(place >= cell)


@compiled
def _bit(words: NDArray[np.uint64], at: Any) -> Any:
    return (words[at >> _6] >> (at & _63)) & _1


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
