"""The ledger shows what was spent and what remains, and takes a budget."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from small_worlds import DOUBS, EVERY_ROW, days_and_places
from tacit.cli.ledger import heads_of
from tacit.collection.range_streams import LocalRanges
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

DAYS = {"2018-01-01": b"a", "2018-01-02": b"b"}


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def test_a_ledger_that_is_not_there_is_not_made_by_looking(tacit, tmp_path):
    ran = tacit("ledger")
    assert ran.code == 0
    assert "Nothing was spent yet" in ran.out
    assert list(tmp_path.iterdir()) == []


def test_what_releases_would_come_to_is_said_and_nothing_is_written(tacit, tmp_path):
    ran = tacit("ledger", "--compose", "12x0.125, 1")
    assert (ran.code, ran.out.strip()) == (0, "Together: epsilon 2.5, by sequential.")
    ran = tacit("ledger", "--compose", "0.5,rho=0.02", "--delta", "1e-6")
    assert ran.code == 0
    assert "at delta 1e-06, by " in ran.out
    assert "zCDP" in ran.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compose", "much"), "a cost must read"),
        (("--compose", "rho=0.1"), "no epsilon without a delta"),
        (("--compose", "1", "--budget", "visits"), "adds up costs without a budget"),
    ],
)
def test_costs_that_cannot_be_composed_get_a_sentence(tacit, words, said):
    ran = tacit("ledger", *words)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())


def test_entries_and_what_remains_are_shown(tacit, book):
    book.record_randomization(
        data_set="fires", plan_id="ab12", private=("place",), epsilon=2.2, days=DAYS, n_events=1234, selection=EVERY_ROW
    )
    book.set_budget("visits", epsilon=3.0, delta=1e-6)
    book.finish(
        book.spend(
            data_set="visits", release="cd34", cost=Cost.pure(1.0), days={"2018-01-01": b"v", "2018-01-02": b"w"}
        )
    )
    days = {"2018-02-01": b"c"}
    book.record_randomization(
        data_set="stopped",
        plan_id="0123",
        private=("place",),
        epsilon=2.0,
        days=days,
        n_events=7,
        selection=EVERY_ROW,
        counts_digest=b"d",
    )
    book.spend(data_set="doors", release="ef56", cost=Cost.zcdp(0.1), days=None, unit=Unit.user_day(most=3))
    ran = tacit("ledger")
    assert ran.code == 0
    for words in (
        "1,234 reports of plan ab12 ",
        "7 reports of plan 0123 (never finished)",
        "epsilon 2.2 a report",
        "counts, cd34",
        "2018-01-01 to 2018-01-02",
        "counts, ef56 (never finished)",
        "for ever",
        "user-day of at most 3 events",
        "rho 0.1 (zCDP) (its first release)",
        "epsilon 3 at delta 1e-06",
        "none until a budget is declared",
    ):
        assert words in ran.out, words
    visits = next(line for line in ran.out.splitlines() if line.startswith("visits"))
    assert "epsilon 2.2" not in visits  # other events on the same days


def test_a_budget_is_declared_and_changed(tacit, book):
    ran = tacit("ledger", "--budget", "visits", "--epsilon", "3", "--delta", "1e-6")
    assert ran.code == 0
    assert "The budget of visits is now epsilon 3 at delta 1e-06." in ran.out
    book.spend(data_set="visits", release="a", cost=Cost.pure(1.0), days=DAYS)
    ran = tacit("ledger", "--budget", "visits", "--epsilon", "2")
    assert ran.code == 0
    assert "epsilon 1" in ran.out
    assert tacit("ledger", "--budget", "visits", "--rho", "0.5").code == 0
    assert str(book.remaining("visits").budget) == "rho 0.5 (zCDP)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "3"), "--budget NAME"),
        (("--delta", "1e-6"), "--budget NAME"),
        (("--budget", "visits"), "exactly one"),
        (("--budget", "visits", "--epsilon", "1", "--rho", "1"), "exactly one"),
        (("--budget", "visits", "--epsilon", "0"), "epsilon must be"),
        (("--budget", "visits", "--epsilon", "nan"), "epsilon must be"),
        (("--budget", "visits", "--epsilon", "-1"), "epsilon must be"),
        (("--budget", "visits", "--epsilon", "1", "--delta", "2"), "delta must be"),
        (("--budget", "visits", "--delta", "1e-6"), "--epsilon"),
        (("--budget", "visits", "--rho", "0.1", "--delta", "1e-6"), "--epsilon"),
        (("--budget", " ", "--epsilon", "1"), "data_set must be"),
    ],
)
def test_a_budget_that_makes_no_sense_gets_a_sentence_and_is_not_written(tacit, tmp_path, words, said):
    ran = tacit("ledger", *words)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_ledger_gets_a_sentence(tacit, tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"something else" * 100)
    ran = tacit("ledger")
    assert ran.code == 4
    assert "is not a ledger, or is damaged" in ran.err


def test_another_ledger_can_be_shown(tacit, tmp_path):
    other = Ledger(tmp_path / "other.sqlite")
    other.set_budget("elsewhere", epsilon=1.0)
    assert "elsewhere" in tacit("ledger", "--ledger", other.path).out
    assert "elsewhere" not in tacit("ledger").out


def test_a_ledger_is_verified_by_itself_and_a_missing_file_is_named(tacit, book, tmp_path):
    book.spend(data_set="visits", release="a", cost=Cost.pure(1.0), days=DAYS)
    assert "whole, head" in tacit("ledger", "verify").out
    ran = tacit("ledger", "statement", "nosuch.csv")
    assert ran.code == 4
    assert "nosuch.csv is not there" in ran.err


def test_names_that_nobody_used_are_told(tacit, book):
    book.spend(data_set="visits", release="a", cost=Cost.pure(1.0), days=DAYS)
    assert "Nothing was spent under the name visist so far" in tacit("ledger", "same", "visits", "visist").out


WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
COLUMNS = ("--time", "day", "--place", "town", *WRITTEN)


@pytest.fixture
def published(tacit, tmp_path):
    """A file of every kind that one ledger paid for, made in this order; and what the commands said."""
    rows = [f"2018-01-0{1 + n % 5},place {n % 3}" for n in range(90)]
    (tmp_path / "events.csv").write_text("\n".join(["day,town", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "branches.csv").write_text("branch\nCentre\nPort\n", encoding="utf-8")
    plan_for(days_and_places(5, 3), f=0.5).write(tmp_path / "local.toml")
    central_plan_for(days_and_places(5, 3), epsilon=1.0, mechanism="flat").write(tmp_path / "central.toml")
    said = [
        tacit("randomize", "events.csv", *COLUMNS, "--plan", "local.toml", "--data-set", "fires"),
        tacit("tally", "events.reports", "--plan", "local.toml", "--out", "events.tally"),
        tacit("ledger", "--budget", "fires", "--epsilon", "9"),
        tacit("count", "events.csv", *COLUMNS, "--plan", "central.toml", "--data-set", "fires", "--out", "a.parquet"),
        tacit("count", "events.csv", *COLUMNS, "--plan", "central.toml", "--data-set", "fires", "--out", "b.parquet"),
        tacit(
            *("counter", "start", *DOUBS, "--places", "branches.csv", "--level", "branch", "--from", "2025-01-01"),
            *("--epsilon", "1", "--out", "visits.counter"),
        ),
        tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "3,4"),
    ]
    assert [ran.code for ran in said] == [0] * len(said), [ran.err for ran in said]
    return ("events.reports", "events.tally", "a.parquet", "b.parquet", "visits.counter", "visits.history.csv"), said


def test_the_ledger_that_paid_is_found_whole(published, tacit, tmp_path):
    files, _ = published
    ran = tacit("ledger", "verify", *files)
    assert ran.code == 0, ran.err
    for file in files:
        assert f"{file}: the ledger holds its head." in ran.out
    head = Ledger(tmp_path / "ledger.sqlite").head
    assert f"whole, head {head}" in ran.out
    assert head in tacit("ledger").out


def test_every_command_that_spends_says_where_the_ledger_lies(published, tmp_path):
    _, (first, _, *others) = published
    path = tmp_path / "ledger.sqlite"
    assert f"New ledger made at {path}: earlier spending is unknown." in first.err
    for ran in others:
        assert f"Ledger: {path}" in ran.out
        assert "New ledger" not in ran.err


def test_another_ledger_is_refused(published, tacit, tmp_path):
    Ledger(tmp_path / "other.sqlite").set_budget("fires", epsilon=1.0)
    files, _ = published
    ran = tacit("ledger", "verify", *files, "--ledger", "other.sqlite")
    assert ran.code == 4
    assert "does not hold the heads of 6 of 6 files" in ran.err


def test_an_older_ledger_is_refused_for_what_came_later_only(published, tacit, tmp_path):
    folder = tmp_path / "backup"
    folder.mkdir()
    for file in tmp_path.glob("ledger.sqlite*"):
        shutil.copy(file, folder)
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-02", "--counts", "1,1").code == 0
    for file in folder.iterdir():
        shutil.copy(file, tmp_path)
    ran = tacit("ledger", "verify", "b.parquet", "visits.counter", "visits.history.csv")
    assert ran.code == 4
    assert "b.parquet: the ledger holds its head." in ran.out
    assert "does not hold the heads of 1 of 3 files" in ran.err


def test_what_is_stated_again_carries_the_head_of_the_ledger_that_says_so(published, tacit, tmp_path):
    files = ("b.parquet", "visits.history.csv")
    heads = {name: heads_of(tmp_path / name) for name in files}
    Ledger(tmp_path / "ledger.sqlite").set_budget("visits", epsilon=5.0)
    head = Ledger(tmp_path / "ledger.sqlite").verify(())
    assert tacit("ledger", "statement", "b.parquet", "--out", "again.parquet").code == 0
    assert tacit("counter", "release", "visits.history.csv", "--out", "visits.parquet").code == 0
    for made, name in (("again.parquet", "b.parquet"), ("visits.parquet", "visits.history.csv")):
        assert set(heads_of(tmp_path / made)) == {head, *heads[name]}
    assert {name: heads_of(tmp_path / name) for name in files} == heads
    assert head not in {*heads["b.parquet"], *heads["visits.history.csv"]}
    # reports may come from several ledgers, whose heads stay
    assert tacit("release", "events.tally", "--plan", "local.toml", "--out", "local.parquet").code == 0
    assert tacit("ledger", "statement", "local.parquet", "--out", "local again.parquet").code == 0
    assert set(heads_of(tmp_path / "local again.parquet")) == {head, *heads_of(tmp_path / "local.parquet")}


def test_simulations_and_what_is_no_file_of_ours(published, tacit, tmp_path):
    words = ("--plan", "central.toml", "--seed", "1", "--out", "simulated.parquet")
    assert tacit("count", "events.csv", *COLUMNS, *words).code == 0
    assert "carries no head" in tacit("ledger", "verify", "simulated.parquet").out
    for content in (b"", b"{}", b"PK\3\4", b"TACITRPT", b"something else"):
        (tmp_path / "strange").write_bytes(content)
        ran = tacit("ledger", "verify", "strange")
        assert ran.code == 4, content
    assert tacit("ledger", "verify", "nowhere").code == 4


def test_an_edited_ledger_is_refused(published, tacit, tmp_path):
    connection = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    connection.execute("UPDATE spend SET epsilon = 0.01")
    connection.close()
    ran = tacit("ledger", "verify", "b.parquet")
    assert ran.code == 4
    assert "was changed or is damaged" in ran.err


def test_reports_that_come_one_by_one_are_listed_without_a_number(tacit, tmp_path):
    book = Ledger(tmp_path / "own.sqlite")
    LocalRanges(1.0, "2018-01-01", "2018-01-31", ledger=book, data_set="homes")
    ran = tacit("ledger", "--ledger", "own.sqlite")
    assert "reports of plan" in ran.out
    assert "0 reports" not in ran.out
