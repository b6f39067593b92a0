r"""The most likely counts, given the reports themselves: maximum likelihood over what counts can be.

Every report y of a support-type oracle says of each cell v whether it supports it, and

.. math:: L(y \mid v) \propto 1 + (e^\epsilon - 1)\, 1[v \text{ supported by } y],

so one algorithm serves all of them. With the shares :math:`\pi` of a public bin and :math:`z_y = \sum_v \pi_v L(y|v)`,
the log-likelihood :math:`\sum_y n_y \ln z_y` is concave. Expectation maximization multiplies each share by

.. math:: m_v = \frac1N \sum_y n_y \frac{L(y \mid v)}{z_y}, \qquad \sum_v \pi_v m_v = 1,

and the largest m bounds what is still missing: no shares whatever have a log-likelihood that is larger by more than
:math:`N (\max_v m_v - 1)` (the duality gap). At the maximum :math:`m_v = 1` where :math:`\pi_v > 0` and
:math:`m_v \le 1` elsewhere. Plain steps need thousands of rounds at a small epsilon, so most rounds are
Newton's or extrapolate (:mod:`tacit.postprocess.likelihood_steps`); whatever they do, the gap is what ends them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.languages import stored
from tacit._base.validation import check_at_least, check_positive
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.provenance import Provenance
from tacit.errors import SettingError
from tacit.postprocess.likelihood_steps import climbed, weighed
from tacit.postprocess.norm_sub import cells_of_rows, rows_with_totals

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
