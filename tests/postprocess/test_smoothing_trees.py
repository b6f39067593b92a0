"""Smoothing of a curator's trees: sums stay as good as the tree knows them, and intervals cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from small_worlds import days_and_places
from tacit.counts.estimate import Estimate
from tacit.counts.noise import TreeNoise
from tacit.counts.observations import measured
from tacit.counts.tally import ExactTally
from tacit.domain import Grouping, sum_groups
from tacit.domain.hierarchy import Hierarchy
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.plan import Plan
from tacit.postprocess import smooth
from tacit.postprocess.smoothing import Hyperparameters, measured_with_sums
from tacit.privacy.spend import Spend
from tacit.release.files import noise_from_dict
from tacit.release.release import Release
from tacit.release.rules import Rules, without_cells
from tacit.statespace.size_prior import long_run_shares
from tacit.statespace.smoothed_noise import FusedNoise, SmoothedNoise

Counts = NDArray[np.int64]
USUAL = Hyperparameters(level_sd=0.15, overdispersion=0.01)


def drifting(seed: int, n_days: int = 400, n_places: int = 5) -> Counts:
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(1.5, 1.0, n_places) + np.cumsum(rng.normal(0, 0.01, (n_days, n_places)), axis=0))
    return rng.poisson(rates)


def appearing(seed: int, n_days: int = 400, n_places: int = 5) -> Counts:
    """Places that open, close, or grow over night."""
    rng = np.random.default_rng(seed)
    rates = np.tile(np.exp(rng.normal(1.7, 0.8, n_places)), (n_days, 1))
    rates[: n_days // 3, 0] = 0
    rates[2 * n_days // 3 :, 1] = 0
    rates[n_days // 2 :, 2] *= 2.5
    return rng.poisson(rates)


def counted(counts: Counts, seed: int, *, epsilon: float = 1.0, **settings: object) -> tuple[Plan, Estimate]:
    plan = central_plan_for(days_and_places(*counts.shape), epsilon=epsilon, **settings)  # type: ignore[arg-type]
    mechanism = central_mechanism_of(plan)
    spend = Spend.simulation(mechanism.cost, seed=seed)
    return plan, mechanism.measure(ExactTally(counts), plan, spend=spend)


def by(estimate: Estimate, step: str) -> NDArray[np.int64]:
    return estimate.domain.time.coarsen(step)[1] if step != "day" else np.arange(estimate.domain.shape[0])


def sums(values: NDArray[np.floating] | Counts, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(sum_groups(np.asarray(values, np.float64), groups, n_groups=int(groups.max()) + 1))


def squared_error(counts: Counts, estimate: Estimate, step: str) -> float:
    groups = by(estimate, step)
    return float(np.mean((sums(estimate.values, groups) - sums(counts, groups)) ** 2))


@pytest.mark.parametrize("world", [drifting, appearing])
@pytest.mark.parametrize("mechanism", ["tree", "calendar tree"])
def test_days_months_and_years_err_no_more_than_unbiased_ones(world, mechanism: str) -> None:  # type: ignore[no-untyped-def]
    before, after = np.zeros(3), np.zeros(3)
    for seed in range(3):
        counts = world(seed)
        _, estimate = counted(counts, seed, mechanism=mechanism)
        smoothed = smooth(estimate)
        for column, step in enumerate(("day", "month", "year")):
            before[column] += squared_error(counts, estimate, step)
            after[column] += squared_error(counts, smoothed, step)
    assert after[0] < 0.6 * before[0]
    assert after[1] < before[1]
    assert after[2] < 1.2 * before[2]


@pytest.mark.parametrize("settings", [{"mechanism": "tree"}, {"fan_outs": [2] * 9}, {"mechanism": "calendar tree"}])
def test_intervals_of_days_months_and_years_cover_what_they_say(settings: dict[str, object]) -> None:
    """Means of four worlds; wider bounds for years, of which there are ten each."""
    covered: dict[str, list[list[float]]] = {step: [[], []] for step in ("day", "month", "year")}
    for seed in range(4):
        counts = drifting(seed)
        smoothed = smooth(counted(counts, seed, epsilon=0.5, **settings)[1])
        assert isinstance(smoothed.noise, FusedNoise)
        for step, parts in covered.items():
            groups = by(smoothed, step)
            truth, found = sums(counts, groups), sums(smoothed.values, groups)
            for part, level in zip(parts, (0.8, 0.95), strict=True):
                image = Grouping.of_columns(groups, np.arange(counts.shape[1]), truth.shape)
                lower, upper = smoothed.noise.sum_limits(found, image, level)
                within = np.clip(np.minimum(upper, truth + 0.5) - np.maximum(lower, truth - 0.5), 0, 1)
                part.append(float(within.mean()))
    for step, slack in (("day", 0.05), ("month", 0.07), ("year", 0.15)):
        assert abs(np.mean(covered[step][0]) - 0.8) < slack
        assert abs(np.mean(covered[step][1]) - 0.95) < slack


def test_a_tree_of_leaves_only_is_smoothed_as_independent_counts() -> None:
    smoothed = smooth(counted(drifting(1, 120), 1, mechanism="flat")[1])
    assert isinstance(smoothed.noise, SmoothedNoise)
    assert not isinstance(smoothed.noise, FusedNoise)


def test_sums_that_were_measured_with_next_to_no_noise_stay_as_they_are() -> None:
    counts = drifting(2, 360)
    _, estimate = counted(counts, 2, fan_outs=[12, 30])
    assert isinstance(estimate.noise, TreeNoise)
    known = replace(estimate.noise, known=(1,))
    leaves = known.fusion.fuse(known.hierarchy.sum_leaves(counts.astype(np.float64)) + 0.0)
    smoothed = smooth(replace(estimate, noise=known, values=leaves), hyperparameters=USUAL)
    groups = np.repeat(np.arange(12), 30)
    np.testing.assert_allclose(sums(smoothed.values, groups), sums(counts, groups), atol=1e-3)
    image = Grouping.of_columns(groups, np.arange(5), (12, 5))
    assert smoothed.noise.sum_errors(image).max() < 1e-3


def test_what_is_shown_is_not_negative_and_years_keep_their_sums() -> None:
    _, estimate = counted(appearing(3), 3, epsilon=4.0)
    plain, shown = (smooth(estimate, hyperparameters=USUAL, non_negative=chosen) for chosen in (False, True))
    assert plain.values.min() < 0 <= shown.values.min()
    years = by(estimate, "year")
    is_kept = (sums(plain.values, years) > 0).all(axis=0)
    np.testing.assert_allclose(sums(shown.values, years)[:, is_kept], sums(plain.values, years)[:, is_kept], atol=1e-3)
    assert shown.noise.variance(np.ones(shown.values.shape)) == plain.noise.variance(np.ones(shown.values.shape))


def test_days_without_data_count_for_nothing_and_tell_nothing() -> None:
    """What was counted of them is noise alone; a year is the sum of its other days."""
    counts = drifting(4)
    missing = np.zeros(len(counts), np.bool_)
    missing[100:140] = True
    counts[missing] = 0
    for mechanism in ("tree", "flat"):
        _, estimate = counted(counts, 4, mechanism=mechanism)
        taken, left_out = smooth(estimate), smooth(estimate, missing=missing)
        assert (left_out.values[missing] == 0).all()
        assert (left_out.noise.standard_errors()[missing] == 0).all()
        near = slice(85, 100)
        errors = [np.mean((one.values[near] - counts[near]) ** 2) for one in (taken, left_out)]
        assert errors[1] < errors[0] * 1.02
        assert squared_error(counts, left_out, "year") < 1.2 * squared_error(counts, estimate, "year")


def test_given_that_some_leaves_are_zero_the_others_are_the_best_fit() -> None:
    """Against the dense conditional mean."""
    counts = drifting(5, 40, 2)
    _, estimate = counted(counts, 5, fan_outs=[4, 10])
    missing = np.zeros(40, np.bool_)
    missing[[3, 4, 21]] = True
    [(_, known)] = measured_with_sums(estimate, missing)
    assert isinstance(estimate.noise, TreeNoise)
    fusion = estimate.noise.fusion
    variances = np.repeat([0.0, *fusion.level_variances[1:]], fusion.hierarchy.level_sizes)
    weights = fusion.node_weights(np.eye(40))
    covariance = weights.T @ (variances[:, None] * weights)
    gain = covariance[:, missing] @ np.linalg.inv(covariance[np.ix_(missing, missing)])
    np.testing.assert_allclose(known.counts, estimate.values - gain @ estimate.values[missing], atol=1e-9)
    assert (known.counts[missing] == 0).all()


def test_a_release_that_lacks_days_does_not_invent_them() -> None:
    counts = drifting(6)
    counts[31:45] = 0
    plan, estimate = counted(counts, 6)
    rules = Rules.parse(missing=("2018-02-01/2018-02-14",))
    release = Release.of(plan, estimate, by="month", refine="smooth", rules=rules)
    fine = smooth(estimate, missing=rules.missing_bins(estimate.domain.time))
    np.testing.assert_allclose(release.refined.values, sums(fine.values, by(estimate, "month")))
    assert (fine.values[31:45] == 0).all()


def test_removed_counts_are_forgotten_by_the_noise_too() -> None:
    _, estimate = counted(drifting(7), 7)
    smoothed = smooth(estimate, hyperparameters=USUAL)
    cells = np.zeros(smoothed.values.shape, np.bool_)
    cells[:30, 2] = True
    noise = without_cells(smoothed, cells).noise
    assert isinstance(noise, FusedNoise)
    assert np.ptp(noise.model.process_variance[cells]) == 0
    read = noise_from_dict(noise.to_dict())
    weights = np.ones(smoothed.values.shape)
    assert read.variance(weights) == pytest.approx(noise.variance(weights))


def test_the_long_run_is_as_well_known_as_the_tree_knows_it() -> None:
    """Days of much noise, of which sums are known well: places keep apart what sums tell apart."""
    rng = np.random.default_rng(8)
    counts = rng.poisson(np.tile([0.5, 1.0, 2.0, 8.0], (360, 1)))
    _, estimate = counted(counts, 8, epsilon=0.2, mechanism="calendar tree")
    known = (measured(estimate), measured_with_sums(estimate)[0][1])
    alone, together = (long_run_shares(one, np.zeros(360)).shares for one in known)
    truth = counts.mean(axis=0)
    assert np.square(together - truth).sum() < np.square(alone - truth).sum()


def test_a_tree_of_places_is_left_as_it_was() -> None:
    """Places of one time hang together there, and times do not."""
    counts = drifting(9, 90, 6)
    domain = days_and_places(*counts.shape)
    tree = Hierarchy.of_levels([[0, 3, 6]], 6)
    _, flat = counted(counts, 9, mechanism="flat")
    assert isinstance(flat.noise, TreeNoise)
    distribution = flat.noise.distributions[-1]
    noise = TreeNoise(tree, (None, distribution, distribution), domain.shape, "place", np.arange(6))
    smoothed = smooth(replace(flat, noise=noise), hyperparameters=USUAL)
    assert not isinstance(smoothed.noise, FusedNoise)
