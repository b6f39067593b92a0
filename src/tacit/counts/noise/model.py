"""What a noise model is, and how arrays over a domain become public bins and private cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray


class Noise(Protocol):
    """The law of (estimate - truth), given the truth.

    Mathematical contract: the error of the question ``sum(weights * values)`` has mean 0 and variance
    ``variance(weights)``; ``interval`` covers the true answer with probability at least about ``level``.
    """

    def variance(self, weights: FloatArray) -> float:
        """The variance of the answer to a linear question."""

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        """Limits for the true answer, given the estimated one."""

    def standard_errors(self) -> FloatArray:
        """The standard error of every cell."""

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for every cell."""

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        """The noise of sums of cells."""

    def image_errors(self, image: Grouping) -> FloatArray:
        """The standard errors of sums of our cells, all at once."""

    def image_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for sums of our cells, all at once."""

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which fine time bins and places are added into which coarse ones, and the shape of the coarse domain."""

    time_groups: IntArray
    place_groups: IntArray
    shape: tuple[int, int]

    def fine(self, weights: FloatArray) -> FloatArray:
        """A question about sums as a question about the cells they add up."""
        return np.asarray(weights)[self.time_groups][:, self.place_groups]

    def questions(self) -> Iterator[tuple[tuple[int, int], FloatArray]]:
        """Every sum: its place in the coarse domain, and its weights on the fine cells."""
        for time in range(self.shape[0]):
            for place in range(self.shape[1]):
                weights = np.outer(self.time_groups == time, self.place_groups == place)
                yield (time, place), weights.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Orientation:
    """Which axes of time x place are private: how an array over the domain becomes public bins x private cells."""

    private: tuple[str, ...]
    shape: tuple[int, int]

    @classmethod
    def of_file(cls, private: tuple[str, ...], shape: tuple[int, int]) -> Orientation:
        """The same of values from a file; other words than a plan's are refused."""
        if private not in (("place",), ("time",), ("time", "place")):
            raise ValueError("private")
        return cls(private, shape)

    @property
    def n_rows(self) -> int:
        """The number of public bins."""
        if self.private == ("time", "place"):
            return 1
        return self.shape[1] if self.private == ("time",) else self.shape[0]

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        """An array over the domain as (public bins, private cells)."""
        if self.private == ("time", "place"):
            return cells.reshape(1, -1)
        return cells.T if self.private == ("time",) else cells

    def cells(self, rows: NDArray[Any]) -> NDArray[Any]:
        """(public bins, private cells) as an array over the domain."""
        if self.private == ("time", "place"):
            return rows.reshape(self.shape)
        return rows.T if self.private == ("time",) else rows

    def groups(self, time: IntArray, place: IntArray, shape: tuple[int, int]) -> tuple[IntArray, IntArray]:
        """Groups along time and place as groups of public bins and of private cells."""
        if self.private == ("time", "place"):
            return np.zeros(1, np.int64), (time[:, None] * shape[1] + place[None, :]).ravel()
        return (place, time) if self.private == ("time",) else (time, place)
