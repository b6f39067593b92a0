"""A description of a source, proposed from how the source looks: for the curator to confirm or correct.

This is the only place where events decide how they are read, and nothing is counted or released here. What is proposed
becomes a setting only when someone who knows the source says that it is true whatever its rows hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.domain.zone import zone_info
from tacit.errors import UnreadableFile
from tacit.events.arrays import is_text
from tacit.events.date_format import DateForm
from tacit.events.dates import GOOD, UNDECIDED, ReadDates, holds_dates, read_dates
from tacit.events.mapping import EventColumns, ReadOptions, wanted_columns
from tacit.events.reader import find_columns, form_of_dates
from tacit.events.reading import Progress, Reading
from tacit.events.source_description import SourceDescription
from tacit.events.sources import RawTable, Source, SqlQuery, format_of, open_source, path_of


@dataclass(frozen=True, slots=True)
class DateFinding:
    """How the dates of a source look, exactly: how many are year first, only day first, only month first, or either."""

    n_year_first: int = 0
    n_day_first: int = 0
    n_month_first: int = 0
    n_either: int = 0

    @property
    def needs_order(self) -> bool:
        """Whether some dates do not begin with the year: their order is the owner's to say."""
        return bool(self.n_day_first + self.n_month_first + self.n_either)

    def __add__(self, other: DateFinding) -> DateFinding:
        return DateFinding(
            self.n_year_first + other.n_year_first,
            self.n_day_first + other.n_day_first,
            self.n_month_first + other.n_month_first,
            self.n_either + other.n_either,
        )


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
    progress: Progress | None = None,
) -> Proposal:
    """Propose a description of a source; what ``options`` says is taken over, the rest is guessed from the source.

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


def recognized(source: object, *, wanted: Sequence[str], options: ReadOptions) -> ReadOptions:
    """The options, filled in with how a CSV file looks; for proposals and for public tables."""
    if isinstance(source, SqlQuery) or hasattr(source, "__arrow_c_stream__"):
        return options
    path = path_of(source)
    if (options.format or format_of(path)) == "parquet":
        return options
    from tacit.events.csv_recognition import recognize_csv

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
        raise UnreadableFile(f"{source.name} holds column names but no rows to look at. Name another file.")
    return found


def _finding(dates: ReadDates) -> DateFinding:
    n_day, n_month = (int(np.count_nonzero(mark)) for mark in (dates.proves_day_first, dates.proves_month_first))
    return DateFinding(
        n_year_first=int(np.count_nonzero(dates.state == GOOD)),
        n_day_first=n_day,
        n_month_first=n_month,
        n_either=int(np.count_nonzero(dates.state == UNDECIDED)) - n_day - n_month,
    )
