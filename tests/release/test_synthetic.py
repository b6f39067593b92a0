"""Synthetic rows keep the public numbers exactly, stay within one of the refined counts, and say what they are."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_worlds import days_and_places, simulated_estimate
from statistical import assert_share
from tacit._base.reading import kind_of_file
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness
from tacit.release import Release, Rules
from tacit.release.synthetic import FILLED, PREFIX, SyntheticRows, rounded_counts

COUNTS = np.random.default_rng(3).poisson([9, 4, 1, 0.2], (40, 4))
COUNTS[5] = 0
PLAN, ESTIMATE = simulated_estimate(COUNTS)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 30))
def test_rounded_counts_add_up_and_stay_within_one(seed, k, total):
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.full(k, 0.4), 1) * total
    if rng.random() < 0.3:
        values = np.rint(values)
        total = int(values.sum())
    _, estimate = simulated_estimate(np.ones((1, max(k, 2)), int))
    domain = Domain(estimate.domain.time, PlaceAxis.of([f"p{i}" for i in range(k)]))
    one = replace(estimate, domain=domain, values=values, totals=np.array([[total]]))
    found = rounded_counts(one, SeededRandomness(seed))
    assert found.sum() == total
    assert (np.abs(found - values) < 1 + 1e-9).all()
    whole = values == np.rint(values)
    np.testing.assert_array_equal(found[whole], values[whole])


@pytest.mark.false_failure(1e-7)
def test_rounding_has_no_bias(seed):
    """Means of 4,000 numbers in an interval of 1; fails by bad luck once in 1e7 (Hoeffding, four values)."""
    values = np.array([[0.25, 1.5, 0.0, 2.25]])
    _, estimate = simulated_estimate(np.array([[1, 1, 1, 1]]))
    one = replace(estimate, values=values, totals=np.array([[4]]))
    source = SeededRandomness(seed)
    mean = np.mean([rounded_counts(one, source) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(mean, values, atol=6 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize("refine", ["project", "clip", "smooth", "raw", "norm-cut", "likelihood"])
def test_rows_have_the_public_numbers_and_the_refined_ones_within_one(refine):
    release = Release.of(PLAN, ESTIMATE, refine=refine)
    rows = SyntheticRows.of(release, seed=1)
    np.testing.assert_array_equal(rows.counts.sum(axis=1), COUNTS.sum(axis=1))
    assert rows.n_rows == COUNTS.sum() == len(rows.columns()["id"])
    if refine in ("project", "clip", "likelihood"):
        assert (np.abs(rows.counts - release.refined.values) < 1 + 1e-6).all()
    else:
        assert (rows.counts >= 0).all()


def test_private_periods_keep_the_numbers_of_their_places():
    private = replace(ESTIMATE, totals=COUNTS.sum(axis=0, keepdims=True))
    rows = SyntheticRows.of(Release.of(PLAN, private, refine="project"), seed=1)
    np.testing.assert_array_equal(rows.counts.sum(axis=0), COUNTS.sum(axis=0))


def test_without_public_numbers_every_count_is_rounded():
    release = Release.of(PLAN, replace(ESTIMATE, totals=None), refine="clip")
    rows = SyntheticRows.of(release, seed=1)
    scaled = release.refined.values * (release.unbiased.values.sum() / release.refined.values.sum())
    assert (np.abs(rows.counts - scaled) < 1).all()


def test_a_seed_gives_the_same_rows_and_no_seed_others():
    release = Release.of(PLAN, ESTIMATE, refine="project")
    first, again = (SyntheticRows.of(release, seed=7).counts for _ in range(2))
    np.testing.assert_array_equal(first, again)
    others = [SyntheticRows.of(release).counts for _ in range(2)]
    assert not np.array_equal(*others)


@pytest.mark.false_failure(2e-9)
def test_towns_lie_in_their_places(seed):
    """Of about 1,000 rows in the place, each town has its share, by exact tails; the other rule's would be seen."""
    table = Gazetteer.builtin("doubs")
    axis = PlaceAxis.from_gazetteer(table)
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), axis)
    plan, estimate = simulated_estimate(np.full(domain.shape, 100), domain=domain, seed=seed)
    release = Release.of(plan, estimate, refine="project")
    place, largest = "CA du Grand Besançon", "Besançon"
    people, inside = table.population("town"), axis.cells.index(place)
    own = [row for row in table.rows if not row.is_outside and table.name_at(row, axis.level) == place]
    of_place = [people[table.name_at(row, "town")] for row in own]
    wanted = {"even": 1 / len(of_place), "population": people[largest] / sum(of_place)}
    for towns, other in zip(wanted, reversed(wanted), strict=True):
        rows = SyntheticRows.of(release, towns=towns, seed=seed + 1)
        columns = rows.columns()
        assert list(columns) == ["id", "time", "region", "town"]
        assert [axis.cells[n] for n in axis.match(columns["town"].tolist())] == columns["region"].tolist()
        n_rows = int(rows.counts[:, inside].sum())
        hits = int((columns["town"] == largest).sum())
        assert_share(hits, n_rows, at_least=wanted[towns], at_most=wanted[towns], false_failure=1e-9)
        with pytest.raises(AssertionError):
            assert_share(hits, n_rows, at_least=wanted[other], at_most=wanted[other], false_failure=1e-9)


def test_a_plain_list_of_places_has_no_towns():
    with pytest.raises(SettingError, match="table of towns"):
        SyntheticRows.of(Release.of(PLAN, ESTIMATE, refine="project"), towns="even")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_file_says_synthetic_and_carries_the_statement(tmp_path, ending):
    release = Release.of(PLAN, ESTIMATE, refine="project")
    rows = SyntheticRows.of(release, seed=1)
    path = tmp_path / f"rows{ending}"
    rows.write(path)
    table = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
    assert len(table) == rows.n_rows
    assert table["id"].str.startswith(PREFIX).all()
    assert table["id"].is_unique
    if ending == ".csv":
        assert set(table["unit"]) == {"nothing: this is a simulation"}
        assert f"sha256:{release.checksum}".startswith(table["release"][0])
        assert len(table["release"][0]) == len("sha256:") + 12
        assert kind_of_file(path) == "a table of synthetic events"
        return
    metadata = pq.read_schema(path).metadata
    head, about = metadata[b"privacy"].decode(), json.loads(metadata[b"tacit"])
    assert "SYNTHETIC: no row is an event" in head
    assert "What is protected" in head
    assert "SIMULATION" in head
    assert about["kind"] == "synthetic rows"
    assert about["release"] == release.checksum
    assert about["statement"]["epsilon"] == PLAN.epsilon


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"\.parquet or \.csv"):
        SyntheticRows.of(Release.of(PLAN, ESTIMATE, refine="project")).write(tmp_path / "rows.xlsx")


@pytest.mark.false_failure(1e-10)
def test_rows_of_a_curators_release_are_about_as_many_as_its_unbiased_total(seed):
    """Each of 60 periods is rounded by less than 1, apart from the others (Hoeffding); clipped counts are 100 more."""
    from tacit.counts.tally import ExactTally
    from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
    from tacit.privacy.cost import Cost
    from tacit.privacy.spend import Spend

    domain = days_and_places(60, 5)
    plan = central_plan_for(domain, epsilon=1.0, mechanism="flat")
    counts = np.zeros(domain.shape, np.int64)
    counts[:, 0] = 20
    spend = Spend.simulation(Cost.pure(1.0), seed=seed)
    release = Release.of(plan, central_mechanism_of(plan).measure(ExactTally(counts), plan, spend=spend))
    rows = SyntheticRows.of(release, seed=seed + 1)
    assert abs(rows.n_rows - release.unbiased.values.sum()) < math.sqrt(60 / 2 * math.log(2 / 1e-10))
    assert "rescaled to the unbiased total" in rows.steps


def test_suppressed_counts_share_what_is_left_of_the_public_numbers():
    release = Release.of(PLAN, ESTIMATE, refine="project", rules=Rules.parse(suppress=("count < 3",)))
    assert release.has_gaps
    rows = SyntheticRows.of(release, seed=3)
    np.testing.assert_array_equal(rows.counts.sum(axis=1), COUNTS.sum(axis=1))
    assert FILLED in rows.text()
    is_known = ~np.isnan(release.refined.values)
    assert (np.abs(rows.counts - release.refined.values)[is_known] < 1 + 1e-6).all()
    without = replace(release, refined=replace(release.refined, totals=None))
    with pytest.raises(SettingError, match="keep_suppressed"):
        SyntheticRows.of(without)
