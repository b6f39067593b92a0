"""Forecasts that need no model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_series import noisy_series, small_counts, small_domain, small_means, small_series
from statistical import Recorded, assert_as_recorded
from tacit.counts.series import Series
from tacit.errors import SettingError
from tacit.forecast.baselines import SeasonalNaive, WeekdayMean


def test_the_weekday_mean_is_the_mean_of_that_weekday() -> None:
    counts = small_counts()
    forecast = WeekdayMean().fit(small_series()).predict(7)
    expected = [counts[(730 + day) % 7 :: 7].mean(axis=0) for day in range(7)]
    np.testing.assert_allclose(forecast.counts.means, expected)
    np.testing.assert_allclose(forecast.totals.means, np.sum(expected, axis=1))


def test_the_last_year_alone_can_be_taken() -> None:
    counts = small_counts()[730 - 364 :]
    forecast = WeekdayMean(years=1).fit(small_series()).predict(7)
    np.testing.assert_allclose(forecast.counts.means, [counts[day::7].mean(axis=0) for day in range(7)])


def test_a_count_with_more_noise_counts_for_less() -> None:
    series = Series.exact(small_domain(28), np.full((28, 3), 10))
    units = np.zeros((28, 3))
    counts = series.values.copy()
    counts[7:14], units[7:14] = 40.0, 1000.0
    known = replace(series.observations, counts=counts, exposures=np.ones(28), is_shared=False, cancels=False)
    noisy = replace(series, observations=replace(known, unit_variance=units, total_variance=units.sum(axis=1)))
    means = WeekdayMean().fit(noisy).predict(7).counts.means
    assert (means < 17.5).all()  # the plain mean
    assert (means > 10.0).all()


def test_a_missing_bin_is_no_zero() -> None:
    counts = small_counts()
    missing = np.zeros(730, bool)
    missing[100:190] = True
    emptied = np.where(missing[:, None], 0, counts)
    one = WeekdayMean().fit(Series.exact(small_domain(), emptied, missing=missing)).predict(1)
    kept = counts[~missing & (np.arange(730) % 7 == 730 % 7)]
    np.testing.assert_allclose(one.counts.means[0], kept.mean(axis=0))


@pytest.mark.false_failure(1e-9)
def test_under_noise_weekdays_are_those_of_all_places(seed: int) -> None:
    """Over 60 seeds the largest difference was 0.022 +- 0.007; each place for itself has half of its mean."""
    forecast = WeekdayMean().fit(noisy_series(seed, unit=400.0)).predict(7)
    relative = forecast.counts.means / forecast.counts.means.mean(axis=0)
    rhythm = forecast.totals.means / forecast.totals.means.mean()
    np.testing.assert_allclose(relative, np.repeat(rhythm[:, None], 3, axis=1), rtol=0.12)


def test_exact_counts_are_repeated_all_but_as_they_are() -> None:
    counts = small_counts().astype(float)
    forecast = SeasonalNaive().fit(small_series()).predict(14)
    level = counts[730 - 364 :].mean(axis=0)
    half = 2 * level / (2 * level + 1)
    expected = np.maximum(level + half * (counts[-7:] - level), 0.2 * level)
    level, totals = level.sum(), counts[-7:].sum(axis=1)
    whole = level + 2 * level / (2 * level + 1) * (totals - level)
    expected *= (whole / expected.sum(axis=1))[:, None]  # places add up
    np.testing.assert_allclose(forecast.counts.means, np.tile(expected, (2, 1)))


@pytest.mark.false_failure(1e-9)
def test_a_year_back_is_the_same_weekday(seed: int) -> None:
    """Over 60 seeds the largest difference was 0.0024 +- 0.0009."""
    counts = small_counts(seed).sum(axis=1).astype(float)
    forecast = SeasonalNaive(season="year").fit(small_series(seed)).predict(3)
    np.testing.assert_allclose(forecast.totals.means, counts[730 - 364 : 730 - 361], rtol=0.015)


@pytest.mark.false_failure(1e-9)
def test_a_missing_week_is_passed_over(seed: int) -> None:
    """Over 60 seeds the largest difference was 0.0033 +- 0.0007."""
    missing = np.zeros(730, bool)
    missing[-7:] = True
    series = Series.exact(small_domain(), small_counts(seed), missing=missing)
    means = SeasonalNaive().fit(series).predict(7).totals.means
    np.testing.assert_allclose(means, small_counts(seed)[-14:-7].sum(axis=1), rtol=0.02)


def noise_and_age(seed: int) -> dict[str, float]:
    """The error under much noise beside that of exact counts, and how much wider means of a year ago are."""
    series, truth = small_series(seed), small_means()[-7:]
    exact, noisy = (
        np.abs(SeasonalNaive().fit(known).predict(7).counts.means - truth).mean()
        for known in (series, noisy_series(seed, unit=100.0))
    )
    forecasts = WeekdayMean().fit(series.until(400)).predict_from(series, np.array([400, 722]), 1)
    first, last = forecasts.totals.variances[:, 0] / np.square(forecasts.totals.means[:, 0])
    return {"error": float(noisy / exact), "wider": float(last / first)}


NOISE_AND_AGE: Recorded = {"error": (1.086, 0.35), "wider": (1.23, 0.16)}


@pytest.mark.false_failure(1e-6)
def test_noise_draws_last_week_to_the_mean_and_old_means_have_a_wider_distribution(seed: int) -> None:
    """The noise of a day has more than ten times the standard deviation of its count, and would show if left."""
    assert_as_recorded(noise_and_age, NOISE_AND_AGE, seed)
    assert NOISE_AND_AGE["error"][0] < 2
    assert NOISE_AND_AGE["wider"][0] > 1.1


@pytest.mark.false_failure(1e-9)
def test_the_sum_of_a_month_varies_more_than_days_that_have_nothing_to_do_with_each_other(seed: int) -> None:
    """Over 60 seeds by the factor 2.43 +- 0.08."""
    forecast = SeasonalNaive().fit(small_series(seed)).predict(28)
    assert (forecast.sums.variances > 1.5 * forecast.counts.variances.sum(axis=0)).all()


def test_settings_are_checked_when_learning() -> None:
    with pytest.raises(SettingError, match="years must be a whole number of at least 1"):
        WeekdayMean(years=0).fit(small_series())
    with pytest.raises(SettingError, match="season must be one of week, year"):
        SeasonalNaive(season="moon").fit(small_series())
