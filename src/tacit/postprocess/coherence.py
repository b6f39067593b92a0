r"""Counts that add up: days to months to years, and places to the public number of reports, none of them negative.

Projected days do not add up to projected months: every projection is biased, and the bias of a sum of many days is
many times that of a month projected as a whole. Here every year, month and day is projected on its own, and the one
least-squares solver (:mod:`tacit.counts.tree_least_squares`) reconciles them. Their errors that matter are biases, not
noise, which all levels share: the bias of a projected count is in proportion to its standard error :math:`\sigma`, and
the biases of n siblings add up, so the sum of n children of a parent of variance :math:`n \sigma^2` errs by :math:`n
\sigma` where the parent errs by :math:`\sqrt n \sigma`. The sum therefore counts 1/n of the parent: each level has the
variance of the noise of the level above it. Where that leaves days below zero, they are moved to the nearest counts
that are not and that still add up, by projecting in turn onto days that can be and onto days of the right sums
(Dykstra's method).

Where no period has a public number of reports, as in a curator's release, a place's total is taken as it is, or as
zero if it is negative, and handed down: the years nearest to their counts that are not negative and add up to it, then
the months of each year, then the days of each month. The cells of a curator's tables err together, so their totals over
all time are the most likely ones that are not negative (:mod:`tacit.postprocess.normal_likelihood`).

Reference: Boyle1986.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.languages import stored
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.norm_sub import norm_sub
from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain import TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.postprocess.normal_likelihood import LIKELY_TABLES, most_likely_sums

COHERENT: Final = stored("project at every level, then least squares over a tree of periods")
HANDED_DOWN: Final = stored("negative counts to zero, longer periods first, so that shorter ones add up to them")
_STEPS: Final = ("year", "month", "day")
_SLACK: Final = 1e-7  # relative: where sums are close enough, far below what is shown; half of it takes a round more
_MOST_ROUNDS: Final = 2_000  # ends a search that would never be close; sums then agree less well


def add_up(estimate: Estimate) -> Estimate:
    """Return counts per period and column that are near the projected ones at every level of the calendar, and add up.

    Biased, as projection is, but sums over months and years are no more biased than projections of these. Where no
    number of reports is public, only sums over the whole time are kept. Where places or kinds have public numbers of
    their own, each of them is reconciled alone.
    """
    totals, shape = estimate.totals, estimate.values.shape
    tree = calendar_tree(estimate.domain.time)
    if totals is None:
        sums = most_likely_sums(estimate)
        leaves = handed_down(tree, estimate.values, sums)
        steps: tuple[str, ...] = (HANDED_DOWN,) if sums is None else (LIKELY_TABLES, HANDED_DOWN)
    elif totals.shape[0] == shape[0]:
        leaves, steps = np.empty(shape), (COHERENT,)
        in_bins = totals.reshape(shape[0], -1)
        for number, columns in enumerate(estimate.public_columns):
            leaves[:, columns] = _reconciled(tree, estimate.values[:, columns], in_bins[:, number])
    elif totals.shape == (1, *estimate.domain.grid[1:]):
        leaves, steps = handed_down(tree, estimate.values, totals.ravel().astype(np.float64)), (HANDED_DOWN,)
    else:
        raise SettingError(
            "counts that add up need a public number of reports for every period, or for every place (and kind) over "
            "all time. Use project."
        )
    return replace(
        estimate,
        values=leaves,
        noise=NoStatedNoise(
            "moving counts to where none is negative raises small counts and lowers large ones, so no honest interval "
            "can be stated"
        ),
        steps=(*estimate.steps, *steps),
    )


def _reconciled(tree: Hierarchy, values: FloatArray, totals: IntArray) -> FloatArray:
    """Return leaves that add up, near the projections of all levels; every period has its total."""
    sums = tree.sum_leaves(totals.astype(np.int64))
    nodes = norm_sub(tree.sum_leaves(values), sums)
    if tree.height:
        fused = tree.sum_leaves(TreeFusion(tree, level_variances(tree)).fuse(nodes))
        nodes[tree.level_slice(0)] = norm_sub(fused[tree.level_slice(0)], sums[tree.level_slice(0)])
        for level in range(1, tree.n_levels):
            part, above = tree.level_slice(level), tree.level_slice(level - 1)
            first = tree.first_children(level - 1)
            nodes[part] = shared_out(fused[part], sums[part], nodes[above], first)
    return nodes[tree.level_slice(tree.height)]


def level_variances(tree: Hierarchy) -> list[float]:
    """Return the variance each level is given, root first: the noise of the level above it, in units of a leaf's."""
    slices = [tree.level_slice(level) for level in range(tree.n_levels)]
    leaves = [tree.n_leaves / (part.stop - part.start) for part in slices]
    return [leaves[max(level - 1, 0)] for level in range(tree.n_levels)]


def handed_down(tree: Hierarchy, values: FloatArray, totals: FloatArray | None) -> FloatArray:
    """Return leaves that are not negative and add up to every node above them, each column a tree of its own."""
    nodes = tree.sum_leaves(values)
    nodes[tree.level_slice(0)] = np.maximum(nodes[tree.level_slice(0)], 0.0) if totals is None else totals
    for level in range(1, tree.n_levels):
        part, above = tree.level_slice(level), tree.level_slice(level - 1)
        nodes[part] = _parted(nodes[part], nodes[above], tree.first_children(level - 1))
    return nodes[tree.level_slice(tree.height)]


def _parted(rows: FloatArray, parents: FloatArray, first: IntArray) -> FloatArray:
    """Return the non-negative rows nearest to ``rows`` whose groups add up to their parents, column by column."""
    sizes = np.diff(first)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(rows)) - first[:-1][groups]
    # groups differ in length: what fills up is so far below that projection leaves it out
    low = rows.min(initial=0.0) - parents.max(initial=0.0) - 1.0
    table = np.full((len(sizes), rows.shape[1], int(sizes.max())), low)
    table[groups, :, places] = rows
    flat = norm_sub(table.reshape(-1, table.shape[2]), parents.ravel())
    return flat.reshape(table.shape)[groups, :, places]


def shared_out(rows: FloatArray, totals: IntArray, parents: FloatArray, first: IntArray) -> FloatArray:
    """Return the nearest non-negative rows that have their totals, and whose groups add up to their parents.

    Group g is made of the rows ``first[g]`` up to ``first[g + 1]``. The totals are exact, the sums of groups nearly.
    """
    sizes = np.diff(first)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    here, push = rows, np.zeros_like(rows)
    for _ in range(_MOST_ROUNDS):
        lacking = parents - np.add.reduceat(here, first[:-1], axis=0)
        with_sums = here + (lacking / sizes[:, None])[groups] + push
        here = norm_sub(with_sums, totals)
        push = with_sums - here
        if np.abs(np.add.reduceat(here, first[:-1], axis=0) - parents).max() <= _SLACK * (1 + parents.max()):
            break
    return here


def calendar_tree(axis: TimeAxis) -> Hierarchy:
    """Return the bins of an axis in the days, months and years that they are parts of."""
    found = []
    for step in _STEPS:
        try:
            if step != axis.step:
                axis.coarsen(step)
                found.append(step)
        except SettingError:  # a week is no part of a month
            continue
    return Hierarchy.of_time(axis, found)
