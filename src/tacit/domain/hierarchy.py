"""A tree over an ordered domain: leaves in larger and larger nodes, up to a root that holds them all.

A level is a list of boundaries: its node i holds the leaves from ``boundaries[i]`` up to but not including
``boundaries[i + 1]``. Each level refines the one above it. Nothing asks for equal fan-outs: months have 28 to 31 days,
and the last node of a tree of degree 4 over ten leaves has two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_at_least
from tacit.domain.place import PlaceAxis
from tacit.domain.time import TimeAxis
from tacit.errors import FormatError, SettingError

Node = tuple[int, int]
"""A level and the index of a node in it."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Levels of nodes over the leaves 0 .. n_leaves - 1: level 0 is the root, the last level is the leaves.

    A node is a pair (level, index), or one number that counts the nodes from the root down, level by level.

    >>> tree = Hierarchy.of_degree(10, 4)
    >>> tree.boundaries[:2], tree.level_sizes
    (((0, 10), (0, 4, 8, 10)), (1, 3, 10))
    >>> tree.decompose(2, 9)
    [(2, 2), (2, 3), (1, 1), (2, 8)]
    """

    boundaries: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.boundaries or len(self.boundaries[0]) != 2 or self.boundaries[0][0] != 0:
            raise SettingError(
                "boundaries must start with the root, one node from 0 to the number of leaves. "
                "Make the tree with of_degree, of_fan_outs, of_time or of_places."
            )
        check_at_least(1, n_leaves=self.n_leaves)
        if len(self.boundaries[-1]) != self.n_leaves + 1:
            raise SettingError("boundaries must end with the leaves, one node each. Add a last level of single leaves.")
        for level, (above, below) in enumerate(pairwise(self.boundaries), 1):
            if not all(left < right for left, right in pairwise(below)):
                raise SettingError(f"boundaries of level {level} must increase. Sort them and drop empty nodes.")
            if len(below) <= len(above) or not set(above) <= set(below) or (below[0], below[-1]) != self.boundaries[0]:
                raise SettingError(
                    f"every level must cut up the one above it; level {level} does not. "
                    "Weeks do not nest in months: leave one of them out."
                )

    @classmethod
    def of_levels(cls, levels: Sequence[Sequence[int]], n_leaves: int) -> Hierarchy:
        """Make a tree from the boundaries of its inner levels, coarsest first; root and leaves are added.

        A level that equals the one above it is left out: it would be asked the same question twice.
        """
        check_at_least(1, n_leaves=n_leaves)
        kept: list[tuple[int, ...]] = [(0, n_leaves)]
        for level in (*levels, range(n_leaves + 1)):
            boundaries = tuple(int(boundary) for boundary in level)
            if boundaries != kept[-1]:
                kept.append(boundaries)
        return cls(tuple(kept))

    @classmethod
    def of_fan_outs(cls, fan_outs: Sequence[int], n_leaves: int | None = None) -> Hierarchy:
        """Make a tree from the fan-outs of its levels, root first; the last nodes are cut short at ``n_leaves``.

        >>> Hierarchy.of_fan_outs([3, 4]).level_sizes, Hierarchy.of_fan_outs([3, 4], 9).level_sizes
        ((1, 3, 12), (1, 3, 9))
        """
        for fan_out in fan_outs:
            check_at_least(2, fan_out=fan_out)
        most = prod(fan_outs)
        n_leaves = most if n_leaves is None else n_leaves
        check_at_least(1, n_leaves=n_leaves)
        if n_leaves > most:
            raise SettingError(
                f"n_leaves must be at most the product of the fan-outs, {most}; got n_leaves={n_leaves}. "
                "Add a level or widen one."
            )
        sizes = [prod(fan_outs[level:]) for level in range(1, len(fan_outs))]
        return cls.of_levels([(*range(0, n_leaves, size), n_leaves) for size in sizes], n_leaves)

    @classmethod
    def of_degree(cls, n_leaves: int, degree: int) -> Hierarchy:
        """Make the complete tree of one degree B: level by level, nodes of B**j leaves, the last ones cut short.

        >>> [len(level) - 1 for level in Hierarchy.of_degree(2006, 2).boundaries]
        [1, 2, 4, 8, 16, 32, 63, 126, 251, 502, 1003, 2006]
        """
        check_at_least(1, n_leaves=n_leaves)
        check_at_least(2, degree=degree)
        height = 0
        while degree**height < n_leaves:  # in whole numbers: a logarithm is off by one at powers
            height += 1
        return cls.of_fan_outs([degree] * height, n_leaves)

    @classmethod
    def of_time(cls, axis: TimeAxis, steps: Sequence[str] = ("year", "month")) -> Hierarchy:
        """Make a tree of the bins of a time axis, in coarser steps, coarsest first: days in months in years.

        >>> Hierarchy.of_time(TimeAxis.between("2018-01-01", "2019-12-31")).level_sizes
        (1, 2, 24, 730)
        """
        if axis.n_bins is None:
            raise SettingError("the time axis must end before its bins form a tree. Use axis.with_end(n_bins).")
        return cls.of_levels([_edges_of(axis.coarsen(step)[1]) for step in steps], axis.n_bins)

    @classmethod
    def of_places(
        cls, axis: PlaceAxis, levels: Sequence[str] = ("department", "region")
    ) -> tuple[Hierarchy, NDArray[np.int64]]:
        """Make a tree of places in coarser levels, coarsest first: towns in regions in departments.

        Places have no order of their own, so the tree brings one: leaf i is place ``order[i]`` of the axis.

        >>> from tacit.domain import Gazetteer
        >>> towns = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level="town")
        >>> tree, order = Hierarchy.of_places(towns)
        >>> tree.level_sizes[:2], tree.n_leaves == towns.n_cells == order.size
        ((1, 17), True)
        """
        groups = [axis.coarsen(level)[1] for level in levels]
        order = np.lexsort([np.arange(axis.n_cells), *reversed(groups)]).astype(np.int64)
        return cls.of_levels([_edges_of(group[order]) for group in groups], axis.n_cells), order

    @property
    def n_leaves(self) -> int:
        return self.boundaries[0][-1]

    @property
    def n_levels(self) -> int:
        """The number of levels, root and leaves included."""
        return len(self.boundaries)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, root first."""
        return tuple(len(level) - 1 for level in self.boundaries)

    @property
    def n_nodes(self) -> int:
        return sum(self.level_sizes)

    def level_slice(self, level: int) -> slice:
        """Where the nodes of a level stand among all nodes."""
        self._check_level(level)
        first = sum(self.level_sizes[:level])
        return slice(first, first + self.level_sizes[level])

    def number(self, level: int, index: int) -> int:
        """The number of a node among all nodes, counted from the root down.

        >>> tree = Hierarchy.of_degree(10, 4)
        >>> tree.number(1, 2), tree.locate(3)
        (3, (1, 2))
        """
        self._check_node(level, index)
        return sum(self.level_sizes[:level]) + index

    def locate(self, number: int) -> Node:
        """The level and the index of a node, from its number."""
        if not 0 <= number < self.n_nodes:
            raise SettingError(f"number must lie between 0 and {self.n_nodes - 1}; got number={number}.")
        level = 0
        while number >= self.level_sizes[level]:
            number -= self.level_sizes[level]
            level += 1
        return level, number

    def leaves(self, level: int, index: int) -> range:
        """The leaves under a node."""
        self._check_node(level, index)
        return range(self.boundaries[level][index], self.boundaries[level][index + 1])

    def nodes_of(self, leaves: NDArray[np.integer], level: int) -> NDArray[np.int64]:
        """The index of the node above each of these leaves, at a level.

        >>> Hierarchy.of_degree(10, 4).nodes_of(np.array([0, 3, 4, 9]), 1).tolist()
        [0, 0, 1, 2]
        """
        self._check_level(level)
        return np.searchsorted(np.array(self.boundaries[level]), leaves, side="right") - 1

    def parent(self, level: int, index: int) -> Node:
        """The node above a node."""
        check_at_least(1, level=level)
        first_leaf = self.leaves(level, index).start
        return level - 1, int(self.nodes_of(np.array([first_leaf]), level - 1)[0])

    def children(self, level: int, index: int) -> list[Node]:
        """The nodes right below a node; a leaf has none."""
        leaves = self.leaves(level, index)
        if level + 1 == self.n_levels:
            return []
        first, last = self.nodes_of(np.array([leaves.start, leaves.stop - 1]), level + 1).tolist()
        return [(level + 1, child) for child in range(first, last + 1)]

    def decompose(self, first: int, stop: int) -> list[Node]:
        """The fewest nodes that together hold the leaves from ``first`` up to but not including ``stop``, in order.

        This is the thesis' B-adic decomposition, for any fan-outs: all nodes inside the range whose parent is not.
        """
        if not 0 <= first < stop <= self.n_leaves:
            raise SettingError(
                f"a range must satisfy 0 <= first < stop <= {self.n_leaves}; got first={first}, stop={stop}."
            )
        left: list[Node] = []
        right: list[Node] = []
        held: tuple[int, int] | None = None  # the leaves that nodes of higher levels already hold
        for level, boundaries in enumerate(self.boundaries):
            low, high = bisect_left(boundaries, first), bisect_right(boundaries, stop) - 1
            if low >= high:
                continue  # no node of this level lies inside the range
            inner = (high, high) if held is None else tuple(bisect_left(boundaries, edge) for edge in held)
            left[:0] = [(level, index) for index in range(low, inner[0])]
            right += [(level, index) for index in range(inner[1], high)]
            held = boundaries[low], boundaries[high]
        return left + right

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain values; root and leaves go without saying."""
        return {"n_leaves": self.n_leaves, "levels": [list(level) for level in self.boundaries[1:-1]]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Hierarchy:
        """Rebuild a tree from the values of :meth:`to_dict`.

        >>> tree = Hierarchy.of_degree(10, 4)
        >>> Hierarchy.from_dict(tree.to_dict()) == tree
        True
        """
        try:
            return cls.of_levels([[int(edge) for edge in level] for level in content["levels"]], content["n_leaves"])
        except (KeyError, TypeError, ValueError):
            raise FormatError("the hierarchy is damaged or newer than this version. Make it anew.") from None

    def _check_level(self, level: int) -> None:
        if not 0 <= level < self.n_levels:
            raise SettingError(f"level must lie between 0 and {self.n_levels - 1}; got level={level}.")

    def _check_node(self, level: int, index: int) -> None:
        self._check_level(level)
        if not 0 <= index < self.level_sizes[level]:
            raise SettingError(
                f"index must lie between 0 and {self.level_sizes[level] - 1} at level {level}; got index={index}."
            )


def _edges_of(groups: NDArray[np.int64]) -> list[int]:
    """The boundaries of runs of equal numbers."""
    return [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), groups.size]
