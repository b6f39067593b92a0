"""Projected counts are the nearest ones that can be counts, whichever axis is public."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from small_worlds import simulated_estimate
from tacit.counts.norm_sub import norm_sub
from tacit.errors import NoInterval, SettingError
from tacit.postprocess import clip_and_rescale, norm_cut, project
from tacit.postprocess.clipping import cut, rows_with_totals

_, ESTIMATE = simulated_estimate(np.array([[3, 1, 0], [0, 0, 0], [5, 5, 5], [0, 1, 0]]))
VALUES = arrays(np.float64, (4, 3), elements=st.floats(-100, 100))


def with_values(values, totals=None):
    changed = replace(ESTIMATE, values=np.asarray(values, float))
    return changed if totals is None else replace(changed, totals=np.asarray(totals))


@given(VALUES)
def test_projected_counts_are_not_negative_add_up_and_stay_when_projected_again(values):
    once = project(with_values(values))
    assert (once.values >= 0).all()
    np.testing.assert_allclose(once.values.sum(axis=1, keepdims=True), ESTIMATE.totals, atol=1e-9)
    np.testing.assert_allclose(project(once).values, once.values, atol=1e-9)


@given(VALUES)
def test_the_optimality_conditions_of_the_nearest_point_hold(values):
    """y - x is the same for all positive cells, and no larger for cells at zero."""
    totals = ESTIMATE.totals.ravel()
    x = norm_sub(values, totals)
    for y, found, total in zip(values, x, totals, strict=True):
        if total:
            theta = (y - found)[found > 0]
            np.testing.assert_allclose(theta, theta[0], atol=1e-9)
            assert (y[found == 0] <= theta[0] + 1e-9).all()


@given(arrays(np.float64, 3, elements=st.floats(-10, 10)), st.integers(1, 12))
def test_no_other_counts_are_nearer(values, total):
    """Of all counts of a grid that are not negative and have the total, none is nearer."""
    found = norm_sub(values[None, :], np.array([total]))[0]
    grid = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]) * (total / 20)
    nearest = ((grid - values) ** 2).sum(axis=1).min()
    assert ((found - values) ** 2).sum() <= nearest + 1e-9


@given(VALUES)
def test_cutting_keeps_the_largest_and_never_exceeds_the_public_number(values):
    totals = ESTIMATE.totals.ravel()
    kept = cut(values, totals)
    assert (kept.sum(axis=1) <= totals + 1e-9).all()
    assert ((kept == 0) | (kept == values)).all()
    for before, after in zip(np.maximum(values, 0), kept, strict=True):
        dropped = before[(after == 0) & (before > 0)]
        if dropped.size and after.any():
            assert dropped.max() < after[after > 0].min()


@pytest.mark.parametrize("step", [project, clip_and_rescale])
@pytest.mark.parametrize(
    ("totals", "axis"), [([[4], [0], [9], [2]], 1), ([[5, 7, 3]], 0), ([[15]], None), ([[5, 7, 3]] * 4, ())]
)
def test_any_axis_may_be_public(step, totals, axis):
    values = np.random.default_rng(1).normal(1, 3, (4, 3))
    found = step(with_values(values, totals)).values
    sums = found if axis == () else found.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(sums, totals, atol=1e-9)
    assert (found >= 0).all()


@pytest.mark.parametrize("step", [project, clip_and_rescale, norm_cut])
def test_coarser_estimates_keep_their_totals(step):
    _, estimate = simulated_estimate(np.random.default_rng(0).poisson(3, (70, 4)))
    for coarse in (estimate.coarsen(time="month"), estimate.coarsen(time="year")):
        found = step(coarse)
        assert (found.values >= 0).all()
        assert (found.values.sum(axis=1, keepdims=True) <= coarse.totals + 1e-9).all()


@pytest.mark.parametrize(("step", "name"), [(project, "project"), (norm_cut, "Norm-Cut")])
def test_each_step_is_named_and_says_its_bias_instead_of_an_interval(step, name):
    found = step(ESTIMATE)
    assert found.steps[0].split(":")[0] == name
    assert found.provenance == ESTIMATE.provenance
    with pytest.raises(NoInterval, match="no honest interval"):
        found.noise.standard_errors()
    with pytest.raises(SettingError, match="public number"):
        step(replace(ESTIMATE, totals=None))


def test_rows_are_those_that_share_a_total():
    rows, totals = rows_with_totals(with_values(np.arange(12).reshape(4, 3), [[5, 7, 3]]))
    assert rows.shape == (3, 4)
    assert totals.tolist() == [5, 7, 3]
