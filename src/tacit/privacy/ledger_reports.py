"""Randomizations that were paid for and not finished: what they are known by, and the secret of their reports."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from tacit.errors import AlreadyRandomized
from tacit.privacy.ledger_chain import head_of
from tacit.privacy.ledger_entries import Randomization, randomizations

SECRET_BYTES = 32  # what the keys of AES-256 are made of


def keep_secret(connection: sqlite3.Connection, number: int, secret: bytes) -> None:
    """Keep the secret from which the reports of an entry are drawn until they are written."""
    connection.execute("INSERT INTO randomization_key VALUES (?, ?)", (number, secret))


def unfinished(
    connection: sqlite3.Connection, data_set: str, plan_id: str, days: Mapping[str, bytes], counts: bytes
) -> Randomization | None:
    """The entry of the very same events under the same plan whose reports may still be drawn, if there is one."""
    same = {
        number
        for (number,) in connection.execute(
            "SELECT id FROM randomization JOIN randomization_key ON randomization = id "
            "WHERE data_set = ? AND plan = ? AND counts = ?",
            (data_set, plan_id, counts),
        )
        if dict(connection.execute("SELECT day, digest FROM day WHERE randomization = ?", (number,))) == dict(days)
    }
    return next((entry for entry in randomizations(connection) if entry.number in same), None)


def secret_of(connection: sqlite3.Connection, entry: Randomization) -> bytes:
    """The secret of an entry; refused once its reports are written."""
    row = connection.execute("SELECT key FROM randomization_key WHERE randomization = ?", (entry.number,)).fetchone()
    if row is None:
        raise AlreadyRandomized(
            "the reports of these events were written meanwhile, and their key is wiped. Use the reports you have."
        )
    return bytes(row[0])


def head_at(connection: sqlite3.Connection, entry: Randomization) -> str:
    """The head of the chain that an entry made; entries are never changed, so that there is one."""
    (mac,) = connection.execute(
        "SELECT mac FROM chain WHERE kind = 'randomization' AND first = ?", (entry.number,)
    ).fetchone()
    return head_of(mac)


def wipe_secret(connection: sqlite3.Connection, entry: Randomization) -> None:
    """Forget the secret of an entry: its reports can never be drawn again."""
    connection.execute("DELETE FROM randomization_key WHERE randomization = ?", (entry.number,))
