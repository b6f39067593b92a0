"""Steps that force estimates to look like counts. Both are biased, and both say so.

Clipping at zero raises every small count; rescaling afterwards lowers the large ones. They need no raw data and cost
no privacy, but no honest interval survives them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.errors import SettingError
from tacit.estimate import Estimate
from tacit.noise import Unstated


def clip(estimate: Estimate) -> Estimate:
    """Replace negative estimates by zero: the paper's max(0, .), which inflates the counts of small cells."""
    return replace(
        estimate,
        values=np.maximum(estimate.values, 0.0),
        noise=Unstated("clipping at zero is biased upwards, so no honest interval can be stated"),
        steps=(*estimate.steps, "clip"),
    )


def clip_and_rescale(estimate: Estimate) -> Estimate:
    """Replace negative estimates by zero, then rescale so that the cells add up to the public number of reports.

    Where nothing is left after clipping, the reports are spread evenly: the data say nothing about their cells.
    """
    if estimate.totals is None:
        raise SettingError("rescaling needs a public number of reports, which this estimate lacks. Use clip.")
    clipped = np.maximum(estimate.values, 0.0)
    axes = tuple(axis for axis in (0, 1) if estimate.totals.shape[axis] == 1)
    sums = clipped.sum(axis=axes, keepdims=True)
    n_cells = clipped.size // sums.size
    shares = np.divide(clipped, sums, out=np.full(clipped.shape, 1 / n_cells), where=sums > 0)
    return replace(
        estimate,
        values=shares * estimate.totals,
        noise=Unstated("clipping and rescaling is biased, so no honest interval can be stated"),
        steps=(*estimate.steps, "clip and rescale"),
    )
