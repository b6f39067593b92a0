"""The past of a series as a forecaster works on it: a column for each place, and one for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.extras import require
from tacit.counts.series import Series
from tacit.domain import TimeAxis
from tacit.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Unbiased counts and the variance of their noise: bins x (places and, last, all together).

    Bins that are missing or counted in part are not ``counted``. ``units`` is the variance of the noise as it would be
    in a bin of average size: noise may grow with the count, and weights that did so too would favour quiet days.
    """

    series: Series
    values: FloatArray
    variances: FloatArray
    units: FloatArray
    counted: BoolArray

    @classmethod
    def of(cls, series: Series, shares: FloatArray | None = None) -> History:
        """Read a series; ``shares`` of the places settle its noise, those of the series itself without any."""
        shares = long_run_shares(series) if shares is None else shares
        variances = series.measured.errors(np.broadcast_to(shares, series.values.shape))
        exposures = series.measured.exposures
        is_part = np.array([series.domain.time.is_partial(bin) for bin in (0, len(series) - 1)])
        counted = ~series.missing
        counted[[0, -1]] &= ~is_part
        all_variances = np.column_stack([variances, series.total_variances])
        average = exposures[counted].mean() if counted.any() else 1.0
        scale = np.divide(average, exposures, out=np.ones(len(exposures)), where=exposures > 0)
        values = np.column_stack([series.values, series.totals])
        return cls(series, values, all_variances, all_variances * scale[:, None], counted)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def time(self) -> TimeAxis:
        return self.series.domain.time

    def since_counted(self, origins: IntArray) -> IntArray:
        """How many bins just before each origin were not counted."""
        last = np.maximum.accumulate(np.where(self.counted, np.arange(len(self)), -1))
        return np.asarray(origins - 1 - np.concatenate([[-1], last])[origins], np.int64)

    def check_long_enough(self, n_bins: int, *, forecaster: str) -> None:
        """Refuse a series with fewer than ``n_bins`` bins counted."""
        if (n_counted := int(self.counted.sum())) < n_bins:
            raise DataError(
                f"{forecaster} needs a series of at least {n_bins} bins that were counted; got {n_counted}, each a "
                f"{self.time.step}. Wait for more, or count by a finer step."
            )

    @property
    def floor(self) -> FloatArray:
        """The least rate a place is taken to have: half an event in all that was counted."""
        return np.full(self.values.shape[1], 0.5 / max(int(self.counted.sum()), 1))

    def levels(self, first: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """The mean of each column over these bins, positive whatever the noise, and the variance of its noise."""
        counted = self.counted[first:stop]
        n_counted = max(int(counted.sum()), 1)
        means = self.values[first:stop][counted].sum(axis=0) / n_counted
        errors = self.variances[first:stop][counted].sum(axis=0) / n_counted**2
        return np.asarray(np.maximum(positive_means(means, errors), self.floor), np.float64), errors


def positive_means(means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the posterior means of numbers that cannot be negative, from estimates with normal errors.

    It is the mean of the normal distribution truncated at 0: an estimate well above stays as it is, one below 0 becomes
    small, not none.

    >>> positive_means(np.array([8.0, -1.0, -1.0]), np.array([1.0, 1.0, 0.0])).round(3)
    array([8.   , 0.525, 0.   ])
    """
    special = require("scipy.special", extra="forecast")
    errors = np.sqrt(variances)
    at = np.divide(means, errors, out=np.zeros(np.shape(means)), where=errors > 0)
    at = np.clip(at, -30.0, 30.0)
    ratio = np.exp(-np.square(at) / 2 - special.log_ndtr(at)) / np.sqrt(2 * np.pi)
    return np.asarray(np.where(errors > 0, np.maximum(means + errors * ratio, 0.0), np.maximum(means, 0.0)), np.float64)


def long_run_shares(series: Series) -> FloatArray:
    """The share of each place in all exposures, never below 0."""
    total = max(float(series.measured.exposures.sum()), 1.0)
    return np.asarray(np.maximum(series.values.sum(axis=0) / total, 0.0), np.float64)
