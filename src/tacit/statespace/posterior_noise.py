"""What the noise models of smoothed and filtered counts share: intervals from the moments of a posterior."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_share
from tacit.counts.noise.model import LinearMap, Noise
from tacit.counts.noise.quantiles import limits_of, within
from tacit.domain import Grouping, sum_groups
from tacit.errors import SettingError
from tacit.statespace.settings import SETTINGS


@dataclass(frozen=True, slots=True)
class Moments:
    """Posterior moments of answers: variances by way of shares and of counts around them, and joint cumulants.

    ``chance`` is the variance of the realized counts around the expected ones, ``excess`` the part that is more than
    that of a Poisson count.
    """

    of_shares: FloatArray
    of_counts: FloatArray
    third: FloatArray
    fourth: FloatArray
    chance: FloatArray
    excess: FloatArray

    @property
    def variances(self) -> FloatArray:
        return self.of_shares + self.of_counts

    def given(self, centre: FloatArray) -> FloatArray:
        """Return the variances once answers are known: in those of chance expected counts become what was found."""
        found = np.maximum(centre, 0.0) + self.excess
        ratios = np.divide(found, self.chance, out=np.ones_like(found), where=self.chance > 0)
        return np.asarray(self.of_shares + self.of_counts * np.clip(ratios, *SETTINGS.chance_ratios), np.float64)

    def limits(self, centre: FloatArray, level: float, *, is_whole: bool = True) -> tuple[FloatArray, FloatArray]:
        return limits_of(centre, self.given(centre), self.third, self.fourth, level, is_whole=is_whole)


class PosteriorNoise(Noise):
    """The posterior of counts given a time-series model. A model of it says the moments of questions.

    ``offsets`` are what values were moved by to be shown (negative ones to 0, say): intervals are those of the values
    before. Limits are those of a whole number spread over its unit (:mod:`tacit.counts.noise.quantiles`); intervals are
    cut to what counts can be, and end at whole numbers of which a part is covered.
    """

    offsets: FloatArray | None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @property
    @abstractmethod
    def totals(self) -> FloatArray | None:
        """The public totals that counts add up to, for each time; None where there are none."""

    @abstractmethod
    def moments(self, weights: FloatArray) -> Moments:
        """Return the moments of one question of our shape."""

    @abstractmethod
    def group_moments(self, grouping: Grouping) -> Moments:
        """Return the moments of sums of cells."""

    @cached_property
    def cell_moments(self) -> Moments:
        n_times, n_places = self.shape
        return self.group_moments(Grouping.of_columns(np.arange(n_times), np.arange(n_places), self.shape))

    def variance(self, weights: FloatArray) -> float:
        return float(self._asked_moments(weights).variances)

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        centre = np.array(value if self.offsets is None else value - float((asked * self.offsets).sum()))
        is_whole = bool((asked % 1 == 0).all())
        lower, upper = self._asked_moments(asked).limits(centre, level, is_whole=is_whole)
        if asked.min() < 0:
            return float(lower), float(upper)
        largest = math.inf if self.totals is None else float((asked.max(axis=1) * self.totals).sum())
        lower, upper = within(lower, upper, largest, is_whole=is_whole)
        return float(lower), float(upper)

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self.cell_moments.variances)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        return within(*self.limits(values, level), np.inf if self.totals is None else self.totals[:, None])

    def limits(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits for every cell, not yet cut to what counts can be."""
        check_share(level=level)
        return self.cell_moments.limits(values if self.offsets is None else values - self.offsets, level)

    def coarsen(self, grouping: Grouping) -> Noise:
        return LinearMap(self, grouping)

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        return np.sqrt(self.group_moments(grouping).variances)

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        largest: FloatArray | float = np.inf
        if self.totals is not None:
            largest = sum_groups(self.totals, grouping.time, n_groups=grouping.shape[0])[:, None]
        return within(*self.sum_limits(values, grouping, level), largest)

    def sum_limits(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits for sums of cells, not yet cut to what counts can be."""
        check_share(level=level)
        centre = values if self.offsets is None else values - grouping.sums(self.offsets)
        return self.group_moments(grouping).limits(centre, level)

    def _asked_moments(self, weights: FloatArray) -> Moments:
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        if not self._last or not np.array_equal(self._last[0][0], asked):
            self._last[:] = [(asked.copy(), self.moments(asked))]
        return self._last[0][1]

    @cached_property
    def _last(self) -> list[tuple[FloatArray, Moments]]:
        """The last question and its moments: its variance and its interval are asked for one after another."""
        return []
