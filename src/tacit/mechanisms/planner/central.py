r"""Candidates for a trusted curator: noise on every count, on every node of a tree over time, or a running counter.

Noise of a level that spends :math:`\epsilon_l` is discrete Laplace of the rate :math:`\epsilon_l/m`, or Gaussian of
the variance :math:`\Delta_l^2/(2\rho_l)`, where one unit changes a level's counts by at most m in all, and by squares
that sum to at most :math:`\Delta_l^2`: for persons these depend on how many cells a node holds. The levels share what
is spent, and the root gets none: what a share of its own would cost the other levels is more than it is worth. Places
are disjoint, so each has a tree of its own with the whole budget.

Reference: Hay2010; Qardaji2013; Bun2016.

Counters publish running totals after every bin, and all ranges from them. Which counter is best of its kind does not
depend on how much is spent, so that it is looked for once. One whose noise is drawn ahead is private for streams that
do not react to what is published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

from tacit.counts.continual_noise import BufferedRoot
from tacit.counts.noise.marginals import MarginalNoise
from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain.hierarchy import Hierarchy
from tacit.mechanisms.central.marginals import MarginalTables, best_shares
from tacit.mechanisms.central.tree_design import best_tree
from tacit.mechanisms.continual.picker import compare, pick, tune
from tacit.mechanisms.planner.situation import Box, Contender, QuadraticVariance, Situation
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit
from tacit.randomness.gaussian import gaussian_variance
from tacit.randomness.laplace import laplace_variance

LAPLACE: Final = "laplace"
GAUSSIAN: Final = "gaussian"
DEGREES: Final = (2, 3, 4, 8, 16, 24, 32)
"""The fan-outs that are tried for trees of one degree."""


def flat_contenders(situation: Situation) -> list[Contender]:
    """Return contenders with noise on every count."""
    return [Contender("flat", QuadraticVariance(variance(1.0, 1)), noise) for noise, variance in _noises(situation)]


def tree_contenders(situation: Situation, degrees: Sequence[int] = DEGREES) -> list[Contender]:
    """Return contenders with noise on every node of trees of one degree, the levels below the root alike."""
    made = []
    for noise, variance in _noises(situation):
        for degree in degrees:
            if degree < situation.n_bins:
                tree = Hierarchy.of_degree(situation.n_bins, degree)
                height = tree.n_levels - 1
                fused = TreeFusion(tree, [math.inf, *(variance(1 / height, size) for size in tree.widest[1:])])
                made.append(Contender("tree", fused, noise, (degree,) * height))
    return made


def designed_contenders(situation: Situation) -> list[Contender]:
    """Return the tree that a plan would get: of least error over all ranges, each level with its own share."""
    made = []
    for cost, (noise, variance) in zip(costs(situation).values(), _noises(situation), strict=True):
        design = best_tree(situation.n_bins, cost=cost, unit=situation.unit)
        if len(design.fan_outs) > 1:  # otherwise the best tree is flat
            tree = design.hierarchy
            levels = zip(design.shares, tree.widest[1:], strict=True)
            parts = [variance(share / sum(design.shares), size) for share, size in levels]
            fused = TreeFusion(tree, [math.inf, *parts])
            made.append(Contender("tree", fused, noise, design.fan_outs, is_designed=True))
    return made


def table_contenders(situation: Situation, asked: Mapping[str, float]) -> list[Contender]:
    """Return contenders with noise on tables by place, by kind and of both, shared out for what is asked."""
    made = []
    for noise, cost in costs(situation).items() if situation.n_kinds > 1 else ():
        sizes = (1, situation.n_places, situation.n_kinds)
        shares = best_shares(sizes, is_pure=bool(cost.epsilon), asked=asked, unit=situation.unit)
        if any(shares[:-1]):  # otherwise the joint table is all there is: flat counts
            tables = MarginalTables(sizes, shares, cost, situation.unit).noise
            of_box = partial(_variance_of_box, tables)
            made.append(Contender("tables", of_box((1, 1)), noise, of_box=of_box))
    return made


def _variance_of_box(tables: MarginalNoise, box: Box) -> QuadraticVariance:
    return QuadraticVariance(tables.box_moments(*box)[0])


def costs(situation: Situation) -> dict[str, Cost]:
    """Return the cost that may be spent on each kind of noise."""
    spent = {}
    if situation.epsilon is not None:
        spent[LAPLACE] = Cost.pure(situation.epsilon)
    if situation.gaussian_rho is not None:
        spent[GAUSSIAN] = Cost.zcdp(situation.gaussian_rho)
    return spent


def _noises(situation: Situation) -> list[tuple[str, Callable[[float, int], float]]]:
    """Return the kinds of noise, and the variance of a node from its part of the budget and the cells that it holds."""
    return [(noise, partial(_variance, cost, situation.unit)) for noise, cost in costs(situation).items()]


def _variance(cost: Cost, unit: Unit, part: float, n_cells: int) -> float:
    if cost.epsilon:
        return laplace_variance(cost.epsilon * part / unit.sensitivity)
    return gaussian_variance(unit.squared_sensitivity(n_cells) / (2 * cost.rho * part))


def counter_contenders(situation: Situation) -> list[Contender]:
    """Return the best counter of each kind for a known number of bins, and the best for an unknown one."""
    made = []
    for noise, cost in costs(situation).items():
        bounds = situation.unit.most, situation.unit.most_per_cell
        # where only ``most`` bounds a unit, all errors grow with it alike
        known, endless = _best_noise_models(
            situation.n_bins, bool(cost.rho), *(bounds if bounds[1] < bounds[0] else (1, 1))
        )
        for name, noise_model in [*(("counter", noise_model) for noise_model in known), ("endless counter", endless)]:
            made.append(_contender(name, _paid(noise_model, cost, situation.unit.most, name == "counter"), noise))
    return made


def _paid(noise_model: Any, cost: Cost, most: int, has_end: bool) -> Any:
    """Return the same noise model at another cost; the grid of a buffered root depends on it."""
    if noise_model.kind == BufferedRoot.kind:
        tuned = tune(noise_model.horizon if has_end else None, cost, most)
        return replace(tuned, most_per_cell=noise_model.most_per_cell)
    return replace(noise_model, cost=cost, most=most)


def _contender(name: str, noise_model: Any, noise: str) -> Contender:
    fan_outs = tuple(reversed(noise_model.fan_outs)) if noise_model.kind in ("k-ary tree", "refined tree") else ()
    return Contender(f"{name} ({noise_model.kind})", noise_model, noise, fan_outs, is_continual=True)


@lru_cache(maxsize=32)
def _best_noise_models(horizon: int, is_gaussian: bool, most: int, most_per_cell: int) -> tuple[tuple[Any, ...], Any]:
    """Return the best noise model of each kind for so many bins, and the best for any number."""
    cost = Cost.zcdp(0.5) if is_gaussian else Cost.pure(1.0)
    found = compare(cost, horizon, reacts=False, most=most, most_per_cell=most_per_cell)
    return tuple(one.noise_model for one in found), pick(cost, most=most, most_per_cell=most_per_cell)
