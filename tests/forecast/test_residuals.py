"""Distributions from private residuals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from small_series import noisy_series, small_domain, small_means, small_series
from statistical import Recorded, assert_as_recorded
from tacit.counts.series import Series
from tacit.forecast.baselines import Expected, Overdispersion, learn_overdispersion
from tacit.forecast.past import History, positive_means

NONE = np.zeros(1, np.int64)


def _overdispersion(series: Series, first: int, horizons: tuple[int, ...]) -> Overdispersion:
    """The phi of residuals from the very rates that the counts came from."""
    rates = np.column_stack([small_means(), small_means().sum(axis=1)])

    def expect(origins: NDArray[np.int64], horizon: int) -> Expected:
        return Expected(rates[origins[:, None] + np.arange(horizon)[None, :]])

    return learn_overdispersion(History.of(series), expect, first=first, horizons=horizons)


def by_chance(seed: int) -> dict[str, float]:
    phi = _overdispersion(small_series(seed), 300, (1, 7, 28))
    return {"single": float(phi.single.max()), "summed": float(phi.summed.max())}


def moving(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(small_means() * rng.gamma(10, 0.1, size=(730, 1)))  # phi is 0.1
    phi = _overdispersion(Series.exact(small_domain(), counts), 200, (1,))
    return {"largest place": float(phi.single[0, 0]), "all places": float(phi.single[0, -1])}


def under_noise(seed: int) -> dict[str, float]:
    phi = _overdispersion(noisy_series(seed, unit=3.0), 100, (1,))
    return {"largest": float(phi.single[0].max())}


BY_CHANCE: Recorded = {"single": (0.005174, 0.0035), "summed": (0.004993, 0.0034)}
MOVING: Recorded = {"largest place": (0.1001, 0.018), "all places": (0.09291, 0.015)}
UNDER_NOISE: Recorded = {"largest": (0.003809, 0.0027)}


@pytest.mark.false_failure(1e-6)
def test_counts_that_come_by_chance_alone_have_almost_no_phi_of_their_own(seed: int) -> None:
    assert_as_recorded(by_chance, BY_CHANCE, seed)
    assert all(mean < 0.02 for mean, _ in BY_CHANCE.values())


@pytest.mark.false_failure(1e-6)
def test_rates_that_move_are_found_from_residuals(seed: int) -> None:
    assert_as_recorded(moving, MOVING, seed)
    assert all(abs(mean - 0.1) < 0.02 for mean, _ in MOVING.values())


@pytest.mark.false_failure(1e-6)
def test_known_noise_is_taken_away(seed: int) -> None:
    assert_as_recorded(under_noise, UNDER_NOISE, seed)
    # noise alone would be a phi of 3 x 45 / 4.5 squared, or 6.7, in the smallest place
    assert UNDER_NOISE["largest"][0] < 0.3


def test_sums_count_a_shared_error_as_often_as_it_is_shared() -> None:
    phi = Overdispersion(np.array([1.0]), np.zeros((1, 2)), np.zeros((1, 2)), yearly=0.0, per_year=364)
    means, known = np.full((1, 4, 2), 5.0), np.full((1, 4, 2), 2.0)
    repeated = Expected(means, known=known, repeats=np.full((1, 4), 4.0))
    alone, shared = Expected(means, known=known), Expected(means, shared=known)
    np.testing.assert_allclose(phi.sums(repeated, NONE).variances, 20 + 4 * 4 * 2)
    np.testing.assert_allclose(phi.sums(shared, NONE).variances, 20 + 4 * 4 * 2)
    np.testing.assert_allclose(phi.sums(alone, NONE).variances, 20 + 4 * 2)


def test_beyond_what_was_measured_the_phi_grows() -> None:
    phi = Overdispersion(np.array([1.0, 28.0]), np.full((2, 2), 0.1), np.full((2, 2), 0.1), yearly=0.2, per_year=364)
    found = phi.counts(Expected(np.full((1, 392, 2), 10.0)), NONE)
    np.testing.assert_allclose(found.variances[0, 27], 10 + 0.1 * 100)
    np.testing.assert_allclose(found.variances[0, 391], 10 + (0.1 + 0.04) * 100)


def test_after_a_gap_the_phi_is_larger_though_it_was_found_to_fall() -> None:
    phi = Overdispersion(np.array([1.0, 28.0]), np.array([[0.2], [0.1]]), np.zeros((2, 1)), yearly=0.2, per_year=364)
    found = phi.counts(Expected(np.full((2, 4, 1), 10.0)), np.array([0, 91]))
    assert (found.variances[1] > found.variances[0]).all()
    assert found.variances[1, 0, 0] == pytest.approx(10 + (0.2 + 0.04 / 4) * 100)


def test_noise_does_not_make_a_level_negative() -> None:
    found = positive_means(np.array([-5.0, 0.0, 50.0]), np.array([4.0, 4.0, 4.0]))
    assert (found > 0).all()
    np.testing.assert_allclose(found[2], 50.0)
    np.testing.assert_allclose(found[1], 2 * np.sqrt(2 / np.pi))


def test_a_series_survives_its_state() -> None:
    series = noisy_series()
    again = Series.from_dict(series.to_dict())
    assert again.domain == series.domain
    assert again.is_simulation
    np.testing.assert_array_equal(again.values, series.values)
    np.testing.assert_array_equal(again.variances, series.variances)


def test_bins_counted_in_part_are_not_counted() -> None:
    series = small_series(n_days=70)
    months, grouping = series.domain.coarsen(time="month")
    counts = grouping.sums(series.values.astype(int))
    assert Series.exact(months, counts).counted.tolist() == [True, True, False]


@pytest.mark.parametrize("n_days", [60, 200])
def test_a_short_history_leaves_out_long_horizons(n_days: int) -> None:
    history = History.of(small_series(n_days=n_days))
    rates = np.tile(history.values.mean(axis=0), (n_days, 1))
    phi = learn_overdispersion(
        history,
        lambda origins, horizon: Expected(rates[origins[:, None] + np.arange(horizon)[None, :]]),
        first=n_days - 20,
        horizons=(1, 7, 28),
    )
    assert phi.horizons.tolist() == [1.0, 7.0]
