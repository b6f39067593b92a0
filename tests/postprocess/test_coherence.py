"""Days add up to months and years, places to the public numbers, and nothing is negative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from small_worlds import simulated_estimate
from tacit.errors import NoInterval, SettingError
from tacit.postprocess import project
from tacit.postprocess.coherence import COHERENT, add_up, shared_out
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


def test_periods_without_public_numbers_are_refused():
    with pytest.raises(SettingError, match="every period"):
        add_up(replace(ESTIMATE, totals=COUNTS.sum(axis=0, keepdims=True)))
