"""The distribution of a count that has not happened yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.validation import check_share
from tacit.errors import SettingError

LARGEST: Final = 2.0**52
"""Counts that a distribution may reach: whole numbers up to twice this are floats, so that their middle is one too."""
_LEAST_MEAN: Final = 1e-12  # guards divisions: such a count is 0, and a thousand times as much would be, too
_LEAST_EXTRA: Final = 1e-9  # of the mean, that variances exceed it by at least: Poisson counts but for the last digits


@dataclass(frozen=True, slots=True, eq=False)
class CountDistribution:
    """Negative binomial counts with these means and variances, all at once; Poisson where no more is known to vary.

    A variance below the mean is raised to it: whole numbers of events that come by chance vary at least as much.
    """

    means: FloatArray
    variances: FloatArray

    def __getitem__(self, where: Any) -> CountDistribution:
        """Return those at an index of the arrays."""
        return CountDistribution(self.means[where], self.variances[where])

    @classmethod
    def joined(cls, parts: Sequence[CountDistribution], axis: int = 0) -> CountDistribution:
        """Return the distributions of all parts, one after another along an axis."""
        means, variances = (
            np.concatenate([getattr(part, name) for part in parts], axis) for name in ("means", "variances")
        )
        return cls(means, variances)

    def quantiles(self, share: float) -> FloatArray:
        """Return the least counts that are not exceeded with probability ``share``."""
        check_share(share=share)
        special = require("scipy.special", extra="forecast")
        sd = np.sqrt(np.maximum(self.variances, self.means))
        high = np.ceil(np.maximum(self.means + (2 + 2 * float(special.ndtri(max(share, 0.5)))) * sd, 1.0))
        while (is_short := self.up_to(high) < share).any() and high.max() <= LARGEST:
            high = np.where(is_short, 2 * high, high)
        if not high.max() <= LARGEST:  # written so that NaN fails too; beyond, halving never ends
            raise SettingError(
                f"a count that is forecast must stay below {LARGEST:,.0f}. Check the series, and fit again."
            )
        low = np.full(high.shape, -1.0)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            is_enough = self.up_to(middle) >= share
            low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
        return np.asarray(high, np.float64)

    def intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits that hold the count with at least the probability ``level``, as much on either side."""
        check_share(level=level)
        return self.quantiles((1 - level) / 2), self.quantiles((1 + level) / 2)

    def below(self, counts: FloatArray) -> FloatArray:
        """Return the probability of less than each count."""
        return self.up_to(np.asarray(counts, np.float64) - 1)

    def up_to(self, counts: FloatArray) -> FloatArray:
        """Return the probability of at most each count."""
        special = require("scipy.special", extra="forecast")
        means = np.maximum(self.means, _LEAST_MEAN)
        extra = np.maximum(self.variances - means, _LEAST_EXTRA * means)
        sizes = np.square(means) / extra
        whole = np.floor(np.asarray(counts, np.float64))
        shares = special.betainc(sizes, np.maximum(whole, 0.0) + 1, sizes / (sizes + means))
        return np.where(whole < 0, 0.0, shares)

    def coverage(self, counts: FloatArray, level: float) -> FloatArray:
        """Return the probability with which a randomized interval of just this ``level`` covers each count.

        Counts are whole numbers, so no interval has just the level; one whose ends are tossed for has. Averaged over
        counts that follow the distribution it is the level itself.
        """
        low, high = self.below(counts), self.up_to(counts)
        left, right = (1 - level) / 2, (1 + level) / 2
        inside = np.clip(np.minimum(high, right) - np.maximum(low, left), 0.0, None)
        return np.asarray(np.divide(inside, high - low, out=np.zeros(low.shape), where=high > low), np.float64)
