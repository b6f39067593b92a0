"""Optimized and tuned unary encoding: the least variance of their kind, at exactly the epsilon asked for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.testing import check_channel, check_reports
from tacit.errors import SettingError
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness.bernoulli import COIN

MADE = {"optimized": UnaryEncoding.optimized, "tuned": UnaryEncoding.tuned}
EPSILONS = (0.01, 0.1, 0.4, 1.0, 2.2, 4.39, 5.89, 8.0, 10.0)
SIZES = (2, 3, 17, 100, 1024, 10_000)


def mean_variance(p: float, q: float, k: int) -> float:
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / k


def with_ones(q: float, epsilon: float) -> float:
    return math.exp(epsilon) * q / (1 - q + math.exp(epsilon) * q)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_cells", SIZES)
def test_the_realized_epsilon_equals_the_one_asked_for_on_a_grid(name, epsilon, n_cells):
    realized = MADE[name](epsilon=epsilon, n_cells=n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@pytest.mark.parametrize("name", MADE)
@given(epsilon=st.floats(0.01, 10), n_cells=st.integers(2, 10_000))
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(name, epsilon, n_cells):
    realized = MADE[name](epsilon=epsilon, n_cells=n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_cells", SIZES)
def test_thresholds_one_step_further_would_exceed_epsilon(name, epsilon, n_cells):
    made = MADE[name](epsilon=epsilon, n_cells=n_cells)
    if name == "tuned":
        p, q = Fraction(made.ones + 1, COIN), made.q
    else:
        p, q = made.p, Fraction(made.zeros - 1, COIN)
    assert log_of_ratio(p * (1 - q) / (q * (1 - p))) > epsilon


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("epsilon", "n_cells"), [(0.01, 2), (1.0, 4), (10.0, 3)])
def test_channel_and_reports_agree(name, epsilon, n_cells, seed):
    made = MADE[name](epsilon=epsilon, n_cells=n_cells)
    check_channel(made)
    check_reports(made, seed=seed, false_failure=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n_cells", SIZES)
def test_no_other_encoding_has_a_smaller_mean_variance_than_the_tuned(epsilon, n_cells):
    tuned = UnaryEncoding.tuned(epsilon=epsilon, n_cells=n_cells)
    least = mean_variance(float(tuned.p), float(tuned.q), n_cells)
    for q in np.geomspace(1e-6, 1 / 2, 2_000):
        assert least <= mean_variance(with_ones(q, epsilon), q, n_cells) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_for_two_cells_the_tuned_encoding_is_the_symmetric_one(epsilon):
    tuned, symmetric = (make(epsilon=epsilon, n_cells=2) for make in (UnaryEncoding.tuned, UnaryEncoding.symmetric))
    assert abs(tuned.ones - symmetric.ones) <= 2
    assert abs(tuned.zeros - symmetric.zeros) <= 2


def test_for_very_many_cells_the_tuned_encoding_is_the_optimized_one():
    tuned, optimized = (make(epsilon=2.0, n_cells=10**12) for make in MADE.values())
    assert float(tuned.p) == pytest.approx(float(optimized.p), rel=1e-9)
    assert float(tuned.q) == pytest.approx(float(optimized.q), rel=1e-9)


def test_the_optimized_encoding_is_worse_than_rappor_for_17_cells_at_a_large_epsilon():
    symmetric, optimized = (
        mean_variance(float(made.p), float(made.q), 17)
        for made in (make(epsilon=5.89, n_cells=17) for make in (UnaryEncoding.symmetric, UnaryEncoding.optimized))
    )
    assert optimized > 1.19 * symmetric


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 33.0, 1e-25])
def test_an_epsilon_that_cannot_be_kept_or_used_is_refused(name, epsilon):
    with pytest.raises(SettingError, match="epsilon"):
        MADE[name](epsilon=epsilon, n_cells=3)
