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


def without_cells(estimate: Estimate, cells: BoolArray) -> Estimate:
    """The estimate without the values of these cells, which are NaN; all others carry the noise they had."""
    if not cells.any():
        return estimate
    return replace(estimate, values=np.where(cells, np.nan, estimate.values), noise=estimate.noise.forget(cells))


def intervals(estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
    """Limits for every cell; NaN for those that were removed."""
    is_gone = np.isnan(estimate.values)
    lower, upper = estimate.noise.intervals(np.where(is_gone, 0.0, estimate.values), level)
    return np.where(is_gone, np.nan, lower), np.where(is_gone, np.nan, upper)
