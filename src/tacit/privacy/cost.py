"""The cost of a release, a pure part and a zCDP part; and budgets, the most that all of the same events may cost.

Sums are exact and then rounded up, so that a stated sum is never below the true one. Costs are for adding or removing
one unit of privacy (:mod:`tacit.privacy.unit`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tacit._base.rounding import epsilon_at_most, float_above, float_below, rounded_down
from tacit._base.validation import check_share
from tacit.errors import FormatError, SettingError
from tacit.privacy.epsilon import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    check_epsilon,
    epsilon_of_rho,
    largest_rho,
    rho_of_epsilon,
)

SMALLEST_RHO: Final = SMALLEST_EPSILON**2 / 2
LARGEST_RHO: Final = LARGEST_EPSILON**2 / 2
_MOST: Final = 1e9  # far above all that protects: sums stay exact enough


@dataclass(frozen=True, slots=True)
class Cost:
    """A pure epsilon and a rho of zCDP, of one release or of several together.

    >>> Cost.pure(0.5) + Cost.pure(1.0) + Cost.zcdp(0.125)
    Cost(epsilon=1.5, rho=0.125)
    >>> print(Cost.pure(1.0)), print(Cost.zcdp(0.125)), print(Cost())
    epsilon 1
    rho 0.125 (zCDP)
    nothing
    (None, None, None)
    """

    epsilon: float = 0.0
    rho: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "rho"):
            value = getattr(self, name)
            # written so that NaN fails too
            if isinstance(value, bool) or not (isinstance(value, (int, float)) and 0 <= value <= _MOST):
                raise SettingError(
                    f"the {name} of a cost must be a number between 0 and {_MOST:,.0f}; got {name}={value}. "
                    "A cost of one release is made by Cost.pure(epsilon) or Cost.zcdp(rho)."
                )
            object.__setattr__(self, name, float(value))

    @classmethod
    def pure(cls, epsilon: float) -> Cost:
        """Return the cost of a release that is epsilon-private, with no delta.

        >>> Cost.pure(0)
        Traceback (most recent call last):
        ...
        tacit.errors.SettingError: epsilon must be a number of at least 1e-06; got epsilon=0. From 0.5 (strong \
protection, large error) to 4 (weak protection, small error) is usual.
        """
        check_epsilon(epsilon)
        return cls(epsilon=epsilon)

    @classmethod
    def zcdp(cls, rho: float) -> Cost:
        """Return the cost of a release with Gaussian noise."""
        check_rho(rho)
        return cls(rho=rho)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Cost:
        """Return the largest zCDP cost that stays within (epsilon, delta).

        >>> Cost.approximate(1.0, 1e-6).epsilon_at(1e-6) <= 1.0
        True
        """
        check_epsilon(epsilon)
        check_delta(delta)
        return cls.zcdp(largest_rho(epsilon, delta))

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """Return the cost of all of them on the same events: exact, and rounded up once.

        >>> Cost.sum([Cost.pure(0.1)] * 10).epsilon >= 10 * Fraction(0.1)
        True
        """
        counted = Counter(costs).items()  # many releases of one price are quickly added
        return cls(
            float_above(sum((n * Fraction(cost.epsilon) for cost, n in counted), Fraction())),
            float_above(sum((n * Fraction(cost.rho) for cost, n in counted), Fraction())),
        )

    @classmethod
    def parallel(cls, *costs: Cost) -> Cost:
        """Return the cost of all, each on events that the others do not touch: the larger part of each kind.

        >>> Cost.parallel(Cost.pure(1.0), Cost.pure(0.5), Cost.zcdp(0.1))
        Cost(epsilon=1.0, rho=0.1)
        """
        return cls(max((cost.epsilon for cost in costs), default=0.0), max((cost.rho for cost in costs), default=0.0))

    def __add__(self, other: Cost) -> Cost:
        return Cost.sum([self, other])

    @property
    def is_pure(self) -> bool:
        """Whether it holds with no delta at all."""
        return self.rho == 0

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon of the whole at this delta; infinite if there is a zCDP part and delta is 0.

        The pure part is added as it is, or counted as epsilon**2/2 of zCDP, whichever gives less.

        >>> Cost.pure(0.1).epsilon_at(1e-6), Cost.zcdp(0.5).epsilon_at(0)
        (0.1, inf)
        """
        if delta == 0:
            return self.epsilon if self.is_pure else math.inf
        check_delta(delta)
        added = float_above(Fraction(self.epsilon) + Fraction(epsilon_of_rho(self.rho, delta)))
        if not self.epsilon:
            return added
        rho = float_above(Fraction(self.rho) + Fraction(rho_of_epsilon(self.epsilon)))
        return min(added, epsilon_of_rho(rho, delta))

    def __str__(self) -> str:
        parts = [f"epsilon {epsilon_at_most(self.epsilon)}"] if self.epsilon else []
        parts += [f"rho {epsilon_at_most(self.rho)} (zCDP)"] if self.rho else []
        return " and ".join(parts) or "nothing"

    def to_dict(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "rho": self.rho}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cost:
        try:
            if set(content) != {"epsilon", "rho"}:
                raise SettingError("unknown parts")
            return cls(content["epsilon"], content["rho"])
        except (SettingError, TypeError):
            raise FormatError("a cost is damaged: it holds two numbers, epsilon and rho. Restore the file.") from None


def check_rho(rho: float) -> None:
    """Refuse a rho that is not a number, or that protects nobody: what epsilon**2/2 is at epsilon's own limits."""
    if isinstance(rho, bool) or not (isinstance(rho, (int, float)) and SMALLEST_RHO <= rho <= LARGEST_RHO):
        raise SettingError(
            f"rho must be a number between {SMALLEST_RHO:g} and {LARGEST_RHO:g}; got rho={rho}. "
            "From 0.01 (strong protection, large error) to 0.5 (weak protection, small error) is usual."
        )


def check_delta(delta: float) -> None:
    """Refuse a delta outside 0..1; it is the chance that the promise fails, and should be far below 1 in the number
    of people."""
    check_share(delta=delta)


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
