"""Days that no ordinary day explains are told by their own reports."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import simulated_estimate
from tacit.postprocess import filtered, smooth

STORM = 150


def stormy() -> np.ndarray:
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.tile([30.0, 12.0, 8.0, 5.0, 3.0], (300, 1)))
    counts[STORM, 3] = 60
    return counts


@pytest.mark.parametrize("refine", [smooth, filtered])
def test_a_storm_is_shown_where_its_reports_tell(refine: type) -> None:
    counts = stormy()
    refined = refine(simulated_estimate(counts, epsilon=4.0, seed=1)[1])
    assert refined.values[STORM, 3] == pytest.approx(60, rel=0.2)
    lower, upper = refined.noise.intervals(refined.values, 0.95)
    assert lower[STORM, 3] <= 60 <= upper[STORM, 3]


def test_a_storm_moves_neither_the_days_around_it_nor_the_share() -> None:
    counts = stormy()
    calm = counts.copy()
    calm[STORM, 3] = 5
    with_storm, without = (smooth(simulated_estimate(one, epsilon=4.0, seed=1)[1]).values for one in (counts, calm))
    around = np.r_[STORM - 20 : STORM, STORM + 1 : STORM + 21]
    assert abs(with_storm[around, 3].mean() - without[around, 3].mean()) < 0.6


def test_without_storms_hardly_a_day_is_taken_for_one() -> None:
    rng = np.random.default_rng(4)
    counts = rng.poisson(np.tile([30.0, 12.0, 8.0, 5.0, 3.0], (300, 1)))
    model = smooth(simulated_estimate(counts, epsilon=1.5, seed=1)[1]).noise.model
    usual = np.median(model.process_variance, axis=0)
    assert np.count_nonzero(model.process_variance > 20 * usual) <= 1
