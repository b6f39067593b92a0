"""Refining, rules, versions and synthetic rows from the command line."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import days_and_places
from tacit.mechanisms import mechanism_of, plan_for
from tacit.provenance import Provenance
from tacit.randomness import SeededRandomness
from tacit.release import Release
from tacit.tallying import tally_reports
from tacit.wire import ReportWriter

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
    ran = tacit("release", "ab.tally", "--refine", refine, "--out", "r.csv")
    assert ran.code == 0, ran.err
    assert Release.read(files / "r.csv").refinement == refine


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
    assert Release.read(files / "release.parquet").refined.steps == ("maximum likelihood of the reports",)
    refused = tacit("release", "ab.tally", "--reports", "a.reports", "--force")
    assert refused.code == 2
    assert "--refine likelihood" in refused.err
    refused = tacit("release", "ab.tally", "--refine", "likelihood", "--reports", "a.reports", "--force")
    assert refused.code == 2
    assert "same reports" in refused.err


def test_rules_versions_and_rows(tacit, files):
    assert tacit("release", "a.tally", "--out", "1.csv").code == 0
    ran = tacit(
        "release", "ab.tally", "--out", "2.csv", "--revises", "1.csv", "--suppress", "relative error > 0.9",
        "--grey", "count < 5", "--missing", "2018-01-20",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "Version 2: it replaces 1.csv" in ran.out
    made = Release.read(files / "2.csv")
    assert made.version.revises == Release.read(files / "1.csv").checksum
    assert set(made.statuses()[19]) == {"missing"}
    asked = tacit("query", "2.csv", "--from", "2018-01-18", "--place", "place 0")
    assert "1 of 3 periods have no data for some or all of their days; the answer lacks those." in asked.err
    drawn = tacit("synthetic", "2.csv", "--out", "rows.csv", "--seed", "4")
    assert drawn.code == 0, drawn.err
    assert f"{COUNTS.sum()} SYNTHETIC rows" in drawn.out
    assert "SIMULATION" in drawn.err
    lines = [line for line in (files / "rows.csv").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == COUNTS.sum() + 1


def test_a_rule_that_cannot_be_read_is_refused_before_anything_is_written(tacit, files):
    ran = tacit("release", "ab.tally", "--suppress", "count > 3")
    assert ran.code == 2
    assert "a rule must read" in ran.err
    assert not (files / "release.parquet").exists()
