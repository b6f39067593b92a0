"""A pass over rows that adds up: one after the other here, or in parts that an engine reads anywhere.

Whatever reads the rows, a table of raw columns becomes events by :class:`TableReader`, and events are taken in by
:class:`Pass`. Passes over consecutive parts of a source add up to the pass over the whole.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.domain import Domain
from tacit.errors import DataError, UnreadableFile
from tacit.events.badrows import BadRowLog, Reason
from tacit.events.contribution_bound import BoundedCount, ContributionBound
from tacit.events.dates import DateForm
from tacit.events.digest import DayDigest
from tacit.events.interpret import EventBatch, Interpreted, Interpreter
from tacit.events.sources import Piece, RawTable, Source

Progress = Callable[[int, int | None], None]
_MAX_WORKERS: Final = 4  # a choice: each holds a block in memory


class Sum(Protocol):
    """What events add up to. ``+`` is associative and commutative but for row numbers, and a new sum is its zero."""

    def add(self, batch: EventBatch) -> None:
        """Take events in."""

    def __add__(self, other: Self, /) -> Self:
        """Return the sum of two parts."""

    def after(self, n_rows: int) -> Self:
        """Return the same where so many rows stand before the part; row numbers grow."""


Added = TypeVar("Added", bound=Any)


@dataclass(slots=True)
class RowAccount:
    """The number of rows read, of those left out, and those set aside with their reasons.

    ``listed`` is every row that was set aside, where an engine is asked for a list of them.
    """

    n_rows: int = 0
    n_left_out: int = 0
    bad: BadRowLog = field(default_factory=BadRowLog)
    listed: list[tuple[Reason, NDArray[np.int64]]] | None = None

    def add(self, made: Interpreted, first_row: int) -> None:
        """Account for the rows of a table."""
        for reason, records in made.bad.items():
            self.bad.add(reason, records + first_row)
            if self.listed is not None:
                self.listed.append((reason, records + first_row))
        self.n_left_out += made.n_left_out
        self.n_rows += len(made.events) + made.n_left_out + sum(len(records) for records in made.bad.values())

    def __add__(self, other: RowAccount) -> RowAccount:
        listed = None if self.listed is None or other.listed is None else self.listed + other.listed
        return RowAccount(self.n_rows + other.n_rows, self.n_left_out + other.n_left_out, self.bad + other.bad, listed)

    def after(self, n_rows: int) -> RowAccount:
        """The account of rows that stand so many rows later."""
        listed = None if self.listed is None else [(reason, rows + n_rows) for reason, rows in self.listed]
        return replace(self, bad=self.bad.after(n_rows), listed=listed)


@dataclass(slots=True)
class Pass(Generic[Added]):
    """What was taken in of a source or a part of it: the sum, the digest of its days, and what became of its rows.

    ``n_records`` are the records of the part, blank ones and those set aside among them. Passes add up in the order of
    their parts.
    """

    total: Added
    digest: DayDigest | None
    account: RowAccount = field(default_factory=RowAccount)
    n_records: int = 0

    def take(self, made: Interpreted, first_row: int) -> None:
        """Take in the events of a table, and those that lack nothing but a user or a kind for the digest alone."""
        self.account.add(made, first_row)
        self.total.add(made.batch(first_row))
        if self.digest is not None:
            self.digest.update(made.events)
            self.digest.update(made.incomplete)

    def __add__(self, other: Pass[Added]) -> Pass[Added]:
        later = self.n_records
        return Pass(
            self.total + other.total.after(later),
            None if self.digest is None or other.digest is None else self.digest + other.digest,
            self.account + other.account.after(later),
            self.n_records + other.n_records,
        )


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads tables of raw columns as events: all that a machine needs which gets some of the tables."""

    name: str
    domain: Domain
    interpreter: Interpreter
    form: DateForm
    bound: ContributionBound | None = None
    only: slice | None = None

    def read(self, table: RawTable) -> Interpreted:
        """Return the events of a table; a column of a kind that cannot be read is refused."""
        return made_safely(self.name, lambda: self.interpreter.interpret(table, self.form, self.bound, self.only))


Made = TypeVar("Made")
Item = TypeVar("Item")
Result = TypeVar("Result")


def made_safely(name: str, make: Callable[[], Made]) -> Made:
    """Return what is made of a table; where Arrow fails, refuse the source by its name, for Arrow may quote a value."""
    pa: Any = require("pyarrow", extra="events")
    try:
        return make()
    except pa.ArrowException:
        pass
    raise DataError(
        f"{name}: a column is of a kind that cannot be read as dates, text or numbers. Convert it to one of these."
    )


class Engine(Protocol):
    """Runs passes somewhere else than here."""

    def run(self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[Added]) -> Pass[Added]:
        """Return ``start``, which is empty, with all rows of the source taken in."""

    def run_bounded(
        self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[BoundedCount]
    ) -> Pass[BoundedCount]:
        """Return the same where what a person adds is bounded: the rows of a person meet, and are counted."""


class Reading(Generic[Made]):
    """A pass that makes something of each table; ``make`` runs in several threads and sees nothing but its table."""

    def __init__(self, source: Source, positions: Sequence[int], make: Callable[[RawTable], Made]) -> None:
        self._source = source
        self._positions = positions
        self._make = make
        self._row = source.first_row
        self.n_rows = 0

    def run(self, progress: Progress | None = None) -> Iterator[tuple[int, Made]]:
        """Yield the row number of each table's first record, and what was made of the table."""
        with closing(in_order(self._work, self._source.pieces(self._positions))) as results:
            for piece, table, made in results:
                if made is None:
                    raise UnreadableFile(f"{self._source.name}, row {self._row + table.n_records}: {table.damage}.")
                yield self._row, made
                self._row += table.n_records
                self.n_rows += table.n_records - table.n_blank
                if progress is not None:
                    progress(piece.done, self._source.total)

    def _work(self, piece: Piece) -> tuple[Piece, RawTable, Made | None]:
        table = piece.load()
        return (
            piece,
            table,
            None if table.damage is not None else made_safely(self._source.name, lambda: self._make(table)),
        )


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of the items, with a few under way in other threads.

    Only as many items are taken as are under way, so that memory stays flat.

    >>> list(in_order(lambda number: number * number, range(5)))
    [0, 1, 4, 9, 16]
    """
    workers = min(_MAX_WORKERS, os.cpu_count() or 1)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="tacit-events") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
