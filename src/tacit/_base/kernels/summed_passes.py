"""The passes over a series of which sums were seen too, compiled: no twins, for the plain kernels have their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled


@compiled
def fill_forward(
    values: NDArray[np.float64],
    exposures: NDArray[np.float64],
    errors: NDArray[np.float64],
    deviations: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    shocks: NDArray[np.float64],
    ends: NDArray[np.bool_],
    sum_errors: NDArray[np.float64],
    r: Any,
    moved: NDArray[np.float64],
    spreads: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Follow one series. A row of ``found`` for all that was seen, a value and then the sums that end with it: how far
    the basis and the values are from what was expected, and one over the variance of that. ``moved`` has covariances
    with the state, ``spreads`` the variance of the realized value and the part of it that seeing it leaves."""
    n_times, n_terms, size = errors.shape[1], basis.shape[1], ends.shape[0] + 2
    spread, states, side = np.zeros((size, size)), np.zeros((size, n_terms + 1)), np.empty(size)
    spread[0, 0], spread[1, 1] = series[r, 0], series[r, 2]
    fresh = series[r, 2] * (1 - memory * memory)
    row = 0
    for t in range(n_times):
        if t > 0:
            spread[0, 0] += series[r, 1]
            for i in range(size):
                spread[1, i] *= memory
                spread[i, 1] *= memory
            spread[1, 1] += fresh
            for j in range(n_terms + 1):
                states[1, j] *= memory
        spread[0, 0] += shocks[r % shocks.shape[0], t % shocks.shape[1]]
        for i in range(size):
            side[i] = spread[0, i] + spread[1, i]
            moved[row, i] = side[i]
        own = side[0] + side[1] + deviations[r, t]
        weight = 1 / (own + errors[r, t]) if exposures[t] > 0 else 0.0  # 0 too where nothing was seen
        kept = exposures[t] * (1 - own * weight)
        spreads[t, 0], spreads[t, 1] = own, kept
        for j in range(n_terms):
            found[row, j] = basis[t, j] - states[0, j] - states[1, j]
        found[row, n_terms] = values[r, t] - states[0, n_terms] - states[1, n_terms]
        for i in range(size):
            # sums are held as what they differ by from those of the values
            gain = side[i] * weight - (kept if i > 1 else 0.0)
            for j in range(n_terms + 1):
                states[i, j] += gain * found[row, j]
        found[row, n_terms + 1] = weight
        for i in range(size):
            for j in range(i + 1):
                change = -side[i] * side[j] * weight
                if i > 1:
                    change += side[j] * kept
                if j > 1:
                    change += (side[i] + own) * kept
                spread[i, j] += change
                spread[j, i] = spread[i, j]
        row += 1
        for k in range(size - 2):
            if ends[k, t]:
                for i in range(size):
                    side[i] = spread[i, k + 2]
                    moved[row, i] = side[i]
                total = side[k + 2] + sum_errors[k]
                weight = 1 / total if total > 0 else 0.0
                for j in range(n_terms + 1):
                    found[row, j] = -states[k + 2, j]
                for i in range(size):
                    for j in range(n_terms + 1):
                        states[i, j] += side[i] * weight * found[row, j]
                found[row, n_terms + 1] = weight
                for i in range(size):
                    for j in range(size):
                        spread[i, j] -= side[i] * side[j] * weight
                row += 1
        for k in range(size - 2):
            if ends[k, t]:
                spread[k + 2, :] = 0.0
                spread[:, k + 2] = 0.0
                states[k + 2, :] = 0.0


@compiled
def fill_backward(
    exposures: NDArray[np.float64],
    memory: Any,
    ends: NDArray[np.bool_],
    moved: NDArray[np.float64],
    spreads: NDArray[np.float64],
    found: NDArray[np.float64],
    pulls: NDArray[np.float64],
    bends: NDArray[np.float64],
) -> None:
    """What all that comes after a time says of the state then: a pull, of as many columns as asked, and a precision."""
    n_times, n_columns, size = pulls.shape
    last = found.shape[1] - 1
    row = found.shape[0]
    pull, bend = np.zeros((n_columns, size)), np.zeros((size, size))
    side, realized, pulled = np.empty(size), np.empty(size), np.empty(n_columns)
    for t in range(n_times - 1, -1, -1):
        pulls[t], bends[t] = pull, bend
        for k in range(size - 2):
            if ends[k, t]:
                pull[:, k + 2] = 0.0
                bend[k + 2, :] = 0.0
                bend[:, k + 2] = 0.0
        for k in range(size - 3, -1, -1):
            if ends[k, t]:
                row -= 1
                weight, total = found[row, last], 0.0
                for i in range(size):
                    side[i] = 0.0
                    for j in range(size):
                        side[i] += bend[i, j] * moved[row, j]
                    total += side[i] * moved[row, i]
                for j in range(n_columns):
                    residual = found[row, j]
                    for i in range(size):
                        residual -= moved[row, i] * pull[j, i]
                    pull[j, k + 2] += weight * residual
                for i in range(size):
                    bend[k + 2, i] -= weight * side[i]
                    bend[i, k + 2] -= weight * side[i]
                bend[k + 2, k + 2] += weight * (1 + weight * total)
        row -= 1
        weight, own = found[row, last], spreads[t, 0]
        corner = 0.0
        for i in range(size):
            realized[i] = 0.0
            for k in range(2, size):
                realized[i] += bend[i, k]
            corner += realized[i] if i > 1 else 0.0
        of_own, total = corner * own, 0.0
        for i in range(size):
            side[i] = realized[i] * own
            for j in range(size):
                side[i] += bend[i, j] * moved[row, j]
            of_own += realized[i] * moved[row, i]
            total += side[i] * moved[row, i]
        total += of_own * own
        corner += weight * (1 + weight * total - 2 * of_own)
        for j in range(n_columns):
            here, residual = 0.0, found[row, j]
            for k in range(2, size):
                here += pull[j, k]
            for i in range(size):
                residual -= moved[row, i] * pull[j, i]
            pulled[j] = exposures[t] * (here + weight * (residual - own * here))
        corner *= exposures[t]
        for i in range(size):
            realized[i] = exposures[t] * (realized[i] - weight * side[i])
        for i in range(size):
            for j in range(2):
                bend[i, j] += realized[i]
                bend[j, i] += realized[i]
        for i in range(2):
            for j in range(2):
                bend[i, j] += corner
            for j in range(n_columns):
                pull[j, i] += pulled[j]
        for i in range(size):
            bend[1, i] *= memory
            bend[i, 1] *= memory
        for j in range(n_columns):
            pull[j, 1] *= memory


@compiled
def add_products(found: NDArray[np.float64], precision: NDArray[np.float64], loads: NDArray[np.float64]) -> None:
    """What all that was seen says of the coefficients of the basis."""
    n_terms = loads.shape[0]
    precision[:] = 0.0
    loads[:] = 0.0
    for row in range(found.shape[0]):
        for j in range(n_terms):
            scaled = found[row, j] * found[row, n_terms + 1]
            loads[j] += scaled * found[row, n_terms]
            for i in range(j + 1):
                precision[j, i] += scaled * found[row, i]
