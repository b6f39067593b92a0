r"""The default forecaster: a forecast of the total, disaggregated to places by filtered shares.

With the expected total T, the shares s of places, the variance V of the log of the total's rate, its overdispersion
:math:`\phi` and that of places :math:`\omega`, counts have

.. math:: \mu_r = \hat T s_r, \qquad \operatorname{Var} = \mu_r + \hat T^2 \{ s_r^2 k (\phi + e^V - 1)
          + \operatorname{Var} s_r + \omega s_r (1 - s_r) \},

where the inflation k is learned from forecasts of the past.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.languages import stored
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.errors import DataError, SettingError
from tacit.forecast.forecast import Forecasts
from tacit.forecast.forecaster import Forecaster, Kept, bin_in_words, bins_in_words, gap_notes
from tacit.forecast.past import FEWEST_BINS, share_observations, without_gaps
from tacit.statespace.covariates import Covariates
from tacit.statespace.passes import Ahead
from tacit.statespace.settings import SETTINGS
from tacit.statespace.shares import ShareModel, Shares, Weights
from tacit.statespace.totals import FilteredRates, TotalModel

_MOST_STATES: Final = 1 << 17  # of places at origins, filtered together: 200 MB of covariances
_NOTES: Final = (
    (
        partial(stored, "%(steps)s is little to learn from: how much periods vary is what is usual elsewhere"),
        partial(stored, "%(steps)s are little to learn from: how much they vary is what is usual elsewhere"),
    ),
    (
        partial(stored, "%(steps)s without any event was taken for a gap: the level around says so"),
        partial(stored, "%(steps)s without any event were taken for a gap: the level around says so"),
    ),
    (
        partial(stored, "%(steps)s is missing and was left out"),
        partial(stored, "%(steps)s are missing and were left out"),
    ),
)
_CUT: Final = partial(stored, "the first %(step)s was counted in part only, and was left out")
_UNKNOWN: Final = partial(stored, "%(name)s is unknown for %(n)s of %(steps)s ahead, and taken as usual there")


_Filtered = tuple[Series, FilteredRates, Weights | None]
"""A series without untold gaps, and its filtered rates and weights at origins."""


class ShareForecaster(Forecaster):
    """Expects of a place what is expected of all of them, times its share.

    The total is filtered by a model of its rate (:mod:`tacit.statespace.totals`), shares by one of their own
    (:mod:`tacit.statespace.shares`). The noise of the mechanism enters as what it is, variance of what is
    measured: a noisy bin counts for less, and no count is ever clipped.

    ``prior`` names the population of each place, or anything else public that shares are about in proportion to: it
    helps where noise hides small places.

    Reference: Harvey1990; Durbin2012.
    """

    name = "total x share"
    kept: ClassVar[Kept] = {"totals": TotalModel, "shares": ShareModel, "n_learned": int, "n_gaps": int}

    def __init__(self, prior: Mapping[str, float] | None = None) -> None:
        self.prior = prior
        self._at_end: tuple[Series, Covariates | None, _Filtered] | None = None

    def _learn(self, series: Series, covariates: Covariates | None) -> None:
        sizes = self._sizes(series)
        past = without_gaps(series, len(series))
        if past.observed[:, -1].sum() < FEWEST_BINS:
            raise DataError(
                f"{self.name} needs at least {FEWEST_BINS} time bins that were counted, in all places unless totals "
                "are public; this series has fewer."
            )
        self._totals = TotalModel.learned(past, covariates)
        self._shares: ShareModel | None = None
        if len(series.columns) > 1:
            rates = self._totals.filter(past, covariates, np.empty(0, np.int64))
            known, excess = share_observations(past, self._totals, rates)
            self._shares = ShareModel.learned(known, series.domain.time, excess, sizes)
        self._n_gaps = int((series.counted & ~past.counted).sum())
        self._n_learned, self._at_end = len(series), None

    def _forecasts(self, series: Series, origins: IntArray, horizon: int) -> Forecasts:
        order = np.argsort(origins, kind="stable")
        at_once = max(_MOST_STATES // len(series.columns), 1)
        blocks = np.array_split(origins[order], -(-len(origins) // at_once))
        parts = [self._distributions(*self._ahead(series, block, horizon)) for block in blocks]
        return Forecasts(origins, CountDistribution.joined(parts)[np.argsort(order, kind="stable")])

    def _distributions(self, total: Ahead, shares: Shares | None, inflation: FloatArray) -> CountDistribution:
        """Return those of the counts of places and, last, of totals: origins x horizon x (places and all)."""
        variances, (of_total, of_places) = total.variances(), self._overdispersions
        means = np.exp(total.means() + variances / 2)
        relative = inflation * (of_total + np.expm1(variances))
        totals = CountDistribution(means, means + relative * np.square(means))[..., None]
        if shares is None:
            return CountDistribution.joined([totals, totals], axis=-1)
        share = shares.means
        relative_to_total = relative[..., None] * np.square(share) + shares.variances + of_places * share * (1 - share)
        counts = means[..., None] * share
        each = CountDistribution(counts, counts + np.square(means)[..., None] * relative_to_total)
        return CountDistribution.joined([each, totals], axis=-1)

    def _sums(self, series: Series, made: Forecasts) -> CountDistribution:
        total, shares, inflation = self._ahead(series, made.origins, made.each.means.shape[1])
        (own, of_places), largest = self._overdispersions, float(inflation.max())
        expected, means = np.ascontiguousarray(made.totals.means), made.counts.means[0]
        alone = expected + largest * own * np.square(expected)
        in_all = CountDistribution(expected.sum(axis=1), alone.sum(axis=1) + largest * total.sum_variances(expected))
        if shares is None:
            return CountDistribution.joined([in_all, in_all])
        share = shares.means[0]
        spread = largest * own * np.square(share) + of_places * share * (1 - share)
        chance = means + np.square(expected[0])[:, None] * spread
        of_total = largest * total.sum_variances(np.ascontiguousarray(means.T))
        variances = chance.sum(axis=0) + of_total + shares.sum_variances(expected)[0]
        return CountDistribution.joined([CountDistribution(means.T.sum(axis=1), variances), in_all])

    @property
    def _overdispersions(self) -> tuple[float, float]:
        """The overdispersion of totals, and that of places."""
        own, shares = self._totals.hyperparameters.overdispersion, self._shares
        return own, 0.0 if shares is None else shares.hyperparameters.overdispersion

    def _filtered(self, series: Series, origins: IntArray) -> _Filtered:
        """Return what is known at origins (ascending) of a series; at the end of the forecaster's own it is kept."""
        is_end, kept = series is self._series and origins.tolist() == [len(series)], self._at_end
        if is_end and kept is not None and kept[0] is series and kept[1] is self._covariates:
            return kept[2]
        past = without_gaps(series.until(int(origins[-1])), self._n_learned)
        rates = self._totals.filter(past, self._covariates, origins)
        weights = None
        if self._shares is not None:
            known, excess = share_observations(past, self._totals, rates)
            weights = self._shares.filter(known, excess, series.domain.time, origins)
        if is_end:
            self._at_end = series, self._covariates, (past, rates, weights)
        return past, rates, weights

    def _ahead(self, series: Series, origins: IntArray, horizon: int) -> tuple[Ahead, Shares | None, FloatArray]:
        """Return total and shares after origins, and multiples of the total's relative variance (origins x horizon)."""
        time, (past, rates, weights) = series.domain.time, self._filtered(series, origins)
        total = self._totals.predict(time, self._covariates, rates, origins, horizon)
        known = self._shares
        shares = None if known is None or weights is None else known.predict(weights, time, horizon)
        leads = past.since_counted(origins)[:, None] + np.arange(1.0, horizon + 1)
        return total, shares, self._totals.inflation_at(time.step, leads)

    def _sizes(self, series: Series) -> FloatArray | None:
        """Return the prior's numbers in the order of the columns: each kind of a place has that of the place."""
        if self.prior is None:
            return None
        places = series.domain.place.cells
        absent = [place for place in places if not self.prior.get(place, 0) > 0]
        if absent:
            raise SettingError(
                f"prior must have a number above 0 for every place; {len(absent)} of {len(places)} have none, "
                f"the first is {absent[0]}. Give all of them, or no prior."
            )
        return np.repeat([float(self.prior[place]) for place in places], series.domain.n_kinds)

    def _notes(self, series: Series, horizon: int) -> tuple[str, ...]:
        step, n_missing = series.domain.time.step, int((~series.counted).sum())
        end = np.array([len(series)])
        notes = list(gap_notes(int(self._filtered(series, end)[0].since_counted(end)[0]), step))
        n_counted = len(series) - n_missing - self._n_gaps
        is_cut = series.domain.time.is_partial(0) and not series.counted[0]
        numbers = n_counted if n_counted < SETTINGS.totals.fewest_bins else 0, self._n_gaps, n_missing - is_cut
        found = zip(numbers, _NOTES, strict=True)
        notes += [note[n > 1](steps=bins_in_words(n, step)) for n, note in found if n]
        notes += [_CUT(step=bin_in_words(step))] if is_cut else []
        if self._covariates is not None:
            notes += self._covariates.notes
            for name, column in self._covariates.rows(len(series), len(series) + horizon).items():
                if n_unknown := int(np.isnan(column).any(axis=tuple(range(1, column.ndim))).sum()):
                    notes.append(_UNKNOWN(name=name, n=n_unknown, steps=bins_in_words(horizon, step)))
        return tuple(notes)
