"""What a curator's noise is predicted to err by is what the release states, and what it errs by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from predicted_errors import assert_errors_as_predicted
from small_worlds import days_and_places
from tacit.counts.tally import ExactTally
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.planner import CURATOR, GAUSSIAN, Contender, Question, Situation
from tacit.mechanisms.planner.central import designed_contenders, flat_contenders, tree_contenders
from tacit.plan import Plan
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit

N_BINS, N_TRIALS = 70, 4000
SITUATION = Situation(
    n_bins=N_BINS, n_places=N_TRIALS, n_events=1e6, trust=CURATOR, epsilon=0.9, delta=1e-5, unit=Unit.user_day(most=2)
)
PERSONS = replace(SITUATION, unit=Unit.person(most=20, most_per_cell=2, window="month"))
CONTENDERS = [
    *flat_contenders(SITUATION),
    *tree_contenders(SITUATION, [2, 8, 24]),
    *designed_contenders(SITUATION),
]


def planned(contender: Contender, situation: Situation) -> Plan:
    """The plan that agrees on a contender."""
    return central_plan_for(
        days_and_places(situation.n_bins, situation.n_places),
        epsilon=situation.epsilon,
        delta=situation.delta if contender.noise == GAUSSIAN else None,
        mechanism=contender.mechanism,
        fan_outs=contender.fan_outs if contender.fan_outs and not contender.is_designed else None,
        **situation.unit.settings,
    )


@pytest.mark.parametrize(
    ("contender", "situation"),
    [
        *((one, SITUATION) for one in CONTENDERS),
        *((one, PERSONS) for one in (*flat_contenders(PERSONS), *tree_contenders(PERSONS, [8]))),
        *((one, PERSONS) for one in designed_contenders(PERSONS)),
    ],
    ids=str,
)
def test_predicted_variances_are_those_that_a_release_states(contender, situation):
    plan = planned(contender, replace(situation, n_places=2))
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.zeros(plan.domain.shape, np.int64))
    estimate = mechanism.measure(counts, plan, spend=Spend.simulation(mechanism.cost, seed=1))
    rng = np.random.default_rng(3)
    for _ in range(20):
        first, stop = np.sort(rng.choice(N_BINS + 1, 2, replace=False))
        weights = np.zeros(plan.domain.shape)
        weights[first:stop, 1] = 1
        (predicted,) = contender.variances.range_variances([first], [stop])
        assert predicted == pytest.approx(estimate.noise.variance(weights), rel=1e-6)


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize("contender", CONTENDERS, ids=str)
def test_simulated_releases_err_as_predicted(contender, seed):
    """False failures: below 1e-8 a contender."""
    plan = planned(contender, SITUATION)
    mechanism = central_mechanism_of(plan)
    counts = np.random.default_rng(seed).integers(0, 50, plan.domain.shape)
    estimate = mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    assert_errors_as_predicted(contender, SITUATION, estimate.values - counts)


@pytest.mark.false_failure(1e-8)
def test_a_prediction_for_another_unit_is_caught(seed):
    contender = designed_contenders(SITUATION)[0]
    plan = planned(contender, SITUATION)
    mechanism = central_mechanism_of(plan)
    counts = np.zeros(plan.domain.shape, np.int64)
    estimate = mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    with pytest.raises(AssertionError, match="tree laplace"):
        assert_errors_as_predicted(
            designed_contenders(replace(SITUATION, unit=Unit()))[0], SITUATION, estimate.values - counts
        )


# RMSE x epsilon over random ranges that must be reached, at an epsilon where whole-number noise is nearly continuous
REACHED = {512: 10.9, 2048: 14.4, 65_536: 25.0}


@pytest.mark.parametrize("n_bins", REACHED)
def test_the_designed_tree_reaches_its_figures(n_bins):
    situation = Situation(n_bins=n_bins, n_events=1e6, trust=CURATOR, epsilon=0.01)
    (designed,) = designed_contenders(situation)
    assert designed.rmse(Question("ranges"), n_bins) * 0.01 <= REACHED[n_bins]


def test_where_flat_counts_are_best_nothing_else_is_designed():
    assert designed_contenders(Situation(n_bins=8, n_events=1e3, trust=CURATOR, epsilon=1.0)) == []
