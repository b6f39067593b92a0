"""Runs of zeros that cannot be."""

from __future__ import annotations

import numpy as np

from tacit.forecast.past import gaps, leading_zeros

SEEN = np.ones(200, bool)


def _days(level: float = 12.0) -> np.ndarray:
    return np.random.default_rng(1).poisson(level, 200).astype(float)


def test_a_long_run_of_zeros_is_a_gap_from_its_third_bin_on() -> None:
    days = _days()
    days[100:160] = 0
    np.testing.assert_array_equal(np.flatnonzero(gaps(days, SEEN, 7)), np.arange(102, 160))


def test_zeros_that_can_be_are_believed() -> None:
    assert not gaps(_days(0.3), SEEN, 7).any()
    closed = _days()
    closed[::7] = 0  # a day of the week without any event
    assert not gaps(closed, SEEN, 7).any()
    single = _days()
    single[100:102] = 0
    assert not gaps(single, SEEN, 7).any()


def test_what_comes_later_changes_no_verdict() -> None:
    days = _days()
    days[100:160] = 0
    whole = gaps(days, SEEN, 7)
    for n in (50, 101, 104, 130, 170):
        np.testing.assert_array_equal(gaps(days[:n], SEEN[:n], 7), whole[:n])


def test_zeros_before_the_first_event_are_a_gap_if_the_level_after_them_says_so() -> None:
    days = _days()
    days[:30] = 0
    np.testing.assert_array_equal(np.flatnonzero(leading_zeros(days, SEEN, 7)), np.arange(30))
    assert not leading_zeros(np.zeros(200), SEEN, 7).any()
    assert not leading_zeros(_days(), SEEN, 7).any()
