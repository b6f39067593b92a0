"""The cost of a release: a pure part and a zCDP part.

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

from tacit._base.rounding import epsilon_at_most, float_above
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
