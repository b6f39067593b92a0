"""The two passes over a tree, before any number is seen: what is summed, gained and shared at every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.domain.hierarchy import Hierarchy

_Number = TypeVar("_Number", np.int64, np.float64)

_WIDEST = 4  # a table of siblings, side by side, may have this many places for each


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """Lists by level, root first: variances s from below, gains k (of all levels but the last) and shares s_c / S."""

    hierarchy: Hierarchy
    children: list[tuple[IntArray, int | IntArray]]
    from_below: list[FloatArray]
    gains: list[FloatArray]
    shares: list[FloatArray]

    @classmethod
    def over(cls, hierarchy: Hierarchy, level_variances: Sequence[float]) -> Passes:
        """Make them for a tree whose levels were measured with these variances."""
        children: list[tuple[IntArray, int | IntArray]] = []
        for level in range(hierarchy.height):
            starts = hierarchy.first_children(level)
            numbers = np.diff(starts)
            is_equal = bool((numbers == numbers[0]).all())
            children.append((starts[:-1], int(numbers[0]) if is_equal else numbers))
        passes = cls(hierarchy, children, [np.full(hierarchy.n_leaves, float(level_variances[-1]))], [], [])
        for level in range(hierarchy.height - 1, -1, -1):
            below = passes.from_below[0]
            sums = passes.sum_children(level, below)
            # where all children are known exactly nothing is left to share, and a measurement adds nothing
            passes.shares.insert(0, below * passes.spread(level, inverse(sums)))
            known = sums + level_variances[level]
            gains = np.divide(sums, known, out=np.zeros_like(sums), where=known > 0)
            passes.gains.insert(0, gains)
            passes.from_below.insert(0, sums * (1 - gains))
        passes.shares.insert(0, np.ones(1))
        return passes

    def sum_children(self, level: int, below: FloatArray) -> FloatArray:
        """For every node of a level, the sum over its children."""
        starts, numbers = self.children[level]
        if isinstance(numbers, int):
            total: FloatArray = below.reshape(-1, numbers, *below.shape[1:]).sum(axis=1)
            return total
        return np.add.reduceat(below, starts, axis=0)

    def sum_before(self, level: int, below: FloatArray) -> FloatArray:
        """For every node below a level, the sum over its siblings before it."""
        starts, numbers = self.children[level]
        most = numbers if isinstance(numbers, int) else int(numbers.max())
        if most * starts.size > _WIDEST * below.size:
            # extended precision, so that differences of running sums over a million leaves keep their digits
            running = np.concatenate([[0], np.cumsum(below, dtype=np.longdouble)])[:-1]
            return np.asarray(running - np.repeat(running[starts], numbers), np.float64)
        filled = slice(None) if isinstance(numbers, int) else np.arange(most) < numbers[:, None]
        siblings = np.zeros((starts.size, most))
        siblings[filled] = below.reshape(-1, most) if isinstance(numbers, int) else below
        before = np.zeros_like(siblings)
        np.cumsum(siblings[:, :-1], axis=1, out=before[:, 1:])
        return before[filled].ravel()

    def spread(self, level: int, above: NDArray[_Number]) -> NDArray[_Number]:
        """The number of a node of a level, at every one of its children."""
        return np.repeat(above, self.children[level][1], axis=0)


def inverse(numbers: FloatArray) -> FloatArray:
    """1 over each number; 0 where it is 0."""
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0)
