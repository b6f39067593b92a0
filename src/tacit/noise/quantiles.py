r"""Limits of counts of which the mean and the first cumulants are known, and that they are whole numbers.

A whole number c has no quantile of exactly 10 %. Spread evenly over its unit, from c - 1/2 to c + 1/2, it has one:
limits here are those of the spread number, so that an end inside a unit covers a part of it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit.noise.model import FloatArray
from tacit.two_binomials import normal_quantile

_MOST_SKEWED: Final = 2.5
_MOST_PEAKED: Final = 5.0
_FEW: Final = 1.5
_REACH: Final = 8
_TERMS: Final = 11
_BLOCK: Final = 1 << 16


def limits_of(
    centre: FloatArray,
    variances: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    level: float,
    *,
    is_whole: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """The limits of numbers with these means, variances, third and fourth cumulants."""
    lower, upper = _of_many(centre, variances, third, fourth, level, is_whole=is_whole)
    if is_whole:
        chosen = np.flatnonzero((variances > 0) & (variances < _FEW))
        for first in range(0, len(chosen), _BLOCK):
            block = chosen[first : first + _BLOCK]
            mean, variance, skew = (np.ravel(part)[block] for part in (centre, variances, third))
            lower.flat[block], upper.flat[block] = _of_few(mean, variance, skew, level)
    return lower, upper


def within(
    lower: FloatArray, upper: FloatArray, largest: FloatArray | float, *, is_whole: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Limits as intervals: cut to what counts can be, and out to every whole number of which a part is covered."""
    if is_whole:
        lower, upper = np.minimum(lower, np.ceil(lower - 0.5)), np.maximum(upper, np.floor(upper + 0.5))
    return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)


def _of_many(
    centre: FloatArray, variances: FloatArray, third: FloatArray, fourth: FloatArray, level: float, *, is_whole: bool
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of a gamma law (also mirrored) with the skewness; more of the tails than it has is put on top.

    Reference: Wilson1931.
    """
    is_open = variances > 0
    spread = np.sqrt(variances + (is_open / 12 if is_whole else 0.0))
    skewness = np.divide(third, spread**3, out=np.zeros_like(spread), where=is_open)
    skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
    kurtosis = np.divide(fourth, spread**4, out=np.zeros_like(spread), where=is_open)
    z = normal_quantile(level)
    tails = (z**3 - 3 * z) / 24 * np.clip(kurtosis - 1.5 * np.square(skewness), 0.0, _MOST_PEAKED)
    lower, upper = _of_gamma(-z, skewness) - tails, _of_gamma(z, skewness) + tails
    return np.array(centre + lower * spread), np.array(centre + upper * spread)


def _of_gamma(z: float, skewness: FloatArray) -> FloatArray:
    """The quantile of a gamma law of mean 0 and variance 1 where the normal law has z."""
    bent = np.maximum(1 + skewness * z / 6 - np.square(skewness) / 36, 0.0) ** 3 - 1
    is_skewed = np.abs(skewness) > 1e-3
    return np.asarray(np.divide(2 * bent, skewness, out=np.full_like(skewness, z), where=is_skewed), np.float64)


def _of_few(
    centre: FloatArray, variances: FloatArray, third: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    r"""Quantiles of a whole number b, more the events that were missed, less those that were none.

    Both are Poisson numbers: with means :math:`\lambda` and :math:`\mu` the count has mean :math:`b + \lambda - \mu`,
    variance :math:`\lambda + \mu` and third cumulant :math:`\lambda - \mu`; and it is not negative.
    """
    least, most = np.ceil(centre - variances), np.floor(centre + variances)
    base = np.where(least <= most, np.clip(np.rint(centre - third), least, most), np.rint(centre))
    total = np.maximum(variances, np.abs(centre - base))
    missed, none = (_poisson((total + sign * (centre - base)) / 2) for sign in (1, -1))
    chances = np.zeros((2 * _REACH + 1, len(centre)))
    for row in range(len(chances)):
        for j in range(max(0, _REACH - row), min(_TERMS, _TERMS + _REACH - row)):
            chances[row] += missed[row - _REACH + j] * none[j]
    is_count = base + np.arange(-_REACH, _REACH + 1)[:, None] >= 0
    is_count |= ~(chances * is_count).any(axis=0)
    below = np.cumsum(chances * is_count, axis=0)
    below = below / below[-1]
    lower, upper = (_quantile(below, (1 + side * level) / 2) for side in (-1, 1))
    return base - _REACH + lower, base - _REACH + upper


def _poisson(means: FloatArray) -> list[FloatArray]:
    """The chances of 0, 1, 2 and so on."""
    chances = [np.exp(-means)]
    for n in range(1, _TERMS):
        chances.append(chances[-1] * means / n)
    return chances


def _quantile(below: FloatArray, share: float) -> FloatArray:
    """Where columns of chances added up, each spread over the unit around its row, reach a share."""
    row = np.argmax(below >= share, axis=0)
    columns = np.arange(len(row))
    reached = below[row, columns]
    before = np.where(row > 0, below[row - 1, columns], 0.0)
    return np.asarray(row - 0.5 + (share - before) / (reached - before), np.float64)
