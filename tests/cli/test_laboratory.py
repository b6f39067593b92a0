"""tacit laboratory: the paper's evaluation on a file of one's own, with nothing spent."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import DOUBS


@pytest.fixture
def events(tmp_path):
    days = np.datetime64("2018-01-01") + np.arange(60)
    rows = [f"{day},{town},{n}" for day in days for town, n in (("Besançon", 9), ("Ornans", 4), ("Pontarlier", 6))]
    (tmp_path / "events.csv").write_text("\n".join(["day,town,n", *rows]) + "\n", encoding="utf-8")
    return ("events.csv", "--time", "day", "--place", "town", "--count", "n", *DOUBS)


@pytest.mark.slow
def test_a_page_and_tables_say_what_private_counts_would_be_off_by(tacit, events, tmp_path):
    ran = tacit("laboratory", *events, "--f", "0.2,0.5", "--day", "2018-02-25")
    assert ran.code == 0, ran.err
    assert "LABORATORY – not for publication: made of 1,140 exact events" in ran.err
    assert "one-time RAPPOR as published" in ran.out
    assert "LEAKS" in ran.out
    assert "epsilon 4.39" in ran.out  # f = 0.2
    assert "raw counts" in ran.out
    page = (tmp_path / "laboratory.html").read_text(encoding="utf-8")
    assert "LABORATORY – not for publication" in page
    assert not (tmp_path / "ledger.sqlite").exists()  # nothing is spent


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--f", "0.5", "--epsilon", "1"), "Leave one out"),
        (("--f", "1.5"), "between 0 and 1"),
        (("--epsilon", "1,two"), "numbers with commas"),
        (("--step", "month"), "Count events by day"),
        (("--test-from", "2018-01-02"), "learn from"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tacit, events, tmp_path, words, said):
    ran = tacit("laboratory", *events, *words)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert not (tmp_path / "laboratory.html").exists()
