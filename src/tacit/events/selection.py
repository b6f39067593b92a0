"""Which rows a run of reports counts, as digests of the public settings that decide it.

A row sends a report if it can be read, if conditions keep it, and if its time, its place and (where kinds are counted)
its kind are among those that are counted. Each of these four is decided by other columns, so that each has a digest of
its own: equal digests mean that the same rows are counted, whatever they hold. The ledger compares them
(:mod:`tacit.privacy.following`). No row has a say in them.

Two settings that count the same rows may have different digests, never the reverse. A coarser level of the same table
is such a case only in part: it knows the names of its own cells too, and towns of one name in one cell. Where events of
any place or kind are counted, elsewhere or as other, lists and levels decide nothing.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from typing import Any, Final

from tacit.domain import NamedAxis, TimeAxis
from tacit.domain.names import fold_name
from tacit.events.mapping import EventColumns, ReadOptions, fold_column

ANY: Final = "any"
"""Stands for a digest where every row is counted."""
_RULES: Final = 1
"""To be raised whenever dates, names or numbers are read otherwise: the same settings then count other rows."""


def of_rows(columns: EventColumns, options: ReadOptions, query: str) -> str:
    """Return the digest of what decides whether a row is read at all, and how many events it stands for."""
    conditions = {(fold_column(one.column), one.value, one.is_equal) for one in columns.conditions}
    text = [options.separator, options.quote, options.fields_span_lines]
    encoding = None if options.encoding is None else codecs.lookup(options.encoding).name
    counted = None if columns.count is None else [fold_column(columns.count), options.decimal]
    return _digest(sorted(conditions), encoding, text, counted, query)


def of_time(column: str, date_format: str | None, axis: TimeAxis, only: slice | None) -> str:
    """Return the digest of the times that are counted: a span on the clock of an axis."""
    return _digest(fold_column(column), date_format, axis.zone, *axis.span(only))


def of_place(columns: EventColumns, options: ReadOptions, axis: NamedAxis, polygons: str) -> str:
    """Return the digest of the places that are counted; ``polygons`` is that of the areas in which points count."""
    if axis.has_elsewhere or axis.is_all:
        return ANY
    named = (columns.place, columns.location, columns.latitude, columns.longitude)
    points = [options.decimal, options.crs, polygons] if columns.has_coordinates else []
    return _digest([None if name is None else fold_column(name) for name in named], points, *_names(axis))


def of_kind(column: str | None, axis: NamedAxis | None) -> str:
    """Return the digest of the kinds that are counted; without kinds all are."""
    return ANY if axis is None or column is None or axis.has_elsewhere else _digest(fold_column(column), *_names(axis))


def _names(axis: NamedAxis) -> tuple[Any, ...]:
    """Return what decides which names an axis knows: a table, its level and cells; or a list of names."""
    if axis.table is None:
        return (sorted(map(fold_name, axis.cells)),)
    return axis.table.sha256, axis.level, sorted(axis.cells)


def _digest(*settings: Any) -> str:
    return hashlib.sha256(json.dumps([_RULES, *settings]).encode()).hexdigest()
