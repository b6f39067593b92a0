r"""The most likely counts, given the reports themselves: maximum likelihood over what counts can be.

Every report y of a support-type oracle says of each cell v whether it supports it, and

.. math:: L(y \mid v) \propto 1 + (e^\epsilon - 1)\, 1[v \text{ supported by } y],

so one algorithm serves all of them. With the shares :math:`\pi` of a public bin and :math:`z_y = \sum_v \pi_v L(y|v)`,
the log-likelihood :math:`\sum_y n_y \ln z_y` is concave. Expectation maximization multiplies each share by

.. math:: m_v = \frac1N \sum_y n_y \frac{L(y \mid v)}{z_y}, \qquad \sum_v \pi_v m_v = 1,

and the largest m bounds what is still missing: no shares whatever have a log-likelihood that is larger by more than
:math:`N (\max_v m_v - 1)` (the duality gap). At the maximum :math:`m_v = 1` where :math:`\pi_v > 0` and
:math:`m_v \le 1` elsewhere. Plain steps need thousands of rounds at a small epsilon; they are extrapolated (SQUAREM),
by half as much as long as a share would leave the positive numbers, so that none ever freezes at zero.

Reference: Varadhan2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_at_least, check_positive
from tacit.errors import SettingError
from tacit.estimate import Estimate
from tacit.noise import Unstated
from tacit.postprocess.simplex import cells_of_rows, rows_with_totals
from tacit.provenance import Provenance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_LIKELY: Final = "maximum likelihood of the reports"
TOLERANCE: Final = 1e-3
"""In units of log-likelihood: shares this close to the maximum are within about 0.05 standard errors of it."""
MOST_ROUNDS: Final = 2_000
_LEAST_SHARE: Final = 1e-200
_NUMBERS_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class ReportHistogram:
    """How often each distinct report came in each public bin, and the cells that each supports.

    Bin b has the entries ``starts[b]`` to ``starts[b + 1]``; entry i stands for ``counts[i]`` equal reports, which
    support the cells of row ``which[i]`` of ``supports`` (distinct reports x cells, 0 or 1). A supported cell is
    ``odds`` times as likely to send its report as any other.
    """

    provenance: Provenance
    odds: float
    supports: NDArray[np.uint8]
    starts: IntArray
    which: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        if not self.odds > 1:  # written so that NaN fails too
            raise SettingError(f"odds must be above 1; got odds={self.odds}. Use exp(epsilon) of the mechanism.")
        if self.which.shape != self.counts.shape or self.starts[-1] != self.counts.size:
            raise SettingError("a histogram needs a distinct report and a count for every entry.")

    @property
    def n_bins(self) -> int:
        return len(self.starts) - 1

    @property
    def n_cells(self) -> int:
        return int(self.supports.shape[1])

    @property
    def bins(self) -> IntArray:
        """The public bin of every entry."""
        return np.repeat(np.arange(self.n_bins), np.diff(self.starts))

    @property
    def reports(self) -> IntArray:
        """The number of reports in every public bin."""
        return np.bincount(self.bins, weights=self.counts, minlength=self.n_bins).astype(np.int64)

    def coarsen(self, groups: IntArray, n_bins: int) -> ReportHistogram:
        """Add public bins up: bin b becomes part of bin ``groups[b]``."""
        n_distinct = len(self.supports)
        keys, inverse = np.unique(groups[self.bins] * n_distinct + self.which, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights=self.counts, minlength=len(keys)).astype(np.int64)
        starts = np.searchsorted(keys // n_distinct, np.arange(n_bins + 1))
        return replace(self, starts=starts, which=keys % n_distinct, counts=counts)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What the ascent did: round by round, the largest duality gap and the log-likelihood of all bins together.

    ``gaps`` and ``n_rounds`` tell of every bin how far it is from its maximum at most, and when it was that close.
    """

    largest_gaps: FloatArray
    log_likelihoods: FloatArray
    gaps: FloatArray
    n_rounds: IntArray

    @property
    def n_open(self) -> int:
        """How many bins were not as close as asked when rounds ran out."""
        return int(np.count_nonzero(self.n_rounds < 0))


def most_likely_shares(
    histogram: ReportHistogram,
    *,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[FloatArray, Trace]:
    """The shares of every public bin (rows) under which its reports are most likely, and how they were found.

    A bin is left when its duality gap is at most ``tolerance``, in units of log-likelihood. Bins without reports have
    even shares.
    """
    check_positive(tolerance=tolerance)
    check_at_least(1, most_rounds=most_rounds)
    k = histogram.n_cells
    shares = np.full((histogram.n_bins, k), 1 / k)
    gaps, found_at = np.zeros(histogram.n_bins), np.zeros(histogram.n_bins, np.int64)
    largest: list[float] = []
    likelihoods: list[float] = []
    finished = 0.0
    for bins in _blocks(histogram):
        block = _Block.of(histogram, bins)
        ascent = _ascend(block, shares[bins], tolerance, most_rounds)
        shares[bins], gaps[bins], found_at[bins] = ascent.shares, ascent.gaps, ascent.n_rounds
        for number, (gap, value) in enumerate(zip(ascent.largest_gaps, ascent.log_likelihoods, strict=True)):
            if number == len(largest):
                largest.append(0.0)
                likelihoods.append(finished)
            largest[number] = max(largest[number], gap)
            likelihoods[number] += value
        # blocks that ended earlier stand still in the later rounds
        for number in range(len(ascent.largest_gaps), len(largest)):
            likelihoods[number] += ascent.log_likelihoods[-1]
        finished += ascent.log_likelihoods[-1]
    return shares, Trace(np.array(largest), np.array(likelihoods), gaps, found_at)


def maximize_likelihood(
    estimate: Estimate, histogram: ReportHistogram, *, tolerance: float = TOLERANCE, most_rounds: int = MOST_ROUNDS
) -> Estimate:
    """Replace the counts of an estimate by the most likely ones, given the histogram of the same reports.

    Biased where shares meet zero: errors below it are cut off. The histogram's bins must be the estimate's public ones,
    in order, and its cells the private ones.
    """
    rows, totals = rows_with_totals(estimate)
    if rows.shape != (histogram.n_bins, histogram.n_cells) or not np.array_equal(totals, histogram.reports):
        raise SettingError("the histogram must be of the same reports as the estimate. Make both from the same files.")
    shares, _ = most_likely_shares(histogram, tolerance=tolerance, most_rounds=most_rounds)
    return replace(
        estimate,
        values=cells_of_rows(shares * totals[:, None], estimate),
        noise=Unstated(
            "the most likely counts are raised where they are small, because none is negative, so no honest interval "
            "can be stated"
        ),
        steps=(*estimate.steps, MOST_LIKELY),
    )


def _blocks(histogram: ReportHistogram) -> list[slice]:
    """Runs of bins whose entries fit into memory together, each at least one bin."""
    most = max(1, _NUMBERS_AT_ONCE // histogram.n_cells)
    edges = [0]
    for bin in range(1, histogram.n_bins):
        if histogram.starts[bin + 1] - histogram.starts[edges[-1]] > most:
            edges.append(bin)
    edges.append(histogram.n_bins)
    return [slice(first, stop) for first, stop in pairwise(edges)]


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Consecutive bins with the supports of every entry written out."""

    gain: float
    supports: FloatArray
    counts: FloatArray
    starts: IntArray

    @classmethod
    def of(cls, histogram: ReportHistogram, bins: slice) -> _Block:
        starts = histogram.starts[bins.start : bins.stop + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        return cls(
            histogram.odds - 1,
            histogram.supports[histogram.which[part]].astype(np.float64),
            histogram.counts[part].astype(np.float64),
            starts - starts[0],
        )

    def of_bins(self, chosen: IntArray) -> _Block:
        """The block of some of its bins."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return _Block(self.gain, self.supports[entries], self.counts[entries], starts)

    @property
    def reports(self) -> FloatArray:
        return self._sums(self.counts)

    def step(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The factors m of every bin's shares, and its log-likelihood."""
        bins = np.repeat(np.arange(len(shares)), np.diff(self.starts))
        z = 1.0 + self.gain * np.einsum("ij,ij->i", self.supports, shares[bins])
        weights = self.counts / z
        outside = self._sums(weights)
        inside = self._sums(self.supports * weights[:, None])
        factors = (outside[:, None] + self.gain * inside) / self.reports[:, None]
        return factors, self._sums(self.counts * np.log(z))

    def _sums(self, values: FloatArray) -> FloatArray:
        if not len(values):
            return np.zeros((0, *values.shape[1:]))
        sums: FloatArray = np.add.reduceat(values, self.starts[:-1], axis=0)
        return sums


@dataclass(slots=True, eq=False)
class _Ascent:
    shares: FloatArray
    gaps: FloatArray
    n_rounds: IntArray
    largest_gaps: list[float]
    log_likelihoods: list[float]


def _ascend(block: _Block, shares: FloatArray, tolerance: float, most_rounds: int) -> _Ascent:
    """Climb in every bin of a block until its gap closes; bins that are done are left out of further rounds."""
    out = _Ascent(shares.copy(), np.zeros(len(shares)), np.zeros(len(shares), np.int64), [], [])
    open_bins = np.flatnonzero(np.diff(block.starts) > 0)
    if not open_bins.size:
        out.largest_gaps, out.log_likelihoods = [0.0], [0.0]
        return out
    part = block.of_bins(open_bins)
    here, done = shares[open_bins], 0.0
    factors, value = part.step(here)
    for number in range(most_rounds):
        gaps = part.reports * np.maximum(factors.max(axis=1) - 1, 0.0)
        out.gaps[open_bins], out.shares[open_bins] = gaps, here
        out.largest_gaps.append(float(gaps.max()))
        out.log_likelihoods.append(done + float(value.sum()))
        is_open = gaps > tolerance
        out.n_rounds[open_bins] = np.where(is_open, -1, number)
        if not is_open.any():
            break
        if np.count_nonzero(is_open) < 0.7 * len(open_bins):
            done += float(value[~is_open].sum())
            open_bins, here = open_bins[is_open], here[is_open]
            factors, value, part = factors[is_open], value[is_open], block.of_bins(open_bins)
        here, factors, value = _extrapolated(part, here, factors, value)
    return out


def _extrapolated(
    part: _Block, here: FloatArray, factors: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Two steps of expectation maximization and a leap along them, where that leads higher than the two alone."""
    first = np.maximum(here * factors, _LEAST_SHARE)
    factors_first, _ = part.step(first)
    second = np.maximum(first * factors_first, _LEAST_SHARE)
    way, bend = first - here, second - 2 * first + here
    norm = np.linalg.norm(bend, axis=1)
    length = np.divide(np.linalg.norm(way, axis=1), norm, out=np.ones(len(norm)), where=norm > 0)
    length = np.maximum(length, 1.0)[:, None]
    leap = _leap(here, way, bend, length)
    for _ in range(60):
        outside = leap.min(axis=1) <= 0
        if not outside.any():
            break
        length[outside] = (1 + length[outside]) / 2
        leap = _leap(here, way, bend, length)
    leap = np.where(leap.min(axis=1, keepdims=True) > 0, leap, second)
    leap /= leap.sum(axis=1, keepdims=True)
    factors_leap, value_leap = part.step(leap)
    is_lower = ~(value_leap >= value)
    if is_lower.any():
        leap[is_lower] = second[is_lower]
        factors_leap, value_leap = part.step(leap)
    return leap, factors_leap, value_leap


def _leap(here: FloatArray, way: FloatArray, bend: FloatArray, length: FloatArray) -> FloatArray:
    leap: FloatArray = here + 2 * length * way + length**2 * bend
    return leap
