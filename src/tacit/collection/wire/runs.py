"""What a file of reports and a message have in common: public bins in runs, and an order that tells nothing.

Reports stand sorted by public bin and, within a bin, as little-endian numbers, so that nothing of the order in which
events happened or were read is left. Each bin is then named once, with the number of its reports.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.limits import MOST_CELLS
from tacit.plan import Plan

FARTHEST_BIN: Final = 1 << 24
"""Bins of a time axis without end that are believed: a forged bin must not fill the memory."""


def n_bins_allowed(plan: Plan) -> int:
    """The bins a report may stand in are 0 up to this number, not included."""
    if plan.n_public is not None:
        return plan.n_public
    return min(FARTHEST_BIN, max(1, MOST_CELLS // plan.n_private))


def report_keys(reports: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Reports as little-endian numbers in columns of 8 bytes each, the least significant first."""
    n_bytes = reports.shape[1]
    padded = np.zeros((len(reports), -(-n_bytes // 8) * 8), np.uint8)
    padded[:, :n_bytes] = reports
    return padded.view("<u8").astype(np.uint64, copy=False)


def sorting_order(bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The order by bin, then by the report as a little-endian number.

    >>> sorting_order(np.array([1, 0, 0]), np.array([[0, 0], [0, 2], [9, 1]], np.uint8)).tolist()
    [2, 1, 0]
    """
    return np.lexsort((*report_keys(reports).T, bins))


def are_runs(bins: NDArray[np.int64], run_lengths: NDArray[np.int64], n_reports: int) -> bool:
    """Whether bins ascend from 0 on and the lengths of their runs, none empty, add up to all reports.

    >>> are_runs(np.array([3, 8]), np.array([1, 4]), 5), are_runs(np.array([8, 3]), np.array([1, 4]), 5)
    (True, False)
    """
    if not len(bins):
        return n_reports == 0
    if bins[0] < 0 or not (bins[1:] > bins[:-1]).all():
        return False
    # no length beyond the whole, so that a forged sum cannot come round to the right number
    if run_lengths.min() < 1 or run_lengths.max() > n_reports or len(bins) > n_reports:
        return False
    return int(run_lengths.sum()) == n_reports
