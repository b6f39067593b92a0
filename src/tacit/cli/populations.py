"""From a table of inhabitants to a number for every place of a release."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from tacit.cli.sources import places_columns
from tacit.domain import Gazetteer, PlaceAxis
from tacit.errors import DataError, MissingColumn, SettingError

_OWN: Final = "builtin"


def populations(table: str | None, columns: Sequence[str] | None, axis: PlaceAxis) -> dict[str, float] | None:
    """The inhabitants of every place, from the release's own table or from another, by place or by town."""
    if columns and table in (None, _OWN):
        raise SettingError("--places-column is for a table of populations. Name it, too: --population FILE")
    if table is None:
        return None
    read = axis.gazetteer if table == _OWN else _read(table, places_columns(columns), axis.level)
    if read is None:
        raise SettingError(
            "the release has no table of places with populations. Name a CSV with the columns "
            f"{axis.level} and population: --population places.csv"
        )
    found = read.population(axis.level if axis.level in read.levels else read.levels[0])
    if not any(found.values()):
        raise DataError(
            f"the table of places {read.path or read.name} must have a column with populations; none was found. Name "
            "it population, or say which it is: --places-column population=COLUMN"
        )
    # a release whose table is not at hand still knows the names of its own places
    known = axis if axis.gazetteer is not None else PlaceAxis.of(axis.cells, axis.level)
    inhabitants = dict.fromkeys(axis.cells, 0.0)
    for cell, number in zip(known.match(list(found)), found.values(), strict=True):
        if cell >= 0 and cell != axis.elsewhere:
            inhabitants[axis.cells[cell]] += number
    if axis.elsewhere is not None:
        # no place has this name, so nobody lives there: it starts as large as places are on average
        inhabitants[axis.cells[axis.elsewhere]] = sum(inhabitants.values()) / max(axis.n_cells - 1, 1)
    absent = [place for place in axis.cells if not inhabitants[place] > 0]
    if absent:
        raise SettingError(
            f"populations must be there for every {axis.level}; {len(absent)} of {axis.n_cells} have none, the first "
            f"is {absent[0]}. Add them to the table, or leave --population out."
        )
    return inhabitants


def _read(table: str, columns: dict[str, str], level: str) -> Gazetteer:
    """A table of towns and what they belong to, or one of places of this level alone."""
    try:
        found = Gazetteer.read(table, columns=columns)
    except MissingColumn:
        if columns:
            raise
        return Gazetteer.read(table, levels=(level,))
    if level not in found.levels:
        with suppress(MissingColumn):
            return Gazetteer.read(table, levels=(level,), columns=columns)
    return found
