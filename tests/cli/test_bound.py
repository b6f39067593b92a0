"""tacit bound: how many events of a person to count, chosen privately."""

from __future__ import annotations

import re

import pytest

from small_worlds import DOUBS
from tacit.privacy.ledger import Ledger

PERIOD = ("--from", "2018-01-01", "--to", "2018-03-31")
COLUMNS = ("--time", "day", "--place", "town", "--date-format", "year-first", "--separator", ",", "--encoding", "utf-8")


@pytest.fixture
def loans(tmp_path):
    # another bound than 3 is drawn for the quantile 0.5 with a probability below e^-69
    events = {card: 3 if card < 140 else 8 for card in range(290)}
    lines = [f"2018-02-{day + 1:02d},Ornans,card {card}" for card, n in events.items() for day in range(n)]
    (tmp_path / "loans.csv").write_text("\n".join(["day,town,card", *lines]), encoding="utf-8")
    return "loans.csv"


def bound(tacit, loans, *words):
    return tacit(
        "bound", *DOUBS, loans, *COLUMNS, *PERIOD, "--level", "town", "--user", "card", "--grid", "1,3,10", *words
    )


def test_a_bound_is_chosen_paid_and_stated(tacit, loans, tmp_path):
    dry = bound(tacit, loans, "--epsilon", "1", "--dry-run")
    assert "would cost epsilon 1 per person in all that is released; nothing was spent" in " ".join(dry.out.split())
    ran = bound(tacit, loans, "--epsilon", "1", "--budget", "3", "--quantile", "0.5", "--out", "bound.txt")
    assert ran.code == 0, ran.err
    assert "Count at most 3 events of a person." in ran.out
    assert "What remains of the budget of loans: epsilon 2" in " ".join(ran.out.split())
    assert "--unit person --most 3" in " ".join(ran.out.split())
    assert not {"140", "150", "290"} & set(re.findall(r"\d+", ran.out))
    written = (tmp_path / "bound.txt").read_text(encoding="utf-8")
    assert "The bound of 3 events was chosen from the public grid 1, 3, 10" in written
    (entry,) = Ledger(tmp_path / "ledger.sqlite").history()
    assert entry.is_finished


def test_a_dry_run_asks_the_ledger_and_is_refused_like_the_run_itself(tacit, loans, tmp_path):
    priced = bound(tacit, loans, "--epsilon", "0.1", "--budget", "0.15", "--window", "month", "--dry-run")
    said = " ".join(priced.out.split())
    assert "would cost epsilon 0.1 per person in a month; nothing was spent." in said
    assert "What would remain of the budget of loans: epsilon 0.05." in said
    assert not Ledger(tmp_path / "ledger.sqlite").history()
    assert bound(tacit, loans, "--epsilon", "0.1", "--budget", "0.15", "--window", "month").code == 0
    for words in (("--dry-run",), ()):
        refused = bound(tacit, loans, "--epsilon", "0.1", "--quantile", "0.5", "--window", "month", *words)
        assert refused.code == 5
        assert "epsilon 0.1 is spent" in " ".join(refused.err.split())
        assert "would cost epsilon 0.1 per person" not in refused.out


def test_rows_set_aside_are_told_before_anything_is_paid(tacit, tmp_path):
    (tmp_path / "loans.csv").write_text("day,town,card\nnever,Ornans,a\n2018-02-01,Ornans,\n", encoding="utf-8")
    for words in (("--dry-run",), ("--seed", "1")):
        ran = bound(tacit, "loans.csv", "--epsilon", "1", *words)
        assert ran.code == 0, ran.err
        told = " ".join(ran.err.split())
        assert "For your eyes only: no person was counted." in told
        assert "2 rows were set aside:" in told
        assert "(row 2)" in told
        assert "(row 3)" in told
    assert bound(tacit, "loans.csv", "--epsilon", "1", "--strict").code == 3
    assert not Ledger(tmp_path / "ledger.sqlite").history()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--epsilon", "1", "--grid", "1,x"), "whole numbers with commas"),
        (("--epsilon", "1", "--grid", "1_0"), "whole numbers with commas"),
        (("--epsilon", "1", "--grid", "1,\u0663"), "whole numbers with commas"),
        (("--epsilon", "1", "--grid", "9" * 5000), "whole numbers with commas"),
        (("--epsilon", "1", "--quantile", "2"), "quantile"),
        (("--epsilon", "1", "--window", "hour"), "window"),
        (("--epsilon", "1", "--seed", "1", "--dry-run"), "costs nothing"),
    ],
)
def test_what_makes_no_choice_is_refused(tacit, loans, words, told, tmp_path):
    ran = bound(tacit, loans, *words)
    assert ran.code == 2
    assert told in " ".join(ran.err.split())
    assert not (tmp_path / "ledger.sqlite").exists()


def test_the_days_must_be_public(tacit, loans):
    ran = tacit("bound", *DOUBS, loans, *COLUMNS, "--user", "card", "--epsilon", "1")
    assert "--from, --to" in ran.err
