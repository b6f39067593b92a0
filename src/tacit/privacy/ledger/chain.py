"""The chain of the ledger: a log of its rows under a MAC, so that a row that was changed or deleted is noticed.

Every new or changed row of every table gets an entry in the table ``chain``: the table, the numbers of the rows, a
digest of their content, and a MAC over all that and the MAC before it. The MAC's key lies in another file. Rows in
tables of keys may vanish, because keys are wiped, but must be as entered while they are there: noise from a key that
somebody put there is known to them. Days and bins are only ever appended, thousands at a time: those that one
transaction appends to a table are one entry. The description of the tables is an entry too: a trigger that somebody
slips in could change what is written.

A chain that was cut short is a chain. An old ledger is told from a new one by a MAC that was shown to somebody, called
a head: releases, report files and counters carry the head of the ledger that they were paid from.

A MAC is HMAC-SHA256 over the MAC before it and the entry as Python's ``ascii`` writes it (``number``, ``kind``,
``first``, ``last``, ``digest``). ``digest`` is the SHA-256 of the rows ``first`` to ``last`` of the table ``kind``,
written so one after the other. A head is the first 16 bytes of a MAC.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

SCHEMA: Final = """
CREATE TABLE chain (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    digest BLOB NOT NULL, mac BLOB NOT NULL);
"""
KEY_BYTES: Final = 32  # as many as an HMAC with SHA-256 has
_HEAD_BYTES: Final = 16  # 128 bits: nobody finds another ledger with the same head
_APPENDED: Final = frozenset({"day", "spend_day", "spend_bin"})
_WIPED: Final = "_key"  # how the names of tables of keys end
_DESCRIPTION: Final = "sqlite_master"
_START: Final = b"tacit ledger chain 1"


class Broken(Exception):
    """Return what does not fit, in words that follow the name of the file."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that was found whole: the latest entry for every row, and all MACs in order."""

    latest: dict[str, dict[int, tuple[int, bytes]]]
    macs: list[bytes]

    @property
    def head(self) -> str:
        return head_of(self.macs[-1])

    @property
    def heads(self) -> frozenset[str]:
        """All heads that this ledger ever had."""
        return frozenset(map(head_of, self.macs))


def head_of(mac: bytes) -> str:
    """Return a MAC as it is shown: safe to publish, since nobody without the key learns from it."""
    return mac[:_HEAD_BYTES].hex()


def begin(connection: sqlite3.Connection, key: bytes) -> None:
    """Write the first entry, by which the key is known again."""
    connection.execute("INSERT INTO chain VALUES (0, '', 0, 0, x'', ?)", (_mac(key, b"", _START),))


def append(connection: sqlite3.Connection, key: bytes) -> Chain:
    """Write an entry for all rows that have none or are not as their entry says, and return the chain."""
    chain = read(connection, key)
    for kind in _kinds(connection):
        known = chain.latest.setdefault(kind, {})
        new = _appended(connection, kind, known) if kind in _APPENDED else _changed(connection, kind, known)
        for first, last, digest in new:
            number = len(chain.macs)
            mac = _mac(key, chain.macs[-1], _packed((number, kind, first, last, digest)))
            connection.execute("INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)", (number, kind, first, last, digest, mac))
            known[first] = last, digest
            chain.macs.append(mac)
    return chain


def read(connection: sqlite3.Connection, key: bytes) -> Chain:
    """Read the chain, or refuse one whose entries do not follow from each other under this key."""
    latest: dict[str, dict[int, tuple[int, bytes]]] = {}
    macs: list[bytes] = []
    # all rows at once: a query that is left half way keeps the lock for as long as the error is known
    rows = connection.execute("SELECT number, kind, first, last, digest, mac FROM chain ORDER BY number").fetchall()
    for number, (found, kind, first, last, digest, mac) in enumerate(rows):
        entry = _packed((found, kind, first, last, digest)) if number else _START
        fits = hmac.compare_digest(_as_bytes(mac), _mac(key, macs[-1] if macs else b"", entry))
        if not (fits or number):
            raise Broken("has another key than the one beside it, or is damaged")
        if not fits or found != number:
            raise Broken(f"was changed or is damaged: entry {number} of its chain does not fit")
        if number:
            latest.setdefault(kind, {})[first] = last, digest
        macs.append(mac)
    if not macs:
        raise Broken("has lost its chain")
    return Chain(latest, macs)


def verify(connection: sqlite3.Connection, key: bytes) -> Chain:
    """Compare every row with its entry and every index with its table, and return the chain."""
    chain = read(connection, key)
    kinds = _kinds(connection)
    for kind in kinds:
        known = chain.latest.get(kind, {})
        rows = _in_ranges(connection, kind, known) if kind in _APPENDED else _one_by_one(connection, kind)
        found = {first: (last, digest) for first, last, digest in rows}
        if found != known and not (kind.endswith(_WIPED) and found.items() <= known.items()):
            raise Broken(f"was changed or is damaged: the rows of its table {kind} are not those of its chain")
    if chain.latest.keys() - set(kinds):
        raise Broken("was changed or is damaged: tables are missing")
    if not is_whole(connection):
        raise Broken("is damaged: its pages do not fit together")
    return chain


def is_whole(connection: sqlite3.Connection) -> bool:
    """Return whether the pages of a file fit together, and every index with its table."""
    return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


def _kinds(connection: sqlite3.Connection) -> list[str]:
    """Return the tables with entries in the chain, without the chain; tables of keys before what they are for."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    chained = (name for name in names if name != "chain" and not name.startswith("sqlite_"))
    return [_DESCRIPTION, *sorted(chained, key=lambda name: (not name.endswith(_WIPED), name))]


Entry = tuple[int, int, bytes]  # the first row, the last row, the digest of these


def _one_by_one(connection: sqlite3.Connection, kind: str) -> Iterator[Entry]:
    """Yield an entry for each row."""
    if kind == _DESCRIPTION:
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        yield 0, 0, _digest(rows)
        return
    for number, *row in connection.execute(f'SELECT rowid, * FROM "{kind}" ORDER BY rowid').fetchall():
        yield number, number, _digest([row])


def _changed(connection: sqlite3.Connection, kind: str, known: dict[int, tuple[int, bytes]]) -> list[Entry]:
    """Return entries for the rows that are not as their entry says."""
    return [entry for entry in _one_by_one(connection, kind) if known.get(entry[0]) != entry[1:]]


def _in_ranges(connection: sqlite3.Connection, kind: str, known: dict[int, tuple[int, bytes]]) -> Iterator[Entry]:
    """Yield entries for the rows as they were appended, and for those that belong to none."""
    done = 0
    for first, (last, _) in sorted(known.items()):
        if first != done + 1:
            raise Broken(f"was changed or is damaged: the rows of its table {kind} are not those of its chain")
        yield first, last, _digest(_between(connection, kind, first, last))
        done = last
    yield from _appended(connection, kind, known)
    if connection.execute(f'SELECT 1 FROM "{kind}" WHERE rowid < 1 LIMIT 1').fetchall():
        yield 0, 0, b""


def _appended(connection: sqlite3.Connection, kind: str, known: dict[int, tuple[int, bytes]]) -> list[Entry]:
    """Return one entry for all rows after the last that has one."""
    done = max((last for last, _ in known.values()), default=0)
    (last,) = connection.execute(f'SELECT max(rowid) FROM "{kind}"').fetchone()
    if last is None or last <= done:
        return []
    return [(done + 1, last, _digest(_between(connection, kind, done + 1, last)))]


def _between(connection: sqlite3.Connection, kind: str, first: int, last: int) -> Iterable[Iterable[Any]]:
    asked = f'SELECT rowid, * FROM "{kind}" WHERE rowid BETWEEN ? AND ? ORDER BY rowid'
    return connection.execute(asked, (first, last))


def _digest(rows: Iterable[Iterable[Any]]) -> bytes:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(_packed(row))
    return digest.digest()


def _packed(values: Iterable[Any]) -> bytes:
    """Return a row as bytes, the same on every system: no two rows that differ, also in type, have the same."""
    return ascii(tuple(values)).encode()


def _as_bytes(mac: object) -> bytes:
    return mac if isinstance(mac, bytes) else b""


def _mac(key: bytes, before: bytes, entry: bytes) -> bytes:
    return hmac.digest(key, before + entry, hashlib.sha256)
