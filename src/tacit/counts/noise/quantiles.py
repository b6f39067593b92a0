r"""Limits of counts of which the mean and the first cumulants are known, and that they are whole numbers.

A whole number c has no quantile of exactly 10 %. Spread evenly over its unit, from c - 1/2 to c + 1/2, it has one:
limits here are those of the spread number, so that an end inside a unit covers a part of it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.exact_intervals import normal_quantile

# tables end here; more skewed counts take these limits. Half of it moves limits by up to 0.17 standard deviations,
# twice as much by 0.01
_MOST_SKEWED: Final = 2.5
# below, limits are the normal distribution's: a gamma distribution of shape 4 / 1e-6 is one; no limit moves at half or
# twice of it
_LEAST_SKEWED: Final = 1e-3
_SKEWS: Final = np.linspace(0.0, _MOST_SKEWED, 26)  # half as many move limits by 0.02 standard deviations at most
# in parts of what an interval leaves out, below it; half or twice as many move limits by 0.014 standard deviations
_LEFT_OUT: Final = np.linspace(0.0, 0.5, 41)
# larger ones are taken for this: the expansion has one term for it. Half or twice of it moves limits of heavy tails
_MOST_PEAKED: Final = 5.0
# below, the chances of single whole numbers are listed instead; half or twice of it changes the mean width by 0.4 %
_SMALL_VARIANCE: Final = 1.5
# of the count: below, most of its events were observed one by one; half or twice of it changes the mean width by 0.2 %
_MOSTLY_OBSERVED: Final = 0.3
# the largest ratio of variance and mean that a listed count may have; half or twice of it moves no other limit
_MOST_MIXED: Final = 4.0
# whole numbers listed on each side: 6.5 standard deviations of the largest variance. Half cut tails off, twice as many
# change nothing
_BESIDE: Final = 8
_ROWS: Final = 2 * _BESIDE + 1
# Poisson numbers from 0 on: more have a chance below 1e-6 at these variances. Six move limits by up to 0.07 standard
# deviations
_TERMS: Final = 11
_BLOCK: Final = 1 << 16  # counts at once: half a MiB for each array; the size changes the time alone


def limits_of(
    centre: FloatArray,
    variances: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    level: float,
    *,
    is_whole: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of numbers with these means, variances, third and fourth cumulants."""
    lower, upper = _of_many(centre, variances, third, fourth, level, is_whole=is_whole)
    if is_whole:
        chosen = np.flatnonzero((variances > 0) & (variances < _SMALL_VARIANCE))
        for first in range(0, len(chosen), _BLOCK):
            block = chosen[first : first + _BLOCK]
            mean, variance, skew = (np.ravel(part)[block] for part in (centre, variances, third))
            lower.flat[block], upper.flat[block] = _of_few(mean, variance, skew, level)
    return lower, upper


def within(
    lower: FloatArray, upper: FloatArray, largest: FloatArray | float, *, is_whole: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return limits as intervals: cut to possible counts, and out to every whole number partly covered."""
    if is_whole:
        lower, upper = np.minimum(lower, np.ceil(lower - 0.5)), np.maximum(upper, np.floor(upper + 0.5))
    return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)


def settings_of_limits(level: float) -> dict[str, Any]:
    """Return plain data from which a page's script finds the same limits (``noise_smoothed.js``)."""
    lower, upper = _shortest_ends(level)
    return {
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "most_skewed": _MOST_SKEWED,
        "most_peaked": _MOST_PEAKED,
        "small_variance": _SMALL_VARIANCE,
        "mostly_observed": _MOSTLY_OBSERVED,
        "most_mixed": _MOST_MIXED,
        "beside": _BESIDE,
        "terms": _TERMS,
    }


def _of_many(
    centre: FloatArray, variances: FloatArray, third: FloatArray, fourth: FloatArray, level: float, *, is_whole: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the shortest interval of a gamma distribution (or mirrored) of the skewness, widened for heavy tails.

    Reference: Wilson1931.
    """
    is_open = variances > 0
    sd = np.sqrt(variances + (is_open / 12 if is_whole else 0.0))
    skewness = np.divide(third, sd**3, out=np.zeros_like(sd), where=is_open)
    skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
    kurtosis = np.divide(fourth, sd**4, out=np.zeros_like(sd), where=is_open)
    z = normal_quantile(level)
    tails = (z**3 - 3 * z) / 24 * np.clip(kurtosis - 1.5 * np.square(skewness), 0.0, _MOST_PEAKED)
    lower, upper = _shortest(np.abs(skewness), level)
    lower, upper = np.where(skewness < 0, -upper, lower) - tails, np.where(skewness < 0, -lower, upper) + tails
    return np.array(centre + lower * sd), np.array(centre + upper * sd)


def _shortest(skewness: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the shortest intervals of gamma distributions of mean 0 and variance 1."""
    lower, upper = _shortest_ends(level)
    return np.interp(skewness, _SKEWS, lower), np.interp(skewness, _SKEWS, upper)


@cache
def _shortest_ends(level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends for every skewness of ``_SKEWS``. The more skewed, the less of what is left out is below."""
    ends = []
    for skewness in _SKEWS.tolist():
        tried = [(_of_gamma(left, skewness), _of_gamma(left + level, skewness)) for left in _LEFT_OUT * (1 - level)]
        ends.append(min(tried, key=lambda pair: pair[1] - pair[0]))
    lower, upper = np.array(ends).T
    return lower, upper


def _of_gamma(share: float, skewness: float) -> float:
    """Return the quantile of a gamma distribution of mean 0 and variance 1."""
    if share <= 0:
        return -2 / skewness if skewness > 0 else -math.inf
    z = math.copysign(normal_quantile(abs(2 * share - 1)), share - 0.5)
    if skewness < _LEAST_SKEWED:
        return z
    return 2 / skewness * (max(1 + skewness * z / 6 - skewness**2 / 36, 0.0) ** 3 - 1)


def _of_few(
    centre: FloatArray, variances: FloatArray, third: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of small counts: of how many there are, or, where most were seen, of how many were not."""
    first = np.zeros(len(centre))
    chances = np.empty((_ROWS, len(centre)))
    is_observed = variances < _MOSTLY_OBSERVED * centre
    if is_observed.any():
        first[is_observed], chances[:, is_observed] = _around(
            centre[is_observed], variances[is_observed], third[is_observed]
        )
    if not is_observed.all():
        chances[:, ~is_observed] = _from_zero(centre[~is_observed], variances[~is_observed])
    is_count = first + np.arange(_ROWS)[:, None] >= 0
    below = np.cumsum(chances * is_count, axis=0)
    below = below / below[-1]
    lower, upper = (_quantile(below, (1 + side * level) / 2) for side in (-1, 1))
    return first + lower, first + upper


def _from_zero(centre: FloatArray, variances: FloatArray) -> FloatArray:
    r"""Return the chances of 0, 1, 2 and so on: :math:`p_k = (a + b / k) p_{k-1}`, with these moments.

    It is binomial, Poisson or negative binomial, as the variance is less than the mean, the same, or more: events each
    of which may have been seen, or not, or whose rate is itself uncertain.

    Reference: Panjer1981.
    """
    means = np.maximum(centre, variances / _MOST_MIXED)
    rest = means / variances
    a, whole = 1 - rest, means * rest
    is_poisson = np.abs(a) < 1e-6
    a = np.where(is_poisson, 1e-6, a)
    chances = np.empty((_ROWS, len(centre)))
    chances[0] = np.where(is_poisson, np.exp(-means), (1 - a) ** (whole / a))
    for k in range(1, _ROWS):
        chances[k] = chances[k - 1] * np.maximum(a + (whole - a) / k, 0.0)
    return chances


def _around(centre: FloatArray, variances: FloatArray, third: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return the least number, and the chances from there on, of b, more the events missed, less those that were none.

    Both are Poisson numbers: with means :math:`\lambda` and :math:`\mu` the count has mean :math:`b + \lambda - \mu`,
    variance :math:`\lambda + \mu` and third cumulant :math:`\lambda - \mu`. Where no whole number b is that near, it is
    itself one of the two around the mean.
    """
    least, most = np.ceil(centre - variances), np.floor(centre + variances)
    is_near = least <= most
    base = np.where(is_near, np.clip(np.rint(centre - third), least, most), np.floor(centre))
    rise = np.where(is_near, centre - base, 0.0)
    upper_one = np.where(is_near, 0.0, centre - base)
    total = np.maximum(variances - upper_one * (1 - upper_one), np.abs(rise))
    missed, none = (_poisson((total + sign * rise) / 2) for sign in (1, -1))
    chances = np.zeros((_ROWS, len(centre)))
    for row in range(_ROWS):
        for j in range(max(0, _BESIDE - row), min(_TERMS, _TERMS + _BESIDE - row)):
            chances[row] += missed[row - _BESIDE + j] * none[j]
    chances[1:] += upper_one * (chances[:-1] - chances[1:])
    return base - _BESIDE, chances


def _poisson(means: FloatArray) -> list[FloatArray]:
    """Return the chances of 0, 1, 2 and so on."""
    chances = [np.exp(-means)]
    for n in range(1, _TERMS):
        chances.append(chances[-1] * means / n)
    return chances


def _quantile(below: FloatArray, share: float) -> FloatArray:
    """Return the quantile of columns of cumulative chances, each row spread over the unit around it."""
    row = np.argmax(below >= share, axis=0)
    columns = np.arange(len(row))
    reached = below[row, columns]
    before = np.where(row > 0, below[row - 1, columns], 0.0)
    return np.asarray(row - 0.5 + (share - before) / (reached - before), np.float64)
