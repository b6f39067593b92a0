"""Bounds on epsilon are wrong no more often than they say, exactly; and not much less often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.audit.bounds import epsilon_of_events, epsilon_of_guesses, lower_limit, upper_limit
from tacit.errors import SettingError


@pytest.mark.parametrize("n", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.93, 0.9999])
def test_a_limit_is_beyond_the_truth_with_at_most_its_error(n, p):
    hits = np.arange(n + 1)
    mass = stats.binom.pmf(hits, n, p)
    for error in (0.2, 0.01, 1e-6):
        assert mass[lower_limit(hits, n, error=error) > p].sum() <= error
        assert mass[upper_limit(hits, n, error=error) < p].sum() <= error


@pytest.mark.parametrize("n", [1, 3, 25, 1000, 20_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
def test_right_mechanisms_are_refuted_with_at_most_the_stated_error(n, epsilon):
    """Right guesses of an exact mechanism are binomial, and all their numbers can be listed."""
    right = np.arange(n + 1)
    mass = stats.binom.pmf(right, n, 1 / (1 + math.exp(-epsilon)))
    for error in (0.3, 0.05, 0.01):
        refuted = mass[epsilon_of_guesses(right, n, error=error) > epsilon].sum()
        assert refuted <= error
        if n == 20_000:
            assert refuted >= 0.7 * error  # a bound that never refutes would be no use


def test_events_bound_epsilon_with_at_most_the_stated_error():
    n, epsilon, p = 60, 1.0, 0.1
    hits = np.arange(n + 1)
    under_first, under_second = stats.binom.pmf(hits, n, p * math.e), stats.binom.pmf(hits, n, p)
    for error in (0.2, 0.05):
        refuted = sum(
            under_first[a] * under_second[b]
            for a in hits
            for b in hits
            if epsilon_of_events(int(a), n, int(b), n, error=error) > epsilon
        )
        assert refuted <= error


def test_what_delta_explains_is_not_held_against_epsilon():
    without = epsilon_of_events(500, 10_000, 0, 10_000, error=0.01)
    assert without > 4
    assert epsilon_of_events(500, 10_000, 0, 10_000, error=0.01, delta=0.06) == 0.0
    assert 0 < epsilon_of_events(500, 10_000, 0, 10_000, error=0.01, delta=0.04) < without


def test_no_guesses_bound_nothing_and_worse_than_a_coin_is_zero():
    assert epsilon_of_guesses([0, 0, 10], [0, 5, 20], error=0.01).tolist() == [0.0, 0.0, 0.0]


def test_more_guesses_come_closer():
    found = [float(epsilon_of_guesses(9 * n, 10 * n, error=0.01)) for n in (10, 100, 1_000, 100_000)]
    assert found == sorted(found)
    assert 0.99 * math.log(9) < found[-1] < math.log(9)


def test_an_error_rate_must_be_a_share():
    with pytest.raises(SettingError, match="error must be strictly between 0 and 1"):
        lower_limit(1, 2, error=0.0)
