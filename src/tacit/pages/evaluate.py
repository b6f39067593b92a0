"""The laboratory: error against the truth. Nothing here may reach a release."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.counts.tally import ExactTally
from tacit.errors import SettingError


def densities(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Each period's shares by place (equation 9 of the paper). A period with no count has density 0 everywhere.

    >>> densities(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    as_floats = np.asarray(counts, np.float64)
    sums = as_floats.sum(axis=1, keepdims=True)
    shares = np.zeros_like(as_floats)
    np.divide(as_floats, sums, out=shares, where=sums != 0)
    return shares


def error_rates(truth: ExactTally, estimated: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean absolute difference of the densities in each period (equation 10).

    Defined for every period: without events and without estimates both densities are 0, and so is the error.

    >>> error_rates(ExactTally(np.array([[3, 1], [0, 0]])), np.array([[2.0, 2.0], [0.0, 0.0]])).tolist()
    [0.25, 0.0]
    """
    actual = truth.reveal()
    if actual.shape != np.shape(estimated):
        raise SettingError(f"estimates must have the truth's shape {actual.shape}; got shape={np.shape(estimated)}.")
    error: NDArray[np.float64] = np.abs(densities(actual) - densities(estimated)).mean(axis=1)
    return error
