r"""Longitudinal RAPPOR and L-OSUE: permanent noisy bits, remembered on the device, and fresh noise in every report.

A device that answers a one-time question every day gives itself away: averaging removes the noise. Here it draws a
noisy copy of its bits once for every value and remembers it (:mod:`tacit.mechanisms.local.memo`); each report is that
copy seen through fresh coins. All reports about one value together tell no more than the copy does.

**Two epsilons**, both for replacing the value by another. Of the h bits that a value sets, another value lacks at most
h', and sets as many others, so 2 h' bits speak about the difference: h' of them most by a one, h' most by a zero. With
the chances :math:`\alpha` that a true one is permanently a one and :math:`\varphi` that a true zero is,

.. math:: \epsilon_\infty = h' \ln\frac{\alpha(1-\varphi)}{\varphi(1-\alpha)}, \qquad
          \epsilon_1 = h' \ln\frac{q^*(1-p^*)}{p^*(1-q^*)}, \qquad
          q^* = \alpha q + (1-\alpha) p, \quad p^* = \varphi q + (1-\varphi) p.

RAPPOR flips every bit with one chance :math:`\varphi = f/2 = 1 - \alpha`. L-OSUE has :math:`\alpha = 1/2` and symmetric
fresh coins: its permanent bits and its reports both are those of optimized unary encoding (Arcolezi2022).

One-hot bits have h' = h = 1: a pair of bits, so both formulas hold as they stand. Erlingsson2014 states them with h,
for two values whose Bloom bits do not overlap; we state them for the cells at hand, h' <= h, so that epsilon is exactly
the largest log-ratio of the channel. The numbers of the literature, for (f, q, p, h):

>>> for f, q, p, h in ((0, 0.75, 0.5, 1), (0.5, 0.75, 0.5, 2), (0.75, 0.75, 0.5, 2), (0.2, 0.75, 0.25, 1)):
...     n_bits = None if h == 1 else 32
...     rappor = LongitudinalRappor.from_parameters(f=f, q=q, p=p, n_cells=10, hashes=h, n_bits=n_bits)
...     print(f"{rappor.epsilon_infinity:.3f} {rappor.epsilon_1:.3f}")
inf 1.099
4.394 1.074
2.043 0.534
4.394 1.695

Bloom filters over cell numbers: a public hash sets h of m bits for every cell, and least squares reads them back.

**The hash**, bit for bit, so that every platform agrees. The bits of cell v come from the SHA-256 digests of

``b"tacit bloom 1"`` + v as 8 bytes + a counter 0, 1, 2, ... as 4 bytes,

both lowest byte first. Each digest is cut into eight numbers of 4 bytes, lowest byte first; each number modulo m is a
bit, in order, repeats left out, until h different bits are found. Exactly h bits are set whatever the cell is.

>>> bloom_positions(3, 16, 2).tolist()
[[3, 10], [11, 8], [5, 1]]
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.kernels import unary_kernels
from tacit._base.validation import check_at_least, check_share
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import LongitudinalDistribution, UnaryDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.memo import Remembering, check_epsilons
from tacit.mechanisms.local.randomizer import checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.device import DeviceLoss
from tacit.privacy.epsilon import LARGEST_EPSILON, check_epsilon, logistic_threshold
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits


@dataclass(frozen=True, slots=True, eq=False)
class CellEstimate:
    """Unbiased counts of cells with the covariance of their errors.

    ``cells`` says which cells they are: all of the domain, or the candidates asked for.
    """

    cells: NDArray[np.int64]
    values: FloatArray
    covariance: FloatArray

    def variance(self, weights: FloatArray) -> float:
        """Return the variance of a linear question ``sum(weights * values)``."""
        return float(weights @ self.covariance @ weights)


@lru_cache(maxsize=32)
def bloom_positions(n_cells: int, n_bits: int, hashes: int) -> NDArray[np.int64]:
    """Return the ``hashes`` different bits of every cell, row by cell."""
    check_at_least(1, n_cells=n_cells, hashes=hashes)
    check_at_least(hashes + 1, n_bits=n_bits)
    positions = np.array([_bits_of(cell, n_bits, hashes) for cell in range(n_cells)], np.int64)
    positions.flags.writeable = False
    return positions


@lru_cache(maxsize=32)
def largest_difference(n_cells: int, n_bits: int, hashes: int) -> int:
    """Return the largest number of bits set for one cell of a pair and not for the other.

    >>> largest_difference(3, 16, 2)
    2
    """
    positions = bloom_positions(n_cells, n_bits, hashes)
    largest = 0
    for bits in positions:
        is_set = np.zeros(n_bits, bool)
        is_set[bits] = True
        largest = max(largest, hashes - int(is_set[positions].sum(axis=1).min()))
        if largest == hashes:  # some pair shares no bit: it cannot get larger
            break
    return largest


def design_of(positions: NDArray[np.int64], n_bits: int) -> FloatArray:
    """Return the 0/1 matrix of bits x cells: which bits each cell sets."""
    design = np.zeros((n_bits, len(positions)))
    design[positions, np.arange(len(positions))[:, None]] = 1.0
    return design


def solve_bits(design: FloatArray, bits: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least-squares counts of cells that explain counts of bits best, and their covariance.

    The solution X b with X = (A'A)^-1 A' is linear in the bits b, so independent bits of variances v give the
    covariance X diag(v) X' exactly.
    """
    n_bits, n_cells = design.shape
    rank = int(np.linalg.matrix_rank(design))
    if rank < n_cells:
        raise SettingError(
            f"n_bits must tell the cells apart; got n_bits={n_bits}, and the bits of {n_cells} cells span only {rank} "
            "dimensions. Use more bits, other hashes or fewer candidates."
        )
    solve = np.linalg.solve(design.T @ design, design.T)
    covariance: FloatArray = (solve * variances) @ solve.T
    return solve @ bits, covariance


def _bits_of(cell: int, n_bits: int, hashes: int) -> list[int]:
    found: list[int] = []
    counter = 0
    while len(found) < hashes:
        message = b"tacit bloom 1" + cell.to_bytes(8, "little") + counter.to_bytes(4, "little")
        for word in np.frombuffer(hashlib.sha256(message).digest(), "<u4").tolist():
            if word % n_bits not in found and len(found) < hashes:
                found.append(word % n_bits)
        counter += 1
    return found


LARGEST_LISTED_CHANNEL: Final = 12  # bits: 4,096 reports
BYTES_AT_ONCE: Final = 1 << 20  # a MiB of reports


@dataclass(frozen=True, slots=True)
class LongitudinalRappor(Remembering):
    r"""Draw every bit by a permanent coin, remember the result, and send it through instantaneous coins.

    .. math:: \varphi = \frac{\text{permanent}}{2^{64}}, \quad \alpha = \frac{\text{kept}}{2^{64}}, \quad
              q = \frac{\text{ones}}{2^{64}}, \quad p = \frac{\text{zeros}}{2^{64}}, \qquad
              \hat n_v = \frac{C_v - N p^*}{q^* - p^*}

    Without ``kept`` the permanent coins are symmetric, as RAPPOR's: kept = 2**64 - permanent, and permanent = 2**63 f.
    Bits are one-hot, one for each cell, or with ``n_bits`` those of a Bloom filter of so many bits, ``hashes`` of them
    for each cell (:mod:`tacit.mechanisms.local.memoized`), whose counts are found by least squares.

    Privacy:   epsilon_1 (also ``epsilon``) for replacing the value, for one report; epsilon_infinity for any number of
               reports about one value with remembered permanent bits. Every other value that is held spends
               epsilon_infinity again (``epsilon_of_values``), and *when* the value changed is not hidden.
    Error:     variance (N p*(1-p*) + n_v (q*(1-q*) - p*(1-p*))) / (q*-p*)^2 for a one-hot cell of n_v among N reports
               of different devices; reports of one device are correlated, so count each device once in a public bin.
    Cost:      one bit for each cell, or n_bits, a report; O(bits) to randomize and to tally; the memo keeps one such
               row for every value the device has held.
    Reference: Erlingsson2014; Arcolezi2022 ("L-SUE" with symmetric coins, "L-OSUE").

    >>> rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
    >>> rappor.epsilon_infinity, rappor.epsilon_1, [round(rappor.epsilon_after(t), 2) for t in (2, 7, 30)]
    (4.0, 1.0, [1.91, 3.87, 4.0])
    >>> optimized = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17, optimized=True)
    >>> optimized.epsilon_infinity, optimized.epsilon_1, float(optimized.q_star), round(float(optimized.p_star), 6)
    (4.0, 1.0, 0.5, 0.268941)
    """

    memo_name: ClassVar[str] = "longitudinal"

    n_cells: int
    permanent: int
    ones: int
    zeros: int
    hashes: int = 1
    n_bits: int | None = None
    kept: int | None = None

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(0, permanent=self.permanent, zeros=self.zeros)
        check_at_least(1, hashes=self.hashes)
        if self.kept == COIN - self.permanent:
            object.__setattr__(self, "kept", None)  # one form for symmetric coins: equal encodings are equal
        if not (self.permanent < self._kept <= COIN and self.zeros < self.ones <= COIN):
            raise SettingError(
                "thresholds must satisfy permanent < kept (2**63 where there is no kept) and zeros < ones <= 2**64, so "
                "that true bits are likelier. Make the encoding from f, q, p or from two epsilons."
            )
        if (self.permanent == 0 and self.zeros == 0) or (self._kept == COIN and self.ones == COIN):
            raise SettingError(
                "f must be above 0 where q=1 or p=0; got f=0, which sends true bits unprotected. Choose a larger f."
            )
        if self.n_bits is None and self.hashes != 1:
            raise SettingError(
                f"hashes must be 1 for one-hot bits; got hashes={self.hashes}. Give n_bits for a Bloom filter."
            )
        if self.n_bits is not None and not largest_difference(self.n_cells, self.n_bits, self.hashes):
            raise SettingError(
                f"n_bits must tell some cells apart; got n_bits={self.n_bits}, where all cells set the same bits."
            )

    @classmethod
    def from_parameters(
        cls, *, f: float, q: float, p: float, n_cells: int, hashes: int = 1, n_bits: int | None = None
    ) -> LongitudinalRappor:
        """Make the encoding from the letters of the literature.

        ``f`` is the share of permanent bits replaced by a fair coin; a permanent one is sent as a one with chance
        ``q``, a permanent zero with chance ``p``. With f = 0 nothing bounds what many reports tell.
        """
        if f != 0:
            check_share(f=f)
        check_share(open_ends=False, q=q, p=p)
        # the decimals the user wrote, each rounded towards more noise
        half, one, zero = (Fraction(repr(float(x))) for x in (f, q, p))
        return cls(n_cells, math.ceil(half / 2 * COIN), math.floor(one * COIN), math.ceil(zero * COIN), hashes, n_bits)

    @classmethod
    def from_epsilons(
        cls,
        *,
        epsilon_infinity: float,
        epsilon_1: float,
        n_cells: int,
        hashes: int = 1,
        n_bits: int | None = None,
        optimized: bool = False,
    ) -> LongitudinalRappor:
        """Make the encoding whose instantaneous coins are symmetric (p = 1 - q), from its two epsilons.

        Its permanent coins are symmetric too, or with ``optimized`` those of optimized unary encoding (L-OSUE).

        >>> LongitudinalRappor.from_epsilons(epsilon_infinity=2.0, epsilon_1=0.5, n_cells=100).distribution.needs_counts
        False
        """
        check_epsilons(epsilon_infinity, epsilon_1)
        n_differing = 1 if n_bits is None else largest_difference(n_cells, n_bits, hashes)
        check_at_least(1, n_differing=n_differing)
        # a true one that is permanent by a fair coin tells nothing by its absence: half of the bits speak
        n_telling = n_differing if optimized else 2 * n_differing
        permanent = logistic_threshold(_part(epsilon_infinity, n_telling))
        wanted = logistic_threshold(_part(epsilon_1, n_telling))
        # p* = phi + (1 - 2 phi) p must reach its threshold
        zeros = math.ceil(Fraction(wanted - permanent, COIN - 2 * permanent) * COIN) if 2 * permanent < COIN else 0
        if not 2 * zeros < COIN or not 2 * permanent < COIN:
            raise SettingError(f"epsilon_1 must leave something to measure; got epsilon_1={epsilon_1}.")
        return cls(n_cells, permanent, COIN - zeros, zeros, hashes, n_bits, COIN // 2 if optimized else None)

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int, optimized: bool = False) -> LongitudinalRappor:
        """Make the encoding of this epsilon for one report, and of twice that for any number of reports.

        >>> LongitudinalRappor.from_epsilon(epsilon=1.0, n_cells=17).epsilon_infinity
        2.0
        """
        check_epsilon(epsilon)
        twice = min(2 * epsilon, LARGEST_EPSILON)
        return cls.from_epsilons(epsilon_infinity=twice, epsilon_1=epsilon, n_cells=n_cells, optimized=optimized)

    @classmethod
    def from_thresholds(cls, thresholds: Mapping[str, int], n_cells: int) -> LongitudinalRappor:
        """Make the encoding a plan agrees on."""
        others = {name: thresholds[name] for name in ("hashes", "n_bits") if "n_bits" in thresholds}
        if "kept" in thresholds:
            others["kept"] = thresholds["kept"]
        return cls(n_cells, thresholds["permanent"], thresholds["ones"], thresholds["zeros"], **others)

    def thresholds(self) -> dict[str, int]:
        coins = {"permanent": self.permanent, "ones": self.ones, "zeros": self.zeros}
        if self.kept is not None:
            coins["kept"] = self.kept
        return coins if self.n_bits is None else coins | {"hashes": self.hashes, "n_bits": self.n_bits}

    @property
    def n_statistics(self) -> int:
        """The number of bits in a report."""
        return self.n_cells if self.n_bits is None else self.n_bits

    @property
    def report_bytes(self) -> int:
        return -(-self.n_statistics // 8)

    @property
    def n_differing(self) -> int:
        """The h' of the formulas: how many bits of a value another value may lack."""
        return 1 if self.n_bits is None else largest_difference(self.n_cells, self.n_bits, self.hashes)

    @property
    def q_star(self) -> Fraction:
        """P(a bit of the first report is one), for a bit that is truly one."""
        return self._coins.p

    @property
    def p_star(self) -> Fraction:
        """P(a bit of the first report is one), for a bit that is truly zero."""
        return self._coins.q

    @property
    def distribution(self) -> LongitudinalDistribution:
        """The joint distribution of the bits of a one-hot report."""
        if self.n_bits is not None:
            raise SettingError("bits of a Bloom filter are not cells. Ask estimate_cells, which solves for the cells.")
        return self._coins

    @property
    def loss(self) -> DeviceLoss:
        """The privacy loss of reports of one device, with the chances of both rounds."""
        return DeviceLoss.of(self.thresholds(), self.n_cells, n_differing=self.n_differing)

    def channel(self) -> list[list[Fraction]]:
        """Return P(first report | cell), row by cell, column by the report's bits read as a little-endian number."""
        return self._listed(self.q_star, self.p_star)

    def permanent_channel(self) -> list[list[Fraction]]:
        """Return P(permanent bits | cell), in the same form: what all reports together can reveal."""
        return self._listed(*self.loss.permanent)

    @property
    def permanent_distribution(self) -> UnaryDistribution:
        """The joint distribution of the permanent bits of a one-hot value."""
        if self.n_bits is not None:
            raise SettingError("bits of a Bloom filter are not cells. Ask estimate_cells, which solves for the cells.")
        return UnaryDistribution(self.n_cells, self._kept, self.permanent)

    @property
    def n_slots(self) -> int:
        """The largest number of rows of permanent bits that a device remembers: one for every value."""
        return self.n_cells

    @property
    def slot_limit(self) -> int:
        """A slot is a cell."""
        return self.n_cells

    @property
    def n_functions(self) -> int:
        """A device draws nothing for itself but permanent bits."""
        return 1

    def functions(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def slots(self, functions: NDArray[np.int64], cells: NDArray[np.integer]) -> NDArray[np.int64]:
        return checked_cells(cells, self.n_cells).astype(np.int64)

    def permanent_rows(
        self, functions: NDArray[np.int64], slots: NDArray[np.int64], *, randomness: Randomness
    ) -> NDArray[np.uint8]:
        return self.permanent_bits(slots, randomness=randomness)

    def permanent_bits(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Draw new permanent bits, one packed row for each cell. Private: a device keeps them and never sends them."""
        cells = checked_cells(cells, self.n_cells)
        rows = self._coin_rows(cells.size, self.permanent, randomness)
        positions = cells[:, None] if self.n_bits is None else self._positions[cells]
        apart = None if self.kept is None else self._true_coins(positions.size, randomness).reshape(positions.shape)
        for column, bits in enumerate(positions.T):
            at = np.arange(cells.size), bits >> 3
            masks = np.uint8(1) << (bits & 7).astype(np.uint8)
            if apart is None:  # symmetric: the coin that flips a zero flips the true one too
                rows[at] ^= masks
            else:
                rows[at] = np.where(apart[:, column], rows[at] | masks, rows[at] & ~masks)
        return rows

    def instantaneous(self, permanent: NDArray[np.uint8], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make reports of rows of permanent bits: one fresh report for each row."""
        for_ones = self._coin_rows(len(permanent), self.ones, randomness)
        for_zeros = self._coin_rows(len(permanent), self.zeros, randomness)
        reports: NDArray[np.uint8] = for_zeros ^ ((for_ones ^ for_zeros) & permanent)
        return reports

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make first reports: permanent bits are drawn for each cell, used once and forgotten.

        A device that will report again must remember them: use :class:`tacit.mechanisms.local.memo.DeviceMemo`.
        """
        cells = checked_cells(cells, self.n_cells)
        reports = np.empty((cells.size, self.report_bytes), np.uint8)
        n_at_once = max(1, BYTES_AT_ONCE // self.report_bytes)
        for first in range(0, cells.size, n_at_once):
            permanent = self.permanent_bits(cells[first : first + n_at_once], randomness=randomness)
            reports[first : first + n_at_once] = self.instantaneous(permanent, randomness=randomness)
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        self._check_reports(reports)
        counts = np.zeros((len(run_lengths), self.n_statistics), np.int64)
        starts = np.concatenate(([0], np.cumsum(run_lengths)))
        kernels = unary_kernels(len(reports) * self.n_statistics)
        kernels.count_grouped(np.ascontiguousarray(reports), starts, self.n_statistics, counts)
        return counts

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate counts of one-hot cells without bias; each public bin holds at most one report of a device."""
        return estimate_supports(self.distribution, tally, plan, domain)

    def estimate_cells(
        self, bit_counts: NDArray[np.int64], n_reports: int, *, candidates: Sequence[int] | None = None
    ) -> CellEstimate:
        """Estimate the counts of cells, without bias, from how often each bit was one in ``n_reports`` reports.

        With ``candidates`` only these cells are solved for, as if no other had been reported. The covariance is exact
        given the true counts of bits; where q + p is not 1 estimated ones, between 0 and n_reports, stand in.
        """
        cells = np.arange(self.n_cells) if candidates is None else np.asarray(candidates, np.int64)
        p, q = float(self.q_star), float(self.p_star)
        gap = float(self.q_star - self.p_star)
        bits: NDArray[np.float64] = (np.asarray(bit_counts, np.float64) - n_reports * q) / gap
        truth = np.clip(bits, 0, n_reports)
        variances = (truth * (p * (1 - p)) + (n_reports - truth) * (q * (1 - q))) / gap**2
        design = design_of(self._positions[checked_cells(cells, self.n_cells)], self.n_statistics)
        values, covariance = solve_bits(design, bits, variances)
        return CellEstimate(cells, values, covariance)

    @property
    def _coins(self) -> LongitudinalDistribution:
        return LongitudinalDistribution(self.n_cells, self.permanent, self.ones, self.zeros, self.kept)

    @property
    def _kept(self) -> int:
        return COIN - self.permanent if self.kept is None else self.kept

    @property
    def _positions(self) -> NDArray[np.int64]:
        """The bits each cell sets, row by cell."""
        if self.n_bits is None:
            return np.arange(self.n_cells)[:, None]
        return bloom_positions(self.n_cells, self.n_bits, self.hashes)

    def _coin_rows(self, n_rows: int, threshold: int, randomness: Randomness) -> NDArray[np.uint8]:
        """Return packed rows of coins; bits beyond the last are zero."""
        n_bytes = n_rows * self.report_bytes
        words = bernoulli_bits(n_bytes * 8, threshold, randomness)
        rows = words.astype("<u8", copy=False).view(np.uint8)[:n_bytes].reshape(n_rows, self.report_bytes).copy()
        rows[:, -1] &= np.uint8(0xFF >> -self.n_statistics % 8)
        return rows

    def _true_coins(self, count: int, randomness: Randomness) -> NDArray[np.bool_]:
        heads = bernoulli_bits(count, self._kept, randomness).astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(heads, count=count, bitorder="little").astype(bool)

    def _listed(self, one: Fraction, zero: Fraction) -> list[list[Fraction]]:
        if self.n_statistics > LARGEST_LISTED_CHANNEL:
            raise SettingError(
                f"a report must have at most {LARGEST_LISTED_CHANNEL} bits to list all reports; "
                f"got n_bits={self.n_statistics}. Ask for epsilon, which is exact for any number of bits."
            )
        rows = []
        for bits_of_cell in self._positions.tolist():
            chances = [one if j in bits_of_cell else zero for j in range(self.n_statistics)]
            rows.append(
                [
                    math.prod(
                        (c if bit else 1 - c for c, bit in zip(chances, reversed(bits), strict=True)), start=Fraction(1)
                    )
                    for bits in product((0, 1), repeat=self.n_statistics)
                ]
            )
        return rows

    def _check_reports(self, reports: NDArray[np.uint8]) -> None:
        if reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise FormatError(
                f"reports must have {self.report_bytes} bytes each. Ask for them again; nothing was counted."
            )
        wrong = np.flatnonzero(reports[:, -1] & np.uint8(~(0xFF >> -self.n_statistics % 8) & 0xFF))
        if wrong.size:
            raise FormatError(
                f"bits beyond the last of {self.n_statistics} must be zero; in {wrong.size} of {len(reports)} reports "
                f"they are not, the first at position {wrong[0]}. Ask for them again; nothing was counted."
            )


def _part(epsilon: float, n_parts: int) -> float:
    """Return the largest float whose ``n_parts`` together do not exceed epsilon."""
    part = epsilon / n_parts
    return part if Fraction(part) * n_parts <= Fraction(epsilon) else math.nextafter(part, 0)
