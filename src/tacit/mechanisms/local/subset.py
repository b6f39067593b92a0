"""Subset selection: a report names several cells, more often than not the true one among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import subset_kernels, unary_kernels
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import SubsetDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import check_listed, checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon, log_of_ratio
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits
from tacit.randomness.integers import LARGEST_LIMIT, integers_below

LARGEST_LISTED_CHANNEL: Final = 12  # cells: 4,096 reports

CHUNK_DRAWS: Final = 1 << 18
"""Integers drawn at a time: they stay in cache. Part of what a seed gives."""


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    r"""Name ``size`` = w cells: the true one among them with probability p, the others drawn without replacement.

    .. math:: p = \frac{\text{include}}{2^{64}}, \quad q = \frac{w - p}{k - 1}, \qquad
              \epsilon = \ln\frac{p(k-w)}{(1-p)w}, \qquad \hat n_v = \frac{C_v - Nq}{p-q}

    A subset S of the true cell has probability :math:`p / \binom{k-1}{w-1}`, any other :math:`(1-p) / \binom{k-1}{w}`;
    epsilon is the logarithm of their ratio. From epsilon, :math:`p = w e^\epsilon / (w e^\epsilon + k - w)`, and w is
    the size of least mean variance, near :math:`k / (e^\epsilon + 1)`. With w = 1 it is randomized response.

    Privacy:   epsilon-local for replacing the value, per report.
    Error:     variance (N q(1-q) + n_v (p-q)(1-p-q)) / (p-q)^2 for a cell of n_v among N reports; the estimates of
               all cells add up to N. No oracle of k cells has less, up to k of a few hundred.
    Cost:      k bits a report, in ceil(k/8) bytes; O(k + w) to randomize, O(k) to tally.
    Reference: Ye2018.

    >>> selection = SubsetSelection.from_epsilon(epsilon=1.0, n_cells=17)
    >>> selection.size, selection.epsilon, selection.report_bytes
    (5, 1.0, 3)
    >>> from tacit.randomness import SeededRandomness
    >>> reports = selection.randomize(np.arange(17), randomness=SeededRandomness(5))
    >>> np.unpackbits(reports, axis=1).sum(axis=1).tolist() == [5] * 17
    True
    """

    n_cells: int
    size: int
    include: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, size=self.size, include=self.include)
        if not self.n_cells <= LARGEST_LIMIT:
            raise SettingError(f"n_cells must be at most 2**31; got n_cells={self.n_cells}. Choose coarser cells.")
        if not self.size < self.n_cells:
            raise SettingError(
                f"size must be below the number of cells, so that a cell can be left out; got size={self.size}. "
                "Make the selection from epsilon."
            )
        if not self.size * COIN < self.include * self.n_cells < self.n_cells * COIN:
            raise SettingError(
                "include must lie between size / n_cells and 1 (times 2**64), so that the true cell is the likelier "
                "one and may be left out. Make the selection from epsilon."
            )

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int) -> SubsetSelection:
        """Make the selection of this epsilon whose variance, averaged over the cells, is least.

        >>> [SubsetSelection.from_epsilon(epsilon=e, n_cells=17).size for e in (0.4, 1.69, 2.2, 4.39)]
        [7, 3, 2, 1]
        """
        check_epsilon(epsilon)
        check_at_least(2, n_cells=n_cells)
        middle = int(n_cells / (math.exp(epsilon) + 1))
        sizes = {min(max(1, size), n_cells - 1) for size in (middle, middle + 1)}
        made = [cls.of_size(size, epsilon=epsilon, n_cells=n_cells) for size in sorted(sizes)]
        return min(made, key=lambda selection: selection.mean_variance)

    @classmethod
    def of_size(cls, size: int, *, epsilon: float, n_cells: int) -> SubsetSelection:
        """Make the selection of this epsilon and this many cells."""
        check_epsilon(epsilon)
        with localcontext(prec=60):
            weight = size * Decimal(epsilon).exp()
            return cls(n_cells, size, int(COIN * weight / (weight + n_cells - size)))  # rounded down: more noise

    @property
    def p(self) -> Fraction:
        return self.distribution.p

    @property
    def q(self) -> Fraction:
        return self.distribution.q

    @property
    def distribution(self) -> SubsetDistribution:
        """How the cells that a report supports are correlated: there are ``size`` of them."""
        return SubsetDistribution(self.n_cells, self.size, self.include)

    @property
    def mean_variance(self) -> Fraction:
        """The variance that a report adds to the estimate of a cell, averaged over the cells: the same for any data."""
        p, q = self.p, self.q
        return (q * (1 - q) + (p - q) * (1 - p - q) / self.n_cells) / (p - q) ** 2

    @property
    def epsilon(self) -> float:
        return log_of_ratio(self.p * (self.n_cells - self.size) / ((1 - self.p) * self.size))

    @property
    def report_bytes(self) -> int:
        return -(-self.n_cells // 8)

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    def thresholds(self) -> dict[str, int]:
        return {"include": self.include, "size": self.size}

    def channel(self) -> list[list[Fraction]]:
        """P(report | cell), row by cell, column by the report's bits read as a little-endian number."""
        k, w = self.n_cells, self.size
        check_listed(k, LARGEST_LISTED_CHANNEL)
        chances = (1 - self.p) / math.comb(k - 1, w), self.p / math.comb(k - 1, w - 1)
        return [
            [chances[subset >> cell & 1] if subset.bit_count() == w else Fraction(0) for subset in range(1 << k)]
            for cell in range(k)
        ]

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = np.asarray(cells)
        reports = np.empty((cells.size, self.report_bytes), np.uint8)
        kernels = subset_kernels(cells.size * self.n_cells)
        limits = range(self.n_cells - self.size, self.n_cells)
        n_at_once = max(1, CHUNK_DRAWS // self.size)
        for first in range(0, max(1, cells.size), n_at_once):
            part = checked_cells(cells[first : first + n_at_once], self.n_cells)
            # the same draws whatever the coin and the cell: Floyd's first is dropped where the true cell is included
            drawn = integers_below(limits, part.size, randomness)
            coins = bernoulli_bits(part.size, self.include, randomness)
            kernels.write_subsets(part, self.n_cells, drawn, coins, reports[first : first + n_at_once])
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        reports = np.ascontiguousarray(reports)
        n_bits = len(reports) * self.n_cells
        n_wrong = subset_kernels(n_bits).count_wrong(reports, self.n_cells, self.size)
        if n_wrong:
            raise FormatError(
                f"{n_wrong} of {len(reports)} reports do not name {self.size} of the plan's {self.n_cells} cells; "
                "none was counted. Ask for them again."
            )
        counts = np.zeros((len(run_lengths), self.n_cells), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        unary_kernels(n_bits).count_grouped(reports, starts, self.n_cells, counts)
        return counts

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        return estimate_supports(self.distribution, tally, plan, domain)
