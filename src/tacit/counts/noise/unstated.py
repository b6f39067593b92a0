"""No noise stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import text
from tacit.counts.noise.model import Grouping, Noise
from tacit.errors import NoInterval


@dataclass(frozen=True)
class Unstated(Noise):
    """No honest error can be stated, because a biased step was taken; ``reason`` says which."""

    reason: str

    def variance(self, weights: FloatArray) -> float:
        raise self._refusal()

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        raise self._refusal()

    def standard_errors(self) -> FloatArray:
        raise self._refusal()

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        raise self._refusal()

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return self

    def image_errors(self, image: Grouping) -> FloatArray:
        raise self._refusal()

    def image_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        raise self._refusal()

    @property
    def is_stated(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "unstated", "reason": self.reason}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Unstated:
        return cls(text(content, "reason"))

    def _refusal(self) -> NoInterval:
        return NoInterval(f"{self.reason}. Ask the unbiased values, which carry an interval.")
