"""Runs of zeros that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.forecast.past import gaps, leading_zeros

SEEN = np.ones(200, bool)


def _days(seed: int, level: float = 12.0, least: int = 1) -> np.ndarray:
    """Days with an event or more: one in 160,000 would have none, and join a run of zeros."""
    return np.maximum(np.random.default_rng(seed).poisson(level, 200), least).astype(float)


@pytest.mark.false_failure(1e-9)
def test_a_long_run_of_zeros_is_a_gap_from_its_third_bin_on(seed: int) -> None:
    days = _days(seed)
    days[100:160] = 0
    np.testing.assert_array_equal(np.flatnonzero(gaps(days, SEEN, 7)), np.arange(102, 160))


@pytest.mark.false_failure(1e-8)
def test_zeros_that_can_be_are_believed(seed: int) -> None:
    assert not gaps(_days(seed, 0.3, 0), SEEN, 7).any()
    closed = _days(seed)
    closed[::7] = 0  # a day of the week without any event
    assert not gaps(closed, SEEN, 7).any()
    single = _days(seed)
    single[100:102] = 0
    assert not gaps(single, SEEN, 7).any()


@pytest.mark.false_failure(0)
def test_what_comes_later_changes_no_verdict(seed: int) -> None:
    days = _days(seed)
    days[100:160] = 0
    whole = gaps(days, SEEN, 7)
    for n in (50, 101, 104, 130, 170):
        np.testing.assert_array_equal(gaps(days[:n], SEEN[:n], 7), whole[:n])


@pytest.mark.false_failure(0)
def test_zeros_before_the_first_event_are_a_gap_if_the_level_after_them_says_so(seed: int) -> None:
    days = _days(seed)
    days[:30] = 0
    np.testing.assert_array_equal(np.flatnonzero(leading_zeros(days, SEEN, 7)), np.arange(30))
    days[30 + 8 * 7 :] = 0  # what comes later does not say what was usual at the beginning
    np.testing.assert_array_equal(np.flatnonzero(leading_zeros(days, SEEN, 7)), np.arange(30))
    assert not leading_zeros(np.zeros(200), SEEN, 7).any()
    assert not leading_zeros(_days(seed), SEEN, 7).any()
