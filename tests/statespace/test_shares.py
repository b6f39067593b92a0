"""Which part of the events each place will have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from small_series import SHARES, noisy_series, small_counts
from statistical import Recorded, assert_as_recorded
from tacit._base.fields import from_plain, plain
from tacit.counts.series import Series
from tacit.statespace.shares import ShareModel, _positive

ORIGINS = np.array([300, 730])
Learned = tuple[Series, ShareModel]


@cache
def _learned(seed: int) -> Learned:
    series = noisy_series(seed, unit=4.0)
    return series, ShareModel.learned(series.observations, series.domain.time, np.zeros(730))


@pytest.fixture(scope="module")
def learned(seed: int) -> Learned:
    return _learned(seed)


def _shares(series: Series, model: ShareModel, horizon: int = 5) -> tuple[np.ndarray, np.ndarray]:
    weights = model.filter(series.observations, np.zeros(730), series.domain.time, ORIGINS)
    found = model.predict(weights, series.domain.time, horizon)
    return found.means, found.variances


@pytest.mark.false_failure(0)
def test_shares_are_positive_and_add_up(learned: Learned) -> None:
    means, variances = _shares(*learned)
    assert means.shape == variances.shape == (2, 5, 3)
    np.testing.assert_allclose(means.sum(axis=2), 1.0)
    assert (means > 0).all()
    assert (variances > 0).all()


def nearness(seed: int) -> dict[str, float]:
    """How far shares are from the truth after two years, and the logarithm of how much more is known then."""
    means, variances = _shares(*_learned(seed))
    known = float(np.log(variances[0, 0].sum() / variances[1, 0].sum()))
    return {"error": float(np.abs(means[1] - SHARES).mean()), "known": known}


NEARNESS: Recorded = {"error": (0.009302, 0.0049), "known": (0.3812, 0.086)}


@pytest.mark.false_failure(1e-6)
def test_shares_are_near_the_truth_and_the_nearer_the_more_was_observed(seed: int) -> None:
    assert_as_recorded(nearness, NEARNESS, seed)
    assert NEARNESS["error"][0] < 0.02
    assert NEARNESS["known"][0] > 0


@pytest.mark.false_failure(0)
def test_a_bin_without_events_teaches_nothing(learned: Learned) -> None:
    series, model = learned
    known = series.observations
    exposures, counts = known.exposures.copy(), known.counts.copy()
    exposures[700:] = 0
    counts[700:] = 1e6
    blind = replace(known, exposures=exposures, counts=counts)
    after = model.filter(blind, np.zeros(730), series.domain.time, np.array([730]))
    before = model.filter(known, np.zeros(730), series.domain.time, np.array([700]))
    np.testing.assert_allclose(after.states[:, 0, 0], before.states[:, 0, 0], atol=1e-12)
    assert (after.covariances[:, 0, 0, 0] > before.covariances[:, 0, 0, 0]).all()


def errors_without_counts(seed: int) -> dict[str, float]:
    """Errors of all shares together where sizes are known, and how much larger they are where they are not.

    There is so much noise that counts say nothing.
    """
    series = noisy_series(seed, unit=1e6, counts=small_counts(seed, n_days=120))
    known, none = series.observations, np.zeros(120)
    found = []
    for given in (None, 1e6 * SHARES):
        model = ShareModel.learned(known, series.domain.time, none, given)
        weights = model.filter(known, none, series.domain.time, np.array([120]))
        found.append(float(np.abs(model.predict(weights, series.domain.time, 1).means[0, 0] - SHARES).sum()))
    return {"with sizes": found[1], "gain": found[0] - found[1]}


WITHOUT_COUNTS: Recorded = {"with sizes": (0.4574, 0.0093), "gain": (0.0755, 0.006)}


@pytest.mark.false_failure(1e-6)
def test_sizes_of_places_tell_where_noise_hides_them(seed: int) -> None:
    """Without a gain three runs would be 7 standard errors off."""
    assert_as_recorded(errors_without_counts, WITHOUT_COUNTS, seed, n_runs=3)
    assert WITHOUT_COUNTS["gain"][0] > 0.05


@pytest.mark.false_failure(0)
def test_plain_data_bring_a_model_back(learned: Learned) -> None:
    series, model = learned
    again = from_plain(ShareModel, plain(model))
    for mine, other in zip(_shares(series, model), _shares(series, again), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("mean", [-3.0, -0.5, 0.0, 1.0, 4.0, 10.0])
def test_the_middle_of_what_can_be_is_that_of_the_distribution_cut_at_0(mean: float) -> None:
    points = np.linspace(0, 25, 250_001)
    density = np.exp(-0.5 * np.square(points - mean))
    density /= density.sum()
    middle, square = _positive(np.array([mean]), np.array([1.0]))
    assert middle[0] == pytest.approx(points[np.searchsorted(np.cumsum(density), 0.5)], abs=2e-3)
    assert square[0] == pytest.approx(density @ np.square(points - middle[0]), rel=2e-3)


@pytest.mark.false_failure(0)
def test_origins_before_any_event_know_what_sizes_say(learned: Learned) -> None:
    series, model = learned
    weights = model.filter(series.observations, np.zeros(730), series.domain.time, np.array([0, 1]))
    found = model.predict(weights, series.domain.time, 2)
    np.testing.assert_allclose(found.means.sum(axis=2), 1.0)
    assert (found.means > 0).all()
    assert np.isfinite(found.variances).all()
