"""Norm-Sub as a step: no count is negative, and they add up to the public number of reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit._base.languages import stored
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.norm_sub import norm_sub
from tacit.errors import SettingError


def project(estimate: Estimate) -> Estimate:
    """Move the counts as little as possible so that none is negative and they add up to the public number of reports.

    Biased: cells that hold little are raised, because errors below zero are cut off, and all others pay for it alike.
    """
    rows, totals = rows_with_totals(estimate)
    return replace(
        estimate,
        values=cells_of_rows(norm_sub(rows, totals), estimate),
        noise=NoStatedNoise(
            "projection onto non-negative counts raises small counts and lowers large ones, so no honest interval can "
            "be stated"
        ),
        steps=(*estimate.steps, stored("project")),
    )


def rows_with_totals(estimate: Estimate) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the values as rows that each have a public total, and these totals, whichever axes are public."""
    totals, layout = estimate.totals, estimate.public_layout
    if totals is None or layout is None:
        raise SettingError(
            "this step needs a public number of reports, which this estimate lacks. Use coherent, clip or raw."
        )
    return layout.rows(estimate.values), totals.ravel()


def cells_of_rows(rows: NDArray[np.float64], estimate: Estimate) -> NDArray[np.float64]:
    """Return rows as :func:`rows_with_totals` gave them, laid out over the estimate's domain again."""
    layout = estimate.public_layout
    return rows.reshape(estimate.values.shape) if layout is None else np.ascontiguousarray(layout.cells(rows))
