"""The kernels of what a filter knows: against one another, and against the filters that they extend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit._base.kernels import available, state_space_plain, states_plain

N_TIMES, N_TERMS, N_SERIES = 23, 3, 2
ORIGINS = np.array([0, 1, 7, 7, N_TIMES])


def _kernels() -> list[Any]:
    if not available():
        return [states_plain]
    from tacit._base.kernels import states

    return [states_plain, states]


def _share_world(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.5, 2, (N_SERIES, N_TIMES))
    errors[0, 5:9] = np.inf
    shocks = np.zeros((N_SERIES, N_TIMES))
    shocks[1, 12] = 3.0
    return (
        np.abs(rng.normal(0.5, 0.1, size=(N_SERIES, N_TIMES))),
        errors,
        rng.normal(size=(N_TIMES, N_TERMS)),
        np.array([0.3, 0.7]),
        np.array([[2.0, 0.1, 0.5], [1.0, 0.01, 0.2]]),
        0.8,
        rng.uniform(0.2, 1, (N_SERIES, N_TERMS)),
        shocks,
    )


def _share_states(kernels: Any, world: tuple[Any, ...]) -> tuple[Any, Any]:
    size = N_TERMS + 2
    states = np.empty((N_SERIES, len(ORIGINS), size)), np.empty((N_SERIES, len(ORIGINS), size, size))
    kernels.share_states(*world, ORIGINS, *states)
    return states


def _rate_world(seed: int, scale: float = 1.0) -> list[Any]:
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0, 2, N_TIMES)
    errors[4:7] = np.inf
    basis = rng.normal(size=(N_TIMES, N_TERMS)) * scale
    spread = np.diag(np.array([0.2, 0.05, 0.1, 0.1, 0.1]))
    counts = rng.poisson(20, N_TIMES).astype(float)
    counts[10] = 200
    return [counts, errors, basis, np.array([3.0, 0, 0, 0, 0]), spread, np.array([0.01, 0.02, 0, 0, 0.001]), 0.7]


def _rates(kernels: Any, world: list[Any], largest: float = 3.0) -> tuple[Any, ...]:
    size = N_TERMS + 2
    shapes = [(N_TIMES,), (N_TIMES,), (len(ORIGINS), size), (len(ORIGINS), size, size)]
    out = tuple(np.empty(shape) for shape in shapes)
    kernels.rate_states(*world, 0.01, largest, ORIGINS, *out)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_compiled_kernels_equal_plain_ones(seed: int) -> None:
    for kernels in _kernels():
        for mine, plain in zip(
            [*_share_states(kernels, _share_world(seed)), *_rates(kernels, _rate_world(seed))],
            [*_share_states(states_plain, _share_world(seed)), *_rates(states_plain, _rate_world(seed))],
            strict=True,
        ):
            np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernels", _kernels())
def test_the_states_of_two_like_series_are_what_following_them_knew_the_bin_before(kernels: Any) -> None:
    shares, errors, basis, starts, series, memory, coefficients, _ = _share_world(4)
    # what one gains the other loses, so the sum of their weights stays 1
    shares[1], errors[0], series[1], coefficients[1] = 1 - shares[0], errors[1], series[0], coefficients[0]
    shocks = np.zeros((1, 1))
    world = shares, errors, basis, starts, series, memory, coefficients, shocks
    states, spreads = _share_states(kernels, world)
    hidden = errors.copy()
    hidden[:, 7:] = np.inf  # with nothing seen from bin 7 on, following tells what is expected of it
    means, variances = np.empty(shares.shape), np.empty(shares.shape)
    law = basis, series, memory, coefficients, shocks
    state_space_plain.follow(shares - starts[:, None], hidden, *law, means, variances)
    asked = np.concatenate([[1.0, 1.0], basis[7]])
    np.testing.assert_allclose(states[:, 2] @ asked, means[:, 7] + starts, atol=1e-12)
    np.testing.assert_allclose(asked @ spreads[:, 2] @ asked, variances[:, 7], atol=1e-12)


@pytest.mark.parametrize("kernels", _kernels())
def test_a_series_that_grows_makes_the_parts_of_others_smaller_of_which_nothing_is_seen(kernels: Any) -> None:
    shares = np.stack([np.linspace(0.5, 0.8, N_TIMES), np.full(N_TIMES, 0.25), np.full(N_TIMES, 0.25)])
    errors = np.stack([np.full(N_TIMES, 1e-6), *np.full((2, N_TIMES), np.inf)])
    series = np.tile([0.01, 0.01, 1e-6], (3, 1))
    states, spreads = np.empty((3, 1, 2)), np.empty((3, 1, 2, 2))
    basis, coefficients = np.zeros((N_TIMES, 0)), np.zeros((3, 0))
    starts, shocks = np.array([0.5, 0.25, 0.25]), np.zeros((1, 1))
    kernels.share_states(
        shares, errors, basis, starts, series, 0.5, coefficients, shocks, np.array([N_TIMES]), states, spreads
    )
    weights = states[:, 0].sum(axis=1)
    np.testing.assert_allclose(weights / weights.sum(), [0.8, 0.1, 0.1], atol=0.05)


@pytest.mark.parametrize("kernels", _kernels())
def test_rates_are_expected_before_they_are_seen(kernels: Any) -> None:
    world = _rate_world(1)
    logs, variances, states, spreads = _rates(kernels, world)
    asked = np.concatenate([[1.0, 1.0], world[2][7]])
    assert logs[7] == pytest.approx(asked @ states[2])
    assert variances[7] == pytest.approx(asked @ spreads[2] @ asked)
    world[0] = world[0].copy()
    world[0][7:] = 1e6
    later = _rates(kernels, world)
    np.testing.assert_array_equal(later[0][:8], logs[:8])


@pytest.mark.parametrize("kernels", _kernels())
def test_a_count_far_off_moves_a_rate_no_further_than_one_just_as_far_as_is_believed(kernels: Any) -> None:
    world = _rate_world(2)
    moved = _rates(kernels, world)[0]
    world[0] = world[0].copy()
    world[0][10] = 250
    np.testing.assert_allclose(_rates(kernels, world)[0], moved)
    assert _rates(kernels, world, largest=1e9)[0][11] > moved[11] + 1
