r"""Local hashing: a report names a random hash function and a value that the true cell may have under it.

The functions are our own, so that no platform and no library can ever disagree on them: multiplication by a random
element a of the field of 2**m elements, of which the highest bits T are kept (``docs/hash.md``). Adding a second random
element b would make the family pairwise independent in the strict sense. It is left out, because it cancels: a report
of T(a u + b) = T(a u) + T(b) says nothing that the same report without T(b) does not say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base import galois
from tacit._base.kernels import hashing_kernels
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import HashingDistribution, field_degree
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon, log_of_ratio
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN

LARGEST_LISTED_CHANNEL: Final = 1 << 16
"""Probabilities listed at most."""

MOST_BITS: Final = 16
"""Bits of a hash value chosen at most: enough for any epsilon up to 11."""

CHUNK_REPORTS: Final = 1 << 16
"""Reports made at a time: what is drawn for them stays in cache. Part of what a seed gives."""

_OTHER_DIGITS: Final = 48  # no report has more bits: degree and bits are 24 at most


@dataclass(frozen=True, slots=True)
class LocalHashing:
    r"""Draw a hash function a and name the true cell's hash value, or one drawn from all g = 2**bits values.

    .. math:: h_a(v) = T(a v), \qquad p = \kappa + \frac{1-\kappa}{g}, \quad q = \frac1g, \quad
              \kappa = \frac{\text{keep}}{2^{64}}, \qquad
              \epsilon = \ln\Bigl(1 + \frac{g \kappa}{1 - \kappa}\Bigr), \qquad \hat n_v = \frac{C_v - Nq}{p-q}

    where :math:`C_v` counts the reports (a, z) with :math:`h_a(v) = z`. *Why q is exactly 1/g*: let the true cell be u
    and v another. Either z is drawn from all values and equals :math:`h_a(v)` with probability 1/g; or
    :math:`z = T(a u)`, and then v is supported where :math:`T(a v) + T(a u) = T(a (v + u)) = 0`, since T is linear.
    As v + u is not 0, a (v + u) runs through all elements of the field, each once, when a does, a = 0 included; and T
    is 0 on exactly one element in g.

    Privacy:   epsilon-local for replacing the value, per report: a is drawn apart from the value.
    Error:     variance (N q(1-q) + n_v (p-q)(1-p-q)) / (p-q)^2 for a cell of n_v among N reports. Three cells of one
               report are not independent; questions about several cells take the family itself into account. That g is
               a power of two costs many cells at most 7.2 % of variance against the best whole number (epsilon 0.55),
               and at most 4.3 % from epsilon 1 to 8.
    Cost:      m + bits bits a report, 2**m >= k; O(1) to randomize; N reports are tallied in
               O(N + 2**m (g bits + m)), however many cells there are.
    Reference: Wang2017 ("optimized local hashing"); Bassily2015 (one bit); Carter1979 (the family).

    >>> hashing = LocalHashing.from_epsilon(epsilon=2.0, n_cells=1000)
    >>> hashing.n_values, hashing.epsilon, hashing.report_bytes
    (8, 2.0, 2)
    >>> from tacit.randomness import SeededRandomness
    >>> reports = hashing.randomize(np.array([7, 7, 7, 7]), randomness=SeededRandomness(1))
    >>> hashing.statistics(reports, np.array([4])).shape
    (1, 1000)
    """

    n_cells: int
    bits: int
    keep: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, bits=self.bits)
        if self.degree > galois.LARGEST_DEGREE:
            raise SettingError(
                f"n_cells must be at most {1 << galois.LARGEST_DEGREE}, and bits {galois.LARGEST_DEGREE}; "
                f"got n_cells={self.n_cells}, bits={self.bits}. Use coarser cells."
            )
        if not 0 < self.keep < COIN:
            raise SettingError("keep must satisfy 0 < keep < 2**64. Make the hashing from epsilon.")

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int, binary: bool = False) -> LocalHashing:
        """Choose the number of hash values that gives the least mean variance over all cells, or two if ``binary``.

        >>> [LocalHashing.from_epsilon(epsilon=e, n_cells=1000).n_values for e in (0.4, 1, 2, 4)]
        [2, 4, 8, 64]
        >>> LocalHashing.from_epsilon(epsilon=4, n_cells=1000, binary=True).n_values
        2
        """
        check_epsilon(epsilon)
        check_at_least(2, n_cells=n_cells)
        bits = 1 if binary else min(range(1, MOST_BITS + 1), key=lambda b: mean_variance(epsilon, 1 << b, n_cells))
        return cls(n_cells, bits, kept_at_most(epsilon, 1 << bits, COIN))

    @property
    def degree(self) -> int:
        """The degree m of the field: the least with 2**m elements for all cells and for all hash values."""
        return field_degree(self.n_cells, self.bits)

    @property
    def n_values(self) -> int:
        """The number g of hash values."""
        return 1 << self.bits

    @property
    def p(self) -> Fraction:
        return self.distribution.p

    @property
    def q(self) -> Fraction:
        return self.distribution.q

    @property
    def distribution(self) -> HashingDistribution:
        """The joint distribution of the cells that one report supports."""
        return HashingDistribution(self.n_cells, self.bits, self.keep)

    @property
    def epsilon(self) -> float:
        return log_of_ratio(1 + Fraction(self.n_values * self.keep, COIN - self.keep))

    @property
    def report_bytes(self) -> int:
        return -(-(self.degree + self.bits) // 8)

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    def thresholds(self) -> dict[str, int]:
        return {"bits": self.bits, "keep": self.keep}

    def channel(self) -> list[list[Fraction]]:
        """Return P(report | cell), row by cell, column by the report a + z 2**m read as a little-endian number."""
        return self.channel_of(Fraction(self.keep, COIN))

    def channel_of(self, kept: Fraction) -> list[list[Fraction]]:
        """Return the channel of reports that keep the true hash value with this chance, and else draw any of them."""
        size = 1 << self.degree
        if self.n_cells * self.n_values * size > LARGEST_LISTED_CHANNEL:
            raise SettingError(
                f"n_cells must be small enough to list all reports of {self.n_values} hash values; "
                f"got n_cells={self.n_cells}. Ask for epsilon, which is exact for any number of cells."
            )
        other = (1 - kept) / (self.n_values * size)
        same = other + kept / size
        elements, rows = np.arange(size), []
        for cell in range(self.n_cells):
            hashed = self.hashed(elements, np.full(size, cell)).tolist()
            rows.append([same if h == z else other for z in range(self.n_values) for h in hashed])
        return rows

    def hashed(self, functions: NDArray[np.integer], cells: NDArray[np.integer]) -> NDArray[np.uint32]:
        """Return the hash values of cells under functions, one by one.

        >>> LocalHashing.from_epsilon(epsilon=1, n_cells=17).hashed(np.array([0, 9, 30]), np.array([3, 3, 3])).tolist()
        [0, 3, 0]
        """
        return galois.multiply(functions, cells, self.degree) >> np.uint32(self.degree - self.bits)

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = checked_cells(cells, self.n_cells)
        degree, reports = self.degree, np.empty((cells.size, self.report_bytes), np.uint8)
        kernels = hashing_kernels(cells.size * (degree + self.bits))
        for first in range(0, cells.size, CHUNK_REPORTS):
            part = cells[first : first + CHUNK_REPORTS]
            words = randomness.words(part.size)
            kept = _coins(words, self.keep, randomness)
            kernels.write_reports(part, words, kept, degree, self.bits, reports[first : first + CHUNK_REPORTS])
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count what supports each cell: by a transform where a run is long, report by report where it is short."""
        reports = self._checked(reports)
        counts = np.zeros((len(run_lengths), self.n_cells), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        degree, g = self.degree, self.n_values
        to_list = np.asarray(run_lengths) * (degree + (1 << (degree - self.bits)))
        to_transform = (g * (self.bits + 2) + degree) << degree
        kernels = hashing_kernels(len(reports) + int(np.minimum(to_list, to_transform).sum()))
        long, short = np.flatnonzero(to_list > to_transform), np.flatnonzero(to_list <= to_transform)
        if long.size:
            kernels.count_by_transform(reports, starts, long, degree, self.bits, counts)
        if short.size:
            kernels.count_by_listing(reports, starts, short, degree, self.bits, counts)
        return counts

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate counts without bias."""
        return estimate_supports(self.distribution, tally, plan, domain)

    def _checked(self, reports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise FormatError(f"a report must have {self.report_bytes} bytes. Use the plan it was made under.")
        n_used = (self.degree + self.bits) % 8
        if n_used and len(reports) and reports[:, -1].max() >> n_used:
            wrong = np.flatnonzero(reports[:, -1] >> n_used)
            raise FormatError(
                f"{wrong.size} of {len(reports)} reports have bits set beyond their last, the first in position "
                f"{wrong[0]}. They are damaged or of another plan; nothing was tallied."
            )
        return np.ascontiguousarray(reports)


def _coins(words: NDArray[np.uint64], keep: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Toss a coin of probability keep / 2**64 with each word's highest bits, which reports leave over.

    They are compared with the first binary digits of keep; where they are equal, which one word in 65,536 is, a word of
    its own is compared with the others.
    """
    first_digits = words >> np.uint64(_OTHER_DIGITS)
    threshold, rest = keep >> _OTHER_DIGITS, keep % (1 << _OTHER_DIGITS) << (64 - _OTHER_DIGITS)
    is_head: NDArray[np.bool_] = first_digits < np.uint64(threshold)
    undecided = np.flatnonzero(first_digits == np.uint64(threshold))
    if undecided.size:
        is_head[undecided] = randomness.words(undecided.size) < np.uint64(rest)
    return is_head


def kept_at_most(epsilon: float, n_values: int, scale: int) -> int:
    r"""Return the chance :math:`(e^\epsilon - 1)/(e^\epsilon - 1 + g)` to keep one of g hash values.

    It is a multiple of 1 / ``scale``, rounded down: towards more noise.

    >>> kept_at_most(math.log(3), 2, 1000)
    500
    """
    with localcontext(Context(prec=80)):
        gain = Decimal(epsilon).exp() - 1
        kept = int(gain / (gain + n_values) * scale)
    if not kept:
        raise SettingError(f"epsilon must leave something to measure; got epsilon={epsilon}. Choose a larger one.")
    return kept


def mean_variance(epsilon: float, n_values: int, n_cells: int) -> float:
    r"""Return the mean variance over all cells for one report, with any number g of hash values.

    .. math:: \frac{q(1-q)}{(p-q)^2} + \frac1k \cdot \frac{1-p-q}{p-q}, \qquad
              p = \frac{e^\epsilon}{e^\epsilon + g - 1}, \quad q = \frac1g

    >>> [round(mean_variance(2.0, g, 1000), 3) for g in (4, 7, 8, 16)]
    [0.881, 0.733, 0.726, 0.821]
    """
    q = 1 / n_values
    p = 1 / (1 + (n_values - 1) * math.exp(-epsilon))
    gap = (1 - q) * -math.expm1(-epsilon) * p
    return q * (1 - q) / gap**2 + (1 - p - q) / gap / n_cells
