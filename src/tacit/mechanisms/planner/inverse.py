"""The inverse: from a target error to the epsilon it takes, or to the number of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tacit._base.validation import check_positive
from tacit.errors import SettingError
from tacit.mechanisms.planner.comparison import Comparison, Prediction, compare
from tacit.mechanisms.planner.situation import Question, Situation
from tacit.privacy.epsilon import LARGEST_EPSILON

SMALLEST_EPSILON: Final = 0.001
_CLOSE: Final = 5e-4  # relative: where a search stops
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
        """The largest error that a kind of question may have, in events."""
        return self.value * situation.expected(question) if self.is_relative else self.value

    def __str__(self) -> str:
        return f"{100 * self.value:g}% of the answer" if self.is_relative else f"{self.value:,g} events"


def excess(prediction: Prediction, compared: Comparison, target: Target) -> float:
    """How many times the target the error is, for the kind of question that misses it most; at most 1 if none does."""
    allowed = (target.allowed(compared.situation, question) for question in compared.questions)
    return max(error / limit for error, limit in zip(prediction.errors, allowed, strict=True))


def nearest(compared: Comparison, target: Target) -> Prediction:
    """The prediction that comes nearest to the target for all kinds of question together."""
    return min(compared.predictions, key=lambda one: excess(one, compared, target))


def least_epsilon(situation: Situation, questions: Iterable[Question], target: Target) -> float | None:
    """The least epsilon at which one mechanism reaches the target for all questions; None if none does up to 32.

    The situation's own epsilon does not matter. The answer is at most one part in 2,000 above the least.

    >>> days = Situation(n_bins=2048, n_events=2_000_000, trust="curator", epsilon=1.0)
    >>> epsilon = least_epsilon(days, [Question("ranges")], Target(40.0))
    >>> round(epsilon, 2)
    0.35
    """
    asked = tuple(questions)
    if situation.rho is not None:
        raise SettingError("an epsilon is looked for where epsilon is spent; got rho. Leave rho out.")

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
    """A point just where the miss falls to 0, by false position; ends are given with their misses.

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
    """The least number of events, in all, at which one mechanism reaches a relative target for all questions.

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
