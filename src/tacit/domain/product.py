"""The product of axes of time, place and, if events have any, kind; and boxes in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.reading import MOST_CELLS
from tacit.domain.gazetteer import Gazetteer
from tacit.domain.layout import AXES, Grouping, Sizes
from tacit.domain.place import ALL, KindAxis, NamedAxis, PlaceAxis
from tacit.domain.step import When
from tacit.domain.time import TimeAxis
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True)
class Domain:
    """Every bin of time with every place, and with every kind of event where there are kinds: the cells of counts.

    Arrays of counts are time x columns. A column is a place, or a place and a kind, kinds running fastest.

    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["North", "South"]))
    >>> domain.shape, domain.n_cells
    ((365, 2), 730)
    >>> domain.box("2018-02", "2018-03", places=["south"]).n_cells
    59
    >>> kinds = replace(domain, kind=KindAxis.of(["fire", "flood"]))
    >>> kinds.shape, kinds.columns, kinds.box(places="South", kinds="fire").columns
    ((365, 4), ('North, fire', 'North, flood', 'South, fire', 'South, flood'), (2,))
    """

    time: TimeAxis
    place: PlaceAxis
    kind: KindAxis | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes: time and place, and kind where there are kinds."""
        return AXES if self.kind is not None else AXES[:2]

    @property
    def n_kinds(self) -> int:
        """The number of kinds, 1 where there are none."""
        return 1 if self.kind is None else self.kind.n_cells

    @property
    def n_columns(self) -> int:
        """The number of places, or of pairs of a place and a kind."""
        return self.place.n_cells * self.n_kinds

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column."""
        if self.kind is None:
            return self.place.cells
        return tuple(f"{place}, {kind}" for place in self.place.cells for kind in self.kind.cells)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of bins and of columns."""
        return self.sizes[0], self.n_columns

    @property
    def sizes(self) -> Sizes:
        """The number of bins, of places and of kinds."""
        if self.time.n_bins is None:
            raise SettingError(
                "the time axis must end for its shape to be known; got n_bins=None. Use domain.with_end(n_bins)."
            )
        return self.time.n_bins, self.place.n_cells, self.n_kinds

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of bins and of places, and of kinds where there are any: a cell for each combination."""
        return self.sizes if self.kind is not None else self.sizes[:2]

    @property
    def n_cells(self) -> int:
        """The number of cells, bins times columns."""
        return prod(self.sizes)

    def check_size(self) -> None:
        """Refuse more cells than a file may have."""
        n_bins = self.time.n_bins
        if (n_bins or 1) * self.n_columns > MOST_CELLS:
            what, sizes = "periods times places", f"n_bins={n_bins} and {self.place.n_cells} places"
            if self.kind is not None:
                what, sizes = (
                    f"{what} times kinds",
                    f"n_bins={n_bins}, {self.place.n_cells} places, {self.n_kinds} kinds",
                )
            raise SettingError(
                f"a file must have at most {MOST_CELLS:,} cells, {what}; got {sizes}. Count by a longer step, or fewer "
                "places."
            )

    def check_tables(self) -> None:
        """Refuse axes that were made with a table which is not at hand: names could not be told from slips."""
        for axis in (self.place, self.kind):
            if axis is not None:
                axis.check_table()

    def with_end(self, n_bins: int) -> Domain:
        """Return the same domain, its time axis ending after ``n_bins`` bins."""
        return replace(self, time=self.time.with_end(n_bins))

    def without_end(self) -> Domain:
        """Return the same domain, its time axis without end."""
        return replace(self, time=self.time.without_end())

    def box(
        self,
        first: When | None = None,
        last: When | None = None,
        places: str | Iterable[str] | None = None,
        kinds: str | Iterable[str] | None = None,
    ) -> Box:
        """Return the box of the periods ``first`` to ``last``, both included, and the named places and kinds.

        What is left out is not restricted. A coarser place stands for all of its cells, a group for all of its kinds.
        """
        bins = self.time.range(first, last)
        if kinds is not None and self.kind is None:
            raise SettingError("kinds must be left out: these counts have no kinds.")
        named_kinds = (0,) if self.kind is None else _found(self.kind, kinds)
        named = _found(self.place, places)
        columns = tuple(place * self.n_kinds + kind for place in named for kind in named_kinds)
        return Box(range(bins.start, bins.stop), columns)

    def coarsen(
        self, time: str | None = None, place: str | None = None, kind: str | None = None, n_bins: int | None = None
    ) -> tuple[Domain, Grouping]:
        """Return the domain of coarser steps and levels, and which cells are added into which of its cells.

        ``place`` and ``kind`` may be "all": one place, or no kinds any more. Without an end, ``n_bins`` says for how
        many bins.
        """
        if kind is not None and self.kind is None:
            raise SettingError("kind must be left out: these counts have no kinds.")
        coarse_time, bins = self.time.coarsen(time or self.time.step, n_bins)
        coarse_place, places = self.place.coarsen(place or self.place.level)
        coarse_kind, kinds = self.kind, np.zeros(self.n_kinds, np.int64)
        if self.kind is not None:
            coarse_kind = None
            if kind != ALL:
                coarse_kind, kinds = self.kind.coarsen(kind or self.kind.level)
        domain = Domain(coarse_time, coarse_place, coarse_kind)
        sizes = int(bins.max(initial=-1)) + 1, coarse_place.n_cells, domain.n_kinds
        return domain, Grouping(bins, places, sizes, kinds)

    def to_dict(self, *, with_end: bool = True, with_gazetteer: bool = True, with_rows: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML; a fingerprint covers neither the end nor the tables of names."""
        values = {
            "time": self.time.to_dict(with_end=with_end),
            "place": self.place.to_dict(with_gazetteer=with_gazetteer, with_rows=with_rows),
        }
        if self.kind is not None:
            values["kind"] = self.kind.to_dict(with_gazetteer=with_gazetteer, with_rows=with_rows)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, gazetteer: Gazetteer | str | Path | None = None) -> Domain:
        """Rebuild a domain from the values of :meth:`to_dict`."""
        if not isinstance(values, Mapping) or values.keys() - {"kind"} != {"time", "place"}:
            raise SettingError(
                "a domain must have time and place, may have kind, and nothing else. Correct these names."
            )
        place = PlaceAxis.from_dict(values["place"], gazetteer=gazetteer)
        kind = KindAxis.from_dict(values["kind"]) if "kind" in values else None
        domain = cls(TimeAxis.from_dict(values["time"]), place, kind)
        domain.check_size()
        return domain


@dataclass(frozen=True, slots=True)
class Box:
    """A range of time bins and a set of columns, both by number and neither empty."""

    time: range
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.time or self.time.step != 1 or self.time.start < 0:
            raise SettingError(
                f"time must be one or more consecutive bins from 0 on; got time={self.time}. "
                "Give them as range(first, last + 1)."
            )
        if not self.columns or sorted(set(self.columns)) != list(self.columns) or self.columns[0] < 0:
            raise SettingError(
                f"columns must be one or more different numbers in order; got columns={self.columns}. Sort them."
            )

    @property
    def n_cells(self) -> int:
        """The number of cells in the box."""
        return len(self.time) * len(self.columns)

    def check_within(self, domain: Domain) -> None:
        """Refuse a domain that the box leaves."""
        n_bins, n_columns = domain.time.n_bins, domain.n_columns
        if self.columns[-1] >= n_columns or (n_bins is not None and self.time.stop > n_bins):
            raise SettingError(
                f"box must lie within the domain, {n_bins} bins and {n_columns} columns; got bins up to "
                f"{self.time.stop - 1} and columns up to {self.columns[-1]}. Build it with domain.box."
            )

    def weights(self, domain: Domain) -> NDArray[np.float64]:
        """Return 1 in the cells of the box and 0 elsewhere, in the shape of the domain."""
        self.check_within(domain)
        weights = np.zeros(domain.shape)
        weights[self.time.start : self.time.stop, list(self.columns)] = 1.0
        return weights


def _found(axis: NamedAxis, names: str | Iterable[str] | None) -> tuple[int, ...]:
    """Return the numbers of the cells that are named, all of them for None."""
    if names is None:
        return tuple(range(axis.n_cells))
    what = f"{axis.word}s"
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise SettingError(f"{what} must name at least one {axis.word}; got none. Leave it out for all {what}.")
    found = [number for name in names for number in axis.find(name)]
    if len(set(found)) < len(found):
        raise SettingError(
            f"{what} must name every {axis.word} once; got {', '.join(names)}. Remove the repeated names."
        )
    return tuple(sorted(found))
