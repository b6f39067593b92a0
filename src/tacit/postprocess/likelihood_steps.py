r"""Steps towards the most likely shares, of many public bins at once.

**Newton's**: with the gradient :math:`g = N (m - 1)` and the bend
:math:`H = \sum_y n_y (a / z_y)^2 S_y S_y^\top` (supports S, and a the odds less 1), the change d of shares that
maximizes :math:`g^\top d - d^\top H d / 2` while shares add up to 1 and none is negative, found by fixing at zero
what would fall below it. It is halved until it leads up. Shares at zero take part again as soon as their factor m is
above 1.

**Two steps of expectation maximization and a leap along them** (SQUAREM), by half as much as long as a share would
leave the positive numbers, so that none ever freezes at zero: where cells are too many for Newton's, every few rounds
in any case, and where Newton's leads nowhere.

Reference: Varadhan2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import likelihood_kernels

if TYPE_CHECKING:
    from tacit.postprocess.likelihood import ReportHistogram


MOST_CELLS: Final = 128
"""Newton's step solves a system of as many equations for every bin, whose time grows with the cube of their number.
Beyond, steps are of expectation maximization alone, which takes a thousand rounds where Newton takes six."""
_NUMBERS_AT_ONCE: Final = 1 << 22  # 32 MiB of matrices; doubled, twice the memory
# Half or twice of these five takes as many rounds, but for the first, of which twice takes one less.
_LEAP_EVERY: Final = 4  # of so many rounds one is of expectation maximization, which goes on where Newton's stand still
_MOST_HALVINGS: Final = 6  # of a step that leads lower: a sixty-fourth is left, then the leap helps
_RIDGE: Final = 1e-9  # of the mean curvature, for cells that no report tells apart
_NOTHING: Final = 1e-12  # a share that is taken for zero
_LEAST_SHARE: Final = 1e-200  # keeps logarithms finite


def climbed(
    histogram: ReportHistogram,
    bins: IntArray,
    here: FloatArray,
    factors: FloatArray,
    value: FloatArray,
    number: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares that are at least as likely after one round, their factors and their log-likelihoods."""
    if here.shape[1] > MOST_CELLS or number % _LEAP_EVERY == _LEAP_EVERY - 1:
        return _extrapolated(histogram, bins, here, factors, value)
    there = np.empty_like(here)
    n_at_once = max(1, _NUMBERS_AT_ONCE // here.shape[1] ** 2)
    for first in range(0, len(bins), n_at_once):
        part = slice(first, first + n_at_once)
        there[part] = _newton(histogram, bins[part], here[part], factors[part])
    factors_there, value_there = weighed(histogram, bins, there)
    for _ in range(_MOST_HALVINGS):
        is_lower = ~(value_there >= value)  # written so that NaN fails too
        if not is_lower.any():
            return there, factors_there, value_there
        there[is_lower] = (there[is_lower] + here[is_lower]) / 2
        factors_there[is_lower], value_there[is_lower] = weighed(histogram, bins[is_lower], there[is_lower])
    at = np.flatnonzero(~(value_there >= value))
    if at.size:
        there[at], factors_there[at], value_there[at] = _extrapolated(
            histogram, bins[at], here[at], factors[at], value[at]
        )
    return there, factors_there, value_there


def _newton(histogram: ReportHistogram, bins: IntArray, here: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the shares that maximize the quadratic that the log-likelihood is here."""
    k = here.shape[1]
    bend = np.empty((len(bins), k, k))
    n_entries = int((histogram.starts[bins + 1] - histogram.starts[bins]).sum())
    likelihood_kernels(n_entries * k).curve(
        histogram.supports,
        histogram.which,
        histogram.counts,
        histogram.starts,
        bins,
        histogram.odds - 1,
        here,
        bend,
    )
    # cells that no report tells apart leave it flat
    bend += (_RIDGE * np.trace(bend, axis1=1, axis2=2) / k)[:, None, None] * np.eye(k)
    gradient = histogram.reports[bins][:, None] * (factors - 1)
    is_free = (here > _NOTHING) | (factors > 1)
    there = np.where(is_free, here, 0.0)
    at = np.arange(len(bins))
    for _ in range(k):
        there[at] = _solved(bend[at], gradient[at], here[at], is_free[at])
        is_free[at] &= there[at] >= 0
        at = at[(there[at] < 0).any(axis=1)]
        if not at.size:
            break
    there = np.maximum(there, 0.0)
    there /= there.sum(axis=1, keepdims=True)
    return there


def _solved(bend: FloatArray, gradient: FloatArray, here: FloatArray, is_free: NDArray[np.bool_]) -> FloatArray:
    """Return the best shares of sum 1 where only free cells may differ from zero, even if some are negative."""
    n_bins, k = here.shape
    fixed = np.where(is_free, 0.0, -here)
    system = np.zeros((n_bins, k + 1, k + 1))
    system[:, :k, :k] = (
        np.where(is_free[:, :, None] & is_free[:, None, :], bend, 0.0) + np.eye(k) * ~is_free[:, :, None]
    )
    system[:, :k, k] = system[:, k, :k] = is_free
    pulled = np.where(is_free, gradient - np.einsum("tab,tb->ta", bend, fixed), 0.0)
    right = np.concatenate([pulled, -fixed.sum(axis=1, keepdims=True)], axis=1)
    change = np.linalg.solve(system, right[:, :, None])[:, :k, 0]
    return np.where(is_free, here + change, 0.0)


def weighed(histogram: ReportHistogram, bins: IntArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the factors m of the shares of some bins, and their log-likelihoods."""
    factors, values = np.empty(shares.shape), np.empty(len(bins))
    n_entries = int((histogram.starts[bins + 1] - histogram.starts[bins]).sum())
    likelihood_kernels(n_entries * histogram.n_cells).weigh(
        histogram.supports,
        histogram.which,
        histogram.counts,
        histogram.starts,
        bins,
        histogram.odds - 1,
        shares,
        factors,
        values,
    )
    return factors, values


def _extrapolated(
    histogram: ReportHistogram, bins: IntArray, here: FloatArray, factors: FloatArray, value: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Take two steps of expectation maximization, and a leap along them where that leads higher."""
    here = np.maximum(here, _LEAST_SHARE)
    first = np.maximum(here * factors, _LEAST_SHARE)
    factors_first, _ = weighed(histogram, bins, first)
    second = np.maximum(first * factors_first, _LEAST_SHARE)
    way, bend = first - here, second - 2 * first + here
    norm = np.linalg.norm(bend, axis=1)
    length = np.divide(np.linalg.norm(way, axis=1), norm, out=np.ones(len(norm)), where=norm > 0)
    length = np.maximum(length, 1.0)[:, None]
    leap = _leap(here, way, bend, length)
    for _ in range(60):
        outside = leap.min(axis=1) <= 0
        if not outside.any():
            break
        length[outside] = (1 + length[outside]) / 2
        leap = _leap(here, way, bend, length)
    leap = np.where(leap.min(axis=1, keepdims=True) > 0, leap, second)
    leap /= leap.sum(axis=1, keepdims=True)
    factors_leap, value_leap = weighed(histogram, bins, leap)
    is_lower = ~(value_leap >= value)
    if is_lower.any():
        leap[is_lower] = second[is_lower]
        factors_leap, value_leap = weighed(histogram, bins, leap)
    return leap, factors_leap, value_leap


def _leap(here: FloatArray, way: FloatArray, bend: FloatArray, length: FloatArray) -> FloatArray:
    leap: FloatArray = here + 2 * length * way + length**2 * bend
    return leap
