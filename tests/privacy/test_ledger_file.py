"""The ledger's file is made whole, migrated in place, and every fault of it is a sentence with nothing spent."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest

from tacit.errors import FormatError, TacitError
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger import file as ledger_file
from tacit.privacy.ledger.file import FORMAT, LedgerFile
from tacit.privacy.unit import Unit

FILES = ["ledger.sqlite", "ledger.sqlite.checked", "ledger.sqlite.key"]
DAYS = {"2018-01-01": b"a", "2018-01-02": b"b"}
FIRST_FORMAT = """
CREATE TABLE about (format INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE randomization (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, plan TEXT NOT NULL, private TEXT NOT NULL,
    epsilon REAL NOT NULL, prior_epsilon REAL NOT NULL, n_events INTEGER NOT NULL);
CREATE TABLE day (
    randomization INTEGER NOT NULL REFERENCES randomization (id), day TEXT NOT NULL, digest BLOB NOT NULL);
CREATE INDEX day_by_digest ON day (day, digest);
INSERT INTO about VALUES (1, zeroblob(32));
INSERT INTO randomization VALUES (1, '2026-01-01T00:00:00+00:00', 'fires', 'plan', 'place', 2.0, 0.0, 100);
INSERT INTO day VALUES (1, '2018-01-01', x'61');
"""

SECOND_FORMAT = """
UPDATE about SET format = 2;
CREATE TABLE spend (
    id INTEGER PRIMARY KEY, identifier TEXT NOT NULL UNIQUE, at TEXT NOT NULL, data_set TEXT NOT NULL,
    release TEXT NOT NULL, epsilon REAL NOT NULL, rho REAL NOT NULL, prior_epsilon REAL NOT NULL,
    prior_rho REAL NOT NULL, prior_local_epsilon REAL NOT NULL, input BLOB NOT NULL, is_forever INTEGER NOT NULL,
    finished_at TEXT);
CREATE TABLE spend_key (spend INTEGER PRIMARY KEY REFERENCES spend (id), key BLOB NOT NULL);
CREATE TABLE spend_day (spend INTEGER NOT NULL REFERENCES spend (id), day TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE budget (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, data_set TEXT NOT NULL, epsilon REAL NOT NULL, rho REAL NOT NULL,
    delta REAL NOT NULL, is_declared INTEGER NOT NULL);
INSERT INTO spend VALUES (1, 'ab', '2026-02-01T00:00:00+00:00', 'fires', 'r', 1.0, 0.0, 0.0, 0.0, 0.0, x'', 0, NULL);
INSERT INTO spend_key VALUES (1, CAST('kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' AS BLOB));
INSERT INTO spend_day VALUES (1, '2018-01-01', x'61');
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def first_format(path):
    """A ledger as version 0.1 wrote it."""
    connection = sqlite3.connect(path)
    connection.executescript(FIRST_FORMAT)
    connection.close()
    return path


def spend(ledger, epsilon=1.0, **settings):
    return ledger.spend(data_set="fires", release="first", cost=Cost.pure(epsilon), days=DAYS, **settings)


def format_of(path) -> int:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT format FROM about").fetchone()[0]
    connection.close()
    return found


def test_looking_makes_no_file(path):
    ledger = Ledger(path)
    assert ledger.history() == []
    assert ledger.remaining("fires").room is None
    assert ledger.data_sets() == []
    assert len(ledger.key) == 32
    assert not path.exists()


def test_the_file_has_the_key_that_was_given_out_before(path):
    ledger = Ledger(path)
    key = ledger.key
    spend(ledger)
    assert Ledger(path).key == key


def test_the_file_and_its_folder_are_for_their_owner_only(tmp_path):
    path = tmp_path / "new" / "folder" / "ledger.sqlite"
    spend(Ledger(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(file.name for file in path.parent.iterdir()) == FILES


def test_a_file_system_without_links_will_do(path, monkeypatch):
    def refuse(*_):
        raise OSError("links are not supported")

    monkeypatch.setattr(os, "link", refuse)
    spend(Ledger(path))
    assert len(Ledger(path).history()) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


class TestTheFirstFormat:
    def test_it_is_readable_without_being_changed(self, first_format):
        before = first_format.read_bytes()
        ledger = Ledger(first_format)
        (entry,) = ledger.history()
        assert (entry.data_set, entry.total_epsilon) == ("fires", 2.0)
        with pytest.raises(TacitError, match="epsilon 2 is spent"):
            spend(ledger, dry_run=True)
        assert first_format.read_bytes() == before

    def test_it_is_migrated_by_the_first_entry_and_keeps_what_it_knows(self, first_format):
        ledger = Ledger(first_format)
        ledger.set_budget("fires", epsilon=4.0)
        assert format_of(first_format) == FORMAT == 7
        assert spend(ledger).prior.replacement.epsilon == 2.0
        assert ledger.key == bytes(32)
        assert len(ledger.history()) == 2

    def test_a_migration_that_is_interrupted_leaves_the_old_file(self, first_format):
        before = first_format.read_bytes()
        with pytest.raises(TacitError):
            spend(Ledger(first_format))
        assert format_of(first_format) == 1
        assert first_format.read_bytes() == before


class TestTheSecondFormat:
    @pytest.fixture
    def second_format(self, first_format):
        connection = sqlite3.connect(first_format)
        connection.executescript(SECOND_FORMAT)
        connection.close()
        return first_format

    def test_what_stands_there_is_of_the_unit_event(self, second_format):
        before = second_format.read_bytes()
        ledger = Ledger(second_format)
        assert ledger.history()[1].unit == Unit("event")
        with pytest.raises(TacitError, match="Keep to the unit event"):
            spend(ledger, unit=Unit.user_day(most=2), dry_run=True)
        assert second_format.read_bytes() == before

    def test_it_is_migrated_by_the_first_entry_and_what_is_unfinished_is_taken_up(self, second_format):
        ledger = Ledger(second_format)
        ledger.set_budget("fires", epsilon=9.0)
        assert format_of(second_format) == FORMAT
        taken = ledger.resume("ab", days={"2018-01-01": b"a"})
        assert taken.draw("r", b"counts")._key == b"k" * 32


class TestFaults:
    def test_an_empty_file_is_not_taken_for_a_new_ledger(self, path):
        path.touch()
        with pytest.raises(FormatError, match="is empty"):
            Ledger(path)
        assert path.read_bytes() == b""

    def test_a_file_emptied_meanwhile_is_not_taken_for_a_new_ledger(self, path):
        ledger = Ledger(path)
        spend(ledger)
        path.write_bytes(b"")
        for use in (lambda: spend(ledger), ledger.history, lambda: spend(ledger, dry_run=True)):
            with pytest.raises(FormatError, match="is empty"):
                use()

    def test_a_ledger_that_was_replaced_meanwhile_is_refused(self, path):
        ledger = Ledger(path)
        spend(ledger)
        for file in path.parent.iterdir():
            file.unlink()
        spend(Ledger(path))
        with pytest.raises(FormatError, match="replaced meanwhile"):
            spend(ledger)

    def test_a_ledger_that_was_removed_meanwhile_is_not_made_anew(self, path):
        ledger = Ledger(path)
        spend(ledger)
        path.unlink()
        for use in (lambda: spend(ledger), ledger.history, lambda: spend(ledger, dry_run=True)):
            with pytest.raises(FormatError, match="has disappeared"):
                use()
        assert not path.exists()

    @pytest.mark.parametrize("keep", [10, 100, 4096, 5000])
    def test_a_torn_file_is_refused_and_kept(self, path, keep):
        ledger = Ledger(path)
        spend(ledger)
        torn = path.read_bytes()[:keep]
        path.write_bytes(torn)
        with pytest.raises(FormatError, match="damaged"):
            Ledger(path)
        with pytest.raises(FormatError, match="damaged"):
            spend(ledger)
        assert path.read_bytes() == torn

    def test_scribbled_pages_are_refused_or_harmless(self, path):
        ledger = Ledger(path)
        spend(ledger)
        content = path.read_bytes()
        for page in range(1, len(content) // 4096):
            path.write_bytes(content[: page * 4096] + b"\xa5" * 4096 + content[(page + 1) * 4096 :])
            with pytest.raises(TacitError):
                spend(Ledger(path), 0.5)

    def test_a_locked_ledger_is_refused_after_a_while(self, path, monkeypatch):
        ledger = Ledger(path)
        spend(ledger)
        monkeypatch.setattr(ledger_file, "_PATIENCE_SECONDS", 0.05)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        for use in (lambda: spend(ledger), ledger.history, lambda: Ledger(path)):
            with pytest.raises(FormatError, match="locked by another process"):
                use()
        holder.close()
        assert len(ledger.history()) == 1

    def test_a_ledger_that_cannot_be_written_is_refused(self, path, monkeypatch):
        ledger = Ledger(path)
        ledger.set_budget("fires", epsilon=2.0)
        connected = LedgerFile._connected
        monkeypatch.setattr(LedgerFile, "_connected", lambda self, mode: connected(self, "ro"))
        with pytest.raises(FormatError, match=r"cannot be written.*Nothing was spent"):
            spend(ledger)
        assert spend(ledger, dry_run=True).what_remains == "epsilon 1"

    def test_a_folder_is_no_ledger(self, path):
        path.mkdir()
        with pytest.raises(FormatError, match="is not a file"):
            Ledger(path)

    def test_a_place_where_nothing_can_be_made_is_refused(self, tmp_path):
        (tmp_path / "file").write_bytes(b"in the way")
        with pytest.raises(FormatError, match="cannot be made"):
            spend(Ledger(tmp_path / "file" / "ledger.sqlite"))

    def test_a_ledger_of_a_later_format_is_not_written_to(self, path):
        ledger = Ledger(path)
        spend(ledger)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("UPDATE about SET format = 99")
        connection.close()
        before = path.read_bytes()
        for use in (lambda: Ledger(path), lambda: spend(ledger), ledger.history):
            with pytest.raises(FormatError, match="has format 99"):
                use()
        assert path.read_bytes() == before

    def test_a_log_that_somebody_switched_on_is_switched_off(self, path):
        """A write-ahead log would keep a key that was wiped."""
        ledger = Ledger(path)
        ledger.set_budget("fires", epsilon=9.0)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        connection.close()
        paid = spend(ledger)
        key = paid.draw("first", b"counts")._key
        ledger.finish(paid)
        assert sorted(file.name for file in path.parent.iterdir()) == FILES
        assert key not in path.read_bytes()
