r"""How good forecasts were, where the counts they are held against may carry noise.

A private count is :math:`y = c + e` with a noise :math:`e` of mean 0 and known variance :math:`v`, drawn after the
forecast :math:`\mu` was made. Then :math:`E(y-\mu)^2 = E(c-\mu)^2 + v`: the mean of :math:`(y-\mu)^2 - v` errs from the
true mean squared error by chance alone. There is no such way to a mean absolute error, so none is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series

LEVELS: Final = (0.80, 0.95)
_LITTLE_NOISE: Final = 0.25
"""A variance at which a count can still be told by rounding."""


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
    """A mean over all that was forecast, and its standard error; forecasts of one origin are correlated."""

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


def squared_errors(distribution: CountDistribution, held: Held) -> FloatArray:
    """Squared errors whose mean is the true mean squared error: the noise's variance is taken off."""
    return np.asarray(np.square(held.counts - distribution.means) - held.variances, np.float64)


def covered(distribution: CountDistribution, held: Held, level: float) -> FloatArray:
    """Whether each count lies within its interval; a noisy one within an interval widened by its known noise.

    Counts with next to no noise are covered with the probability of :meth:`CountDistribution.coverage`, noisy ones with
    0 or 1.
    """
    is_noisy = held.variances > _LITTLE_NOISE
    found = np.zeros(held.counts.shape)
    quiet = CountDistribution(distribution.means[~is_noisy], distribution.variances[~is_noisy])
    found[~is_noisy] = quiet.coverage(np.maximum(np.round(held.counts[~is_noisy]), 0.0), level)
    loud = CountDistribution(distribution.means[is_noisy], distribution.variances[is_noisy])
    lower, upper = (
        _noisy_quantiles(loud, held.variances[is_noisy], share) for share in ((1 - level) / 2, (1 + level) / 2)
    )
    counts = held.counts[is_noisy]
    found[is_noisy] = (lower <= counts) & (counts <= upper)
    return found


def _noisy_quantiles(distribution: CountDistribution, noise: FloatArray, share: float) -> FloatArray:
    r"""Quantiles of a negative binomial count plus normal noise, by the expansion of Cornish and Fisher.

    With :math:`d = \sigma^2/\mu` the count's cumulants are :math:`\mu d, \mu d(2d-1), \mu d(6d^2-6d+1)` from the second
    on; the noise adds to the second alone.
    """
    means = np.maximum(distribution.means, 1e-9)
    own = np.maximum(distribution.variances, means)
    d = own / means
    spread = np.sqrt(own + noise)
    skew = own * (2 * d - 1) / spread**3
    excess = own * (6 * d**2 - 6 * d + 1) / spread**4
    z = NormalDist().inv_cdf(share)
    turned = z + (z**2 - 1) * skew / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skew**2 / 36
    return np.asarray(means + spread * turned, np.float64)
