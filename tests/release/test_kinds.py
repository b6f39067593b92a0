"""Releases of kinds of events: their table, sums, files, refinements, rules, versions, words and rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_places_and_kinds, reported
from tacit.collection.tallying import estimate_tally
from tacit.counts.norm_sub import norm_sub
from tacit.counts.tally import ExactTally
from tacit.domain import ALL, AXES, Domain, KindAxis
from tacit.errors import FormatError, NotShown, SettingError
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.postprocess import project
from tacit.postprocess.coherence import add_up
from tacit.postprocess.normal_likelihood import maximize_normal_likelihood
from tacit.privacy.spend import Spend
from tacit.release import Release, Rules
from tacit.release.synthetic import SyntheticRows

DOMAIN = days_places_and_kinds(4, 2)
COUNTS = np.random.default_rng(5).integers(0, 40, DOMAIN.shape)
PRIVATE = [private for n in (1, 2, 3) for private in combinations(AXES, n)]
OF_REPORTS = {private: plan_for(DOMAIN, epsilon=1.0, mechanism="unary", private=private) for private in PRIVATE}
ESTIMATES = {private: estimate_tally(reported(plan, COUNTS, 3), plan) for private, plan in OF_REPORTS.items()}
CURATOR = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")


def release_of(private, **settings):
    return Release.of(OF_REPORTS[private], ESTIMATES[private], **settings)


def curated(plan=CURATOR, counts=COUNTS, seed=1):
    mechanism = central_mechanism_of(plan)
    return mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))


def public_sums(values, private):
    hidden = tuple(axis for axis, name in enumerate(AXES) if name in private)
    return np.asarray(values).reshape(DOMAIN.grid).sum(axis=hidden, keepdims=True)


@pytest.mark.parametrize("private", PRIVATE)
def test_the_table_has_a_row_for_every_period_place_and_kind(private):
    release = release_of(private)
    columns = release.columns()
    assert list(columns)[:3] == ["period", "place", "kind"]
    rows = list(zip(*(columns[name].tolist() for name in ("period", "place", "kind")), strict=True))
    assert rows == list(product(DOMAIN.time.labels(), DOMAIN.place.cells, DOMAIN.kind.cells))
    np.testing.assert_array_equal(columns["unbiased"], ESTIMATES[private].values.ravel())
    reports = np.broadcast_to(public_sums(COUNTS, private), DOMAIN.grid).ravel()
    np.testing.assert_array_equal(columns["reports"], reports)
    assert repr(release) == "Release(4 periods x 2 places x 3 kinds, epsilon 1, simulation)"


def test_a_release_without_kinds_has_no_column_of_them():
    release = release_of(("place",), kind=ALL)
    assert "kind" not in release.columns()
    assert release.domain.kind is None
    assert repr(release) == "Release(4 periods x 2 places, epsilon 1, simulation)"


@pytest.mark.parametrize("private", PRIVATE)
@pytest.mark.parametrize(("kind", "n_kinds"), [("group", 2), (ALL, None)])
def test_kinds_are_added_up_to_groups_and_to_all(private, kind, n_kinds):
    """Sums are those of the unbiased cells, public numbers stay exact, and what was made is the same either way."""
    release = release_of(private, kind=kind, refine="project")
    grid = ESTIMATES[private].values.reshape(DOMAIN.grid)
    sums = np.stack([grid[..., :2].sum(axis=2), grid[..., 2]], axis=2) if n_kinds else grid.sum(axis=2)
    np.testing.assert_allclose(release.unbiased.values, sums.reshape(release.domain.shape), atol=1e-9)
    assert release.unbiased.totals.sum() == COUNTS.sum()
    coarsened = release_of(private, refine="project").coarsen(kind=kind)
    for name, column in release.columns().items():
        np.testing.assert_array_equal(coarsened.columns()[name], column)


@pytest.mark.parametrize("private", PRIVATE)
def test_projected_counts_add_up_to_every_public_number(private):
    """Each public bin (a time and a kind, where the place is private) is projected alone, cell by cell as by hand."""
    refined = release_of(private, refine="project").refined
    np.testing.assert_allclose(public_sums(refined.values, private), public_sums(COUNTS, private), atol=1e-9)
    values, found = ESTIMATES[private].values.reshape(DOMAIN.grid), refined.values.reshape(DOMAIN.grid)
    public = [
        range(size) if name not in private else [slice(None)] for name, size in zip(AXES, DOMAIN.grid, strict=True)
    ]
    for part in product(*public):
        total = np.array([COUNTS.reshape(DOMAIN.grid)[part].sum()])
        np.testing.assert_allclose(found[part].ravel(), norm_sub(values[part].reshape(1, -1), total)[0], atol=1e-9)


@pytest.mark.parametrize("refine", [project, add_up, maximize_normal_likelihood])
def test_a_public_kind_is_refined_as_if_it_had_been_counted_alone(refine):
    """Where the place is private and the kind is public, known totals are those of a time and a kind."""
    estimate = ESTIMATES["place",]
    refined = refine(estimate)
    for number, kind in enumerate(DOMAIN.kind.cells):
        domain = Domain(DOMAIN.time, DOMAIN.place)
        columns = DOMAIN.box(kinds=kind).columns
        plan = plan_for(domain, epsilon=1.0, mechanism="unary")
        alone = estimate_tally(reported(plan, COUNTS[:, list(columns)], 1), plan)
        alone = replace(alone, values=estimate.values[:, list(columns)].copy())
        np.testing.assert_array_equal(alone.totals, estimate.totals[:, :, number])
        np.testing.assert_allclose(refined.values[:, list(columns)], refine(alone).values, atol=1e-9)


def test_counts_that_add_up_need_a_public_number_for_every_column_or_every_period():
    with pytest.raises(SettingError, match="need a public number of reports for every period"):
        add_up(ESTIMATES["time", "kind"])
    refined = add_up(ESTIMATES["time",])
    np.testing.assert_allclose(public_sums(refined.values, ("time",)), public_sums(COUNTS, ("time",)))
    by_day = add_up(ESTIMATES["place", "kind"])
    np.testing.assert_allclose(public_sums(by_day.values, ("place", "kind")), public_sums(COUNTS, ("place", "kind")))


def test_a_curators_counts_of_kinds_are_not_negative_and_add_up_over_time():
    estimate = curated()
    release = Release.of(CURATOR, estimate)
    assert release.refinement == "coherent"
    assert release.refined.values.min() >= 0
    np.testing.assert_allclose(release.refined.values.sum(axis=0), np.maximum(estimate.values.sum(axis=0), 0.0))


@pytest.mark.slow
def test_kinds_are_smoothed_where_there_are_periods_enough():
    domain = days_places_and_kinds(61, 2)
    plan = plan_for(domain, epsilon=1.0, mechanism="unary", private=("place", "kind"))
    estimate = estimate_tally(reported(plan, np.full(domain.shape, 5), 1), plan)
    release = Release.of(plan, estimate)
    assert release.refinement == "smooth"
    assert release.recommended is release.refined
    fires = release.answer(first="2018-01", last="2018-01", kinds=["fire"])
    assert fires.lower < fires.value < fires.upper


@given(
    private=st.sampled_from(PRIVATE),
    levels=st.fixed_dictionaries(
        {}, optional={"by": st.just("month"), "place": st.just(ALL), "kind": st.sampled_from(["group", ALL])}
    ),
    refine=st.sampled_from(["raw", "project", "clip"]),
    rules=st.sampled_from([{}, {"suppress": ("count < 10",)}, {"grey": ("count < 10",), "missing": ("2018-01-02",)}]),
)
@pytest.mark.slow
def test_everything_survives_the_file(tmp_path_factory, private, levels, refine, rules):
    release = release_of(private, refine=refine, rules=Rules.parse(**rules), **levels)
    path = tmp_path_factory.getbasetemp() / "kinds.parquet"
    release.write(path)
    again = Release.read(path)
    assert (again.plan, again.statement, again.domain) == (release.plan, release.statement, release.domain)
    assert again.checksum == release.checksum
    assert list(again.columns()) == list(release.columns())
    for name, column in release.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)
    np.testing.assert_array_equal(again.unbiased.totals, release.unbiased.totals)


def test_a_curators_release_with_kinds_survives_its_file(tmp_path):
    release = Release.of(CURATOR, curated())
    release.write(tmp_path / "r.parquet")
    again = Release.read(tmp_path / "r.parquet")
    assert (again.plan, again.statement, again.domain) == (release.plan, release.statement, release.domain)
    asked = {"first": "2018-01-02", "places": ["place 1"], "kinds": ["danger"]}
    assert again.answer(**asked) == release.answer(**asked)


def test_one_kind_alone_is_a_kind_all_the_same(tmp_path):
    domain = replace(DOMAIN, kind=KindAxis.of(["fire"]))
    plan = plan_for(domain, epsilon=1.0, mechanism="unary", private=("place",))
    release = Release.of(plan, estimate_tally(reported(plan, COUNTS[:, :2], 1), plan))
    release.write(tmp_path / "r.parquet")
    again = Release.read(tmp_path / "r.parquet")
    assert again.columns()["kind"].tolist() == ["fire"] * 8
    assert again.answer(kinds=["fire"]) == release.answer()


def test_rows_in_another_order_are_put_back_and_a_lost_or_doubled_row_is_noticed(tmp_path):
    release = release_of(("place",))
    path = tmp_path / "r.parquet"
    release.write(path)
    table = pq.read_table(path)
    pq.write_table(table.sort_by([("kind", "descending"), ("period", "descending")]), path)
    np.testing.assert_array_equal(Release.read(path).unbiased.values, release.unbiased.values)
    short = table.slice(1)
    for rows in (short, pa.concat_tables([short, short.slice(0, 1)])):
        pq.write_table(rows, path)
        with pytest.raises(FormatError, match="lacks rows or has some twice"):
            Release.read(path)


def test_a_column_of_kinds_that_someone_added_is_not_read(tmp_path):
    release = release_of(("place",), kind=ALL)
    path = tmp_path / "r.parquet"
    release.write(path)
    table = pq.read_table(path)
    pq.write_table(table.append_column("kind", pa.array(["mine"] * table.num_rows)), path)
    assert Release.read(path).checksum == release.checksum


def test_a_release_is_asked_for_kinds_and_groups_of_them():
    release = release_of(("place",), refine="raw")
    grid = release.unbiased.values.reshape(DOMAIN.grid)
    asked = release.answer(first="2018-01-02", last="2018-01-03", places=["place 1"], kinds=["danger"])
    assert asked.value == pytest.approx(grid[1:3, 1, :2].sum())
    exact = release.answer(kinds=["fall"])
    assert (exact.value, exact.standard_error) == (COUNTS.reshape(DOMAIN.grid)[..., 2].sum(), 0.0)
    with pytest.raises(SettingError, match="kinds must be cells of the kind axis"):
        release.answer(kinds=["theft"])
    with pytest.raises(SettingError, match="these counts have no kinds"):
        release.coarsen(kind=ALL).answer(kinds=["fire"])


def test_rules_judge_every_cell_as_it_is_shown():
    """A count of all kinds is shown where those of single kinds are suppressed."""
    rules = Rules.parse(suppress=("count < 12",))
    release = release_of(("place", "kind"), refine="project", rules=rules)
    is_gone = np.isnan(release.unbiased.values)
    np.testing.assert_array_equal(is_gone, release_of(("place", "kind"), refine="project").unbiased.values < 12)
    assert 0 < is_gone.sum() < is_gone.size
    bin, column = np.argwhere(is_gone)[0]
    place, kind = DOMAIN.place.cells[column // 3], DOMAIN.kind.cells[column % 3]
    day = DOMAIN.time.label(int(bin))
    with pytest.raises(NotShown, match="is suppressed"):
        release.answer(first=day, last=day, places=[place], kinds=[kind])
    with pytest.raises(NotShown):
        release.answer(places=[place])
    in_all, judged = (release_of(("place", "kind"), refine="project", kind=ALL, rules=r) for r in (rules, None))
    np.testing.assert_array_equal(np.isnan(in_all.unbiased.values), judged.unbiased.values < 12)
    assert np.isnan(in_all.unbiased.values).sum() < is_gone.sum()


@pytest.mark.parametrize(("private", "n_fewer"), [(("place",), 2), (("place", "kind"), 1), (("kind",), 2)])
def test_a_new_version_counts_the_public_bins_that_shrank(private, n_fewer):
    """Two events of a day are taken out, of two kinds and two places: two public bins if kinds or places are public."""
    plan, fewer = OF_REPORTS[private], COUNTS.copy()
    assert fewer[1, 0] > 0 and fewer[1, 5] > 0  # noqa: PT018
    fewer[1, 0] -= 1
    fewer[1, 5] -= 1
    for settings in ({}, {"kind": ALL}):
        former = release_of(private, **settings)
        version = Release.of(plan, estimate_tally(reported(plan, fewer, 3), plan), revises=former).version
        assert version.n_fewer == (n_fewer if not settings or private == ("kind",) else 1)


WORDS = {
    ("place",): ("The place of", "in which period and of which kind", "per period and kind is"),
    ("time",): ("The time of", "at which place and of which kind", "per place and kind is"),
    ("kind",): ("The kind of", "in which period and at which place", "per period and place is"),
    ("time", "place"): ("The time and the place of", "and of which kind", "per kind is"),
    ("time", "kind"): ("The time and the kind of", "and at which place", "per place is"),
    ("place", "kind"): ("The place and the kind of", "and in which period", "per period is"),
    AXES: ("The time, the place and the kind of", "That an event happened: the total number", "is exact"),
}


@pytest.mark.parametrize("private", PRIVATE)
def test_a_statement_says_what_is_hidden_and_what_is_public(private):
    text = release_of(private).statement.text()
    hidden, told, numbers = WORDS[private]
    assert f"What is protected: {hidden} every single event." in text
    assert told in text
    assert numbers in text
    listed = {1: "{}", 2: "{} and {}", 3: "{}, {} and {}"}[len(private)].format(*private)
    assert f"one event's {listed} replaced by any other" in text.replace("One", "one")


def test_a_curators_statement_says_that_every_kind_has_its_noise():
    text = Release.of(CURATOR, curated()).statement.text()
    assert "on every count" in text
    tree = central_plan_for(DOMAIN, epsilon=1.0, mechanism="tree", fan_outs=[2, 2])
    assert "for every place and kind" in Release.of(tree, curated(tree)).statement.text()


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("private", PRIVATE)
def test_synthetic_rows_have_a_kind_and_add_up_to_every_public_number(private, seed):
    release = release_of(private)
    rows = SyntheticRows.of(release, seed=seed)
    np.testing.assert_array_equal(public_sums(rows.counts, private), public_sums(COUNTS, private))
    assert (np.abs(rows.counts - release.refined.values) < 1).all()
    columns = rows.columns()
    assert list(columns) == ["id", "time", "place", "kind"]
    labels = release.columns()
    for number in (0, 7, 23):
        is_cell = np.logical_and.reduce(
            [
                columns[name] == labels[label][number]
                for name, label in (("time", "period"), ("place", "place"), ("kind", "kind"))
            ]
        )
        assert is_cell.sum() == rows.counts.ravel()[number]
    assert "per period, place and kind" in rows.text()
