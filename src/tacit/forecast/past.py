"""The past that a release tells of, and what models of totals and shares observe of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit.counts.measured import Measured
from tacit.counts.series import Series
from tacit.errors import SettingError
from tacit.release import Release
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates
from tacit.statespace.totals import FilteredRates, TotalModel, Totals

FEWEST_BINS: Final = 2  # one bin has no successor to learn from
_SHORTEST: Final = 3  # zeros in a row that may be a gap; two happen to quiet series on a weekend
_SEASONS: Final = 8  # before a bin, whose median says what was to be expected of it
_LEAST_EXPECTED: Final = 20.0  # events: none of them is chance once in five hundred million times (e^-20)
_EXCESS_SD: Final = 2.0  # from which a total has an excess; without the rule forecasts of storms are up to 3.5 % worse
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
    n_counted = int(np.sum(~series.missing))
    if n_counted < FEWEST_BINS:
        raise SettingError(
            f"a forecast needs at least {FEWEST_BINS} periods counted in full; this release has {n_counted}. "
            "Release finer periods, or wait for more of them."
        )
    return series


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """A series and its totals; ``gaps`` are bins that were not counted though nobody said so."""

    series: Series
    totals: Totals
    gaps: BoolArray

    @classmethod
    def of(cls, series: Series, covariates: Covariates | None, n_learned: int) -> Past:
        """Return the past of a series, of which the first ``n_learned`` bins may be looked at as a whole."""
        time, n_times = series.domain.time, len(series)
        is_observed = ~series.missing
        for bin in (0, n_times - 1):
            is_observed[bin] &= not time.is_partial(bin)
        counts = np.asarray(series.totals, np.float64)
        found = np.zeros(n_times, bool)
        if series.has_public_totals:
            season = season_length(time.step)
            # a day of hours, or three longer bins
            shortest = max(_SHORTEST, season // 7) if season % 7 == 0 else _SHORTEST
            found = gaps(counts, is_observed, season, shortest=shortest)
            found[:n_learned] |= leading_zeros(counts[:n_learned], is_observed[:n_learned], season)
            is_observed &= ~found
        return cls(series, Totals(time, counts, series.total_variances, is_observed, covariates), found)

    def of_shares(self, model: TotalModel, rates: FilteredRates) -> tuple[Measured, FloatArray]:
        """Return what is known of shares, and the excess of each total, as a part of it.

        Where totals are not public, shares are of the posterior mean of each total: between what was expected and what
        was measured, nearer to the less uncertain of the two.
        """
        totals, known, is_observed = self.totals, self.series.measured, self.totals.is_observed
        expected, overdispersion = np.exp(rates.logs), model.hyperparameters.overdispersion
        own = expected + (overdispersion + rates.variances) * np.square(expected)
        exposures = np.where(is_observed, known.exposures, 0.0)
        if not self.series.has_public_totals:
            gains = own / (own + totals.noise_variance)
            estimated = np.maximum(expected + gains * (totals.counts - expected), _LEAST_PART * expected)
            exposures = np.where(is_observed, estimated, 0.0)
            units = self.series.variances / np.where(is_observed, exposures, 1.0)[:, None]
            none = np.zeros((1, units.shape[1]))
            known = replace(known, unit_errors=units, slopes=none, is_shared=True, cancels=False)
        beyond = np.maximum(exposures - expected - _EXCESS_SD * np.sqrt(own), 0.0)
        excess = np.divide(beyond, exposures, out=np.zeros(len(expected)), where=exposures > 0)
        return replace(known, exposures=exposures, counts=np.where(is_observed[:, None], known.counts, 0.0)), excess


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
