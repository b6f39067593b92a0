"""The ledger: a durable record of what was spent on which data set.

Randomizing the same events twice adds up: seven reports at epsilon 2.2 give the place away four times out of five. The
ledger therefore knows events by their content, day by day, and by the name their owner declares, so that renaming,
reordering or converting a file does not make it new. It holds keyed digests, never events; the key is in the ledger
itself, so guard the file like the events.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tacit._validate import check_positive
from tacit.errors import AlreadyRandomized, FormatError

FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE about (format INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE randomization (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, plan TEXT NOT NULL,
    epsilon REAL NOT NULL, prior_epsilon REAL NOT NULL, n_events INTEGER NOT NULL);
CREATE TABLE day (
    randomization INTEGER NOT NULL REFERENCES randomization (id), day TEXT NOT NULL, digest BLOB NOT NULL);
CREATE INDEX day_by_digest ON day (day, digest);
"""


@dataclass(frozen=True, slots=True)
class Randomization:
    """One entry: events that were turned into reports, at a price."""

    data_set: str
    plan_id: str
    epsilon: float
    prior_epsilon: float
    n_events: int
    at: str

    @property
    def total_epsilon(self) -> float:
        """What all randomizations of these events add up to, this one included."""
        return self.epsilon + self.prior_epsilon


class Ledger:
    """The record in one SQLite file; safe to use from several processes at once."""

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # it holds the key to its digests: for its owner only
        self.path.touch(mode=0o600, exist_ok=True)
        with self._transaction() as connection:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, os.urandom(32)))
            found, key = connection.execute("SELECT format, key FROM about").fetchone()
        if found != FORMAT:
            raise FormatError(f"{self.path} has format {found}; this version reads {FORMAT}. Install a newer Tacit.")
        self.key: Final[bytes] = key

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def spend(
        self,
        *,
        data_set: str,
        plan_id: str,
        epsilon: float,
        days: Mapping[str, bytes],
        n_events: int,
        again: bool = False,
    ) -> Randomization:
        """Record a randomization before its noise is drawn, or refuse one of events that were randomized already.

        ``days`` holds a keyed digest of each day's events. A day counts as known when the same data set had events on
        it before, or any data set had the very same events. With ``again`` the repetition is allowed and the sum of
        the epsilons is recorded and returned.
        """
        check_positive(epsilon=epsilon)
        with self._transaction() as connection:
            prior, n_known = _prior_epsilon(connection, data_set, days)
            if n_known and not again:
                raise AlreadyRandomized(
                    f"{n_known} of {len(days)} days of these events were randomized before, at epsilon {prior:.6g} "
                    f"in all. Doing it again would raise that to {prior + epsilon:.6g}. Use the reports you have, keep "
                    "to the new days (--from), or accept the sum with --again."
                )
            entry = Randomization(
                data_set, plan_id, epsilon, prior, n_events, datetime.now(UTC).isoformat("T", "seconds")
            )
            cursor = connection.execute(
                "INSERT INTO randomization (at, data_set, plan, epsilon, prior_epsilon, n_events) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (entry.at, data_set, plan_id, epsilon, prior, n_events),
            )
            connection.executemany(
                "INSERT INTO day VALUES (?, ?, ?)",
                ((cursor.lastrowid, day, digest) for day, digest in days.items()),
            )
        return entry

    def history(self) -> list[Randomization]:
        """All entries, oldest first."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT data_set, plan, epsilon, prior_epsilon, n_events, at FROM randomization ORDER BY id"
            ).fetchall()
        return [Randomization(*row) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Run with the write lock held from the start: whoever reads the sums also writes them."""
        try:
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        except sqlite3.Error:
            raise FormatError(f"the ledger {self.path} cannot be opened. Check the path and its permissions.") from None
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error:
            raise FormatError(
                f"{self.path} is not a ledger, or is damaged or locked. Restore it from a copy; nothing was spent."
            ) from None
        finally:
            connection.close()


def _prior_epsilon(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes]) -> tuple[float, int]:
    """The most that any of these days has cost so far, and how many of them are known."""
    connection.execute("CREATE TEMP TABLE asked (day TEXT PRIMARY KEY, digest BLOB NOT NULL)")
    connection.executemany("INSERT INTO asked VALUES (?, ?)", days.items())
    prior, n_known = connection.execute(
        """
        SELECT coalesce(max(spent), 0), count(*) FROM (
            SELECT asked.day, sum(known.epsilon) AS spent FROM asked JOIN (
                SELECT DISTINCT a.day AS day, r.id AS id, r.epsilon AS epsilon
                FROM asked a JOIN day d ON d.day = a.day JOIN randomization r ON r.id = d.randomization
                WHERE r.data_set = ? OR d.digest = a.digest
            ) AS known ON known.day = asked.day GROUP BY asked.day)
        """,
        (data_set,),
    ).fetchone()
    return float(prior), int(n_known)
