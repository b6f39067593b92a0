"""The Hadamard kernels, compiled. ``hadamard_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_NARROW = 1 << 12  # four histograms of this order fit a core's cache; split, equal columns do not wait for one another


@compiled
def transform(values: NDArray[Any]) -> None:
    flat = values.reshape(-1)
    size = values.shape[-1]
    for first in range(0, flat.size, size):
        _transform_one(flat[first : first + size])


@compiled
def _transform_one(values: NDArray[Any]) -> None:
    size, half = values.size, 1
    # two steps a pass: half the trips through memory
    if size >= 4:
        for first in range(0, size, 4):
            four = values[first : first + 4]
            four[0], four[1], four[2], four[3] = _two_steps(four[0], four[1], four[2], four[3])
        half = 4
    while 4 * half <= size:
        for first in range(0, size, 4 * half):
            a, b = values[first : first + half], values[first + half : first + 2 * half]
            c, d = values[first + 2 * half : first + 3 * half], values[first + 3 * half : first + 4 * half]
            for i in range(half):
                a[i], b[i], c[i], d[i] = _two_steps(a[i], b[i], c[i], d[i])
        half *= 4
    if half < size:
        a, b = values[:half], values[half:]
        for i in range(half):
            a[i], b[i] = a[i] + b[i], a[i] - b[i]


@compiled
def _two_steps(a: Any, b: Any, c: Any, d: Any) -> Any:
    sum_1, gap_1, sum_2, gap_2 = a + b, a - b, c + d, c - d
    return sum_1 + sum_2, gap_1 + gap_2, sum_1 - sum_2, gap_1 - gap_2


def steer(
    columns: NDArray[np.unsignedinteger], n_bits: int, cells: NDArray[np.int32], kept: NDArray[np.uint64]
) -> None:
    _steer(columns, np.uint32((1 << n_bits) - 1), cells, kept)


@compiled
def _steer(columns: NDArray[Any], mask: np.uint32, cells: NDArray[np.int32], kept: NDArray[np.uint64]) -> None:
    n = cells.size
    for word in range((n + 63) // 64):
        coins, first = kept[word], 64 * word
        last = min(first + 64, n)
        lanes, rows = columns[first:last], cells[first:last]
        for j in range(lanes.size):
            column, row = np.uint32(lanes[j]) & mask, np.uint32(rows[j] + 1)
            sign = column & row
            sign ^= sign >> np.uint32(16)
            sign ^= sign >> np.uint32(8)
            sign ^= sign >> np.uint32(4)
            sign ^= sign >> np.uint32(2)
            sign ^= sign >> np.uint32(1)
            coin = np.uint32(coins >> np.uint64(j)) & np.uint32(1)
            lanes[j] = column ^ ((row & (~row + np.uint32(1))) * (sign & coin))


@compiled
def count_grouped(columns: NDArray[Any], starts: NDArray[np.int64], n_bits: int, counts: NDArray[np.int64]) -> None:
    order = 1 << n_bits
    histogram = np.zeros(order, np.int64)
    others = np.zeros((3, order if order <= _NARROW else 0), np.int64)
    for group in range(len(counts)):
        here = columns[starts[group] : starts[group + 1]]
        if here.size == 0:
            continue
        n_split = here.size // 4 * 4 if order <= min(_NARROW, here.size) else 0
        for i in range(0, n_split, 4):
            histogram[here[i]] += 1
            others[0, here[i + 1]] += 1
            others[1, here[i + 2]] += 1
            others[2, here[i + 3]] += 1
        for i in range(n_split, here.size):
            histogram[here[i]] += 1
        if n_split:
            for column in range(order):
                histogram[column] += others[0, column] + others[1, column] + others[2, column]
            others[:] = 0
        _transform_one(histogram)
        for cell in range(counts.shape[1]):
            counts[group, cell] += (here.size + histogram[cell + 1]) >> 1
        histogram[:] = 0
