"""A release is refined by name, and says in the file how."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from small_worlds import simulated_estimate
from tacit.errors import SettingError
from tacit.postprocess import clip, project
from tacit.postprocess.refinements import REFINEMENTS, best_refinement
from tacit.release import Release, Version
from tacit.release.files import _checksum

COUNTS = np.random.default_rng(3).poisson(8, (70, 4))
PLAN, ESTIMATE = simulated_estimate(COUNTS)


@pytest.mark.parametrize("name", REFINEMENTS)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_every_refinement_survives_the_file(tmp_path, name, ending):
    release = Release.of(PLAN, ESTIMATE, refine=name)
    release.write(tmp_path / f"r{ending}")
    again = Release.read(tmp_path / f"r{ending}")
    assert (again.refinement, again.refined.steps) == (name, release.refined.steps)
    assert again.checksum == release.checksum
    for column, values in release.columns().items():
        np.testing.assert_array_equal(again.columns()[column], values)


def test_only_smoothed_counts_have_intervals_of_their_own():
    for name in REFINEMENTS:
        columns = Release.of(PLAN, ESTIMATE, refine=name).columns()
        assert ("refined_lower" in columns) == ("refined_upper" in columns) == (name == "smooth")
    smooth = Release.of(PLAN, ESTIMATE, refine="smooth").columns()
    assert (smooth["refined_lower"] <= smooth["refined_upper"]).all()
    narrower = smooth["refined_upper"] - smooth["refined_lower"] < smooth["upper"] - smooth["lower"]
    assert narrower.mean() > 0.9


def test_the_default_is_the_best_that_needs_no_tuning():
    assert best_refinement(ESTIMATE).name == "smooth"
    _, short = simulated_estimate(COUNTS[:59])
    assert best_refinement(short).name == "project"
    assert best_refinement(replace(ESTIMATE, totals=None)).name == "clip"
    assert Release.of(PLAN, ESTIMATE).refinement == "smooth"
    assert Release.of(PLAN, ESTIMATE, by="month").refinement == "smooth"


def test_smoothed_months_are_sums_of_smoothed_days_and_projected_ones_are_projected_anew():
    days = Release.of(PLAN, ESTIMATE, refine="smooth")
    for months in (Release.of(PLAN, ESTIMATE, by="month", refine="smooth"), days.coarsen(time="month")):
        np.testing.assert_allclose(months.refined.values[0], days.refined.values[:31].sum(axis=0), rtol=1e-6)
        assert months.has_refined_intervals
    months = Release.of(PLAN, ESTIMATE, refine="project").coarsen(time="month")
    np.testing.assert_array_equal(months.refined.values, project(ESTIMATE.coarsen(time="month")).values)


def test_another_step_may_be_given_but_not_repeated():
    release = Release.of(PLAN, ESTIMATE, refine=lambda estimate: clip(project(estimate)))
    assert release.refined.steps == ("project", "clip")
    with pytest.raises(SettingError, match="refined by name"):
        release.coarsen(time="month")


def test_an_unknown_name_is_refused():
    with pytest.raises(SettingError, match="refine must be one of"):
        Release.of(PLAN, ESTIMATE, refine="magic")


def test_a_file_from_before_refinements_had_names_is_still_read(tmp_path):
    release = Release.of(PLAN, ESTIMATE, refine="clip")
    release.write(tmp_path / "new.csv")
    lines = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()
    (number,) = (n for n, line in enumerate(lines) if line.startswith("# tacit: "))
    about = json.loads(lines[number].removeprefix("# tacit: "))
    del about["refinement"]
    about["checksum"] = _checksum(about, release.columns())
    lines[number] = "# tacit: " + json.dumps(about, ensure_ascii=False)
    (tmp_path / "old.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    old = Release.read(tmp_path / "old.csv")
    assert (old.refinement, old.version, old.rules.are_none) == ("clip", Version(), True)
    assert old.checksum == about["checksum"]
    assert old.coarsen(time="month").refined.steps == ("clip and rescale",)
