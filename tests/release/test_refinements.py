"""A release is refined by name, and says in the file how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from old_formats import as_before_the_third_format, document_of, put_document
from small_worlds import days_and_places, simulated_estimate
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.postprocess import clip, filtered, project
from tacit.postprocess.refinements import REFINEMENTS, best_refinement
from tacit.privacy.ledger import Spend
from tacit.randomness import SeededRandomness
from tacit.release import Release, Rules, Version
from tacit.release.files import _checksum

OF_CELLS = [name for name in REFINEMENTS if name != "shrink"]  # which needs a tree
OF_A_MODEL = ("smooth", "filter")
COUNTS = np.random.default_rng(3).poisson(8, (70, 4))
PLAN, ESTIMATE = simulated_estimate(COUNTS)


@pytest.mark.parametrize("name", OF_CELLS)
def test_every_refinement_survives_the_file(tmp_path, name):
    release = Release.of(PLAN, ESTIMATE, refine=name)
    release.write(tmp_path / "r.parquet")
    again = Release.read(tmp_path / "r.parquet")
    assert (again.refinement, again.refined.steps) == (name, release.refined.steps)
    assert again.checksum == release.checksum
    for column, values in release.columns().items():
        np.testing.assert_array_equal(again.columns()[column], values)


@pytest.mark.parametrize("is_local", [True, False])
def test_trees_of_devices_and_of_curators_are_shrunk_by_name_and_keep_their_sum(tmp_path, is_local):
    plan, estimate = of_a_tree(is_local)
    release = Release.of(plan, estimate, refine="shrink")
    release.write(tmp_path / "r.parquet")
    again = Release.read(tmp_path / "r.parquet")
    assert again.refinement == "shrink"
    assert "shrinkage per level by SURE" in again.refined.steps
    assert again.refined.values.min() >= 0
    assert not again.refined.noise.is_stated
    # clipping a curator's few negative days adds less than a hundredth; a public total is kept
    slack = 1e-6 if is_local else 0.01
    assert again.refined.values.sum() == pytest.approx(again.unbiased.values.sum(), rel=slack)


def of_a_tree(is_local):
    """A plan and an estimate of 64 days with about 100 events each, of one place."""
    domain = days_and_places(64, 1)
    cells = np.repeat(np.arange(64), 100)
    if not is_local:
        plan = central_plan_for(domain, epsilon=1.0, fan_outs=[8, 8])
        mechanism = central_mechanism_of(plan)
        counts = ExactTally(np.full(domain.shape, 100))
        return plan, mechanism.measure(counts, plan, spend=Spend.simulation(mechanism.cost, seed=2))
    plan = plan_for(domain, epsilon=2.0, mechanism="hierarchical", private=("time",))
    randomizer = mechanism_of(plan)
    reports = randomizer.randomize(cells, randomness=SeededRandomness(3))
    statistics = randomizer.statistics(reports, np.array([len(cells)]))
    tally = Tally(Provenance(plan.fingerprint, is_simulation=True), statistics, np.array([len(cells)]))
    return plan, randomizer.estimate(tally, plan, domain)


@pytest.mark.slow
def test_filtering_by_name_takes_nothing_from_later_days_nor_from_missing_ones():
    whole = Release.of(PLAN, ESTIMATE, refine="filter").refined.values
    assert np.array_equal(whole, filtered(ESTIMATE).values)
    rules = Rules.parse(missing=("2018-03-01",))
    rest = Release.of(PLAN, ESTIMATE, refine="filter", rules=rules).refined.values
    assert np.array_equal(rest[:59], whole[:59])
    assert not np.array_equal(rest[60:], whole[60:])


def test_a_refinement_of_trees_says_what_it_needs():
    with pytest.raises(SettingError, match="shrinkage needs the leaves of a tree"):
        Release.of(PLAN, ESTIMATE, refine="shrink")


@pytest.mark.slow
def test_only_smoothed_and_filtered_counts_have_intervals_of_their_own():
    for name in OF_CELLS:
        columns = Release.of(PLAN, ESTIMATE, refine=name).columns()
        assert ("refined_lower" in columns) == ("refined_upper" in columns) == (name in OF_A_MODEL)
    smooth = Release.of(PLAN, ESTIMATE, refine="smooth").columns()
    assert (smooth["refined_lower"] <= smooth["refined_upper"]).all()
    narrower = smooth["refined_upper"] - smooth["refined_lower"] < smooth["upper"] - smooth["lower"]
    assert narrower.mean() > 0.9


@pytest.mark.parametrize("name", OF_CELLS)
def test_the_statement_says_where_a_model_speaks(tmp_path, name):
    release = Release.of(PLAN, ESTIMATE, refine=name)
    release.write(tmp_path / "r.parquet")
    beside = pq.read_schema(tmp_path / "r.parquet").metadata[b"privacy"].decode()
    for text in (release.statement.text(), beside):
        assert ("What a model says: The counts to use first are smoothed" in text) == (name in OF_A_MODEL)


def test_limits_in_the_table_are_whole_and_hold_every_count_that_they_held():
    release = Release.of(PLAN, ESTIMATE, refine="smooth")
    columns = release.columns()
    for estimate, names in (
        (release.unbiased, ("lower", "upper")),
        (release.refined, ("refined_lower", "refined_upper")),
    ):
        exact_lower, exact_upper = (limit.ravel() for limit in estimate.noise.intervals(estimate.values, release.level))
        lower, upper = (columns[name] for name in names)
        assert (lower % 1 == 0).all()
        assert (upper % 1 == 0).all()
        assert (lower <= np.ceil(exact_lower)).all()
        assert (np.floor(exact_upper) <= upper).all()
        assert (np.abs(lower - exact_lower) <= 0.5).all()
        assert (np.abs(upper - exact_upper) <= 0.5).all()
    errors = release.unbiased.noise.standard_errors().ravel()
    np.testing.assert_allclose(columns["standard_error"], errors, rtol=5.1e-4)
    assert all(len(f"{error:g}".replace(".", "").lstrip("0")) <= 4 for error in columns["standard_error"])


def test_the_default_is_the_best_that_needs_no_tuning():
    assert best_refinement(ESTIMATE).name == "smooth"
    _, short = simulated_estimate(COUNTS[:59])
    assert best_refinement(short).name == "project"
    assert best_refinement(replace(ESTIMATE, totals=None)).name == "coherent"
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
    release.write(tmp_path / "r.parquet")
    about = as_before_the_third_format(document_of(tmp_path / "r.parquet"))
    del about["refinement"]
    about["format"] = 1
    about["checksum"] = _checksum(about, release.columns())
    put_document(tmp_path / "r.parquet", about)
    old = Release.read(tmp_path / "r.parquet")
    assert (old.refinement, old.version, old.rules.are_none) == ("clip", Version(), True)
    assert old.checksum == about["checksum"]
    assert old.coarsen(time="month").refined.steps == ("clip and rescale",)


def test_a_file_of_a_newer_version_is_told_from_a_damaged_one(tmp_path):
    release = Release.of(PLAN, ESTIMATE, refine="clip")
    release.write(tmp_path / "r.parquet")
    put_document(tmp_path / "r.parquet", document_of(tmp_path / "r.parquet") | {"format": 6})
    with pytest.raises(FormatError, match="newer Tacit: its format is 6"):
        Release.read(tmp_path / "r.parquet")


def test_the_likelihood_of_larger_places_is_a_sum_of_the_most_likely_cells():
    """Found for the plan's own places, in the release's periods."""
    gazetteer = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    domain = Domain(TimeAxis.between("2018-01-01", "2018-02-20"), gazetteer)
    counts = np.random.default_rng(3).poisson(3, (51, domain.shape[1]))
    plan, estimate = simulated_estimate(counts, domain=domain)
    release = Release.of(plan, estimate, refine="likelihood", by="month", place="department")
    months = Release.of(plan, estimate, refine="likelihood", by="month")
    np.testing.assert_allclose(release.refined.values[:, 0], months.refined.values.sum(axis=1))
    np.testing.assert_allclose(months.coarsen(place="department").refined.values, release.refined.values)
    with pytest.raises(SettingError, match="plan's own places"):
        release.coarsen(time="year")
