"""The commands on days that devices hide: a tree of levels, fused, from plan to query."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.plan import Plan
from tacit.release import Release

PLAN = ("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-03-31", "--private", "time", "--epsilon", "4")


@pytest.fixture
def visits(tmp_path):
    """2,700 visits of one town, and 90 of another, in 90 days."""
    path = tmp_path / "visits.csv"
    days = np.datetime64("2018-01-01") + np.arange(90)
    rows = [f"{day},Besançon" for day in days for _ in range(30)] + [f"{day},Pontarlier" for day in days]
    path.write_text("day,town\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["hierarchical", "hh", "Hierarchical histogram"])
def test_ranges_of_private_days_are_answered_from_a_fused_tree(tacit, visits, tmp_path, name):
    for words in (
        (*PLAN, "--mechanism", name),
        ("check", *DOUBS, visits, "--time", "day", "--place", "town", "--confirm"),
        ("randomize", visits),
        ("tally", "events.reports"),
        ("release", "events.tally", "--out", "r.parquet", "--statement", "s.html"),
        ("query", "r.parquet", "--from", "2018-01-11", "--to", "2018-02-19", "--place", "CA du Grand Besançon"),
    ):
        ran = tacit(*words)
        assert ran.code == 0, ran.err
    assert "give or take" in ran.out
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.mechanism == "hierarchical"
    assert dict(plan.thresholds)["level 1 fan-out"] >= 2
    release = Release.read(tmp_path / "r.parquet")
    assert "a hierarchical histogram" in release.statement.text()
    assert "least squares over a tree" in release.statement.text()
    truth = np.zeros(release.unbiased.values.shape)
    cells = release.unbiased.domain.place.cells
    truth[:, cells.index("CA du Grand Besançon")] = 30
    truth[:, cells.index("CC du Grand Pontarlier")] = 1
    np.testing.assert_allclose(release.unbiased.values.sum(axis=0), truth.sum(axis=0), atol=1e-6)
    # 8 standard errors of each of 180 counts: false failure below 1e-10
    errors = release.unbiased.noise.standard_errors()
    assert (np.abs(release.unbiased.values - truth) <= 8 * errors + 1e-9).all()
    # a range of 40 days errs less than days that are added up
    box = release.unbiased.domain.box("2018-01-11", "2018-02-19", ["CA du Grand Besançon"])
    weights = box.weights(release.unbiased.domain)
    assert release.unbiased.noise.variance(weights) < 0.5 * float((weights * errors**2).sum())


def test_the_default_for_private_days_is_still_an_oracle(tacit, tmp_path):
    assert tacit(*PLAN).code == 0
    assert Plan.read(tmp_path / "plan.toml").mechanism == "subset"
