"""The kernels for series of which sums were seen too, against dense Gaussian algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base.kernels import available, summed_plain

N_TIMES, N_TERMS, N_SERIES = 23, 3, 2
GROUPS = np.array([0] * 4 + [1] * 7 + [2] * 5 + [0] * 3 + [-1] * 4)
BOUNDS = np.array([[0, 19], [4, 11], [11, 16]])


def _kernels() -> list[Any]:
    if not available():
        return [summed_plain]
    from tacit._base.kernels import summed

    return [summed_plain, summed]


def _world(seed: int) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Two series: some values not seen, some times at which nothing can have been counted, and a tree of three levels
    of sums, whose last nodes are cut short and of which one may be known exactly."""
    rng = np.random.default_rng(seed)
    exposures = np.ones(N_TIMES)
    exposures[[3, 13, 14]] = 0
    errors = rng.uniform(0.5, 2, (N_SERIES, N_TIMES))
    errors[0, 5:7] = np.inf
    shocks = np.zeros((N_SERIES, N_TIMES))
    shocks[1, 12] = 3.0
    ends = np.zeros((3, N_TIMES), np.bool_)
    for level, length in enumerate((12, 4, 2)):
        ends[level, length - 1 :: length] = True
    ends[:, -1] = True
    law = (
        exposures,
        errors,
        rng.uniform(0.2, 3, (N_SERIES, N_TIMES)),
        rng.normal(size=(N_TIMES, N_TERMS)),
        np.array([[2.0, 0.1, 0.5], [1.0, 0.01, 0.2]]),
        0.8,
        rng.uniform(0.2, 1, (N_SERIES, N_TERMS)),
        shocks,
        ends,
        np.array([0.0 if seed == 0 else 0.7, 0.4, 1.3]),
    )
    values = rng.normal(size=(N_SERIES, N_TIMES)) * exposures
    values[0, 5:7] = 0.0
    return values, law


def _posterior(r: int, values: NDArray[np.float64], law: tuple[Any, ...]) -> dict[str, Any]:
    exposures, errors, deviations, basis, series, memory, coefficients, shocks, ends, sum_errors = law
    t = np.arange(N_TIMES)
    steps = np.full(N_TIMES, series[r, 1])
    steps[0] = series[r, 0]
    expected = np.cumsum(steps + shocks[r])[np.minimum.outer(t, t)]
    expected = expected + series[r, 2] * memory ** np.abs(np.subtract.outer(t, t))
    expected = expected + basis @ np.diag(coefficients[r]) @ basis.T
    realized = (expected + np.diag(deviations[r])) * np.outer(exposures, exposures)
    is_seen = np.isfinite(errors[r]) & (exposures > 0)
    sums, variances = [np.eye(N_TIMES)[is_seen]], [errors[r][is_seen]]
    for level, row in enumerate(ends):
        of_node = np.concatenate([[0], np.cumsum(row)[:-1]])
        sums.append((of_node == np.arange(row.sum())[:, None]).astype(float))
        variances.append(np.full(row.sum(), sum_errors[level]))
    seen, noise = np.concatenate(sums), np.diag(np.concatenate(variances))
    spread = seen @ realized @ seen.T + noise
    solved = np.linalg.solve(spread, seen @ values[r])
    left = seen @ realized
    return {
        "expected": (expected * exposures) @ seen.T @ solved,
        "realized": realized @ seen.T @ solved,
        "covariance": realized - left.T @ np.linalg.solve(spread, left),
        "seen": seen,
        "spread": spread,
        "likelihood": -0.5 * float(np.linalg.slogdet(spread)[1] + (seen @ values[r]) @ solved),
    }


@pytest.mark.parametrize("kernels", _kernels())
@pytest.mark.parametrize("seed", range(3))
def test_likelihoods_and_means_are_those_of_the_joint_normal_law(kernels: Any, seed: int) -> None:
    values, law = _world(seed)
    likelihoods = np.empty(N_SERIES)
    expected, realized = np.empty(values.shape), np.empty(values.shape)
    kernels.log_likelihoods(values, *law, likelihoods)
    kernels.smooth(values, *law, expected, realized)
    for r in range(N_SERIES):
        dense = _posterior(r, values, law)
        assert likelihoods[r] == pytest.approx(dense["likelihood"], abs=1e-9)
        np.testing.assert_allclose(expected[r], dense["expected"], atol=1e-10)
        np.testing.assert_allclose(realized[r], dense["realized"], atol=1e-10)


@pytest.mark.parametrize("kernels", _kernels())
@pytest.mark.parametrize("seed", range(3))
def test_variances_of_any_question_are_those_of_the_joint_normal_law(kernels: Any, seed: int) -> None:
    values, law = _world(seed)
    weights = np.random.default_rng(seed).normal(size=values.shape)
    found, cells = np.empty((N_SERIES, 3)), np.empty(values.shape)
    kernels.question_variances(*law, weights, GROUPS, BOUNDS, found, np.empty((N_SERIES, 3, 0)))
    days = np.arange(N_TIMES)
    bounds, none = np.stack([days, days + 1], axis=1), np.empty((N_SERIES, N_TIMES, 0))
    kernels.question_variances(*law, np.ones(values.shape), days, bounds, cells, none)
    for r in range(N_SERIES):
        covariance = _posterior(r, values, law)["covariance"]
        asked = np.stack([np.where(group == GROUPS, weights[r], 0.0) for group in range(3)])
        np.testing.assert_allclose(found[r], np.diag(asked @ covariance @ asked.T), atol=1e-10)
        np.testing.assert_allclose(cells[r], np.diag(covariance), atol=1e-10)


@pytest.mark.parametrize("kernels", _kernels())
def test_slopes_say_how_answers_follow_the_coefficients(kernels: Any) -> None:
    """If coefficients are known to be 0, what they are taken for shifts what is expected of the values seen."""
    values, law = _world(1)
    law = (*law[:6], np.full((N_SERIES, N_TERMS), 1e-300), *law[7:])
    exposures, basis = law[0], law[3]
    slopes, none = np.empty((N_SERIES, 3, N_TERMS)), np.empty((N_SERIES, 3))
    kernels.question_variances(*law, np.ones(values.shape), GROUPS, BOUNDS, none, slopes)
    for term in range(N_TERMS):
        # all that is seen of a shift of the coefficient, from which the shift itself is then taken away again
        shifted = np.repeat((basis[:, term] * exposures)[None], N_SERIES, axis=0)
        expected, realized = np.empty(values.shape), np.empty(values.shape)
        kernels.smooth(shifted, *law, expected, realized)
        for group in range(3):
            np.testing.assert_allclose(slopes[:, group, term], (shifted - realized)[:, group == GROUPS].sum(axis=1))


@pytest.mark.parametrize("kernels", _kernels())
def test_scores_of_shifts_are_those_of_the_joint_normal_law(kernels: Any) -> None:
    values, law = _world(1)
    scores, informations = np.empty(values.shape), np.empty(values.shape)
    kernels.level_scores(values, *law, scores, informations)
    for r in range(N_SERIES):
        dense = _posterior(r, values, law)
        for t in range(1, N_TIMES):
            shift = dense["seen"] @ (law[0] * (np.arange(N_TIMES) >= t))
            solved = np.linalg.solve(dense["spread"], shift)
            assert scores[r, t] == pytest.approx(float(solved @ dense["seen"] @ values[r]), abs=1e-9)
            assert informations[r, t] == pytest.approx(float(solved @ shift), abs=1e-9)
