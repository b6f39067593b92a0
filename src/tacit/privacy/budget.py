"""A budget: the most that all releases of the same events may cost together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tacit._base.rounding import epsilon_at_most, float_above, float_below, rounded_down
from tacit.errors import SettingError
from tacit.privacy.cost import SMALLEST_RHO, Cost, check_delta, check_rho
from tacit.privacy.epsilon import SMALLEST_EPSILON, check_epsilon, epsilon_of_rho, largest_rho

# A decimal that a person writes lies within 2**-53 of its float. Sums are exact, so that this much room lets ten
# releases of 0.1 fit a budget of 1, and no more than ten.
_LEEWAY: Final = 1 + Fraction(1, 2**51)


@dataclass(frozen=True, slots=True)
class Room:
    """The largest further release that would fit: of pure epsilon, or else of zCDP; 0 if none does."""

    epsilon: float
    rho: float

    def __bool__(self) -> bool:
        return bool(self.epsilon or self.rho)

    def __str__(self) -> str:
        parts = [f"epsilon {self.epsilon:.9g}"] if self.epsilon else []
        parts += [f"rho {self.rho:.9g} (zCDP)"] if self.rho else []
        return " or ".join(parts) or "nothing"


@dataclass(frozen=True, slots=True)
class Budget:
    """A pure epsilon; or epsilon at a delta; or a rho of zCDP, in which a pure release counts as epsilon**2/2.

    With both an epsilon and a rho and no delta (the cost of a first release that has both parts) each part is kept
    to its own limit.

    >>> budget = Budget.pure(1.0)
    >>> budget.admits([Cost.pure(0.1)] * 10), budget.admits([Cost.pure(0.1)] * 11)
    (True, False)
    >>> print(budget.room([Cost.pure(0.6)]))
    epsilon 0.4
    """

    epsilon: float = 0.0
    rho: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.delta:
            check_delta(self.delta)
            if self.rho:
                raise SettingError("a budget is either epsilon at a delta, or rho. Leave one of them out.")
        if self.epsilon or not self.rho:
            check_epsilon(self.epsilon)
        if self.rho:
            check_rho(self.rho)

    @classmethod
    def pure(cls, epsilon: float) -> Budget:
        return cls(epsilon=epsilon)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Budget:
        check_delta(delta)
        return cls(epsilon=epsilon, delta=delta)

    @classmethod
    def zcdp(cls, rho: float) -> Budget:
        return cls(rho=rho)

    @classmethod
    def of(cls, cost: Cost, *, delta: float = 0.0) -> Budget:
        """Return a cost as a budget."""
        return cls(cost.epsilon, cost.rho, delta)

    def admits(self, costs: Iterable[Cost]) -> bool:
        """Return whether releases of these costs, on the same events, stay within."""
        sums = _Sums.of(costs)
        if self.delta:
            added = sums.epsilon + Fraction(epsilon_of_rho(float_above(sums.rho), self.delta))
            limit = _limit(self.epsilon)
            return added <= limit or epsilon_of_rho(float_above(sums.all_rho), self.delta) <= limit
        if not self.epsilon:
            return sums.all_rho <= _limit(self.rho)
        return sums.epsilon <= _limit(self.epsilon) and sums.rho <= _limit(self.rho)

    def room(self, costs: Iterable[Cost]) -> Room:
        """Return what would still fit after these costs, rounded down to nine digits."""
        sums = _Sums.of(costs)
        epsilon, rho = self._room_at_delta(sums) if self.delta else self._room_without_delta(sums)
        epsilon, rho = rounded_down(epsilon), rounded_down(rho)
        return Room(epsilon if epsilon >= SMALLEST_EPSILON else 0.0, rho if rho >= SMALLEST_RHO else 0.0)

    def _room_without_delta(self, sums: _Sums) -> tuple[float, float]:
        if not self.epsilon:
            rho = float_below(_limit(self.rho) - sums.all_rho)
            return _epsilon_within(rho), rho
        left = _limit(self.epsilon) - sums.epsilon, _limit(self.rho) - sums.rho
        # whichever part is overdrawn closes the other
        return (float_below(left[0]), float_below(left[1])) if min(left) >= 0 else (0.0, 0.0)

    def _room_at_delta(self, sums: _Sums) -> tuple[float, float]:
        as_rho = float_below(Fraction(largest_rho(self.epsilon, self.delta)) - sums.all_rho)
        spent = Fraction(epsilon_of_rho(float_above(sums.rho), self.delta))
        epsilon = float_below(_limit(self.epsilon) - sums.epsilon - spent)
        left = float_below(Fraction(self.epsilon) - sums.epsilon)
        rho = float_below(Fraction(largest_rho(left, self.delta)) - sums.rho) if left > 0 else 0.0
        return max(epsilon, _epsilon_within(as_rho)), max(rho, as_rho)

    def spent(self, costs: Iterable[Cost]) -> str:
        """Return the sum of these costs, in the budget's own terms."""
        sums = _Sums.of(costs)
        total = Cost(float_above(sums.epsilon), float_above(sums.rho))
        if self.delta:
            as_rho = epsilon_of_rho(float_above(sums.all_rho), self.delta)
            return f"epsilon {epsilon_at_most(min(as_rho, total.epsilon_at(self.delta)))}"
        return str(total if self.epsilon else Cost(rho=float_above(sums.all_rho)))

    def __str__(self) -> str:
        return str(Cost(self.epsilon, self.rho)) + (f" at delta {self.delta:g}" if self.delta else "")


@dataclass(frozen=True, slots=True)
class _Sums:
    """Exact sums over releases of the same events."""

    epsilon: Fraction
    rho: Fraction
    all_rho: Fraction  # with every pure part counted as epsilon**2 / 2

    @classmethod
    def of(cls, costs: Iterable[Cost]) -> _Sums:
        epsilon = rho = squares = Fraction()
        for cost, times in Counter(costs).items():  # many releases of one price are quickly added
            part = Fraction(cost.epsilon)
            epsilon, squares = epsilon + times * part, squares + times * part * part
            rho += times * Fraction(cost.rho)
        return cls(epsilon, rho, rho + squares / 2)


def _limit(part: float) -> Fraction:
    return Fraction(part) * _LEEWAY


def _epsilon_within(rho: float) -> float:
    """Return the largest epsilon with epsilon**2/2 <= rho, or a little less."""
    return math.nextafter(math.sqrt(2 * rho), 0.0) if rho > 0 else 0.0
