"""One table of raw columns as events: a time bin, a column and a count for every good row, a reason for every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.domain import Domain, TimeAxis
from tacit.domain.zone import ZoneTable
from tacit.events.badrows import Reason
from tacit.events.columns import east_and_north, read_counts, read_location, read_number, read_users, text_of
from tacit.events.contribution_bound import ContributionBound, Hashes, PersonHash
from tacit.events.dates import BLANK, GOOD, DateForm, ReadDates, read_dates
from tacit.events.mapping import Condition, ReadOptions
from tacit.events.places import (
    MISSING,
    REASON_OF_KIND,
    REASON_OF_PLACE,
    NameMatcher,
    PointLocator,
    joined_words,
)
from tacit.events.sources import RawTable

LEFT_OUT: Final = 255  # a code beyond those of all reasons


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventBatch:
    """Some events in row order, as arrays of one length.

    ``time_bin`` and ``column`` are those of the domain, a column being a place, or a place and a kind. ``count`` is
    None where every row is one event; ``seconds`` is the wall clock in the axis' zone (``datetime64[s]``); ``row`` the
    number of the row. ``person`` is a keyed hash of the person and the window of a bound on that clock, two words a
    row, or None where nothing is bounded; ``name_word`` stands for the place and kind as written in a table of counts
    (0 if no place was), None elsewhere.
    """

    time_bin: NDArray[np.int64]
    column: NDArray[np.integer[Any]]
    count: NDArray[np.int64] | None
    seconds: NDArray[np.datetime64]
    row: NDArray[np.int64]
    person: Hashes | None = None
    name_word: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.time_bin)

    def take(self, chosen: NDArray[np.int64]) -> EventBatch:
        """Return the chosen rows."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        taken: Any = {name: None if column is None else column[chosen] for name, column in columns.items()}
        return EventBatch(**taken)

    def __repr__(self) -> str:
        return f"EventBatch({len(self)} rows)"  # never the values


@dataclass(frozen=True, slots=True, eq=False)
class Interpreted:
    """The events of a table, whose rows are numbered within it, and the rows that are no events.

    ``incomplete`` are events that lack nothing but a user or a kind: bad rows, but known again by their digest.
    """

    events: EventBatch
    incomplete: EventBatch
    bad: Mapping[Reason, NDArray[np.int64]]
    n_left_out: int

    def batch(self, first_row: int) -> EventBatch:
        """Return the events with the row numbers they have in the file."""
        return replace(self.events, row=self.events.row + first_row)


class Interpreter:
    """Reads tables whose columns come in the order of ``parts``. Safe to share between threads."""

    def __init__(
        self,
        domain: Domain,
        parts: tuple[str, ...],
        conditions: tuple[Condition, ...],
        options: ReadOptions,
        locator: PointLocator | None,
    ) -> None:
        self._axis = domain.time
        self._parts = {part: number for number, part in enumerate(parts)}
        self._conditions = conditions
        self._options = options
        self._locator = locator
        self._matcher = NameMatcher(domain.place)
        self._elsewhere = domain.place.elsewhere
        self._is_all = domain.place.is_all
        self._kind = domain.kind
        self._kind_matcher = None if domain.kind is None else NameMatcher(domain.kind)

    def interpret(
        self, table: RawTable, form: DateForm, bound: ContributionBound | None = None, only: slice | None = None
    ) -> Interpreted:
        """Read one table, row by row: no row has a say in how another is read. A bound tells its groups apart.

        Rows of other time bins than ``only`` are left out.
        """
        dates = read_dates(self._column(table, "time"), form)
        record = table.records()
        reason = self._left_out(table)
        _note(reason, dates.state != GOOD, Reason.UNREADABLE_DATE.code)
        reason[(dates.state == BLANK) & (reason != LEFT_OUT)] = Reason.NO_DATE.code
        time_bin, seconds = bins_and_clock(self._axis, dates, reason == 0)
        _note(reason, time_bin < 0, Reason.OUTSIDE_TIME.code)
        if only is not None:
            _note(reason, (time_bin < only.start) | (time_bin >= only.stop), LEFT_OUT)
        n_left_out = int(np.count_nonzero(reason == LEFT_OUT))
        count = None
        if "count" in self._parts:
            count, count_reason = read_counts(self._column(table, "count"), decimal=self._options.decimal)
            _note(reason, count_reason != 0, count_reason)
        place, word = self._places(table, reason)
        is_placed = reason == 0
        column, word = self._columns(table, place, word, reason)
        person, user_reason = self._persons(table, seconds, bound)
        _note(reason, user_reason != 0, user_reason)
        bad = {one: record[reason == one.code] for one in Reason if (reason == one.code).any()}
        bad |= {why: records for why, records in table.set_aside().items() if len(records)}
        events = EventBatch(time_bin, column, count, seconds, record, person, word)
        incomplete = events.take(np.flatnonzero(is_placed & (reason != 0)))
        if reason.any():
            events = events.take(np.flatnonzero(reason == 0))
        return Interpreted(events, incomplete, bad, n_left_out)

    def _column(self, table: RawTable, part: str) -> Any:
        return table.columns[self._parts[part]]

    def _left_out(self, table: RawTable) -> NDArray[np.uint8]:
        pc: Any = require("pyarrow.compute", extra="events")
        reason = np.zeros(len(table.columns[0]), np.uint8)
        for number, condition in enumerate(self._conditions):
            text = pc.utf8_trim_whitespace(text_of(self._column(table, f"where{number}")))
            is_equal = pc.equal(text, condition.value).to_numpy(zero_copy_only=False)
            reason[is_equal != condition.is_equal] = LEFT_OUT
        return reason

    def _persons(
        self, table: RawTable, clock: NDArray[np.datetime64], bound: ContributionBound | None
    ) -> tuple[Hashes | None, NDArray[np.uint8]]:
        if "user" not in self._parts:
            return None, np.zeros(len(clock), np.uint8)
        persons, reason = read_users(self._column(table, "user"))
        if bound is None:
            return None, reason
        return PersonHash(bound.key).hashes(persons, bound.windows(clock)), reason

    def _places(
        self, table: RawTable, reason: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64] | None]:
        word = None
        if self._is_all:
            cells, word = np.zeros(len(reason), np.int32), np.ones(len(reason), np.uint64)
        elif "place" in self._parts:
            cells, word = self._matcher.cells(self._column(table, "place"))
        else:
            cells = np.full(len(reason), MISSING, np.int32)
        if "count" not in self._parts:
            word = None
        if (cells >= 0).all():
            return cells, word
        if self._locator is not None:
            cells = self._located(table, cells, reason if self._elsewhere is None else reason.copy())
        if self._elsewhere is not None:  # then no place is bad
            return np.where(cells < 0, np.int32(self._elsewhere), cells), word
        for cell, why in REASON_OF_PLACE.items():
            _note(reason, cells == cell, why.code)
        return cells, word

    def _columns(
        self,
        table: RawTable,
        place: NDArray[np.int32],
        word: NDArray[np.uint64] | None,
        reason: NDArray[np.uint8],
    ) -> tuple[NDArray[np.integer[Any]], NDArray[np.uint64] | None]:
        """Return the columns of the domain, and a word for the names of each row.

        A row whose kind is bad stands in the column of its place's first kind, by which digests know its place.
        """
        if self._kind is None or self._kind_matcher is None:
            return place, word
        kind, kind_word = self._kind_matcher.cells(self._column(table, "kind"))
        if self._kind.elsewhere is not None:  # then no kind is bad
            kind = np.where(kind < 0, np.int32(self._kind.elsewhere), kind)
        elif (kind < 0).any():
            for cell, why in REASON_OF_KIND.items():
                _note(reason, kind == cell, why.code)
            kind = np.maximum(kind, 0)
        column = place.astype(np.int64) * self._kind.n_cells + kind
        return column, None if word is None else joined_words(word, kind_word)

    def _located(self, table: RawTable, cells: NDArray[np.int32], reason: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Find the cells of good rows without a place by their coordinates."""
        pa = require("pyarrow", extra="events")
        assert self._locator is not None
        rows = np.flatnonzero((cells == MISSING) & (reason == 0))
        if not len(rows):
            return cells
        chosen, decimal, crs = pa.array(rows), self._options.decimal, self._options.crs
        if "location" in self._parts:
            text = self._column(table, "location").take(chosen)
            first, second, is_blank = read_location(text, decimal=decimal)
            x, y = east_and_north(first, second, crs=crs)
        else:
            y, no_y = read_number(self._column(table, "latitude").take(chosen), decimal=decimal)
            x, no_x = read_number(self._column(table, "longitude").take(chosen), decimal=decimal)
            is_blank = no_x & no_y
        is_point = ~(np.isnan(x) | np.isnan(y))
        found = cells.copy()
        found[rows[is_point]] = self._locator.locate(x[is_point], y[is_point], crs=crs)
        reason[rows[~is_point & ~is_blank]] = Reason.UNREADABLE_LOCATION.code
        reason[rows[is_point & (found[rows] < 0)]] = Reason.OUTSIDE_LOCATION.code
        return found


def bins_and_clock(
    axis: TimeAxis, dates: ReadDates, is_good: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.datetime64]]:
    """Return the bin of every date (-1 where it is outside the axis or not good) and its wall clock."""
    clock = dates.seconds.astype("datetime64[s]")
    low, high = _limits(axis)
    near = is_good & (clock >= low)
    if high is not None:
        near &= clock <= high
    if not dates.is_instant.any():
        if near.all():
            return axis.bins_of_local(clock), clock
        return _scattered(axis.bins_of_local(clock[near]), near), clock
    bins = np.full(len(clock), -1, np.int64)
    local, instant = near & ~dates.is_instant, near & dates.is_instant
    bins[local] = axis.bins_of_local(clock[local])
    bins[instant] = axis.bins_of_utc(clock[instant])
    clock[instant] = wall_clock(clock[instant], axis.zone)
    return bins, clock


def wall_clock(instants: NDArray[np.datetime64], zone: str) -> NDArray[np.datetime64]:
    """Return instants (UTC) as the clock on the wall of a zone shows them.

    >>> wall_clock(np.array(["2018-07-01T00:30:00"], "datetime64[s]"), "Europe/Paris").tolist()[0].isoformat()
    '2018-07-01T02:30:00'
    """
    if not len(instants):
        return instants
    years = instants.astype("datetime64[Y]").astype(np.int64) + 1970
    table = ZoneTable.over(zone, int(years.min()), int(years.max()))
    return table.to_local(instants.astype("datetime64[s]").astype(np.int64)).astype("datetime64[s]")


@lru_cache(maxsize=8)
def _limits(axis: TimeAxis) -> tuple[np.datetime64, np.datetime64 | None]:
    """Return times beyond which a date is surely off the axis.

    The domain, asked for a date, works out the clock changes of all years up to it; it need not for a misprint.
    """
    low = np.datetime64(axis.start, "s") - np.timedelta64(2, "D")
    return low, None if axis.n_bins is None else axis.starts()[-1] + np.timedelta64(370, "D")


def _scattered(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    scattered = np.full(len(mask), -1, np.int64)
    scattered[mask] = values
    return scattered


def _note(reason: NDArray[np.uint8], mask: NDArray[np.bool_], code: int | NDArray[np.uint8]) -> None:
    """Give the rows of a mask a reason unless they have one."""
    new = mask & (reason == 0)
    if new.any():
        reason[new] = code if isinstance(code, int) else code[new]
