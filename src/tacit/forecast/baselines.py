r"""Forecasts that need no model, beside which every other has to prove itself, and distributions from their residuals.

A count expected to be L varies as

.. math:: L + \kappa + \phi L^2,

where kappa is the known variance of the expectation itself (noise of the counts it is made of), and the overdispersion
phi is the rest: what drives counts beyond chance, and what the model gets wrong. The residuals of private counts have
the variance v of their own noise besides; it is known and taken away. Under much noise little is left to learn phi
from. It is then shrunk to that of all places, and that of all places to the one of the totals, which are known better.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.forecast.forecast import Forecasts
from tacit.forecast.forecaster import Forecaster, Kept, gap_notes
from tacit.forecast.past import History, positive_means
from tacit.statespace.covariates import Covariates, n_slots, season_length, slots

_HORIZONS: Final = (1, 7, 28, 91, 182, 364)  # bins: a day, a week, a month, a quarter, half a year and a year
_FEWEST_BINS: Final = 7  # a week of days
_OWN_RHYTHM: Final = 0.1  # how far the weekdays of a place may differ from those of all, relative to its mean
_LEAST: Final = 0.2  # of a place's mean is expected at the least, however low a noisy count
_MOST_ORIGINS: Final = 120  # residuals of more origins overlap; half of them widen phi's own error by a fifth
_MOST_NUMBERS: Final = 2_000_000  # looked at together: 16 MB an array
_CAP: Final = 4.0  # standard deviations; without it one storm widens the interval of every day
_ROUNDS: Final = 4  # of weighting and estimating; the third changes phi by less than 1 %
_CORRELATED: Final = 2.0  # residuals of neighbouring bins tell half as much as independent ones
_USUAL_PHI: Final = 0.03  # of a day of all places where nothing is known: a deviation of 17 %
_LEAST_PRIOR: Final = 1e-3  # of phi; its square root, 3 %, is less than what weekdays differ by
_USUAL_CHANGE: Final = 0.1  # relative change from year to year where there is no second year


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Means at some origins: origins x horizon x (places and all).

    ``known`` is the known variance of the mean itself; ``repeats`` (origins x horizon) says how many steps of the
    horizon share one mean, whose error counts that many times over in their sum. ``shared`` is the variance of an error
    that all steps have in common, such as the noise of a place's level. ``learned`` (origins x 1) is how many bins
    before each origin the means were last told anything.
    """

    means: FloatArray
    known: FloatArray | float = 0.0
    repeats: FloatArray | float = 1.0
    shared: FloatArray | float = 0.0
    learned: IntArray | int = 0

    def leads(self) -> FloatArray:
        """Return how many bins ago, 1 or more, the means were told anything: origins x horizon."""
        ahead = np.maximum(np.arange(1, self.means.shape[1] + 1) + self.learned, 1)
        return np.broadcast_to(ahead.astype(np.float64), self.means.shape[:2])

    def variances(self) -> FloatArray:
        """Return the known variance of each mean."""
        return np.broadcast_to(self.known + self.shared, self.means.shape)

    def sum_variances(self, is_observed: BoolArray | bool = True) -> FloatArray:
        """Return the known variance of the sum of the means over the horizon, or over a part of it."""
        shape, repeats = self.means.shape, np.asarray(self.repeats)[..., None]
        known = np.where(is_observed, np.broadcast_to(self.known * repeats, shape), 0.0).sum(axis=1)
        shared = np.where(is_observed, np.broadcast_to(np.sqrt(self.shared), shape), 0.0).sum(axis=1)
        return np.asarray(known + np.square(shared), np.float64)


Expect = Callable[[IntArray, int], Expected]
_Residuals = tuple[FloatArray, FloatArray, FloatArray]
"""Squared residuals, the means they belong to, and their known variance: cases x columns."""
_SlotMeans = tuple[FloatArray, FloatArray, FloatArray]
"""Means of slots, the variances of their errors, and of the part that all slots share: origins x slots x columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Overdispersion:
    """phi of single bins and of sums over a horizon, at some horizons: horizons x (places and all).

    Beyond the last horizon phi grows by the square of ``yearly`` a year: the level is a random walk.
    """

    horizons: FloatArray
    single: FloatArray
    summed: FloatArray
    yearly: float
    per_year: int

    def counts(self, expected: Expected, n_missing: IntArray) -> CountDistribution:
        """Return the distributions of single counts; ``n_missing`` bins just before each origin were not counted."""
        means, phi = expected.means, self._at(self.single, expected.leads(), n_missing[:, None])
        return CountDistribution(means, means + expected.variances() + phi * np.square(means))

    def sums(self, expected: Expected, n_missing: IntArray) -> CountDistribution:
        """Return the distributions of the sums over the whole horizon: origins x (places and all)."""
        means, phi = expected.means.sum(axis=1), self._at(self.summed, expected.leads()[:, -1], n_missing)
        return CountDistribution(means, means + expected.sum_variances() + phi * np.square(means))

    def _at(self, table: FloatArray, leads: FloatArray, n_missing: IntArray) -> FloatArray:
        """Return phi at these leads; after a gap no less than without it, and what the level may have moved since."""

        def without_gap(leads: FloatArray) -> FloatArray:
            at = np.log(np.maximum(leads, 1.0))
            found = np.stack([np.interp(at, np.log(self.horizons), column) for column in table.T], axis=-1)
            beyond = np.maximum(leads - self.horizons[-1], 0.0) / self.per_year
            return np.asarray(found + (self.yearly**2 * beyond)[..., None], np.float64)

        found = np.maximum(without_gap(leads), without_gap(leads + n_missing))
        return np.asarray(found + (self.yearly**2 * n_missing / self.per_year)[..., None], np.float64)


class ResidualForecaster(Forecaster):
    """A rule for means, and an :class:`Overdispersion` learned from how far it was off.

    A forecaster of this kind says how it learns, which settles its ``_overdispersion``, and what it expects
    (:meth:`_expect`).
    """

    kept: ClassVar[Kept] = {"overdispersion": Overdispersion}
    _overdispersion: Overdispersion

    def _forecasts(self, series: Series, origins: IntArray, horizon: int) -> Forecasts:
        return Forecasts(origins, self._overdispersion.counts(*self._ahead(series, origins, horizon)))

    def _sums(self, series: Series, made: Forecasts) -> CountDistribution:
        return self._overdispersion.sums(*self._ahead(series, made.origins, made.each.means.shape[1]))[0]

    def _ahead(self, series: Series, origins: IntArray, horizon: int) -> tuple[Expected, IntArray]:
        # what was learned settles the noise, too: shares of the whole series would look at what comes after an origin
        history = History.of(series, self._fitted().shares)
        return self._expect(history, origins, horizon), series.since_counted(origins)

    def _notes(self, series: Series, horizon: int) -> tuple[str, ...]:
        return gap_notes(int(series.since_counted(np.array([len(series)]))[0]), series.domain.time.step)

    @abstractmethod
    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected: ...


class WeekdayMean(ResidualForecaster):
    """Expects the mean of the same weekday, over all of the past or its last years alone.

    On an axis of hours it is the mean of the same hour of the same weekday, on one of months that of the same month. A
    count whose noise is larger than usual for its size enters with less weight. Means are those of the fit: between
    fits nothing is learned, and the distribution widens as they grow old.
    """

    name = "weekday mean"
    kept: ClassVar[Kept] = {
        **ResidualForecaster.kept,
        **{"n_times": int, "means": FloatArray, "variances": FloatArray, "shared": FloatArray},
    }

    def __init__(self, *, years: int | None = None) -> None:
        self.years = years

    def _learn(self, series: Series, covariates: Covariates | None) -> None:
        if self.years is not None:
            check_at_least(1, years=self.years)
        history, season, n_times = History.of(series), season_length(series.domain.time.step), len(series)
        history.check_long_enough(min(season, _FEWEST_BINS), forecaster=self.name)
        self._n_times = n_times
        self._means, self._variances, self._shared = self._slot_means(history, np.array([n_times]))

        def expect(origins: IntArray, horizon: int) -> Expected:
            return _of_slots(self._slot_means(history, origins), history, origins, horizon)

        # the last two years, less what the first means need: a choice, by which the past counts as far as it is alike
        first = max(2 * season, n_times - 2 * season_length(history.time.step, "year"), n_times // 4)
        self._overdispersion = learn_overdispersion(history, expect, first=first, horizons=_HORIZONS)

    def _slot_means(self, history: History, untils: IntArray) -> _SlotMeans:
        """Return the means of slots over the bins before each of ``untils``."""
        firsts = np.zeros(len(untils), np.int64)
        if self.years is not None:
            firsts = np.maximum(untils - self.years * season_length(history.time.step, "year"), 0)
        counted, values, known_noise, weights, weighted, noise, squared = _slot_sums(history, firsts, untils)
        # the mean of the place, whatever the slot
        n_bins = np.maximum(counted.sum(axis=1, keepdims=True), 1.0)
        errors = known_noise.sum(axis=1, keepdims=True) / n_bins**2
        levels = np.maximum(positive_means(values.sum(axis=1, keepdims=True) / n_bins, errors), history.floor)
        is_known, weights = weights > 0, np.maximum(weights, 1e-12)
        means, noise, sampling = weighted / weights, noise / np.square(weights), levels * squared / np.square(weights)
        # under noise a weekday is drawn to what it is in all places together
        rhythm = np.where(is_known[:, :, -1:], means[:, :, -1:], levels[:, :, -1:]) / levels[:, :, -1:]
        usual, varies = levels * rhythm, np.square(_OWN_RHYTHM * levels)
        gain = np.where(is_known, varies / (varies + noise), 0.0)
        # a slot that was never counted may be anything
        known = np.where(is_known, gain * noise + sampling, np.square(levels))
        return np.maximum(usual + gain * (means - usual), history.floor), known, (1 - gain) * errors

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        found = _of_slots((self._means, self._variances, self._shared), history, origins, horizon)
        return replace(found, learned=origins[:, None] - self._n_times)


class SeasonalNaive(ResidualForecaster):
    r"""Expects what was counted on the same weekday of the week before, or 52 weeks before.

    A count y with noise of variance v is first drawn to the place's mean L of a year, as far as its noise makes that
    the better guess, and then by the weight of half an event, for that nothing was counted does not mean that nothing
    can come:

    .. math:: g = \frac{L + \rho^2 L^2}{L + \rho^2 L^2 + v}, \qquad
              \mu = L + \frac{2L}{2L + 1} \, g \, (y - L),

    where rho is the deviation of the total of all places, relative to its mean. Exact counts are thus repeated all but
    as they are. A bin that was not counted is passed over for the one a season earlier; where there is none the place's
    mean stands in.
    """

    name = "seasonal naive"
    kept: ClassVar[Kept] = {**ResidualForecaster.kept, "levels": FloatArray, "errors": FloatArray, "deviation": float}

    def __init__(self, *, season: str = "week") -> None:
        self.season = season

    def _learn(self, series: Series, covariates: Covariates | None) -> None:
        history, step, n_times = History.of(series), series.domain.time.step, len(series)
        season, year = season_length(step, self.season), season_length(step, "year")
        history.check_long_enough(min(season, _FEWEST_BINS), forecaster=self.name)
        self._levels, self._errors = history.levels(max(n_times - year, 0), n_times)
        self._deviation = _relative_deviation(history, max(n_times - 2 * year, 0))
        first = max(min(season, n_times // 2), n_times - 3 * year)
        expect = partial(self._expect, history)
        self._overdispersion = learn_overdispersion(history, expect, first=first, horizons=_HORIZONS)

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        season = season_length(history.time.step, self.season)
        steps, counted = np.arange(horizon) % season, history.series.counted
        source = origins[:, None] + steps - season
        while (is_missing := (source >= 0) & ~counted[np.maximum(source, 0)]).any():
            source = np.where(is_missing, source - season, source)
        inside = np.maximum(source, 0)
        is_known = (source >= 0)[:, :, None] & history.observed[inside]
        levels, rates = self._levels, np.square(self._deviation * self._levels)
        gain = np.where(is_known, (levels + rates) / (levels + rates + history.variances[inside]), 0.0)
        half = 2 * levels / (2 * levels + 1)
        means = levels + half * gain * (np.where(is_known, history.values[inside], levels) - levels)
        repeats = np.bincount(steps)[steps].astype(np.float64)
        shared = (1 - gain) * (rates + self._errors)
        return Expected(_added_up(np.maximum(means, _LEAST * levels)), gain * levels * half, repeats, shared)


def learn_overdispersion(history: History, expect: Expect, *, first: int, horizons: Sequence[int]) -> Overdispersion:
    """Return what ``expect`` at origins from ``first`` on leaves of the counts that came.

    Horizons that the history is too short for are left out; with none left, phi is what is usual.
    """
    n_times, n_columns = history.values.shape
    per_year = season_length(history.time.step, "year")
    prior = np.full(n_columns, _USUAL_PHI)
    found: list[tuple[float, FloatArray, FloatArray]] = []
    for horizon in horizons:
        last = n_times - horizon
        count = max(min(_MOST_ORIGINS, _MOST_NUMBERS // (horizon * n_columns), last - first + 1), 1)
        # an uneven stride, so that origins fall on all days of the week
        origins = np.unique(np.linspace(first, last, count).astype(np.int64))
        if len(origins) < 3:
            break
        of_last, of_sum = _compare(history, expect(origins, horizon), origins)
        # sums that overlap are told apart by their own bins only
        stride = max(float(origins[-1] - origins[0]) / (len(origins) - 1), 1.0)
        prior = _phi(of_last, prior, _CORRELATED)
        # where noise hides it, what moves one bin is taken to move all
        summed = prior if horizon == 1 else _phi(of_sum, prior, max(_CORRELATED, horizon / stride))
        found.append((float(horizon), prior, summed))
    if not found:
        found = [(1.0, prior * 2, prior * 2)]
    steps, single_rows, summed_rows = (np.array(part) for part in zip(*found, strict=True))
    return Overdispersion(steps, single_rows, summed_rows, _yearly_change(history, per_year), per_year)


def _compare(history: History, expected: Expected, origins: IntArray) -> tuple[_Residuals, _Residuals]:
    """Return the residuals of the last bin of each horizon, and those of the sum over it."""
    targets = origins[:, None] + np.arange(expected.means.shape[1])
    is_observed = history.observed[targets]
    of_bins = history.values[targets] - expected.means, history.variances[targets], expected.means, expected.variances()
    residuals, noise, means, known = (np.where(is_observed, part, 0.0) for part in of_bins)
    summed_known = noise.sum(axis=1) + expected.sum_variances(is_observed)
    last = np.square(residuals[:, -1]), means[:, -1], (noise + known)[:, -1]
    return last, (np.square(residuals.sum(axis=1)), means.sum(axis=1), summed_known)


def _phi(residuals: _Residuals, prior: FloatArray, correlated: float) -> FloatArray:
    """Return phi of each column: the totals' first, then what the places have in common, then each place's own.

    Of so many ``correlated`` cases only one is independent of the others. What moves the total moves its places: they
    have no less in common than that.
    """
    alone, information = _moments(residuals, prior)
    information = information / correlated
    places, weights = alone[:-1], information[:-1]
    of_all = float(_shrunk(alone[-1], information[-1], float(prior[-1])))
    pooled = (weights * places).sum() / max(weights.sum(), 1e-300)
    common = max(float(_shrunk(pooled, weights.sum(), max(of_all, float(prior[:-1].mean())))), of_all)
    return np.append(_shrunk(places, weights, common), of_all)


def _shrunk(phi: FloatArray, information: FloatArray, prior: float) -> FloatArray:
    """Return the posterior mean of phi; the prior's standard deviation is its own size."""
    prior = max(prior, _LEAST_PRIOR)
    return np.maximum((information * phi + 1 / prior) / (information + 1 / prior**2), 0.0)


def _moments(residuals: _Residuals, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return phi of each column by itself, and one over the variance that this estimate has if the prior is right."""
    all_squares, means, known = residuals
    base, quadratic = means + known, np.square(means)
    phi, information = prior, np.zeros(len(prior))
    for turn in range(_ROUNDS):
        variance = np.maximum(base + np.maximum(phi, 0.0) * quadratic, 1e-12)
        weights = quadratic / np.square(variance)
        squares = np.minimum(all_squares, _CAP**2 * variance)
        sums = np.maximum((weights * quadratic).sum(axis=0), 1e-300)
        phi = np.asarray((weights * (squares - base)).sum(axis=0) / sums, np.float64)
        if turn == 0:
            information = np.asarray(sums / 2, np.float64)
    return phi, information


def _yearly_change(history: History, per_year: int) -> float:
    """Return the relative change of a year's total against the year before."""
    first = len(history) % per_year
    counted, totals = (part[first:, -1].reshape(-1, per_year) for part in (history.observed, history.values))
    means = np.where(counted, totals, 0.0).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    whole = means[(counted.mean(axis=1) > 0.5) & (means > 0)]
    if len(whole) < 2:
        return _USUAL_CHANGE
    return float(np.sqrt(np.mean(np.square(np.diff(np.log(whole))))))


def _relative_deviation(history: History, first: int) -> float:
    """Return how much the total of all places varies beyond chance and noise, relative to its mean."""
    is_observed = history.observed[first:, -1]
    totals = history.values[first:, -1][is_observed]
    mean = max(float(totals.mean()), float(history.floor[-1]))
    noise = float(history.variances[first:, -1][is_observed].mean())
    # no less than 10 %, what weeks and seasons make of any series, and no more than the mean itself
    return float(np.sqrt(np.clip((totals.var() - noise - mean) / mean**2, 0.01, 1.0)))


def _slot_sums(history: History, firsts: IntArray, untils: IntArray) -> FloatArray:
    """Return sums over the counted bins of every slot (terms x origins x slots x (places and all)), in one pass.

    They go from each of ``firsts`` up to each of ``untils``. Terms are how many, counts, their noise, weights, weighted
    counts, their noise, and squares of weights.
    """
    (levels, _), slot = history.levels(0, len(history)), slots(history.time, len(history))
    is_observed = history.observed
    weights = np.where(is_observed, levels / (levels + history.units), 0.0)
    values, noise = np.where(is_observed, history.values, 0.0), np.where(is_observed, history.variances, 0.0)
    terms = (is_observed, values, noise, weights, weights * values, np.square(weights) * noise, np.square(weights))
    sums = np.zeros((len(terms), len(untils), n_slots(history.time.step), values.shape[1]))
    for number in range(sums.shape[2]):
        bins = np.flatnonzero(slot == number)
        low, high = np.searchsorted(bins, firsts), np.searchsorted(bins, untils)
        for term, found in zip(terms, sums, strict=True):
            running = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(term[bins], axis=0)])
            found[:, number] = running[high] - running[low]
    return sums


def _of_slots(known: _SlotMeans, history: History, origins: IntArray, horizon: int) -> Expected:
    """Return the expected counts after origins: the means of their slots, known at each origin or once for all."""
    targets = origins[:, None] + np.arange(horizon)
    slot = slots(history.time, int(targets.max()) + 1)[targets]
    repeats = np.stack([np.bincount(row)[row] for row in slot]).astype(np.float64)
    row = np.arange(len(slot))[:, None] if len(known[0]) > 1 else 0
    means, variances, shared = (part[row, slot] for part in known)
    return Expected(_added_up(means), variances, repeats, shared)


def _added_up(means: FloatArray) -> FloatArray:
    """Return the same, places in proportion so that they add up to what is expected of all, the last column."""
    places, whole = means[..., :-1], means[..., -1:]
    return np.concatenate([places * (whole / places.sum(axis=-1, keepdims=True)), whole], axis=-1)
