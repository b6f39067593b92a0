r"""Hadamard response: a report is one column of a Hadamard matrix, and a fast transform counts them all.

The matrix of order 4 has the entry :math:`(-1)^{|r \wedge c|}` in row r and column c (the number of binary digits that
both have):

>>> [["+-"[(row & column).bit_count() % 2] for column in range(4)] for row in range(4)]
[['+', '+', '+', '+'], ['+', '-', '+', '-'], ['+', '+', '-', '-'], ['+', '-', '-', '+']]

Row 0 says nothing. Each of three cells owns another row and is *supported* by the two columns with a plus in it. Of
these two, one supports any other cell and one does not, so a report that favours a cell is a fair coin to the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import hadamard_kernels
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import HadamardDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import check_listed, checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon, log_of_ratio, logistic_threshold
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits

LARGEST_N_CELLS: Final = (1 << 31) - 1  # cells are 32-bit integers
LARGEST_LISTED_CHANNEL: Final = 1 << 12  # cells: 2**25 fractions are the most that is listed
REPORTS_AT_ONCE: Final = 1 << 18
"""Columns drawn and steered while they are in cache. Part of what a seed gives."""


@dataclass(frozen=True, slots=True)
class HadamardResponse:
    r"""Name a column of a Hadamard matrix: more likely one of the half that supports the truth.

    .. math:: \kappa = \frac{\text{keep}}{2^{64}}, \quad p = \frac{1 + \kappa}{2}, \quad q = \frac12, \qquad
              \epsilon = \ln\frac{1 + \kappa}{1 - \kappa}, \qquad \hat n_v = \frac{C_v - N/2}{\kappa/2}

    A column is drawn evenly from all K = 2**n_bits > k. With probability :math:`\kappa` it is steered: if it has -1 in
    the true cell's row, one binary digit of it is changed, which makes it +1.

    Privacy:   epsilon-local for replacing the value, per report.
    Error:     variance N / kappa^2 - n_v for a cell of n_v among N reports, never below N - n_v however large epsilon
               is: for epsilon up to about 1.
    Cost:      log2(K) bits a report, in whole bytes; O(1) to randomize, O(N + K log K) to tally.
    Reference: Acharya2019, in its form for small epsilon.

    >>> response = HadamardResponse.from_epsilon(epsilon=1.0, n_cells=1000)
    >>> response.epsilon, response.report_bytes
    (1.0, 2)

    Two cells need three rows, so the matrix has order 4. The first cell's plus stands in columns 0 and 2:

    >>> HadamardResponse(n_cells=2, keep=COIN // 2).channel()[0]
    [Fraction(3, 8), Fraction(1, 8), Fraction(3, 8), Fraction(1, 8)]
    """

    n_cells: int
    keep: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        if not self.n_cells <= LARGEST_N_CELLS:
            raise SettingError(
                f"n_cells must be at most {LARGEST_N_CELLS}; got n_cells={self.n_cells}. Choose coarser cells."
            )
        check_at_least(1, keep=self.keep)
        if not self.keep < COIN:
            raise SettingError("keep must be below 2**64, which sends the truth. Make the response from epsilon.")

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int) -> HadamardResponse:
        """Make the response of this epsilon.

        >>> HadamardResponse.from_epsilon(epsilon=0.5, n_cells=17).n_bits
        5
        """
        check_epsilon(epsilon)
        keep = COIN - 2 * logistic_threshold(epsilon)
        if not keep > 0:
            raise SettingError(f"epsilon must leave something to measure; got epsilon={epsilon}. Choose a larger one.")
        return cls(n_cells, keep)

    @property
    def n_bits(self) -> int:
        """The binary digits of a column: row 0 is nobody's, so there are more columns than cells."""
        return self.n_cells.bit_length()

    @property
    def distribution(self) -> HadamardDistribution:
        """The joint distribution of the cells that one column supports."""
        return HadamardDistribution(self.n_cells, self.keep)

    @property
    def epsilon(self) -> float:
        return log_of_ratio(Fraction(COIN + self.keep, COIN - self.keep))

    @property
    def report_bytes(self) -> int:
        return -(-self.n_bits // 8)

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    def channel(self) -> list[list[Fraction]]:
        """Return P(column | cell), row by cell, column by column."""
        check_listed(self.n_cells, LARGEST_LISTED_CHANNEL)
        order = 1 << self.n_bits
        chances = (Fraction(COIN + self.keep, COIN * order), Fraction(COIN - self.keep, COIN * order))
        return [
            [chances[(row & column).bit_count() % 2] for column in range(order)] for row in range(1, self.n_cells + 1)
        ]

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = checked_cells(cells, self.n_cells)
        kernels = hadamard_kernels(cells.size)
        columns = np.empty(cells.size, self._column_type)
        for first in range(0, cells.size, REPORTS_AT_ONCE):
            part = cells[first : first + REPORTS_AT_ONCE]
            words = randomness.words(-(-part.size * columns.itemsize // 8))
            # the lowest byte first, on every platform
            drawn = words.astype("<u8", copy=False).view(columns.dtype)[: part.size]
            kernels.steer(drawn, self.n_bits, part, bernoulli_bits(part.size, self.keep, randomness))
            columns[first : first + part.size] = drawn
        reports: NDArray[np.uint8] = columns.view(np.uint8).reshape(cells.size, columns.itemsize)
        return np.ascontiguousarray(reports[:, : self.report_bytes])

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = self._columns(reports)
        counts = np.zeros((len(run_lengths), self.n_cells), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        n_steps = columns.size + int(np.count_nonzero(run_lengths)) * (self.n_bits << self.n_bits)
        hadamard_kernels(n_steps).count_grouped(columns, starts, self.n_bits, counts)
        return counts

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate counts without bias."""
        return estimate_supports(self.distribution, tally, plan, domain)

    @property
    def _column_type(self) -> np.dtype[np.unsignedinteger]:
        """The smallest whole number of 1, 2 or 4 bytes that holds a column, in the order of a report's bytes."""
        return np.dtype(f"<u{4 if self.report_bytes == 3 else self.report_bytes}")

    def _columns(self, reports: NDArray[np.uint8]) -> NDArray[np.unsignedinteger]:
        """Return the columns that reports name; what is not a column is refused."""
        width = self.report_bytes
        if reports.ndim != 2 or reports.shape[1] != width:
            raise FormatError(f"reports must have {width} bytes each. Ask for them again; nothing was counted.")
        if self._column_type.itemsize != width:
            reports = np.pad(reports, ((0, 0), (0, 1)))
        columns = np.ascontiguousarray(reports).view(self._column_type).reshape(-1)
        largest = int(columns.max(initial=0))
        if largest >> self.n_bits:
            wrong = np.flatnonzero(columns >> self.n_bits)
            raise FormatError(
                f"reports must name a column below {1 << self.n_bits}; {len(wrong)} of {len(columns)} do not, the "
                f"first at position {wrong[0]}. Ask for them again; nothing was counted."
            )
        return columns
