"""Filter, smoother, likelihood and answers, against dense Gaussian algebra and against statsmodels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base import kernels
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise import TreeNoise
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import MissingExtra
from tacit.statespace.smoothed_noise import FusedNoise, SmoothedNoise
from tacit.statespace.state_space import StateSpace

N_TIMES, N_TERMS, N_PLACES = 23, 3, 2
GROUPS = np.array([0] * 4 + [1] * 7 + [2] * 5 + [0] * 3 + [-1] * 4)
Array = NDArray[np.float64]


def world(seed: int, *, with_tree: bool) -> tuple[Array, StateSpace]:
    """Two places; a level shift, times without an observation, and perhaps a tree whose last nodes are cut short.

    With a tree nothing can have been counted at three times; its root is known exactly for the seed 0.
    """
    rng = np.random.default_rng(seed)
    exposures = np.ones(N_TIMES)
    noise_variance = rng.uniform(0.5, 2, (N_TIMES, N_PLACES))
    shift_variance = np.zeros((N_TIMES, N_PLACES))
    shift_variance[12, 1] = 3.0
    tree = None
    if with_tree:
        exposures[[3, 13, 14]] = 0
        levels = (
            None if seed else DiscreteLaplace(Fraction(1, 3)),
            *(DiscreteLaplace(Fraction(1, k)) for k in (2, 1, 4)),
        )
        tree = TreeNoise(Hierarchy.of_fan_outs([2, 3, 4], N_TIMES), levels, (N_TIMES, N_PLACES))
    else:
        noise_variance[5:9, 0] = np.inf
        exposures[:] = rng.integers(1, 5, N_TIMES)
        exposures[20] = 0
    model = StateSpace(
        exposures=exposures,
        process_variance=rng.uniform(0.2, 3, (N_TIMES, N_PLACES)),
        noise_variance=noise_variance,
        regressors=rng.normal(size=(N_TIMES, N_TERMS)),
        state_variances=np.array([[2.0, 0.1, 0.5], [1.0, 0.01, 0.2]]),
        phi=0.8,
        coefficient_variances=rng.uniform(0.2, 1, (N_PLACES, N_TERMS)),
        shift_variance=shift_variance,
        tree=tree,
    )
    shares = rng.normal(size=(N_TIMES, N_PLACES)) * (exposures[:, None] > 0)
    return shares, model


def shares_covariance(model: StateSpace, place: int) -> Array:
    """The prior covariance of shares."""
    t = np.arange(N_TIMES)
    first, step, ar = model.state_variances[place]
    steps = np.full(N_TIMES, step)
    steps[0] = first
    covariance = np.cumsum(steps + model.shift_variance[:, place])[np.minimum.outer(t, t)]
    covariance = covariance + ar * model.phi ** np.abs(np.subtract.outer(t, t))
    return np.asarray(covariance + model.regressors @ np.diag(model.coefficient_variances[place]) @ model.regressors.T)


def dense(shares: Array, model: StateSpace, place: int) -> dict[str, Any]:
    """All that follows from the joint normal distribution of shares, realized values and observations."""
    exposures, noise_variance, process_variance = model.scaled
    expected = shares_covariance(model, place)
    realized = (expected + np.diag(process_variance[place])) * np.outer(exposures, exposures)
    is_observed = np.isfinite(noise_variance[place]) & (exposures > 0)
    sums, variances = [np.eye(N_TIMES)[is_observed]], [noise_variance[place][is_observed]]
    for ends, variance in zip(*model.sums, strict=True):
        of_node = np.concatenate([[0], np.cumsum(ends)[:-1]])
        sums.append((of_node == np.arange(ends.sum())[:, None]).astype(float))
        variances.append(np.full(ends.sum(), variance))
    observed = np.concatenate(sums)
    spread = observed @ realized @ observed.T + np.diag(np.concatenate(variances))
    values = observed @ (shares[:, place] * exposures)
    solved, left = np.linalg.solve(spread, values), observed @ realized
    return {
        "shares": (expected * exposures) @ observed.T @ solved,
        "realized": realized @ observed.T @ solved,
        "covariance": realized - left.T @ np.linalg.solve(spread, left),
        "observed": observed,
        "spread": spread,
        "values": values,
        "likelihood": -0.5 * float(np.linalg.slogdet(spread)[1] + values @ solved),
    }


@pytest.mark.parametrize("with_tree", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_likelihoods_and_means_are_those_of_the_joint_normal_distribution(seed: int, with_tree: bool) -> None:
    shares, model = world(seed, with_tree=with_tree)
    likelihoods, (means, realized) = model.log_likelihoods(shares), model.smooth(shares)
    for place in range(N_PLACES):
        wanted = dense(shares, model, place)
        assert likelihoods[place] == pytest.approx(wanted["likelihood"], abs=1e-9)
        np.testing.assert_allclose(means[:, place], wanted["shares"], atol=1e-10)
        np.testing.assert_allclose(realized[:, place], wanted["realized"], atol=1e-10)


@pytest.mark.parametrize("with_tree", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_covariances_of_questions_are_those_of_the_joint_normal_distribution(seed: int, with_tree: bool) -> None:
    shares, model = world(seed, with_tree=with_tree)
    asked = np.random.default_rng(seed).normal(size=(2, N_TIMES, N_PLACES))
    found, cells = model.covariances(asked, GROUPS, 4), model.smoothed_variances()
    one = model.question_variances(asked[0])
    for place in range(N_PLACES):
        covariance = dense(shares, model, place)["covariance"]
        np.testing.assert_allclose(cells[:, place], np.diag(covariance), atol=1e-10)
        assert one[place] == pytest.approx(asked[0, :, place] @ covariance @ asked[0, :, place], abs=1e-10)
        for group in range(3):
            part = np.where(group == GROUPS, asked[:, :, place], 0.0)
            np.testing.assert_allclose(found[place, group], part @ covariance @ part.T, atol=1e-10)
    assert (found[:, 3] == 0).all()


@pytest.mark.parametrize("with_tree", [False, True])
def test_scores_of_level_shifts_are_those_of_the_joint_normal_distribution(with_tree: bool) -> None:
    shares, model = world(1, with_tree=with_tree)
    scores, informations = model.level_scores(shares)
    for place in range(N_PLACES):
        wanted = dense(shares, model, place)
        for t in range(1, N_TIMES):
            shift = wanted["observed"] @ (model.scaled[0] * (np.arange(N_TIMES) >= t))
            solved = np.linalg.solve(wanted["spread"], shift)
            assert scores[t, place] == pytest.approx(float(solved @ wanted["values"]), abs=1e-9)
            assert informations[t, place] == pytest.approx(float(solved @ shift), abs=1e-9)


@pytest.mark.parametrize("with_tree", [False, True])
def test_slopes_say_how_errors_grow_with_the_coefficients(with_tree: bool) -> None:
    """A shift of a coefficient that is taken for 0 is seen in the observations, and then missing from the answer."""
    _, model = world(1, with_tree=with_tree)
    known = replace(model, coefficient_variances=np.full((N_PLACES, N_TERMS), 1e-300))
    asked = np.ones((1, N_TIMES, N_PLACES))
    slopes = model.covariances_given_terms(asked, GROUPS, 3)[1][:, :, 0]
    of_one = model.question_given_terms(np.where(GROUPS == 1, 1.0, 0.0)[:, None] * asked[0])[1]
    for term in range(N_TERMS):
        shifted = np.repeat(model.regressors[:, term, None] * (model.exposures > 0)[:, None], N_PLACES, axis=1)
        missing = shifted - known.smooth(shifted)[1]
        if not with_tree:  # shares of a time without exposure are estimated too
            missing[model.exposures == 0] = model.regressors[model.exposures == 0, term] - known.smooth(shifted)[1][20]
        for group in range(3):
            np.testing.assert_allclose(slopes[:, group, term], missing[group == GROUPS].sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(of_one, slopes[:, 1], atol=1e-10)


def test_a_filter_knows_nothing_of_the_future() -> None:
    shares, model = world(1, with_tree=False)
    means, variances = model.filter(shares)
    for t in range(N_TIMES):
        noise_variance = model.noise_variance.copy()
        noise_variance[t + 1 :] = np.inf
        until = replace(model, noise_variance=noise_variance)
        np.testing.assert_allclose(means[t], until.smooth(shares)[0][t], atol=1e-10)
        np.testing.assert_allclose(variances[t], until.smoothed_variances()[t], atol=1e-10)


@pytest.mark.parametrize("with_tree", [False, True])
def test_one_question_needs_no_numba_and_the_passes_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, with_tree: bool
) -> None:
    shares, model = world(1, with_tree=with_tree)
    model = replace(model, noise_variance=np.ones(model.shape))
    kind = FusedNoise if with_tree else SmoothedNoise
    monkeypatch.setattr(kernels, "available", lambda: False)
    assert kind(model).variance(np.ones(model.shape)) > 0
    with pytest.raises(MissingExtra, match=r"smoothing.*tacit\[kernels\]"):
        model.smooth(shares)


def test_a_tree_of_leaves_alone_is_no_tree() -> None:
    shares, model = world(2, with_tree=False)
    model = replace(model, exposures=np.ones(N_TIMES))
    leaf = DiscreteLaplace(Fraction(1, 2))
    tree = TreeNoise(Hierarchy.of_fan_outs([N_TIMES], N_TIMES), (None, leaf), (N_TIMES, N_PLACES))
    joined = replace(model, tree=tree)
    np.testing.assert_allclose(joined.log_likelihoods(shares), model.log_likelihoods(shares), rtol=1e-12)
    np.testing.assert_allclose(joined.smooth(shares)[0], model.smooth(shares)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_smoother_of_statsmodels_finds_the_same() -> None:
    smoother = pytest.importorskip("statsmodels.tsa.statespace.kalman_smoother")
    n_times, n_terms = 400, 4
    rng = np.random.default_rng(7)
    exposures = rng.integers(5, 60, n_times).astype(float)
    exposures[100:110] = 0
    shift_variance = np.zeros((n_times, 1))
    shift_variance[200] = 0.5
    model = StateSpace(
        exposures=exposures,
        process_variance=rng.uniform(1, 9, (n_times, 1)),
        noise_variance=rng.uniform(20, 90, (n_times, 1)),
        regressors=rng.normal(size=(n_times, n_terms)),
        state_variances=np.array([[0.3, 1e-4, 0.02]]),
        phi=0.9,
        coefficient_variances=rng.uniform(0.01, 0.1, (1, n_terms)),
        shift_variance=shift_variance,
    )
    shares = rng.normal(0.3, 0.4, (n_times, 1))
    size = n_terms + 2
    theirs = smoother.KalmanSmoother(k_endog=1, k_states=size, k_posdef=size)
    theirs.bind(np.where(exposures > 0, shares[:, 0], np.nan)[None])
    theirs["design"] = np.concatenate([np.ones((2, n_times)), model.regressors.T])[None]
    theirs["transition"], theirs["selection"] = np.diag([1.0, model.phi, *np.ones(n_terms)]), np.eye(size)
    theirs["obs_cov"] = np.where(exposures > 0, model.share_variance[:, 0], 1.0)[None, None]
    start, steps = (part[0] for part in model.start_and_steps)
    covariance = np.repeat(np.diag(steps)[:, :, None], n_times, axis=2)
    covariance[0, 0, :-1] += shift_variance[1:, 0]
    theirs["state_cov"] = covariance
    theirs.initialize_known(np.zeros(size), np.diag(start + np.eye(size)[0] * shift_variance[0, 0]))
    found = theirs.smooth()
    design = theirs["design"][0]
    np.testing.assert_allclose(
        model.smooth(shares)[0][:, 0], (design * found.smoothed_state).sum(axis=0), rtol=1e-9, atol=1e-12
    )
    variances = np.einsum("it,ijt,jt->t", design, found.smoothed_state_cov, design)
    np.testing.assert_allclose(model.smoothed_variances()[:, 0], variances, rtol=1e-9)
    means = (design * found.filtered_state).sum(axis=0)
    np.testing.assert_allclose(model.filter(shares)[0][:, 0], means, rtol=1e-9, atol=1e-12)
    n_observed = np.count_nonzero(exposures)
    ours = float(model.log_likelihoods(shares)[0]) - 0.5 * n_observed * np.log(2 * np.pi)
    assert ours == pytest.approx(float(found.llf_obs.sum()), rel=1e-10)


@pytest.mark.parametrize("with_tree", [False, True])
def test_each_pass_is_compiled_in_one_version_whatever_is_asked(with_tree: bool) -> None:
    """Read-only arrays, and slices of larger ones, would each cost the first smoothing seconds of compiling."""
    shares, model = world(1, with_tree=with_tree)
    for one in (model, replace(model, shift_variance=np.zeros((1, 1)))):
        one.smooth(shares)
        one.log_likelihoods(shares[::-1])
        one.level_scores(shares)
        one.covariances(np.broadcast_to(1.0, (2, *one.shape)), GROUPS, 3)
        if not with_tree:
            one.filter(shares)
    for name, passes in (("series", ("forward", "backward", "questions")), ("filters", ("share_states",))):
        found = {one: len(getattr(kernels.compiled_kernels(name), one).signatures) for one in passes}
        assert max(found.values()) <= 1, found
