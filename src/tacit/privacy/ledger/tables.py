"""The tables of the ledger, format by format, and how a ledger of an earlier format becomes one of today's.

* ``private`` is what a plan hides: ``place``, ``time`` or ``time and place``. ``release`` is a plan's fingerprint, or
  names a counter. ``unit`` and ``most`` say what the price is for. ``zone`` is the time zone of the days, empty where
  it is not known. ``day.digest`` is empty for a day of the run without a report.
* Keyed digests: ``counts``, of the exact counts that reports were drawn from (empty before format 4); ``input``, of
  the exact counts when they were paid; ``drawn``, of those that noise was drawn for; ``spend_bin``, of what a counter
  has counted.
* ``randomization_key`` and ``spend_key`` hold the secrets of reports and noise until the file is on the disk. They are
  then wiped, and ``finished_at`` is set.
* Of the budgets of a data set the last one counts. ``declaration`` says which names are of the same events.
  ``prior_epsilon``, ``prior_rho`` and ``prior_local_epsilon`` of a spend are 0 since format 4.

Formats 1 to 4 are read as they are and migrated with the next entry. Their unit is the event, and names that were
linked by content become declared the same.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from tacit.errors import FormatError, TacitError
from tacit.privacy.budget import Budget
from tacit.privacy.cost import Cost
from tacit.privacy.ledger.chain import KEY_BYTES, is_whole
from tacit.privacy.ledger.chain import SCHEMA as CHAIN_SCHEMA
from tacit.privacy.unit import Unit

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
SCHEMAS: Final = (_FIRST_SCHEMA, _SECOND_SCHEMA, _THIRD_SCHEMA, _FOURTH_SCHEMA, _FIFTH_SCHEMA)
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
    """The format of a ledger and the key of its digests."""
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
    """Whether every value of a ledger without a chain is of its column's type, and no number is below zero."""
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
    """Whether all prices, units and budgets are such as are ever written."""
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
