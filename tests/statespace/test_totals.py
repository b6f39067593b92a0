"""How many events there will be in all places together."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from statistical import Recorded, assert_as_recorded
from tacit._base.fields import from_plain, plain
from tacit.counts.series import Observations, Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.statespace.covariates import Covariates, Terms
from tacit.statespace.settings import SETTINGS
from tacit.statespace.totals import (
    TotalModel,
    _burn_in,
    _factor,
    _fitted_ages,
    _inflation,
    _past_origins,
    _special_days,
    _weights,
)

N_DAYS = 1461
NONE = np.empty(0, np.int64)
LAST = np.array([N_DAYS])
HOLIDAY_AHEAD = N_DAYS + 30
"""A Wednesday, the only holiday to come."""
Learned = tuple[Series, Covariates, TotalModel]


def _totals(seed: int, noise: float = 0.0) -> tuple[Series, Covariates]:
    """Four years of days: a weekend busier by 40 %, a special 14 July, a holiday now and then."""
    rng = np.random.default_rng(seed)
    time = TimeAxis("2014-01-01", "day", "UTC", N_DAYS)
    days = time.starts().astype("datetime64[D]")
    weekday = (days.astype(int) + 3) % 7
    holiday = np.zeros(N_DAYS + 60)
    holiday[rng.choice(N_DAYS - 90, 40, replace=False)] = 1  # none shortly before the end, where much depends on it
    holiday[HOLIDAY_AHEAD] = 1
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


@cache
def _learned(seed: int) -> Learned:
    series, known = _totals(seed)
    return series, known, TotalModel.learned(series, known)


def _usual(seed: int) -> Learned:
    """The same with the prior's hyperparameters."""
    series, known, model = _learned(seed)
    return series, known, replace(model, hyperparameters=SETTINGS.totals.prior)


@pytest.fixture(scope="module")
def learned(seed: int) -> Learned:
    return _learned(seed)


def rates_ahead(seed: int) -> dict[str, float]:
    """By how much forecasts of two months miss the rates of weekdays and weekends, and of a holiday."""
    series, known, model = _learned(seed)
    ahead = model.predict(series.domain.time, known, model.filter(series, known, LAST), LAST, 60)
    rates = np.exp(ahead.means()[0])
    days = series.domain.time.without_end().starts(N_DAYS + 60)[N_DAYS:].astype("datetime64[D]")
    is_holiday = known.columns["holiday"][N_DAYS:] == 1
    is_weekend = (days.astype(int) + 3) % 7 >= 5
    expected = 50 * np.where(is_weekend, 1.4, 1.0) * np.where(is_holiday, 1.5, 1.0)
    kinds = {"weekday": ~is_weekend & ~is_holiday, "weekend": is_weekend, "holiday": is_holiday}
    return {name: float(np.log(rates[those].mean() / expected[those].mean())) for name, those in kinds.items()}


RATES_AHEAD: Recorded = {"weekday": (0.0006438, 0.011), "weekend": (0.001188, 0.013), "holiday": (-0.0125, 0.019)}


@pytest.mark.false_failure(2e-6)
def test_weekdays_weekends_and_holidays_are_forecast(seed: int) -> None:
    assert_as_recorded(rates_ahead, RATES_AHEAD, seed)
    assert max(abs(mean) for mean, _ in RATES_AHEAD.values()) < 0.05


@pytest.mark.false_failure(1e-9)
def test_a_special_day_is_found(learned: Learned) -> None:
    """Each 14 July is 8 standard deviations off, and counts for 4; 2 on average would do."""
    _, _, model = learned
    assert "07-14" in model.terms.specials


@pytest.mark.false_failure(0)
def test_learning_twice_gives_the_same_and_plain_data_bring_it_back(learned: Learned) -> None:
    series, known, model = learned
    assert plain(from_plain(TotalModel, plain(model))) == plain(model)
    short = series.until(200)
    assert plain(TotalModel.learned(short, known)) == plain(TotalModel.learned(short, known))


def uncertainty(seed: int) -> dict[str, float]:
    """Logarithms: how variances grow with the horizon and in a gap of 90 days, with usual hyperparameters."""
    series, known, model = _usual(seed)
    ahead = model.predict(series.domain.time, known, model.filter(series, known, LAST), LAST, 360).variances()[0]
    blind = series.masked(np.arange(N_DAYS)[:, None] < N_DAYS - 90)
    gap, none = (model.filter(each, known, NONE).variances[-1] for each in (blind, series))
    return {
        "month": float(np.log(ahead[29] / ahead[0])),
        "year": float(np.log(ahead[359] / ahead[29])),
        "gap": float(np.log(gap / none)),
    }


UNCERTAINTY: Recorded = {"month": (0.7618, 0.0059), "year": (0.7025, 0.0038), "gap": (0.9322, 0.0045)}


@pytest.mark.false_failure(2e-6)
def test_uncertainty_grows_with_the_horizon_and_in_a_gap(seed: int) -> None:
    assert_as_recorded(uncertainty, UNCERTAINTY, seed)
    assert min(mean for mean, _ in UNCERTAINTY.values()) > 0.1


def struck(seed: int) -> dict[str, float]:
    """How far a last day of 20 times its events moves the forecast of the next, with usual hyperparameters."""
    series, known, model = _usual(seed)
    calm, stormy = (
        model.predict(each.domain.time, known, model.filter(each, known, LAST), LAST, 1).means()[0, 0]
        for each in (series, _with(series, 20 * series.values[-1, 0]))
    )
    return {"moved": float(stormy - calm)}


STRUCK: Recorded = {"moved": (0.05479, 0.015)}


@pytest.mark.false_failure(5e-7)
def test_a_storm_moves_the_level_little(seed: int) -> None:
    assert_as_recorded(struck, STRUCK, seed)
    assert 0 < STRUCK["moved"][0] < 0.1


def noisy_rates(seed: int) -> dict[str, float]:
    """How far the noise of totals, and of what is expected of them, is from what it is without noise."""
    (quiet, known, model), (noisy, _) = _learned(seed), _totals(seed, noise=40.0)
    logs = [each.filter(totals, known, NONE).logs for each, totals in ((model, quiet), (_noisy(seed), noisy))]
    return {
        "expected": float(np.abs(logs[1] - logs[0])[-300:].mean()),
        "measured": float(np.abs(noisy.values - quiet.values)[-300:].mean() / 55),
    }


def _noisy(seed: int) -> TotalModel:
    return TotalModel.learned(*_totals(seed, noise=40.0))


NOISY_RATES: Recorded = {"expected": (0.06497, 0.013), "measured": (0.5828, 0.026)}


@pytest.mark.false_failure(1e-6)
def test_noisy_totals_are_believed_less(seed: int) -> None:
    assert_as_recorded(noisy_rates, NOISY_RATES, seed)
    assert NOISY_RATES["expected"][0] < NOISY_RATES["measured"][0] / 4


@pytest.mark.false_failure(0)
def test_a_week_has_usual_hyperparameters_and_is_told_with_little_certainty(seed: int) -> None:
    week = _totals(seed)[0].until(7)
    model = TotalModel.learned(week, None)
    assert model.hyperparameters == SETTINGS.totals.prior
    assert model.start_variance == pytest.approx(0.25 + 1 / week.totals.sum())
    origins = np.array([7])
    rates = model.filter(week, None, origins)
    assert model.predict(week.domain.time, None, rates, origins, 1).variances()[0, 0] > 0.01


@pytest.mark.false_failure(0)
def test_past_forecasts_halve_the_variance_at_most(learned: Learned) -> None:
    series, known, model = learned
    assert len(model.inflation) == 3
    assert min(model.inflation) >= 0.6 * 0.999
    steps = model.inflation_at("day", np.arange(1.0, 366))
    assert steps[0] == pytest.approx(model.inflation[0])
    assert steps[-1] == pytest.approx(model.inflation[-1])
    told = replace(model, inflation=(1.0, 2.0, 4.0)).inflation_at("day", np.array([1.0, 7**0.5, 7.0, 14.0, 28.0]))
    np.testing.assert_allclose(told, [1.0, 1.5, 2.0, 3.0, 4.0])  # even steps between logarithms of leads
    wide = replace(model, hyperparameters=replace(model.hyperparameters, overdispersion=1.0))
    assert _inflation(wide, series, known) == pytest.approx((0.6, 0.6, 0.6), rel=1e-3)  # 1.2 for years that differ


@pytest.mark.false_failure(0)
def test_a_count_far_off_moves_the_state_as_one_of_two_and_a_half_sd(learned: Learned) -> None:
    series, known, model = learned
    before = model.filter(series, known, NONE)
    sd = float(np.sqrt(before.total_variances(model.hyperparameters.overdispersion)[-1]))
    moved = {}
    for deviations in (2.4, 2.5, 40.0):
        other = _with(series, float(np.exp(before.logs[-1])) + deviations * sd)
        moved[deviations] = model.filter(other, known, LAST).states
    np.testing.assert_allclose(moved[40.0], moved[2.5], rtol=1e-9)
    assert abs(moved[2.5] - moved[2.4]).max() > 0


DAYS = TimeAxis("2014-01-01", "day", "UTC", N_DAYS)


@pytest.mark.false_failure(0)
def test_before_any_total_a_holiday_may_differ_by_a_tenth_and_a_special_day_by_a_fifth(learned: Learned) -> None:
    series, known, model = learned
    time, start = series.domain.time, np.array([0])

    def variances(is_holiday: np.ndarray, *specials: str) -> np.ndarray:
        one = replace(model, terms=replace(model.terms, specials=specials))
        columns = replace(known, columns={"holiday": 1.0 * is_holiday})
        return one.predict(time, columns, one.filter(series, columns, start), start, 20).variances()[0]

    days = np.arange(N_DAYS + 60)
    usual = variances(days < 0)
    holiday, special = variances(days == 10) - usual, variances(days < 0, "01-12") - usual
    assert holiday.round(9).tolist() == [0.0] * 9 + [0.01] * 3 + [0.0] * 8  # the days around it too
    assert special.round(9).tolist() == [0.0] * 11 + [0.04] + [0.0] * 8


def _variances_before_any_total(step: str, start: str, n_bins: int, table: np.ndarray | None = None) -> np.ndarray:
    """The prior variance of the log rate of each bin, beyond that of level and AR(1) component."""
    time = TimeAxis(start, step, "UTC", n_bins)
    known = None if table is None else Covariates(time, {"rain": table})
    model = TotalModel(Terms.learned(known, n_bins), SETTINGS.totals.prior, 0.0, 0.0)
    series, at_start = Series.exact(Domain(time, PlaceAxis.of(["all"])), np.ones((n_bins, 1), int)), np.array([0])
    ahead = model.predict(time, known, model.filter(series, known, at_start), at_start, 1)
    rows, covariance = model.terms.rows(time, known, 0, n_bins)[:, None], ahead.covariances[0, 2:, 2:]
    return (rows @ covariance @ rows.swapaxes(1, 2))[:, 0, 0]


def test_before_any_total_the_calendar_and_numbers_may_matter_as_much_as_settings_say() -> None:
    # weekdays by 15 %; three waves of the year, each by 10 %
    days = _variances_before_any_total("day", "2018-01-01", 14)
    assert days == pytest.approx(0.15**2 + 3 * 0.1**2)
    # four waves of the day, each by half, and two that differ at weekends: by 1, on weekdays by -0.4
    hours = _variances_before_any_total("hour", "2018-01-05T00", 48) - days[0]
    assert hours == pytest.approx(np.repeat([4 + 2 * 0.4**2, 4 + 2], 24) * 0.5**2)
    # two waves of the year; and the logarithm of a month's length, by 2 %
    months = _variances_before_any_total("month", "2018-01-01", 2) - 2 * 0.1**2
    assert months == pytest.approx(0.02**2 * np.log(np.array([31, 28]) * 12 / 365.25) ** 2, rel=1e-6)
    # a number by 10 % for each of its standard deviations, and by as much for its square less 1
    table = np.tile([-1.0, 1.0, -3.0, 3.0], 7)
    z = table / table.std()
    numbers = _variances_before_any_total("day", "2018-01-01", 28, table) - days[0]
    assert numbers == pytest.approx(0.1**2 * (z**2 + (z**2 - 1) ** 2))


def test_a_bin_two_years_ago_counts_half() -> None:
    now, before = _weights(DAYS, np.array([1, 731]))
    assert before / now == pytest.approx(0.5, rel=0.01)


def test_the_last_12_000_bins_are_fitted_but_for_two_months_or_a_quarter() -> None:
    assert _fitted_ages(5).tolist() == [5, 4, 3, 2, 1]
    assert _fitted_ages(20_000)[[0, -1]].tolist() == [12_000, 1]
    assert [_burn_in(n_times) for n_times in (28, 100, 240, 1000)] == [7, 25, 60, 60]


def test_forecasts_of_six_years_are_looked_at_from_800_days_or_more() -> None:
    six_years = int(6 * 365.25)
    assert _past_origins(DAYS, 900).tolist() == list(range(60, 900))
    assert _past_origins(DAYS, 4000).tolist() == list(range(4000 - six_years, 4000, six_years // 800))
    assert np.diff(_past_origins(DAYS, 60 + 1600)).tolist() == [2] * 799


@pytest.mark.false_failure(0)
def test_four_weeks_are_enough_to_fit_and_less_are_not(seed: int) -> None:
    series, _ = _totals(seed)
    assert TotalModel.learned(series.until(27), None).hyperparameters == SETTINGS.totals.prior
    assert TotalModel.learned(series.until(28), None).hyperparameters != SETTINGS.totals.prior


def _scores(of_days: dict[str, list[float]]) -> tuple[list[str], np.ndarray]:
    """Days of years from 2014 on with their innovations."""
    found = [(f"{2014 + year}-{day}", one) for day, some in of_days.items() for year, one in enumerate(some)]
    return [day for day, _ in found], np.array([one for _, one in found])


def test_a_day_is_special_where_three_years_add_up_to_four_standard_errors() -> None:
    assert _special_days(*_scores({"07-14": [2.31] * 3, "12-25": [-2.31] * 3, "01-01": [2.30] * 3})) == (
        "07-14",
        "12-25",
    )
    assert _special_days(*_scores({"07-14": [9.0, 9.0], "12-25": [9.0, 9.0, np.nan]})) == ()  # two years are too few
    assert _special_days(*_scores({"07-14": [99.0, 1.4, 1.5]})) == ()  # one year counts for 4 at most
    assert _special_days(*_scores({"07-14": [99.0, 1.5, 1.5]})) == ("07-14",)


def test_the_twelve_most_special_days_are_kept() -> None:
    days = [f"{month:02}-0{day}" for month in range(1, 8) for day in (1, 2)]
    scores = {day: [2.4 + 0.1 * place] * 3 for place, day in enumerate(days)}
    assert _special_days(*_scores(scores)) == tuple(days[2:])


def _factor_of(deviations: np.ndarray) -> float:
    """The factor for noisy totals that err by so many of the model's standard deviations, chance and noise left out."""
    mean, small = 1e9, 1e-9
    counts, each = mean + mean * deviations, np.ones(len(deviations))
    return _factor(counts, small * each, mean * each, each, each / len(each))


def test_intervals_are_widened_until_they_hold_what_they_say_at_both_levels() -> None:
    """Errors even up to 5: intervals of 80 % decide. One day in ten far off: those of 95 % do."""
    deviations = np.linspace(0, 5, 20_001)
    assert _factor_of(deviations) == pytest.approx((0.8 * 5 / 1.281552) ** 2, rel=2e-3)
    far_off = np.concatenate([np.linspace(0, 1, 18_001), np.linspace(5, 9, 2_000)])
    assert _factor_of(far_off) == pytest.approx((7 / 1.959964) ** 2, rel=2e-3)


def test_variances_are_inflated_by_30_at_most_and_halved_where_they_were_too_large() -> None:
    assert _factor_of(np.full(50, 1e4)) == pytest.approx(30, rel=1e-3)
    assert _factor_of(np.linspace(0, 1.4, 20_001)) == pytest.approx((0.8 * 1.4 / 1.281552) ** 2, rel=2e-3)
    assert _factor_of(np.zeros(50)) == pytest.approx(0.5, rel=1e-3)
