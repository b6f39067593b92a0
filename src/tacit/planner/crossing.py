r"""When does a hierarchy beat flat counts? From the length on at which a range of the tree, fused, errs less.

The thesis answers: from :math:`r > 2B \lceil\log_B N\rceil^2` on, for N bins in a tree of degree B. Its rule compares
upper bounds, of a tree whose levels are not fused. For 64 days and degree 2 it names 144 days, more than there are.
What stands here are the exact variances at the same epsilon, on average over the positions of a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tacit._validate import check_at_least
from tacit.planner import central, local
from tacit.planner.contender import RangeError
from tacit.planner.questions import Question, positions
from tacit.planner.situation import Situation

MOST_POSITIONS: Final = 1 << 15
_STEP: Final = 1.25
_ROUNDING: Final = 1e-9


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
