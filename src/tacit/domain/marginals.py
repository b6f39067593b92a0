"""The tables of a product of axes: its joint cells, and their sums over all axes but some.

Tables are levels as those of a :class:`~tacit.domain.hierarchy.Hierarchy` are: nodes over the same leaves, which are
the joint cells. They do not nest: the counts by place and by kind cut the joint cells up in two ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit.errors import SettingError

Axes = tuple[int, ...]
"""The axes that a table has, ascending; none for the total."""


def subsets(n_axes: int) -> tuple[Axes, ...]:
    """Return all sets of axes, small ones first.

    >>> subsets(2)
    ((), (0,), (1,), (0, 1))
    """
    return tuple(axes for n in range(n_axes + 1) for axes in combinations(range(n_axes), n))


@dataclass(frozen=True, slots=True)
class Marginals:
    """Tables over axes of these sizes: level 0 is the total, then come ``tables``, the joint one last.

    A leaf is a joint cell, the last axis running fastest.

    >>> tables = Marginals((3, 2), ((0,), (0, 1)))
    >>> tables.level_sizes, tables.nodes_of(np.arange(6), 1).tolist()
    ((1, 3, 6), [0, 0, 1, 1, 2, 2])
    """

    sizes: tuple[int, ...]
    tables: tuple[Axes, ...]

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise SettingError(f"sizes must be at least 1; got sizes={self.sizes}.")
        order = [axes for axes in subsets(len(self.sizes)) if axes and axes in self.tables]
        if tuple(order) != self.tables or not order or len(order[-1]) < len(self.sizes):
            raise SettingError(
                "tables must be sets of axes, small ones first and the joint table last, each once; "
                f"got tables={self.tables}."
            )

    @classmethod
    def every(cls, sizes: tuple[int, ...]) -> Marginals:
        """Return all tables there are."""
        return cls(sizes, subsets(len(sizes))[1:])

    @property
    def levels(self) -> tuple[Axes, ...]:
        """The axes of every level, the total first."""
        return ((), *self.tables)

    @property
    def n_leaves(self) -> int:
        return prod(self.sizes)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of cells of every level."""
        return tuple(self.n_cells(axes) for axes in self.levels)

    @property
    def n_nodes(self) -> int:
        return sum(self.level_sizes)

    def n_cells(self, axes: Axes) -> int:
        """Return the number of cells of a table of these axes."""
        return prod(self.sizes[axis] for axis in axes)

    def level_slice(self, level: int) -> slice:
        """Return the part of all nodes that a level is."""
        first = sum(self.level_sizes[:level])
        return slice(first, first + self.level_sizes[level])

    def nodes_of(self, leaves: NDArray[np.integer], level: int) -> IntArray:
        """Return the cell of a level's table that each leaf is in."""
        nodes = np.zeros(len(leaves), np.int64)
        for axis in self.levels[level]:
            behind = prod(self.sizes[axis + 1 :])
            nodes = nodes * self.sizes[axis] + np.asarray(leaves, np.int64) // behind % self.sizes[axis]
        return nodes

    def leaf_counts(self, level: int) -> IntArray:
        """Return the number of leaves in every cell of a level."""
        n_cells = self.level_sizes[level]
        return np.full(n_cells, self.n_leaves // n_cells, np.int64)

    def spread(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for every leaf, the value of the cell of a level that it is in."""
        shape = [size if axis in self.levels[level] else 1 for axis, size in enumerate(self.sizes)]
        return np.broadcast_to(values.reshape(shape), self.sizes).reshape(-1)

    def sum_leaves(self, leaves: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of all nodes (rows), of leaves (rows) in any number of columns."""
        grid = leaves.reshape(*self.sizes, -1)
        gone = ([axis for axis in range(len(self.sizes)) if axis not in axes] for axes in self.levels)
        return np.concatenate([grid.sum(axis=tuple(axes)).reshape(-1, grid.shape[-1]) for axes in gone])
