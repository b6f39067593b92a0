r"""The most likely counts, given the reports themselves: maximum likelihood over what counts can be.

Every report y of a support-type oracle says of each cell v whether it supports it, and

.. math:: L(y \mid v) \propto 1 + (e^\epsilon - 1)\, 1[v \text{ supported by } y],

so one algorithm serves all of them. With the shares :math:`\pi` of a public bin and :math:`z_y = \sum_v \pi_v L(y|v)`,
the log-likelihood :math:`\sum_y n_y \ln z_y` is concave. Expectation maximization multiplies each share by

.. math:: m_v = \frac1N \sum_y n_y \frac{L(y \mid v)}{z_y}, \qquad \sum_v \pi_v m_v = 1,

and the largest m bounds what is still missing: no shares whatever have a log-likelihood that is larger by more than
:math:`N (\max_v m_v - 1)` (the duality gap). At the maximum :math:`m_v = 1` where :math:`\pi_v > 0` and
:math:`m_v \le 1` elsewhere. Plain steps need thousands of rounds at a small epsilon, so most rounds are
Newton's or extrapolate; whatever they do, the gap is what ends them.

**Newton's**: with the gradient :math:`g = N (m - 1)` and the bend
:math:`H = \sum_y n_y (a / z_y)^2 S_y S_y^\top` (supports S, and a the odds less 1), the change d of shares that
maximizes :math:`g^\top d - d^\top H d / 2` while shares add up to 1 and none is negative, found by fixing at zero
what would fall below it. It is halved until it leads up. Shares at zero take part again as soon as their factor m is
above 1.

**Two steps of expectation maximization and a leap along them** (SQUAREM), by half as much as long as a share would
leave the positive numbers, so that none ever freezes at zero: where cells are too many for Newton's, every few rounds
in any case, and where Newton's leads nowhere.

Reference: Varadhan2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import likelihood_kernels
from tacit._base.languages import stored
from tacit._base.validation import check_at_least, check_positive
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.provenance import Provenance
from tacit.errors import SettingError
from tacit.postprocess.clipping import cells_of_rows, rows_with_totals

MOST_LIKELY: Final = stored("maximum likelihood of the reports")
TOLERANCE: Final = 1e-3
"""In units of log-likelihood: shares this close to the maximum are within about 0.05 standard errors of it."""
MOST_ROUNDS: Final = 2_000
"""Newton's steps take 4 to 6 rounds, expectation maximization about a thousand; the statement says if they ran out."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportHistogram:
    """The times that each distinct report came in each public bin, and the cells that each supports.

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
    """The course of the ascent: round by round, the largest duality gap and the log-likelihood of all bins together.

    ``gaps`` and ``n_rounds`` tell of every bin how far it is from its maximum at most, and when it was that close.
    """

    largest_gaps: FloatArray
    log_likelihoods: FloatArray
    gaps: FloatArray
    n_rounds: IntArray

    @property
    def n_open(self) -> int:
        """Return how many bins were not as close as asked when rounds ran out."""
        return int(np.count_nonzero(self.n_rounds < 0))

    def words(self, tolerance: float) -> str:
        """Return how the ascent ended, in a few words for the statement of a release.

        >>> Trace(np.array([3.0, 0.0]), np.zeros(2), np.array([0.0, 0.5]), np.array([2, -1])).words(0.001)
        '1 of 2 public bins not within 0.001 of its largest log-likelihood after 2 rounds'
        """
        n_bins, n_rounds = len(self.gaps), len(self.largest_gaps)
        values = {"tolerance": f"{tolerance:g}", "rounds": f"{n_rounds:,}"}
        if not self.n_open:
            return stored(
                "every public bin within %(tolerance)s of its largest log-likelihood after %(rounds)s rounds", **values
            )
        return stored(
            "%(n)s of %(all)s public bins not within %(tolerance)s of its largest log-likelihood after %(rounds)s "
            "rounds",
            n=f"{self.n_open:,}",
            all=f"{n_bins:,}",
            **values,
        )


def most_likely_shares(
    histogram: ReportHistogram,
    *,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[FloatArray, Trace]:
    """Return the shares of every public bin (rows) under which its reports are most likely, and how they were found.

    A bin is left when its duality gap is at most ``tolerance``, in units of log-likelihood. Bins without reports have
    even shares.
    """
    check_positive(tolerance=tolerance)
    check_at_least(1, most_rounds=most_rounds)
    k = histogram.n_cells
    shares, gaps = np.full((histogram.n_bins, k), 1 / k), np.zeros(histogram.n_bins)
    found_at = np.zeros(histogram.n_bins, np.int64)
    largest, likelihoods, finished = [], [], 0.0
    open_bins = np.flatnonzero(np.diff(histogram.starts) > 0)
    here, reports = shares[open_bins], histogram.reports[open_bins]
    factors, value = weighed(histogram, open_bins, here)
    for number in range(most_rounds):
        open_gaps = reports * np.maximum(factors.max(axis=1, initial=1.0) - 1, 0.0)
        shares[open_bins], gaps[open_bins] = here, open_gaps
        largest.append(float(open_gaps.max(initial=0.0)))
        likelihoods.append(finished + float(value.sum()))
        is_open = open_gaps > tolerance
        found_at[open_bins] = np.where(is_open, -1, number)
        finished += float(value[~is_open].sum())
        open_bins, here, reports = open_bins[is_open], here[is_open], reports[is_open]
        if not open_bins.size:
            break
        here, factors, value = climbed(histogram, open_bins, here, factors[is_open], value[is_open], number)
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
    shares, trace = most_likely_shares(histogram, tolerance=tolerance, most_rounds=most_rounds)
    return replace(
        estimate,
        values=cells_of_rows(shares * totals[:, None], estimate),
        noise=NoStatedNoise(
            "the most likely counts are raised where they are small, because none is negative, so no honest interval "
            "can be stated"
        ),
        steps=(*estimate.steps, stored("%(step)s (%(ended)s)", step=MOST_LIKELY, ended=trace.words(tolerance))),
    )


MOST_CELLS: Final = 128
"""Newton's step solves a system of as many equations for every bin, whose time grows with the cube of their number.
Beyond, steps are of expectation maximization alone, which takes a thousand rounds where Newton takes six."""
_NUMBERS_AT_ONCE: Final = 1 << 22  # 32 MiB of matrices; doubled, twice the memory
# Half or twice of these five takes as many rounds, but for the first, of which twice takes one less.
_LEAP_EVERY: Final = 4  # of so many rounds one is of expectation maximization, which goes on where Newton's stand still
_MOST_HALVINGS: Final = 6  # of a step that leads lower: a sixty-fourth is left, then the leap helps
_RIDGE: Final = 1e-9  # of the mean curvature, for cells that no report tells apart
_NOTHING: Final = 1e-12  # a share that is taken for zero
_LEAST_SHARE: Final = 1e-200  # keeps logarithms finite


def climbed(
    histogram: ReportHistogram,
    bins: IntArray,
    here: FloatArray,
    factors: FloatArray,
    value: FloatArray,
    number: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares that are at least as likely after one round, their factors and their log-likelihoods."""
    if here.shape[1] > MOST_CELLS or number % _LEAP_EVERY == _LEAP_EVERY - 1:
        return _extrapolated(histogram, bins, here, factors, value)
    there = np.empty_like(here)
    n_at_once = max(1, _NUMBERS_AT_ONCE // here.shape[1] ** 2)
    for first in range(0, len(bins), n_at_once):
        part = slice(first, first + n_at_once)
        there[part] = _newton(histogram, bins[part], here[part], factors[part])
    factors_there, value_there = weighed(histogram, bins, there)
    for _ in range(_MOST_HALVINGS):
        is_lower = ~(value_there >= value)  # written so that NaN fails too
        if not is_lower.any():
            return there, factors_there, value_there
        there[is_lower] = (there[is_lower] + here[is_lower]) / 2
        factors_there[is_lower], value_there[is_lower] = weighed(histogram, bins[is_lower], there[is_lower])
    at = np.flatnonzero(~(value_there >= value))
    if at.size:
        there[at], factors_there[at], value_there[at] = _extrapolated(
            histogram, bins[at], here[at], factors[at], value[at]
        )
    return there, factors_there, value_there


def _newton(histogram: ReportHistogram, bins: IntArray, here: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the shares that maximize the quadratic that the log-likelihood is here."""
    k = here.shape[1]
    bend = np.empty((len(bins), k, k))
    n_entries = int((histogram.starts[bins + 1] - histogram.starts[bins]).sum())
    likelihood_kernels(n_entries * k).curve(
        histogram.supports,
        histogram.which,
        histogram.counts,
        histogram.starts,
        bins,
        histogram.odds - 1,
        here,
        bend,
    )
    # cells that no report tells apart leave it flat
    bend += (_RIDGE * np.trace(bend, axis1=1, axis2=2) / k)[:, None, None] * np.eye(k)
    gradient = histogram.reports[bins][:, None] * (factors - 1)
    is_free = (here > _NOTHING) | (factors > 1)
    there = np.where(is_free, here, 0.0)
    at = np.arange(len(bins))
    for _ in range(k):
        there[at] = _solved(bend[at], gradient[at], here[at], is_free[at])
        is_free[at] &= there[at] >= 0
        at = at[(there[at] < 0).any(axis=1)]
        if not at.size:
            break
    there = np.maximum(there, 0.0)
    there /= there.sum(axis=1, keepdims=True)
    return there


def _solved(bend: FloatArray, gradient: FloatArray, here: FloatArray, is_free: NDArray[np.bool_]) -> FloatArray:
    """Return the best shares of sum 1 where only free cells may differ from zero, even if some are negative."""
    n_bins, k = here.shape
    fixed = np.where(is_free, 0.0, -here)
    system = np.zeros((n_bins, k + 1, k + 1))
    system[:, :k, :k] = (
        np.where(is_free[:, :, None] & is_free[:, None, :], bend, 0.0) + np.eye(k) * ~is_free[:, :, None]
    )
    system[:, :k, k] = system[:, k, :k] = is_free
    pulled = np.where(is_free, gradient - np.einsum("tab,tb->ta", bend, fixed), 0.0)
    right = np.concatenate([pulled, -fixed.sum(axis=1, keepdims=True)], axis=1)
    change = np.linalg.solve(system, right[:, :, None])[:, :k, 0]
    return np.where(is_free, here + change, 0.0)


def weighed(histogram: ReportHistogram, bins: IntArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the factors m of the shares of some bins, and their log-likelihoods."""
    factors, values = np.empty(shares.shape), np.empty(len(bins))
    n_entries = int((histogram.starts[bins + 1] - histogram.starts[bins]).sum())
    likelihood_kernels(n_entries * histogram.n_cells).weigh(
        histogram.supports,
        histogram.which,
        histogram.counts,
        histogram.starts,
        bins,
        histogram.odds - 1,
        shares,
        factors,
        values,
    )
    return factors, values


def _extrapolated(
    histogram: ReportHistogram, bins: IntArray, here: FloatArray, factors: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Take two steps of expectation maximization, and a leap along them where that leads higher."""
    here = np.maximum(here, _LEAST_SHARE)
    first = np.maximum(here * factors, _LEAST_SHARE)
    factors_first, _ = weighed(histogram, bins, first)
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
    factors_leap, value_leap = weighed(histogram, bins, leap)
    is_lower = ~(value_leap >= value)
    if is_lower.any():
        leap[is_lower] = second[is_lower]
        factors_leap, value_leap = weighed(histogram, bins, leap)
    return leap, factors_leap, value_leap


def _leap(here: FloatArray, way: FloatArray, bend: FloatArray, length: FloatArray) -> FloatArray:
    leap: FloatArray = here + 2 * length * way + length**2 * bend
    return leap
