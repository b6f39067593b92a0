r"""Shrinking what a tree's levels say towards even counts, as far as the noise explains it. Biased, and labelled so.

Fused leaves part into independent pieces: below each node v the differences of its children from their share of it,

.. math:: e_c = x_c - \frac{s_c}{S_v} x_v, \qquad \operatorname{Cov}(e) = \operatorname{diag}(s) - s s^\top / S_v,
          \qquad |d_v|^2 = \sum_c e_c^2 / s_c,

so that without any signal :math:`|d_v|^2` is chi-squared with one degree of freedom less than v has children, k. A
level's differences are multiplied by factors that Stein's unbiased estimate of the risk (SURE) finds best, or empirical
Bayes does:

* empirical Bayes: one factor, :math:`(1 - \sum_v k_v / \sum_v |d_v|^2)_+`: good where all nodes differ about as much.
* soft threshold: :math:`(1 - t/|d_v|)_+` with the t that minimizes the mean over nodes of

.. math:: \begin{cases} t^2 + 2 (k - t (k-1)/|d|) - k & |d| > t \\ |d|^2 - k & |d| \le t \end{cases}

  good where a few nodes differ much: these keep their counts, and the others become even.

The few nodes near the root say little about how much nodes of their level differ, so levels are pooled from the root
down until they have ``LEAST_FREEDOM`` degrees of freedom together.

Counts are taken relative to an even spread of the tree's total, so that a month of 28 days is not drawn to one of 31.

Reference: Stein1981; Donoho1995 (SURE); Cai2009 (groups of coefficients).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.languages import stored
from tacit._base.validation import check_one_of
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.tree_least_squares import TreeFusion
from tacit.errors import SettingError

METHODS: Final = ("sure", "empirical bayes")
LEAST_FREEDOM: Final = 24
"""Degrees of freedom that levels are pooled to: of so many the mean square errs by sqrt(2 / 24), 29 %."""
_N_THRESHOLDS: Final = 48
"""Thresholds tried: between two of them lies 0.13 for pairs of siblings and 0.21 for 26, in standard deviations."""
_MARGIN: Final = 5.0
"""Thresholds are tried up to so far beyond the length that noise has: noise alone is longer with exp(-25/2) at most."""

_BY_SURE: Final = stored("shrinkage per level by SURE")
_BY_EMPIRICAL_BAYES: Final = stored("shrinkage per level by empirical Bayes")


def shrink(estimate: Estimate, *, method: str = "sure") -> Estimate:
    """Shrink the leaves of fused trees, level by level and tree by tree; totals stay.

    ``method`` is "sure", which takes for each level what promises the smaller error, or "empirical bayes", the first of
    the two alone. No interval survives, since the bias depends on the truth.
    """
    check_one_of(METHODS, method=method)
    trees = estimate.noise.fused_trees()
    if trees is None:
        raise SettingError(
            "shrinkage needs the leaves of a tree as they were fused, with their noise. "
            "Shrink before other steps, and before adding cells up."
        )
    leaves = shrink_leaves(trees.fusion, trees.leaves(estimate.values), trees.scales, method=method)
    label = _BY_SURE if method == "sure" else _BY_EMPIRICAL_BAYES
    return replace(
        estimate,
        values=trees.cells(leaves),
        noise=NoStatedNoise(f"{label} is biased, so no honest interval can be stated"),
        steps=(*estimate.steps, label),
    )


def shrink_leaves(
    fusion: TreeFusion, leaves: FloatArray, scales: FloatArray | None = None, *, method: str = "sure"
) -> FloatArray:
    """Shrink fused leaves, a column for each tree. ``scales`` multiply the variances of the fusion, tree by tree."""
    tree, passes = fusion.hierarchy, fusion.passes
    leaves = leaves if leaves.ndim == 2 else leaves[:, None]
    even = leaves.mean(axis=0)
    sums = tree.sum_leaves(leaves - even)
    differences, lengths, freedom = [], [], []
    for level in range(tree.height):
        above, below = sums[tree.level_slice(level)], sums[tree.level_slice(level + 1)]
        differences.append(below - passes.shares[level + 1][:, None] * passes.spread(level, above))
        variances = passes.from_below[level + 1][:, None] * (1.0 if scales is None else scales)
        squares = np.divide(differences[-1] ** 2, variances, out=np.zeros_like(below), where=variances > 0)
        lengths.append(np.sqrt(passes.sum_children(level, squares)))
        freedom.append(np.diff(tree.first_children(level)) - 1.0)
    factors = _factors(lengths, freedom, method)
    shrunk = np.zeros((1, leaves.shape[1]))  # relative to an even spread the root is 0, and stays
    for level in range(tree.height):
        kept = passes.spread(level, factors[level]) * differences[level]
        shrunk = passes.shares[level + 1][:, None] * passes.spread(level, shrunk) + kept
    return np.asarray(shrunk + even, np.float64)


def _factors(lengths: list[FloatArray], freedom: list[FloatArray], method: str) -> list[FloatArray]:
    """Return the factors of every level, from those of pooled levels."""
    factors: list[FloatArray] = []
    first, height = 0, len(lengths)
    while first < height:
        stop = first + 1
        while stop < height and sum(part.sum() for part in freedom[first:stop]) < LEAST_FREEDOM:
            stop += 1
        pooled = _pooled_factors(np.concatenate(lengths[first:stop]), np.concatenate(freedom[first:stop]), method)
        factors += np.split(pooled, np.cumsum([len(part) for part in lengths[first:stop]])[:-1])
        first = stop
    return factors


def _pooled_factors(lengths: FloatArray, freedom: FloatArray, method: str) -> FloatArray:
    """Return the factor of every group of siblings (rows) in every tree (columns)."""
    squares, k = lengths**2, freedom[:, None]
    total = squares.sum(axis=0)
    linear = np.maximum(1 - np.divide(freedom.sum(), total, out=np.ones_like(total), where=total > 0), 0.0)
    factors = np.broadcast_to(linear, lengths.shape)
    if method == "empirical bayes":
        return factors
    best = (k * (2 * linear - 1) + (1 - linear) ** 2 * squares).sum(axis=0)
    best = best - np.sqrt(2 * freedom.sum())  # a promise within its own standard error is none
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    for threshold in np.linspace(0.0, float(np.sqrt(freedom.max())) + _MARGIN, _N_THRESHOLDS).tolist():
        beyond = threshold**2 + 2 * (k - threshold * (k - 1) * inverse)
        risk = (np.where(lengths > threshold, beyond, squares) - k).sum(axis=0)
        better = risk < best
        if better.any():
            best = np.where(better, risk, best)
            factors = np.where(better, np.maximum(1 - threshold * inverse, 0.0), factors)
    return factors
