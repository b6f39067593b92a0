"""Kalman filters whose state has the regression coefficients too, compiled: what was known at each time.

A state is a random-walk level, an AR(1) component and the coefficients of the regressors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels.compiling import compiled


@compiled
def _predict(state: FloatArray, covariance: FloatArray, phi: Any, steps: FloatArray) -> None:
    """Move a state on by one time; ``steps`` are the variances that its parts gain."""
    state[1] *= phi
    covariance[1] *= phi
    covariance[:, 1] *= phi
    for j in range(len(state)):
        covariance[j, j] += steps[j]


@compiled
def _project(state: FloatArray, covariance: FloatArray, asked: FloatArray, side: FloatArray) -> tuple[float, float]:
    """Return the mean and the variance of ``asked @ state``; write its covariances with the state to ``side``."""
    mean, variance = 0.0, 0.0
    for j in range(len(state)):
        side[j] = 0.0
        for i in range(len(state)):
            side[j] += covariance[j, i] * asked[i]
        mean += asked[j] * state[j]
        variance += asked[j] * side[j]
    return mean, variance


@compiled
def _update(state: FloatArray, covariance: FloatArray, side: FloatArray, scaled: Any, variance: Any) -> None:
    """Condition on an observation of this variance, whose innovation over its variance is ``scaled``."""
    for j in range(len(state)):
        state[j] += side[j] * scaled
        for i in range(len(state)):
            covariance[j, i] -= side[j] * side[i] / variance


@compiled
def share_states(
    shares: FloatArray,
    noise_variance: FloatArray,
    regressors: FloatArray,
    starts: FloatArray,
    start_variance: FloatArray,
    steps: FloatArray,
    phi: Any,
    shift_variance: FloatArray,
    are_parts: Any,
    origins: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return states and covariances at origins (ascending), before the level shifts and observations of that time.

    If series ``are_parts``, each is observed as its part of the sum of all. All arrays but ``regressors`` have a row
    for each series.
    """
    (n_series, n_times), size, n_origins = shares.shape, steps.shape[1], len(origins)
    states, covariances = np.empty((n_series, n_origins, size)), np.empty((n_series, n_origins, size, size))
    state, covariance = np.zeros((n_series, size)), np.zeros((n_series, size, size))
    asked, side, o = np.ones(size), np.empty(size), 0
    state[:, 0] = starts
    for r in range(n_series):
        covariance[r] = np.diag(start_variance[r])
    for t in range(origins[n_origins - 1] + 1):
        if t > 0:
            for r in range(n_series):
                _predict(state[r], covariance[r], phi, steps[r])
        while o < n_origins and origins[o] == t:
            states[:, o] = state
            covariances[:, o] = covariance
            o += 1
        if t == n_times:
            break
        asked[2:] = regressors[t]
        whole = 0.0 if are_parts else 1.0
        for r in range(n_series if are_parts else 0):
            for j in range(size):
                whole += asked[j] * state[r, j]
        for r in range(n_series):
            covariance[r, 0, 0] += shift_variance[r, t]
            if np.isfinite(noise_variance[r, t]):
                mean, variance = _project(state[r], covariance[r], asked, side)
                total = variance + noise_variance[r, t] * whole * whole
                _update(state[r], covariance[r], side, (shares[r, t] * whole - mean) / total, total)
    return states, covariances


@compiled
def rate_states(
    counts: FloatArray,
    noise_variance: FloatArray,
    regressors: FloatArray,
    state: FloatArray,
    covariance: FloatArray,
    steps: FloatArray,
    phi: Any,
    overdispersion: Any,
    largest: Any,
    origins: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return means and variances of log rates before each count, and states and covariances at origins (ascending).

    This is an extended Kalman filter: a count has the variance of chance at the predicted rate. An innovation of more
    than ``largest`` standard deviations moves the state no further than one of just as many.
    """
    n_times, n_origins, size = len(counts), len(origins), len(state)
    logs, variances = np.empty(n_times), np.empty(n_times)
    states, covariances = np.empty((n_origins, size)), np.empty((n_origins, size, size))
    state, covariance = state.copy(), covariance.copy()
    asked, side, o = np.ones(size), np.empty(size), 0
    for t in range(n_times + 1):
        if t > 0:
            _predict(state, covariance, phi, steps)
        while o < n_origins and origins[o] == t:
            states[o] = state
            covariances[o] = covariance
            o += 1
        if t == n_times:
            break
        asked[2:] = regressors[t]
        logs[t], variances[t] = _project(state, covariance, asked, side)
        if np.isfinite(noise_variance[t]):
            rate = np.exp(logs[t])
            total = variances[t] + 1 / rate + overdispersion + noise_variance[t] / (rate * rate)
            far = (counts[t] - rate) / rate / np.sqrt(total)
            _update(state, covariance, side, min(max(far, -largest), largest) / np.sqrt(total), total)
    return logs, variances, states, covariances
