"""The banded factors that the state-space kernels share, compiled: no twins, for the plain kernels need none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled


@compiled
def outside(
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    links: NDArray[np.float64],
    r: Any,
    smoothed: NDArray[np.float64],
    earlier: NDArray[np.float64],
    later: NDArray[np.float64],
) -> None:
    """The covariances of states given all observations; and how what one does to a state moves the coefficients by way
    of all observations before, and of all from it on."""
    n_times, n_terms = basis.shape
    earlier[0] = 0.0
    for t in range(n_times - 1):
        weight = 1 / errors[r, t]  # 0 where nothing was seen
        for j in range(n_terms):
            left, right = earlier[t, j, 0] + basis[t, j] * weight, earlier[t, j, 1] + basis[t, j] * weight
            earlier[t + 1, j, 0] = left * links[t, 0] + right * links[t, 2]
            earlier[t + 1, j, 1] = left * links[t, 1] + right * links[t, 3]
    later[n_times] = 0.0
    a, b, c = 0.0, 0.0, 0.0
    for t in range(n_times - 1, -1, -1):
        j11, j12, j21, j22 = links[t, 0], links[t, 1], links[t, 2], links[t, 3]
        aa = j11 * j11 * a + 2 * j11 * j12 * b + j12 * j12 * c
        bb = j11 * j21 * a + (j11 * j22 + j12 * j21) * b + j12 * j22 * c
        cc = j21 * j21 * a + 2 * j21 * j22 * b + j22 * j22 * c
        a, b, c = aa + links[t, 4], bb + links[t, 5], cc + links[t, 6]
        smoothed[t, 0], smoothed[t, 1], smoothed[t, 2] = a, b, c
        weight = 1 / errors[r, t]
        for j in range(n_terms):
            left, right = later[t + 1, j, 0], later[t + 1, j, 1]
            later[t, j, 0] = basis[t, j] * (a + b) * weight + left * j11 + right * j12
            later[t, j, 1] = basis[t, j] * (b + c) * weight + left * j21 + right * j22


@compiled
def fill_links(
    errors: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    shocks: NDArray[np.float64],
    r: Any,
    links: NDArray[np.float64],
) -> None:
    n_times = errors.shape[1]
    a, b, c = series[r, 0], 0.0, series[r, 2]
    fresh = series[r, 2] * (1 - memory * memory)
    for t in range(n_times):
        if t > 0:
            old_a, old_b, old_c = a, b, c
            a += series[r, 1] + shocks[r % shocks.shape[0], t % shocks.shape[1]]
            b *= memory
            c = memory * memory * c + fresh
            scale = 1 / (a * c - b * b)
            # J = P F' (F P F' + Q)^-1 with F = diag(1, memory)
            j11 = (old_a * c - memory * old_b * b) * scale
            j12 = (memory * old_b * a - old_a * b) * scale
            j21 = (old_b * c - memory * old_c * b) * scale
            j22 = (memory * old_c * a - old_b * b) * scale
            links[t - 1, 0], links[t - 1, 1], links[t - 1, 2], links[t - 1, 3] = j11, j12, j21, j22
            c11 = old_a - (j11 * j11 * a + 2 * j11 * j12 * b + j12 * j12 * c)
            c12 = old_b - (j11 * j21 * a + (j11 * j22 + j12 * j21) * b + j12 * j22 * c)
            c22 = old_c - (j21 * j21 * a + 2 * j21 * j22 * b + j22 * j22 * c)
            links[t - 1, 4], links[t - 1, 5], links[t - 1, 6] = max(c11, 0.0), c12, max(c22, 0.0)
        else:
            a += shocks[r % shocks.shape[0], 0]
        if np.isfinite(errors[r, t]):
            spread = a + 2 * b + c + errors[r, t]
            first, second = a + b, b + c
            a -= first * first / spread
            b -= first * second / spread
            c -= second * second / spread
    links[n_times - 1, :4] = 0.0
    links[n_times - 1, 4], links[n_times - 1, 5], links[n_times - 1, 6] = a, b, c


@compiled
def fill_precision(
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    r: Any,
    precision: NDArray[np.float64],
) -> None:
    n_times, n_terms = basis.shape
    states = np.zeros((n_terms, 2))
    residuals = np.empty(n_terms)
    precision[:] = 0.0
    a, b, c = series[r, 0], 0.0, series[r, 2]
    fresh = series[r, 2] * (1 - memory * memory)
    for t in range(n_times):
        if t > 0:
            a += series[r, 1]
            b *= memory
            c = memory * memory * c + fresh
            for j in range(n_terms):
                states[j, 1] *= memory
        a += shocks[r % shocks.shape[0], t % shocks.shape[1]]
        if not np.isfinite(errors[r, t]):
            continue
        spread = a + 2 * b + c + errors[r, t]
        first, second = (a + b) / spread, (b + c) / spread
        for j in range(n_terms):
            residuals[j] = basis[t, j] - states[j, 0] - states[j, 1]
        for j in range(n_terms):
            states[j, 0] += first * residuals[j]
            states[j, 1] += second * residuals[j]
            scaled = residuals[j] / spread
            for i in range(j + 1):
                precision[j, i] += scaled * residuals[i]
        a -= first * first * spread
        b -= first * second * spread
        c -= second * second * spread
    for j in range(n_terms):
        precision[j, j] += 1 / coefficients[r, j]


@compiled
def cholesky(matrix: NDArray[np.float64]) -> None:
    for j in range(matrix.shape[0]):
        for i in range(j + 1):
            value = matrix[j, i]
            for k in range(i):
                value -= matrix[j, k] * matrix[i, k]
            matrix[j, i] = np.sqrt(max(value, 1e-300)) if i == j else value / matrix[i, i]


@compiled
def invert_root(root: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
    inverse[:] = 0.0
    for i in range(root.shape[0]):
        inverse[i, i] = 1 / root[i, i]
        for j in range(i + 1, root.shape[0]):
            value = 0.0
            for k in range(i, j):
                value -= root[j, k] * inverse[k, i]
            inverse[j, i] = value / root[j, j]


@compiled
def solve(inverse_root: NDArray[np.float64], loads: NDArray[np.float64]) -> None:
    n = loads.shape[0]
    half = np.zeros(n)
    for j in range(n):
        for i in range(j + 1):
            half[j] += inverse_root[j, i] * loads[i]
    loads[:] = 0.0
    for j in range(n):
        for i in range(j + 1):
            loads[i] += inverse_root[j, i] * half[j]
