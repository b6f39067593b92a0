"""How many events there will be in all places together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.domain import TimeAxis
from tacit.statespace.covariates import Covariates
from tacit.statespace.totals import SETTINGS, TotalModel, Totals, _weights

N_DAYS = 1461
NONE = np.empty(0, np.int64)


def _totals(seed: int = 1, noise: float = 0.0) -> Totals:
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
    return Totals(time, counts.astype(float), np.full(N_DAYS, noise**2), np.ones(N_DAYS, bool), known)


@pytest.fixture(scope="module")
def learned() -> tuple[Totals, TotalModel]:
    totals = _totals()
    return totals, TotalModel.learned(totals)


def test_weekdays_holidays_and_special_days_are_found(learned: tuple[Totals, TotalModel]) -> None:
    totals, model = learned
    assert model.terms.specials == ("07-14",)
    origins = np.array([N_DAYS])
    rates = np.exp(model.predict(totals, model.filter(totals, origins), origins, 60).means()[0])
    days = totals.time.without_end().starts(N_DAYS + 60)[N_DAYS:].astype("datetime64[D]")
    assert totals.covariates is not None
    is_holiday = totals.covariates.columns["holiday"][N_DAYS:] == 1
    is_weekend = ((days.astype(int) + 3) % 7 >= 5) & ~is_holiday
    assert rates[is_weekend].mean() == pytest.approx(70, rel=0.08)
    assert rates[~is_weekend & ~is_holiday].mean() == pytest.approx(50, rel=0.08)


def test_learning_twice_gives_the_same_and_plain_data_bring_it_back(learned: tuple[Totals, TotalModel]) -> None:
    totals, model = learned
    assert TotalModel.from_dict(model.to_dict()).to_dict() == model.to_dict()
    short = totals.between(0, 200)
    assert TotalModel.learned(short).to_dict() == TotalModel.learned(short).to_dict()


def test_uncertainty_grows_with_the_horizon_and_in_a_gap(learned: tuple[Totals, TotalModel]) -> None:
    totals, model = learned
    origins = np.array([N_DAYS])
    ahead = model.predict(totals, model.filter(totals, origins), origins, 360).variances()[0]
    assert ahead[0] < ahead[29] < ahead[359]
    blind = replace(totals, is_observed=np.arange(N_DAYS) < N_DAYS - 90)
    assert model.filter(blind, NONE).variances[-1] > 1.2 * model.filter(totals, NONE).variances[-1]


def test_a_storm_moves_the_level_little(learned: tuple[Totals, TotalModel]) -> None:
    totals, model = learned
    stormy = totals.counts.copy()
    stormy[-1] = 20 * stormy[-1]
    origins = np.array([N_DAYS])
    calm, struck = (
        model.predict(each, model.filter(each, origins), origins, 1).means()[0, 0]
        for each in (totals, replace(totals, counts=stormy))
    )
    assert 0 < struck - calm < 0.1


def test_noisy_totals_are_believed_less() -> None:
    quiet, noisy = _totals(), _totals(noise=40.0)
    model = TotalModel.learned(noisy)
    with_noise = model.filter(noisy, NONE).logs[-300:]
    without = TotalModel.learned(quiet).filter(quiet, NONE).logs[-300:]
    assert np.abs(with_noise - without).mean() < 0.15
    assert np.abs(noisy.counts - quiet.counts)[-300:].mean() / 55 > 0.4


def test_a_week_has_usual_hyperparameters_and_is_told_with_little_certainty() -> None:
    week = replace(_totals().between(0, 7), covariates=None)
    model = TotalModel.learned(week)
    assert model.hyperparameters == SETTINGS.prior
    origins = np.array([7])
    assert model.predict(week, model.filter(week, origins), origins, 1).variances()[0, 0] > 0.01


def test_past_forecasts_never_make_intervals_narrower(learned: tuple[Totals, TotalModel]) -> None:
    _, model = learned
    assert len(model.inflation) == 3
    assert min(model.inflation) >= 1
    steps = model.inflation_at("day", np.arange(1.0, 366))
    assert steps[0] == pytest.approx(model.inflation[0])
    assert steps[-1] == pytest.approx(model.inflation[-1])


def test_a_count_far_off_moves_the_state_as_one_of_two_and_a_half_sd(
    learned: tuple[Totals, TotalModel],
) -> None:
    totals, model = learned
    origins = np.array([N_DAYS])
    before = model.filter(totals, NONE)
    sd = float(np.sqrt(before.total_variances(totals, model.hyperparameters.overdispersion)[-1]))
    moved = {}
    for deviations in (2.4, 2.5, 40.0):
        counts = totals.counts.copy()
        counts[-1] = np.exp(before.logs[-1]) + deviations * sd
        moved[deviations] = model.filter(replace(totals, counts=counts), origins).states
    np.testing.assert_allclose(moved[40.0], moved[2.5], rtol=1e-9)
    assert abs(moved[2.5] - moved[2.4]).max() > 0


def test_a_bin_two_years_ago_counts_half(learned: tuple[Totals, TotalModel]) -> None:
    totals, _ = learned
    now, before = _weights(totals, np.array([N_DAYS - 1, N_DAYS - 1 - 730]))
    assert before / now == pytest.approx(0.5, rel=0.01)


def test_four_weeks_are_enough_to_fit_and_less_are_not() -> None:
    totals = replace(_totals(), covariates=None)
    assert TotalModel.learned(totals.between(0, 27)).hyperparameters == SETTINGS.prior
    assert TotalModel.learned(totals.between(0, 28)).hyperparameters != SETTINGS.prior


def test_two_years_of_a_special_day_are_too_few(learned: tuple[Totals, TotalModel]) -> None:
    totals, model = learned
    plain = replace(model, terms=replace(model.terms, specials=()))
    assert plain._specials(totals) == ("07-14",)
    assert plain._specials(totals.between(0, 730)) == ()


def test_intervals_of_calm_totals_are_wider_for_years_that_differ_alone(learned: tuple[Totals, TotalModel]) -> None:
    _, model = learned
    assert 1.2 <= min(model.inflation) < 1.21
