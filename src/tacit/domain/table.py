"""Reading a table of places: any usual separator and encoding, English or French headers."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.domain.names import fold_name
from tacit.errors import DataError, MissingColumn, UnreadableFile

Tiles = dict[str, tuple[int, int]]
Levels = Mapping[str, str] | Sequence[str] | None

# Folded headers, by what they mean.
_LEVELS = {
    "town": ("town", "commune", "ville", "city", "municipality", "nom commune", "town name", "com nom"),
    "region": ("region", "epci", "epci name", "nom epci", "region name", "intercommunalite"),
    "department": ("department", "departement", "dept", "county", "nom departement"),
}
_OTHERS = {
    "code": ("code", "insee", "code insee", "codgeo", "code commune", "insee code"),
    "population": ("population", "pop", "inhabitants", "habitants"),
    "outside": ("outside", "hors"),
    "alias": ("alias", "aliases", "former names", "former name", "anciens noms", "ancien nom"),
    "alias_of": ("alias of", "now in", "alias de"),
    "tile_x": ("tile x",),
    "tile_y": ("tile y",),
}
_KNOWN_LEVEL_NAMES = {name for names in _LEVELS.values() for name in names}
_YES = {"yes", "y", "true", "1", "oui", "o", "vrai", "x"}
_NO = {"", "no", "n", "false", "0", "non", "faux"}


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place of the finest level: its name, the coarser places it lies in, its codes and former names."""

    name: str
    parents: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    population: int | None = None
    is_outside: bool = False


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 (marked) or Windows' Latin-1."""
    try:
        content = path.read_bytes()
    except OSError as failed:
        raise UnreadableFile(
            f"the table of places {path} cannot be read ({failed.strerror}). Check the path."
        ) from None
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise UnreadableFile(f"the table of places {path} must be a text file in UTF-8 or Latin-1. Export it as CSV.")


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read: its levels, finest first, the header of each, the places and where they are drawn."""

    levels: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[PlaceRow, ...]
    tiles: Tiles


def read_table(text: str, *, levels: Levels = None, source: str) -> Table:
    """Read the text of a CSV file."""
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise UnreadableFile(f"the table of places {source} is empty. Give it a header and one row a town.")
    separator = max(";\t,", key=first.count)
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as failed:
        raise UnreadableFile(f"the table of places {source} is not a CSV file ({failed}). Export it again.") from None
    numbered = [(number, record) for number, record in enumerate(records, start=1) if any(map(str.strip, record))]
    (_, header), *body = numbered
    return _Reader(source, [cell.strip() for cell in header], levels).read(body)


class _Reader:
    """The columns of one table, found by name, and the checks on its rows."""

    def __init__(self, source: str, header: list[str], levels: Levels) -> None:
        self.source = source
        self.header = header
        if levels is None and len(header) == 1 and fold_name(header[0]) not in _KNOWN_LEVEL_NAMES:
            wanted = {header[0].lower(): header[0]}  # a plain list of places, of whatever kind
        elif levels is None:
            wanted = dict.fromkeys(_LEVELS, "")
        elif isinstance(levels, Mapping):
            wanted = dict(levels)
        else:
            wanted = {level: level for level in levels}
        found = {meaning: self._find(meaning, wanted.get(meaning, "")) for meaning in (*wanted, *_OTHERS)}
        self.columns = {meaning: column for meaning, column in found.items() if column is not None}
        self.levels = tuple(level for level in wanted if level in self.columns)
        missing = ["town"] if levels is None else [wanted[level] for level in wanted if level not in self.columns]
        if not self.levels or (levels is not None and missing):
            raise MissingColumn(
                f"the table of places {source} must have a column {' and a column '.join(missing)}; got "
                f"{', '.join(header)}. Rename a column, or say which column is which level."
            )

    def _find(self, meaning: str, name: str) -> int | None:
        """Return the column of this name, or else of this meaning."""
        folded = [fold_name(column) for column in self.header]
        known = (_LEVELS | _OTHERS).get(meaning, ())
        for names in ((fold_name(name),), known):
            found = [i for i, column in enumerate(folded) if column and column in names]
            if len(found) > 1:
                raise DataError(
                    f"the table of places {self.source} must have one column for {meaning}; got "
                    f"{', '.join(self.header[i] for i in found)}. Rename one, or say which column is which level."
                )
            if found:
                return found[0]
        return None

    def read(self, records: list[tuple[int, list[str]]]) -> Table:
        """Return the table of these numbered records."""
        rows: list[PlaceRow] = []
        former: list[tuple[int, PlaceRow, str]] = []
        tiles: Tiles = {}
        for number, record in records:
            if len(record) != len(self.header):
                raise self._error(number, f"must have {len(self.header)} columns; it has {len(record)}")
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
        return Table(self.levels, headers, tuple(rows), tiles)

    def _row(self, number: int, record: list[str]) -> PlaceRow:
        name, *parents = (self._cell(record, level) for level in self.levels)
        if not fold_name(name):
            raise self._error(number, f"must name its {self.levels[0]}")
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
        )

    def _add_former(self, rows: list[PlaceRow], former: list[tuple[int, PlaceRow, str]]) -> None:
        """Give every place the names and codes of the alias rows that point to it."""
        by_key: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            for key in {fold_name(text) for text in (row.name, *row.codes)}:
                by_key.setdefault(key, []).append(index)
        for number, alias, target in former:
            found = by_key.get(fold_name(target), [])
            if len(found) != 1:
                what = "is not in the table" if not found else "stands for several towns; use its code"
                raise self._error(number, f"must be an alias of one town; {target!r} {what}")
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
        towns = [
            (" / ".join((row.name, *row.parents)), tuple(map(fold_name, (row.name, *row.parents)))) for row in rows
        ]
        codes = [(code, (fold_name(code),)) for row in rows for code in row.codes]
        for what, keys in (("town", towns), ("code", codes)):
            often = Counter(key for _, key in keys)
            twice = [(name, often[key]) for name, key in keys if often[key] > 1]
            if twice:
                raise DataError(
                    f"the table of places {self.source} must name every {what} once; got {twice[0][0]} "
                    f"{twice[0][1]} times. Remove the repeated rows."
                )

    def _cell(self, record: list[str], meaning: str) -> str:
        return record[self.columns[meaning]].strip() if meaning in self.columns else ""

    def _error(self, number: int, rule: str) -> DataError:
        return DataError(f"row {number} of the table of places {self.source} {rule}. Correct that row.")
