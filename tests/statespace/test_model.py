"""What counts as an excess or a level shift, and how sure smoothed counts are: as the settings say."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from small_worlds import simulated_estimate
from tacit.counts.series import Observations
from tacit.domain import TimeAxis
from tacit.postprocess import smooth
from tacit.statespace.covariates import seasons
from tacit.statespace.model import Model, fit_hyperparameters, level_shifts, prior_penalty, total_excess
from tacit.statespace.posterior_noise import Moments
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.size_prior import LongRun
from tacit.statespace.smoothed_noise import SmoothedNoise
from tacit.statespace.state_space import StateSpace

USUAL = Hyperparameters()
N_DAYS, N_EVENTS = 100, 1000.0


def with_high_days(n_high: int) -> NDArray[np.float64]:
    """Totals of 100 events, but for some days in a row that have 400."""
    totals = np.full(N_DAYS, 100.0)
    totals[40 : 40 + n_high] = 400.0
    return totals


def test_an_excess_is_what_lies_more_than_two_poisson_standard_deviations_above_the_median() -> None:
    np.testing.assert_allclose(total_excess(with_high_days(1))[[39, 40, 41]], [0, (400 - 100 - 2 * 10) / 400, 0])
    np.testing.assert_allclose(total_excess(np.where(np.arange(N_DAYS) == 40, 119.0, 100.0)), 0)


def test_high_days_are_usual_once_they_are_more_than_half_of_six_weeks_and_a_day() -> None:
    assert np.count_nonzero(total_excess(with_high_days(21))) == 21
    assert total_excess(with_high_days(22))[50] == 0


def shifted(size: float, *, first: int = 50, step: str = "day") -> Model:
    """Two places with half of all events each, until the share of the first grows by ``size``; hardly any noise."""
    shares = np.full((N_DAYS, 2), 0.5)
    shares[first:] += [size, -size]
    known = Observations(
        np.full(N_DAYS, N_EVENTS), N_EVENTS * shares, np.full((1, 2), 0.01), np.zeros((1, 2)), True, False
    )
    half = np.full(2, 0.5)
    calendar = seasons(TimeAxis("2018-01-01", step, "UTC", N_DAYS))
    return Model(known, calendar, np.zeros(N_DAYS), LongRun(half, half, np.full(2, 1e-4)), shares)


def odds_of_a_shift(model: Model) -> float:
    """How much likelier the counts of the first place are with a shift at some time, all times and sizes alike."""
    part = replace(model, fitted_places=np.arange(2))
    scores, informations = (found[1:, 0] for found in part.state_space(USUAL).level_scores(part.observed))
    times = slice(None, N_DAYS - SETTINGS.fewest_after_shift)
    variances = 0.5**2 * np.array([0.1, 1.0, 10.0])[:, None]
    wider = 1 + variances * informations[times]
    return float((np.exp(variances * scores[times] ** 2 / (2 * wider)) / np.sqrt(wider)).sum())


@pytest.mark.parametrize(("step", "a_year"), [("day", 365.25), ("week", 365.25 / 7)])
def test_a_level_shift_is_expected_once_in_twenty_years_in_one_of_three_sizes(step: str, a_year: float) -> None:
    low, high = 0.0, 0.4
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if level_shifts(shifted(middle, step=step), USUAL).any() else (middle, high)
    assert 0 < high < 0.4
    assert odds_of_a_shift(shifted(high, step=step)) == pytest.approx(3 * 20 * a_year, rel=0.01)


def test_a_level_shift_is_believed_after_a_week() -> None:
    assert level_shifts(shifted(0.4, first=N_DAYS - 7), USUAL)[N_DAYS - 7].all()
    assert not level_shifts(shifted(0.4, first=N_DAYS - 6), USUAL)[N_DAYS - 6 :].any()


def test_a_shift_whose_time_is_uncertain_has_its_variance_spread_over_the_likely_times() -> None:
    grown = 0.3 * np.clip((np.arange(N_DAYS) - 47) / 6, 0.0, 1.0)  # in six days
    shares = np.column_stack([0.5 + grown, 0.5 - grown])
    model = shifted(0.0)
    known = replace(model.observations, exposures=np.full(N_DAYS, 10.0), counts=10 * shares)
    found = level_shifts(replace(model, observations=known, shares=shares), USUAL)[:, 0]
    assert np.count_nonzero(found > 0.05 * found.max()) > 3
    assert found.sum() == pytest.approx(0.3**2, rel=0.2)


def test_hyperparameters_are_fitted_to_24_places_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    n_places, chosen = 60, []
    known = Observations(
        np.full(8, 60.0), np.ones((8, n_places)), np.ones((1, n_places)), np.zeros((1, n_places)), True, False
    )
    each = np.full(n_places, 1 / n_places)
    calendar = seasons(TimeAxis("2018-01-01", "day", "UTC", 8))
    model = Model(known, calendar, np.zeros(8), LongRun(each, each, each), np.tile(each, (8, 1)))
    state_space = Model.state_space

    def noted(self: Model, hyperparameters: Hyperparameters) -> StateSpace:
        chosen.append(self.fitted_places)
        return state_space(self, hyperparameters)

    monkeypatch.setattr(Model, "state_space", noted)
    monkeypatch.setattr("tacit.statespace.model.minimize", lambda loss, start, first_step: start)
    fit_hyperparameters(model, USUAL, prior=USUAL)
    assert len(set(chosen[0].tolist())) == 24


def test_the_prior_is_normal_in_logarithms_but_for_chance_where_totals_are_public() -> None:
    one_sd = np.array(astuple(SETTINGS.prior_sd))
    for axis in range(len(one_sd)):
        away = np.where(np.arange(len(one_sd)) == axis, 2 * one_sd, 0.0)
        of_shares = np.log(5) if axis == len(one_sd) - 1 else 2.0
        assert prior_penalty(away, is_shared=True) == pytest.approx(of_shares)
        assert prior_penalty(away, is_shared=False) == pytest.approx(2.0)


def test_where_nothing_was_observed_hyperparameters_are_those_of_the_prior() -> None:
    known = shifted(0.0)
    nothing = replace(known, observations=replace(known.observations, exposures=np.zeros(N_DAYS)))
    found = fit_hyperparameters(nothing, USUAL, prior=USUAL)
    shifts = np.array(SETTINGS.averaged_shifts)
    for name, power in (("level_sd", 2), ("overdispersion", 1)):  # posterior means; the others are modes
        weights = np.exp(-0.5 * np.square(shifts / getattr(SETTINGS.prior_sd, name)))
        mean = (weights @ np.exp(power * shifts) / weights.sum()) ** (1 / power)
        assert getattr(found, name) == pytest.approx(mean * getattr(USUAL, name), rel=1e-6)
    kept = {"level_sd": USUAL.level_sd, "overdispersion": USUAL.overdispersion}
    assert astuple(replace(found, **kept)) == pytest.approx(astuple(USUAL))


def unobserved() -> SmoothedNoise:
    """One place for four times, of which noise hides all: chance of variance 5 around the expected counts."""
    return SmoothedNoise(
        StateSpace(
            exposures=np.ones(4),
            process_variance=np.full((4, 1), 5.0),
            noise_variance=np.full((4, 1), 1e12),
            regressors=np.zeros((4, 0)),
            state_variances=np.array([[1.0, 0.0, 0.0]]),
            phi=0.5,
            coefficient_variances=np.zeros((1, 0)),
            shift_variance=np.zeros((1, 1)),
        )
    )


def test_a_count_of_which_nothing_is_observed_has_a_kurtosis_of_four_fifths_more_than_a_poisson_count() -> None:
    third, fourth = unobserved().cumulants
    np.testing.assert_allclose(third, 5.0)
    np.testing.assert_allclose((fourth - 5.0) / 5.0**2, 0.8)


@pytest.mark.parametrize(("count", "ratio"), [(0.0, 0.15), (10.0, 1.0), (20.0, 2.0), (1e3, 4.0)])
def test_the_count_that_is_found_moves_the_variance_of_chance_by_0_15_to_4(count: float, ratio: float) -> None:
    moments = Moments(np.array(3.0), np.array(2.0), np.array(0.0), chance=np.array(10.0))
    assert moments.given(np.array(count)) == pytest.approx(3.0 + 2.0 * ratio)


def test_inflation_is_of_what_is_unknown_of_shares_alone() -> None:
    made = smooth(simulated_estimate(np.full((30, 3), 20))[1], hyperparameters=USUAL).noise
    assert isinstance(made, SmoothedNoise)
    asked = np.zeros(made.shape)
    asked[15, 0] = 1
    found, plain = made.moments(asked), replace(made, inflation=1.0).moments(asked)
    assert found.of_shares == pytest.approx(1.06 * plain.of_shares)
    assert found.of_counts == pytest.approx(plain.of_counts)
