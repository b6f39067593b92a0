r"""The mean variance over all ranges of a fused tree, exactly.

Below a node v its leaves follow its count in fixed parts :math:`\pi_v`, the products of the shares s_c / S on the way
down, so the covariance of the leaves is

.. math:: C = \sum_{\text{leaves}} s\, \pi \pi^\top - \sum_{\text{inner } v} (S_v - s_v)\, \pi_v \pi_v^\top .

Two leaves i <= j lie together in (i + 1)(N - j) of the N (N + 1) / 2 ranges, so the mean is the same sum of

.. math:: Q_v = \frac{2}{N (N + 1)} \sum_{i, j} \pi_{vi} \pi_{vj} (\min(i, j) + 1) (N - \max(i, j)),

which parts into the children's, and into products of first moments :math:`A_v = \sum_i \pi_{vi} (i + 1)` for leaves of
two children. A tree of equal fan-outs whose last nodes are cut short has nodes of two kinds a level, whole ones and the
last: its mean takes O(height).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tacit.counts.tree_least_squares.passes import Passes


def mean_over_ranges(passes: Passes) -> float:
    """Of any tree, O(nodes)."""
    tree = passes.hierarchy
    n = tree.n_leaves
    starts = tree.boundaries[-1][1:].astype(np.float64)
    first_moments, products = starts, starts * (n + 1 - starts)
    total = float((passes.from_below[-1] * products).sum())
    for level in range(tree.height - 1, -1, -1):
        shares = passes.shares[level + 1]
        parts = shares * first_moments
        # pairs of leaves in two children, the earlier one's first
        across = 2 * passes.sum_before(level, parts) * shares * (n + 1 - first_moments)
        products = passes.sum_children(level, shares**2 * products + across)
        first_moments = passes.sum_children(level, parts)
        saved = passes.sum_children(level, passes.from_below[level + 1]) - passes.from_below[level]
        total -= float((saved * products).sum())
    return total * 2 / (n * (n + 1))


def mean_over_ranges_of_fan_outs(fan_outs: Sequence[int], n_leaves: int, level_variances: Sequence[float]) -> float:
    """Of the tree of these fan-outs, root first, cut short at ``n_leaves``; O(height).

    >>> round(mean_over_ranges_of_fan_outs([4], 4, [float("inf"), 1.0]), 12)  # mean length 2
    2.0
    """
    n = n_leaves
    sizes = [prod(fan_outs[level:]) for level in range(len(fan_outs) + 1)]
    whole = level_variances[-1]  # s of a whole node
    last: tuple[float, float, float] | None = None  # s, A and Q of the node cut short, if there is one
    total = whole * sum_of_products(n, n, 1)
    for level in range(len(fan_outs) - 1, -1, -1):
        size, below = sizes[level], sizes[level + 1]
        n_whole, rest = divmod(n, size)
        total_below = fan_outs[level] * whole
        own = total_below * _kept(total_below, level_variances[level])
        total -= (total_below - own) * sum_of_products(n, n_whole, size)
        if rest:
            count, offset = rest // below, n - rest
            last_s, last_moment, last_product = last or (0.0, 0.0, 0.0)
            sums = count * whole + last_s
            share, last_share = (whole / sums, last_s / sums) if sums else (0.0, 0.0)
            moments = sum(offset + below * k + (below + 1) / 2 for k in range(count))
            inside = sum_of_products(n, count, below, offset)
            # the pairs in two whole children: all pairs in the run of them, less those in one
            pairs = _run_product(n, count * below, offset) * count**2 - inside if count else 0.0
            product = share**2 * (inside + pairs) + last_share**2 * last_product
            product += 2 * share * last_share * moments * (n + 1 - last_moment)
            kept = sums * _kept(sums, level_variances[level])
            total -= (sums - kept) * product
            last = kept, share * moments + last_share * last_moment, product
        else:
            last = None
        whole = own
    return total * 2 / (n * (n + 1))


def sum_of_products(n: int, count: int, size: int, offset: int = 0) -> float:
    """The sum of Q N (N + 1) / 2 over ``count`` nodes of ``size`` evenly weighted leaves each, side by side."""
    if not count:
        return 0.0
    # of two leaves of a node, counted from its first: the means of the smaller, of the larger and of their product
    larger = (size - 1) * (4 * size + 1) / (6 * size)
    smaller, product = size - 1 - larger, ((size - 1) / 2) ** 2
    steps, squares = count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6
    firsts = count * offset + size * steps
    first_squares = count * offset**2 + 2 * offset * size * steps + size**2 * squares
    # (o + 1)(n - o) + (n - o) smaller - (o + 1) larger - product, summed over the nodes' first leaves o
    whole = count * n + (n - 1) * firsts - first_squares
    return whole + smaller * (count * n - firsts) - larger * (count + firsts) - product * count


def _run_product(n: int, size: int, offset: int) -> float:
    return sum_of_products(n, 1, size, offset)


def _kept(below: float, variance: float) -> float:
    """1 - k: the part of the variance from below that a measurement leaves."""
    known = below + variance
    return 1.0 if known == float("inf") or not known else variance / known
