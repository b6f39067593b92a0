r"""Longitudinal hashing (LOLOHA): a hash function for life, remembered noisy hash values, and fresh noise around them.

A device draws one hash function of :mod:`tacit.mechanisms.local.hashing` for its life. For every hash value that its
values come to have, it remembers a noisy one (:mod:`tacit.mechanisms.local.memo`); each report sends the function and
the remembered value through fresh noise. There are only g hash values. So however often its value changes, a device
draws g permanent values at most, where longitudinal RAPPOR draws one row for every value it ever holds.

Both rounds keep a value or draw one from all g. Such rounds multiply: with the chances :math:`\kappa_\infty` and
:math:`\kappa` to keep it, a report names the true hash value as local hashing with :math:`\kappa_\infty \kappa` does,

.. math:: \epsilon_\infty = \ln\Bigl(1 + \frac{g \kappa_\infty}{1 - \kappa_\infty}\Bigr), \qquad
          \epsilon_1 = \ln\Bigl(1 + \frac{g \kappa_\infty \kappa}{1 - \kappa_\infty \kappa}\Bigr).

The most telling n reports about one value all name the hash value of one cell. With :math:`p_\infty, q_\infty` for the
permanent value and r for how many times likelier a report names that than another value,

.. math:: e^{\epsilon_n} = \frac{p_\infty r^n + (g-1) q_\infty}{q_\infty r^n + p_\infty + (g-2) q_\infty}.

Arcolezi2023 chooses the second round so that epsilon_1 is met for two values and, with more of them, undercut without
need: here it is exact for every g.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.oracle_distributions import HashingDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.mechanisms.local.hashing import CHUNK_REPORTS, MOST_BITS, LocalHashing, kept_at_most, mean_variance
from tacit.mechanisms.local.memo import Remembering, check_epsilons
from tacit.mechanisms.local.randomizer import checked_cells, estimate_supports
from tacit.plan import Plan
from tacit.privacy.device import DeviceLoss
from tacit.privacy.epsilon import LARGEST_EPSILON, check_epsilon
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits

_BYTES: Final = 8  # of the numbers that reports are handled as; a report has 6 at most


@dataclass(frozen=True, slots=True)
class LongitudinalHashing(Remembering):
    r"""Hash by the device's own function, keep the hash value or draw one, remember it, and report it so again.

    .. math:: \kappa_\infty = \frac{\text{permanent\_keep}}{2^{64}}, \quad \kappa = \frac{\text{keep}}{2^{64}}, \quad
              p = \kappa_\infty \kappa + \frac{1 - \kappa_\infty \kappa}{g}, \quad q = \frac1g, \qquad
              \hat n_v = \frac{C_v - Nq}{p-q}

    Privacy:   epsilon_1 (also ``epsilon``) for replacing the value, for one report; epsilon_infinity for any number of
               reports about one value with a remembered hash value; epsilon_of_values, at most g epsilon_infinity, for
               the hash values of all values ever held. *When* the hash value changed is not hidden. The function is
               sent with every report, so reports of one device can be linked; all of these epsilons hold if they are.
    Error:     variance (N q(1-q) + n_v (p-q)(1-p-q)) / (p-q)^2 for a cell of n_v among N reports of different devices;
               reports of one device are correlated, so count each device once in a public bin.
    Cost:      m + bits bits a report, 2**m >= k; O(1) to randomize; tallied as local hashing is; the memo keeps the
               function and at most g values.
    Reference: Arcolezi2023 ("LOLOHA"; "BiLOLOHA" with two hash values); Carter1979 (the family).

    >>> hashing = LongitudinalHashing.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=1000)
    >>> hashing.n_values, hashing.epsilon_infinity, hashing.epsilon_1, hashing.epsilon_of_values()
    (4, 4.0, 1.0, 16.0)
    >>> [round(hashing.epsilon_after(t), 2) for t in (2, 7, 30)], hashing.report_bytes
    ([1.97, 3.97, 4.0], 2)
    """

    memo_name: ClassVar[str] = "longitudinal hashing"
    n_cells: int
    bits: int
    permanent_keep: int
    keep: int

    def __post_init__(self) -> None:
        LocalHashing(self.n_cells, self.bits, self.permanent_keep)  # refuses what is no hash, or has no permanent noise
        if not 0 < self.keep <= COIN:
            raise SettingError("keep must satisfy 0 < keep <= 2**64. Make the hashing from two epsilons.")

    @classmethod
    def from_epsilons(
        cls, *, epsilon_infinity: float, epsilon_1: float, n_cells: int, n_reports: int = 1, bits: int | None = None
    ) -> LongitudinalHashing:
        """Make the hashing of two epsilons, with ``bits`` or with the number of hash values that errs least.

        The error is that of the mean over ``n_reports`` public bins of devices that keep their values.

        >>> for n_reports in (1, 100):
        ...     hashing = LongitudinalHashing.from_epsilons(
        ...         epsilon_infinity=3.0, epsilon_1=1.0, n_cells=1000, n_reports=n_reports
        ...     )
        ...     print(hashing.n_values)
        4
        16
        """
        check_epsilons(epsilon_infinity, epsilon_1)
        check_at_least(2, n_cells=n_cells)
        check_at_least(1, n_reports=n_reports)

        def variance(l: int) -> float:  # noqa: E741 - the letter of docs/hash.md
            once, permanent = (mean_variance(e, 1 << l, n_cells) for e in (epsilon_1, epsilon_infinity))
            return permanent + (once - permanent) / n_reports

        chosen = min(range(1, MOST_BITS + 1), key=variance) if bits is None else bits
        check_at_least(1, bits=chosen)
        permanent_keep = kept_at_most(epsilon_infinity, 1 << chosen, COIN)
        # the product of both must not exceed what epsilon_1 allows
        keep = min(COIN, kept_at_most(epsilon_1, 1 << chosen, COIN**2) // permanent_keep)
        return cls(n_cells, chosen, permanent_keep, keep)

    @classmethod
    def from_epsilon(cls, *, epsilon: float, n_cells: int, binary: bool = False) -> LongitudinalHashing:
        """Make the hashing of this epsilon for one report, and of twice that for any number of reports.

        >>> LongitudinalHashing.from_epsilon(epsilon=1.0, n_cells=17, binary=True).epsilon_of_values()
        4.0
        """
        check_epsilon(epsilon)
        twice, bits = min(2 * epsilon, LARGEST_EPSILON), 1 if binary else None
        return cls.from_epsilons(epsilon_infinity=twice, epsilon_1=epsilon, n_cells=n_cells, bits=bits)

    @classmethod
    def from_thresholds(cls, thresholds: Mapping[str, int], n_cells: int) -> LongitudinalHashing:
        """Make the hashing a plan agrees on."""
        return cls(n_cells, thresholds["bits"], thresholds["permanent_keep"], thresholds["keep"])

    def thresholds(self) -> dict[str, int]:
        return {"bits": self.bits, "permanent_keep": self.permanent_keep, "keep": self.keep}

    @property
    def permanent(self) -> LocalHashing:
        """The first round: local hashing, whose reports have the form of permanent rows and of reports."""
        return _first_round(self.n_cells, self.bits, self.permanent_keep)

    @property
    def degree(self) -> int:
        return self.permanent.degree

    @property
    def n_values(self) -> int:
        """The number g of hash values."""
        return 1 << self.bits

    @property
    def report_bytes(self) -> int:
        return self.permanent.report_bytes

    @property
    def n_statistics(self) -> int:
        return self.n_cells

    @property
    def distribution(self) -> HashingDistribution:
        """The joint distribution of the cells that one report supports."""
        return HashingDistribution(self.n_cells, self.bits, self.keep, self.permanent_keep)

    @property
    def loss(self) -> DeviceLoss:
        """The privacy loss of reports of one device, with the chances of both rounds."""
        return DeviceLoss.of(self.thresholds(), self.n_cells)

    def channel(self) -> list[list[Fraction]]:
        """Return P(first report | cell), row by cell, column by the report a + z 2**m as a little-endian number."""
        return self.permanent.channel_of(self.distribution.kept)

    def permanent_channel(self) -> list[list[Fraction]]:
        """Return P(function and permanent value | cell), in the same form: what all reports together can reveal."""
        return self.permanent.channel()

    @property
    def permanent_distribution(self) -> HashingDistribution:
        """The joint distribution of the cells that a permanent value supports."""
        return self.permanent.distribution

    @property
    def n_slots(self) -> int:
        """The largest number of permanent values that a device remembers: one for every hash value that cells have."""
        return self.loss.n_slots

    @property
    def slot_limit(self) -> int:
        """A slot is a hash value; there may be more hash values than cells."""
        return self.n_values

    @property
    def n_functions(self) -> int:
        return 1 << self.degree

    def functions(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        """Draw the functions of so many new devices."""
        return (randomness.words(count) & np.uint64(self.n_functions - 1)).astype(np.int64)

    def slots(self, functions: NDArray[np.int64], cells: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the hash values of cells on devices with these functions, one by one."""
        return self.permanent.hashed(functions, checked_cells(cells, self.n_cells)).astype(np.int64)

    def permanent_rows(
        self, functions: NDArray[np.int64], slots: NDArray[np.int64], *, randomness: Randomness
    ) -> NDArray[np.uint8]:
        """Draw new permanent values, each with its function. Private: a device keeps them and never sends them."""
        values = self._kept_or_drawn(np.asarray(slots, np.uint64), self.permanent_keep, randomness)
        return self._packed(np.asarray(functions, np.uint64), values)

    def instantaneous(self, permanent: NDArray[np.uint8], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make reports of permanent values: one fresh report for each row."""
        numbers = np.zeros((len(permanent), _BYTES), np.uint8)
        numbers[:, : self.report_bytes] = permanent
        whole = numbers.view("<u8")[:, 0]
        values = self._kept_or_drawn(whole >> np.uint64(self.degree), self.keep, randomness)
        return self._packed(whole & np.uint64(self.n_functions - 1), values)

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make first reports: a function and a permanent value are drawn for each cell, used once and forgotten.

        A device that will report again must remember them: use :class:`tacit.mechanisms.local.memo.DeviceMemo`.
        """
        cells = checked_cells(cells, self.n_cells)
        reports = np.empty((cells.size, self.report_bytes), np.uint8)
        for first in range(0, cells.size, CHUNK_REPORTS):
            part = cells[first : first + CHUNK_REPORTS]
            functions = self.functions(part.size, randomness=randomness)
            permanent = self.permanent_rows(functions, self.slots(functions, part), randomness=randomness)
            reports[first : first + CHUNK_REPORTS] = self.instantaneous(permanent, randomness=randomness)
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count what supports each cell, as local hashing does."""
        return self.permanent.statistics(reports, run_lengths)

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate counts without bias; each public bin holds at most one report of a device."""
        return estimate_supports(self.distribution, tally, plan, domain)

    def _kept_or_drawn(self, values: NDArray[np.uint64], threshold: int, randomness: Randomness) -> NDArray[np.uint64]:
        """Keep each value with the chance threshold / 2**64, else draw one from all of them."""
        drawn = randomness.words(values.size) & np.uint64(self.n_values - 1)
        heads = bernoulli_bits(values.size, threshold, randomness).astype("<u8", copy=False).view(np.uint8)
        kept = np.unpackbits(heads, count=values.size, bitorder="little").astype(bool)
        return np.where(kept, values, drawn)

    def _packed(self, functions: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.uint8]:
        numbers = functions | values << np.uint64(self.degree)
        rows = numbers.astype("<u8", copy=False).view(np.uint8).reshape(-1, _BYTES)
        return np.ascontiguousarray(rows[:, : self.report_bytes])


@lru_cache(maxsize=16)
def _first_round(n_cells: int, bits: int, keep: int) -> LocalHashing:
    """Return the hashing of permanent values, made once: a device asks for it several times in every report."""
    return LocalHashing(n_cells, bits, keep)
