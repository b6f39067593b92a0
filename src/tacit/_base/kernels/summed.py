"""The kernels for series of which sums were seen too, compiled. ``summed_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.banded import cholesky, invert_root, solve
from tacit._base.kernels.compiling import compiled
from tacit._base.kernels.summed_passes import add_products, fill_backward, fill_forward


@compiled
def log_likelihoods(
    values: NDArray[np.float64],
    exposures: NDArray[np.float64],
    errors: NDArray[np.float64],
    deviations: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    ends: NDArray[np.bool_],
    sum_errors: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    n_series, n_times = values.shape
    n_terms, n_sums, size = basis.shape[1], np.sum(ends), ends.shape[0] + 2
    moved, spreads = np.empty((n_times + n_sums, size)), np.empty((n_times, 2))
    found = np.empty((n_times + n_sums, n_terms + 2))
    precision, loads = np.empty((n_terms, n_terms)), np.empty(n_terms)
    for r in range(n_series):
        fill_forward(
            values,
            exposures,
            errors,
            deviations,
            basis,
            series,
            memory,
            shocks,
            ends,
            sum_errors,
            r,
            moved,
            spreads,
            found,
        )
        add_products(found, precision, loads)
        total = 0.0
        for row in range(found.shape[0]):
            if found[row, n_terms + 1] > 0:
                total += found[row, n_terms] ** 2 * found[row, n_terms + 1] - np.log(found[row, n_terms + 1])
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
            total += np.log(coefficients[r, j])
        cholesky(precision)
        for j in range(n_terms):
            value = loads[j]
            for i in range(j):
                value -= precision[j, i] * loads[i]
            loads[j] = value / precision[j, j]
            total += 2 * np.log(precision[j, j]) - loads[j] * loads[j]
        out[r] = -0.5 * total


@compiled
def smooth(
    values: NDArray[np.float64],
    exposures: NDArray[np.float64],
    errors: NDArray[np.float64],
    deviations: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    ends: NDArray[np.bool_],
    sum_errors: NDArray[np.float64],
    expected: NDArray[np.float64],
    realized: NDArray[np.float64],
) -> None:
    n_series, n_times = values.shape
    n_terms, n_sums, size = basis.shape[1], np.sum(ends), ends.shape[0] + 2
    moved, spreads = np.empty((n_times + n_sums, size)), np.empty((n_times, 2))
    found = np.empty((n_times + n_sums, n_terms + 2))
    precision, inverse_root = np.empty((n_terms, n_terms)), np.empty((n_terms, n_terms))
    loads, pull = np.empty(n_terms), np.empty(size)
    for r in range(n_series):
        fill_forward(
            values,
            exposures,
            errors,
            deviations,
            basis,
            series,
            memory,
            shocks,
            ends,
            sum_errors,
            r,
            moved,
            spreads,
            found,
        )
        add_products(found, precision, loads)
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
        cholesky(precision)
        invert_root(precision, inverse_root)
        solve(inverse_root, loads)
        pull[:] = 0.0
        row = n_times + n_sums
        for t in range(n_times - 1, -1, -1):
            for k in range(size - 3, -1, -1):
                if ends[k, t]:
                    pull[k + 2] = 0.0
            for k in range(size - 3, -1, -1):
                if ends[k, t]:
                    row -= 1
                    weight, residual = found[row, n_terms + 1], found[row, n_terms]
                    for j in range(n_terms):
                        residual -= found[row, j] * loads[j]
                    for i in range(size):
                        residual -= moved[row, i] * pull[i]
                    pull[k + 2] += weight * residual
            row -= 1
            weight, own = found[row, n_terms + 1], found[row, n_terms]
            for j in range(n_terms):
                own -= found[row, j] * loads[j]
            total, back = 0.0, 0.0
            for k in range(2, size):
                total += pull[k]
            for i in range(size):
                back += moved[row, i] * pull[i]
            total += weight * (own - back - spreads[t, 0] * total)
            realized[r, t] = exposures[t] * (values[r, t] - own + back + spreads[t, 0] * total)
            total *= exposures[t]
            expected[r, t] = values[r, t] - own + back + (moved[row, 0] + moved[row, 1]) * total
            pull[0] += total
            pull[1] += total
            pull[1] *= memory


@compiled
def level_scores(
    values: NDArray[np.float64],
    exposures: NDArray[np.float64],
    errors: NDArray[np.float64],
    deviations: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    ends: NDArray[np.bool_],
    sum_errors: NDArray[np.float64],
    scores: NDArray[np.float64],
    informations: NDArray[np.float64],
) -> None:
    n_series, n_times = values.shape
    n_terms, n_sums, size = basis.shape[1], np.sum(ends), ends.shape[0] + 2
    moved, spreads = np.empty((n_times + n_sums, size)), np.empty((n_times, 2))
    found = np.empty((n_times + n_sums, n_terms + 2))
    pulls, bends = np.empty((n_times, n_terms + 1, size)), np.empty((n_times, size, size))
    precision, inverse_root = np.empty((n_terms, n_terms)), np.empty((n_terms, n_terms))
    loads = np.empty(n_terms)
    for r in range(n_series):
        fill_forward(
            values,
            exposures,
            errors,
            deviations,
            basis,
            series,
            memory,
            shocks,
            ends,
            sum_errors,
            r,
            moved,
            spreads,
            found,
        )
        add_products(found, precision, loads)
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
        cholesky(precision)
        invert_root(precision, inverse_root)
        solve(inverse_root, loads)
        fill_backward(exposures, memory, ends, moved, spreads, found, pulls, bends)
        scores[r, 0], informations[r, 0] = 0.0, 0.0
        for t in range(1, n_times):
            score, information = pulls[t - 1, n_terms, 0], bends[t - 1, 0, 0]
            for j in range(n_terms):
                score -= pulls[t - 1, j, 0] * loads[j]
                root = 0.0
                for i in range(j + 1):
                    root += inverse_root[j, i] * pulls[t - 1, i, 0]
                information -= root * root
            scores[r, t], informations[r, t] = score, information


@compiled
def question_variances(
    exposures: NDArray[np.float64],
    errors: NDArray[np.float64],
    deviations: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    ends: NDArray[np.bool_],
    sum_errors: NDArray[np.float64],
    weights: NDArray[np.float64],
    groups: NDArray[np.int64],
    bounds: NDArray[np.int64],
    out: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> None:
    n_series, n_times = errors.shape
    n_terms, n_sums, size = basis.shape[1], np.sum(ends), ends.shape[0] + 2
    moved, spreads = np.empty((n_times + n_sums, size)), np.empty((n_times, 2))
    found = np.empty((n_times + n_sums, n_terms + 2))
    pulls, bends = np.empty((n_times, n_terms, size)), np.empty((n_times, size, size))
    precision, inverse_root = np.empty((n_terms, n_terms)), np.empty((n_terms, n_terms))
    loads, shared, rest = np.empty(n_terms), np.empty(size), np.empty(n_terms)
    rows = np.empty(n_times + 1, np.int64)
    rows[0] = 0
    for t in range(n_times):
        rows[t + 1] = rows[t] + 1 + np.sum(ends[:, t])
    nothing = np.zeros_like(errors)
    for r in range(n_series):
        fill_forward(
            nothing,
            exposures,
            errors,
            deviations,
            basis,
            series,
            memory,
            shocks,
            ends,
            sum_errors,
            r,
            moved,
            spreads,
            found,
        )
        add_products(found, precision, loads)
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
        cholesky(precision)
        invert_root(precision, inverse_root)
        fill_backward(exposures, memory, ends, moved, spreads, found, pulls, bends)
        for g in range(bounds.shape[0]):
            variance = 0.0
            shared[:] = 0.0
            rest[:] = 0.0
            for t in range(bounds[g, 0], bounds[g, 1]):
                row = rows[t]
                weight, kept = found[row, n_terms + 1], spreads[t, 1]
                shared[1] *= memory
                own = shared[0] + shared[1]
                asked = weights[r, t] if groups[t] == g else 0.0
                variance += asked * (2 * own + asked * spreads[t, 0]) * kept - own * own * weight
                for j in range(n_terms):
                    rest[j] += found[row, j] * (asked * kept - own * weight)
                for i in range(size):
                    shared[i] += moved[row, i] * (asked * kept - own * weight)
                for k in range(2, size):
                    shared[k] += (own + asked * spreads[t, 0]) * kept
                for k in range(size - 2):
                    if ends[k, t]:
                        row += 1
                        own, weight = shared[k + 2], found[row, n_terms + 1]
                        variance -= own * own * weight
                        for j in range(n_terms):
                            rest[j] -= found[row, j] * own * weight
                        for i in range(size):
                            shared[i] -= moved[row, i] * own * weight
                for k in range(size - 2):
                    if ends[k, t]:
                        shared[k + 2] = 0.0
            last = bounds[g, 1] - 1
            for i in range(size if last >= 0 else 0):
                for j in range(size):
                    variance -= shared[i] * bends[last, i, j] * shared[j]
                for j in range(n_terms):
                    rest[j] -= pulls[last, j, i] * shared[i]
            for j in range(n_terms):
                root = 0.0
                for i in range(j + 1):
                    root += inverse_root[j, i] * rest[i]
                variance += root * root
            out[r, g] = max(variance, 0.0)
            for j in range(slopes.shape[2]):
                slopes[r, g, j] = rest[j]
