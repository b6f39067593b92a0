"""The ledger spends before the noise is drawn, atomically, and knows events by name and by content."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from small_worlds import EVERY_ROW
from tacit.errors import AlreadyRandomized, FormatError, SettingError, UndeclaredCopy
from tacit.privacy.ledger import Ledger

DAYS = {"2018-01-01": b"a", "2018-01-02": b"b"}


def spend(ledger, *, data_set="fires", days=DAYS, epsilon=2.0, again=False, private=("place",)):
    return ledger.record_randomization(
        data_set=data_set,
        plan_id="plan",
        private=private,
        epsilon=epsilon,
        days=days,
        n_events=100,
        again=again,
        selection=EVERY_ROW,
    )


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


@pytest.fixture
def made(ledger):
    """A ledger whose file is there."""
    ledger.set_budget("something else", epsilon=1.0)
    return ledger


def test_the_first_randomization_is_recorded(ledger):
    entry = spend(ledger)
    assert entry.total_epsilon == 2.0
    assert Ledger(ledger.path).history() == [entry]


def test_the_same_events_again_are_refused_and_nothing_is_spent(ledger):
    spend(ledger)
    with pytest.raises(AlreadyRandomized, match=r"2 of 2 days .* epsilon 2 in all.*raise that to 4"):
        spend(ledger)
    assert len(ledger.history()) == 1


def test_renaming_the_data_set_does_not_renew_its_budget(ledger):
    spend(ledger)
    with pytest.raises(UndeclaredCopy, match=r"on 2 of 2 days .* Ledger\.declare_same\('another name', 'fires'\)"):
        spend(ledger, data_set="another name")
    ledger.declare_same("another name", "fires")
    with pytest.raises(AlreadyRandomized):
        spend(ledger, data_set="another name")


def test_data_sets_that_only_look_alike_are_declared_distinct(ledger):
    spend(ledger)
    ledger.declare_distinct("another name", "fires")
    assert spend(ledger, data_set="another name").total_epsilon == 2.0
    ledger.declare_same("fires", "another name")  # the last word counts
    with pytest.raises(AlreadyRandomized):
        spend(ledger, data_set="another name", days={"2018-01-01": b"more"})
    with pytest.raises(SettingError, match="cannot be taken back"):
        ledger.declare_distinct("fires", "another name")
    with pytest.raises(SettingError, match="two names must be different"):
        ledger.declare_same("fires", "fires")


def test_changed_content_under_the_same_name_does_not_renew_its_budget(ledger):
    spend(ledger)
    with pytest.raises(AlreadyRandomized, match="1 of 1 days"):
        spend(ledger, days={"2018-01-01": b"one event corrected"})


def test_other_events_on_the_same_days_are_free_under_another_name(ledger):
    spend(ledger)
    assert spend(ledger, data_set="visits", days={"2018-01-01": b"x"}).total_epsilon == 2.0


def test_new_days_of_a_growing_data_set_are_free(ledger):
    spend(ledger)
    assert spend(ledger, days={"2018-01-03": b"c"}).total_epsilon == 2.0


def test_accepting_the_repetition_states_the_sum(ledger):
    spend(ledger, epsilon=2.0)
    spend(ledger, epsilon=0.5, again=True)
    assert spend(ledger, epsilon=1.0, again=True).total_epsilon == 3.5
    # the day that is most spent decides
    assert spend(ledger, days={"2018-01-02": b"b", "2018-01-09": b"z"}, epsilon=1.0, again=True).total_epsilon == 4.5


@pytest.mark.parametrize("epsilon", [0, -1, float("nan")])
def test_a_meaningless_price_is_refused(ledger, epsilon):
    with pytest.raises(SettingError):
        spend(ledger, epsilon=epsilon)


def test_a_file_that_is_no_ledger_is_refused_and_kept(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database, but somebody's file" * 10)
    with pytest.raises(FormatError, match="not a ledger"):
        Ledger(path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_database_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE something (x)")
    connection.close()
    with pytest.raises(FormatError):
        Ledger(path)


def test_a_ledger_of_a_later_format_is_refused(made):
    with sqlite3.connect(made.path) as connection:
        connection.execute("UPDATE about SET format = 99")
    connection.close()
    with pytest.raises(FormatError, match="newer Tacit"):
        Ledger(made.path)


ONE_TRY = """
import sys
from tacit.errors import AlreadyRandomized
from tacit.privacy.ledger import Ledger
days = {"2018-01-01": b"a", "2018-01-02": b"b"}
for _ in range(5):
    try:
        Ledger(sys.argv[1]).record_randomization(
            data_set="fires", plan_id="plan", private=("place",), epsilon=2.0, days=days, n_events=100,
            selection=dict.fromkeys(("rows", "time", "place", "kind"), "any"))
        print("done")
    except AlreadyRandomized:
        print("refused")
"""


@pytest.mark.slow
def test_of_many_processes_at_once_exactly_one_may_randomize(ledger):
    """The file itself is made by whoever comes first."""
    running = [subprocess.Popen([sys.executable, "-c", ONE_TRY, ledger.path], stdout=subprocess.PIPE) for _ in range(8)]
    said = b"".join(process.communicate()[0] for process in running).split()
    assert sorted(said) == [b"done"] + [b"refused"] * 39
    names = sorted(path.name for path in ledger.path.parent.iterdir())
    assert names == ["ledger.sqlite", "ledger.sqlite.checked", "ledger.sqlite.key"]


def test_the_key_differs_between_ledgers_and_lasts(made, tmp_path):
    assert Ledger(made.path).key == made.key
    assert Ledger(tmp_path / "other.sqlite").key != made.key


def test_declared_names_are_followed(ledger):
    """A copy under another name, then that name with one event more: all three cost the same events."""
    ledger.declare_same("a", "c")
    ledger.declare_same("c", "b")
    spend(ledger, data_set="a", epsilon=1.0, days={"2018-01-02": b"x"})
    spend(ledger, data_set="b", epsilon=1.0, days={"2018-01-02": b"x"}, again=True)
    assert spend(ledger, data_set="b", epsilon=1.0, days={"2018-01-02": b"x+1"}, again=True).total_epsilon == 3.0


@pytest.mark.parametrize("other", [("time",), ("time", "place")])
def test_hiding_another_coordinate_of_the_same_events_is_refused_even_again(ledger, other):
    spend(ledger, private=("place",))
    with pytest.raises(AlreadyRandomized, match="undo each other's protection"):
        spend(ledger, private=other, again=True)
    assert len(ledger.history()) == 1


def test_a_ledger_that_lost_its_key_is_refused(made):
    for change in ("DELETE FROM about", "INSERT INTO about VALUES (1, 'short')"):
        with sqlite3.connect(made.path) as connection:
            connection.execute(change)
        connection.close()
        with pytest.raises(FormatError, match="lost its key"):
            Ledger(made.path)
