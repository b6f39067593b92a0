"""Biased steps are named, need no raw data and carry no interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from small_worlds import simulated_estimate
from tacit.errors import NoInterval, SettingError
from tacit.postprocess import clip, clip_and_rescale
from tacit.postprocess.clipping import cut

_, ESTIMATE = simulated_estimate(np.array([[3, 1, 0], [0, 0, 0], [5, 5, 5], [0, 1, 0]]))


def with_values(values):
    return replace(ESTIMATE, values=np.asarray(values, float))


@given(arrays(np.float64, (4, 3), elements=st.floats(-100, 100)))
def test_clipping_leaves_no_negative_count_and_does_nothing_twice(values):
    once = clip(with_values(values))
    assert (once.values >= 0).all()
    np.testing.assert_array_equal(clip(once).values, once.values)


@given(arrays(np.float64, (4, 3), elements=st.floats(-100, 100)))
def test_rescaled_counts_are_not_negative_and_add_up_to_the_public_reports(values):
    refined = clip_and_rescale(with_values(values))
    assert (refined.values >= 0).all()
    np.testing.assert_allclose(refined.values.sum(axis=1, keepdims=True), ESTIMATE.totals, atol=1e-9)


def test_where_nothing_is_left_the_reports_are_spread_evenly():
    refined = clip_and_rescale(with_values([[-1, -2, -3], [0, 0, 0], [1, 1, 2], [-1, -1, 0]]))
    np.testing.assert_allclose(refined.values, [[4 / 3] * 3, [0] * 3, [3.75, 3.75, 7.5], [1 / 3] * 3])


def test_the_papers_order_of_steps_comes_out():
    """Equation 8 with max(0, .), then equation 9."""
    refined = clip_and_rescale(with_values([[6, 3, -2], [0, 0, 0], [1, 1, 1], [0, 0, 1]]))
    np.testing.assert_allclose(refined.values[0] / refined.values[0].sum(), [2 / 3, 1 / 3, 0])


@pytest.mark.parametrize(("step", "name"), [(clip, "clip"), (clip_and_rescale, "clip and rescale")])
def test_each_step_is_named_keeps_the_label_and_states_no_interval(step, name):
    refined = step(ESTIMATE)
    assert refined.steps == (name,)
    assert refined.provenance == ESTIMATE.provenance
    with pytest.raises(NoInterval, match="biased"):
        refined.noise.standard_errors()


def test_rescaling_without_a_public_number_of_reports_is_refused():
    with pytest.raises(SettingError, match="public number"):
        clip_and_rescale(replace(ESTIMATE, totals=None))


def test_counts_that_add_up_are_not_cut_for_what_floats_leave_over():
    values = np.array([[0.1 + 0.2, 0.7], [3.0000000000000004, 0.0]])
    np.testing.assert_array_equal(cut(values, np.array([1, 3])), values)
