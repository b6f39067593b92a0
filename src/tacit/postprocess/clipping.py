"""Steps that force estimates to look like counts: none is negative. All are biased, and all say how.

They need no raw data and cost no privacy, but no honest interval survives them.

Reference: Arcolezi2020 (clip and rescale); Wang2020 (Norm-Cut, and how they compare).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

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


_SLACK: Final = 1e-9  # relative: what a float's last digits are worth; counts that exceed a total do so by more


def clip(estimate: Estimate) -> Estimate:
    """Replace negative estimates by zero: the paper's max(0, .).

    Biased upwards: errors below zero vanish and those above stay, so small cells and every sum come out too large.
    """
    return _biased(
        estimate,
        np.maximum(estimate.values, 0.0),
        stored("clip"),
        "clipping at zero is biased upwards, small counts most",
    )


def clip_and_rescale(estimate: Estimate) -> Estimate:
    """Replace negative estimates by zero, then rescale so that the cells add up to the public number of reports.

    Biased towards even counts: clipping raises small cells, and rescaling takes it from the large ones. Where nothing
    is left after clipping, the reports are spread evenly: the data say nothing about their cells.
    """
    rows, totals = rows_with_totals(estimate)
    clipped = np.maximum(rows, 0.0)
    sums = clipped.sum(axis=1, keepdims=True)
    shares = np.divide(clipped, sums, out=np.full(clipped.shape, 1 / clipped.shape[1]), where=sums > 0)
    return _biased(
        estimate,
        cells_of_rows(shares * totals[:, None], estimate),
        stored("clip and rescale"),
        "clipping and rescaling is biased towards even counts: small ones come out too large, large ones too small",
    )


def norm_cut(estimate: Estimate) -> Estimate:
    """Replace negative estimates by zero, and the smallest positive ones too, until the sum is at most the public one.

    Biased downwards where counts are small: they are cut to nothing, while large ones stay as they are. The cells add
    up to the public number of reports at most, and as a rule to less; equal counts stay or go together. Where the
    largest alone exceeds it nothing is left.
    """
    rows, totals = rows_with_totals(estimate)
    return _biased(
        estimate,
        cells_of_rows(cut(rows, totals), estimate),
        stored(
            "Norm-Cut: negative counts and the smallest positive ones to zero, until the public total is not exceeded"
        ),
        "cutting small counts is biased: they come out as nothing, whatever they are, and the sum falls short",
    )


def cut(values: NDArray[np.float64], totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Keep of every row its largest positive entries as long as they add up to its total or less (Norm-Cut).

    >>> cut(np.array([[5.0, 3.0, 1.0, -2.0], [2.0, 0.5, 0.25, 0.0]]), np.array([8, 4])).tolist()
    [[5.0, 3.0, 0.0, 0.0], [2.0, 0.5, 0.25, 0.0]]
    """
    clipped = np.maximum(values, 0.0)
    falling = -np.sort(-clipped, axis=1)
    # counts that add up exactly must not be cut for what floats leave over
    most = totals[:, None] * (1 + _SLACK)
    n_kept = np.count_nonzero(np.cumsum(falling, axis=1) <= most, axis=1)
    dropped = np.pad(falling, ((0, 0), (0, 1)), constant_values=-1.0)
    largest_dropped = np.take_along_axis(dropped, n_kept[:, None], axis=1)
    return np.where(clipped > largest_dropped, clipped, 0.0)


def _biased(estimate: Estimate, values: NDArray[np.float64], step: str, bias: str) -> Estimate:
    return replace(
        estimate,
        values=values,
        noise=NoStatedNoise(f"{bias}, so no honest interval can be stated"),
        steps=(*estimate.steps, step),
    )
