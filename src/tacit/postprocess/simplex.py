r"""Projection onto what counts must be: non-negative, adding up to the public number of reports.

.. math:: \hat x = \arg\min_{x \ge 0,\ \sum x = N} \lVert x - y \rVert^2
                 = \max(y - \theta, 0), \qquad \sum_i \max(y_i - \theta, 0) = N

The field calls it Norm-Sub. It is the most likely set of counts where the noise of all cells is normal, independent
and equally large.

Reference: Duchi2008; Wang2020.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError
from tacit.estimate import Estimate
from tacit.noise import Unstated


def project(estimate: Estimate) -> Estimate:
    """Move the counts as little as possible so that none is negative and they add up to the public number of reports.

    Biased: cells that hold little are raised, because errors below zero are cut off, and all others pay for it alike.
    """
    rows, totals = rows_with_totals(estimate)
    return replace(
        estimate,
        values=cells_of_rows(projected(rows, totals), estimate),
        noise=Unstated(
            "projection onto non-negative counts raises small counts and lowers large ones, so no honest interval can "
            "be stated"
        ),
        steps=(*estimate.steps, "project"),
    )


def rows_with_totals(estimate: Estimate) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The values as rows that each have a public total, and these totals, whichever axis is public."""
    totals = estimate.totals
    if totals is None:
        raise SettingError(
            "this step needs a public number of reports, which this estimate lacks. Use coherent, clip or raw."
        )
    values = estimate.values
    if totals.size == 1:
        return values.reshape(1, -1), totals.ravel()
    if totals.shape == values.shape and 1 not in values.shape:
        return values.reshape(-1, 1), totals.ravel()
    return (values if totals.shape[0] > 1 else values.T), totals.ravel()


def cells_of_rows(rows: NDArray[np.float64], estimate: Estimate) -> NDArray[np.float64]:
    """Rows as :func:`rows_with_totals` gave them, laid out over the estimate's domain again."""
    totals, shape = estimate.totals, estimate.values.shape
    is_turned = totals is not None and totals.size > 1 and totals.shape[0] == 1
    return np.ascontiguousarray(rows.T) if is_turned else rows.reshape(shape)


def projected(values: NDArray[np.float64], totals: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Project every row of ``values`` onto the non-negative numbers that add up to its total (Norm-Sub).

    Sorting finds how many entries stay positive: the largest j with :math:`u_j > (\\sum_{i \\le j} u_i - N) / j`, the
    entries u in falling order.

    >>> projected(np.array([[3.0, 1.0, -1.0], [0.2, 0.1, 0.0]]), np.array([2, 0])).tolist()
    [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    falling = -np.sort(-values, axis=1)
    excess = np.cumsum(falling, axis=1) - totals[:, None]
    mean_excess = excess / np.arange(1, values.shape[1] + 1)
    n_positive = np.count_nonzero(falling > mean_excess, axis=1)
    # where nothing may stay, the largest entry carries the threshold
    theta = np.take_along_axis(mean_excess, np.maximum(n_positive - 1, 0)[:, None], axis=1)
    return np.where(totals[:, None] > 0, np.maximum(values - theta, 0.0), 0.0)
