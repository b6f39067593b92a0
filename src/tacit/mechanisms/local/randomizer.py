"""The protocol of local randomizers, the check of true cells, and the estimate that frequency oracles share."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.noise import OracleNoise
from tacit.counts.norm_sub import norm_sub
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import SettingError
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
        """The number of numbers that a tally keeps for each public bin."""

    def thresholds(self) -> dict[str, int]:
        """Return the integer thresholds of the coins, out of 2**64: what a plan carries."""

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Turn true cells into packed reports, one row each."""

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum consecutive runs of reports into one row of statistics each."""

    def channel(self) -> list[list[Fraction]]:
        """Return P(report | cell) for every cell and report, exactly, where they can be listed."""

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Turn a tally into unbiased counts with their noise."""


class FrequencyOracle(LocalRandomizer, Protocol):
    """A randomizer whose report supports a set of cells: the true one with probability p, any other with q < p."""

    @property
    def distribution(self) -> SupportDistribution:
        """The joint distribution of the cells that one report supports."""


def checked_cells(cells: NDArray[np.integer], n_cells: int) -> NDArray[np.int32]:
    """Refuse what is not a row of whole numbers below ``n_cells``, without naming any.

    >>> checked_cells(np.array([0, 3, 1, -1]), 3)
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: cells must lie between 0 and 2; 2 of 4 do not. Set aside events outside the domain first.
    """
    cells = np.asarray(cells)
    if cells.ndim != 1 or not np.issubdtype(cells.dtype, np.integer):
        raise SettingError("cells must be a one-dimensional array of whole numbers. Use plan.split to get them.")
    unsigned = cells.view(f"u{cells.dtype.itemsize}")  # a negative cell reads as a huge one
    if cells.size and unsigned.max() >= n_cells:
        raise SettingError(
            f"cells must lie between 0 and {n_cells - 1}; {np.count_nonzero(unsigned >= n_cells)} of {cells.size} "
            "do not. Set aside events outside the domain first."
        )
    return np.ascontiguousarray(cells, np.int32)


def estimate_supports(distribution: SupportDistribution, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
    """Estimate counts without bias from how often each cell was supported: (C - N q) / (p - q)."""
    check_plan("the tally", tally.provenance.plan_id, plan.fingerprint)
    layout, reports = plan.layout(domain), plan.in_bins(tally.reports, domain)
    supports = plan.in_bins(tally.statistics, domain)
    rows = (supports - reports[:, None] * float(distribution.q)) / float(distribution.p - distribution.q)
    counts = None
    if distribution.needs_counts:
        # single precision is plenty for a plug-in, and halves the release
        counts = norm_sub(rows, reports).astype(np.float32).astype(np.float64)
    return Estimate(
        domain=domain,
        values=np.ascontiguousarray(layout.cells(rows)),
        noise=OracleNoise(distribution, reports, layout, counts),
        totals=plan.totals(reports, domain),
        steps=(),
        provenance=tally.provenance,
    )


def check_listed(n_cells: int, most: int) -> None:
    """Refuse to list the reports of a channel of more cells than ``most``."""
    if n_cells > most:
        raise SettingError(
            f"n_cells must be at most {most} to list all reports; "
            f"got n_cells={n_cells}. Ask for epsilon, which is exact for any number of cells."
        )
