"""What an audit found, and what that says about the claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

WEAK_BELOW: Final = 0.9
"""A bound below this part of the claim says little: a fault of that size would have gone unseen."""


class Verdict(StrEnum):
    """What a bound says of a claim."""

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
        """All of it in a line."""
        delta = f" at delta {self.delta:g}" if self.delta else ""
        return (
            f"{self.name}: claimed {self.measure} {self.claimed:.4g}{delta}, found at least {self.bound_text} with "
            f"confidence {self.confidence:.4g} in {self.n_runs:,} runs: {self.verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
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
