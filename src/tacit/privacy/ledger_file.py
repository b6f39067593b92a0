"""The ledger's SQLite file: made whole or not at all, migrated in place, and every fault of it a sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tacit.errors import FormatError

FORMAT: Final = 3
_KEY_BYTES: Final = 32
_PATIENCE_SECONDS: Final = 60.0
_SYNCHRONOUS: Final = "EXTRA"  # what is spent stays spent, even if the power fails the moment after

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
_SCHEMAS: Final = (_FIRST_SCHEMA, _SECOND_SCHEMA, _THIRD_SCHEMA)


class LedgerFile:
    """One file. It is made by the first change, so that looking and dry runs leave nothing behind."""

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self._key: bytes | None = None
        self._was_there = False
        if self._is_there():
            with self.snapshot():
                pass

    @property
    def key(self) -> bytes:
        """The key of the digests; for a file that is not there yet the one it will have."""
        if self._key is None:
            self._key = os.urandom(_KEY_BYTES)
        return self._key

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run with the write lock held from the start: whoever reads the sums also writes them."""
        if not self._is_there():
            self._make()
        with self._faults_explained(), self._connected("rw") as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # no log that would keep a wiped key
            connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("BEGIN IMMEDIATE")
            _migrate(connection, self.path)
            self._check_key(connection)
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Run on a copy in memory; whatever is done to it is forgotten, and the file is not touched."""
        with self._faults_explained(), _closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            if self._is_there():
                with self._connected("ro") as connection:
                    connection.execute("BEGIN")
                    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # waits for the lock
                    connection.backup(copy)
                _migrate(copy, self.path)
                self._check_key(copy)
            else:
                _create(copy, self._key or os.urandom(_KEY_BYTES))
            yield copy

    def _check_key(self, connection: sqlite3.Connection) -> None:
        """Digests made with another key than the file's would make known events new."""
        _, found = _about(connection, self.path)
        if self._key is None:
            self._key = found
        elif self._key != found:
            raise FormatError(f"{self.path} was made or replaced meanwhile. Run again; nothing was spent.")

    def _is_there(self) -> bool:
        """Whether there is a file; what cannot be a ledger, or was one a moment ago, is refused."""
        try:
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
        self._was_there = is_there
        return is_there

    def _make(self) -> None:
        """Build the file beside its place and link it there whole; one that is there already stays."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = self.path.with_name(f".{self.path.name}.{os.urandom(6).hex()}.part")
            # it holds the key to its digests: for its owner only
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            raise FormatError(
                f"the ledger {self.path} cannot be made. Check the path and its permissions; nothing was spent."
            ) from None
        try:
            with self._faults_explained(), _closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
                connection.execute("BEGIN IMMEDIATE")
                _create(connection, self._key or os.urandom(_KEY_BYTES))
                connection.execute("COMMIT")
            _put_in_place(unfinished, self.path)
        finally:
            unfinished.unlink(missing_ok=True)
        _sync_folder(self.path.parent)
        self._was_there = True

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


def _create(connection: sqlite3.Connection, key: bytes) -> None:
    _run(connection, "".join(_SCHEMAS))
    connection.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, key))


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger of an earlier format to today's, within the transaction that is open."""
    found, _ = _about(connection, path)
    if 1 <= found < FORMAT:
        _run(connection, "".join(_SCHEMAS[found:]))
        connection.execute("UPDATE about SET format = ?", (FORMAT,))
    elif found != FORMAT:
        raise FormatError(
            f"{path} has format {found}; this version reads up to {FORMAT}. Install a newer Tacit; nothing was spent."
        )


def _about(connection: sqlite3.Connection, path: Path) -> tuple[int, bytes]:
    rows = connection.execute("SELECT format, key FROM about").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][1], bytes) or len(rows[0][1]) != _KEY_BYTES:
        raise FormatError(f"{path} has lost its key. Restore it from a copy; nothing was spent.")
    return rows[0][0], rows[0][1]


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):
        connection.execute(statement)


def _put_in_place(unfinished: Path, path: Path) -> None:
    """Link a finished file to its name, unless the name is taken; two processes may try at once."""
    with suppress(FileExistsError):
        try:
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            _copy_in_place(unfinished, path)


def _copy_in_place(unfinished: Path, path: Path) -> None:
    """For file systems without links. A crash in between leaves a file that is refused, not one taken for new."""
    target = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(target, "wb") as file:
        file.write(unfinished.read_bytes())
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a new name last through a power failure, where the system lets folders be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _closing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()
