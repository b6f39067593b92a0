"""The noise of sums of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import shape_of, whole_numbers
from tacit._base.packing import pack_array
from tacit._base.validation import check_share
from tacit.counts.noise.model import Grouping, Noise
from tacit.counts.oracle_distributions import SupportDistribution


@dataclass(frozen=True, eq=False)
class LinearMap(Noise):
    """The noise of sums of another estimate's cells, whatever noise that has: fine time bins and places in groups."""

    base: Noise
    time_groups: IntArray
    place_groups: IntArray
    shape: tuple[int, int]

    @property
    def grouping(self) -> Grouping:
        return Grouping(self.time_groups, self.place_groups, self.shape)

    def variance(self, weights: FloatArray) -> float:
        return self.base.variance(self.grouping.fine(weights))

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        return self.base.interval(value, self.grouping.fine(weights), level)

    def standard_errors(self) -> FloatArray:
        return self.base.sum_errors(self.grouping)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return self.base.sum_intervals(values, self.grouping, level)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        composed = self._composed(Grouping(time_groups, place_groups, shape))
        return LinearMap(self.base, composed.time_groups, composed.place_groups, composed.shape)

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        return self.base.sum_errors(self._composed(grouping))

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        return self.base.sum_intervals(values, self._composed(grouping), level)

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
        return {
            "kind": "linear image",
            "base": self.base.to_dict(),
            "time_groups": pack_array(self.time_groups),
            "place_groups": pack_array(self.place_groups),
            "shape": list(self.shape),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Noise]) -> LinearMap:
        """Read it back; ``read`` reads the noise of the fine cells, whichever it is."""
        base, shape = read(content["base"]), shape_of(content)
        fine = getattr(base, "shape", None)
        groups = [
            whole_numbers(content, name, shape=None if fine is None else (fine[axis],))
            for axis, name in enumerate(("time_groups", "place_groups"))
        ]
        for group, n_groups in zip(groups, shape, strict=True):
            if group.ndim != 1 or group.max(initial=-1) >= n_groups:
                raise ValueError("groups")
        return cls(base, groups[0], groups[1], shape)

    def _composed(self, grouping: Grouping) -> Grouping:
        """The groups of our sums as groups of the fine cells."""
        return Grouping(
            grouping.time_groups[self.time_groups], grouping.place_groups[self.place_groups], grouping.shape
        )


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
