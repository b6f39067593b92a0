"""The state-space kernels, compiled. ``state_space_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.banded import cholesky, fill_links, fill_precision, invert_root, outside, solve
from tacit._base.kernels.compiling import compiled


@compiled
def log_likelihoods(
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    n_series, n_times = shares.shape
    n_terms = basis.shape[1]
    states = np.empty((n_terms + 1, 2))
    residuals = np.empty(n_terms + 1)
    precision = np.empty((n_terms, n_terms))
    loads = np.empty(n_terms)
    for r in range(n_series):
        states[:] = 0.0
        precision[:] = 0.0
        loads[:] = 0.0
        a, b, c = series[r, 0], 0.0, series[r, 2]
        fresh = series[r, 2] * (1 - memory * memory)
        total = 0.0
        for t in range(n_times):
            if t > 0:
                a += series[r, 1]
                b *= memory
                c = memory * memory * c + fresh
                for j in range(n_terms + 1):
                    states[j, 1] *= memory
            a += shocks[r % shocks.shape[0], t % shocks.shape[1]]
            if not np.isfinite(errors[r, t]):
                continue
            spread = a + 2 * b + c + errors[r, t]
            inverse = 1 / spread
            first, second = (a + b) * inverse, (b + c) * inverse
            residuals[n_terms] = shares[r, t] - states[n_terms, 0] - states[n_terms, 1]
            for j in range(n_terms):
                residuals[j] = basis[t, j] - states[j, 0] - states[j, 1]
            for j in range(n_terms + 1):
                states[j, 0] += first * residuals[j]
                states[j, 1] += second * residuals[j]
            a -= first * first * spread
            b -= first * second * spread
            c -= second * second * spread
            own = residuals[n_terms]
            total += np.log(spread) + own * own * inverse
            for j in range(n_terms):
                scaled = residuals[j] * inverse
                loads[j] += scaled * own
                for i in range(j + 1):
                    precision[j, i] += scaled * residuals[i]
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
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    means: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> None:
    n_series, n_times = shares.shape
    n_terms = basis.shape[1]
    states = np.zeros((n_times, n_terms + 1, 2))
    links = np.empty((n_times, 7))
    residuals = np.empty(n_terms + 1)
    precision = np.empty((n_terms, n_terms))
    inverse_root = np.empty((n_terms, n_terms))
    loads = np.empty(n_terms)
    later = np.empty((n_terms + 1, 2))
    for r in range(n_series):
        fill_links(errors, series, memory, shocks, r, links)
        precision[:] = 0.0
        loads[:] = 0.0
        a, b, c = series[r, 0], 0.0, series[r, 2]
        fresh = series[r, 2] * (1 - memory * memory)
        for t in range(n_times):
            if t > 0:
                a += series[r, 1]
                b *= memory
                c = memory * memory * c + fresh
                for j in range(n_terms + 1):
                    states[t, j, 0] = states[t - 1, j, 0]
                    states[t, j, 1] = memory * states[t - 1, j, 1]
            else:
                states[0] = 0.0
            a += shocks[r % shocks.shape[0], t % shocks.shape[1]]
            if not np.isfinite(errors[r, t]):
                continue
            spread = a + 2 * b + c + errors[r, t]
            inverse = 1 / spread
            first, second = (a + b) * inverse, (b + c) * inverse
            residuals[n_terms] = shares[r, t] - states[t, n_terms, 0] - states[t, n_terms, 1]
            for j in range(n_terms):
                residuals[j] = basis[t, j] - states[t, j, 0] - states[t, j, 1]
            for j in range(n_terms + 1):
                states[t, j, 0] += first * residuals[j]
                states[t, j, 1] += second * residuals[j]
            a -= first * first * spread
            b -= first * second * spread
            c -= second * second * spread
            for j in range(n_terms):
                scaled = residuals[j] * inverse
                loads[j] += scaled * residuals[n_terms]
                for i in range(j + 1):
                    precision[j, i] += scaled * residuals[i]
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
        cholesky(precision)
        invert_root(precision, inverse_root)
        solve(inverse_root, loads)
        a, b, c = links[n_times - 1, 4], links[n_times - 1, 5], links[n_times - 1, 6]
        for t in range(n_times - 1, -1, -1):
            if t == n_times - 1:
                later[:] = states[t]
            else:
                j11, j12, j21, j22 = links[t, 0], links[t, 1], links[t, 2], links[t, 3]
                for j in range(n_terms + 1):
                    left = later[j, 0] - states[t, j, 0]
                    right = later[j, 1] - memory * states[t, j, 1]
                    later[j, 0] = states[t, j, 0] + j11 * left + j12 * right
                    later[j, 1] = states[t, j, 1] + j21 * left + j22 * right
                aa = j11 * j11 * a + 2 * j11 * j12 * b + j12 * j12 * c
                bb = j11 * j21 * a + (j11 * j22 + j12 * j21) * b + j12 * j22 * c
                cc = j21 * j21 * a + 2 * j21 * j22 * b + j22 * j22 * c
                a, b, c = aa + links[t, 4], bb + links[t, 5], cc + links[t, 6]
            mean = later[n_terms, 0] + later[n_terms, 1]
            variance = a + 2 * b + c
            for j in range(n_terms):
                residuals[j] = basis[t, j] - later[j, 0] - later[j, 1]
                mean += residuals[j] * loads[j]
            for j in range(n_terms):
                root = 0.0
                for i in range(j + 1):
                    root += inverse_root[j, i] * residuals[i]
                variance += root * root
            means[r, t] = mean
            variances[r, t] = variance


@compiled
def follow(
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    means: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> None:
    n_series, n_times = shares.shape
    size = basis.shape[1] + 2
    state, asked, moved = np.empty(size), np.ones(size), np.empty(size)
    spread = np.empty((size, size))
    for r in range(n_series):
        state[:] = 0.0
        spread[:] = 0.0
        spread[0, 0], spread[1, 1] = series[r, 0], series[r, 2]
        for j in range(size - 2):
            spread[j + 2, j + 2] = coefficients[r, j]
        for t in range(n_times):
            if t > 0:
                state[1] *= memory
                for j in range(size):
                    spread[1, j] *= memory
                    spread[j, 1] *= memory
                spread[0, 0] += series[r, 1]
                spread[1, 1] += series[r, 2] * (1 - memory * memory)
            spread[0, 0] += shocks[r % shocks.shape[0], t % shocks.shape[1]]
            mean, variance = 0.0, 0.0
            for j in range(size - 2):
                asked[j + 2] = basis[t, j]
            for j in range(size):
                moved[j] = 0.0
                for i in range(size):
                    moved[j] += spread[j, i] * asked[i]
                mean += asked[j] * state[j]
                variance += asked[j] * moved[j]
            if np.isfinite(errors[r, t]):
                total = variance + errors[r, t]
                residual = (shares[r, t] - mean) / total
                for j in range(size):
                    state[j] += moved[j] * residual
                    for i in range(size):
                        spread[j, i] -= moved[j] * moved[i] / total
                mean += variance * residual
                variance -= variance * variance / total
            means[r, t], variances[r, t] = mean, variance


@compiled
def level_scores(
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    scores: NDArray[np.float64],
    informations: NDArray[np.float64],
) -> None:
    n_series, n_times = shares.shape
    n_terms = basis.shape[1]
    states, slopes = np.empty((n_terms + 1, 2)), np.empty((n_terms + 1, 2))
    residuals = np.empty((n_times, n_terms + 1))
    gains = np.empty((n_times, 3))
    precision, inverse_root = np.empty((n_terms, n_terms)), np.empty((n_terms, n_terms))
    loads = np.empty(n_terms)
    for r in range(n_series):
        states[:] = 0.0
        precision[:] = 0.0
        loads[:] = 0.0
        a, b, c = series[r, 0], 0.0, series[r, 2]
        fresh = series[r, 2] * (1 - memory * memory)
        for t in range(n_times):
            if t > 0:
                a += series[r, 1]
                b *= memory
                c = memory * memory * c + fresh
                for j in range(n_terms + 1):
                    states[j, 1] *= memory
            a += shocks[r % shocks.shape[0], t % shocks.shape[1]]
            if not np.isfinite(errors[r, t]):
                gains[t] = 0.0
                residuals[t] = 0.0
                continue
            spread = a + 2 * b + c + errors[r, t]
            inverse = 1 / spread
            first, second = (a + b) * inverse, (b + c) * inverse
            gains[t, 0], gains[t, 1], gains[t, 2] = first, second, inverse
            for j in range(n_terms + 1):
                seen = shares[r, t] if j == n_terms else basis[t, j]
                residuals[t, j] = seen - states[j, 0] - states[j, 1]
                states[j, 0] += first * residuals[t, j]
                states[j, 1] += second * residuals[t, j]
            a -= first * first * spread
            b -= first * second * spread
            c -= second * second * spread
            for j in range(n_terms):
                scaled = residuals[t, j] * inverse
                loads[j] += scaled * residuals[t, n_terms]
                for i in range(j + 1):
                    precision[j, i] += scaled * residuals[t, i]
        for j in range(n_terms):
            precision[j, j] += 1 / coefficients[r, j]
        cholesky(precision)
        invert_root(precision, inverse_root)
        solve(inverse_root, loads)
        slopes[:] = 0.0
        a, b, c = 0.0, 0.0, 0.0
        for t in range(n_times - 1, -1, -1):
            first, second, inverse = gains[t, 0], gains[t, 1], gains[t, 2]
            b *= memory
            c *= memory * memory
            # what a state leaves of itself once its time is seen: [[1 - first, -first], [-second, 1 - second]]
            left, right = a * first + b * second, b * first + c * second
            both = first * left + second * right
            a, b, c = a - 2 * left + both + inverse, b - left - right + both + inverse, c - 2 * right + both + inverse
            score, lost = 0.0, 0.0
            for j in range(n_terms + 1):
                own, other = slopes[j, 0], memory * slopes[j, 1]
                taken = residuals[t, j] * inverse - own * first - other * second
                slopes[j, 0], slopes[j, 1] = own + taken, other + taken
                score += slopes[j, 0] if j == n_terms else -slopes[j, 0] * loads[j]
            for j in range(n_terms):
                root = 0.0
                for i in range(j + 1):
                    root += inverse_root[j, i] * slopes[i, 0]
                lost += root * root
            scores[r, t] = score
            informations[r, t] = a - lost


@compiled
def question_variances(
    errors: NDArray[np.float64],
    basis: NDArray[np.float64],
    series: NDArray[np.float64],
    memory: Any,
    coefficients: NDArray[np.float64],
    shocks: NDArray[np.float64],
    weights: NDArray[np.float64],
    damped: NDArray[np.float64],
    groups: NDArray[np.int64],
    bounds: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    n_series, n_times = errors.shape
    n_terms = basis.shape[1]
    links, smoothed = np.empty((n_times, 7)), np.empty((n_times, 3))
    earlier, later = np.empty((n_times, n_terms, 2)), np.empty((n_times + 1, n_terms, 2))
    precision, inverse_root = np.empty((n_terms, n_terms)), np.empty((n_terms, n_terms))
    moved, rest = np.empty((n_times, 4)), np.empty((2, n_terms))
    for r in range(n_series):
        fill_links(errors, series, memory, shocks, r, links)
        fill_precision(errors, basis, series, memory, coefficients, shocks, r, precision)
        cholesky(precision)
        invert_root(precision, inverse_root)
        outside(errors, basis, links, r, smoothed, earlier, later)
        for g in range(bounds.shape[0]):
            begin, end = bounds[g, 0], bounds[g, 1]
            out[r, g, :] = 0.0
            if begin >= end:
                continue
            x1, x2, y1, y2 = 0.0, 0.0, 0.0, 0.0
            for t in range(begin, end):
                if t > begin:
                    j11, j12, j21, j22 = links[t - 1, 0], links[t - 1, 1], links[t - 1, 2], links[t - 1, 3]
                    x1, x2 = j11 * x1 + j21 * x2, j12 * x1 + j22 * x2
                    y1, y2 = j11 * y1 + j21 * y2, j12 * y1 + j22 * y2
                if groups[t] == g:
                    w, d = weights[r, t], damped[r, t]
                    x1, x2, y1, y2 = x1 + w, x2 + w, y1 + d, y2 + d
                if t < end - 1:
                    c11, c12, c22 = links[t, 4], links[t, 5], links[t, 6]
                else:  # all that comes after hangs on this state alone
                    c11, c12, c22 = smoothed[t, 0], smoothed[t, 1], smoothed[t, 2]
                p1, p2 = c11 * x1 + c12 * x2, c12 * x1 + c22 * x2
                q1, q2 = c11 * y1 + c12 * y2, c12 * y1 + c22 * y2
                out[r, g, 0] += x1 * p1 + x2 * p2
                out[r, g, 1] += y1 * p1 + y2 * p2
                out[r, g, 2] += y1 * q1 + y2 * q2
                moved[t, 0], moved[t, 1], moved[t, 2], moved[t, 3] = p1, p2, q1, q2
            j11, j12, j21, j22 = links[end - 1, 0], links[end - 1, 1], links[end - 1, 2], links[end - 1, 3]
            x1, x2 = j11 * x1 + j21 * x2, j12 * x1 + j22 * x2
            y1, y2 = j11 * y1 + j21 * y2, j12 * y1 + j22 * y2
            for j in range(n_terms):
                rest[0, j] = -later[end, j, 0] * x1 - later[end, j, 1] * x2
                rest[1, j] = -later[end, j, 0] * y1 - later[end, j, 1] * y2
            p1, p2, q1, q2 = 0.0, 0.0, 0.0, 0.0
            for t in range(end - 1, begin - 1, -1):
                if t < end - 1:
                    j11, j12, j21, j22 = links[t, 0], links[t, 1], links[t, 2], links[t, 3]
                    p1, p2 = j11 * p1 + j12 * p2, j21 * p1 + j22 * p2
                    q1, q2 = j11 * q1 + j12 * q2, j21 * q1 + j22 * q2
                p1, p2, q1, q2 = p1 + moved[t, 0], p2 + moved[t, 1], q1 + moved[t, 2], q2 + moved[t, 3]
                left, right = 0.0, 0.0
                if np.isfinite(errors[r, t]):
                    left, right = -(p1 + p2) / errors[r, t], -(q1 + q2) / errors[r, t]
                if groups[t] == g:
                    left, right = left + weights[r, t], right + damped[r, t]
                for j in range(n_terms):
                    rest[0, j] += basis[t, j] * left
                    rest[1, j] += basis[t, j] * right
            for j in range(n_terms):
                rest[0, j] -= earlier[begin, j, 0] * p1 + earlier[begin, j, 1] * p2
                rest[1, j] -= earlier[begin, j, 0] * q1 + earlier[begin, j, 1] * q2
            for j in range(n_terms):
                left, right = 0.0, 0.0
                for i in range(j + 1):
                    left += inverse_root[j, i] * rest[0, i]
                    right += inverse_root[j, i] * rest[1, i]
                out[r, g, 0] += left * left
                out[r, g, 1] += left * right
                out[r, g, 2] += right * right
