"""The paper's error rate, defined for every period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.pages.laboratory import densities, error_rates


@given(arrays(np.int64, (5, 4), elements=st.integers(0, 50)))
def test_the_truth_has_no_error(counts):
    np.testing.assert_allclose(error_rates(ExactTally(counts), counts.astype(float)), 0, atol=1e-15)


@given(arrays(np.int64, (5, 4), elements=st.integers(0, 50)), arrays(np.float64, (5, 4), elements=st.floats(0, 50)))
def test_errors_lie_between_none_and_two_over_the_number_of_places(counts, estimated):
    errors = error_rates(ExactTally(counts), estimated)
    assert ((errors >= 0) & (errors <= 2 / 4 + 1e-12)).all()


def test_a_period_without_events_or_estimates_is_defined():
    truth = ExactTally(np.array([[0, 0], [2, 2]]))
    assert error_rates(truth, np.array([[1.0, 3.0], [0.0, 0.0]])).tolist() == [0.5, 0.5]
    assert not np.isnan(densities(np.zeros((2, 2)))).any()


def test_shapes_must_agree():
    with pytest.raises(SettingError, match="shape"):
        error_rates(ExactTally(np.zeros((2, 2), int)), np.zeros((3, 2)))
