"""Every entry of the table of mechanisms keeps the whole contract, over a grid of cells and epsilon."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.audit.testing import check_one_at_a_time, check_randomizer
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.randomness import SeededRandomness

EPSILONS = (0.01, 0.1, 0.4, 1.0, 2.2, 4.39, 8.0, 10.0)
CELLS = (2, 3, 4, 5, 8, 9, 16, 17, 64, 100, 1000, 10_000)
CONTRACTS = [
    *((2, 0.01), (2, 2.2), (3, 0.4), (3, 10.0), (5, 0.01), (5, 10.0)),  # every report is listed
    *((17, 0.01), (17, 0.4), (1000, 2.2), (1000, 10.0)),  # reports are sampled
]
"""Cells and epsilons of the whole contract: few and many cells, each with a small and a large epsilon."""


@cache
def made(name: str, epsilon: float, n_cells: int) -> LocalRandomizer:
    """A frozen value that several tests look at; to find the best tree of a thousand cells takes 30 ms."""
    return MECHANISMS[name].from_epsilon(epsilon, n_cells)


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize(("n_cells", "epsilon"), CONTRACTS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_whole_contract_is_kept(name, n_cells, epsilon, seed):
    """False failure below 1e-9 each."""
    entry = MECHANISMS[name]
    check_randomizer(
        made(name, epsilon, n_cells),
        seed=seed,
        rebuild=lambda thresholds: entry.from_thresholds(thresholds, n_cells),
    )


@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(name, n_cells):
    realized = {epsilon: made(name, epsilon, n_cells).epsilon for epsilon in EPSILONS}
    assert not {asked: got for asked, got in realized.items() if not asked * (1 - 1e-9) <= got <= asked}


@given(epsilon=st.floats(0.01, 10), n_cells=st.integers(2, 10_000))
@pytest.mark.parametrize("name", MECHANISMS)
def test_so_it_does_between_the_points_of_the_grid(name, n_cells, epsilon):
    realized = MECHANISMS[name].from_epsilon(epsilon, n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_report_of_a_plan_has_the_same_length(name, n_cells, seed):
    for epsilon in EPSILONS:
        randomizer = made(name, epsilon, n_cells)
        check_one_at_a_time(randomizer, sorted({0, 1, n_cells // 2, n_cells - 1}), seed=seed)
        many = randomizer.randomize(np.arange(50) % n_cells, randomness=SeededRandomness(seed))
        assert many.shape == (50, randomizer.report_bytes)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_plan_carries_all_that_a_device_must_know(name, epsilon):
    plan = plan_for(days_and_places(2, 17), epsilon=epsilon, mechanism=name)
    assert mechanism_of(plan) == MECHANISMS[name].from_epsilon(epsilon, 17)


@pytest.mark.parametrize("name", [name for name, entry in MECHANISMS.items() if not entry.is_sampled])
def test_the_distribution_has_the_stated_odds(name):
    """No distribution can support the truth more than exp(epsilon) times as often as another cell."""
    for epsilon in EPSILONS:
        distribution = MECHANISMS[name].from_epsilon(epsilon, 17).distribution
        odds = (
            float(distribution.p / distribution.q),
            float((1 - distribution.q) / (1 - distribution.p)) if distribution.p < 1 else 1.0,
        )
        assert max(odds) <= math.exp(epsilon) * (1 + 1e-9)
