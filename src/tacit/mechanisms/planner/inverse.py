r"""The inverse: from a target error to the epsilon it takes, or to the number of events; and where trees win.

When does a hierarchy beat flat counts? From the length on at which a range of the tree, fused, errs less. The thesis
answers: from :math:`r > 2B \lceil\log_B N\rceil^2` on, for N bins in a tree of degree B. Its rule compares upper
bounds, of a tree whose levels are not fused. For 64 days and degree 2 it names 144 days, more than there are. What
stands here are the exact variances at the same epsilon, on average over the positions of a range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.validation import check_at_least, check_positive
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.mechanisms.planner import central, local
from tacit.mechanisms.planner.comparison import Comparison, Prediction, compare
from tacit.mechanisms.planner.situation import Question, RangeVariances, Situation, positions
from tacit.privacy.epsilon import LARGEST_EPSILON
from tacit.randomness.laplace import laplace_variance

SMALLEST_EPSILON: Final = 0.001  # where the search for an epsilon begins: odds of 1.001, which no count survives
_CLOSE: Final = 5e-4  # relative, one part in 2,000: where a search stops; halved, it takes a step or two more
_MOST_STEPS: Final = 60  # of halving, more than a float has bits


@dataclass(frozen=True, slots=True)
class Target:
    """An error that answers may have: in events, or as a share of the true answer to expect.

    >>> Target.parse("5%"), Target.parse("40")
    (Target(value=0.05, is_relative=True), Target(value=40.0, is_relative=False))
    """

    value: float
    is_relative: bool = False

    def __post_init__(self) -> None:
        check_positive(target=self.value)

    @classmethod
    def parse(cls, words: str) -> Target:
        """Read ``40`` as events and ``5%`` as a share of the answer."""
        text = words.strip()
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            raise SettingError(
                f"target must be a number of events or a share of the answer in percent; got target={words}. "
                "Write 40, or 5%."
            ) from None
        return cls(value / 100, True) if text.endswith("%") else cls(value)

    def allowed(self, situation: Situation, question: Question) -> float:
        """Return the largest error that a kind of question may have, in events."""
        return self.value * situation.expected(question) if self.is_relative else self.value

    def __str__(self) -> str:
        return f"{100 * self.value:g}% of the answer" if self.is_relative else f"{self.value:,g} events"


def excess(prediction: Prediction, compared: Comparison, target: Target) -> float:
    """Return error over target for the kind of question that misses it most; at most 1 if none misses it."""
    allowed = (target.allowed(compared.situation, question) for question in compared.questions)
    return max(error / limit for error, limit in zip(prediction.errors, allowed, strict=True))


def nearest(compared: Comparison, target: Target) -> Prediction:
    """Return the prediction that comes nearest to the target for all kinds of question together."""
    return min(compared.choices, key=lambda one: excess(one, compared, target))


def least_epsilon(situation: Situation, questions: Iterable[Question], target: Target) -> float | None:
    """Return the least epsilon at which one mechanism reaches the target for all questions; None if none does up to 32.

    The situation's own epsilon does not matter. The answer is at most one part in 2,000 above the least.

    >>> days = Situation(n_bins=2048, n_events=2_000_000, trust="curator", epsilon=1.0)
    >>> epsilon = least_epsilon(days, [Question("ranges")], Target(40.0))
    >>> round(epsilon, 2)
    0.35
    """
    asked = tuple(questions)
    if situation.rho is not None:
        raise SettingError("rho must be left out where the least epsilon is asked for; got a rho. Leave it out.")

    def miss(log_epsilon: float) -> float:
        compared = compare(situation.with_epsilon(math.exp(log_epsilon)), asked)
        return math.log(max(excess(nearest(compared, target), compared, target), 1e-300))

    least, largest = math.log(SMALLEST_EPSILON), math.log(LARGEST_EPSILON)
    low, high = 0.0, 0.0
    low_miss = high_miss = miss(0.0)
    while high_miss > 0:
        if high >= largest:
            return None
        low, low_miss = high, high_miss
        high = min(high + math.log(2), largest)
        high_miss = miss(high)
    while low_miss <= 0:
        if low <= least:
            return SMALLEST_EPSILON
        high, high_miss = low, low_miss
        low = max(low - math.log(4), least)
        low_miss = miss(low)
    return math.exp(_root(miss, (low, low_miss), (high, high_miss)))


def _root(miss: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return a point just where the miss falls to 0, by false position; ends are given with their misses.

    Errors are nearly powers of epsilon, so that a line through two points of the logarithms all but hits the root.
    """
    (a, above), (b, below) = low, high
    for _ in range(_MOST_STEPS):
        if b - a <= _CLOSE:
            break
        middle = a + (b - a) * above / (above - below)
        # keep off the ends, or one of them would never move
        middle = min(max(middle + _CLOSE / 4, a + _CLOSE / 2), b - _CLOSE / 2)
        missed = miss(middle)
        if missed > 0:
            a, above = middle, missed
            below /= 2
        else:
            b, below = middle, missed
            above /= 2
    return b


def least_events(situation: Situation, questions: Iterable[Question], target: Target) -> int:
    """Return the least number of events, in all, at which one mechanism reaches a relative target for all questions.

    The error of reports grows with the root of their number, and that of a curator's noise not at all; answers grow
    with the number itself. The situation's own number of events does not matter.

    >>> days = Situation(n_bins=512, n_events=1.0, epsilon=1.0)
    >>> least_events(days, [Question("ranges")], Target(0.05, is_relative=True)) > 100_000
    True
    """
    if not target.is_relative:
        raise SettingError(
            f"target must be a share of the answer to find a number of events; got target={target}. Write 5%, say."
        )
    compared = compare(situation, questions)
    times = excess(nearest(compared, target), compared, target)
    return math.ceil(situation.n_events * (times if situation.is_central else times**2))


MOST_POSITIONS: Final = 1 << 15  # of a length that stand for all; doubled, twice the time
_STEP: Final = 1.25  # lengths grow by a quarter until the tree errs less: larger steps, then more halvings
_ROUNDING: Final = 1e-9  # relative: what differs by a float's last digits does not differ


def thesis_rule(n_bins: int, degree: int) -> int:
    """Return the length beyond which the thesis expects a tree to err less than flat counts.

    >>> thesis_rule(64, 2), thesis_rule(2048, 4)
    (144, 288)
    """
    check_at_least(2, n_bins=n_bins, degree=degree)
    height = 0
    while degree**height < n_bins:  # in whole numbers: a logarithm is off by one at powers
        height += 1
    return 2 * degree * height**2


def thesis_error(n_bins: int, degree: int, epsilon: float) -> float:
    r"""Return the error over random ranges of the thesis' tree, with the noise that its epsilon takes.

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


def crossing_length(tree: RangeVariances, flat: RangeVariances, n_bins: int) -> int | None:
    """Return the length from which on the tree errs less, on average over positions; None if it never does.

    Looked for between lengths that grow by a quarter at a time, then by halving: the tree's gain grows with the length.
    """

    def wins(length: int) -> bool:
        first = positions(n_bins - length + 1, MOST_POSITIONS)
        own, other = (float(one.range_variances(first, first + length).mean()) for one in (tree, flat))
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
    """Return, by degree, the length from which on trees err less than the flat counts of the best single bins.

    >>> days = Situation(n_bins=64, n_events=64_000, trust="curator", epsilon=1.0)
    >>> crossings(days, [2, 8])
    {2: 63, 8: 19}
    """
    model = central if situation.is_central else local
    flat, *_ = sorted(model.flat_contenders(situation), key=lambda one: one.rmse(Question("points"), situation.n_bins))
    trees = model.tree_contenders(situation, model.DEGREES if degrees is None else degrees)
    return {one.fan_outs[-1]: crossing_length(one.variances, flat.variances, situation.n_bins) for one in trees}
