"""Which part of the events each place will have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_series import SHARES, noisy_series, small_counts
from tacit.statespace.shares import ShareModel, _positive, _timed

ORIGINS = np.array([300, 730])


@pytest.fixture(scope="module")
def learned() -> ShareModel:
    series = noisy_series(unit=4.0)
    return ShareModel.learned(series.observations, series.domain.time, np.zeros(730))


def _shares(model: ShareModel, horizon: int = 5) -> tuple[np.ndarray, np.ndarray]:
    series = noisy_series(unit=4.0)
    weights = model.filter(series.observations, np.zeros(730), series.domain.time, ORIGINS)
    found = model.predict(weights, series.domain.time, horizon)
    return found.means, found.variances


def test_shares_are_positive_add_up_and_are_near_the_truth(learned: ShareModel) -> None:
    means, variances = _shares(learned)
    assert means.shape == variances.shape == (2, 5, 3)
    np.testing.assert_allclose(means.sum(axis=2), 1.0)
    np.testing.assert_allclose(means[1], np.broadcast_to(SHARES, (5, 3)), atol=0.04)
    assert (variances > 0).all()
    assert variances[0, 0].sum() > variances[1, 0].sum()  # more was known later on


def test_a_bin_without_events_teaches_nothing(learned: ShareModel) -> None:
    series = noisy_series(unit=4.0)
    known = series.observations
    exposures, counts = known.exposures.copy(), known.counts.copy()
    exposures[700:] = 0
    counts[700:] = 1e6
    blind = replace(known, exposures=exposures, counts=counts)
    after = learned.filter(blind, np.zeros(730), series.domain.time, np.array([730]))
    before = learned.filter(known, np.zeros(730), series.domain.time, np.array([700]))
    np.testing.assert_allclose(after.states[:, 0, 0], before.states[:, 0, 0], atol=1e-12)
    assert (after.covariances[:, 0, 0, 0] > before.covariances[:, 0, 0, 0]).all()


def test_sizes_of_places_tell_where_noise_hides_them() -> None:
    """With as much noise as this the measured share of the small place is about as uncertain as it is large."""
    series = noisy_series(unit=300.0, counts=small_counts(n_days=120))
    known, none = series.observations, np.zeros(120)
    sizes = 1e6 * SHARES
    found = []
    for given in (None, sizes):
        model = ShareModel.learned(known, series.domain.time, none, given)
        weights = model.filter(known, none, series.domain.time, np.array([120]))
        found.append(np.abs(model.predict(weights, series.domain.time, 1).means[0, 0] - SHARES).sum())
    assert found[1] < found[0]
    assert found[1] < 0.15


def test_plain_data_bring_a_model_back(learned: ShareModel) -> None:
    again = ShareModel.from_dict(learned.to_dict())
    for mine, other in zip(_shares(learned), _shares(again), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("mean", [-3.0, -0.5, 0.0, 1.0, 4.0, 10.0])
def test_the_middle_of_what_can_be_is_that_of_the_distribution_cut_at_0(mean: float) -> None:
    points = np.linspace(0, 25, 250_001)
    density = np.exp(-0.5 * np.square(points - mean))
    density /= density.sum()
    middle, square = _positive(np.array([mean]), np.array([1.0]))
    assert middle[0] == pytest.approx(points[np.searchsorted(np.cumsum(density), 0.5)], abs=2e-3)
    assert square[0] == pytest.approx(density @ np.square(points - middle[0]), rel=2e-3)


def test_origins_before_any_event_know_what_sizes_say(learned: ShareModel) -> None:
    series = noisy_series(unit=4.0)
    weights = learned.filter(series.observations, np.zeros(730), series.domain.time, np.array([0, 1]))
    found = learned.predict(weights, series.domain.time, 2)
    np.testing.assert_allclose(found.means.sum(axis=2), 1.0)
    assert (found.means > 0).all()
    assert np.isfinite(found.variances).all()


def test_breaks_at_an_unknown_time_are_no_matter_of_forecasts() -> None:
    shifts = np.zeros((400, 2))
    shifts[100:104, 0], shifts[:, 1] = 0.1, 0.001
    kept = _timed(shifts)
    np.testing.assert_array_equal(kept[:, 0], shifts[:, 0])
    assert not kept[:, 1].any()
    assert _timed(np.zeros((1, 1))).shape == (1, 1)
