"""What is shown of smoothed counts: none below zero, sums kept, values inside their own intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from small_worlds import simulated_estimate
from tacit.counts.series import Observations
from tacit.domain import TimeAxis, sum_groups
from tacit.postprocess import smooth
from tacit.postprocess.smoothing import shown_alone, shown_in_periods

FloatArray = NDArray[np.float64]


def of_totals(totals: FloatArray, counts: FloatArray) -> Observations:
    n_places = counts.shape[1]
    return Observations(totals, counts, np.ones((1, n_places)), np.zeros((1, n_places)), True, True)


@given(seed=st.integers(0, 10_000), n_places=st.integers(2, 9), size=st.floats(0.1, 30))
def test_shown_counts_can_be_counts_and_keep_every_total(seed: int, n_places: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    time = TimeAxis("2020-11-20", "day", "UTC", 80)
    totals = rng.poisson(size, 80).astype(np.float64)
    values = rng.normal(0, size, (80, n_places))
    values += ((totals - values.sum(axis=1)) / n_places)[:, None]
    shown = shown_in_periods(values, of_totals(totals, values), time)
    assert shown.min() >= 0
    np.testing.assert_allclose(shown.sum(axis=1), totals, atol=1e-6 * (1 + size))


@pytest.mark.false_failure(1e-9)
def test_a_year_of_small_rests_does_not_add_up_to_events_that_nobody_found(seed: int) -> None:
    """The third place has no event over all time; each day for itself 140 +- 5 a year are found, over 60 seeds."""
    rng = np.random.default_rng(seed)
    time = TimeAxis("2019-01-01", "day", "UTC", 730)
    values = np.stack([rng.normal(10, 1, 730), rng.normal(5, 1, 730), rng.normal(0, 1, 730)], axis=1)
    values[:, 2] -= values[:, 2].mean()
    totals = np.full(730, 15.0)
    values[:, 0] += totals - values.sum(axis=1)
    known = of_totals(totals, values)
    years = sum_groups(values, np.arange(730) // 365, n_groups=2, axis=0)
    shown = sum_groups(shown_in_periods(values, known, time), np.arange(730) // 365, n_groups=2, axis=0)
    assert shown[:, 2].sum() < 1  # as over all time
    np.testing.assert_allclose(shown, years, atol=np.abs(years[:, 2]).max() + 1)
    alone = sum_groups(shown_alone(values, known), np.arange(730) // 365, n_groups=2, axis=0)
    assert alone[:, 2].min() > 100  # each day for itself: a hundred events out of nothing


def test_rates_alone_are_shown_as_counts_that_can_be() -> None:
    values = np.array([[-2.0, 3.5], [0.0, -0.1]])
    known = Observations(np.ones(2), values, np.ones((1, 2)), np.zeros((1, 2)), False, False)
    np.testing.assert_array_equal(shown_alone(values, known), [[0.0, 3.5], [0.0, 0.0]])


@pytest.mark.parametrize("epsilon", [2.0, 5.0])
@pytest.mark.slow
def test_what_is_shown_lies_inside_its_own_interval(epsilon: float) -> None:
    rng = np.random.default_rng(9)
    rates = np.array([30.0, 12.0, 5.0, 2.0, 0.5, 0.1, 0.0, 0.0])
    counts = rng.poisson(np.tile(rates, (500, 1)))
    counts[:250, 2] = 0
    smoothed = smooth(simulated_estimate(counts, epsilon=epsilon, seed=9)[1])
    for period in ("month", "year"):
        sums = smoothed.coarsen(time=period)
        lower, upper = sums.noise.intervals(sums.values, 0.95)
        assert ((lower - 1 <= sums.values) & (sums.values <= upper + 1)).all()
