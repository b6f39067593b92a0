r"""The passes of the Kalman filter and smoother over one series, compiled.

The state is :math:`(\ell_t, a_t, S_{1t}, \dots)`: a random-walk level, an AR(1) component, and for each level of a tree
the sum of the realized counts of its open node. A count :math:`c_t = \ell_t + a_t + d_t` is observed with noise, and a
sum where its node ends. Where no sums were observed the state is the level and the AR(1) component alone.

Regression coefficients are no part of the state. Columns of the regressors pass through the same filter as the counts,
and their innovations give the coefficients by least squares (Durbin2012, section 6.2.3). Rows of ``innovations`` stand
for the observations in order: the count of a time, then the sums that end with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.kernels.compiling import compiled


@compiled
def forward(
    observed: FloatArray,
    exposures: FloatArray,
    noise_variance: FloatArray,
    process_variance: FloatArray,
    state_variances: FloatArray,
    phi: Any,
    shift_variance: FloatArray,
    ends: BoolArray,
    sum_variance: FloatArray,
    innovations: FloatArray,
    weights: FloatArray,
    covariances: FloatArray,
    count_variance: FloatArray,
    products: FloatArray,
) -> float:
    """Filter the columns of ``observed`` (times x columns); return the sum of log variances of innovations.

    ``weights`` are one over the variances of innovations, 0 where nothing was observed. ``covariances`` (rows x state)
    are those of what is observed with the state before. ``count_variance`` (times x 2) has the variance of the count
    before it is observed, and the part of it that stays. ``products`` are sums of weighted products of innovations.
    What is observed of a sum is the sum of what is observed of its counts, as for leaves fitted by least squares.
    """
    n_times, n_columns = observed.shape
    size = ends.shape[0] + 2
    # the covariance of the state; of the level and the AR(1) component it is a, b and c, which is twice as fast
    spread, states, side = np.zeros((size, size)), np.zeros((size, n_columns)), np.empty(size)
    a, b, c = state_variances[0], 0.0, state_variances[2]
    step, fresh = state_variances[1], state_variances[2] * (1 - phi * phi)
    products[:] = 0.0
    logs, row = 0.0, 0
    for t in range(n_times):
        decay = phi if t > 0 else 1.0
        if t > 0:
            a, b, c = a + step, phi * b, phi * phi * c + fresh
        a += shift_variance[t]
        side[0], side[1] = a + b, b + c
        for i in range(2, size):
            spread[i, 1] *= decay
            side[i] = spread[i, 0] + spread[i, 1]
        own = side[0] + side[1] + process_variance[t]
        weight = 1 / (own + noise_variance[t]) if exposures[t] > 0 else 0.0  # 0 too where nothing was observed
        kept = exposures[t] * (1 - own * weight)
        count_variance[t, 0], count_variance[t, 1], weights[row] = own, kept, weight
        first, second = side[0] * weight, side[1] * weight
        covariances[row] = side
        for j in range(n_columns):
            component = decay * states[1, j]
            innovation = observed[t, j] - states[0, j] - component
            innovations[row, j] = innovation
            states[0, j] += first * innovation
            states[1, j] = component + second * innovation
        logs += _add(products, innovations, row, weight)
        a, b, c = a - first * side[0], b - first * side[1], c - second * side[1]
        for i in range(2, size):
            # a sum is held as what it differs by from the sum of what was observed
            gain = side[i] * weight - kept
            for j in range(n_columns):
                states[i, j] += gain * innovations[row, j]
            spread[i, 0] -= side[0] * gain
            spread[i, 1] -= side[1] * gain
            for j in range(2, i + 1):
                spread[i, j] += (side[i] + own) * kept - side[j] * gain
                spread[j, i] = spread[i, j]
        row += 1
        for k in range(2, size):
            if ends[k - 2, t]:
                for i in range(size):
                    side[i] = spread[i, k] if i > 1 else spread[k, i]
                    covariances[row, i] = side[i]
                total = side[k] + sum_variance[k - 2]
                weight = 1 / total if total > 0 else 0.0
                weights[row] = weight
                for j in range(n_columns):
                    innovations[row, j] = -states[k, j]
                logs += _add(products, innovations, row, weight)
                for i in range(size):
                    for j in range(n_columns):
                        states[i, j] += side[i] * weight * innovations[row, j]
                a, b = a - side[0] * side[0] * weight, b - side[0] * side[1] * weight
                c -= side[1] * side[1] * weight
                for i in range(2, size):
                    for j in range(size):
                        spread[i, j] -= side[i] * side[j] * weight
                row += 1
        for k in range(2, size):
            if ends[k - 2, t]:
                spread[k], spread[:, k], states[k] = 0.0, 0.0, 0.0
    return float(logs)


@compiled
def _add(products: FloatArray, innovations: FloatArray, row: Any, weight: Any) -> float:
    """Add the weighted products of a row of innovations; return the log of their variance, 0 where unobserved."""
    if weight <= 0:
        return 0.0
    for j in range(innovations.shape[1]):
        scaled = innovations[row, j] * weight
        for i in range(j + 1):
            products[j, i] += scaled * innovations[row, i]
    return float(-np.log(weight))


@compiled
def backward(
    innovations: FloatArray,
    weights: FloatArray,
    covariances: FloatArray,
    count_variance: FloatArray,
    exposures: FloatArray,
    phi: Any,
    ends: BoolArray,
    with_information: Any,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the score and the information that all observations after a time have of counts and of the state then.

    Those of counts (times x columns x 2) are how far the prediction of the count before it was observed is moved by
    later observations through the state, and the score of the count itself. Then come scores (times x columns x state),
    r, and informations (times x state x state, or none if not asked for), N of Durbin2012, section 4.4.
    """
    (row, n_columns), n_times, size = innovations.shape, count_variance.shape[0], covariances.shape[1]
    of_counts, scores = np.empty((n_times, n_columns, 2)), np.empty((n_times, n_columns, size))
    informations = np.empty((n_times if with_information else 0, size, size))
    score, information = np.zeros((n_columns, size)), np.zeros((size, size))
    side, of_count = np.empty(size), np.empty(size)
    for t in range(n_times - 1, -1, -1):
        scores[t] = score
        if with_information:
            informations[t] = information
        for k in range(size - 2):
            if ends[k, t]:
                score[:, k + 2], information[k + 2], information[:, k + 2] = 0.0, 0.0, 0.0
        for k in range(size - 3, -1, -1):
            if ends[k, t]:
                row -= 1
                weight, total = weights[row], 0.0
                for i in range(size):
                    side[i] = 0.0
                    for j in range(size):
                        side[i] += information[i, j] * covariances[row, j]
                    total += side[i] * covariances[row, i]
                for j in range(n_columns):
                    residual = innovations[row, j]
                    for i in range(size):
                        residual -= covariances[row, i] * score[j, i]
                    score[j, k + 2] += weight * residual
                for i in range(size):
                    information[k + 2, i] -= weight * side[i]
                    information[i, k + 2] -= weight * side[i]
                information[k + 2, k + 2] += weight * (1 + weight * total)
        row -= 1
        weight, own, exposure = weights[row], count_variance[t, 0], exposures[t]
        for j in range(n_columns):
            later, moved = 0.0, 0.0
            for k in range(2, size):
                later += score[j, k]
            for i in range(size):
                moved += covariances[row, i] * score[j, i]
            here = later + weight * (innovations[row, j] - moved - own * later)
            of_counts[t, j, 0], of_counts[t, j, 1] = moved, here
            score[j, 0] += exposure * here
            score[j, 1] = phi * (score[j, 1] + exposure * here)
        if not with_information:
            continue
        corner = 0.0
        for i in range(size):
            of_count[i] = 0.0
            for k in range(2, size):
                of_count[i] += information[i, k]
            corner += of_count[i] if i > 1 else 0.0
        of_own, total = corner * own, 0.0
        for i in range(size):
            side[i] = of_count[i] * own
            for j in range(size):
                side[i] += information[i, j] * covariances[row, j]
            of_own += of_count[i] * covariances[row, i]
            total += side[i] * covariances[row, i]
        total += of_own * own
        corner = exposure * (corner + weight * (1 + weight * total - 2 * of_own))
        for i in range(size):
            of_count[i] = exposure * (of_count[i] - weight * side[i])
        for i in range(size):
            for j in range(2):
                information[i, j] += of_count[i]
                information[j, i] += of_count[i]
        for i in range(2):
            for j in range(2):
                information[i, j] += corner
        for i in range(size):
            information[1, i] *= phi
            information[i, 1] *= phi
    return of_counts, scores, informations


@compiled
def questions(
    asked: FloatArray,
    groups: IntArray,
    bounds: IntArray,
    rows: IntArray,
    innovations: FloatArray,
    weights: FloatArray,
    covariances: FloatArray,
    count_variance: FloatArray,
    phi: Any,
    ends: BoolArray,
    scores: FloatArray,
    informations: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return posterior covariances (groups x questions x questions) of weighted sums of counts over groups of times.

    ``asked`` (questions x times) are the weights, ``bounds`` the first time of each group and the one after its last,
    ``rows`` those of counts among the innovations.
    Coefficients, of all columns but the last, are taken as known; slopes (groups x questions x coefficients) say how
    errors grow with them.
    """
    n_questions, n_groups = asked.shape[0], bounds.shape[0]
    size, n_columns = covariances.shape[1], innovations.shape[1] - 1
    out, slopes = np.zeros((n_groups, n_questions, n_questions)), np.zeros((n_groups, n_questions, n_columns))
    shared, own = np.empty((n_questions, size)), np.empty(n_questions)
    for g in range(n_groups):
        shared[:] = 0.0
        for t in range(bounds[g, 0], bounds[g, 1]):
            row = rows[t]
            weight, variance, kept = weights[row], count_variance[t, 0], count_variance[t, 1]
            is_asked = 1.0 if groups[t] == g else 0.0
            for p in range(n_questions):
                shared[p, 1] *= phi
                own[p] = shared[p, 0] + shared[p, 1]
            for p in range(n_questions):
                w = asked[p, t] * is_asked
                for q in range(n_questions):
                    v = asked[q, t] * is_asked
                    out[g, p, q] += (w * own[q] + v * own[p] + w * v * variance) * kept - own[p] * own[q] * weight
            for p in range(n_questions):
                w = asked[p, t] * is_asked
                change = w * kept - own[p] * weight
                for j in range(n_columns):
                    slopes[g, p, j] += innovations[row, j] * change
                for i in range(size):
                    shared[p, i] += covariances[row, i] * change + ((own[p] + w * variance) * kept if i > 1 else 0.0)
            for k in range(size - 2):
                if ends[k, t]:
                    row += 1
                    weight = weights[row]
                    own[:] = shared[:, k + 2]
                    for p in range(n_questions):
                        for q in range(n_questions):
                            out[g, p, q] -= own[p] * own[q] * weight
                        for j in range(n_columns):
                            slopes[g, p, j] -= innovations[row, j] * own[p] * weight
                        for i in range(size):
                            shared[p, i] -= covariances[row, i] * own[p] * weight
            for k in range(size - 2):
                if ends[k, t]:
                    shared[:, k + 2] = 0.0
        last = bounds[g, 1] - 1
        if last < 0:
            continue
        for p in range(n_questions):
            for i in range(size):
                for j in range(n_columns):
                    slopes[g, p, j] -= scores[last, j, i] * shared[p, i]
                for q in range(n_questions):
                    for j in range(size):
                        out[g, p, q] -= shared[p, i] * informations[last, i, j] * shared[q, j]
    return out, slopes
