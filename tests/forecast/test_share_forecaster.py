"""The default forecaster; what all forecasters have in common is tested in test_every_forecaster."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import PLACES, SHARES, noisy_series, small_counts, small_domain, small_means, small_series
from tacit.counts.series import Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DataError, SettingError
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.statespace.covariates import Covariates


def test_noise_costs_little_of_what_is_known_of_the_coming_days() -> None:
    """The expected counts of 100 days, from counts whose noise is twice their chance, are within a tenth."""
    series = noisy_series(unit=2.0)
    forecaster = ShareForecaster().fit(series.until(630))
    means = forecaster.predict_from(series, np.arange(630, 730), 1).counts.means[:, 0]
    assert np.abs(means / small_means()[630:] - 1).mean() < 0.1


def test_nobody_who_forgot_to_say_so_makes_a_gap_a_fall() -> None:
    counts = small_counts()
    counts[600:690] = 0
    forecast = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(7)
    np.testing.assert_allclose(forecast.totals.means.mean(), small_means()[-40:].sum(axis=1).mean(), rtol=0.12)
    assert forecast.notes == ("88 days without any event were taken for a gap: the level around says so",)


def test_a_series_that_ends_in_a_gap_is_told_with_less_certainty() -> None:
    counts = small_counts()
    whole = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(1).totals
    counts[640:] = 0
    gap = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(1).totals
    # relative to the mean, which may fall in the gap
    gap_relative, whole_relative = (one.variances[0] / one.means[0] ** 2 for one in (gap, whole))
    assert gap_relative > 1.15 * whole_relative
    assert gap.means[0] == pytest.approx(whole.means[0], rel=0.25)


def test_a_place_without_history_is_expected_to_have_next_to_nothing() -> None:
    counts = small_counts(n_days=400)
    counts[:, 2] = 0
    distribution = ShareForecaster().fit(Series.exact(small_domain(400), counts)).predict(7).counts
    assert (distribution.means[:, 2] < 0.2).all()
    assert (distribution.quantiles(0.95)[:, 2] <= 1).all()


def test_a_day_is_refused_and_a_week_answered_with_a_wide_interval() -> None:
    with pytest.raises(DataError, match="needs at least 2 time bins that were counted"):
        ShareForecaster().fit(Series.exact(small_domain(1), small_counts(n_days=1)))
    distribution = ShareForecaster().fit(Series.exact(small_domain(7), small_counts(n_days=7))).predict(3).totals
    low, high = distribution.intervals(0.95)
    assert (high - low > 0.7 * distribution.means).all()


def test_a_year_ahead_is_told_with_less_certainty_than_tomorrow() -> None:
    distribution = ShareForecaster().fit(noisy_series(n_days=400)).predict(365).totals
    beyond_chance = (distribution.variances - distribution.means) / np.square(distribution.means)
    assert beyond_chance[-7:].mean() > 1.5 * beyond_chance[:7].mean()


def test_populations_help_where_noise_hides_places() -> None:
    series = noisy_series(unit=300.0, counts=small_counts(n_days=200))
    prior = dict(zip(PLACES, (6e4, 3e4, 1e4), strict=True))
    gaps = []
    for given in (None, prior):
        distribution = ShareForecaster(given).fit(series).predict(1).counts
        gaps.append(np.abs(distribution.means[0] / distribution.means[0].sum() - SHARES).sum())
    assert gaps[1] < gaps[0]


def test_a_prior_must_have_every_place() -> None:
    with pytest.raises(SettingError, match="prior must have a number above 0 for every place; 2 of 3 have none"):
        ShareForecaster({"North": 3.0, "South": -1.0}).fit(noisy_series(n_days=40))


def test_what_is_unknown_of_the_days_ahead_is_said() -> None:
    time = TimeAxis("2016-01-01", "day", "Europe/Paris", 102)
    rain = Covariates(time, {"rain": np.arange(102) % 3 * 1.0}, ("rain is a guess",))
    forecast = ShareForecaster().fit(noisy_series(n_days=100), rain).predict(5)
    assert forecast.notes == ("rain is a guess", "rain is unknown for 3 of 5 days ahead, and taken as usual there")


def test_a_flag_ahead_changes_the_forecast_of_its_day() -> None:
    counts = small_counts(n_days=500)
    flags = np.zeros(510)
    flags[np.arange(10, 510, 17)] = 1
    counts[flags[:500] == 1] *= 2
    flags[503] = 1
    known = Covariates(TimeAxis("2016-01-01", "day", "Europe/Paris", 510), {"festival": flags})
    means = ShareForecaster().fit(Series.exact(small_domain(500), counts), known).predict(5).totals.means
    assert means[3] > 1.5 * np.median(means)


def test_hours_of_the_day_are_learned() -> None:
    time = TimeAxis("2018-01-01", "hour", "UTC", 24 * 28)
    busy = 4 + 3 * np.cos(2 * np.pi * (np.arange(24 * 28) % 24 - 17) / 24)
    counts = np.random.default_rng(1).poisson(busy[:, None] * np.array([0.7, 0.3]))
    series = Series.exact(Domain(time, PlaceAxis.of(["a", "b"])), counts)
    means = ShareForecaster().fit(series).predict(24).totals.means
    np.testing.assert_allclose(means, busy[:24], atol=1.3)


def test_a_forecast_of_little_data_says_so() -> None:
    week = ShareForecaster().fit(small_series(n_days=7)).predict(1)
    assert week.notes == ("7 days are little to learn from: how much they vary is what is usual elsewhere",)
    assert ShareForecaster().fit(small_series(n_days=28)).predict(1).notes == ()
