"""Entries of the ledger: randomizations, spends and what they are drawn from, and what remains."""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from tacit._base.rounding import float_above
from tacit.errors import AlreadyRandomized, AlreadyReleased, DataError, SettingError
from tacit.privacy.cost import Budget, Cost, Room
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.chain import head_of
from tacit.privacy.ledger.file import LedgerFile
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit
from tacit.randomness.source import KeyedRandomness

_SECRET_BYTES: Final = 32  # what the keys of AES-256 are made of

Entry = tuple[bool, int]
"""One entry of the ledger: whether it is a spend, and its number; below zero that of reports on days without any."""
NO_REPORT: Final = b"none"
"""Stands for the digest of a day on which reports, in public, show that there was no event; digests are longer."""


def now() -> str:
    """Return the time of an entry, in UTC."""
    return datetime.now(UTC).isoformat("T", "seconds")


@dataclass(frozen=True, slots=True)
class Randomization:
    """One entry: events that were turned into reports, at a price.

    Until it ``is_finished`` the ledger keeps the secret its reports are drawn from. ``number`` is the ledger's own.
    """

    data_set: str
    plan_id: str
    epsilon: float
    prior_epsilon: float
    n_events: int
    at: str
    is_finished: bool = True
    number: int = field(default=0, repr=False)

    @property
    def total_epsilon(self) -> float:
        """The sum of the epsilons of all randomizations of these events, this one included."""
        return float_above(Fraction(self.epsilon) + Fraction(self.prior_epsilon))


@dataclass(frozen=True, slots=True)
class SpendEntry:
    """One entry: a release of counts with noise, at a price.

    One that ``is_forever`` is of the whole data set; its days are those it was seen to receive.
    """

    identifier: str
    data_set: str
    release: str
    cost: Cost
    first_day: str | None
    last_day: str | None
    n_days: int
    is_forever: bool
    is_finished: bool
    at: str
    unit: Unit


@dataclass(frozen=True, slots=True)
class Remaining:
    """The state of a data set: the budgets that bind it, what is spent, what is promised, what would still fit."""

    data_set: str
    budget: Budget | None
    is_declared: bool
    spent: Cost
    guarantee: Guarantee
    room: Room | None


def randomizations(connection: sqlite3.Connection) -> list[Randomization]:
    """Return all randomizations, oldest first."""
    rows = connection.execute(
        "SELECT data_set, plan, epsilon, prior_epsilon, n_events, at, key IS NULL, id "
        "FROM randomization LEFT JOIN randomization_key ON randomization = id ORDER BY id"
    )
    return [
        Randomization(data_set, plan, epsilon, prior, n_events, at, is_finished=bool(is_finished), number=number)
        for data_set, plan, epsilon, prior, n_events, at, is_finished, number in rows
    ]


def spends(connection: sqlite3.Connection) -> list[SpendEntry]:
    """Return all spends, oldest first."""
    rows = connection.execute(
        "SELECT identifier, data_set, release, epsilon, rho, min(day), max(day), count(DISTINCT day), "
        "is_forever, finished_at IS NOT NULL, at, unit, most, most_per_cell, window "
        "FROM spend LEFT JOIN spend_day ON spend = id GROUP BY id ORDER BY id"
    )
    return [
        SpendEntry(
            identifier,
            data_set,
            release,
            Cost(epsilon, rho),
            first_day=first,
            last_day=last,
            n_days=n_days,
            is_forever=bool(forever),
            is_finished=bool(finished),
            at=at,
            unit=unit_of(*unit),
        )
        for identifier, data_set, release, epsilon, rho, first, last, n_days, forever, finished, at, *unit in rows
    ]


def unit_of(name: str, most: int, most_per_cell: int, window: str) -> Unit:
    """Return the unit of a row; rows of earlier formats have no bound on cells, and no window has an empty name."""
    return Unit(name, most, most_per_cell, window or None)


def write_randomization(
    connection: sqlite3.Connection,
    entry: Randomization,
    own: Guarantee,
    days: Mapping[str, bytes],
    counts_digest: bytes,
    zone: str,
    selection: str,
) -> Randomization:
    """Write an entry and return it with its number; keep a secret for its reports if it is not finished."""
    number = connection.execute(
        "INSERT INTO randomization (at, data_set, plan, private, epsilon, prior_epsilon, n_events, counts, "
        "spans_lines, zone, tells_kinds, selection) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.at,
            entry.data_set,
            entry.plan_id,
            " and ".join(own.hidden),
            entry.epsilon,
            entry.prior_epsilon,
            entry.n_events,
            counts_digest,
            own.spans_lines,
            zone,
            own.tells_kinds,
            selection,
        ),
    ).lastrowid
    assert number is not None
    connection.executemany("INSERT INTO day VALUES (?, ?, ?)", ((number, day, digest) for day, digest in days.items()))
    if not entry.is_finished:
        connection.execute("INSERT INTO randomization_key VALUES (?, ?)", (number, os.urandom(_SECRET_BYTES)))
    return replace(entry, number=number)


def of_same_events(
    connection: sqlite3.Connection,
    data_set: str,
    plan_id: str,
    days: Mapping[str, bytes],
    counts: bytes,
    selection: str,
    *,
    is_finished: bool,
) -> Randomization | None:
    """Return the entry of the very same events under the same plan, if there is one.

    Its reports are written if it ``is_finished``; else they may still be drawn. Its rows were selected by the same
    settings. Of an entry of an earlier format that is not known, and stays so.
    """
    asked = (
        "SELECT id FROM randomization LEFT JOIN randomization_key ON randomization = id "
        "WHERE data_set = ? AND plan = ? AND counts = ? AND selection IN (?, '') AND (key IS NULL) = ?"
    )
    found = connection.execute(asked, (data_set, plan_id, counts, selection, is_finished)).fetchall()
    same = {number for (number,) in found if days_of(connection, (False, number))[1] == dict(days)}
    return next((entry for entry in randomizations(connection) if entry.number in same), None)


def secret_of(connection: sqlite3.Connection, entry: Randomization) -> bytes:
    """Return the secret of an entry; refused once its reports are written."""
    row = connection.execute("SELECT key FROM randomization_key WHERE randomization = ?", (entry.number,)).fetchone()
    if row is None:
        raise AlreadyRandomized(
            "the reports of these events were written meanwhile, and their key is wiped. Use the reports you have."
        )
    return bytes(row[0])


def head_at(connection: sqlite3.Connection, entry: Randomization) -> str:
    """Return the head of the chain that an entry made; that of an earlier format changed when it was migrated."""
    (mac,) = connection.execute(
        "SELECT mac FROM chain WHERE kind = 'randomization' AND first = ? ORDER BY number LIMIT 1", (entry.number,)
    ).fetchone()
    return head_of(mac)


def wipe_secret(connection: sqlite3.Connection, entry: Randomization) -> None:
    """Forget the secret of an entry: its reports can never be drawn again."""
    connection.execute("DELETE FROM randomization_key WHERE randomization = ?", (entry.number,))


def write_spend(
    connection: sqlite3.Connection, spend: Spend, days: Mapping[str, bytes] | None, input_digest: bytes, zone: str
) -> None:
    """Write a spend with a new key for its noise."""
    number = connection.execute(
        # three sums that ledgers of format 3 kept are 0: they are computed from the entries now
        "INSERT INTO spend (identifier, at, data_set, release, epsilon, rho, prior_epsilon, prior_rho, "
        "prior_local_epsilon, input, is_forever, unit, most, most_per_cell, window, spans_lines, zone) "
        "VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            spend.identifier,
            now(),
            spend.data_set,
            spend.release,
            spend.cost.epsilon,
            spend.cost.rho,
            input_digest,
            days is None,
            spend.unit.name,
            spend.unit.most,
            spend.unit.most_per_cell,
            spend.unit.window or "",
            spend.spans_lines,
            zone,
        ),
    ).lastrowid
    connection.execute("INSERT INTO spend_key VALUES (?, ?)", (number, os.urandom(_SECRET_BYTES)))
    connection.executemany(
        "INSERT INTO spend_day VALUES (?, ?, ?)", ((number, day, digest) for day, digest in (days or {}).items())
    )


def finish_spend(connection: sqlite3.Connection, number: int) -> None:
    """Wipe the key of a spend: its noise can never be drawn again."""
    connection.execute("DELETE FROM spend_key WHERE spend = ?", (number,))
    connection.execute("UPDATE spend SET finished_at = coalesce(finished_at, ?) WHERE id = ?", (now(), number))


def entries_named(connection: sqlite3.Connection, release: str) -> list[tuple[str, Entry]]:
    """Return data set and number of every entry that was written under this name."""
    rows = connection.execute(
        "SELECT data_set, 1, id FROM spend WHERE release = :release UNION ALL "
        "SELECT data_set, 0, id FROM randomization WHERE plan = :release",
        {"release": release},
    )
    return [(name, (bool(is_spend), number)) for name, is_spend, number in rows]


def entries_at(connection: sqlite3.Connection, heads: Iterable[str]) -> dict[Entry, int]:
    """Return the entries that were written, or drawn from, when the chain had one of these heads, and how long it was.

    Of several heads of one entry the first counts.
    """
    shown = set(heads)
    found: dict[Entry, int] = {}
    for kind, row, number, mac in connection.execute("SELECT kind, first, number, mac FROM chain ORDER BY number"):
        if kind in ("spend", "randomization") and head_of(mac) in shown:
            found.setdefault((kind == "spend", row), number)
    return found


def days_of(connection: sqlite3.Connection, entry: Entry) -> tuple[str, dict[str, bytes] | None]:
    """Return the data set of an entry and the digests of its days; ``None`` for a release for ever.

    Days on which there was no report are not among them.
    """
    is_spend, number = entry
    table, days_of, forever = ("spend", "spend_day", "is_forever") if is_spend else ("randomization", "day", "0")
    data_set, is_forever = connection.execute(
        f"SELECT data_set, {forever} FROM {table} WHERE id = ?", (number,)
    ).fetchone()
    if is_forever:
        return data_set, None
    rows = connection.execute(f"SELECT day, digest FROM {days_of} WHERE {table} = ?", (number,))
    return data_set, {day: digest for day, digest in rows if digest != NO_REPORT}


def spend_to_resume(
    connection: sqlite3.Connection,
    identifier: str | None,
    data_set: str | None,
    release: str | None,
    days: Mapping[str, bytes] | None,
    input_digest: bytes,
) -> sqlite3.Row:
    """Return the spend to resume: of those that fit the names that of the same events, unfinished ones first."""
    connection.row_factory = sqlite3.Row
    if identifier is None and (data_set is None or release is None):
        raise SettingError("a spend is resumed by its identifier, or by its data set and release. Give these.")
    rows: list[sqlite3.Row] = connection.execute(
        "SELECT * FROM spend WHERE identifier = coalesce(:identifier, identifier) "
        "AND data_set = coalesce(:data_set, data_set) AND release = coalesce(:release, release) "
        "ORDER BY finished_at IS NOT NULL, id",
        {"identifier": identifier, "data_set": data_set, "release": release},
    ).fetchall()
    if not rows:
        raise SettingError("the ledger holds no such spend. Check the data set and the release, or spend again.")
    for row in rows:
        _, paid = days_of(connection, (True, row["id"]))
        if paid == (None if days is None else dict(days)) and row["input"] == input_digest:
            return row
    raise DataError(
        f"release {rows[0]['release']} of {rows[0]['data_set']} was paid for other events than these. The same noise "
        "on other events would give them away. Bring the events as they were, or spend again."
    )


def note_bins(
    connection: sqlite3.Connection, identifier: str, bins: Mapping[int, bytes], called: Callable[[int], str]
) -> None:
    """Note digests of the counts of bins, wipe the key that whoever counts has, or refuse other counts."""
    row = connection.execute("SELECT id, is_forever FROM spend WHERE identifier = ?", (identifier,)).fetchone()
    if row is None or not row[1]:
        raise SettingError(f"the ledger holds no counter {identifier}. Use the ledger that paid for it.")
    number = row[0]
    noted = dict(
        connection.execute(
            "SELECT bin, digest FROM spend_bin WHERE spend = ? AND bin BETWEEN ? AND ?",
            (number, min(bins, default=0), max(bins, default=-1)),
        )
    )
    other = sorted(bin for bin, digest in bins.items() if noted.get(bin, digest) != digest)
    if other:
        raise AlreadyReleased(
            f"{called(other[0])} was counted before with other counts ({len(other)} of {len(bins)} bins were). The "
            "same noise on other counts would give the difference away. Give the counts as they were, or restore "
            "the newest files of the counter; nothing was counted."
        )
    connection.executemany(
        "INSERT INTO spend_bin VALUES (?, ?, ?)",
        ((number, bin, digest) for bin, digest in bins.items() if bin not in noted),
    )
    finish_spend(connection, number)


@dataclass(frozen=True, slots=True)
class LedgerNoise:
    """A spend's source of noise. The ledger remembers what was drawn for, so that no copy of the spend is another."""

    file: LedgerFile
    identifier: str

    @property
    def is_simulation(self) -> bool:
        return False

    @property
    def head(self) -> str:
        return self.file.head

    def draw(self, release: str, input_digest: bytes) -> KeyedRandomness:
        """Return the key's words from the first on, for the release that was paid for and the first input only."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT release, input, drawn, key FROM spend LEFT JOIN spend_key ON spend = id WHERE identifier = ?",
                (self.identifier,),
            ).fetchone()
            if row is None:
                raise SettingError(f"{self.file.path} holds no spend {self.identifier}. Spend again.")
            paid, given, drawn, key = row
            if release != paid:
                raise SettingError(
                    f"this spend pays for release {paid}, not for {release}. The same noise on two releases would "
                    "give the events away. Spend for this one too."
                )
            if key is None:
                raise SettingError(
                    f"release {paid} is finished: its noise is never drawn again. Use what was written, or spend again."
                )
            wanted = keyed(self.file.key, input_digest)
            if (given and given != wanted) or (drawn is not None and drawn != wanted):
                raise SettingError(
                    f"this spend pays for release {paid} of other counts. The same noise on two tables of counts "
                    "would give their difference away. Spend again for these."
                )
            if drawn is None:
                connection.execute("UPDATE spend SET drawn = ? WHERE identifier = ?", (wanted, self.identifier))
        return KeyedRandomness(key)


def keyed(key: bytes, digest: bytes) -> bytes:
    """Return a digest as it stands in the ledger: without the ledger's key nobody can try which counts it fits."""
    if not isinstance(digest, bytes):
        raise SettingError("input_digest must be bytes. Give a digest of the exact counts.")
    return hmac.digest(key, digest, hashlib.sha256)
