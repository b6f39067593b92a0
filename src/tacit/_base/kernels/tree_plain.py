"""The tree kernels in plain NumPy: what the compiled ones must equal, bit for bit: both add in one order.

A tree is two tables. ``links`` holds, for every node numbered from the root down, the number of its parent and a row;
the leaves are the last nodes, all at one depth. ``rows`` holds what :mod:`tacit.counts.tree_least_squares` says
of a node, in this order: s, its sum over the siblings before, 1 over its sum over all siblings, the gain k, the fourth
cumulant K from below, its sum over the siblings before, its sum over the siblings after, the weight gamma of z in x,
the fourth cumulant of the measurement, the fourth cumulant of x from outside, the variance of x. Equal nodes share a
row, so that the rows of a regular tree stay in cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_RANGES_AT_ONCE = 1 << 16  # half a MiB for each number of a range


def range_moments(
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    first_leaf: int,
    links: NDArray[np.uint32],
    rows: NDArray[np.float64],
    variances: NDArray[np.float64],
    cumulants: NDArray[np.float64],
) -> None:
    """Write the variance and the fourth cumulant of the error of every range of leaves."""
    for block in range(0, first.size, _RANGES_AT_ONCE):
        part = slice(block, block + _RANGES_AT_ONCE)
        left, right = first[part] + first_leaf, stop[part] + (first_leaf - 1)
        single = np.flatnonzero(left == right)
        node = rows[links[left[single], 1]].T
        variances[part][single] = node[10]
        cumulants[part][single] = node[9] + _fourth(node[7]) * node[4]
        _meet(left, right, np.flatnonzero(left != right), links, rows, variances[part], cumulants[part])


def _meet(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    here: NDArray[np.int64],
    links: NDArray[np.uint32],
    rows: NDArray[np.float64],
    variances: NDArray[np.float64],
    cumulants: NDArray[np.float64],
) -> None:
    """Climb from both ends until they meet; finish the ranges that do at each step."""
    left, right = left[here], right[here]
    # the leaves before the left end, and those up to the right one, as shares of their nodes; and the rests
    before, upto, rest = np.zeros(here.size), np.ones(here.size), np.zeros(here.size)
    left_path: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    right_path: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    while here.size:
        left_node, right_node = rows[links[left, 1]].T, rows[links[right, 1]].T
        left_path.append((left_node, 1 - before))
        right_path.append((right_node, upto))
        met = links[left, 0] == links[right, 0]
        above = rows[links[links[left[met], 0], 1]].T
        variances[here[met]], cumulants[here[met]] = _moments(
            [(node[:, met], weight[met]) for node, weight in left_path],
            [(node[:, met], weight[met]) for node, weight in right_path],
            above,
            rest[met],
        )
        sums = left_node[1] + before * left_node[0], right_node[1] + upto * right_node[0]
        shares = sums[0] * left_node[2], sums[1] * right_node[2]
        rest = rest + (left_node[1] + before * before * left_node[0] - sums[0] * shares[0])
        rest = rest + (right_node[1] + upto * upto * right_node[0] - sums[1] * shares[1])
        apart = ~met
        here, left, right = here[apart], links[left[apart], 0], links[right[apart], 0]
        before, upto, rest = shares[0][apart], shares[1][apart], rest[apart]
        left_path = [(node[:, apart], weight[apart]) for node, weight in left_path]
        right_path = [(node[:, apart], weight[apart]) for node, weight in right_path]


def _moments(
    left_path: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    right_path: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    above: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    (left, on_left), (right, on_right) = left_path[-1], right_path[-1]
    inside = right[1] - left[1] - left[0]
    total = inside + on_left * left[0] + on_right * right[0]
    square = inside + on_left * on_left * left[0] + on_right * on_right * right[0]
    share = total * left[2]
    variance = rest + square - total * share + share * share * above[10]
    shift = share * ((1 - above[3]) * above[7] - 1)
    cumulant = _fourth(share) * above[9] + _fourth(above[3] * share * above[7]) * above[8]
    cumulant = cumulant + _fourth(shift) * (right[6] + left[5])
    cumulant = cumulant + _fourth(1 + shift) * (right[5] - left[5] - left[4])
    cumulant = cumulant + _descend(left_path, shift, is_left=True)
    return variance, cumulant + _descend(right_path, shift, is_left=False)


def _descend(
    path: list[tuple[NDArray[np.float64], NDArray[np.float64]]], shift: NDArray[np.float64], *, is_left: bool
) -> NDArray[np.float64]:
    node, weight = path[-1]
    on_node, cumulant = weight + shift, np.zeros(shift.shape)
    for child, child_weight in path[-2::-1]:
        cumulant = cumulant + _fourth(node[3] * on_node) * node[8]
        shift = (1 - node[3]) * on_node - weight
        outside, within = (child[5], child[6]) if is_left else (child[6], child[5])
        cumulant = cumulant + (_fourth(shift) * outside + _fourth(1 + shift) * within)
        node, weight, on_node = child, child_weight, child_weight + shift
    cumulant += _fourth(on_node) * node[4]
    return cumulant


def _fourth(number: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.square(np.square(number))
