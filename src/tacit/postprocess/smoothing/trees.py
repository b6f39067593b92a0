r"""Smoothing of a curator's counts: leaves of a tree do not err independently, and its sums are known better.

Where it is known that nothing was counted at some times, their counts are 0, whatever noise was added. Leaves with the
covariance C are then, given that those of the times m are 0,

.. math:: \hat y - C_{\cdot m} C_{mm}^{-1} \hat y_m .
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit.counts.estimate import Estimate
from tacit.counts.noise.tree import TreeNoise
from tacit.counts.observations import Observations, measured
from tacit.counts.tree_least_squares import TreeFusion
from tacit.postprocess.coherence import calendar_tree, handed_down
from tacit.postprocess.smoothing.shown import SHOWN_ADDING_UP
from tacit.statespace.fused_noise import FusedNoise
from tacit.statespace.model import Model
from tacit.statespace.state_space import StateSpace, measured_levels


def measured_with_sums(estimate: Estimate, missing: BoolArray | None = None) -> Observations:
    """Read an estimate; of a tree over time, the leaves with the noise that is their own, and the tree beside them.

    Times that are ``missing`` count for nothing in a curator's counts; where public totals say how many reports came
    in, they say it of these times too.
    """
    tree = estimate.noise.tree_over_time()
    if tree is None or not _has_unknown_sums(tree) or np.isnan(estimate.values).any():
        known = measured(estimate)
        if missing is None or known.is_shared:
            return known
        return replace(known, exposures=known.exposures * ~missing, counts=known.counts * ~missing[:, None])
    n_times, n_places = estimate.domain.shape
    gone = np.zeros(n_times, np.bool_) if missing is None else missing
    return Observations(
        exposures=np.where(gone, 0.0, 1.0),
        counts=_given_zeros(tree.fusion, np.asarray(estimate.values, np.float64), gone),
        unit_variance=np.full((1, n_places), tree.fusion.level_variances[-1]),
        slopes=np.zeros((1, n_places)),
        is_shared=False,
        cancels=False,
        tree=tree,
    )


def smoothed_tree(
    estimate: Estimate, states: StateSpace, model: Model, *, inflation: float, non_negative: bool
) -> Estimate:
    """The posterior means of the realized counts of a tree, and their noise."""
    values = states.smooth(model.observed)[1] + states.exposures[:, None] * model.start
    noise = FusedNoise(states, inflation=inflation, share_skews=model.skews)
    if not non_negative:
        return replace(estimate, values=values, noise=noise)
    shown = values
    if values.min() < 0:
        shown = states.exposures[:, None] * handed_down(calendar_tree(estimate.domain.time), values, None)
    offsets = (shown - values).astype(np.float32).astype(np.float64)
    return replace(
        estimate,
        values=np.maximum(values + offsets, 0.0),
        noise=replace(noise, offsets=offsets if offsets.any() else None),
        steps=(*estimate.steps, SHOWN_ADDING_UP),
    )


def _has_unknown_sums(tree: TreeNoise) -> bool:
    """Whether sums of successive times were measured, and leaves of which not all is known."""
    return bool(measured_levels(tree)) and tree.fusion.level_variances[-1] > 0


def _given_zeros(fusion: TreeFusion, leaves: FloatArray, gone: BoolArray) -> FloatArray:
    """The least-squares leaves, given that some are 0."""
    if not gone.any():
        return leaves
    asked = np.eye(len(leaves))[:, gone]
    weights = fusion.node_weights(asked)
    for level, variance in enumerate(fusion.level_variances):
        weights[fusion.hierarchy.level_slice(level)] *= variance if np.isfinite(variance) else 0.0
    covariances = fusion.fuse(weights)
    given: FloatArray = leaves - covariances @ np.linalg.solve(covariances[gone], leaves[gone])
    given[gone] = 0.0
    return given
