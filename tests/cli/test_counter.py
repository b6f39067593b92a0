"""tacit counter: start, add, answer, show."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

from tacit.central.continual.history_file import read_history
from tacit.privacy.ledger import Ledger
from tacit.release import Release

PLACES = "branch\nCentre\nPort\nUniversity\n"


@pytest.fixture
def branches(tmp_path):
    path = tmp_path / "branches.csv"
    path.write_text(PLACES, encoding="utf-8")
    return path


@pytest.fixture
def visits(tmp_path):
    """Five days of visits to three branches, a person many times a day."""
    rng = np.random.default_rng(3)
    path = tmp_path / "visits.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Date", "Branch", "Card"])
        for day in range(1, 6):
            for _ in range(200):
                writer.writerow([f"2025-01-{day:02d}", ["Centre", "Port"][rng.integers(2)], rng.integers(50)])
    return path


def started(tacit, branches, *more):
    words = ("counter", "start", "--places", branches, "--level", "branch", "--from", "2025-01-01")
    return tacit(*words, *(more or ("--epsilon", "1")))


COLUMNS = ("--time", "Date", "--place", "Branch")


def test_a_counter_from_start_to_answer(tacit, branches, visits, tmp_path):
    ran = started(tacit, branches, "--epsilon", "1", "--horizon", "365")
    assert ran.code == 0, ran.err
    assert "guard it like the events" in ran.out
    assert "smooth tree" in ran.out
    for words in (("--date", "2025-01-01"), ("--date", "2025-01-02", "--to", "2025-01-04")):
        ran = tacit("counter", "add", "visits.counter", visits, *words, *COLUMNS)
        assert ran.code == 0, ran.err
    assert "events so far, give or take" in ran.out
    ran = tacit("counter", "add", "visits.counter", "--date", "2025-01-05", "--counts", "90,110,0")
    assert ran.code == 0, ran.err
    history = read_history(tmp_path / "visits.history.csv")
    assert history.n_bins == 5
    assert not history.stream.is_simulation
    assert abs(history.answer().value - 1000) < 12 * history.answer().standard_error
    asked = ("counter", "answer", "visits.history.csv", "--from", "2025-01-02", "--to", "2025-01-03", "--place", "Port")
    first, again = tacit(*asked), tacit(*asked)
    assert first == again
    assert "give or take" in first.out
    shown = tacit("counter", "show", "visits.counter")
    assert "2025-01-01 to 2025-01-05 (5 periods)" in shown.out
    assert "University" in shown.out


def test_a_period_is_counted_once_and_in_turn(tacit, branches, visits):
    started(tacit, branches)
    assert tacit("counter", "add", "visits.counter", visits, "--date", "2025-01-01", *COLUMNS).code == 0
    for date, words in (("2025-01-01", "counted already"), ("2025-01-04", "too early")):
        ran = tacit("counter", "add", "visits.counter", visits, "--date", date, *COLUMNS)
        assert ran.code == 3
        assert words in ran.err


def test_a_counter_is_paid_once_and_a_second_one_is_refused(tacit, branches, tmp_path):
    assert started(tacit, branches, "--epsilon", "1", "--data-set", "library").code == 0
    second = started(tacit, branches, "--epsilon", "1", "--data-set", "library", "--out", "second.counter")
    assert second.code not in (0, 70)
    assert "budget" in second.err
    assert not (tmp_path / "second.counter").exists()
    overwritten = started(tacit, branches, "--epsilon", "1", "--data-set", "other")
    assert "is a counter already" in overwritten.err
    assert len(Ledger(tmp_path / "ledger.sqlite").history()) == 1


def test_a_dry_run_spends_and_writes_nothing(tacit, branches, tmp_path):
    before = sorted(tmp_path.iterdir())
    ran = started(tacit, branches, "--epsilon", "0.5", "--dry-run")
    assert ran.code == 0
    assert "nothing was spent" in ran.out
    assert sorted(tmp_path.iterdir()) == before


def test_an_interrupted_start_is_taken_up_with_the_same_noise(tacit, branches, tmp_path, monkeypatch):
    from tacit.central.continual import CounterFiles

    def stop(*_, **__):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(CounterFiles, "create", stop)
        assert started(tacit, branches).code == 1
    assert started(tacit, branches).code == 0
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "finish", stop)
        assert started(tacit, branches, "--epsilon", "1", "--out", "b.counter").code == 1
    before = (tmp_path / "b.counter").read_bytes()
    assert started(tacit, branches, "--epsilon", "1", "--out", "b.counter").code == 0
    assert (tmp_path / "b.counter").read_bytes() == before
    spends = Ledger(tmp_path / "ledger.sqlite").history()
    assert [spend.is_finished for spend in spends] == [True, True]


def test_users_days_are_bounded(tacit, branches, visits):
    ran = started(tacit, branches, "--epsilon", "1", "--unit", "user-day", "--most", "2")
    assert ran.code == 0, ran.err
    assert "user-day of at most 2 events" in ran.out
    without = tacit("counter", "add", "visits.counter", visits, "--date", "2025-01-01", *COLUMNS)
    assert "--user" in without.err
    ran = tacit("counter", "add", "visits.counter", visits, "--date", "2025-01-01", *COLUMNS, "--user", "Card")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--epsilon", "1", "--rho", "1"), "one of --epsilon and --rho"),
        ((), "one of --epsilon and --rho"),
        (("--rho", "1", "--delta", "1e-6"), "delta belongs"),
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--epsilon", "1", "--horizon", "0"), "horizon"),
        (("--epsilon", "1", "--unit", "person"), "unit"),
    ],
)
def test_settings_that_make_no_counter_are_refused_and_nothing_is_spent(tacit, branches, tmp_path, words, told):
    ran = tacit("counter", "start", "--places", branches, "--level", "branch", "--from", "2025-01-01", *words)
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "visits.counter").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--counts", "1,2"), 3),
        (("--counts", "1,2,-3"), 3),
        (("--counts", "1,2,x"), 3),
        (("--counts", "1,2,2.5"), 3),
        (("--counts", "1,2,3", "--to", "2025-01-02"), 2),
        ((), 2),
        (("visits.csv", "--counts", "1,2,3"), 2),
        (("visits.csv",), 2),
        (("visits.csv", "--time", "Date", "--place", "Branch", "--user", "Card"), 2),
    ],
)
def test_counts_that_cannot_be_added_are_refused(tacit, branches, visits, words, code, tmp_path):
    started(tacit, branches)
    before = (tmp_path / "visits.counter").read_bytes()
    ran = tacit("counter", "add", "visits.counter", *words, "--date", "2025-01-01")
    assert ran.code == code, ran.err
    assert (tmp_path / "visits.counter").read_bytes() == before


def test_a_bad_count_in_a_table_refuses_the_table(tacit, branches, tmp_path):
    started(tacit, branches)
    table = tmp_path / "table.csv"
    table.write_text("Date,Branch,N\n2025-01-01,Centre,5\n2025-01-01,Port,secret\n", encoding="utf-8")
    ran = tacit("counter", "add", "visits.counter", table, "--date", "2025-01-01", *COLUMNS, "--count", "N")
    assert ran.code == 3
    assert "secret" not in ran.err
    assert "Nothing was counted" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("--from", "2025-01-03", "--to", "2025-01-01"),
        ("--from", "2024-12-31"),
        ("--to", "2025-02-01"),
        ("--place", "Nowhere"),
        ("--level", "1.5"),
    ],
)
def test_questions_without_an_answer_are_refused(tacit, branches, words):
    started(tacit, branches)
    tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3")
    assert tacit("counter", "answer", "visits.history.csv", *words).code == 2


def test_a_simulation_says_so_everywhere(tacit, branches):
    ran = started(tacit, branches, "--epsilon", "1", "--delta", "1e-6", "--horizon", "100", "--seed", "4")
    assert "SIMULATION" in ran.err
    assert "buffered root" in ran.out
    tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3")
    for command in ("answer", "show"):
        assert "SIMULATION" in tacit("counter", command, "visits.history.csv").err


def test_noise_drawn_ahead_warns(tacit, branches):
    ran = started(tacit, branches, "--epsilon", "1", "--horizon", "100", "--ahead")
    assert "react" in ran.err
    assert "react" in tacit("counter", "show", "visits.history.csv").out


def test_damaged_files_are_told(tacit, branches, tmp_path):
    started(tacit, branches)
    for name in ("visits.counter", "visits.history.csv"):
        (tmp_path / name).write_bytes(b"garbage" + os.urandom(10))
    for command in (
        ("add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3"),
        ("show", "visits.history.csv"),
    ):
        ran = tacit("counter", *command)
        assert ran.code == 4
        assert "Restore" in ran.err


@pytest.mark.parametrize(
    ("bought", "delta"),
    [
        (("--epsilon", "1"), ()),
        (("--rho", "0.1"), ("--delta", "1e-6")),
        (("--epsilon", "1", "--horizon", "90", "--ahead"), ()),
    ],
)
def test_a_history_becomes_a_release_that_can_be_asked_and_shown(tacit, branches, tmp_path, bought, delta):
    started(tacit, branches, *bought)
    counts = [word for _ in range(40) for word in ("--counts", "300,40,5")]
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", *counts).code == 0
    if delta:
        assert "delta must be given" in tacit("counter", "release", "visits.history.csv").err
    ran = tacit("counter", "release", "visits.history.csv", "--by", "month", *delta)
    assert ran.code == 0, ran.err
    read = Release.read(tmp_path / "release.parquet")
    history = read_history(tmp_path / "visits.history.csv")
    asked = {"first": "2025-01-01", "last": "2025-01-31", "places": ["Port"]}
    assert read.answer(**asked).value == pytest.approx(history.answer(**asked).value)
    assert read.answer(**asked).standard_error == pytest.approx(history.answer(**asked).standard_error)
    assert ("react" in read.statement.text()) == ("--ahead" in bought)
    assert "running total" in read.statement.text()
    for command in (("query", "release.parquet", "--place", "port"), ("page", "release.parquet")):
        ran = tacit(*command)
        assert ran.code == 0, ran.err
