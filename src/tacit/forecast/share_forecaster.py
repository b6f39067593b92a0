"""The default forecaster: a forecast of the total, dealt out to places by filtered shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_at_least
from tacit.errors import DataError, PlanMismatch, SettingError
from tacit.forecast.ahead import Ahead
from tacit.forecast.covariates import Covariates
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.forecast.gaps import gaps, leading_zeros
from tacit.forecast.history import check_origins, series_of_state, series_state
from tacit.forecast.laws import CountLaw
from tacit.forecast.seasons import season_length
from tacit.forecast.settings import Settings
from tacit.forecast.shares import ShareModel, Shares
from tacit.forecast.spread_forecaster import coming
from tacit.forecast.totals import Followed, TotalModel, Totals
from tacit.postprocess.smoothing.measured import Measured
from tacit.series import Series

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_BURST_SCORE: Final = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    series: Series
    covariates: Covariates | None
    totals: TotalModel
    shares: ShareModel | None
    n_gaps: int


class ShareForecaster(Settings):
    r"""What is expected of a place is what is expected of all of them, times its share,

    .. math:: \mu_r = \hat T s_r, \qquad \operatorname{Var} = \mu_r + \hat T^2 \{ s_r^2 (\phi + e^V - 1)
              + \operatorname{Var} s_r + \omega s_r (1 - s_r) \},

    with the variance V of the log of the total's rate, its overdispersion :math:`\phi`, the filter's variance of the
    share and the overdispersion :math:`\omega` of places. The noise of the mechanism enters as what it is, variance of
    what is measured: a noisy bin counts for less, and no count is ever clipped.

    ``prior`` names the population of each place, or anything else public that shares are about in proportion to: it
    helps where noise hides small places.

    Reference: Harvey1990; Durbin2012.
    """

    name = "total x share"

    def __init__(self, prior: Mapping[str, float] | None = None) -> None:
        self.prior = prior
        self._learned: _Learned | None = None

    def fit(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Learn from all bins of a series."""
        sizes = self._sizes(series)
        if covariates is not None:
            covariates.check_starts_with(series.domain)
        world = _World.of(series, covariates, len(series))
        if np.isfinite(world.totals.errors).sum() < 2:
            raise DataError("a forecast needs at least 2 time bins with counts; this series has fewer. Wait for more.")
        totals = TotalModel.learned(world.totals)
        shares = None
        if len(series.places) > 1:
            known, bursts = world.measured(totals, totals.follow(world.totals, np.empty(0, np.int64)))
            shares = ShareModel.learned(known, series.domain.time, bursts, sizes)
        self._learned = _Learned(series, covariates, totals, shares, int(world.gaps.sum()))
        return self

    def predict(self, horizon: int = 1) -> Forecast:
        """Say what to expect in the ``horizon`` bins after the series it was fitted on."""
        check_at_least(1, horizon=horizon)
        learned = self._fitted()
        series = learned.series
        expected = _expected(learned, series, np.array([len(series)]), horizon)
        counts, totals = expected.laws()
        sums, total_sum = expected.sum_laws()
        return Forecast(
            domain=coming(series.domain, horizon),
            counts=CountLaw(counts.means[0], counts.variances[0]),
            totals=CountLaw(totals.means[0], totals.variances[0]),
            sums=sums,
            total_sum=total_sum,
            forecaster=self.name,
            origin=series.origin,
            is_simulation=series.is_simulation,
            notes=_notes(learned, horizon),
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
        back = np.argsort(order, kind="stable")
        counts, totals = _expected(learned, series, origins[order], horizon).laws()
        return Forecasts(
            origins,
            CountLaw(counts.means[back], counts.variances[back]),
            CountLaw(totals.means[back], totals.variances[back]),
        )

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


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """A series as the models see it: totals with their noise, bins of which nothing is known left out."""

    series: Series
    totals: Totals
    gaps: BoolArray

    @classmethod
    def of(cls, series: Series, covariates: Covariates | None, n_learned: int) -> _World:
        time, n_times = series.domain.time, len(series)
        seen = ~series.missing
        for bin in (0, n_times - 1):
            seen[bin] &= not time.is_partial(bin)
        counts = np.asarray(series.totals, np.float64)
        found = np.zeros(n_times, bool)
        if series.has_public_totals:
            season = season_length(time.step)
            shortest = max(3, season // 7) if season % 7 == 0 else 3
            found = gaps(counts, seen, season, shortest=shortest)
            found[:n_learned] |= leading_zeros(counts[:n_learned], seen[:n_learned], season)
            seen &= ~found
        errors = np.where(seen, series.total_variances, np.inf)
        return cls(series, Totals(time, counts, errors, covariates), found)

    def measured(self, model: TotalModel, followed: Followed) -> tuple[Measured, FloatArray]:
        """What is known of shares, and the part of each total that is out of the ordinary."""
        totals, known = self.totals, self.series.measured
        seen = np.isfinite(totals.errors)
        rates = np.exp(followed.logs)
        own = rates + (model.habits.overdispersion + followed.variances) * np.square(rates)
        exposures = np.where(seen, known.exposures, 0.0)
        if not self.series.has_public_totals:
            gains = own / (own + np.where(seen, totals.errors, np.inf))
            exposures = np.where(seen, np.maximum(rates + gains * (totals.counts - rates), 0.1 * rates), 0.0)
            units = self.series.variances / np.where(seen, exposures, 1.0)[:, None]
            known = replace(
                known, unit_errors=units, slopes=np.zeros((1, units.shape[1])), is_shared=True, cancels=False
            )
        excess = exposures - rates - _BURST_SCORE * np.sqrt(own)
        bursts = np.divide(np.maximum(excess, 0.0), exposures, out=np.zeros(len(rates)), where=exposures > 0)
        return replace(known, exposures=exposures, counts=np.where(seen[:, None], known.counts, 0.0)), bursts


@dataclass(frozen=True, slots=True, eq=False)
class _Expected:
    """Total and shares after origins, on the way to laws."""

    total: Ahead
    shares: Shares | None
    overdispersion: float
    of_places: float

    def laws(self) -> tuple[CountLaw, CountLaw]:
        """Of the counts of places (origins x horizon x places), and of totals (origins x horizon)."""
        variances = self.total.variances()
        means = np.exp(self.total.means() + variances / 2)
        relative = self.overdispersion + np.expm1(variances)
        totals = CountLaw(means, means + relative * np.square(means))
        if self.shares is None:
            return CountLaw(totals.means[..., None], totals.variances[..., None]), totals
        share = self.shares.means
        counts = means[..., None] * share
        relative_to_total = (
            relative[..., None] * np.square(share) + self.shares.variances + self.of_places * share * (1 - share)
        )
        return CountLaw(counts, counts + np.square(means)[..., None] * relative_to_total), totals

    def sum_laws(self) -> tuple[CountLaw, CountLaw]:
        """Of sums over the horizon at a single origin: of places, and of all."""
        counts, totals = self.laws()
        expected, variances = totals.means, self.total.variances()
        single = totals.variances - np.expm1(variances) * np.square(expected)
        all_variance = single.sum(axis=1) + self.total.sum_variances(expected)
        total = CountLaw(expected.sum(axis=1), all_variance)
        if self.shares is None:
            return total, total
        share = self.shares.means[0]
        chance = counts.means[0] + np.square(expected[0])[:, None] * (
            self.overdispersion * np.square(share) + self.of_places * share * (1 - share)
        )
        of_total = np.concatenate(
            [self.total.sum_variances(counts.means[..., place]) for place in range(share.shape[1])]
        )
        of_share = self.shares.sum_variances(expected)[0]
        return CountLaw(counts.means[0].sum(axis=0), chance.sum(axis=0) + of_total + of_share), total


def _expected(learned: _Learned, series: Series, origins: IntArray, horizon: int) -> _Expected:
    n_known = int(origins.max())
    world = _World.of(series.until(n_known), learned.covariates, len(learned.series))
    model = learned.totals
    followed = model.follow(world.totals, origins)
    total = model.ahead(world.totals, followed, origins, horizon)
    if learned.shares is None:
        return _Expected(total, None, model.overdispersion, 0.0)
    known, bursts = world.measured(model, followed)
    shares = learned.shares.foresee(known, series.domain.time, bursts, origins, horizon)
    return _Expected(total, shares, model.overdispersion, learned.shares.variability.overdispersion)


def _notes(learned: _Learned, horizon: int) -> tuple[str, ...]:
    notes = []
    step, n_missing = learned.series.domain.time.step, int(learned.series.missing.sum())
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
