"""Claims about a mechanism (an epsilon, an epsilon at a delta, or a rho), and what an audit found of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tacit._base.validation import check_positive, check_share
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed limit on how far two inputs that differ by one unit move the distribution of the output.

    ``value`` is an epsilon, at ``delta``, or a rho of zCDP (``measure`` says which).

    >>> Claim.of(epsilon=1.0), Claim.of(rho=0.5).measure
    (Claim(value=1.0, delta=0.0, measure='epsilon'), 'rho')
    """

    value: float
    delta: float = 0.0
    measure: str = "epsilon"

    @classmethod
    def of(cls, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> Claim:
        """Return the claim that settings name: epsilon, with a delta or without, or rho."""
        if (epsilon is None) == (rho is None) or (rho is not None and delta):
            raise SettingError("a claim must be an epsilon, with a delta or without, or a rho alone. Give one of them.")
        if rho is not None:
            check_positive(rho=rho)
            return cls(rho, measure="rho")
        assert epsilon is not None
        check_positive(epsilon=epsilon)
        check_share(open_ends=False, delta=delta)
        return cls(epsilon, delta)

    @property
    def settings(self) -> dict[str, Any]:
        """The same as settings of an audit."""
        return {"rho": self.value} if self.measure == "rho" else {"epsilon": self.value, "delta": self.delta}

    @property
    def is_pure(self) -> bool:
        return self.measure == "epsilon" and not self.delta

    def price(self, group: int) -> int:
        """Return how many times the claim a group of so many units may cost: k epsilon, or k**2 rho (Bun2016).

        At a delta a group costs more than either, and is not played.
        """
        if group > 1 and self.delta:
            raise SettingError("a group of units is audited for a pure epsilon or a rho only. Take one unit.")
        return group**2 if self.measure == "rho" else group

    @property
    def groups(self) -> tuple[int, ...]:
        """The numbers of units to add at once: one, and as many as tell two inputs apart best.

        The error of a bound falls with what a group costs until guesses are nearly sure. Halving or doubling these
        numbers costs a third of the power at most.
        """
        if self.delta:
            return (1,)
        # x = k epsilon maximizes x sqrt(e^x) / (1 + e^x) at 2.4; k sqrt(2 rho) between 1 and 1.5 was best in simulation
        best = 2.4 / self.value if self.measure == "epsilon" else 1.25 / (2 * self.value) ** 0.5
        return tuple(dict.fromkeys([max(1, round(best)), 1]))


WEAK_BELOW: Final = 0.9
"""A bound below this part of the claim says little: a fault of that size would have gone unseen."""


class Verdict(StrEnum):
    """The verdict of a bound on a claim."""

    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    WEAK = "not refuted, but far below: weak test"


@dataclass(frozen=True, slots=True)
class Audit:
    """A claimed epsilon or rho, and a lower bound that exceeds the true one with probability 1 - confidence at most.

    ``n_runs`` is how often the mechanism ran in all; the bound comes from the ``n_guesses`` that were made in the runs
    kept for the test, of which ``n_correct`` were right. ``found`` says how inputs were told apart. An audit that
    ``is_specific`` looks for one fault: where it is absent the bound is small, and that is no weakness.

    >>> Audit("local randomizer", 0.405, 0.0, 0.94, 0.99, 1_000_000, 100_000, 72_000, ("supports of 0 and 16",)).verdict
    <Verdict.REFUTED: 'refuted'>
    """

    name: str
    claimed: float
    delta: float
    lower_bound: float
    confidence: float
    n_runs: int
    n_guesses: int
    n_correct: int
    found: tuple[str, ...] = ()
    is_specific: bool = False
    measure: str = "epsilon"

    @property
    def is_refuted(self) -> bool:
        return self.lower_bound > self.claimed

    @property
    def verdict(self) -> Verdict:
        if self.is_refuted:
            return Verdict.REFUTED
        is_near = self.lower_bound >= WEAK_BELOW * self.claimed  # NaN is not
        return Verdict.NOT_REFUTED if is_near or self.is_specific else Verdict.WEAK

    @property
    def bound_text(self) -> str:
        """The bound with three decimals, more for a small claim; never more than was found."""
        decimals = max(3, 2 - math.floor(math.log10(self.claimed))) if self.claimed > 0 else 3
        return f"{math.floor(self.lower_bound * 10**decimals) / 10**decimals:.{decimals}f}"

    def sentence(self) -> str:
        """Return all of it in a line."""
        delta = f" at delta {self.delta:g}" if self.delta else ""
        return (
            f"{self.name}: claimed {self.measure} {self.claimed:.4g}{delta}, found at least {self.bound_text} with "
            f"confidence {self.confidence:.4g} in {self.n_runs:,} runs: {self.verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "audit": self.name,
            f"claimed_{self.measure}": self.claimed,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "n_runs": self.n_runs,
            "n_guesses": self.n_guesses,
            "n_correct": self.n_correct,
            "found": list(self.found),
            "verdict": str(self.verdict),
        }
