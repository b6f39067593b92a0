"""The tree kernels in plain NumPy: what the compiled ones must equal.

A tree is two arrays over its nodes, numbered from the root down: ``parents`` (the number of the node above), and
``tables`` with s, the sum of s over the siblings before the node, and 1 over the sum of s over all of them (0 where
that is 0). The leaves are the last nodes, all at one depth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_RANGES_AT_ONCE = 1 << 16


def range_variances(
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    first_leaf: int,
    parents: NDArray[np.int32],
    tables: NDArray[np.float64],
    fused: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the variance of every range of leaves; ``fused`` holds the variances of the nodes' own fused counts."""
    for block in range(0, first.size, _RANGES_AT_ONCE):
        part = slice(block, block + _RANGES_AT_ONCE)
        _range_variances(first[part] + first_leaf, stop[part] + (first_leaf - 1), parents, tables, fused, out[part])


def _range_variances(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    parents: NDArray[np.int32],
    tables: NDArray[np.float64],
    fused: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    out[:] = fused[left]
    here = np.flatnonzero(left != right)
    left, right = left[here], right[here]
    # the leaves before the left end, and those up to the right one, as shares of their nodes; and the rests
    before, upto, rest = np.zeros(here.size), np.ones(here.size), np.zeros(here.size)
    while here.size:
        s_left, ahead_left, inverse = tables[left].T
        s_right, ahead_right, inverse_right = tables[right].T
        joined = parents[left] == parents[right]
        inside = ahead_right - ahead_left - s_left
        total = inside + (1 - before) * s_left + upto * s_right
        square = inside + (1 - before) ** 2 * s_left + upto**2 * s_right
        share = total * inverse
        variance = rest + square - total * share + share**2 * fused[parents[left]]
        out[here[joined]] = variance[joined]
        total_left, total_right = ahead_left + before * s_left, ahead_right + upto * s_right
        share_left, share_right = total_left * inverse, total_right * inverse_right
        rest = rest + (ahead_left + before**2 * s_left - total_left * share_left)
        rest = rest + (ahead_right + upto**2 * s_right - total_right * share_right)
        apart = ~joined
        here, left, right = here[apart], parents[left[apart]], parents[right[apart]]
        before, upto, rest = share_left[apart], share_right[apart], rest[apart]
