"""Arrays over a domain: which of their axes are public, and how finer cells are added into coarser ones.

Counts are arrays of time x columns. A column is a place, or with kinds of events a place and a kind:
``column = place * n_kinds + kind``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import pack_array, sizes_of, whole_numbers

AXES: Final = ("time", "place", "kind")
"""The coordinates of an event, in the order in which arrays have them."""

Sizes = tuple[int, int, int]
"""The number of time bins, of places and of kinds; 1 kind where a domain has none."""


def listed(sizes: Sizes) -> list[int]:
    """Return sizes as files have them: without the kinds where there is one."""
    return list(sizes if sizes[2] > 1 else sizes[:2])


@dataclass(frozen=True, slots=True)
class Layout:
    """A division of axes into public and private: how an array over the domain becomes public bins x private values.

    Public bins and private values are numbered with the last axis running fastest.

    >>> layout = Layout(("place",), (2, 3, 1))
    >>> layout.n_public, layout.n_private
    (2, 3)
    >>> Layout(("place",), (2, 3, 2)).rows(np.arange(12).reshape(2, 6)).tolist()
    [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]
    """

    private: tuple[str, ...]
    sizes: Sizes

    @classmethod
    def of_file(cls, private: tuple[str, ...], sizes: Sizes) -> Layout:
        """Return the same of values from a file; other words than a plan's are refused."""
        if not private or private != tuple(axis for axis in AXES if axis in private):
            raise ValueError("private")
        return cls(private, sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of an array over the domain, time x columns."""
        return self.sizes[0], self.sizes[1] * self.sizes[2]

    @property
    def n_public(self) -> int:
        """The number of public bins."""
        return prod(self.sizes[axis] for axis in self._axes[0])

    @property
    def n_private(self) -> int:
        """The number of values that a report may stand for."""
        return prod(self.private_sizes)

    @property
    def private_sizes(self) -> tuple[int, ...]:
        """The sizes of the private axes."""
        return tuple(self.sizes[axis] for axis in self._axes[1])

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return an array over the domain as (public bins, private values)."""
        public, hidden = self._axes
        turned = cells.reshape(self.sizes).transpose(*public, *hidden)
        return turned.reshape(self.n_public, self.n_private)

    def cells(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return (public bins, private values) as an array over the domain, time x columns."""
        public, hidden = self._axes
        order = (*public, *hidden)
        turned = rows.reshape([self.sizes[axis] for axis in order]).transpose(*np.argsort(order))
        return turned.reshape(self.sizes[0], -1)

    def split(self, times: IntArray, columns: IntArray) -> tuple[IntArray, IntArray]:
        """Divide cells into the numbers of their public bins and of their private values."""
        n_kinds = self.sizes[2]
        known = {0: times, 1: columns} if n_kinds == 1 else {0: times, 1: columns // n_kinds, 2: columns % n_kinds}
        public, hidden = (self._numbered({axis: known[axis] for axis in axes if axis in known}) for axes in self._axes)
        return (np.zeros_like(times) if public is None else public), (
            np.zeros_like(times) if hidden is None else hidden
        )

    def coarsened(self, grouping: Grouping) -> Layout:
        """Return the layout of sums of cells."""
        return Layout(self.private, grouping.sizes)

    def groups(self, grouping: Grouping) -> tuple[IntArray, IntArray]:
        """Return the group of every public bin and of every private value."""
        coarse, groups = self.coarsened(grouping), (grouping.time, grouping.place, grouping.kind)

        def along(axes: tuple[int, ...]) -> IntArray:
            apart = np.ix_(*(groups[axis] for axis in axes))
            number = coarse._numbered(dict(zip(axes, apart, strict=True)))
            return np.zeros(1, np.int64) if number is None else number.ravel()

        public, hidden = self._axes
        return along(public), along(hidden)

    @property
    def _axes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The numbers of the public axes and of the private ones."""
        is_private = [axis in self.private for axis in AXES]
        return (
            tuple(number for number in range(len(AXES)) if not is_private[number]),
            tuple(number for number in range(len(AXES)) if is_private[number]),
        )

    def _numbered(self, coordinates: Mapping[int, IntArray]) -> IntArray | None:
        """Return one number for coordinates along some axes, the last running fastest; None for no axis."""
        number: IntArray | None = None
        for axis, coordinate in coordinates.items():
            number = coordinate if number is None else number * self.sizes[axis] + coordinate
        return number


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A map of bins, places and kinds to coarser ones, and how many of those there are.

    >>> pairs = Grouping(np.arange(2), np.array([0, 0, 1]), (2, 2, 1))
    >>> pairs.sums(np.arange(6).reshape(2, 3)).tolist()
    [[1, 2], [7, 5]]
    """

    time: IntArray
    place: IntArray
    sizes: Sizes
    kind: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))

    @classmethod
    def of_columns(cls, time: IntArray, columns: IntArray, shape: tuple[int, int]) -> Grouping:
        """Group bins and columns of a domain without kinds, whose columns are its places."""
        return cls(time, columns, (*shape, 1))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of an array of the coarser cells."""
        return self.sizes[0], self.sizes[1] * self.sizes[2]

    @property
    def columns(self) -> IntArray:
        """The coarser column of every column."""
        return np.asarray(self.place[:, None] * self.sizes[2] + self.kind, np.int64).ravel()

    def then(self, coarser: Grouping) -> Grouping:
        """Return the groups of our sums as groups of the cells that we group."""
        return Grouping(coarser.time[self.time], coarser.place[self.place], coarser.sizes, coarser.kind[self.kind])

    def sums(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Add an array of finer cells up."""
        by_time = sum_groups(cells, self.time, n_groups=self.shape[0])
        return sum_groups(by_time, self.columns, n_groups=self.shape[1], axis=1)

    def fine(self, weights: FloatArray) -> FloatArray:
        """Return a question about sums as a question about the cells they add up."""
        return np.asarray(weights)[self.time][:, self.columns]

    def questions(self) -> Iterator[tuple[tuple[int, int], FloatArray]]:
        """Yield every sum: its cell in the coarser domain, and its weights on the finer cells."""
        columns = self.columns
        for time in range(self.shape[0]):
            for column in range(self.shape[1]):
                yield (time, column), np.outer(self.time == time, columns == column).astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        content: dict[str, Any] = {"time_groups": pack_array(self.time), "place_groups": pack_array(self.place)}
        if len(self.kind) > 1:
            content["kind_groups"] = pack_array(self.kind)
        return content | {"shape": listed(self.sizes)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, fine: tuple[int, int] | None) -> Grouping:
        """Read a grouping back; ``fine`` is the shape of the array that it groups, where that is known."""
        names = ("time_groups", "place_groups", *(["kind_groups"] if "kind_groups" in content else []))
        groups, sizes = [whole_numbers(content, name) for name in names], sizes_of(content)
        for group, n_groups in zip(groups, sizes, strict=False):
            if group.ndim != 1 or group.max(initial=-1) >= n_groups:
                raise ValueError("groups")
        read = cls(groups[0], groups[1], sizes, *groups[2:])
        if fine is not None and fine != (len(read.time), len(read.columns)):
            raise ValueError("groups")
        return read


def sum_groups(
    values: NDArray[Any], groups: NDArray[np.int64], *, n_groups: int | None = None, axis: int = 0
) -> NDArray[Any]:
    """Add up an array along one axis by groups.

    >>> sum_groups(np.array([1, 2, 3]), np.array([0, 0, 1]))
    array([3, 3])
    """
    moved = np.moveaxis(np.asarray(values), axis, 0)
    count = int(groups.max(initial=-1)) + 1 if n_groups is None else n_groups
    sums = np.zeros((count, *moved.shape[1:]), moved.dtype)
    if len(groups) > 0:  # runs of rows are added several times as fast as rows one by one
        if (np.diff(groups) < 0).any():
            order = np.argsort(groups, kind="stable")
            groups, moved = groups[order], moved[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        sums[groups[starts]] = np.add.reduceat(moved, starts, axis=0, dtype=moved.dtype)
    return np.moveaxis(sums, 0, axis)
