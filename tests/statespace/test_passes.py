"""What a state says of bins to come, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.statespace.passes import Ahead

HORIZON, TERMS = 6, 2


def _world(seed: int) -> Ahead:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    return Ahead(
        rng.normal(size=(1, 4)),
        (root @ root.T)[None],
        rng.normal(size=(1, HORIZON, TERMS)),
        0.7,
        np.array([0.3, 0.2, 0.1, 0.05]),
    )


def _dense(world: Ahead) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances by moving the state on, bin by bin."""
    decay = np.diag([1.0, world.phi, 1.0, 1.0])
    state, spread = world.states[0], world.covariances[0]
    means, moved = [], [np.eye(4)]
    spreads = [spread]
    for h in range(HORIZON):
        if h:
            state, spread = decay @ state, decay @ spread @ decay + np.diag(world.process_variance)
            spreads.append(spread)
            moved.append(decay @ moved[-1])
        means.append(np.concatenate([[1, 1], world.regressors[0, h]]) @ state)
    loads = [np.concatenate([[1, 1], row]) for row in world.regressors[0]]
    covariance = np.empty((HORIZON, HORIZON))
    for h in range(HORIZON):
        for k in range(h, HORIZON):
            later = np.linalg.matrix_power(decay, k - h)
            covariance[h, k] = covariance[k, h] = loads[k] @ later @ spreads[h] @ loads[h]
    return np.array(means), covariance


@pytest.mark.parametrize("seed", range(3))
def test_means_variances_and_sums_are_those_of_dense_algebra(seed: int) -> None:
    world = _world(seed)
    means, covariance = _dense(world)
    weights = np.random.default_rng(seed).uniform(0, 2, HORIZON)
    np.testing.assert_allclose(world.means()[0], means)
    np.testing.assert_allclose(world.variances()[0], np.diag(covariance))
    np.testing.assert_allclose(world.sum_variances(weights[None])[0], weights @ covariance @ weights)


def test_leading_axes_broadcast() -> None:
    one, other = _world(1), _world(2)
    states, spreads = np.stack([one.states, other.states]), np.stack([one.covariances, other.covariances])
    both = Ahead(states, spreads, one.regressors, 0.7, np.stack([one.process_variance, one.process_variance])[:, None])
    np.testing.assert_allclose(both.variances()[0], one.variances())
    weights = np.ones((1, HORIZON))
    np.testing.assert_allclose(both.sum_variances(weights)[0], one.sum_variances(weights))
