"""Counters err as predicted, in running totals and in what is computed from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from predicted_errors import assert_errors_as_predicted
from tacit.mechanisms.continual.engines import NodeDraws, engine_of
from tacit.mechanisms.continual.picker import pick
from tacit.mechanisms.planner import CURATOR, Question, Situation, compare
from tacit.mechanisms.planner.central import counter_contenders as contenders
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit

N_BINS, N_TRIALS = 60, 4000
SITUATION = Situation(
    n_bins=N_BINS, n_places=N_TRIALS, n_events=1e6, trust=CURATOR, epsilon=0.8, delta=1e-5, unit=Unit.user_day(most=2)
)
COUNTERS = contenders(SITUATION)


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize("counter", COUNTERS, ids=str)
def test_simulated_counters_err_as_predicted(counter, seed):
    """False failures: below 1e-8 a counter."""
    key = np.random.default_rng(seed).bytes(32)
    engine = engine_of(counter.variances, NodeDraws(key, N_TRIALS))
    counts = np.random.default_rng(seed + 1).integers(0, 50, (N_BINS, N_TRIALS))
    _, published = engine.advance(engine.start(), 0, counts)
    totals = published / counter.variances.grid
    errors = np.diff(totals, axis=0, prepend=np.zeros((1, N_TRIALS))) - counts
    assert_errors_as_predicted(counter, SITUATION, errors)


def test_a_counter_of_each_kind_is_compared_where_running_totals_are_asked():
    totals = {str(one.contender) for one in compare(SITUATION, Question.parse("totals")).predictions}
    assert {str(counter) for counter in COUNTERS} <= totals
    assert sum(counter.noise == "gaussian" for counter in COUNTERS) >= 5
    points = compare(SITUATION, Question.parse("points")).predictions
    assert not any(one.contender.is_continual for one in points)


def test_a_bound_on_cells_is_seen_in_gaussian_counters_alone():
    loose = replace(SITUATION, unit=Unit.person(most=20, window="month"))
    tight = replace(SITUATION, unit=Unit.person(most=20, most_per_cell=2, window="month"))
    (totals,) = Question.parse("totals")
    errors = [{str(one): one.rmse(totals, N_BINS) for one in contenders(one)} for one in (loose, tight)]
    for name in errors[0].keys() & errors[1].keys():
        assert (errors[1][name] < 0.95 * errors[0][name]) == ("gaussian" in name), name
    noise_model = pick(Cost.zcdp(0.5), N_BINS, most=20, most_per_cell=2)
    assert noise_model.most_per_cell == 2
    assert pick(Cost.pure(0.5), N_BINS, most=20, most_per_cell=2) == pick(Cost.pure(0.5), N_BINS, most=20)


def test_the_figures_of_known_counters_come_back():
    """Mean squared errors of 2,048 running totals, worked out on their own."""
    days = Situation(n_bins=2048, n_events=1e6, trust=CURATOR, epsilon=0.01)
    (totals,) = Question.parse("totals")
    found = {str(one): one.rmse(totals, 2048) ** 2 * 0.01**2 for one in contenders(days)}
    assert found["counter (k-ary tree) laplace 2^11"] == pytest.approx(1584, rel=0.01)
    assert found["counter (smooth tree) laplace"] == pytest.approx(290, rel=0.02)
    assert found["counter (fused tree, noise drawn ahead) laplace"] == pytest.approx(152, rel=0.02)
    assert found["endless counter (epochs of refined trees) laplace"] <= 500
