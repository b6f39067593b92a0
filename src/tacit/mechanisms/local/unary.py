r"""Unary encoding: a report is one randomized bit per cell. The symmetric one is basic one-time RAPPOR.

The smallest example is a single coin (Warner1965): to the question "do you live in Belfort?" tell the truth with
probability 1/2, otherwise answer by another coin. "Yes" then has probability 3/4 for a true yes and 1/4 for a
true no, so the share t of true yes is estimated from the share c of answers by t = 2c - 1/2, and one answer
changes the odds by a factor of at most 3:

>>> p, q, c = Fraction(3, 4), Fraction(1, 4), Fraction(2, 5)
>>> (c - q) / (p - q) == 2 * c - Fraction(1, 2)
True
>>> log_of_ratio(p / q) == log_of_ratio(Fraction(3)), round(math.log(3), 4)
(True, 1.0986)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import unary_kernels
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import UnaryDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import check_listed, estimate_supports
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon, log_of_ratio, logistic_threshold
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, bernoulli_rows

LARGEST_LISTED_CHANNEL: Final = 12  # cells: 4,096 reports


@dataclass(frozen=True, slots=True)
class UnaryEncoding:
    r"""Send every cell's bit through a coin of its own: p for the true cell, q for the others.

    .. math:: p = \frac{\text{ones}}{2^{64}}, \quad q = \frac{\text{zeros}}{2^{64}}, \qquad
              \epsilon = \ln\frac{p(1-q)}{q(1-p)}, \qquad \hat n_v = \frac{C_v - Nq}{p-q}

    Basic one-time RAPPOR with parameter f is the symmetric case :math:`p = 1 - f/2,\ q = f/2`, so
    :math:`\epsilon = 2\ln\frac{1-f/2}{f/2}`.

    Privacy:   epsilon-local for replacing the value, per report.
    Error:     variance (N q(1-q) + n_v (p(1-p) - q(1-q))) / (p-q)^2 for a cell of n_v among N reports;
               cells are independent given the truth.
    Cost:      k bits a report, in ceil(k/8) bytes; O(k) to randomize and to tally.
    Reference: Erlingsson2014; Wang2017; Arcolezi2020.

    The paper's worked example has eight regions, f = 0.3 and an intervention in the third. The report
    U = [1, 0, 1, 0, 0, 1, 0, 0] is one of 256; its probability is exact, and any other region could have
    sent it with odds of at most exp(epsilon):

    >>> rappor = UnaryEncoding.rappor(f=0.3, n_cells=8)
    >>> round(rappor.epsilon, 6)
    3.469202
    >>> u = 0b00100101  # bit j is cell j: cells 0, 2 and 5 are set
    >>> channel = rappor.channel()
    >>> round(float(channel[2][u]), 6), round(float(channel[1][u]), 6)
    (0.008486, 0.000264)
    >>> max(row[u] for row in channel) / min(row[u] for row in channel) <= Fraction(math.exp(rappor.epsilon))
    True
    """

    n_cells: int
    ones: int
    zeros: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, zeros=self.zeros)
        if not self.zeros < self.ones < COIN:
            raise SettingError(
                "thresholds must satisfy 0 < zeros < ones < 2**64, so that the true cell's bit is the likelier one. "
                "Make the encoding from epsilon or f."
            )

    @classmethod
    def symmetric(cls, *, epsilon: float, n_cells: int) -> UnaryEncoding:
        """Make the encoding whose bits are all flipped with the same probability.

        >>> UnaryEncoding.symmetric(epsilon=2.0, n_cells=17).epsilon
        2.0
        """
        check_epsilon(epsilon)
        flip = logistic_threshold(epsilon / 2)
        return cls(n_cells, COIN - flip, flip)

    @classmethod
    def rappor(cls, *, f: float, n_cells: int) -> UnaryEncoding:
        """Make basic one-time RAPPOR from its parameter f, the share of bits replaced by a fair coin.

        >>> [round(UnaryEncoding.rappor(f=f, n_cells=17).epsilon, 2) for f in (0.1, 0.5, 0.9)]
        [5.89, 2.2, 0.4]
        """
        if f == 0:
            raise SettingError(
                "f must be strictly between 0 and 1; got f=0, which sends the truth unprotected. "
                "Choose a larger f: 0.5 gives epsilon 2.2."
            )
        if f == 1:
            raise SettingError(
                "f must be strictly between 0 and 1; got f=1, which sends coins that know nothing. "
                "Choose a smaller f: 0.5 gives epsilon 2.2."
            )
        if not 0 < f < 1:  # written so that NaN fails too
            raise SettingError(f"f must be strictly between 0 and 1; got f={f}. Choose 0.5 for epsilon 2.2.")
        # the decimal the user wrote, not its binary neighbour
        flip = math.ceil(Fraction(repr(float(f))) / 2 * COIN)
        if not 2 * flip < COIN:
            raise SettingError(f"f must leave a difference between the two coins; got f={f}. Choose a smaller f.")
        encoding = cls(n_cells, COIN - flip, flip)
        check_epsilon(encoding.epsilon)
        return encoding

    @classmethod
    def optimized(cls, *, epsilon: float, n_cells: int) -> UnaryEncoding:
        r"""Make the encoding of least variance for a cell that holds next to nothing.

        .. math:: p = \frac12, \qquad q = \frac{1}{e^\epsilon + 1}

        Best for many cells. With few of them and a large epsilon it is worse than the symmetric encoding, because the
        half of the true bits that are lost weigh on the large cells:

        >>> make = (UnaryEncoding.symmetric, UnaryEncoding.optimized, UnaryEncoding.tuned)
        >>> distributions = [new(epsilon=5.89, n_cells=17).distribution for new in make]
        >>> [round(float(distribution.variances(np.eye(17)[0]).mean()), 4) for distribution in distributions]
        [0.0586, 0.07, 0.031]
        """
        check_epsilon(epsilon)
        zeros = logistic_threshold(epsilon)
        if not zeros < COIN // 2:
            raise SettingError(f"epsilon must leave something to measure; got epsilon={epsilon}. Choose a larger one.")
        return cls(n_cells, COIN // 2, zeros)

    @classmethod
    def tuned(cls, *, epsilon: float, n_cells: int) -> UnaryEncoding:
        r"""Make the encoding of least mean variance over its k cells.

        .. math:: q = \Bigl(1 + \sqrt{\frac{e^\epsilon((k-1)e^\epsilon + 1)}{e^\epsilon + k - 1}}\Bigr)^{-1}, \qquad
                  p = \frac{e^\epsilon q}{1 - q + e^\epsilon q}

        For two cells this is the symmetric encoding, for very many the optimized one.

        >>> tuned = UnaryEncoding.tuned(epsilon=math.log(9), n_cells=17)
        >>> round(float(tuned.p), 4), round(float(tuned.q), 4)
        (0.5547, 0.1216)
        """
        check_epsilon(epsilon)
        check_at_least(2, n_cells=n_cells)
        ones, zeros = _tuned_thresholds(epsilon, n_cells)
        if not zeros < ones:
            raise SettingError(f"epsilon must leave something to measure; got epsilon={epsilon}. Choose a larger one.")
        return cls(n_cells, ones, zeros)

    @property
    def p(self) -> Fraction:
        return Fraction(self.ones, COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(self.zeros, COIN)

    @property
    def distribution(self) -> UnaryDistribution:
        """The joint distribution of the bits of a report."""
        return UnaryDistribution(self.n_cells, self.ones, self.zeros)

    @property
    def epsilon(self) -> float:
        return log_of_ratio(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    @property
    def report_bytes(self) -> int:
        return -(-self.n_cells // 8)

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    def thresholds(self) -> dict[str, int]:
        return {"ones": self.ones, "zeros": self.zeros}

    def channel(self) -> list[list[Fraction]]:
        """Return P(report | cell), row by cell, column by the report's bits read as a little-endian number."""
        check_listed(self.n_cells, LARGEST_LISTED_CHANNEL)
        rows = []
        for cell in range(self.n_cells):
            chances = [self.p if j == cell else self.q for j in range(self.n_cells)]
            rows.append(
                [
                    math.prod(
                        (c if bit else 1 - c for c, bit in zip(chances, reversed(bits), strict=True)),
                        start=Fraction(1),
                    )
                    for bits in product((0, 1), repeat=self.n_cells)
                ]
            )
        return rows

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = np.asarray(cells)
        if cells.ndim != 1 or not np.issubdtype(cells.dtype, np.integer):
            raise SettingError("cells must be a one-dimensional array of whole numbers. Use plan.split to get them.")
        return bernoulli_rows(cells, self.n_cells, self.ones, self.zeros, randomness)

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        # bits beyond the last cell are counted with the others, so that refusing them costs no pass of its own
        n_bits = 8 * self.report_bytes
        counts = np.zeros((len(run_lengths), n_bits), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        kernels = unary_kernels(len(reports) * n_bits)
        kernels.count_grouped(np.ascontiguousarray(reports), starts, n_bits, counts)
        n_beyond = int(counts[:, self.n_cells :].sum())
        if n_beyond:
            raise FormatError(
                f"{n_beyond} bits of {len(reports)} reports are set beyond the plan's {self.n_cells} cells; none was "
                "counted. Ask for them again."
            )
        return np.ascontiguousarray(counts[:, : self.n_cells])

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate counts without bias (equation 8 of the paper, without its clip at zero)."""
        return estimate_supports(self.distribution, tally, plan, domain)


def _tuned_thresholds(epsilon: float, n_cells: int) -> tuple[int, int]:
    """Round q anyhow: p then follows from the threshold that was reached, and is rounded against the adversary."""
    with localcontext(Context(prec=60)):
        odds = Decimal(epsilon).exp()
        root = (odds * ((n_cells - 1) * odds + 1) / (odds + n_cells - 1)).sqrt()
        zeros = int(COIN / (1 + root))
        # the odds of the true bit are those of the others times exp(epsilon)
        ones = int(COIN / (1 + (COIN - zeros) / (zeros * odds)))
    return ones, zeros
