"""The designed tree reaches the figures, beats its neighbours, and its predicted error is the exact one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tacit.counts.tree_least_squares import TreeFusion
from tacit.errors import SettingError
from tacit.mechanisms.central.tree import EVENT
from tacit.mechanisms.central.tree_design import TreeDesign, best_tree
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit
from tacit.randomness.gaussian import gaussian_variance
from tacit.randomness.laplace import laplace_variance

PURE = Cost.pure(1.0)


def fusion_of(design: TreeDesign, cost: Cost = PURE, unit: Unit = EVENT) -> TreeFusion:
    shares = [share / sum(design.shares) for share in design.shares]
    if cost.epsilon:
        variances = [laplace_variance(cost.epsilon * share / unit.most) for share in shares]
    else:
        squares = [unit.squared_sensitivity(width) for width in design.hierarchy.widest[1:]]
        variances = [
            gaussian_variance(square / (2 * cost.rho * share)) for square, share in zip(squares, shares, strict=True)
        ]
    return TreeFusion(design.hierarchy, [math.inf, *variances])


@pytest.mark.parametrize(
    ("n_leaves", "most"), [(32, 4.8), (512, 10.9), (2048, 14.4), (65_536, 25.0), (1_048_576, 34.8)]
)
def test_the_mean_error_over_all_ranges_is_what_was_asked_for(n_leaves, most):
    design = best_tree(n_leaves, cost=PURE)
    assert math.sqrt(design.mean_variance) <= most
    assert_allclose(fusion_of(design).mean_range_variance(), design.mean_variance, rtol=1e-6)


@pytest.mark.parametrize("cost", [PURE, Cost.zcdp(0.5)], ids=["pure", "zcdp"])
@pytest.mark.parametrize("n_leaves", [2, 3, 7, 33, 100, 365])
def test_the_stated_error_is_the_mean_over_every_range(n_leaves, cost):
    design = best_tree(n_leaves, cost=cost)
    first, stop = np.triu_indices(n_leaves + 1, 1)
    assert_allclose(design.mean_variance, fusion_of(design, cost).range_variances(first, stop).mean(), rtol=1e-5)


def test_flat_counts_are_chosen_where_they_are_best():
    assert best_tree(32, cost=PURE).fan_outs == (32,)
    assert best_tree(2048, cost=PURE, questions="points").fan_outs == (2048,)
    assert best_tree(2048, cost=PURE, questions={7: 1.0}).fan_outs == (2048,)
    assert best_tree(1, cost=PURE).fan_outs == ()


@pytest.mark.parametrize("questions", [{30: 1.0, 365: 3.0}, {64: 1.0}, {700: 1.0}])
def test_trees_for_given_lengths_beat_flat_counts_and_the_tree_for_all_ranges(questions):
    design = best_tree(2048, cost=PURE, questions=questions)

    def error(fusion: TreeFusion) -> float:
        total = sum(questions.values())
        means = [
            weight / total * fusion.range_variances(np.arange(2049 - length), np.arange(length, 2049)).mean()
            for length, weight in questions.items()
        ]
        return float(sum(means))

    flat = sum(length * weight for length, weight in questions.items()) / sum(questions.values())
    assert_allclose(error(fusion_of(design)), design.mean_variance, rtol=0.01)
    assert error(fusion_of(design)) < flat * laplace_variance(1.0)
    assert error(fusion_of(design)) <= error(fusion_of(best_tree(2048, cost=PURE)))


def test_shares_are_near_their_optimum():
    """Moving five hundredths of the budget from any level to any other makes the error larger."""
    design = best_tree(2048, cost=PURE)
    for giver in range(len(design.shares)):
        for taker in range(len(design.shares)):
            if giver != taker:
                shares = np.array(design.shares)
                shares[[giver, taker]] += -50, 50
                other = TreeDesign(2048, design.fan_outs, tuple(shares.tolist()), 0.0)
                assert fusion_of(other).mean_range_variance() > design.mean_variance
    assert sum(design.shares) == 1000


@pytest.mark.parametrize("bounds", [(20, 1), (20, 5), (365, 1)])
def test_a_persons_tree_errs_as_stated_and_less_than_one_designed_for_days(bounds):
    unit, cost = Unit.person(most=bounds[0], most_per_cell=bounds[1]), Cost.zcdp(0.5)
    own, other = best_tree(512, cost=cost, unit=unit), best_tree(512, cost=cost)
    assert own.mean_variance == pytest.approx(fusion_of(own, cost, unit).mean_range_variance(), rel=1e-5)
    assert own.mean_variance <= fusion_of(other, cost, unit).mean_range_variance() * (1 + 1e-9)
    assert own.mean_variance < best_tree(512, cost=cost, unit=Unit.user_day(most=bounds[0])).mean_variance


def test_sensitivity_scales_the_noise():
    once, twice = best_tree(512, cost=Cost.zcdp(0.1)), best_tree(512, cost=Cost.zcdp(0.1), unit=Unit.user_day(most=2))
    assert_allclose(twice.mean_variance, 4 * once.mean_variance)
    design = best_tree(512, cost=PURE, unit=Unit.user_day(most=3))
    assert_allclose(fusion_of(design, unit=Unit.user_day(most=3)).mean_range_variance(), design.mean_variance)


def test_settings_that_mean_nothing_are_refused():
    for make in (
        lambda: best_tree(0, cost=PURE),
        lambda: best_tree(8, cost=Cost()),
        lambda: best_tree(8, cost=Cost(1.0, 1.0)),
        lambda: best_tree(8, cost=PURE, questions="lines"),
        lambda: best_tree(8, cost=PURE, questions={}),
        lambda: best_tree(8, cost=PURE, questions={9: 1.0}),
        lambda: best_tree(8, cost=PURE, questions={0: 1.0}),
        lambda: best_tree(8, cost=PURE, questions={2: math.nan}),
    ):
        with pytest.raises(SettingError):
            make()
