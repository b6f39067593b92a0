"""The default forecaster; what all forecasters have in common is tested in test_every_forecaster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_series import PLACES, SHARES, noisy_series, small_counts, small_domain, small_means, small_series
from statistical import Recorded, assert_as_recorded
from tacit._base.languages import retold, speaking
from tacit.counts.series import Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DataError, SettingError
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.statespace.covariates import Covariates


def error_under_noise(seed: int) -> dict[str, float]:
    """The error of what is expected of 100 days, from counts whose noise is twice their chance."""
    series = noisy_series(seed, unit=2.0)
    forecaster = ShareForecaster().fit(series.until(630))
    means = forecaster.predict_from(series, np.arange(630, 730), 1).counts.means[:, 0]
    return {"error": float(np.abs(means / small_means()[630:] - 1).mean())}


def unsaid_gap(seed: int) -> dict[str, float]:
    """What is expected after 90 days without events, beside the level before them."""
    counts = small_counts(seed)
    counts[600:690] = 0
    forecast = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(7)
    assert forecast.notes == ("88 days without any event were taken for a gap: the level around says so",)
    return {"level": float(forecast.totals.means.mean() / small_means()[-40:].sum(axis=1).mean())}


def gap_at_the_end(seed: int) -> dict[str, float]:
    """How much more uncertain, relative to the mean, a total is after a gap, and its mean beside that without one."""
    counts = small_counts(seed)
    whole = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(1).totals
    counts[640:] = 0
    gap = ShareForecaster().fit(Series.exact(small_domain(), counts)).predict(1).totals
    gap_relative, whole_relative = (one.variances[0] / one.means[0] ** 2 for one in (gap, whole))
    return {"variance": float(gap_relative / whole_relative), "mean": float(gap.means[0] / whole.means[0])}


def empty_place(seed: int) -> dict[str, float]:
    counts = small_counts(seed, n_days=400)
    counts[:, 2] = 0
    distribution = ShareForecaster().fit(Series.exact(small_domain(400), counts)).predict(7).counts
    assert (distribution.quantiles(0.95)[:, 2] <= 1).all()
    return {"mean": float(distribution.means[:, 2].max())}


ERROR_UNDER_NOISE: Recorded = {"error": (0.04074, 0.013)}
UNSAID_GAP: Recorded = {"level": (1.006, 0.023)}
GAP_AT_THE_END: Recorded = {"variance": (1.162, 0.041), "mean": (0.9857, 0.023)}
EMPTY_PLACE: Recorded = {"mean": (0.0007748, 0.00062)}


@pytest.mark.false_failure(1e-6)
def test_noise_costs_little_of_what_is_known_of_the_coming_days(seed: int) -> None:
    assert_as_recorded(error_under_noise, ERROR_UNDER_NOISE, seed)
    assert ERROR_UNDER_NOISE["error"][0] < 0.1


@pytest.mark.false_failure(1e-6)
def test_nobody_who_forgot_to_say_so_makes_a_gap_a_fall(seed: int) -> None:
    assert_as_recorded(unsaid_gap, UNSAID_GAP, seed)
    assert abs(UNSAID_GAP["level"][0] - 1) < 0.1


@pytest.mark.false_failure(1e-6)
@pytest.mark.slow
def test_a_series_that_ends_in_a_gap_is_told_with_less_certainty(seed: int) -> None:
    assert_as_recorded(gap_at_the_end, GAP_AT_THE_END, seed, n_runs=2)
    assert GAP_AT_THE_END["variance"][0] > 1.15
    assert abs(GAP_AT_THE_END["mean"][0] - 1) < 0.1


@pytest.mark.false_failure(1e-6)
def test_a_place_without_history_is_expected_to_have_next_to_nothing(seed: int) -> None:
    assert_as_recorded(empty_place, EMPTY_PLACE, seed, n_recorded=12)
    assert EMPTY_PLACE["mean"][0] < 0.2


def test_a_day_is_refused() -> None:
    with pytest.raises(DataError, match="needs at least 2 time bins that were counted"):
        ShareForecaster().fit(Series.exact(small_domain(1), small_counts(n_days=1)))


def week(seed: int) -> dict[str, float]:
    """The narrowest 95 % interval of three days after a week, beside its mean."""
    distribution = ShareForecaster().fit(Series.exact(small_domain(7), small_counts(seed, 7))).predict(3).totals
    low, high = distribution.intervals(0.95)
    return {"width": float(((high - low) / distribution.means).min())}


def year_ahead(seed: int) -> dict[str, float]:
    """How much more a total varies beyond chance, relative to its mean, in a year than in a week."""
    distribution = ShareForecaster().fit(noisy_series(seed, n_days=400)).predict(365).totals
    beyond_chance = (distribution.variances - distribution.means) / np.square(distribution.means)
    return {"ratio": float(np.log(beyond_chance[-7:].mean() / beyond_chance[:7].mean()))}


WEEK: Recorded = {"width": (0.8043, 0.021)}
YEAR_AHEAD: Recorded = {"ratio": (0.8443, 0.15)}
"""The logarithm of the ratio."""


@pytest.mark.false_failure(1e-6)
def test_a_week_is_answered_with_a_wide_interval(seed: int) -> None:
    assert_as_recorded(week, WEEK, seed, n_recorded=12)
    assert WEEK["width"][0] > 0.7


@pytest.mark.false_failure(1e-6)
@pytest.mark.slow
def test_a_year_ahead_is_told_with_less_certainty_than_tomorrow(seed: int) -> None:
    assert_as_recorded(year_ahead, YEAR_AHEAD, seed, n_runs=2)
    assert YEAR_AHEAD["ratio"][0] > np.log(1.5)


def test_populations_help_where_noise_hides_places() -> None:
    """All places seem to be alike, and their noise is far more than their counts: exact, as nothing is drawn."""
    series = noisy_series(unit=300.0, counts=small_counts(n_days=200))
    alike = np.repeat(series.values.sum(axis=1, keepdims=True) / 3, 3, axis=1)
    series = replace(series, observations=replace(series.observations, counts=alike))
    gaps = []
    for given in (None, dict(zip(PLACES, (6e4, 3e4, 1e4), strict=True))):
        means = ShareForecaster(given).fit(series).predict(1).counts.means[0]
        gaps.append(float(np.abs(means / means.sum() - SHARES).sum()))
    assert gaps[1] < 0.7 * gaps[0]


def test_a_prior_must_have_every_place() -> None:
    with pytest.raises(SettingError, match="prior must have a number above 0 for every place; 2 of 3 have none"):
        ShareForecaster({"North": 3.0, "South": -1.0}).fit(noisy_series(n_days=40))


def test_what_is_unknown_of_the_days_ahead_is_said() -> None:
    time = TimeAxis("2016-01-01", "day", "Europe/Paris", 102)
    rain = Covariates(time, {"rain": np.arange(102) % 3 * 1.0}, ("rain is a guess",))
    forecast = ShareForecaster().fit(noisy_series(n_days=100), rain).predict(5)
    assert forecast.notes == ("rain is a guess", "rain is unknown for 3 of 5 days ahead, and taken as usual there")


def festival(seed: int) -> dict[str, float]:
    """What is expected of a day with a flag that doubled others, beside the days around it."""
    counts = small_counts(seed, n_days=500)
    flags = np.zeros(510)
    flags[np.arange(10, 510, 17)] = 1
    counts[flags[:500] == 1] *= 2
    flags[503] = 1
    known = Covariates(TimeAxis("2016-01-01", "day", "Europe/Paris", 510), {"festival": flags})
    means = ShareForecaster().fit(Series.exact(small_domain(500), counts), known).predict(5).totals.means
    return {"ratio": float(means[3] / np.median(means))}


def hours(seed: int) -> dict[str, float]:
    """How far the expected hours of a day are off at most, of 1 to 7 events."""
    time = TimeAxis("2018-01-01", "hour", "UTC", 24 * 28)
    busy = 4 + 3 * np.cos(2 * np.pi * (np.arange(24 * 28) % 24 - 17) / 24)
    counts = np.random.default_rng(seed).poisson(busy[:, None] * np.array([0.7, 0.3]))
    series = Series.exact(Domain(time, PlaceAxis.of(["a", "b"])), counts)
    return {"off": float(np.abs(ShareForecaster().fit(series).predict(24).totals.means - busy[:24]).max())}


FESTIVAL: Recorded = {"ratio": (1.87, 0.066)}
HOURS: Recorded = {"off": (0.698, 0.19)}


@pytest.mark.false_failure(1e-6)
def test_a_flag_ahead_changes_the_forecast_of_its_day(seed: int) -> None:
    assert_as_recorded(festival, FESTIVAL, seed, n_recorded=12)
    assert FESTIVAL["ratio"][0] > 1.5


@pytest.mark.false_failure(1e-6)
@pytest.mark.slow
def test_hours_of_the_day_are_learned(seed: int) -> None:
    assert_as_recorded(hours, HOURS, seed, n_recorded=12)
    assert HOURS["off"][0] < 1.3


def test_a_forecast_of_little_data_says_so() -> None:
    week = ShareForecaster().fit(small_series(n_days=7)).predict(1)
    assert week.notes == ("7 days are little to learn from: how much they vary is what is usual elsewhere",)
    assert ShareForecaster().fit(small_series(n_days=28)).predict(1).notes == ()


def test_a_forecast_says_how_many_periods_are_missing_and_that_the_first_was_cut() -> None:
    series = small_series(n_days=70)
    assert notes_without(series, [9]) == ("1 day is missing and was left out",)
    assert notes_without(series, [9, 12]) == ("2 days are missing and were left out",)
    weeks = replace(series.domain, time=TimeAxis.between("2018-01-03", "2019-05-05", step="week"))
    cut = "the first week was counted in part only, and was left out"
    assert notes_without(replace(series, domain=weeks), [0]) == (cut,)
    assert notes_without(replace(series, domain=weeks), [0, 9]) == ("1 week is missing and was left out", cut)
    with speaking("fr"):
        assert retold(cut) == "la première période (semaine) n’a été comptée qu’en partie\u202f; elle est écartée"


def notes_without(series: Series, bins: list[int]) -> tuple[str, ...]:
    """What a forecast says of a series of which these bins are missing."""
    seen = ~np.isin(np.arange(len(series)), bins)
    return ShareForecaster().fit(series.masked(seen[:, None])).predict(1).notes


def test_an_updated_forecaster_filters_the_past_with_the_covariates_it_is_given() -> None:
    series = small_series()
    rain = np.random.default_rng(5).normal(size=760)
    early, corrected = (Covariates(small_domain(760).time, {"rain": one}) for one in (rain, rain + 2 * (rain < 0)))
    asked, fresh = (ShareForecaster().fit(series, early) for _ in range(2))
    asked.predict(7)
    means = [one.updated(series, corrected).predict(7).totals.means for one in (asked, fresh)]
    np.testing.assert_array_equal(*means)
