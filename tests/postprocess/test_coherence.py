"""Days add up to months and years, places to the public numbers, and nothing is negative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from small_worlds import simulated_estimate
from tacit.counts.norm_sub import norm_sub
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import NoInterval, SettingError
from tacit.postprocess import project
from tacit.postprocess.coherence import COHERENT, HANDED_DOWN, add_up, level_variances, shared_out
from tacit.release import Release

COUNTS = np.random.default_rng(2).poisson([6, 3, 1, 0.3], (400, 4))
COUNTS[50:60] = 0
PLAN, ESTIMATE = simulated_estimate(COUNTS, f=0.7)


def test_sums_of_days_are_the_projected_months_and_years():
    found = add_up(ESTIMATE)
    assert (found.values >= 0).all()
    np.testing.assert_allclose(found.values.sum(axis=1, keepdims=True), ESTIMATE.totals, atol=1e-9)
    assert found.steps == (COHERENT,)
    with pytest.raises(NoInterval):
        found.noise.standard_errors()
    for step in ("month", "year"):
        coarse = project(ESTIMATE.coarsen(time=step)).values
        ours = found.coarsen(time=step).values
        days = project(ESTIMATE).coarsen(time=step).values
        assert np.abs(ours - coarse).mean() < 0.3 * np.abs(days - coarse).mean()


def test_months_of_a_release_are_sums_of_its_days():
    days = Release.of(PLAN, ESTIMATE, refine="coherent")
    months = days.coarsen(time="month")
    years = months.coarsen(time="year")
    np.testing.assert_allclose(months.refined.values[0], days.refined.values[:31].sum(axis=0))
    np.testing.assert_allclose(years.refined.values[0], days.refined.values[:365].sum(axis=0))
    np.testing.assert_allclose(months.refined.values.sum(axis=1), months.unbiased.totals.ravel())


def test_what_is_coherent_already_stays():
    totals = COUNTS.sum(axis=1, keepdims=True)
    exact = replace(ESTIMATE, values=COUNTS.astype(float), totals=totals)
    np.testing.assert_allclose(add_up(exact).values, COUNTS, atol=1e-5)


def test_rows_are_shared_out_to_the_nearest_that_fit():
    rng = np.random.default_rng(0)
    rows, totals = rng.normal(1, 3, (3, 3)), np.array([4, 2, 3])
    parents = np.array([[5.0, 3.0, 1.0]])
    found = shared_out(rows, totals, parents, np.array([0, 3]))
    best = minimize(
        lambda x: ((x - rows.ravel()) ** 2).sum(),
        np.outer(totals, parents[0] / 9).ravel(),
        bounds=[(0, None)] * 9,
        constraints=[
            {"type": "eq", "fun": lambda x: x.reshape(3, 3).sum(axis=1) - totals},
            # the last column follows from the others
            {"type": "eq", "fun": lambda x: (x.reshape(3, 3).sum(axis=0) - parents[0])[:2]},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    np.testing.assert_allclose(found.ravel(), best.x, atol=1e-4)


def test_a_total_of_everything_alone_is_refused():
    with pytest.raises(SettingError, match="every period, or for every place"):
        add_up(replace(ESTIMATE, totals=COUNTS.sum(keepdims=True)))


@pytest.mark.parametrize("totals", [None, COUNTS.sum(axis=0, keepdims=True)])
def test_counts_without_public_periods_are_handed_down_from_the_whole_time(totals):
    """Nothing is negative, and what adds up to a longer period is the nearest to its parts that does."""
    noisy = replace(ESTIMATE, values=COUNTS + np.random.default_rng(0).normal(0, 5, COUNTS.shape), totals=totals)
    found = add_up(noisy)
    assert found.steps == (HANDED_DOWN,)
    assert (found.values >= 0).all()
    whole = np.maximum(noisy.values.sum(axis=0), 0.0) if totals is None else totals[0]
    np.testing.assert_allclose(found.values.sum(axis=0), whole)
    years, before = found.coarsen(time="year").values, noisy.coarsen(time="year").values
    np.testing.assert_allclose(years.T, norm_sub(before.T, whole), atol=1e-9)
    january, days = found.coarsen(time="month").values[0], found.values[:31]
    np.testing.assert_allclose(days.T, norm_sub(noisy.values[:31].T, january), atol=1e-9)


def test_a_place_whose_total_is_negative_has_nothing():
    values = np.where(np.arange(4) == 3, -1.0, COUNTS)
    found = add_up(replace(ESTIMATE, values=values.astype(float), totals=None))
    assert not found.values[:, 3].any()
    np.testing.assert_allclose(found.values[:, :3], COUNTS[:, :3], atol=1e-9)


def test_each_level_is_given_the_noise_of_the_level_above_it():
    tree = Hierarchy.of_time(TimeAxis.between("2018-01-01", "2019-12-31"), ("year", "month"))
    assert level_variances(tree) == [730, 730, 365, 730 / 24]


def test_regions_add_up_to_the_department_and_days_to_months_to_years():
    domain = Domain(TimeAxis.between("2018-01-01", "2019-12-31"), PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    counts = np.random.default_rng(1).poisson(2, (730, domain.shape[1]))
    plan, estimate = simulated_estimate(counts, domain=domain)
    release = Release.of(plan, estimate, refine="coherent")
    months, department = release.coarsen(time="month"), release.coarsen(place="department")
    np.testing.assert_allclose(department.refined.values[:, 0], counts.sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(months.coarsen(time="year").refined.values, release.coarsen(time="year").refined.values)
    np.testing.assert_allclose(
        months.coarsen(place="department").refined.values, department.coarsen(time="month").refined.values
    )
