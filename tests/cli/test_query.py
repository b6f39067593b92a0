"""tacit query for programs, for ranks and for many boxes; tables of a release for other programs."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from small_worlds import days_places_and_kinds, reported, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.mechanisms.registry import plan_for
from tacit.release import Release, Rules

COUNTS = np.random.default_rng(3).poisson([2, 60, 20, 25], (70, 4))
PLAN, ESTIMATE = simulated_estimate(COUNTS)


@pytest.fixture
def smooth(tmp_path):
    made = Release.of(PLAN, ESTIMATE, refine="smooth")
    made.write(tmp_path / "r.parquet")
    return made


@pytest.fixture
def plain(tmp_path):
    made = Release.of(PLAN, ESTIMATE, refine="project", rules=Rules.parse(missing=("2018-01-05",)))
    made.write(tmp_path / "r.parquet")
    return made


FIELDS = [
    "from", "to", "estimate", "standard_error", "low", "high", "level", "reliable", "status", "basis", "days_missing",
    "places", "kinds",
]  # fmt: skip


def test_an_answer_as_json_is_that_of_python(tacit, smooth):
    asked = ("--from", "2018-01", "--to", "2018-02", "--place", "place 1", "--place", "place 2")
    ran = tacit("query", "r.parquet", *asked, "--json")
    assert ran.code == 0, ran.err
    content = json.loads(ran.out)
    assert list(content) == ["unit", "epsilon", "simulation", "release", "signed_by", "answers"]
    (found,) = content["answers"]
    assert list(found) == FIELDS
    alone = smooth.answer(first="2018-01", last="2018-02", places=["place 1", "place 2"])
    assert (found["estimate"], found["standard_error"]) == (alone.value, alone.standard_error)
    assert (found["low"], found["high"], found["level"]) == (alone.lower, alone.upper, 0.95)
    assert (found["from"], found["to"]) == ("2018-01-01", "2018-02-28")
    assert (found["basis"], found["places"], found["kinds"]) == ("smoothed", ["place 1", "place 2"], None)
    assert content["release"] == smooth.checksum
    assert content["simulation"] is True
    measured = json.loads(tacit("query", "r.parquet", *asked, "--json", "--measured", "--confidence", "50").out)[
        "answers"
    ]
    assert measured[0]["basis"] == "measured"
    expected = smooth.answer(first="2018-01", last="2018-02", places=["place 1", "place 2"], measured=True, level=0.5)
    assert (measured[0]["estimate"], measured[0]["low"]) == (expected.value, expected.lower)


def test_filtered_numbers_are_not_called_closer_where_sums_are_wide(tacit, tmp_path):
    Release.of(PLAN, ESTIMATE, refine="filter").write(tmp_path / "r.parquet")
    asked = ("query", "r.parquet", "--place", "place 1")
    whole, measured = tacit(*asked).out, tacit(*asked, "--measured").out
    assert "as it stood on its day" in whole
    assert "ask it with --measured" in whole
    assert "The filtered number, without --measured, is closer for single periods." in measured
    assert "closer on average" not in whole
    assert json.loads(tacit(*asked, "--json").out)["answers"][0]["basis"] == "filtered"


def test_an_answer_says_which_days_and_places_it_is_of(tacit, smooth):
    assert "(2018-01-01 to 2018-03-11; all 4 places)" in tacit("query", "r.parquet", "--from", "2018-01").out
    two = tacit("query", "r.parquet", "--to", "2018-01-01", "--place", "place 1", "--place", "place 3").out
    assert "(2018-01-01; place 1 and place 3)" in two


def test_the_folder_of_a_publication_is_asked_for_its_release(tacit, plain, tmp_path):
    (tmp_path / "r.parquet").rename(tmp_path / "release.parquet")
    asked = ("--from", "2018-02", "--json")
    (found,) = json.loads(tacit("query", ".", *asked).out)["answers"]
    assert found["estimate"] == plain.answer(first="2018-02").value
    (tmp_path / "release.parquet").unlink()
    assert "not a regular file" in tacit("query", ".", *asked).err


def test_what_is_not_shown_is_an_error_in_json_too(tacit, plain):
    ran = tacit("query", "r.parquet", "--from", "2018-01-05", "--to", "2018-01-05", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert "no data" in ran.err


def test_places_are_ranked_with_an_honest_word(tacit, plain):
    ran = tacit("query", "r.parquet", "--top", "1", "--from", "2018-01", "--to", "2018-02")
    assert "place 1" in ran.out
    assert "place 0" not in ran.out
    assert "No interval of another place reaches into this list." in ran.out
    assert "1 of 59 periods have no data" in ran.err
    day = ("--from", "2018-01-03", "--to", "2018-01-03")
    ran = tacit("query", "r.parquet", "--top", "2", *day)
    assert "Ranks are uncertain" in ran.out
    content = json.loads(tacit("query", "r.parquet", "--top", "2", *day, "--json").out)
    assert [one["rank"] for one in content["answers"]] == [1, 2]
    unsure = [one["place"] for one in content["answers"] if one["may_not_belong"]]
    assert ("may not belong here" in ran.out) == bool(content["may_belong"]) == bool(unsure)
    for name in (*unsure, *content["may_belong"]):
        assert name in ran.out
    assert tacit("query", "r.parquet", "--top", "9").out.count("│ place ") == 4


def test_boxes_are_answered_as_csv_and_as_json(tacit, plain, tmp_path):
    (tmp_path / "boxes.csv").write_text("from,to,place\n2018-01,2018-01,place 1\n2018-01-05,2018-01-05,\n")
    ran = tacit("query", "r.parquet", "--boxes", "boxes.csv")
    assert ran.code == 0, ran.err
    first, second = csv.DictReader(io.StringIO(ran.out))
    assert (first["place"], first["status"], second["status"], second["estimate"]) == (
        "place 1",
        "shown",
        "no data",
        "",
    )
    table = pd.read_csv(io.StringIO(ran.out))
    assert table["reliable"].dtype == bool
    answers = json.loads(tacit("query", "r.parquet", "--boxes", "boxes.csv", "--json").out)["answers"]
    assert answers[1]["estimate"] is None
    assert float(first["estimate"]) == pytest.approx(answers[0]["estimate"], abs=answers[0]["standard_error"] / 20)
    (tmp_path / "boxes.csv").write_text("from,to,place\n2018-01,2018-01,Atlantis\n")
    refused = tacit("query", "r.parquet", "--boxes", "boxes.csv")
    assert (refused.code, refused.out) == (3, "")
    assert "boxes.csv, row 2, column place: " in refused.err


def test_names_that_can_be_asked_for_are_listed(tacit, plain, tmp_path):
    assert tacit("query", "r.parquet", "--list-places").out.split("\n")[:2] == ["Places", "place 0"]
    plan = plan_for(days_places_and_kinds(5, 2), epsilon=1.0, mechanism="unary")
    made = Release.of(plan, estimate_tally(reported(plan, np.full((5, 6), 50), 1), plan))
    made.write(tmp_path / "kinds.parquet")
    assert "Kinds\nfire\n" in tacit("query", "kinds.parquet", "--list-places").out
    listed = json.loads(tacit("query", "kinds.parquet", "--list-places", "--json").out)
    assert listed["places"] == list(made.domain.place.cells)
    assert listed["kinds"] == list(made.domain.kind.cells)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--top", "3", "--place", "place 1"), "--top does not go with --place"),
        (("--boxes", "b.csv", "--from", "2018"), "--boxes does not go with --from"),
        (("--boxes", "b.csv", "--top", "3"), "--boxes does not go with --top"),
        (("--list-places", "--to", "2018"), "--list-places does not go with --to"),
        (("--top", "0"), "top must be a whole number of at least 1"),
        (("--boxes", "b.csv"), "b.csv is not there"),
    ],
)
def test_ways_of_asking_that_do_not_go_together_are_refused(tacit, plain, words, said):
    ran = tacit("query", "r.parquet", *words)
    assert ran.code in (2, 3)
    assert said in ran.err
    assert ran.out == ""


def test_a_release_is_written_for_other_programs_and_not_changed_by_it(tacit, smooth, tmp_path):
    ran = tacit("release", "r.parquet", "--out", "r.csv")
    assert ran.code == 0, ran.err
    assert "Tacit itself reads the release as .parquet" in ran.out
    smooth.write(tmp_path / "here.csv")
    assert (tmp_path / "r.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    ran = tacit("release", "r.parquet", "--out", "w.csv", "--wide", "--calendar", "--country", "FR")
    assert ran.code == 0, ran.err
    assert list(pd.read_csv(tmp_path / "w.csv"))[:6] == ["period", "weekday", "month", "year", "holiday", "place 0"]
    for words in (("query", "r.csv"), ("release", "r.csv", "--out", "again.csv")):
        refused = tacit(*words)
        assert refused.code == 4
        assert "Give the .parquet file of the release" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wide",), "a wide table is written as .csv or .xlsx"),
        (("--out", "w.csv", "--calendar"), "--calendar goes with --wide"),
        (("--out", "w.csv", "--wide", "--country", "FR"), "--country with --calendar"),
        (("--out", "w.csv", "--wide", "--calendar", "--country", "XX"), "XX"),
        (
            (
                "--out",
                "w.txt",
            ),
            ".parquet, .csv or .xlsx",
        ),
    ],
)
def test_tables_that_cannot_be_are_refused(tacit, smooth, tmp_path, words, said):
    ran = tacit("release", "r.parquet", *words)
    assert ran.code == 2
    assert said in ran.err
    assert not list(tmp_path.glob("w.*"))


def test_what_is_no_release_is_told_by_what_it_is(tacit, tmp_path):
    (tmp_path / "events.csv").write_text("day,station\n2025-01-01,Pier\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    (tmp_path / "counts.csv").write_text("place,period,estimate,low,high\nPier,2025-01-01,3,1,5\n", encoding="utf-8")
    for name, said in (
        ("events.csv", "events.csv is a table of rows, and no release. Make one with: tacit publish"),
        ("empty.csv", "empty.csv is empty, and no release"),
        ("counts.csv", "a table for spreadsheets and other programs lacks what answers need"),
    ):
        ran = tacit("query", name)
        assert ran.code == 4
        assert said in " ".join(ran.err.split())


def test_an_answer_calls_events_as_their_publication_does(tacit, tmp_path):
    from tacit.release.release import noun_beside

    release = tmp_path / "release.parquet"
    assert noun_beside(release) == ("event", "events")
    (tmp_path / "publication.toml").write_text('noun = "trip/trips"\n', encoding="utf-8")
    assert noun_beside(tmp_path) == noun_beside(release) == ("trip", "trips")
    (tmp_path / "other.parquet").write_bytes(b"")
    assert noun_beside(tmp_path / "other.parquet") == ("event", "events")
    (tmp_path / "publication.toml").write_text("noun = [", encoding="utf-8")
    assert noun_beside(tmp_path) == ("event", "events")
