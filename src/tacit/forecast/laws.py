"""The law of a count that has not happened yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit._validate import check_share

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CountLaw:
    """Negative binomial counts with these means and variances, all at once; Poisson where no more is known to vary.

    A variance below the mean is raised to it: whole numbers of events that come by chance vary at least as much.
    """

    means: FloatArray
    variances: FloatArray

    def quantiles(self, share: float) -> FloatArray:
        """The least counts that are not exceeded with probability ``share``."""
        check_share(share=share)
        return np.asarray(self._law.ppf(share), np.float64)

    def intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits that hold the count with at least the probability ``level``, as much on either side."""
        check_share(level=level)
        return self.quantiles((1 - level) / 2), self.quantiles((1 + level) / 2)

    def below(self, counts: FloatArray) -> FloatArray:
        """The probability of less than each count."""
        return np.asarray(self._law.cdf(np.asarray(counts) - 1), np.float64)

    def up_to(self, counts: FloatArray) -> FloatArray:
        """The probability of at most each count."""
        return np.asarray(self._law.cdf(np.asarray(counts)), np.float64)

    def coverage(self, counts: FloatArray, level: float) -> FloatArray:
        """With which probability a randomized interval of just this ``level`` covers each count.

        Counts are whole numbers, so no interval has just the level; one whose ends are tossed for has. Averaged over
        counts that follow the law it is the level itself.
        """
        low, high = self.below(counts), self.up_to(counts)
        left, right = (1 - level) / 2, (1 + level) / 2
        inside = np.clip(np.minimum(high, right) - np.maximum(low, left), 0.0, None)
        return np.asarray(np.divide(inside, high - low, out=np.zeros(low.shape), where=high > low), np.float64)

    @property
    def _law(self) -> Any:
        stats = require("scipy.stats", extra="forecast")
        means = np.maximum(self.means, 1e-12)
        extra = np.maximum(self.variances - means, 1e-9 * means)
        sizes = np.square(means) / extra
        return stats.nbinom(sizes, sizes / (sizes + means))
