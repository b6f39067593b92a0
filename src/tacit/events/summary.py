"""For the curator's screen: the first and the last date of a source, and a summary of its events.

The summary is the paper's Table 2 for any events, and how much published aggregates would disclose. All of it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import TimeAxis, sum_groups
from tacit.domain.zone import zone_info
from tacit.errors import DataError, SettingError, UnreadableFile
from tacit.events.counts import EventCounts
from tacit.events.dates import GOOD, ReadDates, read_dates
from tacit.events.interpret import wall_clock
from tacit.events.mapping import EventColumns, ReadOptions, wanted_columns
from tacit.events.reader import Progress, Reading, find_columns, form_of_dates
from tacit.events.sources import RawTable, open_source

# Dates before or from here on are taken for misprints or stand-ins for "unknown" (0001-01-01, 9999-12-31).
_EARLIEST: Final = np.datetime64("1900-01-01", "s")
_TOO_LATE: Final = np.datetime64("2200-01-01", "s")
_MARGIN: Final = np.timedelta64(2, "D")  # more than any zone is away from UTC


@dataclass(frozen=True, slots=True)
class Span:
    """From the first to the last date, in the wall clock of ``zone``. No release may show it: the data decide it.

    ``n_dated`` rows have a date that can be read. Of these ``n_implausible``, dated before 1900 or after 2199, are left
    out of the span: a single misprint would stretch it over centuries.
    """

    first: np.datetime64
    last: np.datetime64
    zone: str
    n_rows: int
    n_dated: int
    n_implausible: int = 0

    def axis(self, step: str = "day") -> TimeAxis:
        """The time axis that covers the span in whole bins."""
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
    for _, dates in reading.run(progress):
        clock = _plausible(dates, zone)
        n_good = int(np.count_nonzero(dates.state == GOOD))
        n_dated += n_good
        n_implausible += n_good - len(clock)
        if len(clock):
            ends = [min([*ends, clock.min()]), max([*ends, clock.max()])]
    if not reading.n_rows:
        raise UnreadableFile(f"{opened.name} holds column names but no rows. Export the events again.")
    if not ends:
        which = "between 1900 and 2199" if n_dated else "that can be read"
        raise DataError(f"{opened.name}: no row has a date {which}. Name another column as time, or give date_format.")
    return Span(ends[0], ends[1], zone, reading.n_rows, n_dated, n_implausible)


def _plausible(dates: ReadDates, zone: str) -> NDArray[np.datetime64]:
    """The wall clock of the dates from 1900 to 2199."""
    clock = dates.seconds.astype("datetime64[s]")
    is_near = (dates.state == GOOD) & (clock >= _EARLIEST - _MARGIN) & (clock < _TOO_LATE + _MARGIN)
    local, instants = clock[is_near & ~dates.is_instant], clock[is_near & dates.is_instant]
    clock = np.concatenate([local, wall_clock(instants, zone)])
    return clock[(clock >= _EARLIEST) & (clock < _TOO_LATE)]


@dataclass(frozen=True, slots=True)
class YearSummary:
    """Events of one year: their total, and mean, standard deviation (n - 1), maximum and minimum per day."""

    year: int
    n_days: int
    total: int
    mean: float
    std: float
    max: int
    min: int


@dataclass(frozen=True, slots=True)
class EventSummary:
    """Years, and the number of (place, week) and (place, month) cells that hold a single event.

    A published table with such a cell tells that the event happened, when and where, and often to whom.
    """

    years: tuple[YearSummary, ...]
    place_level: str
    n_single_weeks: int
    n_occupied_weeks: int
    n_single_months: int
    n_occupied_months: int


def summarize(counts: EventCounts) -> EventSummary:
    """Summarize counts over days or hours; days of the axis without an event count as zero.

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> from tacit.events.badrows import BadRowSummary
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-04"), PlaceAxis.of(["North", "South"]))
    >>> table = np.array([[1, 0], [2, 2], [0, 0], [3, 0]])
    >>> summary = summarize(EventCounts(domain, table, 8, 8, 0, BadRowSummary()))
    >>> summary.years[0].total, summary.years[0].mean, summary.years[0].max, summary.years[0].min
    (8, 2.0, 4, 0)
    """
    time = counts.domain.time
    if time.step not in ("day", "hour") and not time.step.endswith("hours"):
        raise SettingError(
            f"step must be a day or shorter to summarize days; got step={time.step!r}. Count the events by day."
        )
    days, day_of_bin = time.coarsen("day")
    table = sum_groups(counts.counts, day_of_bin, n_groups=days.n_bins)
    years = days.starts().astype("datetime64[Y]").astype(np.int64) + 1970
    per_day = table.sum(axis=1)
    single_weeks, occupied_weeks = _singles(table, days.coarsen("week")[1])
    single_months, occupied_months = _singles(table, days.coarsen("month")[1])
    return EventSummary(
        years=tuple(_year(int(year), per_day[years == year]) for year in np.unique(years)),
        place_level=counts.domain.place.level,
        n_single_weeks=single_weeks,
        n_occupied_weeks=occupied_weeks,
        n_single_months=single_months,
        n_occupied_months=occupied_months,
    )


def _year(year: int, per_day: NDArray[np.int64]) -> YearSummary:
    return YearSummary(
        year=year,
        n_days=len(per_day),
        total=int(per_day.sum()),
        mean=float(per_day.mean()),
        std=float(per_day.std(ddof=1)) if len(per_day) > 1 else float("nan"),
        max=int(per_day.max()),
        min=int(per_day.min()),
    )


def _singles(table: NDArray[np.int64], groups: NDArray[np.int64]) -> tuple[int, int]:
    sums = sum_groups(table, groups)
    return int(np.count_nonzero(sums == 1)), int(np.count_nonzero(sums))
