"""The state-space kernels against dense Gaussian algebra, and against their plain twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base.kernels import available, state_space_plain

N_TIMES, N_TERMS, N_SERIES = 23, 3, 2


def _kernels() -> list[Any]:
    if not available():
        return [state_space_plain]
    from tacit._base.kernels import state_space

    return [state_space_plain, state_space]


def _world(seed: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.5, 2, (N_SERIES, N_TIMES))
    errors[0, 5:9] = np.inf
    shocks = np.zeros((N_SERIES, N_TIMES))
    shocks[1, 12] = 3.0
    law = (
        errors,
        rng.normal(size=(N_TIMES, N_TERMS)),
        np.array([[2.0, 0.1, 0.5], [1.0, 0.01, 0.2]]),
        0.8,
        rng.uniform(0.2, 1, (N_SERIES, N_TERMS)),
        shocks,
    )
    return rng.normal(size=(N_SERIES, N_TIMES)), law


def _posterior(
    r: int, shares: NDArray[np.float64], law: tuple[Any, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    errors, basis, series, memory, coefficients, shocks = law
    t = np.arange(N_TIMES)
    steps = np.full(N_TIMES, series[r, 1])
    steps[0] = series[r, 0]
    prior = np.cumsum(steps + shocks[r])[np.minimum.outer(t, t)]
    prior = prior + series[r, 2] * memory ** np.abs(np.subtract.outer(t, t))
    prior = prior + basis @ np.diag(coefficients[r]) @ basis.T
    seen = np.isfinite(errors[r])
    spread = prior[np.ix_(seen, seen)] + np.diag(errors[r][seen])
    solved = np.linalg.solve(spread, shares[r][seen])
    mean = prior[:, seen] @ solved
    covariance = prior - prior[:, seen] @ np.linalg.solve(spread, prior[seen])
    return mean, covariance, -0.5 * float(np.linalg.slogdet(spread)[1] + shares[r][seen] @ solved)


@pytest.mark.parametrize("kernels", _kernels())
@pytest.mark.parametrize("seed", range(3))
def test_means_variances_and_likelihoods_are_those_of_dense_algebra(kernels: Any, seed: int) -> None:
    shares, law = _world(seed)
    means, variances, logs = np.empty(shares.shape), np.empty(shares.shape), np.empty(N_SERIES)
    kernels.smooth(shares, *law, means, variances)
    kernels.log_likelihoods(shares, *law, logs)
    for r in range(N_SERIES):
        mean, covariance, log = _posterior(r, shares, law)
        np.testing.assert_allclose(means[r], mean, atol=1e-10)
        np.testing.assert_allclose(variances[r], np.diag(covariance), atol=1e-10)
        np.testing.assert_allclose(logs[r], log, atol=1e-9)


@pytest.mark.parametrize("kernels", _kernels())
def test_following_a_series_knows_nothing_of_the_future(kernels: Any) -> None:
    shares, law = _world(1)
    means, variances = np.empty(shares.shape), np.empty(shares.shape)
    kernels.follow(shares, *law, means, variances)
    for r in range(N_SERIES):
        for t in range(N_TIMES):
            errors = law[0].copy()
            errors[:, t + 1 :] = np.inf
            mean, covariance, _ = _posterior(r, shares, (errors, *law[1:]))
            np.testing.assert_allclose([means[r, t], variances[r, t]], [mean[t], covariance[t, t]], atol=1e-10)


@pytest.mark.parametrize("kernels", _kernels())
@pytest.mark.parametrize("seed", range(3))
def test_moments_of_weighted_sums_are_those_of_dense_algebra(kernels: Any, seed: int) -> None:
    shares, law = _world(seed)
    rng = np.random.default_rng(seed + 100)
    weights, damped = rng.normal(size=shares.shape), rng.normal(size=shares.shape)
    groups = rng.integers(0, 3, N_TIMES)
    groups[:2], groups[-1] = -1, 1
    bounds = np.array([[np.flatnonzero(groups == g)[0], np.flatnonzero(groups == g)[-1] + 1] for g in range(3)])
    bounds = np.concatenate([bounds, [[0, 0]]])
    out = np.empty((N_SERIES, 4, 3))
    kernels.question_variances(*law, weights, damped, groups, bounds, out)
    for r in range(N_SERIES):
        covariance = _posterior(r, shares, law)[1]
        for g in range(3):
            a, b = weights[r] * (groups == g), damped[r] * (groups == g)
            np.testing.assert_allclose(
                out[r, g], [a @ covariance @ a, a @ covariance @ b, b @ covariance @ b], atol=1e-10
            )
    assert (out[:, 3] == 0).all()


@pytest.mark.parametrize("kernels", _kernels())
def test_scores_of_shifted_levels_are_those_of_dense_algebra(kernels: Any) -> None:
    shares, law = _world(2)
    scores, informations = np.empty(shares.shape), np.empty(shares.shape)
    kernels.level_scores(shares, *law, scores, informations)
    for r in range(N_SERIES):
        _, _, without = _posterior(r, shares, law)
        for t in range(N_TIMES):
            # by definition: what a shift from t on adds to the likelihood, and takes from it again
            shifted = np.where(np.arange(N_TIMES) >= t, 1.0, 0.0)
            more, less = (_posterior(r, shares - sign * shifted[None], law)[2] for sign in (1, -1))
            np.testing.assert_allclose(scores[r, t], (more - less) / 2, atol=1e-9)
            np.testing.assert_allclose(informations[r, t], 2 * without - more - less, atol=1e-9)
