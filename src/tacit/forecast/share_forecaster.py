"""The default forecaster: a forecast of the total, dealt out to places by filtered shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.count_law import CountLaw
from tacit.counts.series import Series
from tacit.errors import DataError, PlanMismatch, SettingError
from tacit.forecast.dealt import Dealt
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.forecast.history import check_origins, series_of_state, series_state
from tacit.forecast.seen import Seen
from tacit.forecast.settings import Settings
from tacit.forecast.spread_forecaster import coming, gap_notes
from tacit.statespace.covariates import Covariates
from tacit.statespace.share_model import ShareModel, Weights
from tacit.statespace.totals import FEWEST_BINS, Followed, TotalModel, Totals

_FEWEST_BINS: Final = 2
_MOST_STATES: Final = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What filters knew at origins, ascending."""

    origins: IntArray
    totals: Totals
    rates: Followed
    weights: Weights | None


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    series: Series
    covariates: Covariates | None
    totals: TotalModel
    shares: ShareModel | None
    n_gaps: int

    def known(self, series: Series, origins: IntArray) -> _Known:
        """Go through a series up to the last origin."""
        seen = Seen.of(series.until(int(origins[-1])), self.covariates, len(self.series))
        rates = self.totals.follow(seen.totals, origins)
        if self.shares is None:
            return _Known(origins, seen.totals, rates, None)
        weights = self.shares.follow(*seen.measured(self.totals, rates), series.domain.time, origins)
        return _Known(origins, seen.totals, rates, weights)

    def dealt(self, known: _Known, horizon: int) -> Dealt:
        """What is expected from each origin on."""
        total = self.totals.ahead(known.totals, known.rates, known.origins, horizon)
        time, own = self.series.domain.time, self.totals.habits.overdispersion
        leads = known.totals.since_seen(known.origins)[:, None] + np.arange(1.0, horizon + 1)
        excesses = self.totals.excesses(time.step, leads)
        if self.shares is None or known.weights is None:
            return Dealt(total, None, own, excesses, 0.0)
        shares = self.shares.foresee(known.weights, time, horizon)
        return Dealt(total, shares, own, excesses, self.shares.variability.overdispersion)


class ShareForecaster(Settings):
    """What is expected of a place is what is expected of all of them, times its share.

    The total is followed by a filter of its rate (:mod:`tacit.statespace.totals`), shares by one of their own
    (:mod:`tacit.statespace.share_model`); :mod:`tacit.forecast.dealt` says what that makes of the law of a count. The
    noise of the mechanism enters as what it is, variance of what is measured: a noisy bin counts for less, and no count
    is ever clipped.

    ``prior`` names the population of each place, or anything else public that shares are about in proportion to: it
    helps where noise hides small places.

    Reference: Harvey1990; Durbin2012.
    """

    name = "total x share"

    def __init__(self, prior: Mapping[str, float] | None = None) -> None:
        self.prior = prior
        self._learned: _Learned | None = None
        self._at_end: _Known | None = None

    def fit(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Learn from all bins of a series."""
        sizes = self._sizes(series)
        if covariates is not None:
            covariates.check_starts_with(series.domain)
        seen = Seen.of(series, covariates, len(series))
        if np.isfinite(seen.totals.errors).sum() < _FEWEST_BINS:
            raise DataError(
                f"{self.name} needs at least {_FEWEST_BINS} time bins that were counted; this series has fewer."
            )
        totals = TotalModel.learned(seen.totals)
        shares = None
        if len(series.places) > 1:
            known, bursts = seen.measured(totals, totals.follow(seen.totals, np.empty(0, np.int64)))
            shares = ShareModel.learned(known, series.domain.time, bursts, sizes)
        learned = _Learned(series, covariates, totals, shares, int(seen.gaps.sum()))
        self._learned, self._at_end = learned, learned.known(series, np.array([len(series)]))
        return self

    def predict(self, horizon: int = 1) -> Forecast:
        """Say what to expect in the ``horizon`` bins after the series it was fitted on."""
        check_at_least(1, horizon=horizon)
        learned = self._fitted()
        series = learned.series
        if self._at_end is None:
            self._at_end = learned.known(series, np.array([len(series)]))
        dealt = learned.dealt(self._at_end, horizon)
        counts, totals = dealt.laws()
        sums, total_sum = dealt.sum_distributions()
        return Forecast(
            domain=coming(series.domain, horizon),
            counts=CountLaw(counts.means[0], counts.variances[0]),
            totals=CountLaw(totals.means[0], totals.variances[0]),
            sums=sums,
            total_sum=total_sum,
            forecaster=self.name,
            origin=series.origin,
            is_simulation=series.is_simulation,
            notes=_notes(learned, horizon, int(self._at_end.totals.since_seen(self._at_end.origins)[0])),
        )

    def predict_from(self, series: Series, origins: IntArray, horizon: int = 1) -> Forecasts:
        """Say, at each origin, what to expect from there on, with what was learned and the bins before that origin."""
        check_at_least(1, horizon=horizon)
        learned = self._fitted()
        if series.places != learned.series.places or (
            series.domain.time.without_end() != learned.series.domain.time.without_end()
        ):
            raise PlanMismatch(
                f"{self.name} was fitted on other places or times than those of this series. Fit it on this series."
            )
        origins = check_origins(origins, len(series))
        order = np.argsort(origins, kind="stable")
        at_once = max(_MOST_STATES // len(series.places), 1)
        blocks = np.array_split(origins[order], -(-len(origins) // at_once))
        laws = [learned.dealt(learned.known(series, block), horizon).laws() for block in blocks]
        back = np.argsort(order, kind="stable")
        counts, totals = (_joined([pair[which] for pair in laws], back) for which in (0, 1))
        return Forecasts(origins, counts, totals)

    def state(self) -> Mapping[str, Any]:
        """What was learned, as plain data and arrays, to be written to a file."""
        learned = self._fitted()
        covariates = learned.covariates
        return {
            "series": series_state(learned.series),
            "covariates": None if covariates is None else dict(covariates.columns),
            "covariate_bins": None if covariates is None else covariates.time.n_bins,
            "covariate_notes": None if covariates is None else list(covariates.notes),
            "totals": learned.totals.to_dict(),
            "shares": None if learned.shares is None else learned.shares.to_dict(),
            "n_gaps": learned.n_gaps,
        }

    def with_state(self, state: Mapping[str, Any]) -> Self:
        """The forecaster that learned this."""
        series = series_of_state(state["series"])
        covariates = None
        if state["covariates"] is not None:
            columns = {str(name): np.asarray(column, np.float64) for name, column in state["covariates"].items()}
            time = series.domain.time.without_end().with_end(int(state["covariate_bins"]))
            covariates = Covariates(time, columns, tuple(map(str, state["covariate_notes"])))
        shares = None if state["shares"] is None else ShareModel.from_dict(state["shares"])
        made = type(self)(**self.get_params())
        totals = TotalModel.from_dict(state["totals"])
        made._learned = _Learned(series, covariates, totals, shares, int(state["n_gaps"]))
        return made

    def _fitted(self) -> _Learned:
        if self._learned is None:
            raise SettingError(f"{self.name} must be fitted before it is asked. Call fit with a series.")
        return self._learned

    def _sizes(self, series: Series) -> FloatArray | None:
        """The prior's numbers in the order of the places."""
        if self.prior is None:
            return None
        absent = [place for place in series.places if not self.prior.get(place, 0) > 0]
        if absent:
            raise SettingError(
                f"prior must have a number above 0 for every place; {len(absent)} of {len(series.places)} have none, "
                f"the first is {absent[0]}. Give all of them, or no prior."
            )
        return np.array([float(self.prior[place]) for place in series.places])


def _joined(laws: Sequence[CountLaw], order: IntArray) -> CountLaw:
    """One law of all blocks, in this order."""
    means, variances = (np.concatenate([getattr(law, part) for law in laws]) for part in ("means", "variances"))
    return CountLaw(means[order], variances[order])


def _notes(learned: _Learned, horizon: int, n_unseen: int) -> tuple[str, ...]:
    step, n_missing = learned.series.domain.time.step, int(learned.series.missing.sum())
    notes = list(gap_notes(n_unseen, step))
    n_counted = len(learned.series) - n_missing - learned.n_gaps
    if n_counted < FEWEST_BINS:
        notes.append(f"{n_counted} {step}s are little to learn from: how much they vary is what is usual elsewhere")
    if learned.n_gaps:
        notes.append(f"{learned.n_gaps} {step}s without any event were taken for a gap: the level around says so")
    if n_missing:
        notes.append(f"{n_missing} {step}s are missing and were left out")
    if learned.covariates is not None:
        notes += learned.covariates.notes
        rows = learned.covariates.rows(len(learned.series), len(learned.series) + horizon)
        for name, column in rows.items():
            if n_unknown := int(np.isnan(column).any(axis=tuple(range(1, column.ndim))).sum()):
                notes.append(f"{name} is unknown for {n_unknown} of {horizon} {step}s ahead, and taken as usual there")
    return tuple(notes)
