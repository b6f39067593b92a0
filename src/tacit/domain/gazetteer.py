"""A public table of places, towns in regions in departments, or of kinds in groups; with codes and other names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.domain.names import fold_code, fold_name, split_qualifier
from tacit.domain.table import KINDS, PLACES, Levels, PlaceRow, is_point, read_table, read_text
from tacit.errors import DataError, SettingError

BUILTIN = {PLACES: ("doubs",), KINDS: ("doubs",)}
"""The tables of places and of kinds that come with Tacit."""
_FARTHEST_TILE = 1000  # of a map drawn by hand; tables have some dozens
Entry = tuple[int, PlaceRow]


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """Places of the finest level, each in one place of every coarser level.

    ``levels`` go from fine to coarse. Rows may be declared outside: they are known, so that an event there can be
    told from a spelling mistake, and belong to no cell. ``columns`` are the headers of the levels, ``named`` those of
    other columns that had to be named, by what they mean. Two tables are equal if their places, codes and aliases are;
    populations, tiles and points are not compared. ``of`` says whether it is a table of places or one of kinds in
    groups.

    >>> doubs = Gazetteer.builtin("doubs")
    >>> doubs.levels, len(doubs.names("town")), len(doubs.names("region"))
    (('town', 'region', 'department'), 571, 17)
    """

    levels: tuple[str, ...]
    rows: tuple[PlaceRow, ...] = field(repr=False)
    name: str = ""
    path: str | None = None
    columns: tuple[str, ...] = ()
    tiles: dict[str, tuple[int, int]] | None = field(default=None, repr=False)
    named: Mapping[str, str] = field(default_factory=dict, repr=False)
    of: str = field(default=PLACES, repr=False)

    def __post_init__(self) -> None:
        if not self.levels or not any(not row.is_outside for row in self.rows):
            raise DataError(
                f"the table of {self.of} {self.name} must have at least one {self.of[:-1]} that is not outside. "
                "Add rows to it."
            )

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        levels: Levels = None,
        columns: Mapping[str, str] | None = None,
        name: str | None = None,
        of: str = PLACES,
    ) -> Gazetteer:
        """Read a table of your own from a CSV file: one row a town or kind, one column a level.

        Columns are found by their names, English or French: town or commune, region or epci, department or
        departement; code or insee, population, outside (yes or no), alias (former names, with ``|`` between them) or
        alias_of (in the row of a former name, the town or code it belongs to now), latitude and longitude (or lat and
        lon, in degrees: where a page draws the place), tile_x and tile_y. ``columns`` says
        what has another name: ``{"town": "NOM_COM", "population": "PTOT"}``; the rest is still recognized, unless
        levels of your own are among them, which then are all levels: ``{"branch": "Name"}``. ``levels`` names all
        levels, finest first, or gives each its column. A table with one column that is none of these is a list of
        places of that kind: of libraries, say. A table ``of="kinds"`` has kind or type, group or family, and the other
        columns. Separator (comma, semicolon, tab) and encoding (UTF-8, Latin-1) are recognized.
        """
        path = Path(path)
        return cls.from_text(
            read_text(path, of=of), levels=levels, columns=columns, name=name or path.stem, path=str(path), of=of
        )

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        levels: Levels = None,
        columns: Mapping[str, str] | None = None,
        name: str = "table",
        path: str | None = None,
        of: str = PLACES,
    ) -> Gazetteer:
        """Read a table from the text of a CSV file, as :meth:`read` does.

        >>> Gazetteer.from_text("town;region\\nAarhus C;Aarhus\\nViby;Aarhus\\n").names("region")
        ('Aarhus',)
        """
        table = read_table(text, levels=levels, columns=columns, source=path or name, of=of)
        return cls(table.levels, table.rows, name, path, table.columns, table.tiles or None, table.named, of)

    @classmethod
    def builtin(cls, name: str, of: str = PLACES) -> Gazetteer:
        """Return a table that comes with Tacit: ``doubs``, a French department with the 17 regions of the paper.

        The one ``of="kinds"`` names what the synthetic interventions there are about.
        """
        if name not in BUILTIN[of]:
            is_file = Path(name).is_file()
            raise SettingError(
                f"{of} must be a table that is built in ({', '.join(BUILTIN[of])}) or a CSV file; got {of}={name!r}, "
                + (
                    "a file. Read it with Gazetteer.read."
                    if is_file
                    else "which is neither: there is no such file. Check the name and the folder."
                )
            )
        return _builtin(name, of)

    @property
    def is_builtin(self) -> bool:
        """Whether it is a table that comes with Tacit, known by its name to whoever has Tacit."""
        return self.name in BUILTIN[self.of] and self == _builtin(self.name, self.of)

    def to_dict(self) -> dict[str, str]:
        """Return all places as plain values, for a plan or release that carries its table: JSON, a line for each place.

        A line has the name, the coarser places, codes, former names, inhabitants (null if unknown), whether it is
        declared outside, and latitude and longitude where they are known.
        """
        rows = ([r.name, r.parents, r.codes, r.aliases, r.population, r.is_outside, *r.point] for r in self.rows)
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        values = {"rows": "\n".join(lines)}
        return values if self.tiles is None else values | {"tiles": json.dumps(self.tiles, ensure_ascii=False)}

    @classmethod
    def from_dict(cls, values: Mapping[str, str], *, levels: tuple[str, ...], name: str, of: str = PLACES) -> Gazetteer:
        """Rebuild a table from the values of :meth:`to_dict`; one that is no table is refused."""
        try:
            rows = tuple(_row_of(json.loads(line), len(levels)) for line in values["rows"].splitlines())
            tiles = None
            if "tiles" in values:
                tiles = {str(cell): (_tile(x), _tile(y)) for cell, (x, y) in json.loads(values["tiles"]).items()}
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise SettingError(
                f"the table of {of} {name} that the file carries is damaged. Ask for the file again."
            ) from None
        return cls(levels, rows, name, tiles=tiles, of=of)

    def names(self, level: str) -> tuple[str, ...]:
        """Return the places of a level in the order of the table, without those declared outside.

        Towns of the same name in different regions are told apart: ``Foucherans (39233)``.
        """
        return tuple(dict.fromkeys(self.name_at(row, level) for row in self.rows if not row.is_outside))

    def depth(self, level: str) -> int:
        """Return how coarse a level is, 0 the finest."""
        if level not in self.levels:
            raise SettingError(
                f"level must be one of {', '.join(self.levels)}, the levels of the table {self.name}; got "
                f"level={level!r}. Take one of them."
            )
        return self.levels.index(level)

    def name_at(self, row: PlaceRow, level: str) -> str:
        """Return the name of the place of this level in which a row lies."""
        depth = self.depth(level)
        return row.parents[depth - 1] if depth else self._own_names[row]

    def find(self, name: str) -> tuple[Entry, ...]:
        """Return every (depth, row) a name may mean; a coarser place stands for all of its rows.

        A code is a name. In ``Foucherans (Jura)`` the second part picks among namesakes: a coarser place or a code.
        """
        found = self._find(name)
        qualified = split_qualifier(name)
        if found or qualified is None:
            return found
        place, within = qualified
        return tuple(
            (depth, row)
            for depth, row in self._find(place)
            if fold_name(within) in map(fold_name, row.parents) or fold_code(within) in map(fold_code, row.codes)
        )

    def population(self, level: str) -> dict[str, int]:
        """Return the inhabitants of every place of a level, as far as the table gives them."""
        total = dict.fromkeys(self.names(level), 0)
        for row in self.rows:
            if not row.is_outside:
                total[self.name_at(row, level)] += row.population or 0
        return total

    def points(self, level: str) -> dict[str, tuple[float, float]]:
        """Return the latitude and longitude of the places of a level, as far as the table gives them: means of rows."""
        found: dict[str, list[tuple[float, ...]]] = {}
        for row in self.rows:
            if row.point and not row.is_outside:
                found.setdefault(self.name_at(row, level), []).append(row.point)
        return {
            place: (sum(y for y, _ in points) / len(points), sum(x for _, x in points) / len(points))
            for place, points in found.items()
        }

    @cached_property
    def entries(self) -> dict[str, tuple[Entry, ...]]:
        """The rows that every folded name, alias and code may mean."""
        found: dict[str, dict[Entry, None]] = {}
        for row in self.rows:
            names = (row.name, self._own_names[row], *row.aliases, *row.codes)
            own = {*map(fold_name, names), *map(fold_code, row.codes)}
            for depth, keys in enumerate((own, *({fold_name(parent)} for parent in row.parents))):
                for key in keys:
                    found.setdefault(key, {})[depth, row] = None
        return {key: tuple(rows) for key, rows in found.items()}

    @cached_property
    def sha256(self) -> str:
        """The digest of levels, places, codes and aliases."""
        rows = [[r.name, r.parents, r.codes, r.aliases, r.is_outside] for r in self.rows]
        text = json.dumps([self.levels, rows], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gazetteer) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def _find(self, name: str) -> tuple[Entry, ...]:
        return self.entries.get(fold_name(name), ())

    @cached_property
    def _own_names(self) -> dict[PlaceRow, str]:
        seen: dict[str, int] = {}
        for row in self.rows:
            seen[fold_name(row.name)] = seen.get(fold_name(row.name), 0) + 1
        return {
            row: row.name if seen[fold_name(row.name)] == 1 else f"{row.name} ({_qualifier(row)})" for row in self.rows
        }


@dataclass(frozen=True, slots=True)
class TableReference:
    """A plan's note of its table of places: how to know it again, never where it lies.

    ``columns`` and ``named`` are the headers of a file that was read, by which a copy of it is read.
    """

    sha256: str
    name: str = field(compare=False)
    levels: tuple[str, ...] = field(default=(), compare=False)
    columns: tuple[str, ...] = field(default=(), compare=False)
    named: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def to(cls, gazetteer: Gazetteer) -> TableReference:
        """Refer to a table at hand."""
        if gazetteer.is_builtin:
            return cls(gazetteer.sha256, gazetteer.name)
        named = dict(gazetteer.named)
        return cls(gazetteer.sha256, gazetteer.name, gazetteer.levels, gazetteer.columns, named)

    def read(self, path: str | Path, *, of: str = PLACES) -> Gazetteer:
        """Read the table from a file that the user names, by the columns of the one that was."""
        levels = dict(zip(self.levels, self.columns, strict=True)) if self.columns else None
        return Gazetteer.read(path, levels=levels, columns=self.named, name=self.name, of=of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON or TOML."""
        values: dict[str, Any] = {"name": self.name, "sha256": self.sha256}
        if self.levels:
            values |= {"levels": list(self.levels), "columns": list(self.columns)}
        if self.named:
            values["named"] = dict(self.named)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TableReference:
        """Rebuild a reference from the values of :meth:`to_dict`; a path in it, as once was written, is left out."""
        known = {"name", "sha256", "path", "levels", "columns", "named", "rows", "tiles"}
        if not isinstance(values, Mapping) or not {"name", "sha256"} <= values.keys() <= known:
            raise SettingError(
                "gazetteer must have name and sha256, and may have levels, columns, named, rows and tiles; got other "
                "names. Correct them."
            )
        levels, columns, named = values.get("levels", []), values.get("columns", []), values.get("named", {})
        if not (isinstance(named, Mapping) and _are_texts([*named.keys(), *named.values()])):
            raise SettingError("named of a gazetteer must give names of columns. Correct them.")
        n_columns = (0, len(levels)) if "rows" in values else (len(levels),)  # a table that is carried needs no columns
        if not (_are_texts(levels) and _are_texts(columns) and len(columns) in n_columns):
            raise SettingError("levels and columns of a gazetteer must be lists of one length. Correct them.")
        if not _are_texts([values["name"], values["sha256"], values.get("path", "")]):
            raise SettingError("name, sha256 and path of a gazetteer must be texts. Correct them.")
        return cls(values["sha256"], values["name"], tuple(levels), tuple(columns), dict(named))


def _are_texts(values: object) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values)


def _row_of(values: list[Any], n_levels: int) -> PlaceRow:
    name, parents, codes, aliases, population, is_outside, *point = values
    for texts in ([name], parents, codes, aliases):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts")
    is_count = population is None or (type(population) is int and population >= 0)
    if not fold_name(name) or len(parents) != n_levels - 1 or not is_count or not isinstance(is_outside, bool):
        raise ValueError("row")
    if point and not (all(type(one) in (int, float) for one in point) and is_point(point)):
        raise ValueError("point")
    return PlaceRow(name, tuple(parents), tuple(codes), tuple(aliases), population, is_outside, tuple(point))


def _tile(position: Any) -> int:
    if type(position) is not int or not 0 <= position <= _FARTHEST_TILE:
        raise ValueError("tile")
    return position


def _qualifier(row: PlaceRow) -> str:
    return row.codes[0] if row.codes else ", ".join(row.parents)


@lru_cache(maxsize=8)
def _builtin(name: str, of: str) -> Gazetteer:
    folder = resources.files("tacit.domain").joinpath(of)
    table = read_table(folder.joinpath(f"{name}.csv").read_text(encoding="utf-8"), source=name, of=of)
    drawn = folder.joinpath(f"{name}_tiles.csv")
    tiles = read_table(drawn.read_text(encoding="utf-8"), source=f"{name}_tiles").tiles if of == PLACES else None
    return Gazetteer(table.levels, table.rows, name, tiles=tiles, of=of)
