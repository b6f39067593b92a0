"""How many events there will be in all places together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.counts.observations import Observations
from tacit.counts.series import Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.statespace.covariates import Covariates
from tacit.statespace.settings import SETTINGS
from tacit.statespace.totals import TotalModel, _weights

N_DAYS = 1461
NONE = np.empty(0, np.int64)
Learned = tuple[Series, Covariates, TotalModel]


def _totals(seed: int = 1, noise: float = 0.0) -> tuple[Series, Covariates]:
    """Four years of days: a weekend twice as busy, a special 14 July, a holiday now and then."""
    rng = np.random.default_rng(seed)
    time = TimeAxis("2014-01-01", "day", "UTC", N_DAYS)
    days = time.starts().astype("datetime64[D]")
    weekday = (days.astype(int) + 3) % 7
    holiday = np.zeros(N_DAYS + 60)
    holiday[rng.choice(N_DAYS + 60, 40, replace=False)] = 1
    rates = 50 * np.where(weekday >= 5, 1.4, 1.0) * np.where(holiday[:N_DAYS] == 1, 1.5, 1.0)
    rates = rates * np.where(np.array([str(day)[5:] for day in days]) == "07-14", 2.5, 1.0)
    counts = rng.poisson(rates) + rng.normal(0, noise, N_DAYS)
    known = Covariates(TimeAxis("2014-01-01", "day", "UTC", N_DAYS + 60), {"holiday": holiday})
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    observations = Observations(
        np.ones(N_DAYS), counts[:, None], noise**2 * one, none, False, False, total_variance=np.full(N_DAYS, noise**2)
    )
    return Series(Domain(time, PlaceAxis.of(["all"])), observations), known


def _with(series: Series, last: float) -> Series:
    """The same with another last count."""
    counts = series.values.copy()
    counts[-1] = last
    return replace(series, observations=replace(series.observations, counts=counts))


@pytest.fixture(scope="module")
def learned() -> Learned:
    series, known = _totals()
    return series, known, TotalModel.learned(series, known)


def test_weekdays_holidays_and_special_days_are_found(learned: Learned) -> None:
    series, known, model = learned
    assert model.terms.specials == ("07-14",)
    origins = np.array([N_DAYS])
    rates = np.exp(
        model.predict(series.domain.time, known, model.filter(series, known, origins), origins, 60).means()[0]
    )
    days = series.domain.time.without_end().starts(N_DAYS + 60)[N_DAYS:].astype("datetime64[D]")
    is_holiday = known.columns["holiday"][N_DAYS:] == 1
    is_weekend = ((days.astype(int) + 3) % 7 >= 5) & ~is_holiday
    assert rates[is_weekend].mean() == pytest.approx(70, rel=0.08)
    assert rates[~is_weekend & ~is_holiday].mean() == pytest.approx(50, rel=0.08)


def test_learning_twice_gives_the_same_and_plain_data_bring_it_back(learned: Learned) -> None:
    series, known, model = learned
    assert TotalModel.from_dict(model.to_dict()).to_dict() == model.to_dict()
    short = series.until(200)
    assert TotalModel.learned(short, known).to_dict() == TotalModel.learned(short, known).to_dict()


def test_uncertainty_grows_with_the_horizon_and_in_a_gap(learned: Learned) -> None:
    series, known, model = learned
    origins = np.array([N_DAYS])
    ahead = model.predict(series.domain.time, known, model.filter(series, known, origins), origins, 360).variances()[0]
    assert ahead[0] < ahead[29] < ahead[359]
    blind = series.masked(np.arange(N_DAYS)[:, None] < N_DAYS - 90)
    assert model.filter(blind, known, NONE).variances[-1] > 1.2 * model.filter(series, known, NONE).variances[-1]


def test_a_storm_moves_the_level_little(learned: Learned) -> None:
    series, known, model = learned
    origins = np.array([N_DAYS])
    calm, struck = (
        model.predict(each.domain.time, known, model.filter(each, known, origins), origins, 1).means()[0, 0]
        for each in (series, _with(series, 20 * series.values[-1, 0]))
    )
    assert 0 < struck - calm < 0.1


def test_noisy_totals_are_believed_less() -> None:
    (quiet, known), (noisy, _) = _totals(), _totals(noise=40.0)
    with_noise, without = (
        TotalModel.learned(each, known).filter(each, known, NONE).logs[-300:] for each in (noisy, quiet)
    )
    assert np.abs(with_noise - without).mean() < 0.15
    assert np.abs(noisy.values - quiet.values)[-300:].mean() / 55 > 0.4


def test_a_week_has_usual_hyperparameters_and_is_told_with_little_certainty() -> None:
    week = _totals()[0].until(7)
    model = TotalModel.learned(week, None)
    assert model.hyperparameters == SETTINGS.totals.prior
    origins = np.array([7])
    rates = model.filter(week, None, origins)
    assert model.predict(week.domain.time, None, rates, origins, 1).variances()[0, 0] > 0.01


def test_past_forecasts_never_make_intervals_narrower(learned: Learned) -> None:
    _, _, model = learned
    assert len(model.inflation) == 3
    assert min(model.inflation) >= 1
    steps = model.inflation_at("day", np.arange(1.0, 366))
    assert steps[0] == pytest.approx(model.inflation[0])
    assert steps[-1] == pytest.approx(model.inflation[-1])


def test_a_count_far_off_moves_the_state_as_one_of_two_and_a_half_sd(
    learned: Learned,
) -> None:
    series, known, model = learned
    origins = np.array([N_DAYS])
    before = model.filter(series, known, NONE)
    sd = float(np.sqrt(before.total_variances(model.hyperparameters.overdispersion)[-1]))
    moved = {}
    for deviations in (2.4, 2.5, 40.0):
        other = _with(series, float(np.exp(before.logs[-1])) + deviations * sd)
        moved[deviations] = model.filter(other, known, origins).states
    np.testing.assert_allclose(moved[40.0], moved[2.5], rtol=1e-9)
    assert abs(moved[2.5] - moved[2.4]).max() > 0


def test_a_bin_two_years_ago_counts_half(learned: Learned) -> None:
    series, _, _ = learned
    now, before = _weights(series.domain.time, np.array([1, 731]))
    assert before / now == pytest.approx(0.5, rel=0.01)


def test_four_weeks_are_enough_to_fit_and_less_are_not() -> None:
    series, _ = _totals()
    assert TotalModel.learned(series.until(27), None).hyperparameters == SETTINGS.totals.prior
    assert TotalModel.learned(series.until(28), None).hyperparameters != SETTINGS.totals.prior


def test_two_years_of_a_special_day_are_too_few(learned: Learned) -> None:
    series, known, model = learned
    plain = replace(model, terms=replace(model.terms, specials=()))
    assert plain._specials(series, known) == ("07-14",)
    assert plain._specials(series.until(730), known) == ()


def test_intervals_of_calm_totals_are_wider_for_years_that_differ_alone(learned: Learned) -> None:
    _, _, model = learned
    assert 1.2 <= min(model.inflation) < 1.21
