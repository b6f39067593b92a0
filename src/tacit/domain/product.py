"""The product of a time axis and a place axis, and boxes in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.limits import MOST_CELLS
from tacit.domain.gazetteer import Gazetteer
from tacit.domain.place import PlaceAxis
from tacit.domain.step import When
from tacit.domain.time import TimeAxis
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True)
class Domain:
    """Every bin of time with every place: the cells in which events are counted.

    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["North", "South"]))
    >>> domain.shape, domain.n_cells
    ((365, 2), 730)
    >>> domain.box("2018-02", "2018-03", places=["south"]).n_cells
    59
    """

    time: TimeAxis
    place: PlaceAxis

    @property
    def shape(self) -> tuple[int, int]:
        """The number of bins and of places."""
        if self.time.n_bins is None:
            raise SettingError(
                "the time axis must end for its shape to be known; got n_bins=None. Use domain.with_end(n_bins)."
            )
        return self.time.n_bins, self.place.n_cells

    @property
    def n_cells(self) -> int:
        """The number of cells, bins times places."""
        n_bins, n_places = self.shape
        return n_bins * n_places

    def with_end(self, n_bins: int) -> Domain:
        """Return the same domain, its time axis ending after ``n_bins`` bins."""
        return replace(self, time=self.time.with_end(n_bins))

    def without_end(self) -> Domain:
        """Return the same domain, its time axis without end."""
        return replace(self, time=self.time.without_end())

    def box(
        self, first: When | None = None, last: When | None = None, places: str | Iterable[str] | None = None
    ) -> Box:
        """Return the box of the periods ``first`` to ``last``, both included, and the named places.

        What is left out is not restricted. A coarser place stands for all of its cells.
        """
        bins = self.time.range(first, last)
        if places is None:
            numbers = tuple(range(self.place.n_cells))
        else:
            names = [places] if isinstance(places, str) else list(places)
            if not names:
                raise SettingError("places must name at least one place; got none. Leave it out for all places.")
            found = [number for name in names for number in self.place.find(name)]
            if len(set(found)) < len(found):
                raise SettingError(
                    f"places must name every place once; got {', '.join(names)}. Remove the repeated names."
                )
            numbers = tuple(sorted(found))
        return Box(range(bins.start, bins.stop), numbers)

    def coarsen(
        self, time: str | None = None, place: str | None = None, n_bins: int | None = None
    ) -> tuple[Domain, NDArray[np.int64], NDArray[np.int64]]:
        """Return the domain of a coarser step or level, the new bin of every bin and the new cell of every place.

        :func:`sum_groups` adds an array up along them. Without an end, ``n_bins`` says for how many bins.
        """
        coarse_time, bins = self.time.coarsen(time or self.time.step, n_bins)
        coarse_place, cells = self.place.coarsen(place or self.place.level)
        return Domain(coarse_time, coarse_place), bins, cells

    def to_dict(self, *, with_end: bool = True, with_gazetteer: bool = True, with_rows: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML; a fingerprint covers neither the end nor the gazetteer."""
        return {
            "time": self.time.to_dict(with_end=with_end),
            "place": self.place.to_dict(with_gazetteer=with_gazetteer, with_rows=with_rows),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, gazetteer: Gazetteer | str | Path | None = None) -> Domain:
        """Rebuild a domain from the values of :meth:`to_dict`."""
        if not isinstance(values, Mapping) or values.keys() != {"time", "place"}:
            raise SettingError("a domain must have time and place, and nothing else. Correct these names.")
        place = PlaceAxis.from_dict(values["place"], gazetteer=gazetteer)
        time = TimeAxis.from_dict(values["time"])
        if (time.n_bins or 1) * place.n_cells > MOST_CELLS:
            raise SettingError(
                f"a file must have at most {MOST_CELLS:,} cells, periods times places; got n_bins={time.n_bins} and "
                f"{place.n_cells} places. Count by a longer step, or fewer places."
            )
        return cls(time, place)


@dataclass(frozen=True, slots=True)
class Box:
    """A range of time bins and a set of places, both by number and neither empty."""

    time: range
    places: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.time or self.time.step != 1 or self.time.start < 0:
            raise SettingError(
                f"time must be one or more consecutive bins from 0 on; got time={self.time}. "
                "Give them as range(first, last + 1)."
            )
        if not self.places or sorted(set(self.places)) != list(self.places) or self.places[0] < 0:
            raise SettingError(
                f"places must be one or more different cell numbers in order; got places={self.places}. Sort them."
            )

    @property
    def n_cells(self) -> int:
        """The number of cells in the box."""
        return len(self.time) * len(self.places)

    def check_within(self, domain: Domain) -> None:
        """Refuse a domain that the box leaves."""
        n_bins, n_places = domain.time.n_bins, domain.place.n_cells
        if self.places[-1] >= n_places or (n_bins is not None and self.time.stop > n_bins):
            raise SettingError(
                f"box must lie within the domain, {n_bins} bins and {n_places} places; got bins up to "
                f"{self.time.stop - 1} and places up to {self.places[-1]}. Build it with domain.box."
            )

    def weights(self, domain: Domain) -> NDArray[np.float64]:
        """Return 1 in the cells of the box and 0 elsewhere, in the shape of the domain."""
        self.check_within(domain)
        weights = np.zeros(domain.shape)
        weights[self.time.start : self.time.stop, list(self.places)] = 1.0
        return weights


def sum_groups(
    values: NDArray[Any], groups: NDArray[np.int64], *, n_groups: int | None = None, axis: int = 0
) -> NDArray[Any]:
    """Add up an array along one axis by the groups a coarsening returned.

    >>> sum_groups(np.array([1, 2, 3]), np.array([0, 0, 1]))
    array([3, 3])
    """
    moved = np.moveaxis(np.asarray(values), axis, 0)
    count = int(groups.max(initial=-1)) + 1 if n_groups is None else n_groups
    sums = np.zeros((count, *moved.shape[1:]), moved.dtype)
    np.add.at(sums, groups, moved)
    return np.moveaxis(sums, 0, axis)
