"""The filters whose states have coefficients: what was known at each time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base.kernels import compiled_kernels
from tacit.statespace.state_space import StateSpace

N_TIMES, N_TERMS = 23, 3
Array = NDArray[np.float64]
ORIGINS = np.array([0, 1, 7, 7, N_TIMES])


def _share_states(
    shares: Array, noise_variance: Array, model: StateSpace, starts: Array, origins: NDArray[np.int64]
) -> tuple[Array, Array]:
    known = shares, noise_variance, model.regressors, starts, *model.start_and_steps, model.phi, model.shifts
    states, covariances = compiled_kernels("filters").share_states(*known, True, origins)
    return states, covariances


def _model(
    noise_variance: Array, regressors: Array, state_variances: Array, coefficient_variances: Array
) -> StateSpace:
    n_times = noise_variance.shape[1]
    return StateSpace(
        exposures=np.ones(n_times),
        process_variance=np.zeros((n_times, len(noise_variance))),
        noise_variance=noise_variance.T,
        regressors=regressors,
        state_variances=state_variances,
        phi=0.8,
        coefficient_variances=coefficient_variances,
        shift_variance=np.zeros((1, 1)),
    )


def _rate_world(seed: int, scale: float = 1.0) -> list[Any]:
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0, 2, N_TIMES)
    errors[4:7] = np.inf
    basis = rng.normal(size=(N_TIMES, N_TERMS)) * scale
    spread = np.diag(np.array([0.2, 0.05, 0.1, 0.1, 0.1]))
    counts = rng.poisson(20, N_TIMES).astype(float)
    counts[10] = 200
    return [counts, errors, basis, np.array([3.0, 0, 0, 0, 0]), spread, np.array([0.01, 0.02, 0, 0, 0.001]), 0.7]


def _rates(world: list[Any], largest: float = 3.0) -> tuple[Any, ...]:
    return tuple(compiled_kernels("filters").rate_states(*world, 0.01, largest, ORIGINS))


def test_the_states_of_two_like_series_are_what_a_filter_knew_the_bin_before() -> None:
    rng = np.random.default_rng(4)
    share, variance = np.abs(rng.normal(0.5, 0.1, N_TIMES)), rng.uniform(0.5, 2, N_TIMES)
    # what one gains the other loses, so the sum of their weights stays 1
    shares, noise_variance, starts = np.stack([share, 1 - share]), np.stack([variance, variance]), np.array([0.3, 0.7])
    regressors, sizes = rng.normal(size=(N_TIMES, N_TERMS)), rng.uniform(0.2, 1, (1, N_TERMS))
    model = _model(noise_variance, regressors, np.tile([2.0, 0.1, 0.5], (2, 1)), np.repeat(sizes, 2, axis=0))
    states, covariances = _share_states(shares, noise_variance, model, starts, ORIGINS)
    # with nothing observed from bin 7 on, a filter tells what is predicted of it
    hidden = np.where(np.arange(N_TIMES)[:, None] < 7, model.noise_variance, np.inf)
    means, variances = replace(model, noise_variance=hidden).filter(shares.T - starts)
    asked = np.concatenate([[1.0, 1.0], regressors[7]])
    np.testing.assert_allclose(states[:, 2] @ asked, means[7] + starts, atol=1e-12)
    np.testing.assert_allclose(asked @ covariances[:, 2] @ asked, variances[7], atol=1e-12)


def test_a_series_that_grows_makes_the_parts_of_others_smaller_of_which_nothing_is_observed() -> None:
    shares = np.stack([np.linspace(0.5, 0.8, N_TIMES), np.full(N_TIMES, 0.25), np.full(N_TIMES, 0.25)])
    noise_variance = np.stack([np.full(N_TIMES, 1e-6), *np.full((2, N_TIMES), np.inf)])
    model = _model(noise_variance, np.zeros((N_TIMES, 0)), np.tile([0.01, 0.01, 1e-6], (3, 1)), np.zeros((3, 0)))
    states, _ = _share_states(shares, noise_variance, model, np.array([0.5, 0.25, 0.25]), np.array([N_TIMES]))
    weights = states[:, 0].sum(axis=1)
    np.testing.assert_allclose(weights / weights.sum(), [0.8, 0.1, 0.1], atol=0.05)


def test_rates_are_expected_before_they_are_seen() -> None:
    world = _rate_world(1)
    logs, variances, states, spreads = _rates(world)
    asked = np.concatenate([[1.0, 1.0], world[2][7]])
    assert logs[7] == pytest.approx(asked @ states[2])
    assert variances[7] == pytest.approx(asked @ spreads[2] @ asked)
    world[0] = world[0].copy()
    world[0][7:] = 1e6
    later = _rates(world)
    np.testing.assert_array_equal(later[0][:8], logs[:8])


def test_a_count_far_off_moves_a_rate_no_further_than_one_just_as_far_as_is_believed() -> None:
    world = _rate_world(2)
    moved = _rates(world)[0]
    world[0] = world[0].copy()
    world[0][10] = 250
    np.testing.assert_allclose(_rates(world)[0], moved)
    assert _rates(world, largest=1e9)[0][11] > moved[11] + 1
