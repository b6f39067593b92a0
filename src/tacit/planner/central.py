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
from typing import Final

from tacit.domain.hierarchy import Hierarchy
from tacit.planner.contender import Contender, QuadraticError
from tacit.planner.situation import Situation
from tacit.randomness.gaussian import gaussian_variance
from tacit.randomness.laplace import laplace_variance
from tacit.tree_fusion import TreeFusion

LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"
DEGREES: Final = (2, 3, 4, 8, 16, 24, 32)
"""The fan-outs that are tried for trees of one degree."""


def flat_contenders(situation: Situation) -> list[Contender]:
    """Noise on every count."""
    return [Contender("flat", QuadraticError(variance(1.0)), noise) for noise, variance in noises(situation).items()]


def tree_contenders(situation: Situation, degrees: Sequence[int] = DEGREES) -> list[Contender]:
    """Noise on every node of trees of one degree, the levels below the root alike."""
    made = []
    for noise, variance in noises(situation).items():
        for degree in degrees:
            if degree >= situation.n_bins:
                continue
            tree = Hierarchy.of_degree(situation.n_bins, degree)
            height = tree.n_levels - 1
            error = TreeFusion(tree, [math.inf, *[variance(1 / height)] * height])
            made.append(Contender("tree", error, noise, (degree,) * height))
    return made


def designed_contenders(situation: Situation) -> list[Contender]:
    """The tree of least error over all ranges, with its own share of the budget for each level."""
    return []


def noises(situation: Situation) -> dict[str, Callable[[float], float]]:
    """The kinds of noise that may be spent on: the variance of a count, from its share of the budget."""
    unit, epsilon, rho = situation.unit.sensitivity, situation.epsilon, situation.gaussian_rho
    made: dict[str, Callable[[float], float]] = {}
    if epsilon is not None:
        made[LAPLACE] = lambda share: laplace_variance(epsilon * share / unit)
    if rho is not None:
        made[GAUSSIAN] = lambda share: gaussian_variance(unit**2 / (2 * rho * share))
    return made
