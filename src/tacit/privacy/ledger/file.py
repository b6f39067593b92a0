"""The ledger's files: a SQLite file, made whole or not at all and checked whole, the key of its chain, and a note.

A file of an earlier format is migrated in place. Every fault of a file becomes a sentence.
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
from tacit.errors import FormatError
from tacit.privacy.ledger import chain as chains
from tacit.privacy.ledger.chain import KEY_BYTES, Broken, Chain
from tacit.privacy.ledger.tables import CHAINED_SINCE, about, create, has_sound_values, migrate

_PATIENCE_SECONDS: Final = 60.0  # for another process to finish its entry
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
        """Digests made with another key than the file's would make known events new."""
        _, found = about(connection, self.path)
        if self._key is None:
            self._key = found
        elif self._key != found:
            raise FormatError(f"{self.path} was made or replaced meanwhile. Run again; nothing was spent.")

    def _is_there(self) -> bool:
        """Whether there is a file; what cannot be a ledger, or was one before, is refused."""
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
        """A connection in a transaction, which nobody else can follow up before its journal is overwritten.

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
        """A connection with the read lock; what a process that was killed left half written is undone first."""
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
    """A MAC of the file's bytes. SQLite reads them: a second handle on the file would drop its locks."""
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
        """The key; without it nobody can tell whether an entry was changed."""
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
        """The key, made if there is none."""
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
        """The head and the mark; empty if there is no note, or none that can be read."""
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
        """What to say of a ledger that lacks what it had."""
        return (
            "is older than when it was used last: what was spent since is not in it. Put the newest copy in its place. "
            f"If there is none, the events that were spent on since must not be released again; then delete "
            f"{self.path.name}."
        )


def _lines(path: Path, words: str) -> list[str] | None:
    """The lines after the first, which says what the file is; nothing if it cannot be read."""
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
