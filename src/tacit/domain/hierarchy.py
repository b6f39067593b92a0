"""A tree over an ordered domain: leaves in larger and larger nodes, up to a root that holds them all.

A level is a list of boundaries: its node i holds the leaves from ``boundaries[i]`` up to but not including
``boundaries[i + 1]``. Each level refines the one above it. Nothing asks for equal fan-outs: months have 28 to 31 days,
and the last node of a tree of degree 4 over ten leaves has two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.validation import check_at_least
from tacit.domain.place import PlaceAxis
from tacit.domain.time import TimeAxis
from tacit.errors import FormatError, SettingError

_Number = TypeVar("_Number", np.int64, np.float64)

Node = tuple[int, int]
"""A level and the index of a node in it."""


MOST_LEAVES: Final = 1 << 28
"""No file holds a larger tree: its boundaries alone take gigabytes."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """Levels of nodes over the leaves 0 .. n_leaves - 1: level 0 is the root, the last level is the leaves.

    A node is a pair (level, index), or one number that counts the nodes from the root down, level by level.

    >>> tree = Hierarchy.of_degree(10, 4)
    >>> [level.tolist() for level in tree.boundaries[:2]], tree.level_sizes
    ([[0, 10], [0, 4, 8, 10]], (1, 3, 10))
    >>> tree.decompose(2, 9)
    [(2, 2), (2, 3), (1, 1), (2, 8)]
    """

    boundaries: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        boundaries = tuple(_read_only(level) for level in self.boundaries)
        object.__setattr__(self, "boundaries", boundaries)
        if not boundaries or len(boundaries[0]) != 2 or boundaries[0][0] != 0:
            raise SettingError(
                "boundaries must start with the root, one node from 0 to the number of leaves. "
                "Make the tree with of_degree, of_fan_outs, of_time or of_places."
            )
        check_at_least(1, n_leaves=self.n_leaves)
        if len(boundaries[-1]) != self.n_leaves + 1:
            raise SettingError("boundaries must end with the leaves, one node each. Add a last level of single leaves.")
        for level, (above, below) in enumerate(pairwise(boundaries), 1):
            if not (below[:-1] < below[1:]).all():
                raise SettingError(f"boundaries of level {level} must increase. Sort them and drop empty nodes.")
            if len(below) <= len(above) or not _holds_all(below, above) or (below[0], below[-1]) != (0, self.n_leaves):
                raise SettingError(
                    f"every level must cut up the one above it; level {level} does not. "
                    "Weeks do not nest in months: leave one of them out."
                )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.level_sizes == other.level_sizes and all(map(np.array_equal, self.boundaries, other.boundaries))

    def __hash__(self) -> int:
        return hash((self.n_leaves, *(level.tobytes() for level in self.boundaries[1:-1])))

    def __repr__(self) -> str:
        return f"Hierarchy(level_sizes={self.level_sizes})"

    @classmethod
    def of_levels(cls, levels: Iterable[Sequence[int] | NDArray[np.integer]], n_leaves: int) -> Hierarchy:
        """Make a tree from the boundaries of its inner levels, coarsest first; root and leaves are added.

        A level that equals the one above it is left out: it would be asked the same question twice.
        """
        check_at_least(1, n_leaves=n_leaves)
        kept = [_read_only((0, n_leaves))]
        leaves = np.arange(n_leaves + 1, dtype=np.int64)
        leaves.flags.writeable = False
        for level in (*levels, leaves):
            boundaries = _read_only(level)
            if not np.array_equal(boundaries, kept[-1]):
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
        return cls.of_levels([np.append(np.arange(0, n_leaves, size), n_leaves) for size in sizes], n_leaves)

    @classmethod
    def of_degree(cls, n_leaves: int, degree: int, *, padded: bool = False) -> Hierarchy:
        """Make the complete tree of one degree B: level by level, nodes of B**j leaves, the last ones cut short.

        A padded tree has leaves that nothing ever falls into, up to the next power of B, as the thesis has them.

        >>> [len(level) - 1 for level in Hierarchy.of_degree(2006, 2).boundaries]
        [1, 2, 4, 8, 16, 32, 63, 126, 251, 502, 1003, 2006]
        >>> Hierarchy.of_degree(20, 3, padded=True).n_leaves
        27
        """
        check_at_least(1, n_leaves=n_leaves)
        check_at_least(2, degree=degree)
        height = 0
        while degree**height < n_leaves:  # in whole numbers: a logarithm is off by one at powers
            height += 1
        return cls.of_fan_outs([degree] * height, None if padded else n_leaves)

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
        return int(self.boundaries[0][-1])

    @property
    def n_levels(self) -> int:
        """The number of levels, root and leaves included."""
        return len(self.boundaries)

    @property
    def height(self) -> int:
        """The number of steps from a leaf to the root."""
        return self.n_levels - 1

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, root first."""
        return tuple(len(level) - 1 for level in self.boundaries)

    @property
    def widest(self) -> tuple[int, ...]:
        """The most leaves that a node of each level holds."""
        return tuple(int(np.diff(level).max()) for level in self.boundaries)

    @property
    def n_nodes(self) -> int:
        return sum(self.level_sizes)

    def level_slice(self, level: int) -> slice:
        """Return the part of all nodes that a level is."""
        self._check_level(level)
        first = sum(self.level_sizes[:level])
        return slice(first, first + self.level_sizes[level])

    def leaf_counts(self, level: int) -> IntArray:
        """Return the number of leaves in every node of a level."""
        return np.diff(self.boundaries[level])

    def spread(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for every leaf, the value of the node of a level that it is in."""
        return np.repeat(values, self.leaf_counts(level))

    def number(self, level: int, index: int) -> int:
        """Return the number of a node among all nodes, counted from the root down.

        >>> tree = Hierarchy.of_degree(10, 4)
        >>> tree.number(1, 2), tree.locate(3)
        (3, (1, 2))
        """
        self._check_node(level, index)
        return sum(self.level_sizes[:level]) + index

    def locate(self, number: int) -> Node:
        """Return the level and the index of a node, from its number."""
        if not 0 <= number < self.n_nodes:
            raise SettingError(f"number must lie between 0 and {self.n_nodes - 1}; got number={number}.")
        level = 0
        while number >= self.level_sizes[level]:
            number -= self.level_sizes[level]
            level += 1
        return level, number

    def leaves(self, level: int, index: int) -> range:
        """Return the leaves under a node."""
        self._check_node(level, index)
        return range(*self.boundaries[level][index : index + 2].tolist())

    def nodes_of(self, leaves: NDArray[np.integer], level: int) -> NDArray[np.int64]:
        """Return the index of the node above each of these leaves, at a level.

        >>> Hierarchy.of_degree(10, 4).nodes_of(np.array([0, 3, 4, 9]), 1).tolist()
        [0, 0, 1, 2]
        """
        self._check_level(level)
        return np.searchsorted(self.boundaries[level], leaves, side="right") - 1

    def parent(self, level: int, index: int) -> Node:
        """Return the node above a node."""
        check_at_least(1, level=level)
        first_leaf = self.leaves(level, index).start
        return level - 1, int(self.nodes_of(np.array([first_leaf]), level - 1)[0])

    def children(self, level: int, index: int) -> list[Node]:
        """Return the nodes right below a node; a leaf has none."""
        leaves = self.leaves(level, index)
        if level + 1 == self.n_levels:
            return []
        first, last = self.nodes_of(np.array([leaves.start, leaves.stop - 1]), level + 1).tolist()
        return [(level + 1, child) for child in range(first, last + 1)]

    def path(self, leaf: int) -> list[int]:
        """Return the index of the node above a leaf at every level, from the leaf itself up to the root.

        >>> Hierarchy.of_degree(27, 3).path(20)
        [20, 6, 2, 0]
        """
        self._check_node(self.height, leaf)
        return [int(self.nodes_of(np.array(leaf), level)) for level in range(self.height, -1, -1)]

    def first_children(self, level: int) -> IntArray:
        """Return where the children of each node start in the level below; last, how many nodes that level has.

        >>> Hierarchy.of_degree(10, 4).first_children(1).tolist()
        [0, 4, 8, 10]
        """
        self._check_level(level)
        if level == self.height:
            raise SettingError("leaves have no children. Ask for a level above them.")
        return np.searchsorted(self.boundaries[level + 1], self.boundaries[level]).astype(np.int64, copy=False)

    def sum_leaves(self, leaves: NDArray[_Number]) -> NDArray[_Number]:
        """Return the sum of the leaves under every node, numbered from the root down; columns are trees of their own.

        >>> Hierarchy.of_degree(4, 2).sum_leaves(np.array([1, 2, 3, 4])).tolist()
        [10, 3, 7, 1, 2, 3, 4]
        """
        leaves = np.asarray(leaves)
        if leaves.ndim == 0 or len(leaves) != self.n_leaves:
            raise SettingError(f"leaves must have {self.n_leaves} rows, one for each leaf; got shape={leaves.shape}.")
        sums = [leaves]
        for level in range(self.height - 1, -1, -1):
            sums.append(np.add.reduceat(sums[-1], self.first_children(level)[:-1], axis=0))
        return np.concatenate(sums[::-1])

    def decompose(self, first: int, stop: int) -> list[Node]:
        """Return the fewest nodes that hold the leaves from ``first`` up to but not including ``stop``, in order.

        This is the thesis' B-adic decomposition, for any fan-outs: all nodes inside the range whose parent is not.
        """
        if not 0 <= first < stop <= self.n_leaves:
            raise SettingError(
                f"a range must satisfy 0 <= first < stop <= {self.n_leaves}; got first={first}, stop={stop}."
            )
        parts = self.decompose_many(np.array([first]), np.array([stop]))[:, :, 0].tolist()
        left = [(level, node) for level, part in enumerate(parts) for node in range(part[1] - 1, part[0] - 1, -1)]
        right = [(level, node) for level, part in enumerate(parts) for node in range(part[2], part[3])]
        return left[::-1] + right

    def decompose_many(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> IntArray:
        """Return the decompositions of many ranges, as an array levels x 4 x ranges.

        At a level a range uses the nodes from part 0 up to part 1 on its left, and from part 2 up to part 3 on its
        right; finest nodes lie outermost. The ranges are not checked.

        >>> Hierarchy.of_degree(10, 4).decompose_many(np.array([2]), np.array([9]))[:, :, 0].tolist()
        [[0, 0, 0, 0], [1, 2, 2, 2], [2, 4, 8, 9]]
        """
        parts = np.zeros((self.n_levels, 4, len(first)), np.int64)
        # the leaves that nodes of higher levels already hold; none at first
        held_first, held_stop = np.full(len(first), -1), np.full(len(first), -1)
        for level, edges in enumerate(self.boundaries):
            low, high = np.searchsorted(edges, first), np.searchsorted(edges, stop, side="right") - 1
            used, fresh = low < high, held_first < 0
            inner_low = np.where(fresh, high, np.searchsorted(edges, held_first))
            inner_high = np.where(fresh, high, np.searchsorted(edges, held_stop))
            parts[level] = np.where(used, [low, inner_low, inner_high, high], 0)
            held_first = np.where(used, edges[low], held_first)
            held_stop = np.where(used, edges[high], held_stop)
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain values; root and leaves go without saying."""
        return {"n_leaves": self.n_leaves, "levels": [level.tolist() for level in self.boundaries[1:-1]]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Hierarchy:
        """Rebuild a tree from the values of :meth:`to_dict`.

        >>> tree = Hierarchy.of_degree(10, 4)
        >>> Hierarchy.from_dict(tree.to_dict()) == tree
        True
        """
        try:
            if content["n_leaves"] > MOST_LEAVES:  # of a damaged file, before memory is asked for
                raise ValueError("n_leaves")
            return cls.of_levels(content["levels"], content["n_leaves"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise FormatError("the hierarchy is damaged or newer than this version. Make it again.") from None

    def _check_level(self, level: int) -> None:
        if not 0 <= level < self.n_levels:
            raise SettingError(f"level must lie between 0 and {self.n_levels - 1}; got level={level}.")

    def _check_node(self, level: int, index: int) -> None:
        self._check_level(level)
        if not 0 <= index < self.level_sizes[level]:
            raise SettingError(
                f"index must lie between 0 and {self.level_sizes[level] - 1} at level {level}; got index={index}."
            )


def _edges_of(groups: IntArray) -> IntArray:
    """Return the boundaries of runs of equal numbers."""
    return np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [groups.size]])


def _read_only(level: Sequence[int] | NDArray[np.integer]) -> IntArray:
    if isinstance(level, np.ndarray) and level.dtype == np.int64 and level.base is None and not level.flags.writeable:
        return level.astype(np.int64, copy=False)
    edges = np.array(level, np.int64)
    if edges.ndim != 1:
        raise SettingError("boundaries of a level must be a list of whole numbers.")
    edges.flags.writeable = False
    return edges


def _holds_all(edges: IntArray, asked: IntArray) -> bool:
    found = np.searchsorted(edges, asked)
    return bool((found < edges.size).all() and (edges[found] == asked).all())


def check_fan_outs(fan_outs: Sequence[int], n_leaves: int, what: str) -> None:
    """Refuse fan-outs that someone chose and that make no tree of so many leaves, or one with a level to spare.

    ``what`` says what the leaves are.
    """
    check_at_least(2, **{f"fan_outs[{level}]": fan_out for level, fan_out in enumerate(fan_outs)})
    product, given = prod(fan_outs), list(fan_outs)
    if product < n_leaves:
        raise SettingError(
            f"the product of fan_outs must be at least the number of {what}, {n_leaves}; got fan_outs={given} with "
            f"product {product}. Add a level or widen one."
        )
    if len(given) > 1 and prod(given[1:]) >= n_leaves:
        raise SettingError(
            f"fan_outs must have no level to spare; got fan_outs={given}, of which {given[1:]} alone reach all "
            f"{n_leaves} {what}. Leave out the first."
        )
