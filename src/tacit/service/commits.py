"""Counting a group of messages in one transaction: the statements that run for every group, in each database's words.

The group takes the locks of its surveys in the order of their names, and holds them until the end. So no two processes
add to one survey at a time, none closes a period meanwhile, and none waits for another in a circle. PostgreSQL is asked
twice for a whole group: once for what is known, once for what is added. A process that finds the tallies as it left
them asks once: one statement adds the group if all is still as it was left, and fails otherwise. Statements go to the
driver itself, over one connection that is kept: a report that comes alone costs a commit, and little beside it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any, Final, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from tacit.collection.wire.message import ID_BYTES
from tacit.service.survey import Addition

Bin = tuple[str, int]
"""A survey and a public bin."""
Message = tuple[str, bytes]
"""A survey and the id of a message."""
Tallies = Mapping[Bin, tuple[int, bytes]]
"""The number of reports and the statistics of public bins."""

MOST_LEFT: Final = 1024
"""Tallies that are remembered as they were left. With 1,024 places they take 8 MB; with half as many, surveys of many
public bins ask twice more often."""


@unique
class Outcome(Enum):
    """What became of a message."""

    COUNTED = "counted"
    SEEN = "seen"
    """It was counted before: whoever sends it again is told what the first answer would have said."""
    CLOSED = "closed"


class Known(NamedTuple):
    """What the store says of a group: periods closed by survey, messages that are new, tallies of its bins."""

    n_closed: Mapping[str, int]
    new: Collection[Message]
    tallies: Tallies


Run = tuple[bytes, str, int, bytes]
"""A random number, a survey, a public bin, and reports of it."""
Sums = tuple[str, int, int, bytes]
"""A survey, a public bin, its number of reports, and its statistics."""


@dataclass(slots=True)
class Writer:
    """Adds groups of messages to a database over one connection of its engine."""

    engine: sa.Engine
    _connection: sa.PoolProxiedConnection | None = None
    _left: dict[Bin, tuple[int, bytes]] = field(default_factory=dict)
    _is_alone: bool = False
    """Whether the last group that asked found its tallies as they were left here: no other process adds to them."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, additions: Sequence[Addition]) -> list[Outcome]:
        """Count messages in one transaction: all of them, or none if the database fails. Each counts once.

        A connection that was lost is made again once. What may have been counted before it went is seen then.
        """
        with self._lock:
            was_kept = self._connection is not None
            try:
                return self._add(additions)
            except self._dialect.dbapi.Error as problem:
                if not was_kept or not self._dialect.is_disconnect(problem, None, None):
                    raise
            return self._add(additions)

    def close(self) -> None:
        """Give the connection back; the next group makes another."""
        with self._lock:
            if self._connection is not None:
                self._connection.invalidate()  # not back to the others: it begins its transactions in its own way
            self._connection = None

    @property
    def _dialect(self) -> Any:
        return self.engine.dialect

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """The driver's connection. After a failure nothing is left of it: neither a transaction nor a lock."""
        if self._connection is None:
            self._connection = self.engine.raw_connection()
        connection: Any = self._connection.driver_connection
        try:
            if self._dialect.name == "postgresql" and not connection.autocommit:
                connection.autocommit = True  # transactions begin as we say
            yield connection
        except BaseException:
            self._is_alone = False
            broken, self._connection = self._connection, None
            with suppress(Exception):
                broken.invalidate()
            raise

    def _add(self, additions: Sequence[Addition]) -> list[Outcome]:
        with self._connected() as connection:
            if self._dialect.name == "postgresql" and self._added_at_once(connection, additions):
                return [Outcome.COUNTED] * len(additions)
            return self._asked_first(connection, additions)

    def _added_at_once(self, connection: Any, additions: Sequence[Addition]) -> bool:
        """Add a group of new messages with one statement, if no other process adds to its tallies."""
        bins = _bins_of(additions)
        if not self._is_alone or not all(key in self._left for key in bins):
            return False
        sums = _sums_of(additions, self._left)
        try:
            _add_postgres(connection, additions, [self._left[key] for key in bins], sums)
        except (self._dialect.dbapi.IntegrityError, self._dialect.dbapi.DataError):  # nothing of it was done
            return False
        self._leave(sums)
        return True

    def _asked_first(self, connection: Any, additions: Sequence[Addition]) -> list[Outcome]:
        """Ask what is known of a group, and add what is new."""
        ask, write = _STATEMENTS[self._dialect.name]
        known = ask(connection, additions)
        fresh: dict[Message, Addition] = {}
        outcomes = []
        for one in additions:
            key = one.survey_id, one.message_id
            if one.periods[0] < known.n_closed[one.survey_id]:
                outcomes.append(Outcome.CLOSED)
            elif key in known.new and key not in fresh:
                fresh[key] = one
                outcomes.append(Outcome.COUNTED)
            else:
                outcomes.append(Outcome.SEEN)
        sums = _sums_of(fresh.values(), known.tallies)
        write(connection, _runs_of(fresh.values()), sums)
        self._is_alone = all(self._left.get(key) == known.tallies.get(key) for key in _bins_of(additions))
        self._leave(sums)
        return outcomes

    def _leave(self, sums: Sequence[Sums]) -> None:
        """Remember tallies as they were left; those of other bins are forgotten where they are too many."""
        if len(self._left) + len(sums) > MOST_LEFT:
            self._left.clear()
        self._left.update({(name, bin): (n, statistics) for name, bin, n, statistics in sums})


def _runs_of(additions: Collection[Addition]) -> list[Run]:
    """The reports by bin, under numbers that say neither when they came nor which came together."""
    runs = [
        (secrets.token_bytes(ID_BYTES), one.survey_id, bin, piece.tobytes())
        for one in additions
        for bin, piece in zip(one.bins.tolist(), _pieces(one), strict=True)
    ]
    runs.sort()
    return runs


def _pieces(addition: Addition) -> list[NDArray[np.uint8]]:
    """The reports of each bin of a message."""
    if len(addition.bins) == 1:
        return [addition.reports]
    return np.split(addition.reports, np.cumsum(addition.run_lengths)[:-1])


def _sums_of(additions: Collection[Addition], before: Tallies) -> list[Sums]:
    """The new tallies of all bins that change, ascending."""
    sums: dict[Bin, tuple[int, NDArray[np.int64]]] = {}
    for one in additions:
        for bin, n, row in zip(one.bins.tolist(), one.run_lengths.tolist(), one.statistics, strict=True):
            key = one.survey_id, bin
            if key in sums:
                n, row = sums[key][0] + n, sums[key][1] + row
            elif key in before:
                n, row = before[key][0] + n, np.frombuffer(before[key][1], "<i8") + row
            sums[key] = n, row
    return [(*key, sums[key][0], sums[key][1].astype("<i8").tobytes()) for key in sorted(sums)]


def _bins_of(additions: Sequence[Addition]) -> list[Bin]:
    return sorted({(one.survey_id, bin) for one in additions for bin in one.bins.tolist()})


# SQLite: statements cost microseconds, and one writer is let in at a time


def _ask_sqlite(connection: Any, additions: Sequence[Addition]) -> Known:
    connection.execute("BEGIN IMMEDIATE")
    n_closed = {
        name: int(connection.execute("SELECT n_closed FROM survey WHERE id = ?", (name,)).fetchone()[0])
        for name in {one.survey_id for one in additions}
    }
    noted = "INSERT INTO seen (survey, message) VALUES (?, ?) ON CONFLICT DO NOTHING"
    new = {
        (one.survey_id, one.message_id)
        for one in additions
        if one.periods[0] >= n_closed[one.survey_id]
        and connection.execute(noted, (one.survey_id, one.message_id)).rowcount
    }
    asked = "SELECT n_reports, statistics FROM tally WHERE survey = ? AND bin = ?"
    found = ((key, connection.execute(asked, key).fetchone()) for key in _bins_of(additions))
    return Known(n_closed, new, {key: row for key, row in found if row is not None})


def _write_sqlite(connection: Any, runs: list[Run], sums: list[Sums]) -> None:
    connection.executemany("INSERT INTO run (id, survey, bin, reports) VALUES (?, ?, ?, ?)", runs)
    connection.executemany(
        "INSERT INTO tally (survey, bin, n_reports, statistics) VALUES (?, ?, ?, ?) ON CONFLICT (survey, bin) "
        "DO UPDATE SET n_reports = excluded.n_reports, statistics = excluded.statistics",
        sums,
    )
    connection.execute("COMMIT")


# PostgreSQL: a question and its answer cost a fraction of a millisecond, so rows go as arrays and statements together

_LOCK: Final = "SELECT id, n_closed FROM survey WHERE id = ANY(%b::text[]) ORDER BY id FOR NO KEY UPDATE"
_NOTE: Final = (
    "INSERT INTO seen (survey, message) SELECT one.survey, one.message "
    "FROM unnest(%b::text[], %b::bytea[], %b::int8[]) AS one (survey, message, period) "
    "JOIN survey ON survey.id = one.survey AND one.period >= survey.n_closed "
    "ORDER BY one.survey, one.message ON CONFLICT DO NOTHING RETURNING survey, message"
)
_TALLIES: Final = (
    "SELECT tally.survey, tally.bin, n_reports, statistics FROM tally "
    "JOIN unnest(%b::text[], %b::int8[]) AS one (survey, bin) ON tally.survey = one.survey AND tally.bin = one.bin"
)
_KEEP: Final = (
    "INSERT INTO run (id, survey, bin, reports) SELECT * FROM unnest(%b::bytea[], %b::text[], %b::int8[], %b::bytea[])"
)
_COUNT: Final = (
    "INSERT INTO tally (survey, bin, n_reports, statistics) "
    "SELECT * FROM unnest(%b::text[], %b::int8[], %b::int8[], %b::bytea[]) ON CONFLICT (survey, bin) "
    "DO UPDATE SET n_reports = excluded.n_reports, statistics = excluded.statistics"
)


def _ask_postgres(connection: Any, additions: Sequence[Addition]) -> Known:
    names = [one.survey_id for one in additions]
    with connection.pipeline():
        connection.execute("BEGIN")
        locked = connection.execute(_LOCK, (sorted(set(names)),), binary=True)
        ids, periods = [one.message_id for one in additions], [one.periods[0] for one in additions]
        noted = connection.execute(_NOTE, (names, ids, periods), binary=True)
        tallies = connection.execute(_TALLIES, _columns(_bins_of(additions)), binary=True)
    return Known(
        dict(locked.fetchall()),
        set(noted.fetchall()),
        {(name, bin): (n, statistics) for name, bin, n, statistics in tallies.fetchall()},
    )


def _write_postgres(connection: Any, runs: list[Run], sums: list[Sums]) -> None:
    with connection.pipeline():
        if runs:
            connection.execute(_KEEP, _columns(runs))
            connection.execute(_COUNT, _columns(sums))
        connection.execute("COMMIT")


_AT_ONCE: Final = (  # all wait for the survey's lock, as others do, by joining it
    "WITH open AS MATERIALIZED (SELECT id, n_closed FROM survey WHERE id = ANY(%b::text[]) ORDER BY id "
    "FOR NO KEY UPDATE), "
    "noted AS (INSERT INTO seen (survey, message) SELECT one.survey, one.message "
    "FROM unnest(%b::text[], %b::bytea[], %b::int8[]) AS one (survey, message, period) "
    "JOIN open ON open.id = one.survey AND one.period >= open.n_closed RETURNING 1), "
    "kept AS (INSERT INTO run (id, survey, bin, reports) SELECT one.id, one.survey, one.bin, one.reports "
    "FROM unnest(%b::bytea[], %b::text[], %b::int8[], %b::bytea[]) AS one (id, survey, bin, reports) "
    "JOIN open ON open.id = one.survey), "
    "counted AS (UPDATE tally SET n_reports = one.n_reports, statistics = one.statistics "
    "FROM unnest(%b::text[], %b::int8[], %b::int8[], %b::bytea[], %b::int8[], %b::bytea[]) "
    "AS one (survey, bin, n_reports, statistics, n_before, before) JOIN open ON open.id = one.survey "
    "WHERE tally.survey = one.survey AND tally.bin = one.bin AND tally.n_reports = one.n_before "
    "AND tally.statistics = one.before RETURNING 1) "
    "SELECT 1 / CASE WHEN (SELECT count(*) FROM noted) = %b AND (SELECT count(*) FROM counted) = %b THEN 1 ELSE 0 END"
)


def _add_postgres(
    connection: Any, additions: Sequence[Addition], before: Sequence[tuple[int, bytes]], sums: list[Sums]
) -> None:
    """Add new messages to tallies that are as they were ``before``.

    An error of the database, and nothing added, if a message was seen, a period is closed or a tally is another: a
    number of rows that is not the expected one divides by zero.
    """
    names = [one.survey_id for one in additions]
    messages = [one.message_id for one in additions], [one.periods[0] for one in additions]
    values = [
        sorted(set(names)), names, *messages, *_columns(_runs_of(additions)), *_columns(sums), *_columns(before),
        len(additions), len(sums),
    ]  # fmt: skip
    connection.execute(_AT_ONCE, values)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


_Ask = Callable[[Any, Sequence[Addition]], Known]
_Write = Callable[[Any, list[Run], list[Sums]], None]
_STATEMENTS: Final[dict[str, tuple[_Ask, _Write]]] = {
    "sqlite": (_ask_sqlite, _write_sqlite),
    "postgresql": (_ask_postgres, _write_postgres),
}
