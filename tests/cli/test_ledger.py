"""The ledger shows what was spent and what remains, and takes a budget."""

from __future__ import annotations

import pytest

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


def test_entries_and_what_remains_are_shown(tacit, book):
    book.record_randomization(
        data_set="fires", plan_id="ab12", private=("place",), epsilon=2.2, days=DAYS, n_events=1234
    )
    book.set_budget("visits", epsilon=3.0, delta=1e-6)
    book.finish(
        book.spend(
            data_set="visits", release="cd34", cost=Cost.pure(1.0), days={"2018-01-01": b"v", "2018-01-02": b"w"}
        )
    )
    days = {"2018-02-01": b"c"}
    book.record_randomization(
        data_set="stopped", plan_id="0123", private=("place",), epsilon=2.0, days=days, n_events=7, counts_digest=b"d"
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
        "nothing until a budget is declared",
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
    assert ran.code != 0
    assert "nosuch.csv is not there" in ran.err


def test_names_that_nobody_used_are_told(tacit, book):
    book.spend(data_set="visits", release="a", cost=Cost.pure(1.0), days=DAYS)
    assert "Nothing was spent under the name visist so far" in tacit("ledger", "same", "visits", "visist").out
