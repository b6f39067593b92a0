r"""The most likely counts where only per-cell supports are known: their noise taken for normal.

.. math:: \hat x = \arg\min_{x \ge 0,\ \sum x = N} (x - y)^\top \Sigma^{-1} (x - y)

with the covariance :math:`\Sigma` that the noise model states for the cells of a public bin, or of a time bin of a
curator's tables, whose estimated total then stands in for N. Where all cells err alike and independently this is plain
projection; elsewhere cells that are known better move less. Solved exactly by active sets: among cells that may be
positive a linear system is solved, and cells leave or enter one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.languages import stored
from tacit.counts.estimate import Estimate
from tacit.counts.noise import NoStatedNoise
from tacit.counts.norm_sub import norm_sub
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.errors import SettingError
from tacit.postprocess.clipping import cells_of_rows, rows_with_totals

LIKELY_UNDER_NORMAL_NOISE: Final = stored("maximum likelihood of the supports, their noise taken for normal")
LIKELY_TABLES: Final = stored("maximum likelihood of the tables, their noise taken for normal")
MOST_CELLS: Final = 128  # as in likelihood: every bin solves systems of as many equations
_NUMBERS_AT_ONCE: Final = 1 << 22  # 32 MiB of matrices; doubled, twice the memory
_SLACK: Final = 1e-9  # relative: gains below a float's last digits are none


def maximize_normal_likelihood(estimate: Estimate) -> Estimate:
    """Replace counts by those under which they are most likely, if their noise is normal with the stated covariance.

    Of a curator's tables these are what graphical models estimate from noisy marginals (McKenna2019). Needs no
    reports, only the estimate, so it knows less than the likelihood of the reports themselves, and its name says so.
    Biased where counts meet zero: errors below it are cut off.
    """
    covariance = estimate.noise.bin_covariance()
    if covariance is None:
        values = _of_reports(estimate)
    else:
        _check_size(len(covariance))
        totals = np.maximum(estimate.values.sum(axis=1), 0.0)
        values = np.zeros(estimate.values.shape)
        _fill(values, estimate.values, totals, lambda part: np.repeat(covariance[None], len(part), axis=0))
    return replace(
        estimate,
        values=values,
        noise=NoStatedNoise(
            "the most likely counts are raised where they are small, because none is negative, so no honest interval "
            "can be stated"
        ),
        steps=(*estimate.steps, LIKELY_UNDER_NORMAL_NOISE if covariance is None else LIKELY_TABLES),
    )


def most_likely_sums(estimate: Estimate) -> FloatArray | None:
    """Return the most likely counts of a curator's tables over all time, none negative; None for other estimates.

    Time bins have independent noise of one covariance, so that of their sums is a multiple of it: the same metric.
    """
    covariance = estimate.noise.bin_covariance()
    if covariance is None or len(covariance) > MOST_CELLS:
        return None
    sums = estimate.values.sum(axis=0, keepdims=True)
    found: FloatArray = np.zeros(sums.shape)
    _fill(found, sums, np.maximum(sums.sum(axis=1), 0.0), lambda _: covariance[None])
    return found.ravel()


def _of_reports(estimate: Estimate) -> FloatArray:
    noise = estimate.noise.of_reports()
    if noise is None:
        raise SettingError(
            "the likelihood needs randomized reports, counted in the plan's own places (or periods, where these are "
            "private), or a curator's tables, not added up or refined. Use project, or for a curator's counts coherent."
        )
    _check_size(noise.distribution.n_cells)
    rows, totals = rows_with_totals(estimate)
    per_report = covariances(noise.distribution)
    counts = noise.counts if noise.counts is not None else np.repeat(noise.reports[:, None], len(per_report), axis=1)
    found = np.zeros(rows.shape)
    _fill(found, rows, totals, lambda part: np.einsum("tu,uab->tab", counts[part], per_report))
    return cells_of_rows(found, estimate)


def _fill(
    found: FloatArray, rows: FloatArray, totals: NDArray[Any], covariance: Callable[[IntArray], FloatArray]
) -> None:
    """Write the most likely counts of all rows that have any, as many at once as memory allows."""
    n_at_once = max(1, _NUMBERS_AT_ONCE // rows.shape[1] ** 2)
    asked = np.flatnonzero(totals > 0)
    for first in range(0, len(asked), n_at_once):
        part = asked[first : first + n_at_once]
        found[part] = nearest_counts(rows[part], totals[part].astype(np.float64), covariance(part))


def _check_size(n_cells: int) -> None:
    if n_cells > MOST_CELLS:
        raise SettingError(f"the likelihood is for at most {MOST_CELLS} cells; got n_cells={n_cells}. Use project.")


def covariances(distribution: SupportDistribution) -> FloatArray:
    """Return the covariance of all estimates that one report adds, for every true cell; one where all are equal.

    From variances of pairs: Cov(a, b) = (Var(a + b) - Var(a) - Var(b)) / 2.
    """
    k = distribution.n_cells
    units = np.eye(k)
    alone = np.array([distribution.variances(unit) for unit in units])
    out = np.empty((k, k, k))
    for a in range(k):
        out[:, a, a] = alone[a]
        for b in range(a):
            out[:, a, b] = out[:, b, a] = (distribution.variances(units[a] + units[b]) - alone[a] - alone[b]) / 2
    return out if distribution.needs_counts else out[:1]


def nearest_counts(values: FloatArray, totals: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return, for every row, the non-negative numbers of its total that are nearest in the metric of its covariance."""
    n_rows, k = values.shape
    scale = np.trace(covariance, axis1=1, axis2=2) / k
    covariance = covariance / scale[:, None, None]
    # where the sum is certain the covariance knows nothing of it; any weight gives the same answer
    is_certain = np.abs(covariance.sum(axis=(1, 2))) < 1e-9 * k
    covariance = covariance + is_certain[:, None, None] / k
    metric: FloatArray = np.linalg.inv(covariance).astype(np.float64, copy=False)
    x = norm_sub(values, totals)
    may_be_positive = x > 0
    is_open = np.ones(n_rows, bool)
    for _ in range(20 * k):
        at = np.flatnonzero(is_open)
        if not at.size:
            return x
        z, price = _solved(values[at], totals[at], metric[at], may_be_positive[at])
        is_inside = (z >= 0) | ~may_be_positive[at]
        whole = is_inside.all(axis=1)
        # rows whose solution is feasible: stop, or let the cell enter that gains most
        entering = np.where(may_be_positive[at], np.inf, _gradient(z, values[at], metric[at]) - price[:, None])
        gains = entering.min(axis=1) < -_SLACK * np.maximum(totals[at], 1.0)
        moved = at[whole]
        x[moved] = z[whole]
        is_open[at[whole & ~gains]] = False
        enter = whole & gains
        may_be_positive[at[enter], entering[enter].argmin(axis=1)] = True
        # the others: go as far as no cell becomes negative, and let the cells leave that reach zero
        stopped = at[~whole]
        way = z[~whole] - x[stopped]
        reach = np.where(is_inside[~whole], np.inf, x[stopped] / np.where(way < 0, -way, 1.0))
        length = np.minimum(reach.min(axis=1, keepdims=True), 1.0)
        x[stopped] = np.maximum(x[stopped] + length * way, 0.0)
        leaving = reach <= length
        x[stopped] = np.where(leaving, 0.0, x[stopped])
        may_be_positive[stopped] &= ~leaving
    raise SettingError("the most likely counts were not found. Use project.")


def _solved(
    values: FloatArray, totals: FloatArray, metric: FloatArray, free: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return the nearest numbers of a total where only free cells may differ from zero, and the price of that total."""
    n_rows, k = values.shape
    system = np.zeros((n_rows, k + 1, k + 1))
    both = free[:, :, None] & free[:, None, :]
    system[:, :k, :k] = np.where(both, metric, 0.0) + np.eye(k) * ~free[:, :, None]
    system[:, :k, k] = -free.astype(np.float64)
    system[:, k, :k] = free
    pulled = np.einsum("tab,tb->ta", metric, values)
    right = np.concatenate([np.where(free, pulled, 0.0), totals[:, None]], axis=1)
    solution = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    return solution[:, :k], solution[:, k]


def _gradient(x: FloatArray, values: FloatArray, metric: FloatArray) -> FloatArray:
    gradient: FloatArray = np.einsum("tab,tb->ta", metric, x - values)
    return gradient
