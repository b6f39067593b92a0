"""Counts that add up: days to months to years, and places to the public number of reports, none of them negative.

Projected days do not add up to projected months: every projection is biased, and the bias of a sum of many days is
many times that of a month projected as a whole. Here every year, month and day is projected on its own, and the one
least-squares solver (:mod:`tacit.tree_fusion`) reconciles them, longer periods being trusted more. Where that leaves
days below zero, they are moved to the nearest counts that are not and that still add up, by projecting in turn onto
days that can be and onto days of the right sums (Dykstra's method).

Reference: Boyle1986.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.estimate import Estimate
from tacit.noise import Unstated
from tacit.postprocess.simplex import projected
from tacit.tree_fusion import TreeFusion

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

COHERENT: Final = "project at every level, then least squares over a tree of periods"
_STEPS: Final = ("year", "month", "day")
_TRUST: Final = 1e-3
"""The variance of a level beside that of the level below it: longer periods are hardly moved by shorter ones."""
_SLACK: Final = 1e-7
_MOST_ROUNDS: Final = 2_000


def add_up(estimate: Estimate) -> Estimate:
    """Counts per period and place that are near the projected ones at every level of the calendar, and add up.

    Needs a public number of reports for every period. Biased, as projection is, but sums over months and years are no
    more biased than projections of these.
    """
    totals = estimate.totals
    n_times, n_places = estimate.domain.shape
    if totals is None or totals.shape != (n_times, 1):
        raise SettingError("adding up needs a public number of reports for every period. Use project or clip.")
    tree = Hierarchy.of_time(estimate.domain.time, _coarser(estimate.domain.time))
    sums = tree.sum_leaves(totals.ravel().astype(np.int64))
    nodes = projected(tree.sum_leaves(estimate.values), sums)
    if tree.height:
        variances = [_TRUST ** (tree.height - level) for level in range(tree.n_levels)]
        fused = tree.sum_leaves(TreeFusion(tree, variances).fuse(nodes))
        nodes[tree.level_slice(0)] = projected(fused[tree.level_slice(0)], sums[tree.level_slice(0)])
        for level in range(1, tree.n_levels):
            part, above = tree.level_slice(level), tree.level_slice(level - 1)
            first = tree.first_children(level - 1)
            nodes[part] = shared_out(fused[part], sums[part], nodes[above], first)
    return replace(
        estimate,
        values=nodes[tree.level_slice(tree.height)].reshape(n_times, n_places),
        noise=Unstated(
            "projection onto non-negative counts raises small counts and lowers large ones, so no honest interval can "
            "be stated"
        ),
        steps=(*estimate.steps, COHERENT),
    )


def shared_out(rows: FloatArray, totals: IntArray, parents: FloatArray, first: IntArray) -> FloatArray:
    """The non-negative rows nearest to ``rows`` that have their totals, and whose groups add up to their parents.

    Group g is made of the rows ``first[g]`` up to ``first[g + 1]``. The totals are exact, the sums of groups nearly.
    """
    sizes = np.diff(first)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    here, push = rows, np.zeros_like(rows)
    for _ in range(_MOST_ROUNDS):
        lacking = parents - np.add.reduceat(here, first[:-1], axis=0)
        with_sums = here + (lacking / sizes[:, None])[groups] + push
        here = projected(with_sums, totals)
        push = with_sums - here
        if np.abs(np.add.reduceat(here, first[:-1], axis=0) - parents).max() <= _SLACK * (1 + parents.max()):
            break
    return here


def _coarser(axis: TimeAxis) -> Sequence[str]:
    found = []
    for step in _STEPS:
        try:
            if step != axis.step:
                axis.coarsen(step)
                found.append(step)
        except SettingError:  # a week is no part of a month
            continue
    return found
