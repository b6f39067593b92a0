"""The noise of smoothed trees, against the dense normal distribution of all counts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from small_worlds import days_and_places
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise import LinearMap, TreeNoise
from tacit.domain import Box, Grouping, sum_groups
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.release.files import noise_from_dict
from tacit.statespace import smoothed_noise
from tacit.statespace.settings import SETTINGS
from tacit.statespace.smoothed_noise import FusedNoise
from tacit.statespace.state_space import StateSpace

N_TIMES, N_PLACES = 22, 2


def tree_of(n_times: int = N_TIMES) -> TreeNoise:
    distributions = (
        None,
        DiscreteLaplace(Fraction(1, 3)),
        DiscreteLaplace(Fraction(1, 2)),
        DiscreteLaplace(Fraction(1, 4)),
    )
    return TreeNoise(Hierarchy.of_fan_outs([3, 3, 4], n_times), distributions, (n_times, N_PLACES))


def noise_of(**settings: object) -> FusedNoise:
    rng = np.random.default_rng(3)
    tree = tree_of()
    model = StateSpace(
        exposures=np.ones(N_TIMES),
        process_variance=rng.uniform(1, 6, (N_TIMES, N_PLACES)),
        noise_variance=np.full((N_TIMES, N_PLACES), tree.fusion.level_variances[-1]),
        regressors=rng.normal(size=(N_TIMES, 2)),
        state_variances=np.array([[9.0, 0.1, 0.5], [4.0, 0.01, 0.2]]),
        phi=0.8,
        coefficient_variances=rng.uniform(0.1, 1, (N_PLACES, 2)),
        shift_variance=np.zeros((1, 1)),
        tree=tree,
    )
    return FusedNoise(model, **settings)  # type: ignore[arg-type]


def prior_of(model: StateSpace, place: int) -> NDArray[np.float64]:
    t = np.arange(N_TIMES)
    first, step, ar = model.state_variances[place]
    spread = first + step * np.minimum.outer(t, t) + ar * model.phi ** np.abs(np.subtract.outer(t, t))
    spread = spread + model.regressors @ np.diag(model.coefficient_variances[place]) @ model.regressors.T
    return np.asarray(spread + np.diag(model.process_variance[:, place]))


def precision_of(tree: TreeNoise) -> NDArray[np.float64]:
    """That of the errors of the least-squares leaves."""
    covariance = np.empty((N_TIMES, N_TIMES))
    variances = np.concatenate(
        [
            np.full(size, 0.0 if np.isinf(variance) else variance)
            for size, variance in zip(tree.hierarchy.level_sizes, tree.fusion.level_variances, strict=True)
        ]
    )
    weights = tree.fusion.node_weights(np.eye(N_TIMES))
    covariance = weights.T @ (variances[:, None] * weights)
    return np.linalg.inv(covariance)


def posterior_of(noise: FusedNoise, place: int) -> NDArray[np.float64]:
    return np.linalg.inv(np.linalg.inv(prior_of(noise.model, place)) + precision_of(tree_of()))


def test_variances_are_those_of_the_dense_posterior() -> None:
    noise = noise_of()
    dense = [posterior_of(noise, place) for place in range(N_PLACES)]
    cells = np.stack([np.diag(part) for part in dense], axis=1)
    np.testing.assert_allclose(noise.standard_errors(), np.sqrt(cells), rtol=1e-9)
    weights = np.random.default_rng(1).normal(size=noise.shape)
    asked = sum(float(weights[:, place] @ dense[place] @ weights[:, place]) for place in range(N_PLACES))
    assert noise.variance(weights) == pytest.approx(asked, rel=1e-9)
    groups = np.repeat(np.arange(4), [7, 5, 7, 3])
    image = noise.coarsen(Grouping.of_columns(groups, np.zeros(N_PLACES, np.int64), (4, 1)))
    whole = sum(dense)
    sums = [whole[np.ix_(groups == group, groups == group)].sum() for group in range(4)]
    np.testing.assert_allclose(image.standard_errors()[:, 0], np.sqrt(sums), rtol=1e-9)


def test_means_are_those_of_the_dense_posterior_whatever_the_nodes_were() -> None:
    """Made from fused leaves alone, they are what leaves and nodes say together."""
    noise = noise_of()
    model, tree = noise.model, tree_of()
    nodes = np.random.default_rng(2).normal(size=(tree.hierarchy.n_nodes, N_PLACES)) * 5
    leaves = tree.fusion.fuse(nodes)
    sums = tree.hierarchy.sum_leaves(np.eye(N_TIMES))
    found = model.smooth(leaves)[1]
    variances = np.repeat(tree.fusion.level_variances, tree.hierarchy.level_sizes)
    is_measured = np.isfinite(variances)
    seen, errors = sums[is_measured], np.diag(variances[is_measured])
    for place in range(N_PLACES):
        prior = prior_of(model, place)
        gain = prior @ seen.T @ np.linalg.inv(seen @ prior @ seen.T + errors)
        np.testing.assert_allclose(found[:, place], gain @ nodes[is_measured, place], atol=1e-9)


def test_no_question_is_known_worse_than_by_the_tree_or_by_the_model() -> None:
    noise = noise_of()
    tree = tree_of()
    rng = np.random.default_rng(5)
    for _ in range(20):
        first = int(rng.integers(0, N_TIMES - 1))
        weights = Box(range(first, int(rng.integers(first + 1, N_TIMES + 1))), range(1)).weights(
            days_and_places(*noise.shape)
        )
        asked = weights[:, 0]
        of_model = float(asked @ prior_of(noise.model, 0) @ asked)
        assert noise.variance(weights) <= min(tree.variance(weights), of_model) * (1 + 1e-9)


def test_a_question_about_cells_is_answered_as_their_image_is() -> None:
    noise = noise_of(inflation=1.3, share_skews=np.array([0.5, 0.1]), offsets=np.full((N_TIMES, N_PLACES), 0.25))
    groups = np.repeat(np.arange(3), [8, 8, 6])
    image = LinearMap(noise, Grouping.of_columns(groups, np.zeros(N_PLACES, np.int64), (3, 1)))
    values = np.full((3, 1), 60.0)
    lower, upper = image.intervals(values, 0.9)
    for group in range(3):
        weights = np.repeat((groups == group)[:, None], N_PLACES, axis=1).astype(float)
        assert noise.variance(weights) == pytest.approx(float(image.standard_errors()[group, 0]) ** 2, rel=1e-9)
        limits = noise.interval(60.0, weights, 0.9)
        assert limits == pytest.approx((lower[group, 0], upper[group, 0]), rel=1e-9)


def test_the_tails_of_one_time_are_heavier_than_those_of_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is uncertain of the variance of chance is uncertain for each time by itself."""
    noise, groups = noise_of(), np.repeat(np.arange(2), [1, N_TIMES - 1])
    grouping = Grouping.of_columns(groups, np.arange(N_PLACES), (2, N_PLACES))
    found = noise.group_moments(grouping)
    monkeypatch.setattr(smoothed_noise, "SETTINGS", replace(SETTINGS, excess_kurtosis=0.0))
    heavier = (found.fourth - noise.group_moments(grouping).fourth) / np.square(found.of_counts)
    single, variances = heavier[0], noise.model.count_variance[1:]
    np.testing.assert_allclose(single, 0.8)
    np.testing.assert_allclose(heavier[1], 0.8 * np.square(variances).sum(axis=0) / variances.sum(axis=0) ** 2)


def test_of_the_skewness_of_chance_as_much_is_left_as_sums_do_not_tell() -> None:
    noise, times = noise_of(), np.arange(N_TIMES)
    found = noise.group_moments(Grouping.of_columns(times, np.arange(N_PLACES), noise.shape))
    left = (
        noise.model.given_rates().covariances_given_terms(np.ones((1, *noise.shape)), times, N_TIMES)[1][:, :, 0, 0].T
    )
    assert np.abs(left).max() < 1
    np.testing.assert_allclose(found.third, left**3 * noise.model.process_variance + 3 * found.of_shares, rtol=1e-9)


def test_what_places_of_a_kind_err_in_common_is_in_sums_as_in_questions() -> None:
    noise = noise_of(kind_sd=np.array([0.3, 0.5]), kinds=np.zeros(N_PLACES, np.int64))
    groups = np.repeat(np.arange(2), [9, N_TIMES - 9])
    grouping = Grouping.of_columns(groups, np.zeros(N_PLACES, np.int64), (2, 1))
    sums, alone = noise.group_moments(grouping), replace(noise, kinds=None).group_moments(grouping)
    assert (sums.of_shares > alone.of_shares).all()
    for group in range(2):
        asked = noise.moments(np.repeat((groups == group)[:, None], N_PLACES, axis=1).astype(float))
        assert float(sums.of_shares[group, 0]) == pytest.approx(float(asked.of_shares), rel=1e-9)


def test_questions_about_some_places_or_none_are_answered() -> None:
    noise = noise_of(share_skews=np.array([0.5, 0.1]))
    weights = np.zeros(noise.shape)
    assert noise.variance(weights) == 0
    assert noise.interval(0.0, weights, 0.9) == (0, 0)
    weights[3:9, 1] = 1
    part = posterior_of(noise, 1)[3:9, 3:9]
    assert noise.variance(weights) == pytest.approx(part.sum(), rel=1e-9)


def test_times_at_which_nothing_was_counted_are_zero_and_certain() -> None:
    noise = noise_of()
    exposures = np.ones(N_TIMES)
    exposures[[4, 5, 12]] = 0
    model = replace(
        noise.model, exposures=exposures, process_variance=noise.model.process_variance * exposures[:, None]
    )
    made = FusedNoise(model)
    is_gone = exposures == 0
    assert (made.standard_errors()[is_gone] == 0).all()
    assert (made.standard_errors()[~is_gone] > 0).all()
    counts = model.smooth(np.random.default_rng(1).normal(size=model.shape))[1]
    assert (counts[is_gone] == 0).all()


def test_it_can_be_written_and_read_back() -> None:
    noise = noise_of(inflation=1.06, share_skews=np.array([0.5, 0.1]))
    read = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
    assert isinstance(read, FusedNoise)
    weights = np.ones(noise.shape)
    assert read.variance(weights) == pytest.approx(noise.variance(weights), rel=1e-12)
    assert read.interval(500.0, weights, 0.8) == pytest.approx(noise.interval(500.0, weights, 0.8))


def test_what_does_not_fit_is_refused() -> None:
    noise = noise_of()
    with pytest.raises(SettingError, match="shape"):
        noise.variance(np.ones((3, 3)))
    with pytest.raises(SettingError, match="tree"):
        replace(noise.model, tree=tree_of(20))


def test_sums_of_times_may_be_known_far_better_than_their_parts() -> None:
    noise = noise_of()
    errors = noise.standard_errors()
    whole = noise.sum_errors(Grouping.of_columns(np.zeros(N_TIMES, np.int64), np.arange(N_PLACES), (1, N_PLACES)))
    assert (whole[0] < np.sqrt(sum_groups(errors**2, np.zeros(N_TIMES, np.int64), n_groups=1)[0])).all()
