r"""What a trusted curator could do: noise on every count, or on every node of a tree over time, fused.

Noise of a level that spends :math:`\epsilon_l` is discrete Laplace of the rate :math:`\epsilon_l/m`, or Gaussian of
the variance :math:`m^2/(2\rho_l)`, where one unit changes a level's counts by at most m. The levels share what is
spent, and the root gets none: what a share of its own would cost the other levels is more than it is worth. Places are
disjoint, so each has a tree of its own with the whole budget.

Reference: Hay2010; Qardaji2013; Bun2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain.hierarchy import Hierarchy
from tacit.mechanisms.central.tree_design import best_tree
from tacit.mechanisms.planner.contender import Contender, QuadraticError
from tacit.mechanisms.planner.situation import Situation
from tacit.privacy.cost import Cost
from tacit.randomness.gaussian import gaussian_variance
from tacit.randomness.laplace import laplace_variance

LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"
DEGREES: Final = (2, 3, 4, 8, 16, 24, 32)
"""The fan-outs that are tried for trees of one degree."""


def flat_contenders(situation: Situation) -> list[Contender]:
    """Noise on every count."""
    return [Contender("flat", QuadraticError(variance(1.0)), noise) for noise, variance in _noises(situation)]


def tree_contenders(situation: Situation, degrees: Sequence[int] = DEGREES) -> list[Contender]:
    """Noise on every node of trees of one degree, the levels below the root alike."""
    made = []
    for noise, variance in _noises(situation):
        for degree in degrees:
            if degree < situation.n_bins:
                tree = Hierarchy.of_degree(situation.n_bins, degree)
                height = tree.n_levels - 1
                error = TreeFusion(tree, [math.inf, *[variance(1 / height)] * height])
                made.append(Contender("tree", error, noise, (degree,) * height))
    return made


def designed_contenders(situation: Situation) -> list[Contender]:
    """The tree that a plan would get: of least error over all ranges, every level with its own part of the budget."""
    made = []
    for cost, (noise, variance) in zip(costs(situation).values(), _noises(situation), strict=True):
        design = best_tree(situation.n_bins, cost=cost, sensitivity=situation.unit.sensitivity)
        if len(design.fan_outs) > 1:  # otherwise the best tree is flat
            parts = [variance(share / sum(design.shares)) for share in design.shares]
            error = TreeFusion(design.hierarchy, [math.inf, *parts])
            made.append(Contender("tree", error, noise, design.fan_outs, is_designed=True))
    return made


def costs(situation: Situation) -> dict[str, Cost]:
    """What may be spent on each kind of noise."""
    spent = {}
    if situation.epsilon is not None:
        spent[LAPLACE] = Cost.pure(situation.epsilon)
    if situation.gaussian_rho is not None:
        spent[GAUSSIAN] = Cost.zcdp(situation.gaussian_rho)
    return spent


def _noises(situation: Situation) -> list[tuple[str, Callable[[float], float]]]:
    """The kinds of noise, and the variance of a count from its part of the budget."""
    return [(noise, partial(_variance, cost, situation.unit.sensitivity)) for noise, cost in costs(situation).items()]


def _variance(cost: Cost, sensitivity: int, part: float) -> float:
    if cost.epsilon:
        return laplace_variance(cost.epsilon * part / sensitivity)
    return gaussian_variance(sensitivity**2 / (2 * cost.rho * part))
