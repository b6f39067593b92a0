"""Exact counts of every cell, never to be published as they are; their summary, and what is odd about a table of them.

A table of (date, place, count) should have one row for each date and place. Where it has two, their counts add up,
for they may be parts of a whole (men and women, morning and afternoon); but they may also be a day pasted twice. A
period without a row counts as 0; but it may also have been lost. Neither is an error, so both are said.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import Domain, TimeAxis, sum_groups
from tacit.errors import DataError, SettingError
from tacit.events.badrows import FIRST_ROWS_KEPT, BadRowSummary
from tacit.events.interpret import EventBatch

# 32 MiB of keys and row numbers: ten years of days in 500 places
_MAX_ROWS: Final = 1 << 21
_LABELS_SHOWN: Final = 3  # a choice: they stand in one line with the words around them
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, which spreads keys; any odd one does
# 2 GiB of counts: days in 10,000 towns for 70 years, or a date far in the future on an axis without end
_MAX_CELLS: Final = 1 << 28
_FIRST_BINS: Final = 64  # a choice: the room is doubled whenever it is full
MOST_IN_A_CELL: Final = 1 << 53
"""The most a cell counts: whole numbers beyond it are not exact as floats; halved, half as many are counted."""
# rows of 10^12 events each, added to a full cell, still fit into 64 bits: 2^22 * 10^12 + 2^53 < 2^63
_ROWS_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class TableNotes:
    """The number of rows that repeat the date and place of an earlier row, and of periods without a row.

    ``n_compared`` rows were compared; the row numbers are those of the first repetitions, the periods the first empty
    ones of the ``n_periods`` on the time axis. ``compared_by`` says what a repeated row has in common with another,
    ``rows_of`` stands behind row numbers as in :class:`BadRowSummary`.

    >>> print(TableNotes(400, 1, (17,), 365, 2, ("2018-03-04", "2018-03-05")))
    1 row repeats the date and place of an earlier one, and was added to it (row 17)
    2 of 365 periods have no row, and count as 0 (2018-03-04, 2018-03-05)
    """

    n_compared: int
    n_repeated: int
    repeated_rows: tuple[int, ...]
    n_periods: int
    n_empty: int
    empty_periods: tuple[str, ...]
    compared_by: str = "date and place"
    rows_of: str = ""

    def lines(self) -> list[str]:
        """Return one line for each oddity, none if there is none."""
        lines = []
        if self.n_repeated:
            rows = _listed([str(row) for row in self.repeated_rows], self.n_repeated)
            what, noun = ("row repeats", "row") if self.n_repeated == 1 else ("rows repeat", "rows")
            was = "was" if self.n_repeated == 1 else "were"
            lines.append(
                f"{self.n_repeated} {what} the {self.compared_by} of an earlier one, and {was} added to it "
                f"({noun} {rows}{self.rows_of})"
            )
        if self.n_compared == _MAX_ROWS:
            lines.append(f"only the first {_MAX_ROWS:,} rows were searched for repetitions")
        if self.n_empty:
            labels = _listed(list(self.empty_periods[:_LABELS_SHOWN]), self.n_empty)
            have, noun = (
                ("has", "period") if self.n_periods == 1 else ("have" if self.n_empty > 1 else "has", "periods")
            )
            count = "counts" if self.n_empty == 1 else "count"
            lines.append(f"{self.n_empty} of {self.n_periods} {noun} {have} no row, and {count} as 0 ({labels})")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines()) or f"one row for each {self.compared_by}, no period without a row"


class TableWatcher:
    """Looks at the batches of a table of counts as they pass, in memory that does not grow without end.

    Watchers of consecutive parts add up in their order: of a table too long to be searched the first rows are.
    """

    def __init__(self, *, with_kinds: bool = False, rows_of: str = "") -> None:
        self._rows_of = rows_of
        self._compared_by = "date, place and kind" if with_kinds else "date and place"
        self._keys: list[NDArray[np.uint64]] = []
        self._rows: list[NDArray[np.int64]] = []
        self._n_compared = 0
        self._bins: set[int] = set()

    def add(self, batch: EventBatch) -> None:
        """Note the dates, names and periods of a batch."""
        self._bins.update(np.unique(batch.time_bin).tolist())
        if batch.name_word is None or self._n_compared == _MAX_ROWS:
            return
        # rows that were placed by coordinates have no name to compare
        chosen = np.flatnonzero(batch.name_word)[: _MAX_ROWS - self._n_compared]
        second = batch.seconds[chosen].astype("datetime64[s]").astype(np.int64).view(np.uint64)
        self._keys.append((batch.name_word[chosen] ^ second) * _MULTIPLIER ^ second)
        self._rows.append(batch.row[chosen])
        self._n_compared += len(chosen)

    def __add__(self, other: TableWatcher) -> TableWatcher:
        total = copy(self)
        total._bins = self._bins | other._bins
        room = _MAX_ROWS - self._n_compared
        total._keys, total._rows = list(self._keys), list(self._rows)
        for keys, rows in zip(other._keys, other._rows, strict=True):
            total._keys.append(keys[:room])
            total._rows.append(rows[:room])
            room -= len(total._rows[-1])
        total._n_compared = _MAX_ROWS - room
        return total

    def after(self, n_rows: int) -> TableWatcher:
        """Return the watcher of the same rows where so many rows stand before them."""
        later = copy(self)
        later._rows = [rows + n_rows for rows in self._rows]
        return later

    def notes(self, axis: TimeAxis) -> TableNotes:
        """Return the notes on a table, over the periods of an axis with an end."""
        repeated = self._repeated()
        n_periods = axis.n_bins or 0
        is_empty = np.ones(n_periods, np.bool_)
        is_empty[np.fromiter(self._bins, np.int64, len(self._bins))] = False
        empty = np.flatnonzero(is_empty)
        return TableNotes(
            n_compared=self._n_compared,
            n_repeated=len(repeated),
            repeated_rows=tuple(repeated[:FIRST_ROWS_KEPT].tolist()),
            n_periods=n_periods,
            n_empty=len(empty),
            empty_periods=tuple(axis.label(int(bin)) for bin in empty[:FIRST_ROWS_KEPT]),
            compared_by=self._compared_by,
            rows_of=self._rows_of,
        )

    def _repeated(self) -> NDArray[np.int64]:
        if not self._keys:
            return np.empty(0, np.int64)
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        _, first = np.unique(keys, return_index=True)
        is_repeated = np.ones(len(keys), np.bool_)
        is_repeated[first] = False
        return rows[is_repeated]


def _listed(shown: list[str], count: int) -> str:
    return ", ".join(shown) + (", …" if count > len(shown) else "")


@dataclass(frozen=True, slots=True, eq=False)
class EventCounts:
    """The number of events in each cell, and what became of every row.

    ``domain`` is the domain that was asked for, given an end (at the last event) if it had none; ``counts`` has its
    shape. ``n_rows`` is ``n_counted`` plus ``n_left_out`` (by ``where``) plus ``bad_rows.n_rows``. Where users' days
    are bounded, ``n_beyond`` events lay beyond the bound and were not counted, in ``n_rows_beyond`` of the
    ``n_counted`` rows. ``table`` tells what is odd about a table of counts, where a column gives them and no other
    tells users apart. The counts are exact and appear in no repr.
    """

    domain: Domain
    counts: NDArray[np.int64] = field(repr=False)
    n_rows: int
    n_counted: int
    n_left_out: int
    bad_rows: BadRowSummary
    n_beyond: int = 0
    n_rows_beyond: int = 0
    table: TableNotes | None = None

    @property
    def n_events(self) -> int:
        """The events in all cells; ``n_counted`` unless a column gives counts or users' days are bounded."""
        return int(self.counts.sum())


class CountKeeper:
    """Adds batches up; grows with the last bin where the time axis has no end. A ``watcher`` sees them, too.

    Keepers of parts of a source add up: ``+`` is associative and commutative, and a new keeper is its zero.
    """

    def __init__(self, domain: Domain, source: str, watcher: TableWatcher | None = None, *, rows_of: str = "") -> None:
        self._domain = domain
        self._rows_of = rows_of
        self._watcher = watcher
        self._source = source
        self._n_columns = domain.n_columns
        self._is_endless = domain.time.n_bins is None
        n_bins = _FIRST_BINS if domain.time.n_bins is None else domain.time.n_bins
        if n_bins * self._n_columns > _MAX_CELLS:
            raise DataError(
                f"the domain has {n_bins * self._n_columns} cells, more than can be counted at a time. "
                "Take a coarser step, coarser places or kinds, or a shorter time."
            )
        self._counts = np.zeros(n_bins * self._n_columns, np.int64)
        self._n_bins_used = 0
        self._n_counted = 0
        self.names_rows = True  # not where an engine counts parts, in which rows have other numbers

    def __add__(self, other: CountKeeper) -> CountKeeper:
        if not isinstance(other, CountKeeper):
            return NotImplemented
        if self._domain != other._domain:
            raise SettingError("counts over different domains cannot be added. Count both over one domain.")
        shorter, longer = sorted((self._counts, other._counts), key=len)
        total = copy(self)
        total._source = self._source if self._source == other._source else "the events"
        total._counts = longer.copy()
        total._counts[: len(shorter)] += shorter
        np.minimum(total._counts, MOST_IN_A_CELL, out=total._counts)
        total._n_bins_used = max(self._n_bins_used, other._n_bins_used)
        total._n_counted += other._n_counted
        if self._watcher is not None and other._watcher is not None:
            total._watcher = self._watcher + other._watcher
        return total

    @property
    def domain(self) -> Domain:
        """The domain as it was asked for."""
        return self._domain

    def after(self, n_rows: int) -> CountKeeper:
        """Return the keeper of the same rows where so many rows stand before them."""
        later = copy(self)
        later._watcher = None if self._watcher is None else self._watcher.after(n_rows)
        return later

    def __getstate__(self) -> dict[str, object]:
        """Of many cells few hold events where a keeper is sent from one machine to another."""
        cells = np.flatnonzero(self._counts)
        return self.__dict__ | {"_counts": (len(self._counts), cells, self._counts[cells])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        n_cells, cells, counts = state["_counts"]
        self.__dict__.update(state | {"_counts": np.zeros(n_cells, np.int64)})
        self._counts[cells] = counts

    def add(self, batch: EventBatch) -> None:
        """Count a batch."""
        self.add_units(self.take_in(batch), 1 if batch.count is None else batch.count)
        if self._watcher is not None:
            self._watcher.add(batch)

    def take_in(self, batch: EventBatch) -> NDArray[np.int64]:
        """Make room for a batch and return the cell of every row, for :meth:`add_units`."""
        if self._is_endless and len(batch):
            self._make_room(batch)
        self._n_counted += len(batch)
        return batch.time_bin * self._n_columns + batch.column

    def add_units(self, cells: NDArray[np.int64], units: int | NDArray[np.int64]) -> None:
        """Add so many events to each of the cells; a cell that is full stays as it is.

        What a cell holds is the smaller of the sum and :data:`MOST_IN_A_CELL`, in any order of the rows: one event more
        or less changes it by at most one, and no row can make the sum overflow.
        """
        if self._is_endless:  # another machine may have taken the rows in
            self._grow(int(cells.max(initial=-1)) // self._n_columns + 1)
        if isinstance(units, int):
            np.add.at(self._counts, cells, units)
            return
        for start in range(0, len(cells), _ROWS_AT_ONCE):
            some = cells[start : start + _ROWS_AT_ONCE]
            np.add.at(self._counts, some, units[start : start + _ROWS_AT_ONCE])
            self._counts[some] = np.minimum(self._counts[some], MOST_IN_A_CELL)

    def finish(self, *, n_rows: int, n_left_out: int, bad_rows: BadRowSummary) -> EventCounts:
        """Return the counts, cut after the last event where the axis has no end."""
        domain, counts = self._domain, self._counts.reshape(-1, self._n_columns)
        if self._is_endless:
            n_bins = max(1, self._n_bins_used)
            domain, counts = replace(domain, time=domain.time.with_end(n_bins)), counts[:n_bins].copy()
        table = None if self._watcher is None else self._watcher.notes(domain.time)
        return EventCounts(domain, counts, n_rows, self._n_counted, n_left_out, bad_rows, table=table)

    def _make_room(self, batch: EventBatch) -> None:
        n_bins = int(batch.time_bin.max()) + 1
        if n_bins * self._n_columns > _MAX_CELLS:
            row = "one of its rows"
            if self.names_rows:
                of = f"{self._rows_of}," if self._rows_of else ""
                row = f"row {int(batch.row[np.argmax(batch.time_bin)])}{of}"
            raise DataError(
                f"{self._source}: the date in {row} lies so far in the future that its cells cannot be held. "
                "Correct it, or give the time axis an end: later dates are then set aside."
            )
        self._grow(n_bins)

    def _grow(self, n_bins: int) -> None:
        self._n_bins_used = max(self._n_bins_used, n_bins)
        n_cells = self._n_bins_used * self._n_columns
        if n_cells > len(self._counts):
            grown = np.zeros(min(max(n_cells, 2 * len(self._counts)), _MAX_CELLS), np.int64)
            grown = grown[: len(grown) // self._n_columns * self._n_columns]
            grown[: len(self._counts)] = self._counts
            self._counts = grown


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
class KindSummary:
    """Events of one kind over all years: their total, and mean and maximum per day."""

    kind: str
    total: int
    mean: float
    max: int


@dataclass(frozen=True, slots=True)
class EventSummary:
    """Years, kinds if there are any, and the number of (place, week) and (place, month) cells with a single event.

    Where there are kinds, a cell is one of a place and a kind.

    Like the paper's Table 2, for any events; all of it is exact. A published table with such a cell tells that the
    event happened, when and where, and often to whom.
    """

    years: tuple[YearSummary, ...]
    place_level: str
    n_single_weeks: int
    n_occupied_weeks: int
    n_single_months: int
    n_occupied_months: int
    kinds: tuple[KindSummary, ...] = ()


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
        kinds=_of_kinds(counts.domain, table),
    )


def _of_kinds(domain: Domain, table: NDArray[np.int64]) -> tuple[KindSummary, ...]:
    if domain.kind is None:
        return ()
    per_day = table.reshape(len(table), -1, domain.n_kinds).sum(axis=1)
    return tuple(
        KindSummary(kind, int(of_kind.sum()), float(of_kind.mean()), int(of_kind.max()))
        for kind, of_kind in zip(domain.kind.cells, per_day.T, strict=True)
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
