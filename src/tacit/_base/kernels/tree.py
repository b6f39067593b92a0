"""The tree kernels, compiled. ``tree_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_DEEPEST = 64  # every level has more nodes than the one above, and no array has 2**64


@compiled
def range_moments(
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    first_leaf: Any,
    links: NDArray[np.uint32],
    rows: NDArray[np.float64],
    variances: NDArray[np.float64],
    cumulants: NDArray[np.float64],
) -> None:
    # unsigned: an index that cannot be negative is not looked at twice
    left_path, right_path = np.empty(_DEEPEST, np.uint64), np.empty(_DEEPEST, np.uint64)
    left_weights, right_weights = np.empty(_DEEPEST), np.empty(_DEEPEST)
    for i in range(first.size):
        left, right = np.uint64(first[i] + first_leaf), np.uint64(stop[i] + (first_leaf - 1))
        low, high = np.uint64(links[left, 1]), np.uint64(links[right, 1])
        if left == right:
            variances[i] = rows[low, 10]
            cumulants[i] = rows[low, 9] + _fourth(rows[low, 7]) * rows[low, 4]
            continue
        before, upto, rest = 0.0, 1.0, 0.0
        n = np.uint64(0)
        while links[left, 0] != links[right, 0]:
            left_path[n], left_weights[n] = low, 1 - before
            s, ahead = rows[low, 0], rows[low, 1]
            total = ahead + before * s
            share = total * rows[low, 2]
            rest = rest + (ahead + before * before * s - total * share)
            before = share
            right_path[n], right_weights[n] = high, upto
            s, ahead = rows[high, 0], rows[high, 1]
            total = ahead + upto * s
            share = total * rows[high, 2]
            rest = rest + (ahead + upto * upto * s - total * share)
            upto = share
            left, right = np.uint64(links[left, 0]), np.uint64(links[right, 0])
            low, high = np.uint64(links[left, 1]), np.uint64(links[right, 1])
            n += np.uint64(1)
        left_path[n], left_weights[n] = low, 1 - before
        right_path[n], right_weights[n] = high, upto
        above = np.uint64(links[np.uint64(links[left, 0]), 1])
        inside = rows[high, 1] - rows[low, 1] - rows[low, 0]
        total = inside + (1 - before) * rows[low, 0] + upto * rows[high, 0]
        square = inside + (1 - before) * (1 - before) * rows[low, 0] + upto * upto * rows[high, 0]
        share = total * rows[low, 2]
        variances[i] = rest + square - total * share + share * share * rows[above, 10]
        shift = share * ((1 - rows[above, 3]) * rows[above, 7] - 1)
        cumulant = _fourth(share) * rows[above, 9] + _fourth(rows[above, 3] * share * rows[above, 7]) * rows[above, 8]
        cumulant += _fourth(shift) * (rows[high, 6] + rows[low, 5])
        cumulant += _fourth(1 + shift) * (rows[high, 5] - rows[low, 5] - rows[low, 4])
        cumulant += _descend(rows, left_path, left_weights, n, shift, True)
        cumulant += _descend(rows, right_path, right_weights, n, shift, False)
        cumulants[i] = cumulant


@compiled
def _descend(
    rows: NDArray[np.float64],
    path: NDArray[np.uint64],
    weights: NDArray[np.float64],
    n: Any,
    shift: Any,
    is_left: Any,
) -> Any:
    on_node, node = weights[n] + shift, path[n]
    cumulant = 0.0
    for step in range(n, np.uint64(0), -1):
        child, gain = path[step - np.uint64(1)], rows[node, 3]
        cumulant += _fourth(gain * on_node) * rows[node, 8]
        shift = (1 - gain) * on_node - weights[step]
        if is_left:
            cumulant += _fourth(shift) * rows[child, 5] + _fourth(1 + shift) * rows[child, 6]
        else:
            cumulant += _fourth(shift) * rows[child, 6] + _fourth(1 + shift) * rows[child, 5]
        on_node, node = weights[step - np.uint64(1)] + shift, child
    return cumulant + _fourth(on_node) * rows[node, 4]


@compiled
def _fourth(number: Any) -> Any:
    square = number * number
    return square * square
