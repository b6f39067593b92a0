"""Several structures of one kind over the same days, and the sum of the fewest nodes that make up a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Structures:
    """The published nodes of several structures: for each level, root first, a row for each structure.

    A flat structure has one level, the days. ``true_epsilon`` is what one visit's privacy really is.
    """

    levels: tuple[Floats, ...]
    degree: int
    n_days: int
    true_epsilon: float
    stretches_the_last_day: bool = False

    def answers(self, first: Integers, stop: Integers) -> Floats:
        """The answer of every structure (row) to ranges of days, each from ``first`` up to but not including ``stop``.

        One row of ranges is asked of all structures, several rows of one structure each.
        """
        n_structures = len(self.levels[0])
        shape = np.broadcast_shapes(np.shape(first), (n_structures, 1))
        low, high = np.broadcast_to(first, shape), np.broadcast_to(stop, shape)
        if self.stretches_the_last_day:
            high = np.where(high == self.n_days, self.levels[-1].shape[1], high)
        total = np.zeros(shape)
        for depth in reversed(range(len(self.levels))):
            sums = np.pad(np.cumsum(self.levels[depth], axis=1), ((0, 0), (1, 0)))

            def between(a: Integers, b: Integers, sums: Floats = sums) -> Floats:
                return np.take_along_axis(sums, b, axis=1) - np.take_along_axis(sums, a, axis=1)

            above_low, above_high = -(-low // self.degree), high // self.degree
            goes_up = (above_low < above_high) & (depth > 0)
            edges = between(low, above_low.clip(max=above_high) * self.degree) + between(above_high * self.degree, high)
            total += np.where(goes_up, edges, between(low, high))
            low, high = np.where(goes_up, above_low, 0), np.where(goes_up, above_high, 0)
        return total


def height_of(n_days: int, degree: int) -> int:
    """The number of levels below the root."""
    height = 0
    while degree**height < n_days:
        height += 1
    return height


def nodes_of(counts: NDArray[np.integer], degree: int) -> list[NDArray[np.int64]]:
    """The true counts of all nodes, root first, for the days of the last axis; days beyond the last are empty."""
    *rows, n_days = counts.shape
    height = height_of(n_days, degree)
    leaves = np.zeros((*rows, degree**height), np.int64)
    leaves[..., :n_days] = counts
    return [leaves.reshape(*rows, degree**depth, -1).sum(axis=-1) for depth in range(height + 1)]
