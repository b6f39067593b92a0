"""The ledger's files: a SQLite file, made whole or not at all and checked whole, the key of its chain, and a note.

A file of an earlier format is migrated in place. Every fault of a file becomes a sentence. Of the tables:

* ``private`` is what a plan hides, such as ``time and place``; ``tells_kinds`` whether it has kinds. ``release`` is a
  plan's fingerprint, or names a counter. ``unit``, ``most``, ``most_per_cell`` (0 for as many as ``most``) and
  ``window`` (empty without one) say what the price is for. ``zone`` is the time zone of the days, empty where it is not
  known. ``day.digest`` is empty for a day of the run without a report. ``selection`` has digests of what decides which
  rows reports count, as JSON; it is empty before format 7.
* Keyed digests: ``counts``, of the exact counts that reports were drawn from (empty before format 4); ``input``, of
  the exact counts when they were paid; ``drawn``, of those that noise was drawn for; ``spend_bin``, of what a counter
  has counted.
* ``randomization_key`` and ``spend_key`` hold the secrets of reports and noise until the file is on the disk. They are
  then wiped, and ``finished_at`` is set.
* Of the budgets of a data set the last one counts. ``declaration`` says which names are of the same events.
  ``prior_epsilon``, ``prior_rho`` and ``prior_local_epsilon`` of a spend are 0 since format 4.

Formats 1 to 6 are read as they are and migrated with the next entry. The unit of formats 1 and 2 is the event. Names
that were linked by content before format 4 become declared the same.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tacit._base.files import make_folders, write_new, write_note
from tacit.errors import FormatError, TacitError
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.ledger import chain as chains
from tacit.privacy.ledger.chain import KEY_BYTES, Broken, Chain, is_whole
from tacit.privacy.ledger.chain import SCHEMA as CHAIN_SCHEMA
from tacit.privacy.unit import Unit

_PATIENCE_SECONDS: Final = 60.0  # for another process to finish its entry, which takes less than a second
_IDENTITY_BYTES: Final = 16  # 128 bits: no two ledgers have the same
_SYNCHRONOUS: Final = "EXTRA"  # what is spent stays spent, even if the power fails the moment after


class LedgerFile:
    """One file. It is made by the first change, so that looking and dry runs leave nothing behind.

    Every row is checked against the chain before anything else is read (:mod:`tacit.privacy.ledger.chain`); a file
    whose bytes are those that were checked last is taken as checked.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self.key_file: Final = KeyFile(self.path)
        self.is_new = False
        """Whether this object made the file: earlier spending is unknown."""
        self._checked_file: Final = CheckedFile(self.path)
        self._key: bytes | None = None
        self._was_there = False
        self._chain: Chain | None = None
        self._mark = b""
        if self._is_there():
            with self.snapshot():
                pass

    @property
    def key(self) -> bytes:
        """The key of the digests; for a file that is not there yet the one it will have."""
        if self._key is None:
            self._key = os.urandom(KEY_BYTES)
        return self._key

    @property
    def identity(self) -> str:
        """A digest under the key, which a file keeps for ever: safe to publish, since nobody learns the key from it."""
        return hmac.digest(self.key, b"identity of a ledger, version 1", hashlib.sha256)[:_IDENTITY_BYTES].hex()

    @property
    def head(self) -> str:
        """The head of the chain as this object saw it last; empty for a file that has none yet."""
        return "" if self._chain is None else self._chain.head

    def holds(self, heads: Iterable[str]) -> bool:
        """Return whether the file had all of these heads."""
        return not self._missing(heads)

    def verify(self, heads: Iterable[str]) -> str:
        """Check the file again, refuse one that does not hold these heads, and return its own."""
        if missing := self._missing(heads):
            raise FormatError(
                f"{self.path} does not hold the head {missing[0]} that it was shown: it is older than that, or another "
                "ledger. What was spent since is not in it. Use the ledger that paid for it, or restore the newest "
                "copy with its key; nothing was spent."
            )
        return self.head

    def _missing(self, heads: Iterable[str]) -> list[str]:
        with self.snapshot():
            held = frozenset[str]() if self._chain is None else self._chain.heads
        return sorted(set(heads) - held)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run with the write lock held from the start: whoever reads the sums also writes them."""
        if not self._is_there():
            self._make()
        with self._faults_explained(), self._writing() as connection:
            self._verify(connection)
            found, _ = about(connection, self.path)
            migrate(connection, self.path)
            self._check_key(connection)
            chain_key = self.key_file.made() if found < CHAINED_SINCE else self.key_file.read()
            if found < CHAINED_SINCE:
                chains.begin(connection, chain_key)
            yield connection
            chain = chains.append(connection, chain_key)
            connection.execute("COMMIT")
            # the lock is held until the connection is closed: what is marked is what was written
            self._chain, self._mark = chain, _mark(connection, chain_key)
            self._checked_file.write(chain.head, self._mark)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Run on a copy in memory; whatever is done to it is forgotten, and the file is not touched."""
        with self._faults_explained(), _closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            if self._is_there():
                with self._reading() as connection:
                    self._verify(connection)
                    connection.backup(copy)
                migrate(copy, self.path)
                self._check_key(copy)
            else:
                create(copy, self._key or os.urandom(KEY_BYTES))
            yield copy

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Check every row, unless the file's bytes are those that were checked last; refuse what is older than that."""
        last_head, last_mark = self._checked_file.read()
        found, _ = about(connection, self.path)
        if found < CHAINED_SINCE:
            if last_head:
                raise FormatError(f"{self.path} {self._checked_file.too_old} Nothing was spent.")
            if self.key_file.path.exists():
                raise FormatError(
                    f"{self.path} has no chain, but its key {self.key_file.path.name} is there: it was changed, or is "
                    "a copy from before it had one. Restore the newest copy; nothing was spent."
                )
            if not has_sound_values(connection, found):
                raise FormatError(f"{self.path} {_DAMAGED} Nothing was spent.")
            self._chain = None
            return
        key = self.key_file.read()
        try:
            mark = _mark(connection, key)
            is_checked = mark == self._mark or hmac.compare_digest(mark, last_mark)
            chain = (chains.read if is_checked else chains.verify)(connection, key)
        except Broken as problem:
            raise FormatError(
                f"{self.path} {problem}. Restore it from a copy, together with {self.key_file.path.name}; "
                "nothing was spent."
            ) from None
        if last_head and last_head not in chain.heads:
            raise FormatError(f"{self.path} {self._checked_file.too_old} Nothing was spent.")
        self._chain, self._mark = chain, mark

    def _check_key(self, connection: sqlite3.Connection) -> None:
        """Refuse another key than the file's: its digests would make known events new."""
        _, found = about(connection, self.path)
        if self._key is None:
            self._key = found
        elif self._key != found:
            raise FormatError(f"{self.path} was made or replaced meanwhile. Run again; nothing was spent.")

    def _is_there(self) -> bool:
        """Return whether there is a file; what cannot be a ledger, or was one before, is refused."""
        try:
            was_used = self._checked_file.path.exists()
            size = self.path.stat().st_size if self.path.is_file() else -1
            is_there = size >= 0 or self.path.exists()
        except OSError:
            raise FormatError(f"{self.path} {_FAULTS[sqlite3.SQLITE_CANTOPEN]} Nothing was spent.") from None
        if is_there and size < 0:
            raise FormatError(f"{self.path} is not a file and cannot be a ledger. Choose another name.")
        if not size:
            raise FormatError(
                f"{self.path} is empty, and Tacit never leaves an empty ledger: what it held is lost. Restore it from "
                "a copy. Only if it never was a ledger, delete the file. Nothing was spent."
            )
        if self._was_there and not is_there:
            raise FormatError(f"{self.path} has disappeared meanwhile. Restore it from a copy; nothing was spent.")
        if was_used and not is_there:
            raise FormatError(
                f"{self.path} has disappeared: the note {self._checked_file.path.name} says that it was there. Restore "
                "it from a copy. If there is none, what was spent before is unknown; only to begin again all the same, "
                "delete the note. Nothing was spent."
            )
        self._was_there = is_there
        return is_there

    def _make(self) -> None:
        """Build the file and put it in its place whole; one that is there already stays."""
        try:
            make_folders(self.path.parent)
            chain_key = self.key_file.made()
            with _closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
                create(connection, self._key or os.urandom(KEY_BYTES))
                chains.begin(connection, chain_key)
                chains.append(connection, chain_key)
                # it holds the key to its digests: for its owner only
                self.is_new = write_new(self.path, connection.serialize(), is_private=True)
        except OSError:
            raise FormatError(
                f"the ledger {self.path} cannot be made. Check the path and its permissions; nothing was spent."
            ) from None
        self._was_there = True

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open a connection in a transaction, which nobody else can follow up before its journal is overwritten.

        The journal holds pages as they were, and with them keys that were wiped.
        """
        with self._connected("rw") as connection:
            connection.execute("PRAGMA journal_mode = PERSIST")  # no log, and a journal that is left for us
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("BEGIN IMMEDIATE")
            # not earlier: two that wait for each other's read lock would wait for ever
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                wipe(self.path.with_name(f"{self.path.name}-journal"))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection with the read lock; what a process that was killed left half written is undone first."""
        try:
            with self._connected("ro") as connection:
                _take_read_lock(connection)
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode not in (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY):
                raise
            with self._writing():
                pass
        with self._connected("ro") as connection:
            _take_read_lock(connection)
            yield connection

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        with _closing(
            sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)
        ) as connection:
            yield connection

    @contextmanager
    def _faults_explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            raise FormatError(f"{self.path} {_FAULTS.get(code, _DAMAGED)} Nothing was spent.") from None
        except (UnicodeDecodeError, OverflowError):  # what was text or a number is not any more
            raise FormatError(f"{self.path} {_DAMAGED} Nothing was spent.") from None


_DAMAGED: Final = "is not a ledger, or is damaged. Restore it from a copy."
_FAULTS: Final = {
    sqlite3.SQLITE_BUSY: "is locked by another process. Try again when that is done.",
    sqlite3.SQLITE_LOCKED: "is locked by another process. Try again when that is done.",
    sqlite3.SQLITE_READONLY: "cannot be written. Check its permissions and those of its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check the path and its permissions.",
    sqlite3.SQLITE_PERM: "cannot be opened. Check the path and its permissions.",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full. Make room.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error. Check it.",
}


def _take_read_lock(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _mark(connection: sqlite3.Connection, key: bytes) -> bytes:
    """Return a MAC of the file's bytes. SQLite reads them: a second handle on the file would drop its locks."""
    return hmac.digest(key, hashlib.sha256(connection.serialize()).digest(), hashlib.sha256)


@contextmanager
def _closing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()


_KEY_WORDS: Final = "tacit ledger key 1"
_CHECKED_WORDS: Final = "tacit ledger checked 1"
_LONGEST: Final = 1024  # more than either file has


class KeyFile:
    """The key of a ledger's chain, for its owner only. It never changes: back it up once, with the ledger."""

    def __init__(self, ledger: Path) -> None:
        self._ledger: Final = ledger
        self.path: Final = ledger.with_name(f"{ledger.name}.key")

    @property
    def _link(self) -> str:
        return " (it is a link: name the file itself)" if self._ledger.is_symlink() else ""

    def read(self) -> bytes:
        """Return the key; without it nobody can tell whether an entry was changed."""
        lines = _lines(self.path, _KEY_WORDS)
        if lines is None:
            raise FormatError(
                f"the ledger {self._ledger} has no key beside it{self._link}: {self.path.name} is missing or cannot be "
                "read, and without it nobody can tell whether an entry was changed. Put the key back from where the "
                "ledger came from, or restore both from one copy; nothing was spent."
            )
        with suppress(ValueError, IndexError):
            key = bytes.fromhex(lines[0])
            if len(key) == KEY_BYTES:
                return key
        raise FormatError(f"{self.path} is not the key of a ledger, or is damaged. Restore it; nothing was spent.")

    def made(self) -> bytes:
        """Return the key, made if there is none."""
        if not self.path.exists():
            write_new(self.path, f"{_KEY_WORDS}\n{os.urandom(KEY_BYTES).hex()}\n".encode(), is_private=True)
        return self.read()


class CheckedFile:
    """A note that saves checking every row: the head and a MAC of the ledger's bytes when it was written last.

    It also tells a ledger that was put back to an earlier day from one that was not. Without it all rows are checked.
    """

    def __init__(self, ledger: Path) -> None:
        self.path: Final = ledger.with_name(f"{ledger.name}.checked")

    def read(self) -> tuple[str, bytes]:
        """Return the head and the mark; empty if there is no note, or none that can be read."""
        with suppress(ValueError, IndexError):
            lines = _lines(self.path, _CHECKED_WORDS) or []
            return lines[0], bytes.fromhex(lines[1])
        return "", b""

    def write(self, head: str, mark: bytes) -> None:
        """Note what was checked. That the note is missing costs time only, so that no failure is told."""
        with suppress(OSError):
            write_note(self.path, f"{_CHECKED_WORDS}\n{head}\n{mark.hex()}\n".encode())

    @property
    def too_old(self) -> str:
        """The sentence about a ledger that lacks what it had."""
        return (
            "is older than when it was used last: what was spent since is not in it. Put the newest copy in its place. "
            f"If there is none, the events that were spent on since must not be released again; then delete "
            f"{self.path.name}."
        )


def _lines(path: Path, words: str) -> list[str] | None:
    """Return the lines after the first, which says what the file is; nothing if it cannot be read."""
    with suppress(OSError, ValueError):
        with path.open("rb") as file:
            first, *lines = file.read(_LONGEST).decode("ascii").splitlines()
        return lines if first == words else []
    return None


def wipe(path: Path) -> None:
    """Overwrite a file with zeros, see that on the disk, and remove it."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        left = file.seek(0, os.SEEK_END)
        file.seek(0)
        while left:
            left -= file.write(bytes(min(left, 1 << 20)))  # a mebibyte at a time
        file.flush()
        os.fsync(file.fileno())
    with suppress(OSError):  # some systems remove no file that is open; it is all zeros
        path.unlink()


_FIRST_SCHEMA: Final = """
CREATE TABLE about (format INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE randomization (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, plan TEXT NOT NULL, private TEXT NOT NULL,
    epsilon REAL NOT NULL, prior_epsilon REAL NOT NULL, n_events INTEGER NOT NULL);
CREATE TABLE day (
    randomization INTEGER NOT NULL REFERENCES randomization (id), day TEXT NOT NULL, digest BLOB NOT NULL);
CREATE INDEX day_by_digest ON day (day, digest);
"""
_SECOND_SCHEMA: Final = """
CREATE TABLE spend (
    id INTEGER PRIMARY KEY, identifier TEXT NOT NULL UNIQUE, at TEXT NOT NULL, data_set TEXT NOT NULL,
    release TEXT NOT NULL, epsilon REAL NOT NULL, rho REAL NOT NULL, prior_epsilon REAL NOT NULL,
    prior_rho REAL NOT NULL, prior_local_epsilon REAL NOT NULL, input BLOB NOT NULL, is_forever INTEGER NOT NULL,
    finished_at TEXT);
CREATE TABLE spend_key (spend INTEGER PRIMARY KEY REFERENCES spend (id), key BLOB NOT NULL);
CREATE TABLE spend_day (spend INTEGER NOT NULL REFERENCES spend (id), day TEXT NOT NULL, digest BLOB NOT NULL);
CREATE INDEX spend_day_by_day ON spend_day (day);
CREATE INDEX spend_by_data_set ON spend (data_set);
CREATE TABLE budget (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, epsilon REAL NOT NULL, rho REAL NOT NULL,
    delta REAL NOT NULL, is_declared INTEGER NOT NULL);
"""
_THIRD_SCHEMA: Final = """
ALTER TABLE spend ADD COLUMN drawn BLOB;
ALTER TABLE spend ADD COLUMN unit TEXT NOT NULL DEFAULT 'event';
ALTER TABLE spend ADD COLUMN most INTEGER NOT NULL DEFAULT 1;
CREATE TABLE spend_bin (
    spend INTEGER NOT NULL REFERENCES spend (id), bin INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (spend, bin));
"""
# Before the fourth format equal content alone linked two names; what was linked then stays so.
_FOURTH_SCHEMA: Final = f"""
{CHAIN_SCHEMA}
ALTER TABLE randomization ADD COLUMN counts BLOB NOT NULL DEFAULT x'';
ALTER TABLE randomization ADD COLUMN spans_lines INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN spans_lines INTEGER NOT NULL DEFAULT 0;
CREATE TABLE randomization_key (
    randomization INTEGER PRIMARY KEY REFERENCES randomization (id), key BLOB NOT NULL);
CREATE TABLE declaration (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, other TEXT NOT NULL, is_same INTEGER NOT NULL);
INSERT INTO declaration (at, data_set, other, is_same)
    WITH known (name, day, digest) AS (
        SELECT r.data_set, d.day, d.digest FROM day AS d JOIN randomization AS r ON r.id = d.randomization
        UNION SELECT s.data_set, d.day, d.digest FROM spend_day AS d JOIN spend AS s ON s.id = d.spend)
    SELECT DISTINCT strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'), one.name, two.name, 1 FROM known AS one
    JOIN known AS two ON one.day = two.day AND one.digest = two.digest AND one.name < two.name
    WHERE length(one.digest) > 0;
"""
_FIFTH_SCHEMA: Final = """
ALTER TABLE randomization ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE spend ADD COLUMN zone TEXT NOT NULL DEFAULT '';
"""
_SIXTH_SCHEMA: Final = """
ALTER TABLE randomization ADD COLUMN tells_kinds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN most_per_cell INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spend ADD COLUMN window TEXT NOT NULL DEFAULT '';
"""
_SEVENTH_SCHEMA: Final = """
ALTER TABLE randomization ADD COLUMN selection TEXT NOT NULL DEFAULT '';
"""
SCHEMAS: Final = (
    _FIRST_SCHEMA,
    _SECOND_SCHEMA,
    _THIRD_SCHEMA,
    _FOURTH_SCHEMA,
    _FIFTH_SCHEMA,
    _SIXTH_SCHEMA,
    _SEVENTH_SCHEMA,
)
FORMAT: Final = len(SCHEMAS)
CHAINED_SINCE: Final = 4
"""The first format with a chain."""
_TYPES: Final = {"INTEGER": ("integer",), "REAL": ("real", "integer"), "TEXT": ("text",), "BLOB": ("blob",)}
_MOST: Final = {"INTEGER": 1 << 62, "REAL": 1e300}  # far above all that is ever written, and finite


def create(connection: sqlite3.Connection, key: bytes) -> None:
    """Make the tables of a new ledger."""
    _run(connection, "".join(SCHEMAS))
    connection.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, key))


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger of an earlier format to today's, within the transaction that is open."""
    found, _ = about(connection, path)
    if found < FORMAT:
        _run(connection, "".join(SCHEMAS[found:]))
        connection.execute("UPDATE about SET format = ?", (FORMAT,))


def about(connection: sqlite3.Connection, path: Path) -> tuple[int, bytes]:
    """Return the format of a ledger and the key of its digests."""
    rows = connection.execute("SELECT format, key FROM about").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][1], bytes) or len(rows[0][1]) != KEY_BYTES:
        raise FormatError(f"{path} has lost its key. Restore it from a copy; nothing was spent.")
    found, key = rows[0]
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise FormatError(
            f"{path} has format {found}; this version reads up to {FORMAT}. Install a newer Tacit; nothing was spent."
        )
    return found, key


def has_sound_values(connection: sqlite3.Connection, found: int) -> bool:
    """Return whether every value of a ledger without a chain is of its column's type, and no number is below zero."""
    with sqlite3.connect(":memory:", isolation_level=None) as fresh:
        _run(fresh, "".join(SCHEMAS[:found]))
        tables = [name for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: fresh.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}
    fresh.close()
    for table, described in columns.items():
        rules = []
        for _, name, kind, not_null, _, _ in described:
            allowed = [*_TYPES[kind], *(() if not_null or kind == "INTEGER" else ("null",))]
            rules.append(f"typeof({name}) NOT IN ({', '.join(map(repr, allowed))})")
            if kind in ("INTEGER", "REAL"):
                rules.append(f"NOT {name} BETWEEN 0 AND {_MOST[kind]}")
        if connection.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(rules)} LIMIT 1").fetchall():
            return False
    return _can_be_read(connection, found) and is_whole(connection)


def _can_be_read(connection: sqlite3.Connection, found: int) -> bool:
    """Return whether all prices, units and budgets are such as are ever written."""
    try:
        for row in connection.execute("SELECT DISTINCT epsilon FROM randomization").fetchall():
            Cost(*row)
        if found > 1:
            for row in connection.execute("SELECT DISTINCT epsilon, rho FROM spend").fetchall():
                Cost(*row)
            for row in connection.execute("SELECT DISTINCT epsilon, rho, delta FROM budget").fetchall():
                Budget(*row)
        if found > 2:
            for row in connection.execute("SELECT DISTINCT unit, most FROM spend").fetchall():
                Unit(*row)
    except TacitError:
        return False
    return True


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):
        connection.execute(statement)
