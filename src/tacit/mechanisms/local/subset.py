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
from tacit._base.kernels.subset_plain import BLOCK, n_subsets
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
from tacit.randomness.bernoulli import COIN, COIN_BITS, LARGEST_LIMIT, LARGEST_NARROW_LIMIT, in_lanes

_32: Final = np.uint64(32)  # half of a word's bits
_LOWER: Final = np.uint64((1 << 32) - 1)  # the lower half of a word

LARGEST_LISTED_CHANNEL: Final = 12  # cells: 4,096 reports

MOST_RANKED_CELLS: Final = 2 * BLOCK + 1
"""Cells up to which one word names the whole subset: the others are two blocks. Part of what a seed gives.

Half as many, and 32 cells take three times as long; for twice as many, subsets do not fit a lane of 32 bits."""

CHUNK_WORDS: Final = 1 << 17
"""Words drawn at a time, about: 1 MiB. Part of what a seed gives.

With a quarter of them, calls are so many that reports of 1,024 cells take a fifth longer."""

COIN_DIGITS: Final = 5
"""Binary digits of the coins that subsets of many cells start from, at most. Part of what a seed gives.

A digit of 64 coins takes about as long as one repair, and halves what the coins miss. With four, 256 cells at epsilon 1
take a third longer; with six, 256 cells at epsilon 3 twice as long.
"""

LEAST_CHANCE: Final = 2
"""Of 2**COIN_DIGITS: rarer coins take longer than repairs of the empty set (1 instead: 1,024 cells at epsilon 3 take
1.4 times as long)."""


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
    Cost:      k bits a report, in ceil(k/8) bytes; O(k) to randomize and to tally.
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
        """The joint distribution of the cells that a report supports, ``size`` of them."""
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
        """Return P(report | cell), row by cell, column by the report's bits read as a little-endian number."""
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
        draw = _Ranks if self.n_cells <= MOST_RANKED_CELLS else _Repairs
        drawn = draw(self, cells.size, randomness)
        for first in range(0, max(1, cells.size), drawn.n_at_once):
            part = checked_cells(cells[first : first + drawn.n_at_once], self.n_cells)
            drawn.write(part, reports[first : first + drawn.n_at_once])
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


class _Ranks:
    """Subsets of few cells by their ranks, one word each."""

    def __init__(self, selection: SubsetSelection, n: int, randomness: Randomness) -> None:
        self._selection, self._randomness = selection, randomness
        self._kernels = subset_kernels(n * selection.n_cells)
        self.n_at_once = min(CHUNK_WORDS, max(1, n))
        self._memory = np.empty(self.n_at_once, np.uint64)
        self._limits = np.array(n_subsets(selection.n_cells, selection.size), np.uint64)

    def write(self, cells: NDArray[np.int32], out: NDArray[np.uint8]) -> None:
        k, w, include = self._selection.n_cells, self._selection.size, self._selection.include
        words = self._memory[: cells.size]
        self._randomness.fill(words)
        rows = self._kernels.write_ranked(cells, k, w, words, include >> 32, out)
        if rows.size:
            coins, ranks = self._decided(words[rows], *divmod(include, 1 << 32))
            reports = np.empty((rows.size, out.shape[1]), np.uint8)
            self._kernels.write_of_rank(cells[rows], k, w, coins, ranks, reports)
            out[rows] = reports

    def _decided(
        self, words: NDArray[np.uint64], upper: int, lower: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
        """Return the coins and ranks of words that do not decide them, with more words.

        A coin stays when its rank is drawn again: otherwise the side with less surplus would gain.
        """
        coins, is_open = words >> _32 < upper, words >> _32 == upper
        coins[is_open] = self._randomness.words(int(np.count_nonzero(is_open))) < np.uint64(lower << 32)
        limits = self._limits[coins.view(np.uint8)]
        surplus = (_LOWER + np.uint64(1)) % limits
        products = (words & _LOWER) * limits
        again = np.flatnonzero((products & _LOWER) < surplus)
        while again.size:
            products[again] = (self._randomness.words(again.size) >> _32) * limits[again]
            again = again[(products[again] & _LOWER) < surplus[again]]
        return coins, products >> _32


class _Repairs:
    """Subsets of many cells: coins of nearly the right chance, then repairs at random places to exactly the size."""

    def __init__(self, selection: SubsetSelection, n: int, randomness: Randomness) -> None:
        self._selection, self._randomness = selection, randomness
        self._kernels = subset_kernels(n * selection.n_cells)
        self._digits, n_lanes = coins_and_lanes(selection.n_cells, selection.size)
        self._lane = np.dtype(np.uint16 if selection.n_cells - 1 <= LARGEST_NARROW_LIMIT else np.uint32)
        self._lane_words = -(-n_lanes * self._lane.itemsize // 8)
        self._line_words = -(-selection.n_cells // COIN_BITS)
        self.n_at_once = min(max(1, CHUNK_WORDS // (self._lane_words + self._line_words)), max(1, n))
        self._line_memory = np.empty(self.n_at_once * self._line_words, np.uint64)
        self._memory = np.empty(self.n_at_once * max(self._line_words, self._lane_words), np.uint64)

    def write(self, cells: NDArray[np.int32], out: NDArray[np.uint8]) -> None:
        k, w, include = self._selection.n_cells, self._selection.size, self._selection.include
        lines = self._lines(cells.size)
        coins = self._words(cells.size) < np.uint64(include)
        rows = np.arange(cells.size)
        while rows.size:
            lanes = in_lanes(self._words(rows.size * self._lane_words), self._lane).reshape(rows.size, -1)
            rows = self._kernels.repair(cells, k, w, coins, lines, rows, lanes, out)

    def _lines(self, n: int) -> NDArray[np.uint64]:
        """Toss a coin for each place of n lines."""
        lines = self._line_memory[: n * self._line_words]
        lines[:] = 0
        for digit in self._digits:
            words = self._words(lines.size)
            if digit:
                lines |= words
            else:
                lines &= words
        if 2 * self._selection.size > self._selection.n_cells:
            np.invert(lines, out=lines)
        rows = lines.reshape(n, self._line_words)
        rows[:, -1] &= np.uint64((1 << (self._selection.n_cells - 1) % COIN_BITS) - 1)
        return rows

    def _words(self, count: int) -> NDArray[np.uint64]:
        """Draw words that are used up before the next are drawn: into the same memory, which stays in cache."""
        words = self._memory[:count]
        self._randomness.fill(words)
        return words


def coins_and_lanes(n_cells: int, size: int) -> tuple[tuple[int, ...], int]:
    """Return the binary digits of the coins that subsets start from, the last first, and how many lanes repair them.

    The coins take about a standard deviation less places than the subset has: to take one more is cheaper than to give
    one back. The lanes suffice for five rows in six; the others get as many again. Where more than half of the cells
    are named, all this holds for those left out.

    >>> coins_and_lanes(1024, 275), coins_and_lanes(256, 69), coins_and_lanes(1000, 2)
    (((1, 0), 46), ((1, 1, 1, 0, 0), 28), ((), 4))
    """
    size = min(size, n_cells - size)
    deviation = math.isqrt(size * (n_cells - size) // n_cells)
    chance = (size - deviation << COIN_DIGITS) // n_cells
    if chance < LEAST_CHANCE:
        chance = 0
    lacking = size - (chance * n_cells >> COIN_DIGITS)
    n_lanes = -(-(lacking + deviation) * n_cells // (n_cells - size))
    n_zeros = (chance & -chance).bit_length() - 1 if chance else COIN_DIGITS
    return tuple(chance >> digit & 1 for digit in range(n_zeros, COIN_DIGITS)), n_lanes
