"""The commands from events to page, on small files of every kind."""

from __future__ import annotations

import csv
import re
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.cli.app import COMMANDS
from tacit.counts.estimate import Answer
from tacit.counts.tally import Tally
from tacit.domain import Box
from tacit.mechanisms.registry import MECHANISMS
from tacit.release import Release

TOWNS = ["Besançon", "BESANCON", "Pontarlier", "St-Vit", "Montbéliard", "Maîche"]


@pytest.fixture
def events(tmp_path):
    """300 interventions of January 2018 in six spellings."""
    rng = np.random.default_rng(5)
    path = tmp_path / "events.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ID", "SDate", "Town"])
        for number in range(300):
            writer.writerow([number, f"2018/01/{rng.integers(1, 32):02d} 08:08", TOWNS[rng.integers(len(TOWNS))]])
    return path


WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
COLUMNS = ("--time", "SDate", "--place", "Town", *WRITTEN)
JANUARY = ("--from", "2018-01-01", "--to", "2018-01-31")


@pytest.mark.slow
def test_from_events_to_a_page(tacit, events, tmp_path):
    steps = [
        ("check", *DOUBS, events, *COLUMNS),
        ("plan", *DOUBS, *JANUARY, "--epsilon", "2.2"),
        ("randomize", events, *COLUMNS),
        ("tally", "events.reports"),
        ("release", "events.tally", "--by", "month", "--statement", "statement.html"),
        ("query", "release.parquet", "--from", "2018-01", "--to", "2018-01", "--place", "CA du Grand Besançon"),
        ("page", "release.parquet"),
    ]
    for words in steps:
        ran = tacit(*words)
        assert ran.code == 0, (words, ran.err)
    release = Release.read(tmp_path / "release.parquet")
    assert not release.is_simulation
    assert release.unbiased.totals.tolist() == [[300]]
    for name in ("release.html", "statement.html"):
        assert "epsilon" in (tmp_path / name).read_text(encoding="utf-8")


def test_check_says_what_can_be_counted_and_writes_nothing(tacit, events, tmp_path):
    before = sorted(tmp_path.iterdir())
    ran = tacit("check", *DOUBS, events, *COLUMNS)
    assert "300 rows read, 300 events counted" in ran.out
    assert "not for publication" in ran.out
    assert sorted(tmp_path.iterdir()) == before


def test_bad_rows_are_named_by_number_and_reason_only(tacit, events):
    with events.open("a", encoding="utf-8") as file:
        file.write("1,2018/01/05 10:00,Atlantis-secret\n2,,Besançon\n3,not-a-date-secret,Besançon\n")
    ran = tacit("check", *DOUBS, events, *COLUMNS)
    assert ran.code == 0
    assert "3 rows were set aside" in ran.err
    assert "302" in ran.err
    assert "secret" not in ran.out + ran.err
    strict = tacit("check", *DOUBS, events, *COLUMNS, "--strict")
    assert strict.code == 3
    assert "secret" not in strict.err


def test_summary_is_exact_and_labelled(tacit, events):
    ran = tacit("summary", *DOUBS, events, *COLUMNS)
    assert ran.code == 0
    assert "NOT FOR PUBLICATION" in ran.out
    assert "2018" in ran.out
    assert "town x week cells" in ran.out


def test_a_second_randomization_is_refused_or_states_the_sum(tacit, events, tmp_path):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    assert tacit("randomize", events, *COLUMNS).code == 0
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(events.read_text(encoding="utf-8"), encoding="utf-8")
    refused = tacit("randomize", renamed, *COLUMNS, "--out", "second.reports")
    assert refused.code == 5
    assert "known as" in refused.err
    assert not (tmp_path / "second.reports").exists()
    assert tacit("ledger", "same", "renamed", events.stem).code == 0
    assert "randomized before" in tacit("randomize", renamed, *COLUMNS, "--out", "second.reports").err
    accepted = tacit("randomize", renamed, *COLUMNS, "--out", "second.reports", "--again")
    assert accepted.code == 0
    assert "epsilon 4" in accepted.err
    tacit("tally", "second.reports")
    released = tacit("release", "events.tally")
    assert "place replaced by any other: epsilon 4." in released.err
    assert "Counted more than once" in Release.read(tmp_path / "release.parquet").statement.text()


def test_a_run_that_was_stopped_goes_on_and_says_so(tacit, events, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", stop)
        assert tacit("randomize", events, *COLUMNS).code == 130
    assert not (tmp_path / "events.reports").exists()
    taken_up = tacit("randomize", events, *COLUMNS)
    assert taken_up.code == 0
    assert "A run that was interrupted was taken up" in taken_up.out
    assert tacit("randomize", events, *COLUMNS).code == 2  # the file is there
    assert tacit("randomize", events, *COLUMNS, "--out", "b.reports").code == 5


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_a_sentence(number, code):
    stopping = "import os; from tacit.cli import app; app.app = lambda: os.kill(os.getpid(), {}); app.run()"
    ran = subprocess.run([sys.executable, "-c", stopping.format(int(number))], capture_output=True, text=True)
    assert ran.returncode == code
    assert ran.stderr == "Error: stopped. Files that were not finished were not left behind.\n"


def test_a_reordered_file_in_another_format_is_the_same_events(tacit, events, tmp_path):
    import polars as pl

    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    assert tacit("randomize", events, *COLUMNS).code == 0
    pl.read_csv(events).sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "other.parquet")
    assert tacit("randomize", "other.parquet", *COLUMNS, "--out", "b.reports").code == 5


def test_another_plan_does_not_renew_the_budget(tacit, events):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--step", "week", "--epsilon", "1", "--out", "weeks.toml")
    assert tacit("randomize", events, *COLUMNS, "--plan", "weeks.toml", "--out", "b.reports").code == 5


def test_only_the_new_days_of_a_file_that_grew_are_randomized(tacit, events):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--epsilon", "2")
    assert tacit("randomize", events, *COLUMNS, "--to", "2018-01-15", "--out", "a.reports").code == 0
    assert tacit("randomize", events, *COLUMNS, "--out", "b.reports").code == 5
    assert tacit("randomize", events, *COLUMNS, "--from", "2018-01-16", "--out", "b.reports").code == 0
    assert "300 reports" in tacit("tally", "a.reports", "b.reports").out


def test_the_ledger_is_for_its_owner_only(tacit, events, tmp_path):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    assert (tmp_path / "ledger.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_seed_makes_a_simulation_that_says_so_to_the_end(tacit, events, tmp_path):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    assert "SIMULATION" in tacit("randomize", events, *COLUMNS, "--seed", "7").err
    assert "SIMULATION" in tacit("tally", "events.reports").err
    assert Tally.read(tmp_path / "events.tally").provenance.is_simulation
    assert "SIMULATION" in tacit("release", "events.tally").err
    assert "SIMULATION" in tacit("query", "release.parquet").err
    tacit("page", "release.parquet")
    assert "simulation" in (tmp_path / "release.html").read_text(encoding="utf-8").lower()
    # a simulation spends nothing: the real run is still free
    assert tacit("randomize", events, *COLUMNS, "--out", "real.reports").code == 0


def test_several_stations_reports_add_up(tacit, events, tmp_path):
    lines = events.read_text(encoding="utf-8").splitlines()
    (tmp_path / "a.csv").write_text("\n".join(lines[:150]), encoding="utf-8")
    (tmp_path / "b.csv").write_text("\n".join([lines[0], *lines[150:]]), encoding="utf-8")
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    for name in ("a", "b"):
        assert tacit("randomize", f"{name}.csv", *COLUMNS, "--out", f"{name}.reports").code == 0
    assert tacit("tally", "a.reports", "b.reports").code == 0
    assert Tally.read(tmp_path / "events.tally").n_reports == 300
    twice = tacit("tally", "a.reports", "a.reports", "--force")
    assert twice.code == 2
    assert "count twice" in twice.err
    (tmp_path / "stations").mkdir()
    empty = tacit("tally", "stations", "--force")
    assert empty.code == 4
    assert "stations has no report files" in empty.err
    for name in ("a", "b"):
        (tmp_path / f"{name}.reports").rename(tmp_path / "stations" / f"{name}.reports")
    assert tacit("tally", "stations", "--out", "folder.tally").code == 0
    assert Tally.read(tmp_path / "folder.tally") == Tally.read(tmp_path / "events.tally")
    for number, name in enumerate("ab"):
        (tmp_path / "stations" / f"{name}.reports").rename(tmp_path / "stations" / f"{number}-of-3.reports")
    lacking = tacit("tally", "stations", "--force")
    assert lacking.code == 4
    assert "has 2 of the 3 parts of a run" in lacking.err


def test_counts_in_a_column_from_a_database(tacit, tmp_path):
    with sqlite3.connect(tmp_path / "visits.db") as connection:
        connection.execute("CREATE TABLE visits (day TEXT, town TEXT, n INTEGER)")
        connection.executemany(
            "INSERT INTO visits VALUES (?, ?, ?)", [("2018-01-01", "Besançon", 40), ("2018-01-02", "Pontarlier", 2)]
        )
    connection.close()
    source = (
        "sqlite:///visits.db",
        "--query",
        "SELECT * FROM visits",
        "--time",
        "day",
        "--place",
        "town",
        "--count",
        "n",
    )
    assert "--source" in tacit("check", *DOUBS, *source, "--confirm").err
    ran = tacit("check", *DOUBS, *source, "--source", "visits.source.toml", "--confirm")
    assert "2 rows read, 42 events counted" in ran.out
    tacit("plan", *DOUBS, *JANUARY, "--f", "0.5")
    described = (*source[:3], "--source", "visits.source.toml")
    assert "--data-set" in tacit("randomize", *described).err
    assert "42 reports" in tacit("randomize", *described, "--data-set", "visits").out


def test_files_are_not_overwritten_unless_told_to(tacit, tmp_path):
    (tmp_path / "plan.toml").write_text("mine")
    assert "exists already" in tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2").err
    assert (tmp_path / "plan.toml").read_text() == "mine"
    assert tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2", "--force").code == 0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (("--f", "0"), "unprotected"),
        (("--f", "1"), "know nothing"),
        (("--f", "nan"), "between 0 and 1"),
        (("--epsilon", "0"), "at least"),
        (("--epsilon", "nan"), "at least"),
        (("--epsilon", "-1"), "at least"),
        (("--epsilon", "99"), "at most 32"),
        ((), "either epsilon or f"),
        (("--epsilon", "1", "--f", "0.5"), "either epsilon or f"),
        (("--epsilon", "1", "--private", "town"), "private must name"),
        (("--epsilon", "1", "--mechanism", "magic"), "mechanism must be one of"),
        (("--epsilon", "1", "--places", "atlantis"), "atlantis"),
        (("--epsilon", "1", "--zone", "Mars/Olympus"), "zone"),
    ],
)
def test_a_setting_that_makes_no_sense_gets_a_sentence_and_no_plan(tacit, tmp_path, setting, words):
    ran = tacit("plan", *DOUBS, *JANUARY, *setting)
    assert ran.code == 2
    assert words in ran.err
    assert not (tmp_path / "plan.toml").exists()


def test_reports_of_another_plan_are_refused(tacit, events):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "1", "--out", "other.toml")
    ran = tacit("tally", "events.reports", "--plan", "other.toml")
    assert ran.code == 4
    assert "Use the plan" in ran.err


@pytest.mark.parametrize("command", ["check", "summary", "randomize", "tally", "release", "query", "page"])
def test_a_file_that_is_not_there_gets_a_sentence(tacit, command):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    columns = COLUMNS if command in ("check", "summary", "randomize") else ()
    named = DOUBS if command in ("check", "summary") else ()
    ran = tacit(command, "nowhere.csv", *columns, *named)
    assert ran.code in (3, 4)
    assert "nowhere.csv" in ran.err


@pytest.mark.parametrize("command", ["check", "summary", "laboratory"])
def test_a_file_that_is_not_there_is_told_before_anything_is_asked(tacit, command):
    ran = tacit(command, "nofile.csv", "--time", "day")
    assert (ran.code, ran.err) == (3, "Error: nofile.csv does not exist. Check the name and the folder.\n")


def test_a_release_names_first_the_tally_and_then_the_plan_that_it_lacks(tacit, events, tmp_path):
    assert tacit("release", "nothing.tally").err.startswith("Error: there is no tally at nothing.tally.")
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    tacit("tally", "events.reports")
    (tmp_path / "plan.toml").rename(tmp_path / "other.toml")
    assert "Name it with --plan FILE" in tacit("release", "events.tally").err


def test_questions_outside_the_release_are_refused(tacit, events):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    tacit("tally", "events.reports")
    tacit("release", "events.tally", "--out", "r.parquet")
    for asked in (
        ("--from", "2019"),
        ("--from", "2018-01-20", "--to", "2018-01-10"),
        ("--place", "Atlantis"),
        ("--confidence", "2"),
    ):
        assert tacit("query", "r.parquet", *asked).code == 2
    ran = tacit("query", "r.parquet", "--place", "CC Loue-Lison", "--place", "CC Altitude 800")
    assert re.search("events?, give or take", ran.out)


def test_an_estimate_that_no_count_can_be_is_explained_and_one_event_is_one(capsys):
    from tacit.cli import console

    for value, said, side in (
        (1.2, "1 event, give or take 3", ""),
        (-12.6, "0 events, give or take 3", "The estimate itself is -13: it has no bias, so it may lie below"),
        (0.4, "0 events", ""),
        (43.2, "40 trips", "The estimate itself is 43: it has no bias, so it may lie above"),
    ):
        noun = ("trip", "trips") if value > 40 else ("event", "events")
        console.say_estimate(Answer(value, 3.0, 0.0, 40.0, 0.95, Box(range(1), (0,))), noun=noun)
        shown = " ".join(capsys.readouterr().out.split())
        assert said in shown
        assert side in shown
        assert ("estimate itself" in shown) == bool(side)


@pytest.mark.slow
def test_truth_is_shown_only_in_the_laboratory(tacit, events, tmp_path):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2")
    tacit("randomize", events, *COLUMNS)
    tacit("tally", "events.reports")
    tacit("release", "events.tally")
    assert tacit("page", "release.parquet", "--laboratory", events, *COLUMNS, "--out", "lab.html").code == 0
    tacit("page", "release.parquet")
    watermark = 'id="laboratory"'
    assert watermark in (tmp_path / "lab.html").read_text(encoding="utf-8")
    assert watermark not in (tmp_path / "release.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_command_explains_itself_with_an_example(tacit, command):
    ran = tacit(*([command] if command else []), "--help")
    assert ran.code == 0
    if command in ("collector", "counter", "ledger"):  # whose own commands have the examples
        assert "Commands" in ran.out
        return
    assert "tacit demo" in ran.out if command is None else f"tacit {command}" in ran.out.replace("Usage: tacit", "")


@pytest.mark.parametrize(
    ("command", "first", "panels"),
    [
        ("forecast", "--horizon", ["Options", "The page", "What else is known", "The model"]),
        ("backtest", "--horizon", ["Options", "What else is known", "The true events of --laboratory"]),
        ("release", "--plan", ["Options", "What is shown of the counts", "The ledger"]),
        (
            "count",
            "--time",
            ["Options", "How to read the file", "What is shown of the counts", "Beyond one machine", "The ledger"],
        ),
    ],
)
def test_help_begins_with_what_is_used_most_and_groups_the_rest(tacit, command, first, panels):
    shown = tacit(command, "--help").out
    assert re.findall(r"╭─ (?!Arguments)(.+?) ─+╮", shown) == panels
    assert re.search(r"╭─ Options .*\n│\s*\*?\s*(--[a-z-]+)", shown).group(1) == first


def test_the_version_is_shown(tacit):
    assert tacit("--version").out.startswith("tacit 0.")


def test_an_unexpected_fault_shows_no_value_and_no_traceback(tacit, events, monkeypatch):
    from tacit.events import Events

    def fault(*_args, **_settings):
        raise ZeroDivisionError("secret value 42")

    monkeypatch.setattr(Events, "count", fault)
    ran = tacit("check", *DOUBS, events, *COLUMNS)
    assert ran.code == 70
    assert "ZeroDivisionError" in ran.err
    assert "secret" not in ran.err


def test_the_best_mechanism_is_chosen_unless_named(tacit, tmp_path):
    from tacit.plan import Plan

    ran = tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2.2")
    assert "subset has the least mean variance" in ran.out
    assert Plan.read(tmp_path / "plan.toml").mechanism == "subset"
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "2.2", "--mechanism", "SUE", "--out", "sue.toml")
    assert Plan.read(tmp_path / "sue.toml").mechanism == "unary"
    tacit("plan", *DOUBS, *JANUARY, "--f", "0.5", "--out", "f.toml")
    assert Plan.read(tmp_path / "f.toml").mechanism == "unary"


def test_poisoned_reports_are_pointed_out(tacit, tmp_path):
    from tacit.collection.wire import ReportWriter
    from tacit.counts.provenance import Provenance
    from tacit.plan import Plan

    tacit("plan", *DOUBS, *JANUARY, "--f", "0.5")
    plan = Plan.read(tmp_path / "plan.toml")
    with ReportWriter(tmp_path / "bad.reports", Provenance(plan.fingerprint), 3) as writer:
        writer.add(np.repeat(np.arange(20), 100), np.tile(np.array([255, 255, 1], np.uint8), (2000, 1)))
    ran = tacit("tally", "bad.reports")
    assert ran.code == 0
    assert "Suspicious reports" in ran.err
    assert "more. Honest reports" in ran.err


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_every_mechanism_goes_all_the_way(tacit, events, mechanism):
    tacit("plan", *DOUBS, *JANUARY, "--epsilon", "3", "--mechanism", mechanism)
    for words in (
        ("randomize", events, *COLUMNS),
        ("tally", "events.reports"),
        ("release", "events.tally", "--by", "month", "--out", "r.parquet"),
        ("query", "r.parquet", "--place", "CA du Grand Besançon", "--place", "CC Loue-Lison"),
    ):
        ran = tacit(*words)
        assert ran.code == 0, ran.err
    assert "give or take" in ran.out
