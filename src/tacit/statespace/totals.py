r"""The model of totals: how many events all places have together.

The logarithm of a total's rate is a random-walk level, an AR(1) component and regressors whose coefficients change
slowly (:mod:`tacit.statespace.covariates`). Totals vary around the rate :math:`\mu` by chance and beyond it,

.. math:: \operatorname{Var} T = \mu + \omega \mu^2 + v,

with the overdispersion :math:`\omega` and the noise variance v where totals are not public. An extended Kalman filter
(``rate_states``) gives what was expected of each bin before it was observed; from that come the likelihood of
hyperparameters, and how far off forecasts are.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import compiled_kernels
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.exact_intervals import normal_quantile
from tacit.counts.series import Series
from tacit.domain import TimeAxis
from tacit.statespace.covariates import DAYS_A_YEAR, Covariates, Terms, bin_days, season_length
from tacit.statespace.model import minimize
from tacit.statespace.passes import Ahead
from tacit.statespace.settings import SETTINGS, TotalHyperparameters


@dataclass(frozen=True, slots=True, eq=False)
class FilteredRates:
    """Mean and variance of the log rate of each bin before it was observed; states and covariances at origins.

    ``counts`` are the totals that were filtered, with their noise variances: infinite where a total was not observed.
    """

    counts: FloatArray
    noise_variance: FloatArray
    logs: FloatArray
    variances: FloatArray
    states: FloatArray
    covariances: FloatArray

    def total_variances(self, overdispersion: float) -> FloatArray:
        """Return the variance of each total around its expected rate, without noise where it was not observed."""
        rates = np.exp(self.logs)
        noise = np.where(np.isfinite(self.noise_variance), self.noise_variance, 0.0)
        return np.asarray(rates + (overdispersion + self.variances) * np.square(rates) + noise, np.float64)

    def innovations(self, overdispersion: float) -> FloatArray:
        """Return how far each total was from its expected rate, in standard deviations; NaN where not observed."""
        sd = np.sqrt(self.total_variances(overdispersion))
        return np.where(np.isfinite(self.noise_variance), (self.counts - np.exp(self.logs)) / sd, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class TotalModel:
    """The model of totals, once fitted. ``start`` and ``start_variance`` are of the log rate at the beginning.

    ``inflation`` are factors of the model's own relative variance at a few horizons, learned from past forecasts.
    """

    terms: Terms
    hyperparameters: TotalHyperparameters
    start: float
    start_variance: float
    inflation: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def learned(cls, series: Series, covariates: Covariates | None) -> TotalModel:
        """Return the model fitted to the totals of all bins."""
        observed, step_days = series.totals[series.observed[:, -1]], bin_days(series.domain.time)
        n_events = max(float(observed.sum()), 0.5)
        # the first two months give the first level: their median, but no less than a fifth of their mean, and never
        # below a twentieth of the mean of all; the start variance makes up for a factor of 2 either way
        early = observed[: max(SETTINGS.totals.fewest_bins, int(60 / step_days))]
        level = max(float(np.median(early)), 0.2 * float(early.mean()), n_events / max(len(observed), 1) / 20)
        start_variance = SETTINGS.totals.start_variance + 1 / n_events
        model = cls(Terms.learned(covariates, len(series)), SETTINGS.totals.prior, float(np.log(level)), start_variance)
        if len(observed) < SETTINGS.totals.fewest_bins:
            return model
        model = replace(model, hyperparameters=_fitted(model, series, covariates))
        if specials := model._specials(series, covariates) if series.domain.time.step == "day" else ():
            model = replace(model, terms=replace(model.terms, specials=specials))
        model = replace(model, hyperparameters=_fitted(model, series, covariates))
        return replace(model, inflation=_inflation(model, series, covariates))

    def inflation_at(self, step: str, leads: FloatArray) -> FloatArray:
        """Return the factors of the model's own relative variance so many bins (1 or more) after the last observed."""
        return np.asarray(np.interp(np.log(leads), np.log(np.array(_leads(step), float)), self.inflation), np.float64)

    def filter(self, series: Series, covariates: Covariates | None, origins: IntArray) -> FilteredRates:
        """Return what was expected of the totals of all bins, and what was known at origins (ascending)."""
        time = series.domain.time
        return self._filter(time, *_observed(series), self.terms.rows(time, covariates, 0, len(series)), origins)

    def predict(
        self, time: TimeAxis, covariates: Covariates | None, rates: FilteredRates, origins: IntArray, horizon: int
    ) -> Ahead:
        """Return the log rate of the bins after each origin."""
        rows = self.terms.rows(time, covariates, 0, int(origins.max()) + horizon)
        phi, steps, _, _ = self._dynamics(time)
        return Ahead(rates.states, rates.covariances, rows[origins[:, None] + np.arange(horizon)], phi, steps)

    def _filter(
        self, time: TimeAxis, counts: FloatArray, noise_variance: FloatArray, regressors: FloatArray, origins: IntArray
    ) -> FilteredRates:
        phi, steps, state, covariance = self._dynamics(time)
        model = state, covariance, steps, phi, self.hyperparameters.overdispersion, SETTINGS.totals.largest_innovation
        found = compiled_kernels("filters").rate_states(counts, noise_variance, regressors, *model, origins)
        return FilteredRates(counts, noise_variance, *found)

    def _dynamics(self, time: TimeAxis) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return phi, the process variance of each component in a bin, and state and covariance at the start."""
        known, kinds = self.hyperparameters, self.terms.kinds(time.step)
        years, phi = bin_days(time) / DAYS_A_YEAR, float(np.exp(-bin_days(time) / known.timescale_days))
        sd = np.array([getattr(SETTINGS.totals, f"{kind}_sd") for kind in kinds])
        is_changing = np.array([kind in SETTINGS.totals.changing_kinds for kind in kinds])
        coefficients = np.square(sd * known.change_sd * is_changing) * years
        steps = np.concatenate([[known.level_sd**2 * years, known.ar_sd**2 * (1 - phi * phi)], coefficients])
        # events are proportional to the length of a month
        state = np.array([self.start, 0.0, *(float(kind == "length") for kind in kinds)])
        covariance = np.diag(np.concatenate([[self.start_variance, known.ar_sd**2], np.square(sd)]))
        return phi, steps, state, covariance

    def _specials(self, series: Series, covariates: Covariates | None) -> tuple[str, ...]:
        """Return the days of the year ("07-14") on which innovations of several years agree."""
        rates = self.filter(series, covariates, np.empty(0, np.int64))
        days = series.domain.time.without_end().starts(len(series)).astype("datetime64[D]").astype(str)
        return _special_days(days.tolist(), rates.innovations(self.hyperparameters.overdispersion))


def _special_days(days: list[str], innovations: FloatArray) -> tuple[str, ...]:
    """Return the days of the year on which innovations of several years agree; NaN where not observed."""
    settings, is_known = SETTINGS.totals, np.isfinite(innovations)
    limit = settings.special_score  # one year alone cannot make a day special
    names, of_day = np.unique([day[5:] for day in days], return_inverse=True)
    years = np.bincount(of_day, is_known)
    sums = np.bincount(of_day, np.where(is_known, np.clip(innovations, -limit, limit), 0.0))
    found = np.where(years < settings.special_years, 0.0, np.abs(sums) / np.sqrt(np.maximum(years, 1)))
    best = np.argsort(-found, kind="stable")[: settings.most_specials]  # of equal ones the first in the year
    return tuple(sorted(names[best[found[best] > limit]].tolist()))


def _observed(series: Series) -> tuple[FloatArray, FloatArray]:
    """Return totals and the variances of their noise, infinite where a total was not observed."""
    noise_variance = np.where(series.observed[:, -1], series.total_variances, np.inf)
    return np.asarray(series.totals, np.float64), noise_variance


def _fitted(model: TotalModel, series: Series, covariates: Covariates | None) -> TotalHyperparameters:
    """Return the hyperparameters of greatest penalized likelihood, with Huber's loss for innovations."""
    settings, n_times, time = SETTINGS.totals, len(series), series.domain.time
    ages = _fitted_ages(n_times)
    first = n_times - len(ages)
    counts, noise_variance = (part[first:] for part in _observed(series))
    regressors = model.terms.rows(time, covariates, 0, n_times)[first:]
    weights = np.where(np.isfinite(noise_variance), _weights(time, ages), 0.0)
    weights[: _burn_in(len(ages))] = 0.0
    centre, prior_sd = settings.prior.logs(), np.array(astuple(settings.prior_sd))
    none = np.empty(0, np.int64)

    def loss(logs: FloatArray) -> float:
        tried = TotalHyperparameters.from_logs(logs)
        rates = replace(model, hyperparameters=tried)._filter(time, counts, noise_variance, regressors, none)
        costs = _costs(np.nan_to_num(rates.innovations(tried.overdispersion)))
        total = float(weights @ (costs + 0.5 * np.log(rates.total_variances(tried.overdispersion))))
        return total + 0.5 * float(np.square((logs - centre) / prior_sd).sum())

    return TotalHyperparameters.from_logs(minimize(loss, model.hyperparameters.logs(), settings.first_step))


def _costs(innovations: FloatArray) -> FloatArray:
    """Return half the squares of innovations, and no more than their size beyond the largest: Huber's loss.

    >>> _costs(np.array([1.0, -2.5, 5.0])).tolist()
    [0.5, 3.125, 9.375]
    """
    far, most = np.abs(innovations), SETTINGS.totals.largest_innovation
    return np.where(far < most, 0.5 * np.square(far), most * far - 0.5 * most**2)


def _fitted_ages(n_times: int) -> IntArray:
    """Return the ages of the bins that are fitted, the oldest first; the last bin has the age 1."""
    return np.arange(min(n_times, SETTINGS.totals.most_bins), 0, -1)


def _burn_in(n_times: int) -> int:
    """Return how many bins at the beginning are not looked at."""
    return min(SETTINGS.totals.burn_in_bins, n_times // 4)


def _weights(time: TimeAxis, ages: IntArray) -> FloatArray:
    """Return how much bins of these ages count: recent years more."""
    years = ages * bin_days(time) / DAYS_A_YEAR
    return np.asarray(0.5 ** (years / SETTINGS.totals.half_life_years), np.float64)


def _leads(step: str) -> tuple[int, ...]:
    """Return how many bins ahead forecasts of the past are looked at: a bin, a week and four weeks, or alike."""
    season = season_length(step)
    # a choice: the ends and the middle of what is usually forecast; factors between them are interpolated
    return (1, 4, 12) if step in ("week", "month", "year") else (1, season, 4 * season)


def _past_origins(time: TimeAxis, n_times: int) -> IntArray:
    """Return the bins from which forecasts of the past are looked at."""
    first = n_times - int(SETTINGS.totals.look_back_years * DAYS_A_YEAR / bin_days(time))
    first = max(_burn_in(n_times), first)
    return np.arange(first, n_times, max((n_times - first) // SETTINGS.totals.most_origins, 1))


def _inflation(model: TotalModel, series: Series, covariates: Covariates | None) -> tuple[float, ...]:
    """Return the factors of the model's variance at which intervals hold as many past totals as they should."""
    settings, time, n_times, found = SETTINGS.totals, series.domain.time, len(series), [0.0]
    leads, is_observed, origins = _leads(time.step), series.observed[:, -1], _past_origins(time, n_times)
    ahead = model.predict(time, covariates, model.filter(series, covariates, origins), origins, leads[-1])
    logs, variances = ahead.means(), ahead.variances()
    for lead in leads:
        bins = origins + lead - 1
        is_known = (bins < n_times) & is_observed[np.minimum(bins, n_times - 1)]
        if is_known.sum() < settings.fewest_bins:
            found.append(found[-1] or 1.0)
            continue
        bins, log, variance = bins[is_known], logs[is_known, lead - 1], variances[is_known, lead - 1]
        means, relative = np.exp(log + variance / 2), model.hyperparameters.overdispersion + np.expm1(variance)
        weights, noise = _weights(time, n_times - bins), series.total_variances[bins]
        factor = _factor(series.totals[bins], noise, means, relative, weights / weights.sum())
        found.append(max(found[-1], factor))  # what is further ahead is never surer
    return tuple(settings.years_differ * factor for factor in found[1:])


def _factor(
    counts: FloatArray, noise: FloatArray, means: FloatArray, relative: FloatArray, weights: FloatArray
) -> float:
    """Return the least factor of relative variances at which intervals of each level cover what they say.

    It is below 1 where those of the past covered too much: after storms, or where events come by timetable. Where some
    days are far from usual, narrow intervals then cover more than they say, because wide ones must hold too. Where
    noise is most of what varies, nothing can be told, and the model's own variance stays.
    """
    if float(weights @ noise) > float(weights @ (means + relative * np.square(means))):
        return 1.0
    is_noisy = bool(noise.any())

    def covered(variances: FloatArray, level: float) -> FloatArray:
        if is_noisy:  # noisy totals may be negative: their intervals are normal ones
            return np.asarray(np.abs(counts - means) <= normal_quantile(level) * np.sqrt(variances), np.float64)
        return CountDistribution(means, variances).coverage(counts, level)

    low, high = np.log(SETTINGS.totals.least_inflation), np.log(SETTINGS.totals.most_inflation)
    while high - low > 1e-3:  # 0.1 % of a factor
        middle = 0.5 * (low + high)
        variances = means + np.exp(middle) * relative * np.square(means) + noise
        is_enough = all(float(weights @ covered(variances, level)) > level for level in SETTINGS.totals.levels)
        low, high = (low, middle) if is_enough else (middle, high)
    return float(np.exp(0.5 * (low + high)))
