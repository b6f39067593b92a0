"""Randomized response: a report names one cell, which may be the true one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import response_kernels
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import ResponseDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import check_listed, checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon, log_of_ratio
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, LARGEST_LIMIT, bernoulli_bits, integers_below

LARGEST_LISTED_CHANNEL: Final = 1024  # cells: a million fractions

CHUNK_REPORTS: Final = 1 << 18
"""Reports made at a time: what is drawn for them stays in cache. Part of what a seed gives."""


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    r"""Name the true cell with probability ``keep`` / 2**64, otherwise a cell drawn from all k, the true one too.

    .. math:: q = \frac{1 - \text{keep}/2^{64}}{k}, \qquad p = \frac{\text{keep}}{2^{64}} + q, \qquad
              \epsilon = \ln\frac pq, \qquad \hat n_v = \frac{C_v - Nq}{p-q}

    From epsilon, :math:`p = e^\epsilon / (e^\epsilon + k - 1)` and :math:`q = 1 / (e^\epsilon + k - 1)`.

    Privacy:   epsilon-local for replacing the value, per report.
    Error:     variance (N q(1-q) + n_v (p-q)(1-p-q)) / (p-q)^2 for a cell of n_v among N reports; the estimates of
               all cells add up to N. Best where e^epsilon exceeds about k/2.
    Cost:      one cell number a report, in as few bytes as hold k - 1; O(1) to randomize and to tally.
    Reference: Warner1965; Kairouz2016; Wang2017 ("direct encoding").

    >>> response = RandomizedResponse.from_epsilon(epsilon=2.0, n_cells=17)
    >>> response.epsilon, response.report_bytes, round(float(response.p), 6)
    (2.0, 1, 0.315919)
    >>> from tacit.randomness import SeededRandomness
    >>> response.randomize(np.array([3, 3, 3, 3]), randomness=SeededRandomness(5)).shape
    (4, 1)
    """

    n_cells: int
    keep: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, keep=self.keep)
        if not self.n_cells <= LARGEST_LIMIT:
            raise SettingError(f"n_cells must be at most 2**31; got n_cells={self.n_cells}. Choose coarser cells.")
        if not self.keep < COIN:
            raise SettingError(
                "keep must be below 2**64, so that another cell may be named. Make the response from epsilon."
            )

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int) -> RandomizedResponse:
        """Make the response of this epsilon: exactly, or less by what rounding a threshold down costs.

        >>> RandomizedResponse.from_epsilon(epsilon=0.5, n_cells=1000).epsilon
        0.5
        """
        check_epsilon(epsilon)
        check_at_least(2, n_cells=n_cells)
        with localcontext(prec=60):
            odds = Decimal(epsilon).exp()
            return cls(n_cells, int(COIN * (odds - 1) / (odds + n_cells - 1)))  # rounded down, towards more noise

    @property
    def p(self) -> Fraction:
        return self.distribution.p

    @property
    def q(self) -> Fraction:
        return self.distribution.q

    @property
    def distribution(self) -> ResponseDistribution:
        """The joint distribution of the cells that a report supports: it supports one."""
        return ResponseDistribution(self.n_cells, self.keep)

    @property
    def epsilon(self) -> float:
        return log_of_ratio(self.p / self.q)

    @property
    def report_bytes(self) -> int:
        return -(-(self.n_cells - 1).bit_length() // 8)

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    def channel(self) -> list[list[Fraction]]:
        """Return P(report | cell), row by cell, column by the cell named."""
        check_listed(self.n_cells, LARGEST_LISTED_CHANNEL)
        p, q = self.p, self.q
        return [[p if named == cell else q for named in range(self.n_cells)] for cell in range(self.n_cells)]

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = np.asarray(cells)
        reports = np.empty((cells.size, self.report_bytes), np.uint8)
        kernels = response_kernels(cells.size)
        for first in range(0, max(1, cells.size), CHUNK_REPORTS):
            part = checked_cells(cells[first : first + CHUNK_REPORTS], self.n_cells)
            drawn = integers_below((self.n_cells,), part.size, randomness)[:, 0]
            coins = bernoulli_bits(part.size, self.keep, randomness)
            kernels.respond(part, drawn, coins, reports[first : first + CHUNK_REPORTS])
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        counts = np.zeros((len(run_lengths), self.n_cells), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        kernels = response_kernels(len(reports))
        named = _numbers(reports)
        n_beyond = kernels.count_beyond(named, self.n_cells)
        if n_beyond:
            raise FormatError(
                f"{n_beyond} of {len(reports)} reports name a cell that the plan does not have; none was counted. "
                "Ask for them again."
            )
        kernels.count_grouped(named, starts, counts)
        return counts

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        return estimate_supports(self.distribution, tally, plan, domain)


def _numbers(reports: NDArray[np.uint8]) -> NDArray[Any]:
    """Return little-endian numbers of one to four bytes each, without a copy where a machine has such numbers."""
    n_bytes = reports.shape[1]
    if n_bytes == 3:
        reports = np.pad(reports, ((0, 0), (0, 1)))
        n_bytes = 4
    numbers = np.ascontiguousarray(reports).reshape(-1).view(f"<u{n_bytes}")
    return np.require(numbers, numbers.dtype.newbyteorder("="), "A")
