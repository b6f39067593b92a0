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
from tacit.rounding import epsilon_at_most

FORMAT: Final = 1
_KEY_BYTES: Final = 32
_SCHEMA: Final = """
CREATE TABLE about (format INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE randomization (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, plan TEXT NOT NULL, private TEXT NOT NULL,
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
                connection.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, os.urandom(_KEY_BYTES)))
            about = connection.execute("SELECT format, key FROM about").fetchone()
        if about is None or not isinstance(about[1], bytes) or len(about[1]) != _KEY_BYTES:
            raise FormatError(f"{self.path} has lost its key. Restore it from a copy; nothing was spent.")
        found, key = about
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
        private: tuple[str, ...],
        epsilon: float,
        days: Mapping[str, bytes],
        n_events: int,
        again: bool = False,
    ) -> Randomization:
        """Record a randomization before its noise is drawn, or refuse one of events that were randomized already.

        ``days`` holds a keyed digest of each day's events. A day counts as known when the same data set had events on
        it before, or any data set had the very same events, directly or through another entry. With ``again`` the
        repetition is allowed and the sum of the epsilons is recorded and returned; but not if another coordinate was
        ``private`` before, because what one run hides the other makes public, and no sum of epsilons covers that.
        """
        check_positive(epsilon=epsilon)
        with self._transaction() as connection:
            prior, n_known, hidden = _known(connection, data_set, days)
            if hidden - {_words(private)}:
                raise AlreadyRandomized(
                    f"these events were randomized before with their {' or '.join(sorted(hidden))} hidden and all else "
                    f"public. Hiding their {_words(private)} now would make the two runs undo each other's protection. "
                    "Use a plan that hides the same; --again does not help here."
                )
            if n_known and not again:
                raise AlreadyRandomized(
                    f"{n_known} of {len(days)} days of these events were randomized before, at epsilon "
                    f"{epsilon_at_most(prior)} in all. Doing it again would raise that to "
                    f"{epsilon_at_most(prior + epsilon)}. Use the reports you have, keep to the new days (--from), "
                    "or accept the sum with --again."
                )
            entry = Randomization(
                data_set, plan_id, epsilon, prior, n_events, datetime.now(UTC).isoformat("T", "seconds")
            )
            cursor = connection.execute(
                "INSERT INTO randomization (at, data_set, plan, private, epsilon, prior_epsilon, n_events) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (entry.at, data_set, plan_id, _words(private), epsilon, prior, n_events),
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


def _words(private: tuple[str, ...]) -> str:
    return " and ".join(private)


def _known(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes]) -> tuple[float, int, set[str]]:
    """The most that any of these days has cost so far, how many of them are known, and what was hidden then.

    Links are followed: a copy under another name, and what was later done under that name, belong together.
    """
    connection.execute("CREATE TEMP TABLE linked (day TEXT, id INTEGER, data_set TEXT, digest BLOB, UNIQUE (day, id))")
    connection.executemany("INSERT INTO linked VALUES (?, 0, ?, ?)", ((d, data_set, g) for d, g in days.items()))
    found, before = 0, -1
    while found > before:
        before = found
        connection.execute(
            """
            INSERT OR IGNORE INTO linked
            SELECT d.day, r.id, r.data_set, d.digest FROM linked AS l
            JOIN day AS d ON d.day = l.day JOIN randomization AS r ON r.id = d.randomization
            WHERE r.data_set = l.data_set OR d.digest = l.digest
            """
        )
        found = connection.execute("SELECT count(*) FROM linked").fetchone()[0]
    prior, n_known = connection.execute(
        """
        SELECT coalesce(max(spent), 0), count(*) FROM (
            SELECT sum(r.epsilon) AS spent FROM linked AS l JOIN randomization AS r ON r.id = l.id GROUP BY l.day)
        """
    ).fetchone()
    hidden = connection.execute(
        "SELECT DISTINCT r.private FROM linked AS l JOIN randomization AS r ON r.id = l.id"
    ).fetchall()
    return float(prior), int(n_known), {row[0] for row in hidden}
