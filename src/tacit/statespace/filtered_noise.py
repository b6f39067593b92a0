r"""The noise of filtered counts: each time bin as it stood on its day, nothing revised.

The error of a count is that of :mod:`tacit.statespace.smoothed_noise`, with the error of the share as it was then
known. Errors of shares at different times hang together, because they learn from the same days; how is not kept. So
sums over time are given the largest variance they can have: deviations of shares add up, those of days are independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import numbers, truth
from tacit._base.packing import pack_array
from tacit._base.validation import check_share
from tacit.counts.noise.linear_map import LinearMap
from tacit.counts.noise.model import Grouping, Noise
from tacit.counts.noise.quantiles import limits_of, within
from tacit.domain import sum_groups
from tacit.errors import SettingError

_ARRAYS = ("exposures", "gains", "share_variances", "day_variances", "day_skews")


@dataclass(frozen=True, eq=False)
class FilteredNoise(Noise):
    """What was open of each count on its day: exact for questions about one time bin, safe for sums over time.

    ``gains``, ``share_variances``, ``day_variances`` and ``day_skews`` (third cumulants) are times x places. Where
    ``is_shared`` the counts of a time add up to its exposure, what is missing dealt out as much as is open.
    """

    exposures: FloatArray
    gains: FloatArray
    share_variances: FloatArray
    day_variances: FloatArray
    day_skews: FloatArray
    is_shared: bool
    offsets: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gains.shape[0], self.gains.shape[1]

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """How what is missing of each total was dealt out: for shares, and for deviations of days."""
        if not self.is_shared:
            return np.zeros(self.shape), np.zeros(self.shape)
        of_shares, of_days = _parts_of_one(self.share_variances), _parts_of_one(self.day_variances)
        kept = (of_shares * self.gains).sum(axis=1, keepdims=True)
        return of_shares * (1 - self.gains) + of_days * kept, of_days

    def variance(self, weights: FloatArray) -> float:
        return self._moments(weights)[0]

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        variance, third = self._moments(asked)
        if self.offsets is not None:
            value = value - float((asked * self.offsets).sum())
        is_whole = bool((asked % 1 == 0).all())
        lower, upper = limits_of(
            np.array(value), np.array(variance), np.array(third), np.zeros(()), level, is_whole=is_whole
        )
        if asked.min() < 0:
            return float(lower), float(upper)
        largest = float((asked.max(axis=1) * self.exposures).sum()) if self.is_shared else math.inf
        lower, upper = within(lower, upper, largest, is_whole=is_whole)
        return float(lower), float(upper)

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self._cell_moments[0])

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        centre = values if self.offsets is None else values - self.offsets
        variances, third = self._cell_moments
        lower, upper = limits_of(centre, variances, third, np.zeros_like(third), level, is_whole=True)
        largest = self.exposures[:, None] if self.is_shared else np.inf
        return within(lower, upper, largest)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return LinearMap(self, time_groups, place_groups, shape)

    def sum_errors(self, image: Grouping) -> FloatArray:
        return np.sqrt(self._image_moments(image)[0])

    def sum_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        centre, largest = values, np.full((1, 1), np.inf)
        if self.offsets is not None:
            centre = values - _sums(self.offsets, image)
        if self.is_shared:
            largest = sum_groups(self.exposures, image.time_groups, n_groups=image.shape[0])[:, None]
        variances, third = self._image_moments(image)
        lower, upper = limits_of(centre, variances, third, np.zeros_like(third), level, is_whole=True)
        return within(lower, upper, largest)

    def to_dict(self) -> dict[str, Any]:
        arrays = {name: pack_array(getattr(self, name)) for name in _ARRAYS}
        offsets = None if self.offsets is None else pack_array(self.offsets)
        return {"kind": "filtered"} | arrays | {"is_shared": self.is_shared, "offsets": offsets}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FilteredNoise:
        arrays = {name: numbers(content, name) for name in _ARRAYS}
        n_times, n_places = shape = arrays["gains"].shape
        if any(part.shape != ((n_times,) if name == "exposures" else shape) for name, part in arrays.items()):
            raise ValueError("shapes")
        offsets = None if content["offsets"] is None else numbers(content, "offsets", shape=(n_times, n_places))
        return cls(**arrays, is_shared=truth(content, "is_shared"), offsets=offsets)

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """The (largest) variance and the third cumulant of a question."""
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        variances, days, third = self._of_times(asked)
        return float(np.sqrt(variances).sum() ** 2 + days.sum()), float(third.sum())

    def _of_times(self, asked: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """For every time: the variance by way of shares, by way of the day alone, and the latter's third cumulant."""
        k, m = self.weights
        of_shares = asked - (asked * k).sum(axis=1, keepdims=True)
        of_days = asked - (asked * m).sum(axis=1, keepdims=True)
        on_shares = self.exposures[:, None] * (of_shares - self.gains * of_days)
        variances = (np.square(on_shares) * self.share_variances).sum(axis=1)
        days = (np.square(of_days) * self.day_variances).sum(axis=1)
        return variances, days, (of_days**3 * self.day_skews).sum(axis=1)

    @cached_property
    def _cell_moments(self) -> tuple[FloatArray, FloatArray]:
        variances, days, third = self._by_places(np.arange(self.shape[1]), self.shape[1])
        return variances + days, third

    def _by_places(self, places: IntArray, n_places: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        parts = [self._of_times(np.broadcast_to(places == group, self.shape) * 1.0) for group in range(n_places)]
        variances, days, third = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
        return variances, days, third

    def _image_moments(self, image: Grouping) -> tuple[FloatArray, FloatArray]:
        variances, days, third = self._by_places(image.place_groups, image.shape[1])
        times, n_times = image.time_groups, image.shape[0]
        of_shares = np.square(sum_groups(np.sqrt(variances), times, n_groups=n_times))
        return of_shares + sum_groups(days, times, n_groups=n_times), sum_groups(third, times, n_groups=n_times)


def _parts_of_one(variances: FloatArray) -> FloatArray:
    total = variances.sum(axis=1, keepdims=True)
    even = np.full(variances.shape, 1 / variances.shape[1])
    return np.asarray(np.divide(variances, total, out=even, where=total > 0), np.float64)


def _sums(cells: FloatArray, image: Grouping) -> FloatArray:
    by_time = sum_groups(cells, image.time_groups, n_groups=image.shape[0])
    sums: FloatArray = sum_groups(by_time, image.place_groups, n_groups=image.shape[1], axis=1)
    return sums
