"""The tree kernels, compiled. ``tree_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_DEEPEST = 64  # every level has more nodes than the one above, and no array has 2**64


@compiled
def range_moments(
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    first_leaf: Any,
    links: NDArray[np.int32],
    rows: NDArray[np.float64],
    variances: NDArray[np.float64],
    cumulants: NDArray[np.float64],
) -> None:
    left_path, right_path = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    left_weights, right_weights = np.empty(_DEEPEST), np.empty(_DEEPEST)
    for i in range(first.size):
        left, right = first[i] + first_leaf, stop[i] + (first_leaf - 1)
        if left == right:
            row = links[left, 1]
            variances[i] = rows[row, 10]
            cumulants[i] = rows[row, 9] + _fourth(rows[row, 7]) * rows[row, 4]
            continue
        before, upto, rest = 0.0, 1.0, 0.0
        n = 0
        while links[left, 0] != links[right, 0]:
            row = links[left, 1]
            left_path[n], left_weights[n] = row, 1 - before
            s, ahead = rows[row, 0], rows[row, 1]
            total = ahead + before * s
            share = total * rows[row, 2]
            rest = rest + (ahead + before * before * s - total * share)
            before, left = share, np.int64(links[left, 0])
            row = links[right, 1]
            right_path[n], right_weights[n] = row, upto
            s, ahead = rows[row, 0], rows[row, 1]
            total = ahead + upto * s
            share = total * rows[row, 2]
            rest = rest + (ahead + upto * upto * s - total * share)
            upto, right = share, np.int64(links[right, 0])
            n += 1
        left_path[n], left_weights[n] = links[left, 1], 1 - before
        right_path[n], right_weights[n] = links[right, 1], upto
        low, high, above = links[left, 1], links[right, 1], links[links[left, 0], 1]
        inside = rows[high, 1] - rows[low, 1] - rows[low, 0]
        total = inside + (1 - before) * rows[low, 0] + upto * rows[high, 0]
        square = inside + (1 - before) * (1 - before) * rows[low, 0] + upto * upto * rows[high, 0]
        share = total * rows[low, 2]
        variances[i] = rest + square - total * share + share * share * rows[above, 10]
        drift = share * ((1 - rows[above, 3]) * rows[above, 7] - 1)
        cumulant = _fourth(share) * rows[above, 9] + _fourth(rows[above, 3] * share * rows[above, 7]) * rows[above, 8]
        cumulant += _fourth(drift) * (rows[low, 6] - rows[high, 5] - rows[high, 4] + rows[low, 5])
        cumulant += _fourth(1 + drift) * (rows[high, 5] - rows[low, 5] - rows[low, 4])
        cumulant += _descend(rows, left_path, left_weights, n, drift, True)
        cumulant += _descend(rows, right_path, right_weights, n, drift, False)
        cumulants[i] = cumulant


@compiled
def _descend(
    rows: NDArray[np.float64],
    path: NDArray[np.int64],
    weights: NDArray[np.float64],
    n: Any,
    drift: Any,
    is_left: Any,
) -> Any:
    on_node = weights[n] + drift
    cumulant = 0.0
    for step in range(n - 1, -1, -1):
        node, child = path[step + 1], path[step]
        cumulant += _fourth(rows[node, 3] * on_node) * rows[node, 8]
        shift = (1 - rows[node, 3]) * on_node - weights[step + 1]
        before, after = rows[child, 5], rows[child, 6] - rows[child, 5] - rows[child, 4]
        if is_left:
            cumulant += _fourth(shift) * before + _fourth(1 + shift) * after
        else:
            cumulant += _fourth(shift) * after + _fourth(1 + shift) * before
        on_node = weights[step] + shift
    return cumulant + _fourth(on_node) * rows[path[0], 4]


@compiled
def _fourth(number: Any) -> Any:
    square = number * number
    return square * square
