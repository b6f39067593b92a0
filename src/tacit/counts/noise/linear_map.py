"""The noise of sums of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.validation import check_share
from tacit.counts.noise.model import Noise
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.domain import Grouping


@dataclass(frozen=True, eq=False)
class LinearMap(Noise):
    """The noise of sums of another estimate's cells, whatever noise that has: fine time bins and places in groups."""

    base: Noise
    grouping: Grouping

    @property
    def shape(self) -> tuple[int, int]:
        return self.grouping.shape

    def variance(self, weights: FloatArray) -> float:
        return self.base.variance(self.grouping.fine(weights))

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        return self.base.interval(value, self.grouping.fine(weights), level)

    def standard_errors(self) -> FloatArray:
        return self.base.sum_errors(self.grouping)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return self.base.sum_intervals(values, self.grouping, level)

    def coarsen(self, grouping: Grouping) -> Noise:
        return LinearMap(self.base, self.grouping.then(grouping))

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        return self.base.sum_errors(self.grouping.then(grouping))

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        return self.base.sum_intervals(values, self.grouping.then(grouping), level)

    @property
    def is_stated(self) -> bool:
        return self.base.is_stated

    @property
    def is_continual(self) -> bool:
        return self.base.is_continual

    def forget(self, cells: BoolArray) -> Noise:
        return replace(self, base=self.base.forget(self.grouping.fine(cells.astype(np.float64)) > 0))

    def scaled(self, budget: Fraction) -> Noise | None:
        base = self.base.scaled(budget)
        return None if base is None else replace(self, base=base)

    def through(self, oracle: Callable[[int], SupportDistribution]) -> Noise | None:
        base = self.base.through(oracle)
        return None if base is None else replace(self, base=base)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "linear image", "base": self.base.to_dict(), **self.grouping.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Noise]) -> LinearMap:
        """Read it back; ``read`` reads the noise of the fine cells, whichever it is."""
        base = read(content["base"])
        return cls(base, Grouping.from_dict(content, fine=getattr(base, "shape", None)))


def errors_of_questions(base: Noise, grouping: Grouping) -> FloatArray:
    """The standard errors of sums, each asked as a question of its own: for noise that knows no faster way."""
    errors = np.empty(grouping.shape)
    for where, weights in grouping.questions():
        errors[where] = math.sqrt(base.variance(weights))
    return errors


def intervals_of_questions(
    base: Noise, values: FloatArray, grouping: Grouping, level: float
) -> tuple[FloatArray, FloatArray]:
    """The limits of sums, each asked as a question of its own: for noise that knows no faster way."""
    lower, upper = np.empty(grouping.shape), np.empty(grouping.shape)
    for where, weights in grouping.questions():
        lower[where], upper[where] = base.interval(float(values[where]), weights, level)
    return lower, upper
