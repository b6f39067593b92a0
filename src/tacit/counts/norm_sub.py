r"""Norm-Sub: projection onto what counts must be, non-negative and adding up to a known total.

.. math:: \hat x = \arg\min_{x \ge 0,\ \sum x = N} \lVert x - y \rVert^2
                 = \max(y - \theta, 0), \qquad \sum_i \max(y_i - \theta, 0) = N

It is the most likely set of counts where the noise of all cells is normal, independent and equally large.

Reference: Duchi2008; Wang2020.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def norm_sub(values: NDArray[np.float64], totals: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Project every row of ``values`` onto the non-negative numbers that add up to its total (Norm-Sub).

    Sorting finds how many entries stay positive: the largest j with :math:`u_j > (\\sum_{i \\le j} u_i - N) / j`, the
    entries u in falling order.

    >>> norm_sub(np.array([[3.0, 1.0, -1.0], [0.2, 0.1, 0.0]]), np.array([2, 0])).tolist()
    [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    falling = -np.sort(-values, axis=1)
    excess = np.cumsum(falling, axis=1) - totals[:, None]
    mean_excess = excess / np.arange(1, values.shape[1] + 1)
    n_positive = np.count_nonzero(falling > mean_excess, axis=1)
    # where nothing may stay, the largest entry carries the threshold
    theta = np.take_along_axis(mean_excess, np.maximum(n_positive - 1, 0)[:, None], axis=1)
    return np.where(totals[:, None] > 0, np.maximum(values - theta, 0.0), 0.0)
