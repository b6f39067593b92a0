"""What every local randomizer promises."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.plan import Plan
from tacit.randomness import Randomness


class LocalRandomizer(Protocol):
    """A randomized answer from a device that trusts nobody.

    Formal guarantee: for any two cells v, w and any report y, P(y | v) <= exp(epsilon) P(y | w), where the
    probabilities are those of the integer thresholds the sampler compares random words with. A report has
    ``report_bytes`` bytes whatever the value. Reports of different events are independent.
    """

    @property
    def n_cells(self) -> int:
        """The number of values a device may hold."""

    @property
    def epsilon(self) -> float:
        """The realized epsilon for replacing one value, rounded up."""

    @property
    def report_bytes(self) -> int:
        """The length of every report."""

    @property
    def n_statistics(self) -> int:
        """How many numbers a tally keeps for each public bin."""

    def thresholds(self) -> dict[str, int]:
        """The integer thresholds of the coins, out of 2**64: what a plan carries."""

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Turn true cells into packed reports, one row each."""

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum consecutive runs of reports into one row of statistics each."""

    def channel(self) -> list[list[Fraction]]:
        """P(report | cell) for every cell and report, exactly, where they can be listed."""

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Turn a tally into unbiased counts with their noise."""


class FrequencyOracle(LocalRandomizer, Protocol):
    """A randomizer whose report supports a set of cells: the true one with probability p, any other with q < p."""

    @property
    def distribution(self) -> SupportDistribution:
        """How the cells that one report supports are correlated."""
