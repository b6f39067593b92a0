"""What one pass over a column tells the curator: the first and last date, the names in it. For the screen alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import as_it_was
from tacit.domain import TimeAxis
from tacit.domain.zone import zone_info
from tacit.errors import DataError, UnreadableFile
from tacit.events.columns import codes_of
from tacit.events.dates import GOOD, ReadDates, read_dates
from tacit.events.interpret import wall_clock
from tacit.events.mapping import EventColumns, ReadOptions, wanted_columns
from tacit.events.passes import Progress, Reading
from tacit.events.reader import find_columns, form_of_dates
from tacit.events.sources import RawTable, open_source

# Dates before or from here on are taken for misprints or stand-ins for "unknown" (0001-01-01, 9999-12-31).
_EARLIEST: Final = np.datetime64("1900-01-01", "s")
_TOO_LATE: Final = np.datetime64("2200-01-01", "s")
_MARGIN: Final = np.timedelta64(2, "D")  # more than any zone is away from UTC
_N_DAYS: Final = int((_TOO_LATE - _EARLIEST) / np.timedelta64(1, "D"))
_LONG_GAP: Final = 365  # days: half of it would cut a season off the next, twice as many keep 1970 at 1971
_SHORT_GAP: Final = 30  # days that are never a long gap: half would cut a quiet month off, twice as many keep misprints
_FEW: Final = 0.05  # of the rows: half would keep more stand-ins, twice as many cut off a first small year


@dataclass(frozen=True, slots=True)
class Span:
    """From the first to the last date, in the wall clock of ``zone``. No release may show it: the data decide it.

    ``n_dated`` rows have a date that can be read. Of these ``n_implausible``, dated before 1900 or after 2199, are left
    out of the span: a single misprint would stretch it over centuries. ``main`` are the first and the last day without
    those that lie far from the rest (:func:`main_days`), of which there are ``n_far`` rows.
    """

    first: np.datetime64
    last: np.datetime64
    zone: str
    n_rows: int
    n_dated: int
    n_implausible: int = 0
    main: tuple[str, str] = ("", "")
    n_far: int = 0

    def axis(self, step: str = "day") -> TimeAxis:
        """Return the time axis that covers the span in whole bins."""
        axis = TimeAxis.between(str(self.first)[:10], None, step, self.zone)
        start = axis.start
        whole = TimeAxis(start, step, self.zone)
        return whole.with_end(int(whole.bins_of_local(np.array([self.last]))[0]) + 1)


def scan_span(
    source: object,
    *,
    columns: EventColumns,
    options: ReadOptions | None = None,
    zone: str = "UTC",
    progress: Progress | None = None,
) -> Span:
    """Read only the column of dates and return the first and the last plausible one."""
    options = options or ReadOptions()
    zone_info(zone)
    wanted = wanted_columns(columns, with_coordinates=False)
    opened = open_source(source, options=options)
    time_at = find_columns(opened, wanted, are_public=opened.has_public_names)["time"]

    form = form_of_dates(opened, time_at, options)

    def make(table: RawTable) -> ReadDates:
        return read_dates(table.columns[0], form)

    reading = Reading(opened, (time_at,), make)
    ends: list[np.datetime64] = []
    n_dated = n_implausible = 0
    per_day = np.zeros(_N_DAYS, np.int64)
    for _, dates in reading.run(progress):
        clock = _plausible(dates, zone)
        n_good = int(np.count_nonzero(dates.state == GOOD))
        n_dated += n_good
        n_implausible += n_good - len(clock)
        if len(clock):
            ends = [min([*ends, clock.min()]), max([*ends, clock.max()])]
            numbers, found = np.unique(
                (clock - _EARLIEST).astype("timedelta64[D]").astype(np.int64), return_counts=True
            )
            per_day[numbers] += found
    if not reading.n_rows:
        raise UnreadableFile(f"{opened.name} holds column names but no rows. Export the events again.")
    if not ends:
        which = "between 1900 and 2199" if n_dated else "that can be read"
        raise DataError(f"{opened.name}: no row has a date {which}. Name another column as time, or give date_format.")
    main = main_days(per_day)
    first, last = (str(_EARLIEST.astype("datetime64[D]") + number) for number in (main.start, main.stop - 1))
    n_far = int(per_day.sum() - per_day[main.start : main.stop].sum())
    return Span(ends[0], ends[1], zone, reading.n_rows, n_dated, n_implausible, (first, last), n_far)


def main_days(per_day: NDArray[np.int64]) -> range:
    """Return the days from the first to the last one with rows, without those that lie far from the rest.

    Stand-ins for unknown dates (1970-01-01) and misprinted years stand alone. Days at an end lie far from the rest if
    the gap between is longer than a year, or longer than a month and than the rest itself, and if they are one day, or
    have at most a twentieth of the rows.

    >>> days = np.zeros(2000, np.int64)
    >>> days[[0, 1000, 1001, 1002]] = 7, 5, 5, 5
    >>> main_days(days)
    range(1000, 1003)
    """
    busy = np.flatnonzero(per_day)
    n_rows = per_day.sum()
    while len(busy) > 2:
        for far, rest in _parts(busy):
            is_little = len(far) == 1 < len(rest) or per_day[far].sum() <= _FEW * n_rows
            if is_little and len(far) < len(rest):
                busy = rest
                break
        else:
            break
    return range(int(busy[0]), int(busy[-1]) + 1)


def _parts(busy: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the days before the first long gap with the rest, and those after the last one with the rest."""
    gaps = np.diff(busy)
    early = np.flatnonzero(gaps > np.clip(busy[-1] - busy[1:] + 1, _SHORT_GAP, _LONG_GAP))
    late = np.flatnonzero(gaps > np.clip(busy[:-1] - busy[0] + 1, _SHORT_GAP, _LONG_GAP))
    if len(early):
        yield busy[: early[0] + 1], busy[early[0] + 1 :]
    if len(late):
        yield busy[late[-1] + 1 :], busy[: late[-1] + 1]


# names of places that are kept apart: a column with more holds no places but numbers or texts
_MOST_NAMES: Final = 10_000


def names_in(
    source: object, *, column: str, options: ReadOptions | None = None, progress: Progress | None = None
) -> dict[str, int]:
    """Return the distinct texts of a column with their numbers of rows, the most frequent first.

    They propose a list of places or kinds, and tell which names a list lacks: for the curator's screen alone.
    """
    options = options or ReadOptions()
    opened = open_source(source, options=options)
    position = find_columns(opened, {"place": column}, are_public=opened.has_public_names)["place"]

    def look(table: RawTable) -> Counter[str]:
        codes, names = codes_of(table.columns[0])
        counts = np.bincount(codes, minlength=len(names)).tolist()
        found: Counter[str] = Counter()
        for name, n_rows in zip(names, counts, strict=True):
            if name is not None and name.strip():
                found[as_it_was(name.strip())] += n_rows
        return found

    total: Counter[str] = Counter()
    for _, found in Reading(opened, (position,), look).run(progress):
        total += found
        if len(total) > _MOST_NAMES:
            raise DataError(
                f"{opened.name}: the column {column} holds more than {_MOST_NAMES:,} different texts, too many to be "
                "places. Name another column, or give a table of places."
            )
    return dict(sorted(total.items(), key=lambda entry: (-entry[1], entry[0])))


def _plausible(dates: ReadDates, zone: str) -> NDArray[np.datetime64]:
    """Return the wall clock of the dates from 1900 to 2199."""
    clock = dates.seconds.astype("datetime64[s]")
    is_near = (dates.state == GOOD) & (clock >= _EARLIEST - _MARGIN) & (clock < _TOO_LATE + _MARGIN)
    local, instants = clock[is_near & ~dates.is_instant], clock[is_near & dates.is_instant]
    clock = np.concatenate([local, wall_clock(instants, zone)])
    return clock[(clock >= _EARLIEST) & (clock < _TOO_LATE)]
