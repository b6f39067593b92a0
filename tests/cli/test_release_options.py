"""Refining, rules, versions and synthetic rows from the command line."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_and_places, simulated_estimate
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.errors import SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.release import Release
from tacit.release.release import contradiction, contradictions

COUNTS = np.random.default_rng(5).poisson([9, 4, 1], (20, 3))


@pytest.fixture
def files(tmp_path):
    plan = plan_for(days_and_places(20, 3), epsilon=2.0, mechanism="subset")
    plan.write(tmp_path / "plan.toml")
    cells = np.repeat(np.tile(np.arange(3), 20), COUNTS.ravel())
    bins = np.repeat(np.arange(20), COUNTS.sum(axis=1))
    for name, part in (("a", slice(0, 150)), ("b", slice(150, None))):
        reports = mechanism_of(plan).randomize(cells[part], randomness=SeededRandomness(3))
        label = Provenance(plan.fingerprint, is_simulation=True)
        with ReportWriter(tmp_path / f"{name}.reports", label, mechanism_of(plan).report_bytes) as writer:
            writer.add(bins[part], reports)
    tally_reports([tmp_path / "a.reports"], plan).write(tmp_path / "a.tally")
    tally_reports([tmp_path / "a.reports", tmp_path / "b.reports"], plan).write(tmp_path / "ab.tally")
    return tmp_path


@pytest.mark.parametrize("refine", ["raw", "project", "likelihood", "smooth", "clip"])
def test_a_release_is_refined_by_name(tacit, files, refine):
    ran = tacit("release", "ab.tally", "--refine", refine, "--out", "r.parquet")
    assert ran.code == 0, ran.err
    assert Release.read(files / "r.parquet").refinement == refine


def test_the_reports_themselves_may_be_asked(tacit, files):
    ran = tacit(
        "release",
        "ab.tally",
        "--refine",
        "likelihood",
        "--reports",
        "a.reports",
        "--reports",
        "b.reports",
        "--by",
        "month",
    )
    assert ran.code == 0, ran.err
    made = Release.read(files / "release.parquet")
    assert made.refinement == "likelihood of reports"
    assert "maximum likelihood of the reports (every public bin within 0.001 of" in made.statement.text()
    with pytest.raises(SettingError, match="need the reports themselves"):
        made.coarsen(time="year")
    drawn = tacit("page", "release.parquet")
    assert drawn.code == 0, drawn.err
    refused = tacit("release", "ab.tally", "--reports", "a.reports", "--force")
    assert refused.code == 2
    assert "--refine likelihood" in refused.err
    refused = tacit("release", "ab.tally", "--refine", "likelihood", "--reports", "a.reports", "--force")
    assert refused.code == 2
    assert "same reports" in refused.err


def test_rules_versions_and_rows(tacit, files):
    assert tacit("release", "a.tally", "--out", "1.parquet").code == 0
    ran = tacit(
        "release", "ab.tally", "--out", "2.parquet", "--revises", "1.parquet", "--suppress", "relative error > 0.9",
        "--grey", "count < 5", "--missing", "2018-01-20",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "Version 2: it replaces 1.parquet" in ran.out
    made = Release.read(files / "2.parquet")
    assert made.version.revises == Release.read(files / "1.parquet").checksum
    assert set(made.statuses()[19]) == {"missing"}
    asked = tacit("query", "2.parquet", "--from", "2018-01-18", "--place", "place 0")
    assert "1 of 3 periods have no data for some or all of the days (1 day); the answer lacks those." in asked.err
    assert "Missing: 1 period without any data." in ran.out
    assert re.search(r"Suppressed \d+ of 60 counts: they are not in the file", ran.out)
    assert re.search(r"In \d+ periods? a single place is suppressed", ran.err)
    (day, place), *_ = np.argwhere(made.statuses() == "suppressed")
    label = made.domain.time.label(int(day))
    refused = tacit("query", "2.parquet", "--from", label, "--to", label, "--place", f"place {place}")
    assert (refused.code, refused.out) == (1, "")
    assert "suppressed" in refused.err
    refused = tacit("query", "2.parquet", "--from", "2018-01-20", "--to", "2018-01-20")
    assert "no data" in refused.err
    drawn = tacit("synthetic", "2.parquet", "--out", "rows.csv", "--seed", "4")
    assert drawn.code == 0, drawn.err
    assert f"{COUNTS.sum()} SYNTHETIC rows" in drawn.out
    assert "SIMULATION" in drawn.err
    lines = (files / "rows.csv").read_text().splitlines()
    assert len(lines) == COUNTS.sum() + 1


def test_what_is_suppressed_may_be_kept_and_the_command_says_so(tacit, files):
    refused = tacit("release", "ab.tally", "--keep-suppressed")
    assert refused.code == 2
    assert "Give --suppress" in refused.err
    ran = tacit("release", "ab.tally", "--suppress", "count < 3", "--keep-suppressed", "--statement", "s.html")
    assert ran.code == 0, ran.err
    assert "the file still holds them" in ran.err
    assert "still holds them" in (files / "s.html").read_text(encoding="utf-8")
    assert not Release.read(files / "release.parquet").has_gaps


def test_the_smoothed_number_is_answered_first_and_the_measured_one_when_asked_for(tacit, files):
    for refine in ("smooth", "project"):
        assert tacit("release", "ab.tally", "--refine", refine, "--out", f"{refine}.parquet").code == 0
    asked = ("--from", "2018-01-02", "--to", "2018-01-08", "--place", "place 1")
    ran = tacit("query", "smooth.parquet", *asked)
    found = Release.read(files / "smooth.parquet").answer(first=asked[1], last=asked[3], places=["place 1"])
    assert f"{round(found.value)} events, give or take {round(found.standard_error)}" in ran.out
    assert "Smoothed: by a model of all periods and places" in ran.out
    assert "holds on average over places and periods if the model fits" in ran.out
    assert "For what was unusual, ask with --measured." in ran.out
    assert "anomaly" not in ran.out  # at epsilon 2
    measured = tacit("query", "smooth.parquet", *asked, "--measured")
    assert "without --measured, is closer on average" in measured.out
    plain = tacit("query", "project.parquet", *asked)
    assert plain.out.splitlines()[:2] == measured.out.splitlines()[:2]
    assert "Measured: from the noisy counts asked for alone, without bias." in plain.out
    assert tacit("query", "project.parquet", *asked, "--measured").out == plain.out


def moved(release, by):
    """The same release with unbiased counts that say something else than its model."""
    return replace(release, unbiased=replace(release.unbiased, values=release.unbiased.values + np.array(by)))


def test_a_model_that_cannot_show_a_single_day_says_so_and_where_it_is_contradicted(tacit, tmp_path):
    plan, estimate = simulated_estimate(np.full((70, 4), 40), f=0.8)
    release = moved(Release.of(plan, estimate, refine="smooth"), [0, 0, 0, 110])
    assert release.plan.epsilon < 1.7
    release.write(tmp_path / "days.parquet")
    day = ("--from", "2018-01-31", "--to", "2018-01-31")
    for place in range(4):
        asked = ("query", "days.parquet", *day, "--place", f"place {place}")
        ran = tacit(*asked)
        assert "Below epsilon 1.7 it cannot show the anomaly of a single day." in ran.out
        box = release.domain.box(first=day[1], last=day[3], places=[f"place {place}"])
        is_apart = contradiction(release, box) is not None
        assert is_apart == contradictions(release)[30, place]
        assert ("The measured number contradicts the model here" in ran.err) == is_apart
    assert is_apart
    assert "model" not in tacit(*asked, "--measured").out
    release.coarsen(time="month").write(tmp_path / "months.parquet")
    months = tacit("query", "months.parquet", "--from", "2018-02", "--to", "2018-02", "--place", "place 0")
    assert "Smoothed: by a model" in months.out
    assert "anomaly" not in months.out


def test_a_model_that_too_many_counts_contradict_is_named(tacit, files, monkeypatch):
    assert tacit("release", "ab.tally", "--refine", "smooth", "--out", "fits.parquet").code == 0
    made = Release.read(files / "fits.parquet")
    assert not contradictions(made).any()
    wrong = moved(made, [60, 0, 0])
    apart = contradictions(wrong)
    assert apart[:, 0].mean() > 0.5
    assert contradiction(wrong, wrong.domain.box(first="2018-01-03", last="2018-01-09", places=["place 0"])) is not None
    assert not contradictions(replace(wrong, refinement="raw")).any()
    monkeypatch.setattr("tacit.cli.release.Release.of", lambda *_, **__: wrong)
    ran = tacit("release", "ab.tally", "--out", "wrong.parquet")
    assert f"In {apart.sum()} of 60 counts the 95% intervals of measured and smoothed numbers do not" in ran.err


def test_missing_days_outside_the_time_are_refused(tacit, files):
    ran = tacit("release", "ab.tally", "--missing", "2018-02")
    assert ran.code == 2
    assert "within the time of the release, 2018-01-01 to 2018-01-20" in ran.err


def test_a_revision_that_lost_reports_says_so(tacit, files):
    assert tacit("release", "ab.tally", "--out", "1.parquet").code == 0
    ran = tacit("release", "a.tally", "--revises", "1.parquet", "--out", "2.parquet", "--by", "month")
    assert ran.code == 0, ran.err
    assert re.search(r"In \d+ public bins there are fewer reports than in 1.parquet", ran.err)
    assert "reports were taken out" in Release.read(files / "2.parquet").statement.text()


def test_a_rule_that_cannot_be_read_is_refused_before_anything_is_written(tacit, files):
    ran = tacit("release", "ab.tally", "--suppress", "count > 3")
    assert ran.code == 2
    assert "a rule must read" in ran.err
    assert not (files / "release.parquet").exists()


def test_a_release_is_refined_and_shown_again_from_itself(tacit, files):
    """With its version, and the days that it lacks."""
    assert tacit("release", "a.tally", "--out", "1.parquet").code == 0
    made = tacit("release", "ab.tally", "--out", "2.parquet", "--revises", "1.parquet", "--missing", "2018-01-20")
    assert "reports came in on days that are said to have no data" in made.err
    ran = tacit(
        "release", "2.parquet", "--refine", "project", "--by", "week", "--suppress", "count < 15", "--out", "3.parquet"
    )
    assert ran.code == 0, ran.err
    two, three = Release.read(files / "2.parquet"), Release.read(files / "3.parquet")
    assert (three.refinement, three.domain.time.step, three.version) == ("project", "week", two.version)
    assert three.rules.missing == two.rules.missing
    assert three.statement.version == two.version
    shown = ~np.isnan(three.unbiased.values)
    np.testing.assert_array_equal(three.unbiased.values[shown], two.unbiased.coarsen(time="week").values[shown])
    refused = tacit("release", "3.parquet", "--by", "month", "--out", "4.parquet")
    assert refused.code == 2
    assert "suppressed in this release, and gone" in refused.err
    refused = tacit("release", "2.parquet", "--revises", "1.parquet", "--out", "4.parquet")
    assert "are for a tally" in refused.err
    (files / "2.parquet").write_bytes((files / "2.parquet").read_bytes()[:-40])
    assert tacit("release", "2.parquet", "--out", "4.parquet").code == 4


def test_no_file_of_a_release_is_written_over_another(tacit, files):
    for names in (
        ("--statement", "r.parquet"),
        ("--revises", "r.parquet", "--force"),
    ):
        refused = tacit("release", "ab.tally", "--out", "r.parquet", *names)
        assert refused.code == 2
        assert "needed for something else" in refused.err
    assert tacit("release", "ab.tally", "--out", "r.parquet").code == 0
    assert tacit("page", "r.parquet").code == 0
    assert (files / "r.html").exists()
    assert "needed for something else" in tacit("page", "r.parquet", "--out", "r.parquet", "--force").err
    assert "--from must lie on the time axis" in tacit("query", "r.parquet", "--from", "2030").err


def test_later_versions_still_tell_that_reports_were_replaced(tacit, files):
    plan = Plan.read(files / "plan.toml")
    label = Provenance(plan.fingerprint, is_simulation=True)
    with ReportWriter(files / "c.reports", label, mechanism_of(plan).report_bytes) as writer:
        cells = np.repeat(np.tile(np.arange(3), 20), COUNTS.ravel())
        reports = mechanism_of(plan).randomize(cells, randomness=SeededRandomness(8))
        writer.add(np.repeat(np.arange(20), COUNTS.sum(axis=1)), reports)
    tally_reports([files / "c.reports"], plan).write(files / "c.tally")
    assert tacit("release", "ab.tally", "--out", "1.parquet").code == 0
    assert "reports were replaced" in tacit("release", "c.tally", "--revises", "1.parquet", "--out", "2.parquet").err
    ran = tacit("release", "c.tally", "--revises", "2.parquet", "--out", "3.parquet")
    assert "nothing more" not in ran.out
    assert "In version 2 reports were replaced" in ran.err
