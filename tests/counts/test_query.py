"""Many ranges at once are answered as each would be alone."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import days_and_places, simulated_estimate
from tacit.counts.query import answer, answer_ranges
from tacit.counts.tally import ExactTally
from tacit.domain import Box
from tacit.errors import SettingError
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.privacy.ledger import Spend

FIRST, STOP = np.array([0, 3, 7, 0]), np.array([1, 11, 30, 30])


def curated(**settings):
    domain = days_and_places(30, 2)
    plan = central_plan_for(domain, **{"epsilon": 1.0, "fan_outs": [5, 6]} | settings)
    mechanism = central_mechanism_of(plan)
    counts = np.random.default_rng(1).poisson(30, domain.shape)
    return mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=2))


def test_many_ranges_have_the_answers_of_single_boxes():
    of_reports = simulated_estimate(np.random.default_rng(2).poisson(4, (30, 2)))[1]
    for estimate in (curated(), curated(delta=1e-6), of_reports):
        for place in (0, 1):
            many = answer_ranges(estimate, FIRST, STOP, place=place, level=0.9)
            for number, (first, stop) in enumerate(zip(FIRST.tolist(), STOP.tolist(), strict=True)):
                one = answer(estimate, Box(range(first, stop), (place,)), level=0.9)
                found = (many.values[number], many.standard_errors[number], many.lower[number], many.upper[number])
                assert found == pytest.approx((one.value, one.standard_error, one.lower, one.upper), abs=1e-6)
            assert many.is_simulation


def test_ranges_of_a_curators_counts_are_answered_all_at_once():
    def limits(estimate):
        return estimate.noise.range_limits(estimate.values[FIRST, 0], FIRST, STOP, 0.9)

    assert limits(curated()) is not None
    assert limits(simulated_estimate(np.ones((30, 2), int))[1]) is None


def test_a_place_may_be_named():
    estimate = curated()
    named, numbered = (answer_ranges(estimate, FIRST, STOP, place=place) for place in ("place 1", 1))
    assert np.array_equal(named.values, numbered.values)


@pytest.mark.parametrize(
    ("first", "stop", "place"),
    [([5], [5], 0), ([6], [5], 0), ([0], [31], 0), ([-1], [3], 0), ([0, 1], [3], 0), ([0], [1], 2)],
)
def test_ranges_that_are_none_are_refused(first, stop, place):
    with pytest.raises(SettingError):
        answer_ranges(curated(), np.array(first), np.array(stop), place=place)
