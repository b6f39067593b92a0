"""A ledger that was changed, cut, put back or parted from its key is refused, and a wiped key is nowhere."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3

import pytest

from small_worlds import EVERY_ROW
from tacit.errors import FormatError
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger import file as ledger_file
from tacit.privacy.unit import Unit

DAYS = {"2018-01-01": b"a", "2018-01-02": b"b", "2018-01-03": b""}
DOORS = {"2018-01-01": b"c", "2018-01-02": b"d"}
APPENDED = ("day", "spend_day", "spend_bin")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "books" / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    """A ledger with an entry of every kind."""
    made = Ledger(path)
    made.set_budget("fires", epsilon=9.0)
    made.record_randomization(
        data_set="fires", plan_id="ab12", private=("place",), epsilon=2.0, days=DAYS, n_events=1234, selection=EVERY_ROW
    )
    made.finish(made.spend(data_set="fires", release="first", cost=Cost.pure(1.0), days=DAYS))
    made.spend(data_set="fires", release="second", cost=Cost.pure(0.5), days=DAYS, input_digest=b"counts")
    counter = made.spend(
        data_set="doors", release="counter", cost=Cost.pure(1.0), days=None, unit=Unit.user_day(most=2)
    )
    made.extend(counter.identifier, DOORS)
    made.note_bins(counter.identifier, {0: b"x", 1: b"y"})
    return made


def edit(path, *statements: str) -> None:
    """What somebody with an SQL shell and without the key does."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def uses(path):
    return (lambda: Ledger(path), lambda: Ledger(path).set_budget("fires", epsilon=1.0))


EDITS = [
    "UPDATE spend SET epsilon = 0.1 WHERE release = 'first'",
    "UPDATE spend SET data_set = 'other' WHERE release = 'first'",
    "UPDATE spend SET unit = 'event', most = 1",
    "UPDATE spend SET finished_at = NULL",
    "UPDATE spend SET drawn = x'00'",
    "UPDATE randomization SET epsilon = 0.5",
    "UPDATE randomization SET n_events = 'many'",
    "UPDATE budget SET epsilon = 32.0",
    "DELETE FROM spend WHERE release = 'second'",
    "DELETE FROM spend WHERE release = 'counter'",
    "DELETE FROM randomization",
    "DELETE FROM budget",
    "DELETE FROM day",
    "DELETE FROM spend_day WHERE day = '2018-01-02'",
    "DELETE FROM spend_day WHERE rowid = (SELECT max(rowid) FROM spend_day)",
    "DELETE FROM spend_bin WHERE bin = 1",
    "UPDATE spend_day SET digest = x'' WHERE day = '2018-01-01'",
    "UPDATE spend_day SET spend = 1 WHERE spend = 2",
    "UPDATE spend_bin SET digest = x'00' WHERE bin = 0",
    "UPDATE spend_bin SET rowid = rowid + 10",
    "INSERT INTO spend_day VALUES (1, '2018-02-01', x'')",
    "INSERT INTO spend_day (rowid, spend, day, digest) VALUES (-1, 1, '2018-02-01', x'')",
    "INSERT INTO budget SELECT 7, at, 'doors', 30.0, rho, delta, 1 FROM budget LIMIT 1",
    "UPDATE about SET key = zeroblob(32)",
    "UPDATE spend_key SET key = zeroblob(32)",
    "INSERT INTO spend_key VALUES (1, zeroblob(32))",
    "INSERT INTO randomization_key VALUES (1, zeroblob(32))",
    "DELETE FROM chain",
    "DELETE FROM chain WHERE number = (SELECT max(number) FROM chain)",
    "DELETE FROM chain WHERE number = 3",
    "UPDATE chain SET digest = zeroblob(32) WHERE number = 3",
    "UPDATE chain SET mac = 'text' WHERE number = 3",
    "UPDATE chain SET number = -1 WHERE number = 0",
    "INSERT INTO chain SELECT 1000, kind, first, last, digest, mac FROM chain WHERE number = 1",
    "CREATE TRIGGER cheap AFTER INSERT ON spend BEGIN UPDATE spend SET epsilon = 0 WHERE id = new.id; END",
    "CREATE TABLE more (id INTEGER PRIMARY KEY)",
    "DROP INDEX spend_day_by_day",
    "DROP TABLE spend_bin",
    "DROP TABLE chain",
    "UPDATE about SET format = 3",
]


@pytest.mark.parametrize("with_note", [True, False], ids=["checked before", "no note"])
@pytest.mark.parametrize("statement", EDITS)
def test_an_edited_ledger_is_refused_and_left_as_it_is(ledger, path, statement, with_note):
    edit(path, statement)
    if not with_note:
        (path.parent / "ledger.sqlite.checked").unlink()
    before = path.read_bytes()
    for use in uses(path):
        with pytest.raises(FormatError, match=r"(?i)restore|newest copy") as told:
            use()
        assert "othing was spent" in str(told.value)
    with pytest.raises(FormatError):
        ledger.history()
    assert path.read_bytes() == before


def test_a_wrong_index_is_refused(ledger, path):
    """Days are looked up in it: an entry that is not there would make a day new."""
    (rootpage,) = (
        sqlite3.connect(path).execute("SELECT rootpage FROM sqlite_master WHERE name = 'spend_day_by_day'").fetchone()
    )
    content = bytearray(path.read_bytes())
    at = content.index(b"2018-01-02", 4096 * (rootpage - 1))  # pages are 4096 bytes
    assert at < 4096 * rootpage
    content[at : at + 10] = b"2019-01-02"
    path.write_bytes(content)
    for use in uses(path):
        with pytest.raises(FormatError, match="pages do not fit"):
            use()


def test_a_trigger_that_was_there_from_the_start_of_a_transaction_cannot_hide(ledger, path):
    edit(path, "CREATE TEMP TRIGGER cheap AFTER INSERT ON main.budget BEGIN SELECT 1; END")  # gone with its connection
    assert len(Ledger(path).history()) == 4


def test_reading_and_vacuum_are_no_change(ledger, path):
    before, head = ledger.history(), ledger.head
    edit(path, "VACUUM")
    again = Ledger(path)
    assert (again.history(), again.head) == (before, head)
    again.set_budget("fires", epsilon=8.0)
    assert Ledger(path).head != head


class TestTheKey:
    def test_a_ledger_without_its_key_is_refused_and_says_how_to_restore_it(self, ledger, path):
        key = path.with_name("ledger.sqlite.key")
        content = key.read_bytes()
        key.unlink()
        for use in uses(path):
            with pytest.raises(FormatError, match=r"ledger\.sqlite\.key is missing.*restore both from one copy"):
                use()
        assert not key.exists()
        key.write_bytes(content)
        assert len(Ledger(path).history()) == 4

    def test_another_key_is_refused(self, ledger, path, tmp_path):
        other = Ledger(tmp_path / "other" / "ledger.sqlite")
        other.set_budget("doors", epsilon=1.0)
        shutil.copy(tmp_path / "other" / "ledger.sqlite.key", path.with_name("ledger.sqlite.key"))
        for use in uses(path):
            with pytest.raises(FormatError, match="has another key than the one beside it"):
                use()

    @pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"tacit ledger key 1\n", b"tacit ledger key 1\nzz\n"])
    def test_a_damaged_key_is_refused(self, ledger, path, content):
        path.with_name("ledger.sqlite.key").write_bytes(content)
        with pytest.raises(FormatError, match=r"ledger\.sqlite\.key"):
            Ledger(path)

    def test_the_key_is_in_no_other_file(self, ledger, path):
        key = ledger._file.key_file.read()
        for file in path.parent.iterdir():
            is_key = file.name.endswith(".key")
            assert (key.hex().encode() in file.read_bytes()) == is_key
            assert key not in file.read_bytes()


class TestOldCopies:
    def test_a_ledger_put_back_to_an_earlier_day_is_refused(self, ledger, path):
        old = path.read_bytes()
        ledger.spend(data_set="fires", release="third", cost=Cost.pure(0.5), days=DAYS)
        path.write_bytes(old)
        for use in uses(path):
            with pytest.raises(FormatError, match="is older than when it was used last"):
                use()

    def test_a_folder_put_back_as_a_whole_is_told_by_a_head(self, ledger, path, tmp_path):
        shutil.copytree(path.parent, tmp_path / "backup")
        ledger.spend(data_set="fires", release="third", cost=Cost.pure(0.5), days=DAYS)
        head = ledger.head
        assert Ledger(path).verify([head]) == head
        restored = Ledger(tmp_path / "backup" / "ledger.sqlite")
        with pytest.raises(FormatError, match="is older than"):
            restored.verify([head])
        assert ledger.verify([restored.head]) == head

    def test_heads_that_are_none_and_ledgers_that_are_not_there(self, ledger, tmp_path):
        assert ledger.verify([]) == ledger.head
        with pytest.raises(FormatError, match="another ledger"):
            ledger.verify(["00" * 16])
        nowhere = Ledger(tmp_path / "none.sqlite")
        assert nowhere.verify([]) == ""
        with pytest.raises(FormatError, match="another ledger"):
            nowhere.verify([ledger.head])
        assert not (tmp_path / "none.sqlite").exists()

    def test_a_lost_ledger_is_not_made_anew(self, ledger, path):
        path.unlink()
        for use in uses(path):
            with pytest.raises(FormatError, match="has disappeared"):
                use()
        assert not path.exists()

    def test_a_note_that_is_missing_or_damaged_costs_time_only(self, ledger, path):
        note = path.with_name("ledger.sqlite.checked")
        for content in (None, b"", b"\xff", b"tacit ledger checked 1\nxx\nyy\n"):
            note.unlink() if content is None else note.write_bytes(content)
            assert len(Ledger(path).history()) == 4


def test_every_entry_moves_the_head_and_no_look_does(ledger):
    heads = [ledger.head]
    ledger.set_budget("fires", epsilon=8.0)
    heads.append(ledger.head)
    paid = ledger.spend(data_set="fires", release="third", cost=Cost.pure(0.5), days=DAYS)
    heads.append(ledger.head)
    paid.draw("third", b"counts")
    heads.append(ledger.head)
    ledger.finish(paid)
    heads.append(ledger.head)
    assert len(set(heads)) == len(heads)
    ledger.remaining("fires")
    ledger.spend(data_set="fires", release="fourth", cost=Cost.pure(0.5), days=DAYS, dry_run=True)
    assert ledger.head == heads[-1] == Ledger(ledger.path).head
    assert ledger.verify(heads) == heads[-1]
    assert all(len(head) == 32 and bytes.fromhex(head) for head in heads)


class TestWiping:
    """SQLite's journal holds pages as they were: a key that was wiped from the table may stand there."""

    @pytest.fixture
    def journals(self, monkeypatch, tmp_path):
        """A second name for every journal, which shows its bytes also after it was removed."""
        kept = []
        really = ledger_file.wipe

        def linked(journal):
            if journal.exists():
                kept.append((tmp_path / f"journal-{len(kept)}", journal.read_bytes()))
                os.link(journal, kept[-1][0])
            really(journal)

        monkeypatch.setattr(ledger_file, "wipe", linked)
        return kept

    @pytest.mark.slow
    def test_a_wiped_key_is_in_no_byte_of_any_file(self, path, journals, monkeypatch):
        monkeypatch.setattr(ledger_file, "_SYNCHRONOUS", "OFF")  # faster; the power will not fail
        book = Ledger(path)
        book.set_budget("fires", epsilon=30.0)
        # many keys at once, so that their table has many pages and rows move between them
        paid = [
            book.spend(data_set="fires", release=f"r{n}", cost=Cost.pure(0.01), days={"2018-01-01": b"a"})
            for n in range(150)
        ]
        keys = [one.draw(one.release, b"counts")._key for one in paid]
        assert all(key in path.read_bytes() for key in keys)
        order = [n * 67 % 150 for n in range(150)]
        for done, n in enumerate(order):
            book.finish(paid[n])
            left = b"".join(file.read_bytes() for file in path.parent.iterdir())
            if done % 10 == 0 or done > 140:
                assert not [m for m in order[: done + 1] if keys[m] in left]
        assert sum(any(key in seen for key in keys) for _, seen in journals) > 100  # the journals had them
        for journal, _ in journals:
            assert not journal.read_bytes().strip(b"\0")
        assert not list(path.parent.glob("*-journal"))

    def test_a_journal_is_overwritten_also_when_nothing_is_spent(self, ledger, path, journals):
        def refused():
            with ledger._file.transaction() as connection:
                connection.execute("DELETE FROM spend_key")
                connection.execute("UPDATE spend SET epsilon = 0")
                connection.execute("PRAGMA cache_spill = 1")
                raise KeyError

        with pytest.raises(KeyError):
            refused()
        assert len(Ledger(path).history()) == 4
        assert all(not journal.read_bytes().strip(b"\0") for journal, _ in journals)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_ledger_that_was_left_half_written_is_undone_by_the_next_look(ledger, path):
    """A process killed while its pages go to the file leaves a journal; the ledger must open all the same."""
    before = ledger.history()
    child = os.fork()
    if child == 0:
        connection = sqlite3.connect(path, isolation_level=None)
        for setting in ("cache_size = 1", "cache_spill = 1"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN IMMEDIATE")
        row = ("now", "y" * 500, 1.0, 0.0, 0.0, 0)
        connection.executemany(
            "INSERT INTO budget (at, data_set, epsilon, rho, delta, is_declared) VALUES (?, ?, ?, ?, ?, ?)", [row] * 500
        )
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.with_name("ledger.sqlite-journal").exists()
    assert Ledger(path).history() == before
    assert not path.with_name("ledger.sqlite-journal").exists()


def test_the_tables_that_are_only_appended_to_are_never_changed(ledger, path):
    """Their rows are entered once, in ranges: a changed row would be refused at the next look."""
    with ledger._file.snapshot() as connection:
        before = {kind: connection.execute(f"SELECT rowid, * FROM {kind}").fetchall() for kind in APPENDED}
    (counter,) = [entry for entry in ledger.history() if getattr(entry, "is_forever", False)]
    ledger.extend(counter.identifier, {"2018-01-04": b"e"} | DOORS)
    ledger.note_bins(counter.identifier, {1: b"y", 2: b"z"})
    ledger.record_randomization(
        data_set="fires",
        plan_id="ab12",
        private=("place",),
        epsilon=1.0,
        days=DAYS,
        n_events=5,
        selection=EVERY_ROW,
        again=True,
    )
    with ledger._file.snapshot() as connection:
        for kind, rows in before.items():
            assert connection.execute(f"SELECT rowid, * FROM {kind}").fetchall()[: len(rows)] == rows
    assert Ledger(path).head == ledger.head


def test_a_refusal_keeps_no_lock(ledger, path):
    """A query that is left half way would keep the file locked for as long as somebody holds the error."""
    edit(path, "UPDATE chain SET digest = zeroblob(32) WHERE number = 3")
    with pytest.raises(FormatError) as held:
        Ledger(path)
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    connection.execute("BEGIN EXCLUSIVE")
    connection.close()
    assert held.value.__context__ is not None


def test_a_ledger_made_to_look_as_if_it_never_had_a_chain_is_refused(ledger, path):
    edit(
        path,
        "UPDATE spend SET epsilon = 0.001",
        *(f"DROP TABLE {table}" for table in ("chain", "randomization_key", "declaration")),
        *(f"ALTER TABLE {table} DROP COLUMN spans_lines" for table in ("randomization", "spend")),
        "ALTER TABLE randomization DROP COLUMN counts",
        "UPDATE about SET format = 3",
    )
    path.with_name(f"{path.name}.checked").unlink()
    for use in uses(path):
        with pytest.raises(FormatError, match=r"has no chain, but its key ledger\.sqlite\.key is there"):
            use()
