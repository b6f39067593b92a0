r"""How good forecasts were, where the counts they are held against may carry noise.

A private count is :math:`y = c + e` with a noise :math:`e` of mean 0 and known variance :math:`v`, drawn after the
forecast :math:`\mu` was made. Then :math:`E(y-\mu)^2 = E(c-\mu)^2 + v`: the mean of :math:`(y-\mu)^2 - v` errs from the
true mean squared error by chance alone. There is no such way to a mean absolute error, so none is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.forecast.laws import CountLaw
from tacit.series import Series

FloatArray = NDArray[np.float64]

LEVELS: Final = (0.80, 0.95)
_N_NODES: Final = 13


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Counts that forecasts are held against, the variance of their noise, and which of them were counted."""

    counts: FloatArray
    variances: FloatArray
    counted: NDArray[np.bool_]

    @property
    def is_exact(self) -> bool:
        return not self.variances[self.counted].any()


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over all that was forecast, and its standard error; forecasts of one origin hang together."""

    value: float
    error: float

    @classmethod
    def of(cls, values: FloatArray, counted: NDArray[np.bool_]) -> Mean:
        """The mean over what was counted; the first axis are origins, whose means are taken for independent."""
        n_origins = len(values)
        weights = counted.reshape(n_origins, -1).sum(axis=1).astype(np.float64)
        sums = np.where(counted, values, 0.0).reshape(n_origins, -1).sum(axis=1)
        n_all = float(weights.sum())
        if not n_all:
            return cls(math.nan, math.nan)
        mean = float(sums.sum() / n_all)
        n_used = int((weights > 0).sum())
        if n_used < 2:
            return cls(mean, math.nan)
        spread = np.square(sums - weights * mean).sum() * n_used / (n_used - 1)
        return cls(mean, math.sqrt(float(spread)) / n_all)


def noise_variances(series: Series) -> FloatArray:
    """The variance of the noise of every count of a series, as the counts are.

    Counts that were made to add up to a public total have less than independent ones.
    """
    variances = series.variances
    if not series.has_public_totals:
        return variances
    sums = np.maximum(variances.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(variances - np.square(variances) / sums, np.float64)


def squared_errors(law: CountLaw, held: Held) -> FloatArray:
    """Squared errors whose mean is the true mean squared error: the noise's variance is taken off."""
    return np.asarray(np.square(held.counts - law.means) - held.variances, np.float64)


def covered(law: CountLaw, held: Held, level: float) -> FloatArray:
    """Whether each count lies within its interval; noisy ones within an interval widened by their known noise.

    Exact counts are covered with the probability of :meth:`CountLaw.coverage`, noisy ones with 0 or 1: whether they lie
    between the quantiles of count plus normal noise.
    """
    if held.is_exact:
        return law.coverage(held.counts, level)
    places = _up_to_with_noise(law, held)
    return np.asarray(np.abs(places - 0.5) <= level / 2, np.float64)


def _up_to_with_noise(law: CountLaw, held: Held) -> FloatArray:
    """The probability of at most each noisy count, noise included."""
    nodes, weights = np.polynomial.hermite.hermgauss(_N_NODES)
    spread = np.sqrt(2 * held.variances)
    found = np.zeros(held.counts.shape)
    for node, weight in zip(nodes, weights / math.sqrt(math.pi), strict=True):
        found += weight * _smooth_up_to(law, held.counts - spread * node)
    return found


def _smooth_up_to(law: CountLaw, values: FloatArray) -> FloatArray:
    """The law's distribution function, each step of it spread over the half units beside it."""
    whole = np.floor(values + 0.5)
    low, high = law.below(whole), law.up_to(whole)
    return np.asarray(low + (values - whole + 0.5) * (high - low), np.float64)
