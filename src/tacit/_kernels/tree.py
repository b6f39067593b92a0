"""The tree kernels, compiled. ``tree_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled


@compiled
def range_variances(
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    first_leaf: Any,
    parents: NDArray[np.int32],
    tables: NDArray[np.float64],
    fused: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    for i in range(first.size):
        left, right = first[i] + first_leaf, stop[i] + (first_leaf - 1)
        if left == right:
            out[i] = fused[left]
            continue
        before, upto, rest = 0.0, 1.0, 0.0
        while parents[left] != parents[right]:
            s, ahead, inverse = tables[left, 0], tables[left, 1], tables[left, 2]
            total = ahead + before * s
            share = total * inverse
            rest = rest + (ahead + before * before * s - total * share)
            before, left = share, np.int64(parents[left])
            s, ahead, inverse = tables[right, 0], tables[right, 1], tables[right, 2]
            total = ahead + upto * s
            share = total * inverse
            rest = rest + (ahead + upto * upto * s - total * share)
            upto, right = share, np.int64(parents[right])
        s_left, s_right = tables[left, 0], tables[right, 0]
        inside = tables[right, 1] - tables[left, 1] - s_left
        total = inside + (1 - before) * s_left + upto * s_right
        square = inside + (1 - before) * (1 - before) * s_left + upto * upto * s_right
        share = total * tables[left, 2]
        out[i] = rest + square - total * share + share * share * fused[parents[left]]
