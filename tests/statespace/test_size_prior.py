"""How large places are, told by one another where noise hides them."""

from __future__ import annotations

import numpy as np
import pytest

from statistical import Recorded, assert_as_recorded
from tacit._base.fields import from_plain, plain
from tacit.statespace.settings import SETTINGS
from tacit.statespace.size_prior import SizePrior, _family

EQUAL = np.full(8, 1 / 8)


def _medians(levels: np.ndarray, error: float, units: np.ndarray = EQUAL) -> tuple[np.ndarray, np.ndarray]:
    variances = np.full(len(levels), error**2)
    medians, squares = SizePrior(units, levels, variances).medians(levels[:, None], variances[:, None])
    return medians[:, 0], np.sqrt(squares[:, 0])


def test_levels_measured_well_stay_where_they_are() -> None:
    levels = np.array([0.4, 0.25, 0.1, 0.1, 0.06, 0.04, 0.03, 0.02])
    medians, deviations = _medians(levels, 1e-4)
    np.testing.assert_allclose(medians, levels, atol=1e-4)
    np.testing.assert_allclose(deviations, 1e-4, rtol=0.05)


@pytest.mark.parametrize("error", [0.01, 0.05, 0.3])
def test_medians_are_positive_add_up_and_keep_their_order(error: float) -> None:
    levels = np.array([0.5, 0.3, 0.12, 0.08, 0.06, 0.01, -0.02, -0.05])
    medians, deviations = _medians(levels, error)
    assert medians.min() > 0
    assert medians.sum() == pytest.approx(1.0)
    assert (np.diff(medians) <= 1e-9).all()
    assert (deviations < 1.5 * error + 0.1).all()


def test_many_places_leave_less_doubt_of_their_mean_than_few() -> None:
    """With the narrowest spread and no empty places a median of .6 means a mean of .6; one of 1 means 1."""
    for few, many in zip(_family(3, SETTINGS)[:2], _family(1000, SETTINGS)[:2], strict=True):
        assert few.log_weights[2] == pytest.approx(0.0, abs=1e-6)
        assert many.log_weights[2] == pytest.approx(0.0, abs=1e-6)
        assert many.log_weights[0] < 1.2 * few.log_weights[0] < -20
        assert many.log_weights[0] == pytest.approx(-0.5 * 0.4**2 / 0.05**2, rel=0.01)  # the doubt that is left


def test_noise_that_hides_all_places_rules_none_out() -> None:
    """One place seems to have everything; the error of every share is more than half."""
    medians, deviations = _medians(np.array([1.26, 0.15, 0.07, -0.01, -0.48]), 0.57, np.full(5, 0.2))
    assert medians.min() > 0.03
    assert deviations.min() > 0.05
    assert medians.max() < 0.6


def drawn_together(seed: int) -> dict[str, float]:
    """How much places that are alike differ, beside what was measured of them."""
    levels = 1 / 8 + np.random.default_rng(seed).normal(0, 0.02, 8)
    levels += (1 - levels.sum()) / 8
    medians, _ = _medians(levels, 0.02)
    return {"spread": float(np.std(medians) / np.std(levels))}


def told_by_public_sizes(seed: int) -> dict[str, float]:
    """The error of sizes where public ones are given, beside where none are."""
    sizes = np.array([0.5, 0.2, 0.1, 0.1, 0.04, 0.03, 0.02, 0.01])
    levels = sizes + np.random.default_rng(seed).normal(0, 0.05, 8)
    levels += (1 - levels.sum()) / 8
    with_sizes, without = (_medians(levels, 0.05, units)[0] for units in (sizes, EQUAL))
    return {"error": float(np.log(np.abs(with_sizes - sizes).sum() / np.abs(without - sizes).sum()))}


DRAWN_TOGETHER: Recorded = {"spread": (0.3222, 0.062)}
TOLD_BY_PUBLIC_SIZES: Recorded = {"error": (-1.72, 0.68)}
"""The logarithm of the ratio of errors."""


@pytest.mark.false_failure(1e-6)
def test_places_that_are_alike_are_drawn_together(seed: int) -> None:
    assert_as_recorded(drawn_together, DRAWN_TOGETHER, seed, n_runs=4)
    assert DRAWN_TOGETHER["spread"][0] < 0.6


@pytest.mark.false_failure(1e-6)
def test_public_sizes_say_which_place_is_large(seed: int) -> None:
    assert_as_recorded(told_by_public_sizes, TOLD_BY_PUBLIC_SIZES, seed, n_runs=4)
    assert TOLD_BY_PUBLIC_SIZES["error"][0] < np.log(0.6)


def test_plain_data_bring_a_prior_back() -> None:
    levels, variances = np.array([0.6, 0.3, 0.1]), np.full(3, 0.01)
    prior = SizePrior(np.full(3, 1 / 3), levels, variances)
    np.testing.assert_array_equal(from_plain(SizePrior, plain(prior)).below, prior.below)
    assert (np.diff(prior.below, axis=1) >= 0).all()
