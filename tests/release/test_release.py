"""A release is complete in one file: numbers, noise, label and statement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from old_formats import as_before_the_fifth_format, document_of, put_document
from small_worlds import days_and_places, simulated, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.mechanisms.registry import plan_for
from tacit.release import PrivacyStatement, Release
from tacit.release.files import _checksum

COUNTS = np.random.default_rng(3).poisson(8, (90, 4))
PLAN, ESTIMATE = simulated_estimate(COUNTS)


@pytest.fixture(scope="module")
def release():
    return Release.of(PLAN, ESTIMATE)


@pytest.mark.slow
def test_a_written_release_answers_the_same_in_another_process(tmp_path):
    """200 random boxes for each release: values, errors and intervals agree to the last bit."""
    asked, here = [], []
    rng = np.random.default_rng(1)
    for by in (None, "month"):
        release = Release.of(PLAN, ESTIMATE, by=by)
        labels, places = release.domain.time.labels(), release.domain.place.cells
        path = tmp_path / f"by {by}.parquet"
        release.write(path)
        boxes = []
        for _ in range(200):
            first, last = sorted(rng.integers(0, len(labels), 2).tolist())
            chosen = [p for p in places if rng.random() < 0.5] or [places[0]]
            boxes.append((labels[first], labels[last], chosen))
        asked.append((str(path), boxes))
        here += [repr(release.answer(first=f, last=last, places=p)) for f, last, p in boxes]
    script = (
        "import json, sys\n"
        "from tacit.release import Release\n"
        "for path, boxes in json.load(sys.stdin):\n"
        "    release = Release.read(path)\n"
        "    for first, last, places in boxes:\n"
        "        print(repr(release.answer(first=first, last=last, places=places)))\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    assert there.stdout.splitlines() == here


def test_everything_survives_the_file(tmp_path, release):
    path = tmp_path / "release.parquet"
    release.write(path)
    again = Release.read(path)
    assert again.plan == release.plan
    assert again.statement == release.statement
    assert again.domain == release.domain
    assert (again.level, again.created_at) == (release.level, release.created_at)
    assert again.unbiased.provenance == release.unbiased.provenance
    for name, column in release.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)


def test_the_table_is_plain_for_every_reader(tmp_path, release):
    release.write(tmp_path / "r.parquet")
    for table in (pd.read_parquet(tmp_path / "r.parquet"), pl.read_parquet(tmp_path / "r.parquet").to_pandas()):
        assert len(table) == 90 * 4
        assert table["unbiased"].sum() == pytest.approx(ESTIMATE.values.sum())
        assert (table["lower"] <= table["upper"]).all()
        assert set(table["place"]) == set(ESTIMATE.domain.place.cells)


def test_the_statement_is_inside_the_file(tmp_path, release):
    release.write(tmp_path / "r.parquet")
    statement = pq.read_schema(tmp_path / "r.parquet").metadata[b"privacy"].decode()
    for words in ("What is protected", "What is not protected", "SIMULATION"):
        assert words in statement


def test_days_without_events_are_present_as_zero(tmp_path):
    counts = np.zeros((5, 2), int)
    counts[0, 0] = 7
    plan, estimate = simulated_estimate(counts)
    release = Release.of(plan, estimate)
    release.write(tmp_path / "r.parquet")
    table = pd.read_parquet(tmp_path / "r.parquet")
    assert len(table) == 10
    empty = table[table["period"] != "2018-01-01"]
    assert (empty[["unbiased", "lower", "upper", "reports"]] == 0).all().all()


def test_months_are_the_sums_of_their_days(release):
    months = Release.of(PLAN, ESTIMATE, by="month")
    assert months.domain.shape == (3, 4)
    np.testing.assert_allclose(months.unbiased.values[0], ESTIMATE.values[:31].sum(axis=0))
    np.testing.assert_array_equal(months.unbiased.totals[0], ESTIMATE.totals[:31].sum(axis=0))
    np.testing.assert_array_equal(release.coarsen(time="month").unbiased.values, months.unbiased.values)


def test_regions_add_up_to_their_department(tmp_path):
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-05"), axis)
    counts = np.random.default_rng(0).poisson(20, domain.shape)
    plan, estimate = simulated_estimate(counts, domain=domain)
    whole = Release.of(plan, estimate, by="year", place="department")
    assert whole.domain.shape == (1, 1)
    assert whole.unbiased.values[0, 0] == pytest.approx(estimate.values.sum())
    whole.write(tmp_path / "r.parquet")
    again = Release.read(tmp_path / "r.parquet").answer()
    assert again == whole.answer()
    # all reports lie in the department: the interval knows it
    assert again.lower <= counts.sum() <= again.upper


def test_intervals_of_the_table_are_those_of_the_single_questions(release):
    columns = release.columns()
    for row in range(0, 360, 37):
        found = release.answer(
            first=columns["period"][row], last=columns["period"][row], places=[columns["place"][row]], measured=True
        )
        assert (found.lower, found.upper) == (columns["lower"][row], columns["upper"][row])
        assert found.value == pytest.approx(columns["unbiased"][row])
        assert found.standard_error == pytest.approx(columns["standard_error"][row], rel=5.1e-4)


def test_an_estimate_of_another_plan_is_not_released():
    other = plan_for(days_and_places(90, 4), f=0.4)
    with pytest.raises(PlanMismatch):
        Release.of(other, ESTIMATE)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(SettingError, match="level"):
        Release.of(PLAN, ESTIMATE, level=level)


def test_another_ending_is_refused(tmp_path, release):
    with pytest.raises(SettingError, match=r"\.parquet, \.csv or \.xlsx"):
        release.write(tmp_path / "r.txt")


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PAR1 but not really PAR1", b"# tacit: {}\nperiod\n", b"\xff\xfe\x00"]
)
def test_a_file_that_is_no_release_is_refused(tmp_path, content):
    path = tmp_path / "r.parquet"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="not a release"):
        Release.read(path)


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(FormatError, match="not a release"):
        Release.read(tmp_path / "r.parquet")


def test_a_missing_release_is_refused(tmp_path):
    with pytest.raises(FormatError, match="no release at"):
        Release.read(tmp_path / "none.parquet")


def test_events_randomized_before_are_paid_for_in_the_statement():
    plan, tally = simulated(COUNTS)
    paid = Tally(Provenance.of_reports(plan.fingerprint, False, 2.0), tally.statistics, tally.reports)
    statement = Release.of(plan, estimate_tally(paid, plan)).statement
    assert statement.total_epsilon == pytest.approx(plan.epsilon + 2.0)
    assert "Counted more than once" in statement.text()
    assert f"epsilon {plan.epsilon + 2:.4g}" in statement.text()


def test_the_statement_says_who_is_protected_from_what_and_what_is_not():
    plan, tally = simulated(COUNTS)
    real = Tally(Provenance(plan.fingerprint), tally.statistics, tally.reports)
    text = Release.of(plan, estimate_tally(real, plan), refine="clip").statement.text()
    for words in (
        "The place of every single event",
        "factor of at most 9.00",
        "For each event on its own",
        "replaced by any other",
        "one-time RAPPOR",
        "clip and rescale",
        "the number of reports per period is exact and public",
    ):
        assert words in text
    assert "SIMULATION" not in text


def test_the_most_an_attacker_can_believe_is_reached_by_no_report():
    """The bound holds for every report of the exact channel, and symmetric unary encoding comes close to it."""
    from tacit.mechanisms.local.unary import UnaryEncoding

    encoding = UnaryEncoding.rappor(f=0.5, n_cells=4)
    plan = plan_for(days_and_places(3, 4), f=0.5)
    bound = PrivacyStatement.of(plan, Provenance(""), unbiased_steps=(), refined_steps=()).largest_belief
    beliefs = [max(column) / sum(column) for column in zip(*encoding.channel(), strict=True)]
    assert max(beliefs) <= bound
    assert float(max(beliefs)) == pytest.approx(bound)


@pytest.mark.parametrize("refine", ["project", "smooth"])
def test_cells_with_a_large_relative_error_are_marked(refine):
    """By the error of the count that is shown first: a smoothed one has its own, a projected one has none."""
    release = Release.of(PLAN, ESTIMATE, refine=refine)
    shown = release.refined if refine == "smooth" else release.unbiased
    assert release.recommended is shown
    expected = shown.noise.standard_errors() <= shown.values / 3
    np.testing.assert_array_equal(release.columns()["reliable"], expected.ravel())


@pytest.mark.slow
def test_any_changed_byte_is_noticed_or_harmless(tmp_path):
    """Flip one bit at 300 places: the release is refused, or answers as before."""
    release = Release.of(PLAN, ESTIMATE, by="month")
    path = tmp_path / "r.parquet"
    release.write(path)
    content = path.read_bytes()
    expected = repr(release.answer(first="2018-01", places=["place 1"]))
    refused = 0
    for at in np.linspace(0, len(content) - 1, 300).astype(int):
        changed = bytearray(content)
        changed[at] ^= 1 << int(at) % 8
        path.write_bytes(bytes(changed))
        try:
            assert repr(Release.read(path).answer(first="2018-01", places=["place 1"])) == expected
        except FormatError:
            refused += 1
    assert refused > 100


def test_a_table_sorted_by_another_program_answers_the_same(tmp_path, release):
    release.write(tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    pq.write_table(table.sort_by("place"), tmp_path / "s.parquet")
    again = Release.read(tmp_path / "s.parquet")
    np.testing.assert_array_equal(again.unbiased.values, release.unbiased.values)
    pq.write_table(table.slice(1), tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="lacks rows"):
        Release.read(tmp_path / "t.parquet")


def test_a_statement_edited_by_hand_is_refused(tmp_path, release):
    release.write(tmp_path / "r.parquet")
    about = document_of(tmp_path / "r.parquet")
    about["statement"]["epsilon"] = 0.1
    put_document(tmp_path / "r.parquet", about)
    with pytest.raises(FormatError, match="checksum"):
        Release.read(tmp_path / "r.parquet")
    put_document(tmp_path / "r.parquet", about | {"checksum": _checksum(about, release.columns())})
    with pytest.raises(FormatError, match="does not follow from its plan"):
        Release.read(tmp_path / "r.parquet")


def test_stated_bounds_are_rounded_up():
    plan, tally = simulated(COUNTS)
    three = plan_for(plan.domain, epsilon=3.0)
    real = Tally(Provenance(three.fingerprint), tally.statistics, tally.reports)
    text = Release.of(three, estimate_tally(real, three)).statement.text()
    assert "at most 20.1 (epsilon 3)" in text


def test_a_release_whose_statement_another_version_worded_otherwise_is_read(tmp_path, release, monkeypatch):
    with monkeypatch.context() as then:
        then.setattr(PrivacyStatement, "text", lambda statement: "As it was said then.")
        release.write(tmp_path / "r.parquet")
    assert document_of(tmp_path / "r.parquet")["statement"]["text"] == "As it was said then."
    assert Release.read(tmp_path / "r.parquet").statement.text() == release.statement.text()


FILES = Path(__file__).parent / "files"


def test_reports_of_the_second_format_keep_their_sum():
    """Written by the version before, with epsilon 1.5 spent on the same events before."""
    old = Release.read(FILES / "format-2-reports.parquet")
    assert old.statement.total_epsilon == 3.5
    assert not old.statement.is_alone


def test_counts_of_the_second_format_promise_no_more_than_their_one_sum_allows():
    """It may have held reports: then nothing hides presence, and replacement costs twice the sum."""
    old = Release.read(FILES / "format-2-counts.parquet")
    assert old.statement.guarantee.presence is None
    assert old.statement.guarantee.replacement.epsilon == 2 * 0.5 + 2 * 1.0
    assert "One event added or removed: not protected." in old.statement.text()


@pytest.mark.parametrize(
    ("name", "answer", "variance"),
    [
        ("format-3-tree", "604.5, 95% interval 582 to 627 (simulation)", 127.49869813639074),
        ("format-4-tables", "224.0, 95% interval 211 to 237 (simulation)", 44.19233252197403),
    ],
)
def test_noise_models_of_earlier_formats_are_read_by_the_names_they_had(name, answer, variance):
    """Smoothed months of a tree, and tables with a clipped column: written by the version before, with its answers."""
    about = document_of(FILES / f"{name}.parquet")
    assert ("linear image" in str(about["noise"])) == (name == "format-3-tree")
    assert "'laws'" in str(about["noise"])
    old = Release.read(FILES / f"{name}.parquet")
    assert str(old.answer()) == answer
    assert old.recommended.noise.variance(np.ones(old.domain.shape)) == pytest.approx(variance, rel=1e-12)
    assert old.checksum == about["checksum"]


def test_a_release_of_an_earlier_format_is_written_in_that_of_today(tmp_path):
    old = Release.read(FILES / "format-4-tables.parquet")
    old.write(tmp_path / "r.parquet")
    about = document_of(tmp_path / "r.parquet")
    assert about["format"] == 5
    assert about["noise"]["refined"]["kind"] == "no stated noise"
    assert as_before_the_fifth_format(about)["noise"] == document_of(FILES / "format-4-tables.parquet")["noise"]
    assert str(Release.read(tmp_path / "r.parquet").answer()) == str(old.answer())
