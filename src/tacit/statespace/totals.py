r"""How many events there will be in all places together.

The logarithm of a total's rate is a random-walk level, an AR(1) component and regressors whose coefficients change
slowly (:mod:`tacit.statespace.covariates`). Totals vary around the rate m by chance and beyond it,

.. math:: \operatorname{Var} T = m + \omega m^2 + v,

with the overdispersion :math:`\omega` and the noise variance v where totals are not public. An extended Kalman filter
(``rate_states``) gives what was expected of each bin before it was observed; from that come the likelihood of
hyperparameters, and how far off forecasts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.kernels import compiled_kernels
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.exact_intervals import normal_quantile
from tacit.domain import TimeAxis
from tacit.statespace.ahead import Ahead
from tacit.statespace.calendar import DAYS_A_YEAR, bin_days, season_length
from tacit.statespace.covariates import Covariates, Terms
from tacit.statespace.fit import minimize


@dataclass(frozen=True, slots=True)
class TotalHyperparameters:
    """How the rate of totals varies; standard deviations are relative to the rate.

    ``level_sd`` is that of the random-walk level after a year, ``ar_sd`` of the AR(1) component, whose correlation
    falls to 1/e in ``timescale_days``. ``overdispersion`` is a bin's variance beyond chance. ``change_sd`` is that of
    coefficients after a year, relative to their usual size.
    """

    level_sd: float = 0.1
    ar_sd: float = 0.06
    timescale_days: float = 7.0
    overdispersion: float = 0.004
    change_sd: float = 0.1

    def logs(self) -> FloatArray:
        return np.asarray(np.log(np.array(astuple(self))), np.float64)

    @classmethod
    def from_logs(cls, logs: FloatArray) -> TotalHyperparameters:
        return cls(*np.exp(logs).tolist())


@dataclass(frozen=True)
class TotalSettings:
    """What is assumed of any series of totals, and not estimated from it.

    Each field says where it comes from. What halving or doubling does is of forecasts of totals in the worlds of
    ``experiments/ablations`` where it was measured (three
    worlds of each kind: a first indication); elsewhere it is what follows from the formula.
    """

    # the prior of hyperparameters: log-normal
    prior: TotalHyperparameters = TotalHyperparameters()
    """Medians, from calls of fire brigades other than the ones tested. They decide
    where a series is too short to tell."""
    prior_sd: TotalHyperparameters = TotalHyperparameters(1.5, 1.0, 0.7, 1.0, 1.0)
    """Standard deviations of logarithms: a factor of 2 to 4.5 either way. Halved, short series keep the medians;
    doubled, hyperparameters of a few weeks follow chance."""
    start_variance: float = 0.25
    """Of the first log level around the median of the first weeks: a factor of 1.6 either way. Forgotten in weeks."""

    # prior standard deviations of regression coefficients, on the log scale
    weekday_sd: float = 0.15
    """Weekdays differ by about 15 %. Near 0 it costs up to a factor of 2 where weeks have a rhythm."""
    clock_sd: float = 0.5
    """Nights have a fraction of the events of afternoons. Halved, the first weeks of a series are too flat."""
    year_sd: float = 0.1
    """Summers and winters differ by about 10 %. Near 0 it costs up to 45 % where years do, and gains up to 7 % in
    series of less than a year, whose season is a guess."""
    trend_sd: float = 0.05
    """Growth in a year. Near 0 it costs up to 0.9 % in series of four years, nothing in those of months."""
    flag_sd: float = 0.1
    """Holidays and other flags. Halved, the effect of a flag that came a few times is taken for half."""
    number_sd: float = 0.1
    """A standard deviation of a table's numbers: as a flag."""
    special_sd: float = 0.2
    """Special days are chosen because they are far from usual: twice a flag."""
    length_sd: float = 0.02
    """How far the effect of a month's length may be from proportional: next to nothing."""
    changing_kinds: tuple[str, ...] = ("weekday", "clock", "year")
    """Kinds whose coefficients are random walks. None: up to 1.8 % worse in worlds of four years, up to 0.6 % better in
    others."""

    # unusual bins
    largest_innovation: float = 2.5
    """Standard deviations. An innovation beyond moves the state no further, and costs its size, not its square, as
    Huber's loss: one normal innovation in 80. Without the limit totals of stormy worlds are 13 to 23 % worse, others
    within 1 % of what they are."""
    special_score: float = 4.0
    """A day of the year is special if its innovations add up to so many standard errors: by chance one of 366 days in
    40 series. Without special days totals of worlds with feasts are up to 21 % worse."""
    special_years: int = 3
    """Years in which a special day must have come: two agree by chance too often."""
    most_specials: int = 12
    """The most special days: as many as a country has holidays. More take time in every step of the filter."""

    # the fit
    fewest_bins: int = 28
    """With fewer observed bins (four weeks of days) the prior's hyperparameters are taken."""
    most_bins: int = 12_000
    """The last so many bins are fitted: 33 years of days, 16 months of hours. It bounds the time of a fit."""
    half_life_years: float = 2.0
    """A bin so many years ago counts half in the fit: recent years say more. Without it totals of feasts are up
    to 1.8 % worse, of storms up to 2 % better."""
    burn_in_bins: int = 60
    """The first so many bins, or a quarter, do not count in the fit: the filter has yet to find the level."""
    first_step: float = 0.7
    """The first step of the search in logarithms: a factor of 2, about one prior standard deviation. The search is that
    of shares (:func:`tacit.statespace.fit.minimize`)."""

    # the inflation of the stated variance
    look_back_years: float = 6.0
    """Forecasts of the last so many years are looked at. Older years say little of what is to come."""
    most_origins: int = 800
    """So many origins among them: neighbouring ones have nearly the same errors."""
    levels: tuple[float, float] = (0.8, 0.95)
    """Coverage is compared at these two levels, which commands and pages show."""
    most_inflation: float = 30.0
    """Beyond, the model is wrong and its variance no measure. The search by halves ends within 0.1 % of a factor."""
    years_differ: float = 1.2
    """A factor on top: some years vary more than those before them. Without it 80 % intervals of totals cover 2 to 7
    points less."""


SETTINGS: Final = TotalSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Totals of time bins with their noise variance, which of them were observed, and covariates."""

    time: TimeAxis
    counts: FloatArray
    noise_variance: FloatArray
    is_observed: BoolArray
    covariates: Covariates | None

    def between(self, first: int, stop: int) -> Totals:
        """Return the same for some of the bins; the axis still starts with the first of all."""
        some = slice(first, stop)
        return replace(
            self,
            counts=self.counts[some],
            noise_variance=self.noise_variance[some],
            is_observed=self.is_observed[some],
        )

    def n_unobserved(self, origins: IntArray) -> IntArray:
        """Return how many bins just before each origin were not observed."""
        last = np.maximum.accumulate(np.where(self.is_observed, np.arange(len(self.counts)), -1))
        return np.asarray(origins - 1 - np.concatenate([[-1], last])[origins], np.int64)

    @property
    def bin_days(self) -> float:
        return bin_days(self.time)


@dataclass(frozen=True, slots=True, eq=False)
class FilteredRates:
    """Mean and variance of the log rate of each bin before it was observed; states and covariances at origins."""

    logs: FloatArray
    variances: FloatArray
    states: FloatArray
    covariances: FloatArray

    def total_variances(self, totals: Totals, overdispersion: float) -> FloatArray:
        """Return the variance of each total around its expected rate."""
        rates = np.exp(self.logs)
        noise = np.where(totals.is_observed, totals.noise_variance, 0.0)
        return np.asarray(rates + (overdispersion + self.variances) * np.square(rates) + noise, np.float64)

    def innovations(self, totals: Totals, overdispersion: float) -> FloatArray:
        """Return how far each total was from its expected rate, in standard deviations; NaN where not observed."""
        sd = np.sqrt(self.total_variances(totals, overdispersion))
        return np.where(totals.is_observed, (totals.counts - np.exp(self.logs)) / sd, np.nan)


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
    def learned(cls, totals: Totals) -> TotalModel:
        """Return the model fitted to all bins."""
        observed = totals.counts[totals.is_observed]
        n_events = max(float(observed.sum()), 0.5)
        # the first two months give the first level: their median, but no less than a fifth of their mean
        early = observed[: max(SETTINGS.fewest_bins, int(60 / totals.bin_days))]
        level = max(float(np.median(early)), 0.2 * float(early.mean()), n_events / max(len(observed), 1) / 20)
        terms = Terms.learned(totals.covariates, len(totals.counts))
        model = cls(terms, SETTINGS.prior, float(np.log(level)), SETTINGS.start_variance + 1 / n_events)
        if len(observed) < SETTINGS.fewest_bins:
            return model
        model = replace(model, hyperparameters=_fitted(model, totals))
        specials = model._specials(totals) if totals.time.step == "day" else ()
        if specials:
            model = replace(model, terms=replace(model.terms, specials=specials))
        model = replace(model, hyperparameters=_fitted(model, totals))
        return replace(model, inflation=_inflation(model, totals))

    def inflation_at(self, step: str, leads: FloatArray) -> FloatArray:
        """Return the factors of the model's own relative variance so many bins (1 or more) after the last observed."""
        return np.asarray(np.interp(np.log(leads), np.log(np.array(_leads(step), float)), self.inflation), np.float64)

    def filter(self, totals: Totals, origins: IntArray) -> FilteredRates:
        """Filter all bins, and keep what was known at origins (ascending)."""
        return self._filter(totals, self.terms.rows(totals.time, totals.covariates, 0, len(totals.counts)), origins)

    def predict(self, totals: Totals, rates: FilteredRates, origins: IntArray, horizon: int) -> Ahead:
        """Return the log rate of the bins after each origin."""
        rows = self.terms.rows(totals.time, totals.covariates, 0, int(origins.max()) + horizon)
        phi, steps, _, _ = self._dynamics(totals)
        return Ahead(rates.states, rates.covariances, rows[origins[:, None] + np.arange(horizon)], phi, steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "terms": self.terms.to_dict(),
            "hyperparameters": list(astuple(self.hyperparameters)),
            "start": self.start,
            "start_variance": self.start_variance,
            "inflation": list(self.inflation),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        hyperparameters = TotalHyperparameters(*map(float, content["hyperparameters"]))
        start, start_variance = float(content["start"]), float(content["start_variance"])
        inflation = tuple(map(float, content["inflation"]))
        return cls(Terms.from_dict(content["terms"]), hyperparameters, start, start_variance, inflation)

    def _filter(self, totals: Totals, regressors: FloatArray, origins: IntArray) -> FilteredRates:
        phi, steps, state, covariance = self._dynamics(totals)
        n_times, size, n_origins = len(regressors), len(state), len(origins)
        found = FilteredRates(
            np.empty(n_times), np.empty(n_times), np.empty((n_origins, size)), np.empty((n_origins, size, size))
        )
        compiled_kernels("filters").rate_states(
            totals.counts,
            np.where(totals.is_observed, totals.noise_variance, np.inf),
            regressors,
            state,
            covariance,
            steps,
            phi,
            self.hyperparameters.overdispersion,
            SETTINGS.largest_innovation,
            origins,
            found.logs,
            found.variances,
            found.states,
            found.covariances,
        )
        return found

    def _dynamics(self, totals: Totals) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return phi, the process variance of each component in a bin, and state and covariance at the start."""
        known, years = self.hyperparameters, totals.bin_days / DAYS_A_YEAR
        kinds = self.terms.kinds(totals.time.step)
        phi = float(np.exp(-totals.bin_days / known.timescale_days))
        sd = np.array([getattr(SETTINGS, f"{kind}_sd") for kind in kinds])
        is_changing = np.array([kind in SETTINGS.changing_kinds for kind in kinds])
        coefficients = np.square(sd * known.change_sd * is_changing) * years
        steps = np.concatenate([[known.level_sd**2 * years, known.ar_sd**2 * (1 - phi * phi)], coefficients])
        # events are proportional to the length of a month
        state = np.array([self.start, 0.0, *(float(kind == "length") for kind in kinds)])
        covariance = np.diag(np.concatenate([[self.start_variance, known.ar_sd**2], np.square(sd)]))
        return phi, steps, state, covariance

    def _specials(self, totals: Totals) -> tuple[str, ...]:
        """Return the days of the year ("07-14") on which innovations of several years agree."""
        rates = self.filter(totals, np.empty(0, np.int64))
        far = np.clip(rates.innovations(totals, self.hyperparameters.overdispersion), -4.0, 4.0)
        days = totals.time.without_end().starts(len(totals.counts)).astype("datetime64[D]").astype(str)
        of_day: dict[str, list[float]] = {}
        for day, score in zip(days[totals.is_observed].tolist(), far[totals.is_observed].tolist(), strict=True):
            of_day.setdefault(day[5:], []).append(score)
        found = {
            day: abs(float(np.sum(some))) / len(some) ** 0.5
            for day, some in of_day.items()
            if len(some) >= SETTINGS.special_years
        }
        best = sorted((d for d in found if found[d] > SETTINGS.special_score), key=lambda day: (-found[day], day))
        return tuple(sorted(best[: SETTINGS.most_specials]))


def _fitted(model: TotalModel, totals: Totals) -> TotalHyperparameters:
    """Return the hyperparameters of greatest penalized likelihood, with Huber's loss for innovations."""
    n_times, far_off = len(totals.counts), SETTINGS.largest_innovation
    first = max(n_times - SETTINGS.most_bins, 0)
    regressors = model.terms.rows(totals.time, totals.covariates, 0, n_times)[first:]
    part = totals.between(first, n_times)
    weights = np.where(part.is_observed, _weights(totals, np.arange(first, n_times)), 0.0)
    weights[: min(SETTINGS.burn_in_bins, len(weights) // 4)] = 0.0
    centre, prior_sd = SETTINGS.prior.logs(), np.array(astuple(SETTINGS.prior_sd))
    none = np.empty(0, np.int64)

    def loss(logs: FloatArray) -> float:
        tried = TotalHyperparameters.from_logs(logs)
        rates = replace(model, hyperparameters=tried)._filter(part, regressors, none)
        far = np.abs(np.nan_to_num(rates.innovations(part, tried.overdispersion)))
        costs = np.where(far < far_off, 0.5 * np.square(far), far_off * far - 0.5 * far_off**2)
        total = float(weights @ (costs + 0.5 * np.log(rates.total_variances(part, tried.overdispersion))))
        return total + 0.5 * float(np.square((logs - centre) / prior_sd).sum())

    return TotalHyperparameters.from_logs(minimize(loss, model.hyperparameters.logs(), SETTINGS.first_step))


def _weights(totals: Totals, bins: IntArray) -> FloatArray:
    """Return how much bins count: recent years more."""
    years = (len(totals.counts) - bins) * totals.bin_days / DAYS_A_YEAR
    return np.asarray(0.5 ** (years / SETTINGS.half_life_years), np.float64)


def _leads(step: str) -> tuple[int, ...]:
    """Return how many bins ahead forecasts of the past are looked at: a bin, a week and four weeks, or alike."""
    season = season_length(step)
    return (1, 4, 12) if step in ("week", "month", "year") else (1, season, 4 * season)


def _inflation(model: TotalModel, totals: Totals) -> tuple[float, ...]:
    """Return the factors of the model's variance at which intervals hold as many past totals as they should."""
    n_times, found = len(totals.counts), [1.0]
    first = n_times - int(SETTINGS.look_back_years * DAYS_A_YEAR / totals.bin_days)
    first = max(min(SETTINGS.burn_in_bins, n_times // 4), first)
    leads = _leads(totals.time.step)
    origins = np.arange(first, n_times, max((n_times - first) // SETTINGS.most_origins, 1))
    ahead = model.predict(totals, model.filter(totals, origins), origins, leads[-1])
    logs, variances = ahead.means(), ahead.variances()
    for lead in leads:
        bins = origins + lead - 1
        is_known = (bins < n_times) & totals.is_observed[np.minimum(bins, n_times - 1)]
        if is_known.sum() < SETTINGS.fewest_bins:
            found.append(found[-1])
            continue
        bins, log, variance = bins[is_known], logs[is_known, lead - 1], variances[is_known, lead - 1]
        means, relative = np.exp(log + variance / 2), model.hyperparameters.overdispersion + np.expm1(variance)
        weights = _weights(totals, bins)
        noise = totals.noise_variance[bins]
        found.append(_factor(totals.counts[bins], noise, means, relative, weights / weights.sum()))
    return tuple(SETTINGS.years_differ * factor for factor in found[1:])


def _factor(
    counts: FloatArray, noise: FloatArray, means: FloatArray, relative: FloatArray, weights: FloatArray
) -> float:
    """Return the factor, 1 or more, of relative variances at which intervals cover what they say, by halving.

    Where noise is most of what varies, nothing can be told, and the model's own variance stays.
    """
    if float(weights @ noise) > float(weights @ (means + relative * np.square(means))):
        return 1.0
    low, high = 0.0, np.log(SETTINGS.most_inflation)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        variances = means + np.exp(middle) * relative * np.square(means) + noise
        too_wide = sum(
            float(weights @ _covered(counts, means, variances, level, is_noisy=bool(noise.any()))) - level
            for level in SETTINGS.levels
        )
        low, high = (low, middle) if too_wide > 0 else (middle, high)
    return float(np.exp(0.5 * (low + high)))


def _covered(
    counts: FloatArray, means: FloatArray, variances: FloatArray, level: float, *, is_noisy: bool
) -> FloatArray:
    """Return how much of each count an interval holds; noisy totals may be negative, and have normal ones."""
    if is_noisy:
        return np.asarray(np.abs(counts - means) <= normal_quantile(level) * np.sqrt(variances), np.float64)
    return CountDistribution(means, variances).coverage(counts, level)
