"""What a release for ever has counted, bin by bin: so that no bin of it is counted twice with other counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from tacit.errors import AlreadyReleased, SettingError
from tacit.privacy.ledger_budgets import now


def note_bins(
    connection: sqlite3.Connection, identifier: str, bins: Mapping[int, bytes], called: Callable[[int], str]
) -> None:
    """Note digests of the counts of bins, wipe the key that whoever counts has, or refuse other counts."""
    row = connection.execute("SELECT id, is_forever FROM spend WHERE identifier = ?", (identifier,)).fetchone()
    if row is None or not row[1]:
        raise SettingError(f"the ledger holds no release for ever called {identifier}. Use the one it was paid from.")
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
    connection.execute("DELETE FROM spend_key WHERE spend = ?", (number,))
    connection.execute("UPDATE spend SET finished_at = coalesce(finished_at, ?) WHERE id = ?", (now(), number))
