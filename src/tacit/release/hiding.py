"""Removing counts from a release: from its numbers, and from what the noise model knows of them.

Some noise depends on the counts themselves, and its model holds estimates of them. For cells that are removed these
are evened out over all removed cells of a public bin, whose sum anyone can work out from the public number of reports.
How large the error of a removed count was can still be told.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.estimate import Estimate
from tacit.noise import LinearImage, Noise, OracleNoise, SampledTreeNoise
from tacit.noise.state_space import StateSpaceNoise

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


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
    if isinstance(noise, StateSpaceNoise) and noise.offsets is not None:
        return replace(noise, offsets=np.where(cells, 0.0, noise.offsets))
    return noise


def _evened(counts: FloatArray, cells: BoolArray) -> FloatArray:
    """Each row's counts, those of its removed cells replaced by their mean."""
    sums = np.where(cells, counts, 0.0).sum(axis=1, keepdims=True)
    means = sums / np.maximum(cells.sum(axis=1, keepdims=True), 1)
    return np.where(cells, means, counts)
