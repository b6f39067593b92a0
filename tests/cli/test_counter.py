"""tacit counter: start, add, answer, show."""

from __future__ import annotations

import csv
import os
from dataclasses import replace

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.domain import Domain
from tacit.mechanisms.continual import CounterFiles, files
from tacit.mechanisms.continual.counter import Counter
from tacit.mechanisms.continual.history import History, head_of
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
    words = ("counter", "start", *DOUBS, "--places", branches, "--level", "branch", "--from", "2025-01-01")
    return tacit(*words, *(more or ("--epsilon", "1")))


WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
COLUMNS = ("--time", "Date", "--place", "Branch", *WRITTEN)


@pytest.mark.slow
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
    history = History.read(tmp_path / "visits.history.csv")
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
    assert second.code == 5
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


@pytest.mark.parametrize("name", ["visits.counter", "history.csv"])
def test_a_dry_run_refuses_a_file_that_is_there(tacit, branches, tmp_path, name):
    (tmp_path / name).write_text("something else")
    history = ("--history", tmp_path / "history.csv")
    said = [started(tacit, branches, "--epsilon", "1", *history, *dry) for dry in ((), ("--dry-run",))]
    assert said[0].code == said[1].code != 0
    assert said[0].err == said[1].err
    assert (tmp_path / name).read_text() == "something else"


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--step", "hour", "--unit", "user-day", "--most", "1"), "step must be a day or longer"),
        (("--to", "2025-01-31", "--horizon", "10"), "horizon must be at least the 31 bins"),
        (("--kinds", "fire,b\nc"), "on one line"),
        (("--kinds", "fire,b\udcffc"), "on one line"),
        (("--history", "nowhere/h.csv"), "nowhere"),
    ],
)
def test_what_makes_no_counter_is_refused_before_it_is_paid(tacit, branches, tmp_path, words, told, dry_run):
    ran = started(tacit, branches, "--epsilon", "1", *words, *dry_run)
    assert (ran.code, told in " ".join(ran.err.split())) == (2, True), ran.err
    assert not (tmp_path / "visits.counter").exists()
    assert Ledger(tmp_path / "ledger.sqlite").history() == []


def test_persons_may_be_counted_by_the_hour(tacit, branches, tmp_path):
    """What was counted of each is carried from hour to hour, which a counter of user-days does not do."""
    (tmp_path / "hours.csv").write_text(
        "Date,Branch,Card\n" + "".join(f"2025-01-01 {hour:02d}:30,Port,ana\n" for hour in (0, 0, 1, 2))
    )
    unit = ("--unit", "person", "--most", "3", "--window", "week")
    ran = started(tacit, branches, "--epsilon", "1", "--step", "hour", *unit, "--seed", "1")
    assert ran.code == 0, ran.err
    beyond = []
    for hour in range(3):
        asked = ("--date", f"2025-01-01T{hour:02d}:00", *COLUMNS, "--user", "Card")
        ran = tacit("counter", "add", "visits.counter", "hours.csv", *asked)
        assert ran.code == 0, ran.err
        beyond.append("lay beyond the bound on a person" in " ".join(ran.out.split()))
    assert beyond == [False, False, True]


def test_an_interrupted_start_is_taken_up_with_the_same_noise(tacit, branches, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(CounterFiles, "create", stop)
        assert started(tacit, branches).code == 1
    assert started(tacit, branches).code == 0
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "note_bins", stop)
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


def test_persons_are_bounded_over_the_life_of_a_counter(tacit, branches, visits, tmp_path):
    ran = started(tacit, branches, "--epsilon", "1", "--unit", "person", "--most", "2", "--most-per-cell", "1")
    assert ran.code == 0, ran.err
    assert "person of at most 2 events, 1 in one cell" in " ".join(ran.out.split())
    assert (
        "bounded by person" in tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2").err
    )
    for day in ("2025-01-01", "2025-01-02"):
        ran = tacit("counter", "add", "visits.counter", visits, "--date", day, *COLUMNS, "--user", "Card")
        assert ran.code == 0, ran.err
    assert "lay beyond the bound on a person" in " ".join(ran.out.split())
    assert [path.name for path in tmp_path.glob("*.persons-*")] == ["visits.counter.persons-2"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--epsilon", "1", "--rho", "1"), "one of --epsilon and --rho"),
        ((), "one of --epsilon and --rho"),
        (("--rho", "1", "--delta", "1e-6"), "delta belongs"),
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--epsilon", "1", "--horizon", "0"), "horizon"),
        (("--epsilon", "1", "--unit", "household"), "unit"),
    ],
)
def test_settings_that_make_no_counter_are_refused_and_nothing_is_spent(tacit, branches, tmp_path, words, told):
    ran = tacit("counter", "start", *DOUBS, "--places", branches, "--level", "branch", "--from", "2025-01-01", *words)
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "visits.counter").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--counts", "1,2"), 2),
        (("--counts", "1,2,-3"), 2),
        (("--counts", "1,2,x"), 2),
        (("--counts", "1,2,2.5"), 2),
        (("--counts", "1,2,3", "--to", "2025-01-02"), 2),
        ((), 2),
        (("visits.csv", "--counts", "1,2,3"), 2),
        (("visits.csv",), 2),
        (("visits.csv", *COLUMNS, "--user", "Card"), 2),
    ],
)
def test_counts_that_cannot_be_added_are_refused(tacit, branches, visits, words, code, tmp_path):
    started(tacit, branches)
    before = (tmp_path / "visits.counter").read_bytes()
    ran = tacit("counter", "add", "visits.counter", *words, "--date", "2025-01-01")
    assert ran.code == code, ran.err
    assert (tmp_path / "visits.counter").read_bytes() == before


def test_a_bad_count_in_a_table_is_set_aside_by_itself(tacit, branches, tmp_path):
    started(tacit, branches)
    table = tmp_path / "table.csv"
    table.write_text("Date,Branch,N\n2025-01-01,Centre,5\n2025-01-01,Port,secret\n", encoding="utf-8")
    ran = tacit("counter", "add", "visits.counter", table, "--date", "2025-01-01", *COLUMNS, "--count", "N")
    assert ran.code == 0, ran.err
    assert "secret" not in ran.err
    assert "1 row with a count that is not plainly a whole number of 0 or more (row 3)" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("--from", "2025-01-03", "--to", "2025-01-01"),
        ("--from", "2024-12-31"),
        ("--to", "2025-02-01"),
        ("--place", "Nowhere"),
        ("--confidence", "1.5"),
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
@pytest.mark.slow
def test_a_history_becomes_a_release_that_can_be_asked_and_shown(tacit, branches, tmp_path, bought, delta):
    started(tacit, branches, *bought)
    counts = [word for _ in range(40) for word in ("--counts", "300,40,5")]
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", *counts).code == 0
    if delta:
        assert "delta must be given" in tacit("counter", "release", "visits.history.csv").err
    ran = tacit("counter", "release", "visits.history.csv", "--by", "month", *delta)
    assert ran.code == 0, ran.err
    read = Release.read(tmp_path / "release.parquet")
    history = History.read(tmp_path / "visits.history.csv")
    asked = {"first": "2025-01-01", "last": "2025-01-31", "places": ["Port"]}
    assert read.answer(**asked).value == pytest.approx(history.answer(**asked).value)
    assert read.answer(**asked).standard_error == pytest.approx(history.answer(**asked).standard_error)
    assert ("react" in read.statement.text()) == ("--ahead" in bought)
    assert "running total" in read.statement.text()
    for command in (("query", "release.parquet", "--place", "port"), ("page", "release.parquet")):
        ran = tacit(*command)
        assert ran.code == 0, ran.err


def test_a_release_of_a_history_has_rules_and_may_be_refined(tacit, branches, tmp_path):
    started(tacit, branches, "--epsilon", "1")
    counts = [word for _ in range(40) for word in ("--counts", "300,40,0")]
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", *counts).code == 0
    words = ("counter", "release", "visits.history.csv", "--force")
    ran = tacit(
        *words, "--refine", "clip", "--suppress", "count < 20", "--missing", "2025-01-03", "--statement", "s.html"
    )
    assert ran.code == 0, ran.err
    said = " ".join((ran.out + ran.err).split())
    assert "of 120 counts: they are not in the file" in said
    assert "The counter's history, which is public, has them all the same" in said
    assert "1 period without any data" in said
    assert "Wrote s.html: the privacy statement." in said
    read = Release.read(tmp_path / "release.parquet")
    assert read.refinement == "clip"
    assert (read.statuses()[:, 2] == "suppressed").sum() > 30
    assert (read.statuses()[2] == "missing").all()
    assert (tacit(*words).code, Release.read(tmp_path / "release.parquet").refinement) == (0, "coherent")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("smooth", "a counter's is correlated from one to the next"),
        ("likelihood", "needs a public number of reports"),
        ("project", "needs a public number of reports"),
        ("neat", "must be one of raw, clip"),
    ],
)
def test_a_refinement_that_would_not_be_true_of_a_counter_is_refused(tacit, branches, tmp_path, name, why):
    started(tacit, branches, "--epsilon", "1")
    counts = [word for _ in range(3) for word in ("--counts", "300,40,0")]
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", *counts).code == 0
    ran = tacit("counter", "release", "visits.history.csv", "--refine", name)
    assert ran.code == 2
    assert why in " ".join(ran.err.split())
    assert tacit("counter", "release", "visits.history.csv", "--by", "week").code == 0
    if name == "smooth":  # nor does a release that was made of a counter forget it
        again = tacit("release", "release.parquet", "--refine", "smooth", "--out", "smooth.parquet")
        assert again.code == 2
        assert "that of a counter is correlated" in " ".join(again.err.split())


class Killed(BaseException):
    """Stands for a process that ends at once."""


STEPS = [
    (files.Counter, "start"),
    (CounterFiles, "create"),
    (files.SavedState, "write"),
    (files, "write_whole"),
    (CounterFiles, "complete"),
    (Ledger, "note_bins"),
    (files, "head_of"),
    (files, "write_new"),
]
COMPLETED_BY = ("create", "complete", "write_new")
"""Steps after which nothing is left to do: the counter is there, and a second start is refused."""


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[name for _, name in STEPS])
def test_a_start_killed_anywhere_never_gives_its_key_to_another_counter(
    tacit, branches, tmp_path, monkeypatch, owner, name, is_done
):
    whole = getattr(owner, name)

    def killed(*words, **settings):
        if is_done:
            whole(*words, **settings)
        raise Killed

    bought = ("--epsilon", "1", "--data-set", "library")
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            started(tacit, branches, *bought)
    other = started(tacit, branches, *bought, "--out", "other.counter")
    assert "budget" in other.err
    assert not (tmp_path / "other.counter").exists()
    again = started(tacit, branches, *bought)
    if is_done and name in COMPLETED_BY:
        assert again.code == 2
        assert "is a counter already" in again.err
    else:
        assert again.code == 0, again.err
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3").code == 0
    (spend,) = Ledger(tmp_path / "ledger.sqlite").history()
    assert spend.is_finished
    assert spend.identifier == CounterFiles("visits.counter").spend


def test_a_counter_that_was_moved_before_its_start_was_finished_has_no_twin(tacit, branches, tmp_path, monkeypatch):
    def killed(*_, **__):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "note_bins", killed)
        with pytest.raises(Killed):
            started(tacit, branches)
    (tmp_path / "visits.counter").rename(tmp_path / "moved.counter")
    assert started(tacit, branches).code == 0  # the same key once more, in the same file
    assert tacit("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3").code == 0
    twin = tacit("counter", "add", "moved.counter", "--date", "2025-01-01", "--counts", "1,2,4")
    assert "2025-01-01 was counted before with other counts" in twin.err
    assert not History.read(tmp_path / "moved.history.csv").n_bins


def add_days(tacit, visits, *more):
    return tacit("counter", "add", "visits.counter", visits, "--date", "2025-01-01", *COLUMNS, *more)


@pytest.mark.parametrize("first", ["counter", "count"])
def test_a_copy_of_the_events_under_another_name_has_no_budget_of_its_own(tacit, branches, visits, tmp_path, first):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(visits.read_bytes())
    columns = ("--places", branches, "--level", "branch", "--from", "2025-01-01", "--to", "2025-01-05")
    assert tacit("plan", *DOUBS, "--trust", "curator", *columns, "--epsilon", "1", "--out", "plan.toml").code == 0
    count = ("count", copy, "--plan", "plan.toml", *COLUMNS, "--data-set", "renamed", "--out", "copy.parquet")
    assert started(tacit, branches).code == 0
    if first == "counter":
        assert add_days(tacit, visits, "--to", "2025-01-05").code == 0
        assert "these are the very events that are known as visits" in tacit(*count).err
        assert tacit("ledger", "same", "visits", "renamed").code == 0
        refused = tacit(*count)
    else:
        assert tacit(*count).code == 0
        assert "known as renamed" in add_days(tacit, visits, "--to", "2025-01-05").err
        assert tacit("ledger", "same", "visits", "renamed").code == 0
        refused = add_days(tacit, visits, "--to", "2025-01-05")
        assert not History.read(tmp_path / "visits.history.csv").n_bins
    assert refused.code == 5
    assert f"epsilon {1 if first == 'counter' else 2} is spent on these events" in refused.err


def test_numbers_are_known_again_under_another_name(tacit, branches):
    assert started(tacit, branches).code == 0
    assert started(tacit, branches, "--epsilon", "1", "--out", "copy.counter").code == 0
    words = ("--date", "2025-01-01", "--counts", "12,5,0", "--counts", "0,0,0", "--counts", "7,0,1")
    assert tacit("counter", "add", "visits.counter", *words).code == 0
    refused = tacit("counter", "add", "copy.counter", *words)
    assert refused.code == 5
    assert "on 2 of 3 days these are the very events that are known as visits" in refused.err
    others = ("--date", "2025-01-01", "--counts", "12,5,1")
    assert tacit("counter", "add", "copy.counter", *others).code == 0


def test_a_backup_of_both_files_goes_on_with_the_same_counts_only(tacit, branches, visits, tmp_path):
    assert started(tacit, branches).code == 0
    assert add_days(tacit, visits).code == 0
    names = ("visits.counter", "visits.history.csv")
    backup = {name: (tmp_path / name).read_bytes() for name in names}
    second = ("counter", "add", "visits.counter", visits, "--date", "2025-01-02", "--to", "2025-01-03", *COLUMNS)
    assert tacit(*second).code == 0
    published = (tmp_path / names[1]).read_bytes()
    for name, content in backup.items():
        (tmp_path / name).write_bytes(content)
    forked = tacit("counter", "add", "visits.counter", "--date", "2025-01-02", "--counts", "1,2,3")
    assert forked.code == 5
    assert "2025-01-02 was counted before with other counts" in forked.err
    assert {name: (tmp_path / name).read_bytes() for name in names} == backup
    assert tacit(*second).code == 0
    assert (tmp_path / names[1]).read_bytes() == published


def test_a_counter_goes_on_with_its_own_ledger_only(tacit, branches):
    assert started(tacit, branches, "--epsilon", "1", "--ledger", "own.sqlite").code == 0
    words = ("counter", "add", "visits.counter", "--date", "2025-01-01", "--counts", "1,2,3")
    assert "does not hold the head" in tacit(*words).err
    assert tacit(*words, "--ledger", "own.sqlite").code == 0


def test_laplace_noise_beside_gaussian_is_stated_at_the_usual_delta(tacit, branches, tmp_path):
    assert tacit("ledger", "--budget", "library", "--epsilon", "20", "--delta", "1e-6").code == 0
    named = ("--data-set", "library")
    assert started(tacit, branches, "--rho", "0.1", *named).code == 0
    pure = ("--epsilon", "1", "--horizon", "20", "--out", "second.counter", *named)
    taken = started(tacit, branches, *pure)
    assert taken.code == 0, taken.err
    assert "at delta 1e-06" in taken.err
    tacit("counter", "add", "second.counter", "--date", "2025-01-01", "--counts", "1,2,3")
    released = tacit("counter", "release", "second.history.csv")
    assert released.code == 0
    assert "at delta 1e-06" in released.err
    assert "delta" in Release.read(tmp_path / "release.parquet").statement.text()


def test_days_of_hours_and_weeks_are_told_to_the_ledger(tacit, branches, visits, tmp_path):
    places = ("counter", "start", *DOUBS, "--places", branches, "--level", "branch", "--epsilon", "1")
    assert tacit(*places, "--from", "2025-01-06", "--step", "week", "--out", "weeks.counter").code == 0
    assert tacit("counter", "add", "weeks.counter", "--date", "2025-W02", "--counts", "1,2,3").code == 0
    assert tacit(*places, "--from", "2025-01-01", "--step", "hour", "--out", "hours.counter").code == 0
    hours = [word for _ in range(30) for word in ("--counts", "1,2,3")]
    assert tacit("counter", "add", "hours.counter", "--date", "2025-01-01T00:00", *hours).code == 0
    weeks, hours = Ledger(tmp_path / "ledger.sqlite").history()
    assert (weeks.first_day, weeks.last_day, weeks.n_days) == ("2025-01-06", "2025-01-12", 7)
    assert (hours.first_day, hours.last_day, hours.n_days) == ("2025-01-01", "2025-01-02", 2)


def test_bare_numbers_are_refused_where_people_are_protected(tacit, tmp_path):
    (tmp_path / "branches.csv").write_text("branch\nCentre\nHarbour\n")
    started = ("--places", "branches.csv", "--from", "2025-01-01", "--to", "2025-01-31", "--epsilon", "1")
    made = tacit("counter", "start", *DOUBS, *started, "--unit", "user-day", "--most", "2", "--out", "people.counter")
    assert made.code == 0, made.err
    refused = tacit("counter", "add", "people.counter", "--date", "2025-01-01", "--counts", "500,1")
    assert refused.code == 2
    assert "--user" in refused.err


def test_a_counter_without_its_table_of_places_refuses_to_match_names(tacit, branches, visits, tmp_path):
    """As earlier versions wrote it: slips of the pen could not be told from places without the table."""
    started(tacit, branches)
    state, history = tmp_path / "visits.counter", tmp_path / "visits.history.csv"
    saved = files.SavedState.read(state)
    stream = saved.counter.stream
    bare = stream.domain.to_dict(with_rows=False)
    old = replace(stream, domain=Domain.from_dict(bare))
    replace(saved, counter=Counter(old, saved.counter.key)).write(state)
    history.write_bytes(head_of(old))
    words = ("counter", "add", "visits.counter", visits, "--date", "2025-01-01", *COLUMNS)
    refused = tacit(*words)
    assert refused.code == 2
    assert "Name the table: --places FILE" in refused.err
    assert History.read(history).n_bins == 0
    added = tacit(*words, "--places", branches)
    assert added.code == 0, added.err
    assert History.read(history).n_bins == 1
