"""Reading a table of places or of kinds: any usual separator and encoding, English or French headers."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tacit._base.files import as_it_was
from tacit.domain.names import fold_name, is_on_one_line
from tacit.errors import DataError, MissingColumn, Remedy, UnreadableFile

Tiles = dict[str, tuple[int, int]]
Levels = Mapping[str, str] | Sequence[str] | None

PLACES: Final = "places"
KINDS: Final = "kinds"
# Folded headers, by what they mean, of a table of places and of one of kinds of events.
_LEVELS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    PLACES: {
        "town": (
            *("town", "town name", "city", "municipality", "commune", "ville", "nom commune", "nom com", "com nom"),
            *("libelle commune", "libgeo", "gemeinde", "comune", "municipio"),
        ),
        "region": (
            *("region", "region name", "epci", "epci name", "nom epci", "lib epci", "libepci", "libelle epci"),
            "intercommunalite",
        ),
        "department": ("department", "departement", "dept", "county", "nom departement", "lib dep", "libdep"),
    },
    KINDS: {
        "kind": ("kind", "type", "nature", "category", "categorie", "libelle"),
        "group": ("group", "groupe", "family", "famille", "class", "classe"),
    },
}
_OTHERS = {
    "code": ("code", "insee", "code insee", "codgeo", "code commune", "insee code"),
    "population": ("population", "pop", "inhabitants", "habitants", "pmun", "population municipale"),
    "outside": ("outside", "hors"),
    "alias": (
        *("alias", "aliases", "former names", "former name", "anciens noms", "ancien nom"),
        *("other names", "other name", "autres noms", "autre nom"),
    ),
    "alias_of": ("alias of", "now in", "alias de"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng", "long"),
    "tile_x": ("tile x",),
    "tile_y": ("tile y",),
}
# in official tables this is a code where one of the others stands beside it
_CODE_BESIDE = {"epci": {"epci name", "nom epci", "lib epci", "libepci", "libelle epci"}}
_YES = {"yes", "y", "true", "1", "oui", "o", "vrai", "x"}
_NO = {"", "no", "n", "false", "0", "non", "faux"}


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place of the finest level: its name, the coarser places it lies in, its codes and former names.

    ``point`` is its latitude and longitude, empty if they are not known.
    """

    name: str
    parents: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    population: int | None = None
    is_outside: bool = False
    point: tuple[float, ...] = ()


def is_point(numbers: Sequence[float]) -> bool:
    """Return whether numbers are a latitude and a longitude in degrees."""
    return len(numbers) == 2 and -90 <= numbers[0] <= 90 and -180 <= numbers[1] <= 180


def read_text(path: Path, *, of: str = PLACES) -> str:
    """Return the text of a table in UTF-8, UTF-16 (marked) or Windows' Latin-1."""
    try:
        content = path.read_bytes()
    except OSError as failed:
        raise UnreadableFile(f"the table of {of} {path} cannot be read ({failed.strerror}). Check the path.") from None
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise UnreadableFile(f"the table of {of} {path} must be a text file in UTF-8 or Latin-1. Export it as CSV.")


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read: its levels, finest first, the header of each, the places and where they are drawn.

    ``named`` are the headers of other columns that were found because they were named, by what they mean.
    """

    levels: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[PlaceRow, ...]
    tiles: Tiles
    named: dict[str, str]


def read_table(
    text: str, *, levels: Levels = None, columns: Mapping[str, str] | None = None, source: str, of: str = PLACES
) -> Table:
    """Read the text of a CSV file; ``levels`` are all levels there are, ``columns`` names single columns.

    ``of`` says whether it is a table of places or of kinds.
    """
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise UnreadableFile(f"the table of {of} {source} is empty. Give it a header and a row for each.")
    separator = max(";\t,", key=first.count)
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as failed:
        raise UnreadableFile(f"the table of {of} {source} is not a CSV file ({failed}). Export it again.") from None
    numbered = [(number, record) for number, record in enumerate(records, start=1) if any(map(str.strip, record))]
    (_, header), *body = numbered
    return _Reader(source, of, [cell.strip() for cell in header], levels, columns or {}).read(body)


@dataclass(frozen=True, slots=True)
class _Sought:
    """The names a column may have, the better ones first, and whether it must be there."""

    names: tuple[Sequence[str], ...]
    must_be_there: bool = True

    @classmethod
    def usual(cls, names: Sequence[str]) -> _Sought:
        return cls((names,), must_be_there=False)


class _Reader:
    """The columns of one table, found by name, and the checks on its rows."""

    def __init__(self, source: str, of: str, header: list[str], levels: Levels, columns: Mapping[str, str]) -> None:
        self.source = source
        self.of = of
        self._usual = _LEVELS[of]
        self.header = header
        self._folded = [fold_name(column) for column in header]
        self.named = {meaning: column for meaning, column in columns.items() if meaning in _OTHERS}
        seeking = self._levels(levels, {level: name for level, name in columns.items() if level not in _OTHERS})
        others = {
            meaning: _Sought(((self.named[meaning],),)) if meaning in self.named else _Sought.usual(_OTHERS[meaning])
            for meaning in _OTHERS
        }
        found = {meaning: self._find(meaning, sought) for meaning, sought in (others | seeking).items()}
        self.columns = {meaning: column for meaning, column in found.items() if column is not None}
        self.levels = tuple(level for level in seeking if level in self.columns)
        if not self.levels:
            example = "town, commune or region" if self.of == PLACES else "kind, type or nature"
            raise self._no_column(f"that names {self.of}, such as {example}", next(iter(self._usual)))

    def _levels(self, levels: Levels, named: Mapping[str, str]) -> dict[str, _Sought]:
        """Return what to look for as which level, finest first."""
        if levels is None and named.keys() - self._usual.keys():
            levels = named
        if isinstance(levels, Mapping):
            return {level: _Sought(((name,),)) for level, name in levels.items()}
        if levels is not None:
            return {level: _Sought(((level,), self._usual.get(level, ()))) for level in levels}
        if not named and (kind := self._only_kind()):
            return {kind.lower(): _Sought(((kind,),))}
        return {
            level: _Sought(((named[level],),)) if level in named else _Sought.usual(names)
            for level, names in self._usual.items()
        }

    def _only_kind(self) -> str | None:
        """Return the one column that can name places or kinds, where a table is a list under whatever header."""
        levels = {name for names in self._usual.values() for name in names}
        others = {name for names in _OTHERS.values() for name in names}
        if levels.intersection(self._folded):
            return None
        if self.of == KINDS and len(self.header) == 1:
            # places that a list has lost are missed at once, for their rows fall out; a rare kind might not be
            raise MissingColumn(
                f"the first line of the table of kinds {self.source} must name the column: kind; got {self.header[0]}. "
                "If that is a kind, write a line with the word kind above it, else in its place."
            )
        kinds = [name for name, folded in zip(self.header, self._folded, strict=True) if folded not in others]
        kinds = self.header if len(self.header) == 1 else kinds
        return kinds[0] if len(kinds) == 1 else None

    def _find(self, meaning: str, sought: _Sought) -> int | None:
        """Return the number of the column that is sought; None if it is not there and need not be."""
        for names in sought.names:
            folded = [fold_name(name) for name in names]
            found = [i for i, column in enumerate(self._folded) if column and column in folded]
            if len(found) > 1:
                found = [i for i in found if not _CODE_BESIDE.get(self._folded[i], set()).intersection(self._folded)]
            if len(found) > 1:
                raise DataError(
                    f"the table of {self.of} {self.source} must have one column for {meaning}; got "
                    f"{', '.join(self.header[i] for i in found)}.",
                    remedy=self._remedy,
                    meaning=meaning,
                )
            if found:
                return found[0]
        if sought.must_be_there:
            raise self._no_column(sought.names[0][0], meaning)
        return None

    def _no_column(self, what: str, meaning: str) -> MissingColumn:
        return MissingColumn(
            f"the table of {self.of} {self.source} must have a column {what}; got {', '.join(self.header)}.",
            remedy=self._remedy,
            meaning=meaning,
        )

    @property
    def _remedy(self) -> Remedy | str:
        return Remedy.NAME_PLACES_COLUMN if self.of == PLACES else "Rename a column."

    def read(self, records: list[tuple[int, list[str]]]) -> Table:
        """Return the table of these numbered records."""
        rows: list[PlaceRow] = []
        former: list[tuple[int, PlaceRow, str]] = []
        tiles: Tiles = {}
        for number, record in records:
            if len(record) != len(self.header):
                columns = "1 column" if len(self.header) == 1 else f"{len(self.header)} columns"
                raise self._error(number, f"must have {columns}; it has {len(record)}")
            row = self._row(number, record)
            if target := self._cell(record, "alias_of"):
                former.append((number, row, target))
                continue
            if not all(row.parents):
                raise self._error(number, f"must name its {self.levels[1 + row.parents.index('')]}")
            rows.append(row)
            self._add_tile(number, record, row, tiles)
        self._add_former(rows, former)
        self._check_duplicates(rows)
        headers = tuple(self.header[self.columns[level]] for level in self.levels)
        named = {meaning: self.header[self.columns[meaning]] for meaning in self.named}
        return Table(self.levels, headers, tuple(rows), tiles, named)

    def _row(self, number: int, record: list[str]) -> PlaceRow:
        name, *parents = (self._cell(record, level) for level in self.levels)
        if not fold_name(name):
            raise self._error(number, f"must name its {self.levels[0]}")
        for meaning in (*self.levels, "code", "alias"):
            if not is_on_one_line(self._cell(record, meaning)):
                raise self._error(number, f"must name its {meaning} on one line, without control characters")
        outside = self._cell(record, "outside").lower()
        if outside not in _YES | _NO:
            raise self._error(number, f"must say yes or no in column outside; got {outside!r}")
        population = self._cell(record, "population").replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
        if population and not population.isdecimal():
            raise self._error(number, f"must have a whole number as population; got {population!r}")
        code = self._cell(record, "code")
        aliases = tuple(part.strip() for part in self._cell(record, "alias").split("|") if part.strip())
        return PlaceRow(
            name,
            tuple(parents),
            (code,) if code else (),
            aliases,
            int(population) if population else None,
            outside in _YES,
            self._point(number, record),
        )

    def _point(self, number: int, record: list[str]) -> tuple[float, ...]:
        text = self._cell(record, "latitude"), self._cell(record, "longitude")
        if text == ("", ""):
            return ()
        try:
            point = tuple(float(part.replace(",", ".")) for part in text)
        except ValueError:
            point = ()
        if not is_point(point):
            rule = "must have degrees as latitude (-90 to 90) and longitude (-180 to 180), or neither"
            raise self._error(number, f"{rule}; got {text[0]!r} and {text[1]!r}")
        return point

    def _add_former(self, rows: list[PlaceRow], former: list[tuple[int, PlaceRow, str]]) -> None:
        """Give every place the names and codes of the alias rows that point to it."""
        by_key: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            for key in {fold_name(text) for text in (row.name, *row.codes)}:
                by_key.setdefault(key, []).append(index)
        for number, alias, target in former:
            found = by_key.get(fold_name(target), [])
            if len(found) != 1:
                what = "is not in the table" if not found else f"stands for several {self.levels[0]}s; use its code"
                raise self._error(number, f"must be an alias of one {self.levels[0]}; {target!r} {what}")
            row = rows[found[0]]
            rows[found[0]] = replace(
                row,
                codes=row.codes + alias.codes,
                aliases=(*row.aliases, alias.name, *alias.aliases),
            )

    def _add_tile(self, number: int, record: list[str], row: PlaceRow, tiles: Tiles) -> None:
        text = self._cell(record, "tile_x"), self._cell(record, "tile_y")
        if text == ("", ""):
            return
        if not all(part.isdecimal() for part in text):
            raise self._error(number, f"must have whole numbers as tile_x and tile_y; got {text[0]!r} and {text[1]!r}")
        # tiles are drawn for regions, or for towns where a table has no regions
        cell = row.parents[0] if row.parents else row.name
        position = int(text[0]), int(text[1])
        if tiles.setdefault(cell, position) != position:
            raise self._error(number, f"must give {cell} the same tile as the rows above; got {position}")
        if list(tiles.values()).count(position) > 1:
            raise self._error(number, f"must not share the tile {position} with another place")

    def _check_duplicates(self, rows: list[PlaceRow]) -> None:
        # towns of one name may lie in different regions; of two kinds of one name nobody knows which is meant
        named = [(row.name, *(row.parents if self.of == PLACES else ())) for row in rows]
        own = [(" / ".join(names), tuple(map(fold_name, names))) for names in named]
        codes = [(code, (fold_name(code),)) for row in rows for code in row.codes]
        for what, keys in ((self.levels[0], own), ("code", codes)):
            often = Counter(key for _, key in keys)
            twice = [(name, often[key]) for name, key in keys if often[key] > 1]
            if twice:
                raise DataError(
                    f"the table of {self.of} {self.source} must name every {what} once; got {twice[0][0]} "
                    f"{twice[0][1]} times. Remove the repeated rows."
                )

    def _cell(self, record: list[str], meaning: str) -> str:
        return as_it_was(record[self.columns[meaning]].strip()) if meaning in self.columns else ""

    def _error(self, number: int, rule: str) -> DataError:
        return DataError(f"row {number} of the table of {self.of} {self.source} {rule}. Correct that row.")
