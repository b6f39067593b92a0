"""Removing counts from a release: from its numbers, and from what the noise model knows of them.

Some noise depends on the counts themselves, and its model holds estimates of them, or variances that follow them: days
vary as their counts do. For cells that are removed these are evened out over all removed cells of a public bin, whose
sum anyone can work out from the public number of reports; where nothing is public, over all removed cells. The errors
of counts that stay change by a few hundredths at most where smoothing ties them to removed ones, and not at all
elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit.counts.estimate import Estimate
from tacit.counts.noise import LinearImage, Noise, OracleNoise, SampledTreeNoise
from tacit.statespace.smoothed_noise import StateSpaceNoise


def without_cells(estimate: Estimate, cells: BoolArray) -> Estimate:
    """The estimate without the values of these cells, which are NaN; all others carry the noise they had."""
    if not cells.any():
        return estimate
    return replace(estimate, values=np.where(cells, np.nan, estimate.values), noise=_forgetful(estimate.noise, cells))


def intervals(estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
    """Limits for every cell; NaN for those that were removed."""
    is_gone = np.isnan(estimate.values)
    lower, upper = estimate.noise.intervals(np.where(is_gone, 0.0, estimate.values), level)
    return np.where(is_gone, np.nan, lower), np.where(is_gone, np.nan, upper)


def _forgetful(noise: Noise, cells: BoolArray) -> Noise:
    if isinstance(noise, LinearImage):
        fine = noise.grouping.fine(cells.astype(np.float64)) > 0
        return replace(noise, base=_forgetful(noise.base, fine))
    if isinstance(noise, OracleNoise | SampledTreeNoise) and noise.counts is not None:
        return replace(noise, counts=_evened(noise.counts, noise.orientation.rows(cells)))
    return _forgetful_smoothing(noise, cells) if isinstance(noise, StateSpaceNoise) else noise


def _forgetful_smoothing(noise: StateSpaceNoise, cells: BoolArray) -> StateSpaceNoise:
    """Smoothed counts: how much days vary is nearly their count, and how much a place drifts goes with its size."""
    model = noise.model
    rows = cells if noise.share_weights is not None else cells.reshape(1, -1)
    is_gone: BoolArray = np.logical_and.reduce(cells, axis=0)
    return replace(
        noise,
        model=replace(
            model,
            deviations=_evened(model.deviations.reshape(rows.shape), rows).reshape(cells.shape),
            errors=_evened(model.errors.reshape(rows.shape), rows).reshape(cells.shape),
            series=_evened_places(model.series, is_gone),
            coefficients=_evened_places(model.coefficients, is_gone),
        ),
        offsets=None if noise.offsets is None else np.where(cells, 0.0, noise.offsets),
        share_weights=None if noise.share_weights is None else _evened_places(noise.share_weights, is_gone),
        day_weights=None if noise.day_weights is None else _evened_places(noise.day_weights, is_gone),
        share_skews=None if noise.share_skews is None else _evened_places(noise.share_skews, is_gone),
    )


def _evened(counts: FloatArray, cells: BoolArray) -> FloatArray:
    """Each row's counts, those of its removed cells replaced by their mean."""
    sums = np.where(cells, counts, 0.0).sum(axis=1, keepdims=True)
    means = sums / np.maximum(cells.sum(axis=1, keepdims=True), 1)
    return np.where(cells, means, counts)


def _evened_places(parts: FloatArray, is_gone: BoolArray) -> FloatArray:
    """What is known of each place, with the mean of those of which every count is removed in their stead."""
    if not is_gone.any():
        return parts
    evened = parts.copy()
    evened[is_gone] = parts[is_gone].mean(axis=0)
    return evened
