"""Kernels of reports that name one cell, compiled. ``response_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_MOST_IN_A_LANE = 1 << 20  # counted before 32 bits are added up: far below where they run over
_1, _63 = np.uint64(1), np.uint64(63)


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
