r"""When does a hierarchy beat flat counts? From the length on at which a range of the tree, fused, errs less.

The thesis answers: from :math:`r > 2B \lceil\log_B N\rceil^2` on, for N bins in a tree of degree B. Its rule compares
upper bounds, of a tree whose levels are not fused. For 64 days and degree 2 it names 144 days, more than there are.
What stands here are the exact variances at the same epsilon, on average over the positions of a range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from tacit._base.validation import check_at_least
from tacit.domain.hierarchy import Hierarchy
from tacit.mechanisms.planner import central, local
from tacit.mechanisms.planner.contender import RangeError
from tacit.mechanisms.planner.situation import Question, Situation, positions
from tacit.randomness.laplace import laplace_variance

MOST_POSITIONS: Final = 1 << 15  # of a length that stand for all
_STEP: Final = 1.25  # lengths grow by a quarter until the tree errs less
_ROUNDING: Final = 1e-9  # relative: what differs by a float's last digits does not differ


def thesis_rule(n_bins: int, degree: int) -> int:
    """The length beyond which the thesis expects a tree to err less than flat counts.

    >>> thesis_rule(64, 2), thesis_rule(2048, 4)
    (144, 288)
    """
    check_at_least(2, n_bins=n_bins, degree=degree)
    height = 0
    while degree**height < n_bins:  # in whole numbers: a logarithm is off by one at powers
        height += 1
    return 2 * degree * height**2


def thesis_error(n_bins: int, degree: int, epsilon: float) -> float:
    r"""The error over random ranges of the thesis' tree, with the noise that its epsilon takes.

    A range is the sum of the fewest nodes, and all h + 1 levels have noise of scale (h + 1)/epsilon, so the mean
    variance is that of a node times the mean number of nodes. A node [a, b) is inside (a + 1)(N - b + 1) ranges, and
    used by those that its parent is not inside.

    >>> round(thesis_error(512, 4, 0.01) * 0.01, 1)
    27.3
    """
    tree = Hierarchy.of_degree(n_bins, degree)
    n_used = 0.0
    above = np.zeros(1)
    for level, edges in enumerate(np.asarray(boundaries) for boundaries in tree.boundaries):
        inside = (edges[:-1] + 1.0) * (n_bins - edges[1:] + 1.0)
        parents = tree.nodes_of(edges[:-1], level - 1) if level else np.zeros(1, np.int64)
        n_used += float((inside - above[parents]).sum())
        above = inside
    n_used /= n_bins * (n_bins + 1) / 2
    return math.sqrt(n_used * laplace_variance(epsilon / tree.n_levels))


def crossing_length(tree: RangeError, flat: RangeError, n_bins: int) -> int | None:
    """The length from which on the tree errs less, on average over the positions of a range; None if it never does.

    Looked for between lengths that grow by a quarter at a time, then by halving: the tree's gain grows with the length.
    """

    def wins(length: int) -> bool:
        first = positions(n_bins - length + 1, MOST_POSITIONS)
        own, other = (float(error.range_variances(first, first + length).mean()) for error in (tree, flat))
        return own < other * (1 - _ROUNDING)

    low, high = 0, 1
    while not wins(high):
        if high == n_bins:
            return None
        low, high = high, min(max(high + 1, int(high * _STEP)), n_bins)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high


def crossings(situation: Situation, degrees: Sequence[int] | None = None) -> dict[int, int | None]:
    """For trees of each degree, the length from which on they err less than the flat counts of the best single bins.

    >>> days = Situation(n_bins=64, n_events=64_000, trust="curator", epsilon=1.0)
    >>> crossings(days, [2, 8])
    {2: 63, 8: 19}
    """
    model = central if situation.is_central else local
    flat, *_ = sorted(model.flat_contenders(situation), key=lambda one: one.rmse(Question("points"), situation.n_bins))
    trees = model.tree_contenders(situation, model.DEGREES if degrees is None else degrees)
    return {one.fan_outs[-1]: crossing_length(one.error, flat.error, situation.n_bins) for one in trees}
