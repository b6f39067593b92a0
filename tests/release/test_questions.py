"""Many questions at once give what each gives alone, and ranks do not claim more than intervals hold."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from small_worlds import days_and_places, days_places_and_kinds, reported, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import ExactTally
from tacit.errors import DataError, MissingColumn, NotShown, SettingError, UnreadableFile
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Spend
from tacit.release import Release, Rules
from tacit.release.exports import csv_text
from tacit.release.questions import across_the_cut, answered, as_columns, ranked_places, read_boxes

COUNTS = np.random.default_rng(3).poisson([2, 60, 20, 25], (70, 4))
PLAN, ESTIMATE = simulated_estimate(COUNTS)


def of_reports(**settings):
    return Release.of(PLAN, ESTIMATE, **settings)


def of_a_curator():
    domain = days_and_places(70, 4)
    plan = central_plan_for(domain, epsilon=1.0)
    mechanism = central_mechanism_of(plan)
    spend = Spend.simulation(mechanism.cost, seed=2)
    return Release.of(plan, mechanism.measure(ExactTally(COUNTS), plan, spend=spend))


def with_kinds(private):
    plan = plan_for(days_places_and_kinds(9, 3), epsilon=1.0, mechanism="unary", private=private)
    return Release.of(plan, estimate_tally(reported(plan, np.full((9, 9), 20), 1), plan))


MADE = {
    "smoothed": lambda: of_reports(refine="smooth"),
    "projected": lambda: of_reports(refine="project"),
    "in months": lambda: of_reports(refine="smooth", by="month"),
    "curator": of_a_curator,
    "kinds": lambda: with_kinds(("place", "kind")),
    "public places": lambda: with_kinds(("kind",)),
    "suppressed": lambda: of_reports(refine="project", rules=Rules.parse(suppress=("count < 300",))),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("measured", [False, True])
def test_places_are_ranked_by_what_each_answers_alone(name, measured):
    release = MADE[name]()
    labels = release.domain.time.labels()
    kinds = None if release.domain.kind is None else ["fire"]
    for asked in ({}, {"first": labels[1]}, {"first": labels[0], "last": labels[1], "kinds": kinds}):
        try:
            found = ranked_places(release, **asked, measured=measured)
        except NotShown:
            assert name == "suppressed"
            continue
        assert [one.value for _, one in found] == sorted((one.value for _, one in found), reverse=True)
        shown = dict(found)
        for place in release.domain.place.cells:
            try:
                alone = release.answer(**asked, places=[place], measured=measured)
            except NotShown:
                assert place not in shown
                continue
            for part in ("value", "standard_error", "lower", "upper"):
                assert getattr(shown[place], part) == pytest.approx(getattr(alone, part), rel=1e-6, abs=1e-6), part
            assert shown[place].box == alone.box


def test_places_whose_intervals_cross_the_cut_are_named():
    found = ranked_places(of_reports(refine="project"))
    assert [place for place, _ in found[:1]] == ["place 1"]
    assert across_the_cut(found, 1) == ([], [])
    assert across_the_cut(found, 4) == across_the_cut(found, 9) == ([], [])
    listed, others = across_the_cut(found, 2)
    overlap = found[1][1].lower <= found[2][1].upper
    assert (found[1][0] in listed) == (found[2][0] in others) == overlap
    # one day: nothing is sure
    day = ranked_places(of_reports(refine="project"), first="2018-01-03", last="2018-01-03")
    for n in range(1, 4):
        listed, others = across_the_cut(day, n)
        reach = max(one.upper for _, one in day[n:])
        assert listed == [place for place, one in day[:n] if one.lower <= reach]
        assert set(others) <= {place for place, _ in day[n:]}


def test_a_time_without_data_is_not_ranked():
    release = of_reports(refine="project", rules=Rules.parse(missing=("2018-01",)))
    with pytest.raises(NotShown, match="no data"):
        ranked_places(release, first="2018-01-02", last="2018-01-05")


def boxes_of(tmp_path, text, release, encoding="utf-8"):
    (tmp_path / "boxes.csv").write_text(text, encoding=encoding)
    return read_boxes(tmp_path / "boxes.csv", release)


def test_boxes_of_a_file_are_answered_as_questions_are(tmp_path):
    rules = Rules.parse(suppress=("relative error > 1",), missing=("2018-01-05",))
    release = of_reports(refine="project", rules=rules)
    text = "place,from,to\nplace 1,2018-01,2018-02\n,2018-01-02,2018-01-03\nplace 0,2018-01-05,2018-01-05\nPLACE 2,,\n"
    for encoding in ("utf-8", "utf-8-sig"):
        rows = boxes_of(tmp_path, text, release, encoding)
    answers = [row | answered(release, box) for row, box in rows]
    alone = release.answer(first="2018-01", last="2018-02", places=["place 1"])
    assert (answers[0]["estimate"], answers[0]["low"], answers[0]["high"]) == (alone.value, alone.lower, alone.upper)
    assert (answers[0]["status"], answers[0]["basis"], answers[0]["days_missing"]) == ("shown", "measured", 1)
    assert answers[0]["reliable"] == release.is_reliable(alone)
    assert (answers[1]["basis"], answers[1]["standard_error"]) == ("exact", 0)
    assert (answers[2]["status"], answers[2]["estimate"], answers[2]["reliable"]) == ("no data", None, False)
    assert answers[3]["place"] == "PLACE 2"
    table = list(csv.DictReader(io.StringIO(csv_text(as_columns(release, answers)))))
    assert table[2]["estimate"] == table[2]["low"] == ""
    assert abs(float(table[0]["estimate"]) - alone.value) <= alone.standard_error / 20
    assert table[0]["unit"] == "nothing: this is a simulation"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", MissingColumn, "some of the columns from, to, place, kind"),
        ("form,to\n2018,2018\n", MissingColumn, "got form, to"),
        ("from,from\n2018,2018\n", MissingColumn, "each once"),
        ("from,to\n", DataError, "no row below"),
        ("from,to\n2018-01\n", DataError, "row 2: it has 1 cells for 2 columns"),
        (
            "from,to\n2018-01,2018-02\n2030,2031\n",
            DataError,
            "row 3, column from or to: first must lie",
        ),
        ("place\nplace 1\n\nAtlantis\n", DataError, "row 4, column place: "),
        ("place,kind\nplace 1,fire\n", DataError, "row 2, column kind: kinds must be left out"),
        ('place\n"place 1\n', DataError, "a quote is not closed"),
        ("from,to\n2018-02,2018-01\n", DataError, "row 2, column from or to"),
    ],
)
def test_a_file_of_boxes_with_a_mistake_is_refused_by_its_row(tmp_path, text, error, words):
    with pytest.raises(error, match=words):
        boxes_of(tmp_path, text, of_reports(refine="project"))


def test_a_file_of_boxes_that_is_no_text_is_refused(tmp_path):
    release = of_reports(refine="project")
    (tmp_path / "boxes.csv").write_bytes(b"\xff\xfe\x00p")
    for name in ("boxes.csv", "none.csv"):
        with pytest.raises(UnreadableFile, match="not there or not text in UTF-8"):
            read_boxes(tmp_path / name, release)


def test_a_level_must_be_a_share():
    with pytest.raises(SettingError, match="level"):
        ranked_places(of_reports(refine="project"), level=95)
