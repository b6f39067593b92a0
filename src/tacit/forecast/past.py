"""The past that a release tells of: as a series, without untold gaps, and as models of shares and baselines see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.extras import require
from tacit.counts.series import Observations, Series
from tacit.domain import TimeAxis
from tacit.errors import DataError, SettingError
from tacit.release import Release
from tacit.statespace.covariates import season_length
from tacit.statespace.settings import SETTINGS
from tacit.statespace.totals import FilteredRates, TotalModel

FEWEST_BINS: Final = 2  # one bin has no successor to learn from
_SHORTEST: Final = 3  # zeros in a row that may be a gap; two happen to quiet series on a weekend
_SEASONS: Final = 8  # before a bin, whose median says what was to be expected of it
_LEAST_EXPECTED: Final = 20.0  # events: none of them is chance once in five hundred million times (e^-20)
_FAR: Final = 30.0  # standard deviations from 0 beyond which a normal tail is none
_LEAST_PART: Final = 0.1  # of the expected total a noisy one is taken for at least: shares are divided by it


def series_of(release: Release) -> Series:
    """Return the unbiased counts of a release in time order; what its rules call missing is missing.

    A bin counted in part is no count of a whole one: the first is taken for missing, the last left out, so that a
    forecast begins with it.
    """
    if "time" in release.plan.private and not release.plan.is_central:
        raise SettingError(
            "a forecast needs counts whose times are public; this release hides the time of every event, and errors of "
            "its periods are correlated. Forecast a release that hides the place."
        )
    if np.isnan(release.unbiased.values).any():
        raise SettingError(
            "a forecast needs all counts of its release; rules of this one suppressed some, and those are gone. "
            "Release it without suppressing, or in longer periods."
        )
    n_times = release.domain.shape[0]
    axis = release.domain.time
    missing = np.asarray(release.rules.days_missing(axis) > 0, bool)
    missing[0] |= axis.is_partial(0)
    series = Series.of(release.unbiased, missing=missing, origin=release.checksum)
    if n_times > 1 and axis.is_partial(n_times - 1):
        series = series.until(n_times - 1)
    n_counted = int(series.counted.sum())
    if n_counted < FEWEST_BINS:
        raise SettingError(
            f"a forecast needs at least {FEWEST_BINS} periods counted in full; this release has {n_counted}. "
            "Release finer periods, or wait for more of them."
        )
    return series


def without_gaps(series: Series, n_learned: int) -> Series:
    """Return a series without the bins that were not counted though nobody said so.

    The first ``n_learned`` bins may be looked at as a whole. Where totals are not public, noise hides such bins.
    """
    if not series.has_public_totals:
        return series
    season, counts, counted = season_length(series.domain.time.step), series.totals, series.counted
    # a day of hours, or three longer bins
    shortest = max(_SHORTEST, season // 7) if season % 7 == 0 else _SHORTEST
    found = gaps(counts, counted, season, shortest=shortest)
    found[:n_learned] |= leading_zeros(counts[:n_learned], counted[:n_learned], season)
    return series.masked(~found[:, None]) if found.any() else series


def share_observations(series: Series, model: TotalModel, rates: FilteredRates) -> tuple[Observations, FloatArray]:
    """Return what is known of shares, and the excess of each total, as a part of it.

    Where totals are not public, shares are of the posterior mean of each total: between what was expected and what was
    measured, nearer to the less uncertain of the two.
    """
    known, counted = series.observations, series.counted
    expected, overdispersion = np.exp(rates.logs), model.hyperparameters.overdispersion
    own = expected + (overdispersion + rates.variances) * np.square(expected)
    exposures = np.where(counted, known.exposures, 0.0)
    if not series.has_public_totals:
        gains = own / (own + rates.noise_variance)
        estimated = expected + gains * (series.totals - expected)
        exposures = np.where(counted, np.maximum(estimated, _LEAST_PART * expected), 0.0)
        units = series.variances / np.where(counted, exposures, 1.0)[:, None]
        known = replace(known, unit_variance=units, slopes=np.zeros((1, units.shape[1])), is_shared=True, cancels=False)
    beyond = np.maximum(exposures - expected - SETTINGS.excess_sd * np.sqrt(own), 0.0)
    excess = np.divide(beyond, exposures, out=np.zeros(len(expected)), where=exposures > 0)
    return replace(known, exposures=exposures, counts=np.where(counted[:, None], known.counts, 0.0)), excess


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """A series as rules without a model see it, in arrays of bins x (places and, last, all together).

    ``values`` are unbiased counts, ``variances`` those of their noise, ``observed`` the series' mask. ``units`` is the
    variance of the noise as it would be in a bin of average size: noise may grow with the count, and weights that did
    so too would favour quiet days.
    """

    series: Series
    values: FloatArray
    variances: FloatArray
    units: FloatArray
    observed: BoolArray

    @classmethod
    def of(cls, series: Series, shares: FloatArray | None = None) -> History:
        """Return the history of a series; ``shares`` of places settle its noise, its own without any."""
        known, shares = series.observations, series.shares if shares is None else shares
        variances = known.noise_variance(np.broadcast_to(shares, series.values.shape))
        all_variances = np.column_stack([variances, series.total_variances])
        observed, counted = series.observed, series.counted
        average = known.exposures[counted].mean() if counted.any() else 1.0
        scale = np.divide(average, known.exposures, out=np.ones(len(series)), where=known.exposures > 0)
        values = np.column_stack([series.values, series.totals])
        return cls(series, values, all_variances, all_variances * scale[:, None], observed)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def time(self) -> TimeAxis:
        return self.series.domain.time

    def check_long_enough(self, n_bins: int, *, forecaster: str) -> None:
        """Refuse a series with fewer than ``n_bins`` bins of which the total is known."""
        if (n_counted := int(self.observed[:, -1].sum())) < n_bins:
            raise DataError(
                f"{forecaster} needs a series of at least {n_bins} bins that were counted, in all places unless totals "
                f"are public; got {n_counted}, each a {self.time.step}. Wait for more, or count by a finer step."
            )

    @property
    def floor(self) -> FloatArray:
        """The least rate of each column: half an event in all that was counted."""
        return np.asarray(0.5 / np.maximum(self.observed.sum(axis=0), 1), np.float64)

    def levels(self, first: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return the mean of each column over these bins, positive whatever the noise, and its noise variance."""
        observed = self.observed[first:stop]
        n_observed = np.maximum(observed.sum(axis=0), 1)
        means = np.where(observed, self.values[first:stop], 0.0).sum(axis=0) / n_observed
        noise = np.where(observed, self.variances[first:stop], 0.0).sum(axis=0) / n_observed**2
        return np.asarray(np.maximum(positive_means(means, noise), self.floor), np.float64), noise


def positive_means(means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the posterior means of numbers that cannot be negative, from estimates with normal errors.

    It is the mean of the normal distribution truncated at 0: an estimate well above stays as it is, one below 0 becomes
    small, not none.

    >>> positive_means(np.array([8.0, -1.0, -1.0]), np.array([1.0, 1.0, 0.0])).round(3)
    array([8.   , 0.525, 0.   ])
    """
    special = require("scipy.special", extra="forecast")
    sd = np.sqrt(variances)
    at = np.divide(means, sd, out=np.zeros(np.shape(means)), where=sd > 0)
    at = np.clip(at, -_FAR, _FAR)
    ratio = np.exp(-np.square(at) / 2 - special.log_ndtr(at)) / np.sqrt(2 * np.pi)
    return np.asarray(np.where(sd > 0, np.maximum(means + sd * ratio, 0.0), np.maximum(means, 0.0)), np.float64)


def gaps(totals: FloatArray, observed: BoolArray, season: int, *, shortest: int = _SHORTEST) -> BoolArray:
    """Return where totals are zero for so long that it cannot be chance: nothing was counted there.

    What was to be expected of a bin is the median of the bins a season (week, year) and several before it that were
    counted. A run of at least ``shortest`` zeros where 20 or more events were expected would be chance once in five
    hundred million times. The past alone decides, so that a bin's verdict never changes: the first zeros of a run are
    believed, until it gets too long.

    >>> days = np.concatenate([np.full(30, 10.0), np.zeros(5), np.full(9, 10.0)])
    >>> np.flatnonzero(gaps(days, np.ones(44, bool), 7)).tolist()
    [32, 33, 34]
    """
    found = np.zeros(len(totals), bool)
    run, expected = 0, 0.0
    for t in np.flatnonzero(observed & (totals <= 0)).tolist():
        if not (t > 0 and observed[t - 1] and totals[t - 1] <= 0):
            run, expected = 0, 0.0
        run += 1
        before = np.arange(t - season, max(t - (_SEASONS * season) - 1, -1), -season)
        before = before[observed[before] & ~found[before]]
        if len(before):
            expected += float(np.median(totals[before]))
        found[t] = run >= shortest and expected >= _LEAST_EXPECTED
    return found


def leading_zeros(totals: FloatArray, observed: BoolArray, season: int) -> BoolArray:
    """Return zeros before the first event, where the level just after them says that nothing was counted yet."""
    found = np.zeros(len(totals), bool)
    events = np.flatnonzero(observed & (totals > 0))
    if not len(events) or events[0] < _SHORTEST:
        return found
    first = int(events[0])
    level = float(np.median(totals[first : first + season * _SEASONS]))
    found[:first] = level * first >= _LEAST_EXPECTED
    return found & observed
