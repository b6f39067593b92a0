"""Kinds of events from the command line: releases, questions, pages and rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from small_worlds import days_places_and_kinds, reported
from tacit.mechanisms.registry import plan_for
from tacit.release import Release

DOMAIN = days_places_and_kinds(20, 2)
COUNTS = np.random.default_rng(5).poisson([40, 9, 4, 30, 6, 2], DOMAIN.shape)


@pytest.fixture
def tally(tmp_path):
    plan = plan_for(DOMAIN, epsilon=4.0, mechanism="subset", private=("place",))
    plan.write(tmp_path / "plan.toml")
    reported(plan, COUNTS, 3).write(tmp_path / "events.tally")


def test_a_release_has_kinds_and_is_asked_for_them(tacit, tally, tmp_path):
    ran = tacit("release", "events.tally", "--out", "r.parquet")
    assert ran.code == 0, ran.err
    assert "20 periods x 2 places x 3 kinds" in ran.out
    assert "tacit query r.parquet --from DATE --to DATE --place NAME --kind NAME" in ran.out
    release = Release.read(tmp_path / "r.parquet")
    ran = tacit(
        "query", "r.parquet", "--from", "2018-01-02", "--to", "2018-01-03", "--place", "place 1", "--kind", "danger"
    )
    found = release.answer(first="2018-01-02", last="2018-01-03", places=["place 1"], kinds=["danger"])
    assert f"{round(found.value):,} events, give or take" in ran.out
    assert "(2018-01-02 to 2018-01-03; place 1; fire and flood)" in ran.out
    ran = tacit("query", "r.parquet", "--kind", "fire", "--kind", "fall")
    assert f"{COUNTS[:, [0, 2, 3, 5]].sum():,} events, exactly" in ran.out
    ran = tacit("query", "r.parquet", "--kind", "theft")
    assert ran.code == 2
    assert "kinds must be cells of the kind axis (level kind); got 'theft'" in ran.err


@pytest.mark.parametrize(("level", "n_rows", "header"), [("group", 80, "kind"), ("all", 40, "unbiased")])
def test_kinds_are_added_up_by_level(tacit, tally, tmp_path, level, n_rows, header):
    assert tacit("release", "events.tally", "--kind", level, "--out", "coarse.parquet").code == 0
    release = Release.read(tmp_path / "coarse.parquet")
    assert len(release.columns()["period"]) == n_rows
    assert list(release.columns())[2] == header
    assert tacit("release", "events.tally", "--out", "fine.parquet").code == 0
    assert tacit("release", "fine.parquet", "--kind", level, "--out", "again.parquet").code == 0
    again = Release.read(tmp_path / "again.parquet")
    np.testing.assert_allclose(again.unbiased.values, release.unbiased.values)
    np.testing.assert_allclose(again.refined.values, release.refined.values)


def test_a_release_without_kinds_refuses_to_add_them_up(tacit, tally):
    assert tacit("release", "events.tally", "--kind", "all", "--out", "r.parquet").code == 0
    for words in (
        ["release", "r.parquet", "--kind", "group", "--out", "s.parquet"],
        ["query", "r.parquet", "--kind", "fire"],
    ):
        ran = tacit(*words)
        assert ran.code == 2
        assert "must be left out: these counts have no kinds" in ran.err


def test_a_single_suppressed_count_of_a_public_bin_is_warned_of(tacit, tally):
    ran = tacit("release", "events.tally", "--suppress", "count < 3", "--out", "r.parquet")
    assert "public bins a single place is suppressed" in ran.err


def test_rows_have_a_kind(tacit, tally, tmp_path):
    assert tacit("release", "events.tally", "--out", "r.parquet").code == 0
    assert tacit("synthetic", "r.parquet", "--seed", "1", "--out", "rows.csv").code == 0
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == COUNTS.sum()
    fires = sum(row["kind"] == "fire" for row in rows)
    assert fires == COUNTS[:, [0, 3]].sum()  # the kind is public
