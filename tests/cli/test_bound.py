"""tacit bound: how many events of a person to count, chosen privately."""

from __future__ import annotations

import re

import pytest

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
    return tacit("bound", loans, *COLUMNS, *PERIOD, "--level", "town", "--user", "card", "--grid", "1,3,10", *words)


def test_a_bound_is_chosen_paid_and_stated(tacit, loans, tmp_path):
    dry = bound(tacit, loans, "--epsilon", "1", "--dry-run")
    assert "would cost epsilon 1 per person; nothing was spent" in " ".join(dry.out.split())
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--epsilon", "1", "--grid", "1,x"), "whole numbers with commas"),
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
    ran = tacit("bound", loans, *COLUMNS, "--user", "card", "--epsilon", "1")
    assert "--from, --to" in ran.err
