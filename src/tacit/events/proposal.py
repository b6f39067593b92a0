"""A description of a source, proposed from how the source looks: for the curator to confirm or correct.

This is the only place where events decide how they are read, and nothing is counted or released here. What is proposed
becomes a setting only when someone who knows the source says that it is true whatever its rows hold. Public
tables are read as they look, too (:func:`recognized`): they hold no events.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from operator import add
from pathlib import Path
from typing import Final

import numpy as np

from tacit.domain.names import fold_name
from tacit.domain.zone import zone_info
from tacit.errors import MissingColumn, Remedy, UnreadableFile
from tacit.events.columns import is_text
from tacit.events.csv_blocks import ByteStream, read_fully
from tacit.events.csv_source import Plain, Unzipped, fields_of
from tacit.events.dates import BLANK, GOOD, UNDECIDED, DateForm, ReadDates, holds_dates, read_dates
from tacit.events.mapping import SEPARATORS, EventColumns, ReadOptions, fold_column, looks_like_data, wanted_columns
from tacit.events.passes import Progress, Reading
from tacit.events.reader import find_columns, form_of_dates
from tacit.events.source_description import SourceDescription
from tacit.events.sources import RawTable, Source, SqlQuery, format_of, open_source, path_of

_SAMPLE_BYTES: Final = 1 << 20  # thousands of rows; the encoding is judged by the whole file, a sample at a time
# enough to see how rows are separated
_RECORDS_TRIED: Final = 200
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KIND_NAMES: Final = (
    *("kind", "kind of event", "type", "event type", "incident type", "call type", "category", "nature"),
    *("type d intervention", "type intervention", "nature d intervention", "nature intervention", "categorie", "motif"),
)
"""Folded names of columns that hold a kind of event and nothing else, as far as a name tells."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class DateFinding:
    """The exact numbers of dates of a source that are year first, only day first, only month first, or either."""

    n_year_first: int = 0
    n_day_first: int = 0
    n_month_first: int = 0
    n_either: int = 0

    @property
    def needs_order(self) -> bool:
        """Whether some dates do not begin with the year: their order is the owner's to say."""
        return bool(self.n_day_first + self.n_month_first + self.n_either)

    def __add__(self, other: DateFinding) -> DateFinding:
        return DateFinding(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A description to be confirmed, and what was found of the dates where no form was given.

    The description has no ``date_format`` where dates could be day first or month first, even if some rows can be read
    in one order only: what comes first must be known of the source, not concluded from a row.
    """

    description: SourceDescription
    dates: DateFinding | None = None


def propose_source(
    source: object,
    *,
    columns: EventColumns,
    options: ReadOptions | None = None,
    zone: str | None = None,
    with_kinds: bool = False,
    progress: Progress | None = None,
) -> Proposal:
    """Propose a description of a source; what ``options`` says is taken over, the rest is guessed from the source.

    ``with_kinds`` also looks for the column of kinds where none is named: one that is called kind, type or the like.

    >>> import pyarrow as pa
    >>> table = pa.table({"day": ["03/04/2025", "13/04/2025"], "town": ["Ornans", "Ornans"]})
    >>> proposal = propose_source(table, columns=EventColumns("day", "town"))
    >>> proposal.description.date_format, proposal.dates
    (None, DateFinding(n_year_first=0, n_day_first=1, n_month_first=0, n_either=1))
    """
    if zone is not None:
        zone_info(zone)
    wanted = wanted_columns(columns, with_coordinates=True)
    given = options or ReadOptions()
    options = recognized(source, wanted=tuple(wanted.values()), options=given)
    opened = open_source(source, options=options)
    if with_kinds and columns.kind is None:
        columns = replace(columns, kind=_column_of_kinds(opened.names, tuple(wanted.values())))
    # names that were taken from the file a moment ago may be those of a first event
    are_public = opened.has_public_names and options.names == given.names
    position = find_columns(opened, wanted, are_public=are_public)["time"]
    kind = opened.kind(position)
    finding = None
    if options.date_format is None and (kind is None or is_text(kind)):
        finding = _look_at_dates(opened, position, progress)
        if finding.n_year_first and not finding.needs_order:
            options = replace(options, date_format="year-first")
    elif kind is None or holds_dates(kind):
        form_of_dates(opened, position, options)
    return Proposal(SourceDescription.of(_format(source, options), columns, options, zone=zone), finding)


def propose_columns(source: object, *, options: ReadOptions | None = None) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of the columns of a source, and those that look like time, place and kind.

    This is for the owner's screen. Names and the first rows are looked at. Names are returned only where a column of
    dates shows that they are names: the first line of a file without names is an event.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [1], "begun": ["2025-04-03 08:08"], "Town": ["Ornans"], "Type": ["fire"]})
    >>> propose_columns(table)
    (('id', 'begun', 'Town', 'Type'), {'time': 'begun', 'place': 'Town', 'kind': 'Type'})
    """
    given = options or ReadOptions()
    opened = open_source(source, options=recognized(source, wanted=(), options=given))
    dated = _columns_of_dates(opened)
    if not dated and len(opened.names) == 1 and given.separator is None:
        raise MissingColumn(
            f"{opened.name}: its lines seem to be one column, which does not look like dates.",
            remedy=Remedy.GIVE_SEPARATOR,
        )
    if not dated or (given.names is None and looks_like_data(opened.names)):
        raise MissingColumn(
            f"{opened.name}: no column with a name of its own looks like dates.", remedy=Remedy.GIVE_NAMES
        )
    found = {"time": next((name for name in dated if _is_named(name, _TIME_WORDS)), dated[0])}
    others = [name for name in opened.names if name not in dated]
    if (place := next((name for name in others if _is_named(name, _PLACE_WORDS)), None)) is not None:
        found["place"] = place
    if (kind := _column_of_kinds(opened.names, tuple(found.values()))) is not None:
        found["kind"] = kind
    return tuple(opened.names), found


def check_looks(source: object, *, options: ReadOptions | None = None) -> None:
    """Refuse a source that no description would help: one that is empty, is no table, or has no row."""
    _first_rows(open_source(source, options=recognized(source, wanted=(), options=options or ReadOptions())))


def _first_rows(source: Source) -> RawTable:
    piece = next(iter(source.pieces(range(len(source.names)))), None)
    table = None if piece is None else piece.load()
    if table is None or not table.n_records:
        raise _no_rows(source)
    return table


def _no_rows(source: Source) -> UnreadableFile:
    return UnreadableFile(f"{source.name} holds column names but no rows to look at. Name another file.")


def _columns_of_dates(source: Source) -> list[str]:
    """Return the columns whose first rows hold dates, most of them."""
    table, found = _first_rows(source), []
    for name, column in zip(source.names, table.columns, strict=False):
        if is_text(column.type) or holds_dates(column.type):
            states = read_dates(column, DateForm()).state
            n_dates = np.count_nonzero((states == GOOD) | (states == UNDECIDED))
            if n_dates and 2 * n_dates >= np.count_nonzero(states != BLANK):
                found.append(name)
    return found


def _is_named(name: str, words: set[str]) -> bool:
    return not words.isdisjoint(fold_name(name).split())


_TIME_WORDS: Final = {
    *("date", "day", "time", "datetime", "timestamp", "sdate", "start", "started", "begin", "begun"),
    *("jour", "heure", "debut"),
}
_PLACE_WORDS: Final = {
    *("place", "town", "city", "municipality", "region", "district", "area", "neighbourhood", "neighborhood"),
    *("station", "branch", "library", "site", "location", "commune", "ville", "quartier"),
}
"""Folded words of names of columns that hold times, and places, as far as a name tells."""


def _column_of_kinds(names: Sequence[str], taken: Sequence[str]) -> str | None:
    """Return the one column whose name says that it holds kinds of events; None if none or several do."""
    others = {fold_column(name) for name in taken}
    found = [name.strip() for name in names if fold_name(name) in _KIND_NAMES and fold_column(name) not in others]
    return found[0] if len(found) == 1 else None


def recognized(source: object, *, wanted: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return the options, filled in with how a CSV file looks; for proposals and for public tables."""
    if isinstance(source, SqlQuery) or hasattr(source, "__arrow_c_stream__"):
        return options
    path = path_of(source)
    if (options.format or format_of(path)) in ("parquet", "xlsx"):
        return options
    return recognize_csv(path, wanted=wanted, options=options)


def _format(source: object, options: ReadOptions) -> str:
    if isinstance(source, SqlQuery):
        return "sql"
    if hasattr(source, "__arrow_c_stream__"):
        return "frame"
    return options.format or format_of(path_of(source))


def _look_at_dates(source: Source, position: int, progress: Progress | None) -> DateFinding:
    def look(table: RawTable) -> DateFinding:
        return _finding(read_dates(table.columns[0], DateForm()))

    reading = Reading(source, (position,), look)
    found = sum((made for _, made in reading.run(progress)), DateFinding())
    if not reading.n_rows:
        raise _no_rows(source)
    return found


def _finding(dates: ReadDates) -> DateFinding:
    n_day, n_month = (int(np.count_nonzero(mark)) for mark in (dates.proves_day_first, dates.proves_month_first))
    return DateFinding(
        n_year_first=int(np.count_nonzero(dates.state == GOOD)),
        n_day_first=n_day,
        n_month_first=n_month,
        n_either=int(np.count_nonzero(dates.state == UNDECIDED)) - n_day - n_month,
    )


def recognize_csv(path: Path, *, wanted: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Fill in what the options leave open about a CSV file, from how it looks.

    ``wanted`` are the columns asked for: the separator that brings most of them to light is the right one.
    """
    kind = options.format or format_of(path)
    with path.open("rb") as file:
        stream: ByteStream = Unzipped(file) if kind == "csv.gz" else Plain(file)
        sample, damage = read_fully(stream, _SAMPLE_BYTES)
        if damage is not None and not sample:
            raise UnreadableFile(f"{path.name}: {damage}.")
        if not sample:
            raise UnreadableFile(f"{path.name} is empty. Export the events again, or name another file.")
        encoding = options.encoding or _recognize_encoding(sample, stream, path.name, options)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample).removeprefix("\ufeff")
    if _CONTROL.search(text[:4096]) is not None:
        raise UnreadableFile(
            f"{path.name} is not a text table: it holds bytes that no text has. "
            "Export the events as CSV or Parquet; if it is text, give its encoding."
        )
    found = replace(options, format=kind, encoding=encoding)
    if options.names is not None:
        separator = options.separator or _recognize_separator(text, (), n_fields=len(options.names))
        return replace(found, separator=separator)
    hint = re.match(r"sep=([,;|:\t])(\r\n|\r|\n)", text)  # a line that some spreadsheets write, read and do not show
    body = text[len(hint[0]) :] if hint is not None else text
    separator = options.separator or (hint[1] if hint is not None else _recognize_separator(body, wanted))
    lines = _lines(body)
    n_blank = next((n for n, line in enumerate(lines) if line.strip("\r\n\t ;,|")), None)
    if n_blank is None:
        raise UnreadableFile(f"{path.name} holds no text but blank lines. Export the events again.")
    names = fields_of(lines[n_blank].encode(), separator, options.quote)
    if names is None:
        raise UnreadableFile(
            f"{path.name}, row {n_blank + 1}: a quote in the line of column names is not closed, or spans lines. "
            "Write the column names on one line."
        )
    return replace(
        found,
        separator=separator,
        header_lines=n_blank + 1 + (hint is not None),
        names=_with_trailing(names, _records(lines[n_blank + 1 : n_blank + 1 + _RECORDS_TRIED], separator)),
    )


def count_special(data: bytes) -> tuple[int, int]:
    """Return how many characters beyond ASCII are UTF-8, and how many bytes beyond ASCII belong to none of them.

    >>> count_special("Besançon".encode()), count_special("Besançon".encode("cp1252"))
    ((1, 0), (0, 1))
    """
    view = np.frombuffer(data + b"\0\0\0", np.uint8)
    special = np.flatnonzero(view >= 0x80)
    lead = view[special]
    follows = [(view[special + step] & 0xC0) == 0x80 for step in (1, 2, 3)]
    n_bytes = np.zeros(len(special), np.int64)
    n_bytes[(lead >= 0xC2) & (lead < 0xE0) & follows[0]] = 2
    n_bytes[(lead >= 0xE0) & (lead < 0xF0) & follows[0] & follows[1]] = 3
    n_bytes[(lead >= 0xF0) & (lead < 0xF5) & follows[0] & follows[1] & follows[2]] = 4
    return int(np.count_nonzero(n_bytes)), len(special) - int(n_bytes.sum())


def _recognize_encoding(sample: bytes, rest: ByteStream, name: str, options: ReadOptions) -> str:
    """Return the encoding by its mark, or UTF-8 unless most of what is not ASCII in the whole file is none."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return "utf-8-sig" if encoding == "utf-8" and not options.header_lines else encoding
    if b"\0" in sample[:4096]:
        raise UnreadableFile(
            f"{name} holds NUL bytes: it is no CSV file, or UTF-16 without a mark. "
            "Export the events as CSV in UTF-8, or give the encoding (utf-16-le or utf-16-be)."
        )
    n_special = n_strays = 0
    while sample:
        if not sample.isascii():
            found, strays = count_special(sample)
            n_special, n_strays = n_special + found, n_strays + strays
        sample, _ = read_fully(rest, _SAMPLE_BYTES)
    # Western text is UTF-8 by chance now and then (a capital É before a hard space), but seldom
    return "cp1252" if n_strays > 2 * n_special else "utf-8"


def _recognize_separator(text: str, wanted: Sequence[str], *, n_fields: int | None = None) -> str:
    asked = {fold_column(name) for name in wanted}
    lines = _lines(text)[: _RECORDS_TRIED + 1]

    def score(separator: str) -> tuple[int, float, int]:
        records = [record for record in _records(lines, separator) if record]
        if not records:
            return (0, 0.0, 0)
        n_found = len(asked & {fold_column(field) for field in records[0]})
        width = len(records[0]) if n_fields is None else n_fields
        n_alike = sum(len(record) == width for record in records)
        return (n_found, (n_alike / len(records)) if width > 1 else 0.0, width)

    return max(SEPARATORS, key=score)


def _lines(text: str) -> list[str]:
    # str.splitlines would also break at form feeds and the like
    return list(io.StringIO(text, newline=None))


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    records: list[list[str]] = []
    for line in lines:
        with suppress(csv.Error):  # the others are enough to judge by
            records.extend(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True))
    return records


def _with_trailing(names: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names, with a blank one where an export ends every row, but not the names, with a separator."""
    rows = [row for row in rows if row]
    if rows and all(len(row) == len(names) + 1 and not row[-1] for row in rows):
        return (*names, "")
    return names
