r"""The noise of filtered counts: each time bin as it stood at its end, nothing revised.

The error of a count is that of :mod:`tacit.statespace.smoothed_noise`, with the error of the share as it was then
known. Errors of shares at different times are correlated, because they learn from the same bins; how is not kept. So
sums over time are given the largest variance they can have: standard deviations of shares add up, while counts around
them are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.fields import numbers, pack_array, truth
from tacit.domain import Grouping, sum_groups
from tacit.statespace.posterior_noise import Moments, PosteriorNoise

_KEYS = {
    "exposures": "exposures",
    "gains": "gains",
    "share_variances": "share_variance",
    "day_variances": "count_variance",
    "day_skews": "count_skew",
}
"""The names of arrays in files, and here."""


@dataclass(frozen=True, eq=False)
class FilteredNoise(PosteriorNoise):
    """The posterior of each count at its time: exact for questions about one time bin, safe for sums over time.

    ``gains``, ``share_variance``, ``count_variance`` and ``count_skew`` (third cumulants) are times x places. Where
    ``is_shared`` the counts of a time add up to its exposure; what is missing goes to places by posterior variances.
    """

    exposures: FloatArray
    gains: FloatArray
    share_variance: FloatArray
    count_variance: FloatArray
    count_skew: FloatArray
    is_shared: bool
    offsets: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gains.shape[0], self.gains.shape[1]

    @property
    def totals(self) -> FloatArray | None:
        return self.exposures if self.is_shared else None

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """The weights by which the rest of each total was disaggregated: for shares, and for counts around them."""
        if not self.is_shared:
            return np.zeros(self.shape), np.zeros(self.shape)
        of_shares, of_counts = _parts_of_one(self.share_variance), _parts_of_one(self.count_variance)
        kept = (of_shares * self.gains).sum(axis=1, keepdims=True)
        return of_shares * (1 - self.gains) + of_counts * kept, of_counts

    def to_dict(self) -> dict[str, Any]:
        arrays = {key: pack_array(getattr(self, name)) for key, name in _KEYS.items()}
        offsets = None if self.offsets is None else pack_array(self.offsets)
        return {"kind": "filtered"} | arrays | {"is_shared": self.is_shared, "offsets": offsets}

    def _browser_moments(self) -> dict[str, Any]:
        return self.to_dict() | {"offsets": None, "weights": [pack_array(part) for part in self.weights]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FilteredNoise:
        arrays = {name: numbers(content, key) for key, name in _KEYS.items()}
        n_times, n_places = shape = arrays["gains"].shape
        if any(part.shape != ((n_times,) if name == "exposures" else shape) for name, part in arrays.items()):
            raise ValueError("shapes")
        offsets = None if content["offsets"] is None else numbers(content, "offsets", shape=(n_times, n_places))
        return cls(**arrays, is_shared=truth(content, "is_shared"), offsets=offsets)

    def moments(self, weights: FloatArray) -> Moments:
        variances, of_counts, third = self._of_times(weights)
        return _moments(np.square(np.sqrt(variances).sum()), of_counts.sum(), third.sum())

    def group_moments(self, grouping: Grouping) -> Moments:
        places, times, n_times = grouping.columns, grouping.time, grouping.shape[0]
        found = [
            self._of_times(np.broadcast_to(places == group, self.shape) * 1.0) for group in range(grouping.shape[1])
        ]
        variances, of_counts, third = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        sums = [sum_groups(part, times, n_groups=n_times) for part in (np.sqrt(variances), of_counts, third)]
        return _moments(np.square(sums[0]), sums[1], sums[2])

    def _of_times(self, asked: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the variance of every time by way of shares, that of counts around them, and their third cumulant."""
        k, m = self.weights
        of_shares = asked - (asked * k).sum(axis=1, keepdims=True)
        of_counts = asked - (asked * m).sum(axis=1, keepdims=True)
        on_shares = self.exposures[:, None] * (of_shares - self.gains * of_counts)
        variances = (np.square(on_shares) * self.share_variance).sum(axis=1)
        counts = (np.square(of_counts) * self.count_variance).sum(axis=1)
        return variances, counts, (of_counts**3 * self.count_skew).sum(axis=1)


def _moments(of_shares: FloatArray, of_counts: FloatArray, third: FloatArray) -> Moments:
    none = np.zeros_like(third)
    return Moments(of_shares, of_counts, third, none, none, none)


def _parts_of_one(variances: FloatArray) -> FloatArray:
    total = variances.sum(axis=1, keepdims=True)
    even = np.full(variances.shape, 1 / variances.shape[1])
    return np.asarray(np.divide(variances, total, out=even, where=total > 0), np.float64)
