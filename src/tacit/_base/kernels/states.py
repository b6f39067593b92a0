"""The kernels of what a filter knows, compiled. ``states_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled


@compiled
def share_states(
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    starts: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    origins: NDArray[np.int64],
    states: NDArray[np.float64],
    spreads: NDArray[np.float64],
) -> None:
    n_series, n_times = shares.shape
    size = basis.shape[1] + 2
    n_origins = len(origins)
    state, spread = np.zeros((n_series, size)), np.zeros((n_series, size, size))
    asked, moved, means = np.ones(size), np.empty(size), np.empty(n_series)
    for r in range(n_series):
        state[r, 0] = starts[r]
        spread[r, 0, 0], spread[r, 1, 1] = series[r, 0], series[r, 2]
        for j in range(size - 2):
            spread[r, j + 2, j + 2] = coefficients[r, j]
    o = 0
    for t in range(origins[n_origins - 1] + 1):
        if t > 0:
            for r in range(n_series):
                state[r, 1] *= memory
                for j in range(size):
                    spread[r, 1, j] *= memory
                    spread[r, j, 1] *= memory
                spread[r, 0, 0] += series[r, 1]
                spread[r, 1, 1] += series[r, 2] * (1 - memory * memory)
        while o < n_origins and origins[o] == t:
            states[:, o] = state
            spreads[:, o] = spread
            o += 1
        if t == n_times:
            break
        for j in range(size - 2):
            asked[j + 2] = basis[t, j]
        whole = 0.0
        for r in range(n_series):
            means[r] = 0.0
            for j in range(size):
                means[r] += asked[j] * state[r, j]
            whole += means[r]
        for r in range(n_series):
            spread[r, 0, 0] += shocks[r % shocks.shape[0], t % shocks.shape[1]]
            if not np.isfinite(errors[r, t]):
                continue
            total = errors[r, t] * whole * whole
            for j in range(size):
                moved[j] = 0.0
                for i in range(size):
                    moved[j] += spread[r, j, i] * asked[i]
                total += asked[j] * moved[j]
            residual = (shares[r, t] * whole - means[r]) / total
            for j in range(size):
                state[r, j] += moved[j] * residual
                for i in range(size):
                    spread[r, j, i] -= moved[j] * moved[i] / total


@compiled
def rate_states(
    counts: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    state: NDArray[np.float64],
    spread: NDArray[np.float64],
    steps: NDArray[np.float64],
    memory: Any,
    overdispersion: Any,
    largest: Any,
    origins: NDArray[np.int64],
    logs: NDArray[np.float64],
    variances: NDArray[np.float64],
    states: NDArray[np.float64],
    spreads: NDArray[np.float64],
) -> None:
    n_times, n_terms = basis.shape
    n_origins, size = len(origins), n_terms + 2
    state, spread = state.copy(), spread.copy()
    asked, moved = np.ones(size), np.empty(size)
    o = 0
    for t in range(n_times + 1):
        if t > 0:
            state[1] *= memory
            for j in range(size):
                spread[1, j] *= memory
                spread[j, 1] *= memory
            for j in range(size):
                spread[j, j] += steps[j]
        while o < n_origins and origins[o] == t:
            states[o] = state
            spreads[o] = spread
            o += 1
        if t == n_times:
            break
        for j in range(n_terms):
            asked[j + 2] = basis[t, j]
        mean, variance = 0.0, 0.0
        for j in range(size):
            moved[j] = 0.0
            for i in range(size):
                moved[j] += spread[j, i] * asked[i]
            mean += asked[j] * state[j]
            variance += asked[j] * moved[j]
        logs[t], variances[t] = mean, variance
        if not np.isfinite(errors[t]):
            continue
        rate = np.exp(mean)
        total = variance + 1 / rate + overdispersion + errors[t] / (rate * rate)
        far = (counts[t] - rate) / rate / np.sqrt(total)
        push = min(max(far, -largest), largest) / np.sqrt(total)
        for j in range(size):
            state[j] += moved[j] * push
            for i in range(size):
                spread[j, i] -= moved[j] * moved[i] / total
