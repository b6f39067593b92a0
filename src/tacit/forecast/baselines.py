"""Forecasts that need no model, beside which every other has to prove itself."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.series import Series
from tacit.forecast.forecaster import Kept, floats
from tacit.forecast.past import History, positive_means
from tacit.forecast.residuals import Expected, Overdispersion, ResidualForecaster, learn_overdispersion
from tacit.statespace.calendar import n_slots, season_length, slots

_HORIZONS: Final = (1, 7, 28, 91, 182, 364)  # bins: a day, a week, a month, a quarter, half a year and a year
_FEWEST_BINS: Final = 7  # a week of days
_OWN_RHYTHM: Final = 0.1  # how far the weekdays of a place may differ from those of all, relative to its mean
_SlotMeans = tuple[FloatArray, FloatArray, FloatArray]
_LEAST: Final = 0.2  # of a place's mean is expected at the least, however low a noisy count


class WeekdayMean(ResidualForecaster):
    """Expects the mean of the same weekday, over all of the past or its last years alone.

    On an axis of hours it is the mean of the same hour of the same weekday, on one of months that of the same month. A
    count whose noise is larger than usual for its size enters with less weight. Means are those of the fit: between
    fits nothing is learned, and the distribution widens as they grow old.
    """

    name = "weekday mean"
    kept: ClassVar[Kept] = {
        **ResidualForecaster.kept,
        "n_times": int,
        "means": floats,
        "variances": floats,
        "shared": floats,
    }

    def __init__(self, *, years: int | None = None) -> None:
        self.years = years

    def _learn_rule(self, series: Series, history: History) -> Overdispersion:
        if self.years is not None:
            check_at_least(1, years=self.years)
        season = season_length(history.time.step)
        history.check_long_enough(min(season, _FEWEST_BINS), forecaster=self.name)
        slot = slots(history.time, len(history))
        self._n_times = len(history)
        self._means, self._variances, self._shared = self._slot_means(history, slot, np.array([len(history)]))

        def expect(origins: IntArray, horizon: int) -> Expected:
            targets = origins[:, None] + np.arange(horizon)[None, :]
            return _of_slots(*self._slot_means(history, slot, origins), slot[targets])

        # the last two years, less what the first means need: a choice, by which the past counts as far as it is alike
        first = max(2 * season, len(history) - 2 * season_length(history.time.step, "year"), len(history) // 4)
        return learn_overdispersion(history, expect, first=first, horizons=_HORIZONS)

    def _slot_means(self, history: History, slot: IntArray, untils: IntArray) -> _SlotMeans:
        """Return the means of slots over the bins before each of ``untils``: origins x slots x (places and all).

        Beside them are the variances of their errors, and of the part of these that all slots have in common.
        """
        firsts = np.zeros(len(untils), np.int64)
        if self.years is not None:
            firsts = np.maximum(untils - self.years * season_length(history.time.step, "year"), 0)
        counted, values, known_noise, weights, weighted, noise, squared = _slot_sums(history, slot, firsts, untils)
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
        targets = origins[:, None] + np.arange(horizon)[None, :]
        slot = slots(history.time, int(origins.max()) + horizon)
        return _of_slots(self._means, self._variances, self._shared, slot[targets])

    def _leads(self, origins: IntArray, horizon: int) -> FloatArray:
        leads = origins[:, None] + np.arange(1, horizon + 1)[None, :] - self._n_times
        return np.asarray(np.maximum(leads, 1), np.float64)


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
    kept: ClassVar[Kept] = {**ResidualForecaster.kept, "levels": floats, "errors": floats, "deviation": float}

    def __init__(self, *, season: str = "week") -> None:
        self.season = season

    def _learn_rule(self, series: Series, history: History) -> Overdispersion:
        step, n_times = history.time.step, len(history)
        season, year = season_length(step, self.season), season_length(step, "year")
        history.check_long_enough(min(season, _FEWEST_BINS), forecaster=self.name)
        self._levels, self._errors = history.levels(max(n_times - year, 0), n_times)
        self._deviation = _relative_deviation(history, max(n_times - 2 * year, 0))
        first = max(min(season, n_times // 2), n_times - 3 * year)
        return learn_overdispersion(history, partial(self._expect, history), first=first, horizons=_HORIZONS)

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        season = season_length(history.time.step, self.season)
        steps = np.arange(horizon)
        source = origins[:, None] + (steps % season)[None, :] - season
        counted = history.series.counted
        while (is_missing := (source >= 0) & ~counted[np.maximum(source, 0)]).any():
            source = np.where(is_missing, source - season, source)
        is_known = (source >= 0)[:, :, None] & history.observed[np.maximum(source, 0)]
        levels, rates = self._levels, np.square(self._deviation * self._levels)
        noise = history.variances[np.maximum(source, 0)]
        gain = np.where(is_known, (levels + rates) / (levels + rates + noise), 0.0)
        half = 2 * levels / (2 * levels + 1)
        means = levels + half * gain * (np.where(is_known, history.values[np.maximum(source, 0)], levels) - levels)
        shared = (1 - gain) * (rates + self._errors)
        repeats = np.broadcast_to(np.bincount(steps % season)[steps % season].astype(float), source.shape)
        means = np.maximum(means, _LEAST * levels)
        return Expected(_added_up(means), known=gain * levels * half, repeats=repeats, shared=shared)


def _relative_deviation(history: History, first: int) -> float:
    """Return how much the total of all places varies beyond chance and noise, relative to its mean."""
    is_observed = history.observed[first:, -1]
    totals = history.values[first:, -1][is_observed]
    mean = max(float(totals.mean()), float(history.floor[-1]))
    noise = float(history.variances[first:, -1][is_observed].mean())
    # no less than 10 %, what weeks and seasons make of any series, and no more than the mean itself
    return float(np.sqrt(np.clip((totals.var() - noise - mean) / mean**2, 0.01, 1.0)))


def _slot_sums(history: History, slot: IntArray, firsts: IntArray, untils: IntArray) -> FloatArray:
    """Return sums over the counted bins of every slot (terms x origins x slots x (places and all)), in one pass.

    They go from each of ``firsts`` up to each of ``untils``. Terms are how many, counts, their noise, weights, weighted
    counts, their noise, and squares of weights.
    """
    levels, _ = history.levels(0, len(history))
    is_observed = history.observed
    weights = np.where(is_observed, levels / (levels + history.units), 0.0)
    values, noise = np.where(is_observed, history.values, 0.0), np.where(is_observed, history.variances, 0.0)
    terms = (is_observed, values, noise, weights, weights * values, np.square(weights) * noise, np.square(weights))
    sums = np.zeros((len(terms), len(untils), n_slots(history.time.step), values.shape[1]))
    for number in range(sums.shape[2]):
        bins = np.flatnonzero(slot[: len(history)] == number)
        low, high = np.searchsorted(bins, firsts), np.searchsorted(bins, untils)
        for term, found in zip(terms, sums, strict=True):
            running = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(term[bins], axis=0)])
            found[:, number] = running[high] - running[low]
    return sums


def _of_slots(means: FloatArray, variances: FloatArray, shared: FloatArray, slot: IntArray) -> Expected:
    """Return the expected counts of bins (origins x horizon), the means of their slots."""
    counts = np.stack([np.bincount(row, minlength=means.shape[1]) for row in slot])
    repeats = np.take_along_axis(counts, slot, axis=1).astype(np.float64)
    row = np.arange(len(slot))[:, None] if len(means) > 1 else np.zeros((1, 1), np.int64)
    return Expected(_added_up(means[row, slot]), variances[row, slot], repeats, shared[row, slot])


def _added_up(means: FloatArray) -> FloatArray:
    """Return the same, places in proportion so that they add up to what is expected of all, the last column."""
    places, whole = means[..., :-1], means[..., -1:]
    return np.concatenate([places * (whole / places.sum(axis=-1, keepdims=True)), whole], axis=-1)
