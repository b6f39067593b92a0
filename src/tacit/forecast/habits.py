"""The level of a series at any time, by what is recent: what boosted trees start from.

The total of all places is followed by a fading mean, free of the week's rhythm and of bursts; each place has a share
of it, by a fading mean of its own. How fast they fade is learned from the counts themselves, by the Poisson loss
:math:`\\mu - y \\log \\mu`: it is linear in y, so that noise leaves it unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.extras import require
from tacit.forecast.history import History
from tacit.statespace.calendar import n_slots, season_length, slots

BURST_WEIGHT: Final = 0.1
_BURST: Final = 1.35  # times what is expected, and
_FAR: Final = 3.0  # deviations above, a total is out of the ordinary
_LEAST_LEVEL: Final = 1e-6
_HALF_LIVES: Final = (0.5, 1.0, 2.0, 4.0)  # of the level, in seasons
_SHARE_HALF_LIVES: Final = (13.0, 26.0, 52.0, 104.0, 208.0)
_LEAST_SHARE: Final = 0.1  # of an equal one


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """The factor of each slot of the season, and the half-lives, in bins, of the level and of shares."""

    rhythm: FloatArray
    half_life: float
    share_half_life: float

    @classmethod
    def learned(cls, history: History) -> Habits:
        """What suits a history best."""
        step = history.time.step
        season, n_times = season_length(step), len(history)
        habits = cls(_rhythm(history), season, 52.0 * season)
        first = max(n_times - 4 * season_length(step, "year"), min(2 * season, n_times // 2))
        bins = np.flatnonzero(history.counted[first:]) + first
        found = []
        for seasons in _HALF_LIVES:
            levels = cls(habits.rhythm, seasons * season, habits.share_half_life).levels(history)
            found.append((_loss(levels.totals(bins), history.values[bins, -1], levels.weights[bins]), seasons))
        half_life = min(found)[1] * season
        found = []
        for seasons in _SHARE_HALF_LIVES:
            levels = cls(habits.rhythm, half_life, seasons * season).levels(history)
            means = np.maximum(levels.expected(bins, bins), 1e-6)
            found.append((_loss(means, history.values[bins, :-1], levels.weights[bins, None]), seasons))
        return cls(habits.rhythm, half_life, min(found)[1] * season)

    def levels(self, history: History) -> Levels:
        """The level and the shares that are known at each bin of a history and at its end."""
        slot = slots(history.time, len(history))
        factors, totals = self.rhythm[slot], history.values[:, -1]
        level = _followed(history, factors, 0.5 ** (1 / self.half_life))
        weights = np.where(totals > _cap(level[:-1] * factors, history.variances[:, -1]), BURST_WEIGHT, 1.0)
        weights = np.where(history.counted, weights, 0.0)
        fades = 0.5 ** (1 / self.share_half_life)
        shares = _shares(history.values, weights, fades)
        noise = fading(history.variances[:, :-1] * np.square(weights)[:, None], fades**2)
        summed = np.maximum(fading(history.values[:, -1] * weights, fades), 1.0)
        return Levels(history, self.rhythm, level, shares, weights, noise / np.square(summed)[:, None])

    def state(self) -> dict[str, Any]:
        """As plain data and arrays."""
        return {"rhythm": self.rhythm, "half_life": self.half_life, "share_half_life": self.share_half_life}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Habits:
        return cls(np.asarray(state["rhythm"], np.float64), float(state["half_life"]), float(state["share_half_life"]))


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """At each origin (bins + 1) the level of all places, without the week's rhythm, and the share of each.

    ``weights`` (bins) are 0 for bins not counted and little for bursts; ``share_noise`` (as shares) is the variance
    that the noise of counts gives to shares.
    """

    history: History
    rhythm: FloatArray
    level: FloatArray
    shares: FloatArray
    weights: FloatArray
    share_noise: FloatArray

    def totals(self, bins: IntArray) -> FloatArray:
        """The total expected in bins, just before each."""
        return np.maximum(self.level[bins] * self.factors(bins), 1e-6)

    def expected(self, origins: IntArray, bins: IntArray) -> FloatArray:
        """What is expected at origins of each place in bins (of the same shape): shape x places."""
        totals = self.level[origins] * self.factors(bins)
        return np.asarray(totals[..., None] * self.shares[origins], np.float64)

    def factors(self, bins: IntArray) -> FloatArray:
        """The week's rhythm in bins, to come as well."""
        last = int(bins.max(initial=0)) + 1
        slot = slots(self.history.time, last)
        return np.asarray(self.rhythm[slot[bins]], np.float64)


def fading(values: FloatArray, factor: float) -> FloatArray:
    """The sum of all bins before each origin, each weighted by ``factor`` to the power of its age."""
    signal = require("scipy.signal", extra="forecast")
    faded = signal.lfilter([1.0], [1.0, -factor], values, axis=0)
    return np.concatenate([np.zeros((1, *values.shape[1:])), faded])


def _rhythm(history: History) -> FloatArray:
    slot = slots(history.time, len(history))[history.counted]
    totals = history.values[history.counted, -1]
    overall = max(float(np.median(totals)), float(totals.mean()) / 4, 1e-6)
    capped = np.minimum(totals, 3 * max(overall, float(totals.mean())))
    n_bins = np.bincount(slot, minlength=n_slots(history.time.step))
    sums = np.bincount(slot, capped, minlength=len(n_bins))
    mean = max(float(capped.mean()), 1e-6)
    # each slot is drawn to the mean by the weight of a bin, so that none is ever nought
    return np.asarray(np.maximum((sums + mean) / (n_bins + 1) / mean, 0.05), np.float64)


def _cap(expected: FloatArray, noise: FloatArray) -> FloatArray:
    """Above this a total is a burst: neither chance nor noise, nor what a day may be busier than others."""
    return np.asarray(_BURST * expected + _FAR * np.sqrt(expected + noise), np.float64)


def _followed(history: History, factors: FloatArray, fading_factor: float) -> FloatArray:
    """The level before each bin, and after all: fading sums of totals over those of the rhythm; bursts are capped."""
    start = slice(0, season_length(history.time.step))
    counted = history.counted
    summed = float(history.values[start, -1][counted[start]].sum())
    expected = float(factors[start][counted[start]].sum())
    if expected == 0:
        summed, expected = float(history.values[counted, -1].mean()), 1.0
    found = np.empty(len(history) + 1)
    level = max(summed / expected, _LEAST_LEVEL)
    # half a season's weight of the first level, until there is more to go by
    summed, expected = level * len(factors[start]) / 2, len(factors[start]) / 2
    columns = (history.values[:, -1], history.variances[:, -1], factors, counted)
    for bin, (value, noise, factor, is_counted) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        found[bin] = level
        if is_counted:
            usual = level * factor
            cap = _BURST * usual + _FAR * math.sqrt(usual + noise)
            summed = fading_factor * summed + min(value, cap)
            expected = fading_factor * expected + factor
            level = max(summed / expected, _LEAST_LEVEL)
    found[-1] = level
    return found


def _shares(values: FloatArray, weights: FloatArray, factor: float) -> FloatArray:
    """The share of each place before each bin, and after all: above 0, adding up to 1."""
    summed = fading(values * weights[:, None], factor)
    n_places = values.shape[1] - 1
    shares = summed[:, :-1] / np.maximum(summed[:, -1:], 1e-6)
    shares = np.maximum(np.where(summed[:, -1:] > 0, shares, 1 / n_places), _LEAST_SHARE / n_places)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)


def _loss(means: FloatArray, counts: FloatArray, weights: FloatArray) -> float:
    return float((weights * (means - counts * np.log(means))).sum())
