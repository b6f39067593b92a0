"""The noise of a frequency oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import numbers, pack_array, packed, sizes_of, texts, whole_numbers
from tacit._base.reading import MOST_REPORTS
from tacit._base.validation import check_share
from tacit.counts.exact_intervals import (
    LARGEST_LISTED,
    count_limits,
    normal_quantile,
    smallest_variance_for_series,
)
from tacit.counts.noise.model import LinearMap, Noise, evened
from tacit.counts.oracle_distributions import SupportDistribution, TwoCoins, distribution_from_dict
from tacit.domain import AXES, Grouping, Layout, sum_groups
from tacit.domain.layout import listed

# as LARGEST_LISTED in exact_intervals: below, the normal distribution is not trusted. Doubled, sums of 256 to 511
# reports get Chebyshev's intervals, 2.3 times as wide at 95 %
_FEW_REPORTS: Final = 256


@dataclass(frozen=True, eq=False)
class OracleNoise(Noise):
    r"""The noise of a frequency oracle: reports of each public bin, independent of one another.

    .. math:: \mathrm{Var} = \sum_t \sum_u n_{tu} V_u(w_t)

    with the distribution's variance :math:`V_u` of one report of true cell u. ``reports`` is the public number of
    reports in every public bin. ``counts`` (public bins x private cells) are the estimated counts, projected onto what
    counts can be; they stand in for n where the distribution needs them. Where a sum of cells is a number of coin
    flips, or of numbers of two distributions, the interval is exact (:mod:`tacit.counts.exact_intervals`); other
    questions have the normal one, or Chebyshev's where reports are few.
    """

    distribution: SupportDistribution
    reports: IntArray
    layout: Layout
    counts: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.layout.shape

    @cached_property
    def _gap(self) -> float:
        return float(self.distribution.p - self.distribution.q)

    @cached_property
    def _cell_variances(self) -> FloatArray:
        p, q = float(self.distribution.p), float(self.distribution.q)
        variances = np.repeat(self.reports[:, None] * (q * (1 - q)), self.distribution.n_cells, axis=1)
        if self.counts is not None:
            variances = variances + self.counts * (p * (1 - p) - q * (1 - q))
        return variances / self._gap**2

    def variance(self, weights: FloatArray) -> float:
        rows = self.layout.rows(weights)
        asked = rows.any(axis=1)  # to sort thousands of rows that are not asked for takes longer than the answer
        questions, which = np.unique(rows[asked], axis=0, return_inverse=True)
        which = which.ravel()
        n_reports = np.bincount(which, weights=self.reports[asked], minlength=len(questions))
        total = 0.0
        for number, question in enumerate(questions):
            per_report = self.distribution.variances(question)
            if self.counts is None:
                total += float(n_reports[number] * per_report[0])
            else:
                total += float(self.counts[asked][which == number].sum(axis=0) @ per_report)
        return total

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        rows = self.layout.rows(weights)
        asked = self.reports * rows.any(axis=1)
        if not np.isin(rows, (0.0, 1.0)).all():
            margin = float(self._margin(self.variance(weights), self._worst_variance(rows), asked.sum(), level))
            return value - margin, value + margin
        limits = self._limits_by_coins(value, rows, level) or self._limits_by_distributions(value, rows, level)
        if limits is not None:
            return limits
        margin = float(self._margin(self.variance(weights), self._worst_variance(rows), asked.sum(), level))
        largest = float(asked.sum())
        return min(max(value - margin, 0.0), largest), min(max(value + margin, 0.0), largest)

    def standard_errors(self) -> FloatArray:
        variances: FloatArray = self.layout.cells(self._cell_variances)
        return np.sqrt(variances)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        reports = self.layout.cells(np.repeat(self.reports[:, None], self.distribution.n_cells, axis=1))
        one = self.distribution.coins(1)
        assert one is not None
        return self._limits(values, reports.astype(np.float64), reports, reports, one, level)

    def coarsen(self, grouping: Grouping) -> Noise:
        public, private = self.layout.groups(grouping)
        if not np.array_equal(private, np.arange(self.distribution.n_cells)):
            return LinearMap(self, grouping)
        # sums over public bins alone are again reports through the same coins
        layout = self.layout.coarsened(grouping)
        reports = sum_groups(self.reports, public, n_groups=layout.n_public)
        counts = None if self.counts is None else sum_groups(self.counts, public, n_groups=layout.n_public)
        return OracleNoise(self.distribution, reports, layout, counts)

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        """Return standard errors of sums of our cells."""
        (public, private), target = self.layout.groups(grouping), self.layout.coarsened(grouping)
        n_public, n_private = target.n_public, target.n_private
        reports = sum_groups(self.reports, public, n_groups=n_public)
        counts = None if self.counts is None else sum_groups(self.counts, public, n_groups=n_public)
        variances = np.empty((n_public, n_private))
        for group in range(n_private):
            per_report = self.distribution.variances((private == group).astype(np.float64))
            variances[:, group] = reports * per_report[0] if counts is None else counts @ per_report
        cells: FloatArray = target.cells(variances)
        return np.sqrt(cells)

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits for sums of our cells, all at once."""
        (public, private), target = self.layout.groups(grouping), self.layout.coarsened(grouping)
        rows = target.rows(values)
        in_bins = sum_groups(self.reports, public, n_groups=len(rows))
        errors = target.rows(self.sum_errors(grouping))
        lower, upper = np.empty(rows.shape), np.empty(rows.shape)
        n_cells = np.bincount(private, minlength=rows.shape[1])
        for size in np.unique(n_cells).tolist():  # sums of as many cells share what is listed of their distribution
            groups = np.flatnonzero(n_cells == size)
            found, reports = rows[:, groups], np.repeat(in_bins[:, None], len(groups), axis=1)
            coins, distributions = self.distribution.coins(size), self.distribution.sum_distributions(size)
            if coins is not None:
                supports = (reports * size).astype(np.float64)
                limits = self._limits(found, supports, reports * coins.flips, reports, coins, level)
            elif size == self.distribution.n_cells and distributions is not None:
                limits = reports, reports  # as many cells are named whatever is true
            elif distributions is not None:
                limits = distributions.limits(self._supports(found, reports * size), reports, level=level)
            else:
                per_report = [
                    self.distribution.variances((private == group).astype(np.float64)).max() for group in groups
                ]
                margin = self._margin(errors[:, groups] ** 2, reports * per_report, reports, level)
                limits = np.clip(found - margin, 0.0, reports), np.clip(found + margin, 0.0, reports)
            lower[:, groups], upper[:, groups] = limits
        return target.cells(lower), target.cells(upper)

    def forget(self, cells: BoolArray) -> Noise:
        if self.counts is None:
            return self
        return replace(self, counts=evened(self.counts, self.layout.rows(cells)))

    def through(self, oracle: Callable[[int], SupportDistribution]) -> Noise | None:
        other = oracle(self.distribution.n_cells)
        return replace(self, distribution=other, counts=self.counts if other.needs_counts else None)

    def of_reports(self) -> OracleNoise | None:
        return self

    def browser_model(self, level: float) -> dict[str, Any] | None:
        distribution = self.distribution.browser_model()
        if distribution is None:
            return None
        return {
            "kind": "oracle",
            "distribution": distribution,
            "sizes": list(self.layout.sizes),
            "private": [axis in self.layout.private for axis in AXES],
            "reports": pack_array(self.reports),
            # variances are shown to a few digits at most
            "counts": None if self.counts is None else pack_array(self.counts.astype(np.float32)),
            "normal": normal_quantile(level),
            "few": _FEW_REPORTS,
            "listed": LARGEST_LISTED,
            "series_variance": smallest_variance_for_series((1 - level) / 2),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "oracle",
            "distribution": self.distribution.to_dict(),
            "shape": listed(self.layout.sizes),
            "private": list(self.layout.private),
            "reports": pack_array(self.reports),
            "counts": packed(self.counts),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> OracleNoise:
        distribution = distribution_from_dict(content["distribution"])
        layout = Layout.of_file(texts(content, "private"), sizes_of(content))
        rows = layout.n_public
        if distribution.n_cells != layout.n_private:
            raise ValueError("cells")
        reports = whole_numbers(content, "reports", shape=(rows,))
        if reports.sum(dtype=np.float64) > MOST_REPORTS:
            raise ValueError("reports")
        is_known = content["counts"] is not None
        counts = numbers(content, "counts", shape=(rows, distribution.n_cells), least=0) if is_known else None
        return cls(distribution, reports, layout, counts)

    def _worst_variance(self, rows: FloatArray) -> float:
        """Return the variance of a question if every report were of the cell that errs most."""
        questions, which = np.unique(rows, axis=0, return_inverse=True)
        n_reports = np.bincount(which.ravel(), weights=self.reports, minlength=len(questions))
        return float(
            sum(
                n * self.distribution.variances(question).max()
                for n, question in zip(n_reports, questions, strict=True)
            )
        )

    def _margin(self, variance: Any, worst: Any, n_reports: Any, level: float) -> Any:
        """Return how far an answer that is no number of coin flips may be from the truth.

        Of many reports, by the normal distribution. Of few, by Chebyshev's inequality with the largest variance there
        can be: wide, but it covers what it says.
        """
        return np.where(
            np.asarray(n_reports) < _FEW_REPORTS,
            np.sqrt(np.asarray(worst) / (1 - level)),
            normal_quantile(level) * np.sqrt(variance),
        )

    def _limits_by_coins(self, value: float, rows: FloatArray, level: float) -> tuple[float, float] | None:
        """Return exact limits of a sum of cells that is a number of flips of the same two coins in every public bin."""
        sizes = sorted(set(rows.sum(axis=1).tolist()) - {0})  # np.unique would load numpy.ma for one question
        coins = [self.distribution.coins(int(size)) for size in sizes]
        if not coins or None in coins or len({(c.inside, c.outside) for c in coins if c is not None}) > 1:
            return None
        one = coins[0]
        assert one is not None
        asked = self.reports * rows.any(axis=1)
        supports = np.array([float((rows * self.reports[:, None]).sum())])
        # each coin's flips for a report are in proportion to the cells it sums, or one for any number of them
        flips = supports.astype(np.int64) if one.flips == sizes[0] else np.array([asked.sum()])
        lower, upper = self._limits(np.array([value]), supports, flips, np.array([asked.sum()]), one, level)
        return float(lower[0]), float(upper[0])

    def _limits_by_distributions(self, value: float, rows: FloatArray, level: float) -> tuple[float, float] | None:
        """Return exact limits of a sum of cells in every public bin, where a report's part has a known distribution.

        Public bins asked about in full are known, and set aside.
        """
        sizes = rows.sum(axis=1).astype(np.int64)
        is_full = sizes == self.distribution.n_cells
        known = int(self.reports[is_full].sum())
        partial = np.unique(sizes[~is_full & (sizes > 0)])
        distributions = [self.distribution.sum_distributions(int(size)) for size in partial] or [
            self.distribution.sum_distributions(self.distribution.n_cells)
        ]
        if len(distributions) > 1 or distributions[0] is None:
            return None
        if not len(partial):
            return float(known), float(known)
        reports = np.array([self.reports[sizes == partial[0]].sum()])
        lower, upper = distributions[0].limits(
            self._supports(np.array([value - known]), reports * partial[0]), reports, level=level
        )
        return known + float(lower[0]), known + float(upper[0])

    def _supports(self, values: FloatArray, pairs: Any) -> IntArray:
        """Return how often cells were supported, by estimates; ``pairs`` are the (report, cell) pairs in each sum."""
        supports: IntArray = np.rint(values * self._gap + pairs * float(self.distribution.q)).astype(np.int64)
        return supports

    def _limits(
        self,
        values: FloatArray,
        supports: FloatArray,
        flips: IntArray,
        largest: IntArray,
        coins: TwoCoins,
        level: float,
    ) -> tuple[FloatArray, FloatArray]:
        """Return limits of sums, given the number of (report, cell) pairs in each."""
        heads = self._supports(values, supports)
        return count_limits(heads, flips, largest, p=float(coins.inside), q=float(coins.outside), level=level)
