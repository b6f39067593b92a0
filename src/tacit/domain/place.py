"""Places as an ordered list of cells, and the matching of names to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.domain.gazetteer import BUILTIN, Entry, Gazetteer
from tacit.domain.names import fold_name
from tacit.errors import SettingError

UNKNOWN, OUTSIDE, MISSING, AMBIGUOUS = -1, -2, -3, -4

__all__ = ["AMBIGUOUS", "MISSING", "OUTSIDE", "UNKNOWN", "PlaceAxis", "TableReference", "fold_name"]


@dataclass(frozen=True, slots=True)
class TableReference:
    """What a plan says of the table of places it was made with: how to find it and how to know it."""

    name: str
    sha256: str
    path: str | None = None


@dataclass(frozen=True, slots=True, init=False)
class PlaceAxis:
    """Ordered cells of one level. With a gazetteer, the towns of a region are counted in that region.

    >>> axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    >>> axis.n_cells, axis.cells[0]
    (17, 'CA du Grand Besançon')
    >>> axis.match(["BESANCON", "St Vit", "Nods", "Bonnal", "Paris", " "])
    array([ 0,  0,  6, -2, -1, -3], dtype=int32)
    """

    level: str
    cells: tuple[str, ...]
    gazetteer: Gazetteer | None
    table: TableReference | None

    def __init__(
        self,
        level: str,
        cells: Iterable[str],
        gazetteer: Gazetteer | None = None,
        table: TableReference | None = None,
    ) -> None:
        if gazetteer is not None:
            table = TableReference(gazetteer.name, gazetteer.sha256, gazetteer.path)
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "cells", tuple(cells))
        object.__setattr__(self, "gazetteer", gazetteer)
        object.__setattr__(self, "table", table)
        _check_cells(self.cells)
        if gazetteer is not None:
            known = set(gazetteer.names(level))
            strange = [cell for cell in self.cells if cell not in known]
            if strange:
                raise SettingError(
                    f"cells must be places of level {level} in the table {gazetteer.name}; got {strange[0]!r} "
                    f"and {len(strange) - 1} more that are not. Take names of gazetteer.names({level!r})."
                )

    @classmethod
    def from_gazetteer(cls, gazetteer: Gazetteer, level: str = "region") -> PlaceAxis:
        """Take all places of a level, in the order of the table."""
        return cls(level, gazetteer.names(level), gazetteer)

    @classmethod
    def of(cls, cells: Iterable[str], level: str = "place") -> PlaceAxis:
        """Take a plain list of names, without a table."""
        return cls(level, cells)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def tiles(self) -> dict[str, tuple[int, int]] | None:
        """The (column, row) of each cell on a tile map, if the table gives one to every cell."""
        given = None if self.gazetteer is None else self.gazetteer.tiles
        if given is None or not set(self.cells) <= given.keys():
            return None
        return {cell: given[cell] for cell in self.cells}

    def match(self, names: Sequence[str | None]) -> NDArray[np.int32]:
        """Return the cell of each name, of this level or a finer one.

        -1 is an unknown name, -2 a known place outside the cells, -3 no name, -4 a name that could mean places in
        different cells; say which by a code, or as ``Foucherans (Jura)``.
        """
        matcher = _matcher(self)
        return np.array([matcher.match(name) for name in names], np.int32)

    def find(self, name: str) -> tuple[int, ...]:
        """Return the cells that make up a place of this level or a coarser one, for a question about it.

        A finer place is refused: a region's count says nothing of one of its towns.
        """
        folded = fold_name(name)
        for number, cell in enumerate(self.cells):
            if fold_name(cell) == folded:
                return (number,)
        depths: dict[int, set[int]] = {}
        if self.gazetteer is not None:
            own, index = self.gazetteer.check_level(self.level), self._cell_numbers()
            for depth, row in self.gazetteer.find(name):
                number = index.get(self.gazetteer.name_at(row, self.level), OUTSIDE)
                depths.setdefault(depth, set()).add(OUTSIDE if row.is_outside else number)
            coarser = [found - {OUTSIDE} for depth, found in depths.items() if depth > own]
            if len(depths) == 1 and coarser and coarser[0]:
                return tuple(sorted(coarser[0]))
        raise self._not_a_cell(name, depths)

    def coarsen(self, level: str) -> tuple[PlaceAxis, NDArray[np.int64]]:
        """Return the axis of a coarser level and, for every cell of this one, its cell there.

        >>> departments, groups = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).coarsen("department")
        >>> departments.cells, int(groups.sum())
        (('Doubs',), 0)
        """
        if level == self.level:
            return self, np.arange(self.n_cells, dtype=np.int64)
        gazetteer = self._table_at_hand("coarsen places")
        if gazetteer.check_level(level) < gazetteer.check_level(self.level):
            raise SettingError(
                f"level must be coarser than {self.level}; got level={level!r}. Start from an axis of {level} cells."
            )
        index = self._cell_numbers()
        above: dict[int, set[str]] = {number: set() for number in range(self.n_cells)}
        left_out: dict[str, str] = {}
        for row in gazetteer.rows:
            if row.is_outside:
                continue
            cell, coarse = gazetteer.name_at(row, self.level), gazetteer.name_at(row, level)
            if cell in index:
                above[index[cell]].add(coarse)
            else:
                left_out[coarse] = cell
        split = [self.cells[number] for number, found in above.items() if len(found) > 1]
        if split:
            raise SettingError(
                f"level must hold every {self.level} whole; got level={level!r}, and {split[0]} lies in several. "
                "Start from an axis of a finer level."
            )
        names = [next(iter(above[number])) for number in range(self.n_cells)]
        for coarse in names:
            if coarse in left_out:
                raise SettingError(
                    f"level must be made of whole cells; got level={level!r}, and {left_out[coarse]} of {coarse} is "
                    f"not a cell of this axis. Take all of gazetteer.names({self.level!r})."
                )
        cells = tuple(name for name in gazetteer.names(level) if name in set(names))
        return PlaceAxis(level, cells, gazetteer), np.array([cells.index(name) for name in names], np.int64)

    def to_dict(self, *, with_gazetteer: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML: level, cells and how to know the table again."""
        values: dict[str, Any] = {"level": self.level, "cells": list(self.cells)}
        if with_gazetteer and self.table is not None:
            values["gazetteer"] = {"name": self.table.name, "sha256": self.table.sha256}
            if self.table.path is not None:
                values["gazetteer"]["path"] = self.table.path
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, gazetteer: Gazetteer | None = None) -> PlaceAxis:
        """Rebuild an axis from the values of :meth:`to_dict`.

        The table is the one given, else ours of that name, else the file at that path. If there is no such
        file the axis still counts and answers, but matches only the names of its own cells. A table that is not
        the one the axis was made with is refused.
        """
        if not {"level", "cells"} <= values.keys() <= {"level", "cells", "gazetteer"}:
            raise SettingError(
                "a place axis must have level and cells, and may have gazetteer; got "
                f"{', '.join(sorted(map(str, values))) or 'nothing'}. Correct these names."
            )
        table = values.get("gazetteer")
        if table is None:
            return cls(values["level"], values["cells"], gazetteer)
        try:
            reference = TableReference(**table)
        except TypeError:
            raise SettingError(
                "gazetteer must have name and sha256, and may have path; got other names. Correct them."
            ) from None
        found = gazetteer or _look_up(reference)
        if found is not None and found.sha256 != reference.sha256:
            raise SettingError(
                f"gazetteer must be the table {reference.name} the axis was made with (sha256 "
                f"{reference.sha256[:12]}…); got one with sha256 {found.sha256[:12]}…. Restore that table, or make a new plan."
            )
        return cls(values["level"], values["cells"], found, reference)

    def _cell_numbers(self) -> dict[str, int]:
        return {cell: number for number, cell in enumerate(self.cells)}

    def _table_at_hand(self, purpose: str) -> Gazetteer:
        if self.gazetteer is not None:
            return self.gazetteer
        if self.table is None:
            raise SettingError(
                f"gazetteer must be given to {purpose}; this axis is a plain list of names. "
                "Build it with PlaceAxis.from_gazetteer(table)."
            )
        raise SettingError(
            f"gazetteer must be at hand to {purpose}; the table {self.table.path or self.table.name} was not found. "
            "Put the file there, or pass it: PlaceAxis.from_dict(values, gazetteer=Gazetteer.read(path))."
        )

    def _not_a_cell(self, name: str, depths: Mapping[int, set[int]]) -> SettingError:
        rule = f"places must be cells of the place axis (level {self.level}); got {name!r}"
        if len(depths) > 1 and self.gazetteer is not None:
            kinds = " and a ".join(self.gazetteer.levels[depth] for depth in sorted(depths))
            return SettingError(
                f"{rule}, both a {kinds}. Name the cells, or leave places out for all of them."
            )
        inside = [self.cells[number] for found in depths.values() for number in found if number >= 0]
        if inside:
            return SettingError(f"{rule}, which lies in {inside[0]}. Ask for {inside[0]}.")
        if depths:
            return SettingError(f"{rule}, which lies outside of them. Ask for one of the cells.")
        close = difflib.get_close_matches(name, self.cells, n=1, cutoff=0.5)
        hint = (
            f"Did you mean {close[0]!r}?" if close else f"The first of {self.n_cells} is {self.cells[0]!r}."
        )
        return SettingError(f"{rule}. {hint}")


class _Matcher:
    """All names an axis knows, folded, each with its cell or the reason why it has none."""

    def __init__(self, axis: PlaceAxis) -> None:
        self.axis = axis
        self.numbers = axis._cell_numbers()
        gazetteer = axis.gazetteer
        if gazetteer is None:
            found = {fold_name(cell): {number} for cell, number in self.numbers.items()}
        else:
            found = {key: cells for key, rows in gazetteer.entries.items() if (cells := self._cells(rows))}
        squeezed: dict[str, set[int]] = {}
        for key, cells in found.items():
            squeezed.setdefault(key.replace(" ", ""), set()).update(cells)
        self.by_name = {key: _one(cells) for key, cells in found.items()}
        self.by_squeezed = {key: _one(cells) for key, cells in squeezed.items()}

    def match(self, name: str | None) -> int:
        folded = fold_name(name) if isinstance(name, str) else ""
        if not folded or name is None:
            return MISSING
        cell = self.by_name.get(folded)
        if cell is None:
            cell = self.by_squeezed.get(folded.replace(" ", ""))
        if cell is not None:
            return cell
        gazetteer = self.axis.gazetteer
        if gazetteer is not None:
            # a qualified name, Foucherans (Jura), which is not in the index
            return _one(self._cells(gazetteer.find(name))) if "(" in name else UNKNOWN
        if self.axis.table is not None:
            self.axis._table_at_hand("match names that are not cells")
        return UNKNOWN

    def _cells(self, rows: Iterable[Entry]) -> set[int]:
        gazetteer = self.axis._table_at_hand("match names")
        own = gazetteer.check_level(self.axis.level)
        return {
            OUTSIDE if row.is_outside else self.numbers.get(gazetteer.name_at(row, self.axis.level), OUTSIDE)
            for depth, row in rows
            if depth <= own
        }


def _one(cells: set[int]) -> int:
    if not cells:
        return UNKNOWN
    return next(iter(cells)) if len(cells) == 1 else AMBIGUOUS


@lru_cache(maxsize=8)
def _matcher(axis: PlaceAxis) -> _Matcher:
    return _Matcher(axis)


def _check_cells(cells: tuple[str, ...]) -> None:
    if not cells:
        raise SettingError("cells must name at least one place; got none. Give the names of the places.")
    seen: dict[str, str] = {}
    for cell in cells:
        folded = fold_name(cell) if isinstance(cell, str) else ""
        if not folded:
            raise SettingError(f"cells must be names; got {cell!r}. Give every place a name.")
        if folded in seen:
            raise SettingError(
                f"cells must be different names, also without accents and hyphens; got {seen[folded]!r} and {cell!r}. "
                "Rename one of them."
            )
        seen[folded] = cell


def _look_up(reference: TableReference) -> Gazetteer | None:
    if reference.path is None:
        return Gazetteer.builtin(reference.name) if reference.name in BUILTIN else None
    return Gazetteer.read(reference.path, name=reference.name) if Path(reference.path).is_file() else None
