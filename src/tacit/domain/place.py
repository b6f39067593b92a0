"""Places and kinds of events as ordered lists of cells, and the matching of names to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from tacit.domain.gazetteer import BUILTIN, Gazetteer, TableReference
from tacit.domain.names import AMBIGUOUS, MISSING, OUTSIDE, UNKNOWN, fold_name, is_on_one_line, matcher_of
from tacit.domain.table import KINDS, PLACES
from tacit.errors import Remedy, SettingError

__all__ = [
    "ALL",
    "AMBIGUOUS",
    "ELSEWHERE",
    "MISSING",
    "OTHER",
    "OUTSIDE",
    "UNKNOWN",
    "KindAxis",
    "NamedAxis",
    "PlaceAxis",
    "fold_name",
]

ALL: Final = "all"
"""The level above all others, and the name of its one cell."""

ELSEWHERE: Final = "elsewhere"
"""The name of the cell for events that lie in no other place, where an axis has one."""

OTHER: Final = "other"
"""The name of the cell for events of no other kind, where an axis has one."""


@dataclass(frozen=True, slots=True, init=False)
class NamedAxis:
    """Ordered cells of one level, each with a name. With a table, the names of finer levels are counted in them.

    ``has_elsewhere`` says that one of the cells, called :attr:`rest`, is for all events that lie in none of the others;
    it is a cell like any other, and every event on the time axis then lies in some cell. ``word`` is what a cell is,
    ``tables`` what the tables of its names are called.
    """

    word: ClassVar[str]
    rest: ClassVar[str]
    usual_level: ClassVar[str]
    tables: ClassVar[str]

    level: str
    cells: tuple[str, ...]
    gazetteer: Gazetteer | None = field(compare=False)
    table: TableReference | None = field(repr=False)
    has_elsewhere: bool = field(repr=False)

    def __init__(
        self,
        level: str,
        cells: Iterable[str],
        gazetteer: Gazetteer | None = None,
        table: TableReference | None = None,
        *,
        has_elsewhere: bool = False,
    ) -> None:
        if not isinstance(level, str) or not level.strip():
            raise SettingError(f"level must be a word such as region; got level={level!r}. Name the level.")
        if not is_on_one_line(level):
            raise SettingError(f"level must be on one line, without control characters; got {level!r}. Rename it.")
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "cells", _checked(cells, self.word))
        object.__setattr__(self, "gazetteer", gazetteer)
        object.__setattr__(self, "table", table if gazetteer is None else TableReference.to(gazetteer))
        object.__setattr__(self, "has_elsewhere", has_elsewhere)
        if not isinstance(has_elsewhere, bool) or (has_elsewhere and self.rest not in self.cells):
            raise SettingError(
                f"has_elsewhere must be true or false, and one cell be called {self.rest} where it is true; got "
                f"has_elsewhere={has_elsewhere}. Use {type(self).__name__}.with_elsewhere()."
            )
        if gazetteer is not None:
            known = {*gazetteer.names(level), *([self.rest] if has_elsewhere else [])}
            strange = [cell for cell in self.cells if cell not in known]
            if strange:
                raise SettingError(
                    f"cells must be of level {level} in the table {gazetteer.name}; got {len(strange)} that are not, "
                    f"the first {strange[0]!r}. Take names of gazetteer.names({level!r})."
                )

    @classmethod
    def from_gazetteer(cls, gazetteer: Gazetteer, level: str = "") -> Self:
        """Take all names of a level in the order of the table.

        Left out, it is the regions, or kinds, of a table that has any, else its finest level.
        """
        level = level or (cls.usual_level if cls.usual_level in gazetteer.levels else gazetteer.levels[0])
        return cls(level, gazetteer.names(level), gazetteer)

    @classmethod
    def everything(cls) -> Self:
        """Return the axis of one cell, called all, for events that are counted wherever or whatever they are."""
        return cls(ALL, (ALL,))

    @classmethod
    def of(cls, cells: Iterable[str], level: str = "") -> Self:
        """Take a plain list of names, without a table."""
        return cls(level or cls.word, cells)

    def with_elsewhere(self) -> Self:
        """Return the same axis with one more cell, for events that lie in no other.

        >>> axis = PlaceAxis.of(["North", "South"]).with_elsewhere()
        >>> axis.cells, axis.elsewhere
        (('North', 'South', 'elsewhere'), 2)
        """
        if self.has_elsewhere:
            return self
        if self.rest in map(fold_name, self.cells):
            raise SettingError(
                f"cells must not name a {self.word} {self.rest}, for the one that is added is called so. Rename yours, "
                "or add none."
            )
        cells = (*self.cells, self.rest)
        return type(self)(self.level, cells, self.gazetteer, self.table, has_elsewhere=True)

    def keep(self, numbers: Iterable[int]) -> Self:
        """Return an axis of these cells alone, in this order."""
        cells = [self.cells[number] for number in numbers]
        has_elsewhere = self.has_elsewhere and self.rest in cells
        return type(self)(self.level, cells, self.gazetteer, self.table, has_elsewhere=has_elsewhere)

    @property
    def elsewhere(self) -> int | None:
        """The number of the cell for events that lie in no other, None if there is none.

        A device whose name has no match reports this cell.
        """
        return self.cells.index(self.rest) if self.has_elsewhere else None

    @property
    def is_all(self) -> bool:
        """Whether its one cell stands for everything, whatever names events have."""
        return self.level == ALL

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def tiles(self) -> dict[str, tuple[int, int]] | None:
        """The (column, row) of each cell on a tile map, if the table gives one to every cell.

        The cell for events that lie in no other stands below the rest.
        """
        given = None if self.gazetteer is None else self.gazetteer.tiles
        named = [number for number in range(self.n_cells) if number != self.elsewhere]
        if given is None or not named or not {self.cells[number] for number in named} <= given.keys():
            return None
        placed = {self.cells[number]: given[self.cells[number]] for number in named}
        below = (min(column for column, _ in placed.values()), max(row for _, row in placed.values()) + 1)
        return {cell: placed.get(cell, below) for cell in self.cells}

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """The (latitude, longitude) of the cells to which the table gives one; of several finer places their mean."""
        if self.gazetteer is None or self.level not in self.gazetteer.levels:
            return {}
        found = self.gazetteer.points(self.level)
        return {cell: found[cell] for cell in self.cells if cell in found}

    @property
    def groups(self) -> tuple[str, ...]:
        """The levels that put our cells into several groups, the coarsest first."""
        names = () if self.gazetteer is None else self.gazetteer.levels
        coarser = names[names.index(self.level) + 1 :] if self.level in names else ()
        return tuple(level for level in reversed(coarser) if 1 < self._n_groups(level) < self.n_cells)

    def _n_groups(self, level: str) -> int:
        try:
            return self.coarsen(level)[0].n_cells
        except SettingError:  # cells that are not counted belong to the same groups
            return 0

    def match(self, names: Sequence[str | None]) -> NDArray[np.int32]:
        """Return the cell of each name, of this level or a finer one.

        -1 is an unknown name, -2 a known place outside the cells, -3 no name, -4 a name that could mean places in
        different cells; say which by a code, or as ``Foucherans (Jura)``. All of them lie :attr:`elsewhere`, where the
        axis has such a cell.
        """
        matcher = matcher_of(self.level, self.cells, self.gazetteer)
        numbers = np.fromiter((matcher.match(name) for name in names), np.int32, len(names))
        if self.gazetteer is None and self.table is not None and UNKNOWN in numbers:
            self._table_at_hand("match names that are not cells")
        return numbers

    def find(self, name: str) -> tuple[int, ...]:
        """Return the cells that make up a place of this level or a coarser one, for a question about it.

        A finer place is refused: a region's count says nothing of one of its towns.
        """
        folded = fold_name(name)
        for number, cell in enumerate(self.cells):
            if fold_name(cell) == folded:
                return (number,)
        if self.gazetteer is None:
            raise self._not_a_cell(name)
        numbers = {cell: number for number, cell in enumerate(self.cells)}
        meant: dict[int, set[str]] = {}
        for depth, row in self.gazetteer.find(name):
            if not row.is_outside:
                meant.setdefault(depth, set()).add(self.gazetteer.name_at(row, self.level))
        (depth, cells), *others = meant.items() or [(0, set[str]())]
        if not others and depth > self.gazetteer.depth(self.level) and cells <= numbers.keys():
            return tuple(sorted(numbers[cell] for cell in cells))
        raise self._not_a_cell(name, meant)

    def coarsen(self, level: str) -> tuple[Self, NDArray[np.int64]]:
        """Return the axis of a coarser level and, for every cell of this one, its cell there.

        The level "all" is above all others and has one cell.

        >>> departments, groups = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).coarsen("department")
        >>> departments.cells, int(groups.sum())
        (('Doubs',), 0)
        """
        if level == self.level:
            return self, np.arange(self.n_cells, dtype=np.int64)
        if level == ALL:
            return type(self).everything(), np.zeros(self.n_cells, np.int64)
        if self.elsewhere is not None:
            named = [number for number in range(self.n_cells) if number != self.elsewhere]
            coarser, of_named = self.keep(named).coarsen(level)
            groups = np.full(self.n_cells, coarser.n_cells, np.int64)
            groups[named] = of_named
            return coarser.with_elsewhere(), groups
        gazetteer = self._table_at_hand(f"coarsen {self.word}s")
        if gazetteer.depth(level) < gazetteer.depth(self.level):
            raise SettingError(
                f"level must be coarser than {self.level}; got level={level!r}. Start from an axis of {level} cells."
            )
        index = {cell: number for number, cell in enumerate(self.cells)}
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
        return type(self)(level, cells, gazetteer), np.array([cells.index(name) for name in names], np.int64)

    def to_dict(self, *, with_gazetteer: bool = True, with_rows: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML: level, cells, how to know the table again, and its rows.

        A table that comes with Tacit needs no rows.
        """
        values: dict[str, Any] = {"level": self.level, "cells": list(self.cells)}
        if self.has_elsewhere:
            values["elsewhere"] = True
        if with_gazetteer and self.table is not None:
            values["gazetteer"] = self.table.to_dict()
            if with_rows and self.gazetteer is not None and not self.gazetteer.is_builtin:
                values["gazetteer"] |= self.gazetteer.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, gazetteer: Gazetteer | str | Path | None = None) -> Self:
        """Rebuild an axis from the values of :meth:`to_dict`.

        The table is the one given (or the file, read by the columns of the one the axis was made with), else the one
        that the values carry, else ours of that name. No path in the values is ever opened: they may come from
        elsewhere. Without a table the axis still counts and answers, but matches only the names of its own cells. A
        table that is not the one the axis was made with is refused.
        """
        known = {"level", "cells", "gazetteer", "elsewhere"}
        if not isinstance(values, Mapping) or not {"level", "cells"} <= values.keys() <= known:
            raise SettingError(
                f"a {cls.word} axis must have level and cells, and may have gazetteer and elsewhere. Correct these "
                "names."
            )
        has_elsewhere = values.get("elsewhere", False)
        if "gazetteer" not in values:
            given = gazetteer if isinstance(gazetteer, Gazetteer | None) else Gazetteer.read(gazetteer, of=cls.tables)
            return cls(values["level"], values["cells"], given, has_elsewhere=has_elsewhere)
        reference, table = values["gazetteer"], TableReference.from_dict(values["gazetteer"])
        found: Gazetteer | None = None
        if isinstance(gazetteer, str | Path):
            found = table.read(gazetteer, of=cls.tables)
        elif gazetteer is not None:
            found = gazetteer
        elif "rows" in reference:
            found = Gazetteer.from_dict(reference, levels=table.levels, name=table.name, of=cls.tables)
        elif table.name in BUILTIN[cls.tables]:
            found = Gazetteer.builtin(table.name, cls.tables)
        if found is not None and found.sha256 != table.sha256:
            raise SettingError(
                f"gazetteer must be the table {table.name} with which the axis was made, sha256 {table.sha256[:12]}…; "
                f"got one with sha256 {found.sha256[:12]}…. Restore that table, or make a new plan with this one."
            )
        axis = cls(values["level"], values["cells"], found, table, has_elsewhere=has_elsewhere)
        object.__setattr__(axis, "table", table)  # with the columns of the file it was read from
        return axis

    def check_table(self) -> None:
        """Refuse an axis that was made with a table which is not at hand: towns could not be told from slips."""
        if self.table is not None:
            self._table_at_hand("match names")

    def _table_at_hand(self, purpose: str) -> Gazetteer:
        if self.gazetteer is not None:
            return self.gazetteer
        if self.table is None:
            raise SettingError(
                f"gazetteer must be given to {purpose}; this axis is a plain list of names. "
                f"Build it with {type(self).__name__}.from_gazetteer(table)."
            )
        raise SettingError(
            f"gazetteer must be at hand to {purpose}; the file names the table {self.table.name} without carrying it.",
            remedy=Remedy.GIVE_TABLE,
        )

    def _not_a_cell(self, name: str, meant: Mapping[int, set[str]] | None = None) -> SettingError:
        rule = f"{self.word}s must be cells of the {self.word} axis (level {self.level}); got {name!r}"
        if meant and len(meant) > 1 and self.gazetteer is not None:
            kinds = " and a ".join(self.gazetteer.levels[depth] for depth in sorted(meant))
            return SettingError(f"{rule}, both a {kinds}. Name the cells, or leave {self.word}s out for all of them.")
        if meant:
            around = set().union(*meant.values())
            inside = [cell for cell in self.cells if cell in around]
            if len(around) == len(inside) == 1:
                return SettingError(f"{rule}, which lies in {inside[0]}. Ask for {inside[0]!r}.")
            return SettingError(f"{rule}, which does not lie in one of them. Ask for one of the cells.")
        alike = [cell for cell in self.cells if fold_name(name) and fold_name(name) in fold_name(cell)]
        if alike:
            return SettingError(
                f"{rule}. {'These have' if alike[1:] else 'This has'} it in the name: {_some(list(map(repr, alike)))}."
            )
        close = difflib.get_close_matches(fold_name(name), list(map(fold_name, self.cells)), n=1, cutoff=0.5)
        cell = next((cell for cell in self.cells if [fold_name(cell)] == close), None)
        hint = f"The first of {self.n_cells} is {self.cells[0]!r}." if cell is None else f"Did you mean {cell!r}?"
        return SettingError(f"{rule}. {hint}")


_SHOWN: Final = 40  # names in one sentence: half of them are soon too few, twice as many are not read


class PlaceAxis(NamedAxis):
    """Places of one level. With a gazetteer, the towns of a region are counted in that region.

    >>> axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    >>> axis.n_cells, axis.cells[0]
    (17, 'CA du Grand Besançon')
    >>> axis.match(["BESANCON", "St Vit", "Nods", "Bonnal", "Paris", " "])
    array([ 0,  0,  6, -2, -1, -3], dtype=int32)
    """

    __slots__ = ()
    word = "place"
    rest = ELSEWHERE
    usual_level = "region"
    tables = PLACES


class KindAxis(NamedAxis):
    """Kinds of events. With a table of kinds in groups, a group is counted by its kinds.

    >>> table = Gazetteer.from_text("kind,group\\nfire,danger\\nflood,danger\\nfall,help\\n", of="kinds")
    >>> axis = KindAxis.from_gazetteer(table)
    >>> axis.cells, axis.find("danger"), axis.coarsen("group")[0].cells
    (('fire', 'flood', 'fall'), (0, 1), ('danger', 'help'))
    >>> axis.groups
    ('group',)
    """

    __slots__ = ()
    word = "kind"
    rest = OTHER
    usual_level = "kind"
    tables = KINDS


def _checked(cells: Iterable[str], word: str) -> tuple[str, ...]:
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise SettingError(f"cells must be a list of names; got cells={cells!r}. Put them in a list.")
    cells = tuple(cells)
    if not cells:
        raise SettingError(f"cells must name at least one {word}; got none. Give the names of the {word}s.")
    unnamed = [cell for cell in cells if not isinstance(cell, str) or not fold_name(cell)]
    if unnamed:
        raise SettingError(f"cells must be names; got {_some(list(map(repr, unnamed)))}. Give every {word} a name.")
    spellings: dict[str, list[str]] = {}
    for cell in cells:
        spellings.setdefault(fold_name(cell), []).append(cell)
    wrong = [" and ".join(map(repr, alike)) for alike in spellings.values() if alike[1:]]
    wrong += [repr(cell) for cell in cells if not is_on_one_line(cell)]
    if wrong:
        raise SettingError(
            "cells must be different names, also without accents and hyphens, each on one line without control "
            f"characters; got {_some(wrong)}. "
            f"List one plain spelling of each {word}: events with another that reads alike are counted there."
        )
    return cells


def _some(words: Sequence[str]) -> str:
    return ", ".join(words[:_SHOWN]) + (f" and {len(words) - _SHOWN} more" if words[_SHOWN:] else "")
