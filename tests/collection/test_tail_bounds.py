"""Bounds are never below the exact chance, and not far above it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tacit.collection.poisoning import log_at_least, log_at_most, log_sum_beyond, log_two_coins_beyond

CHANCES = st.floats(1e-4, 1 - 1e-4)


@given(st.integers(1, 10**6), CHANCES, st.floats(0, 1))
def test_binomial_tails_are_never_understated(flips, chance, at):
    heads = round(at * flips)
    exact = stats.binom.logsf(heads - 1, flips, chance)
    bound = log_at_least(np.array([heads]), np.array([flips]), chance)[0]
    assert bound >= min(exact, 0.0) - 1e-6 * max(1.0, abs(exact))
    exact = stats.binom.logcdf(heads, flips, chance)
    bound = log_at_most(np.array([heads]), np.array([flips]), chance)[0]
    assert bound >= min(exact, 0.0) - 1e-6 * max(1.0, abs(exact))


@pytest.mark.parametrize("flips", [20, 1000, 10**6])
@pytest.mark.parametrize("chance", [0.01, 0.25, 0.5, 0.9])
def test_rare_binomial_tails_are_overstated_by_a_few_percent(flips, chance):
    heads = int(stats.binom.isf(1e-8, flips, chance))
    if heads < flips:
        exact = stats.binom.logsf(heads - 1, flips, chance)
        assert log_at_least(np.array([heads]), np.array([flips]), chance)[0] - exact < math.log(1.1)


def test_all_heads_and_more_than_all_are_exact():
    bounds = log_at_least(np.array([3, 4, 0]), np.array([3, 3, 0]), 0.5)
    assert bounds[0] == pytest.approx(3 * math.log(0.5))
    assert bounds[1] == -math.inf
    assert bounds[2] == 0.0


@given(st.integers(1, 60), st.integers(0, 60), CHANCES, CHANCES)
def test_two_coins_are_never_understated(first, second, p, q):
    mass = np.convolve(
        stats.binom.pmf(np.arange(first + 1), first, p), stats.binom.pmf(np.arange(second + 1), second, q)
    )
    heads = np.arange(first + second + 1)
    rarer = np.minimum(np.cumsum(mass), np.cumsum(mass[::-1])[::-1])
    bounds = log_two_coins_beyond(heads, np.full(heads.shape, first), np.full(heads.shape, second), p, q)
    assert (np.exp(bounds) >= rarer * (1 - 1e-9) - 1e-13).all()


def test_two_coins_cost_little_power():
    """At one in a million, Chernoff's bound asks for less than half a standard deviation more than the exact tail."""
    first, second, p, q = 1000, 16_000, 0.75, 0.25
    mean, deviation = first * p + second * q, math.sqrt((first + second) * p * (1 - p))
    heads = np.arange(int(mean), int(mean + 8 * deviation))
    bounds = log_two_coins_beyond(heads, np.full(heads.shape, first), np.full(heads.shape, second), p, q)
    reached = (heads[np.argmax(bounds < math.log(1e-6))] - mean) / deviation
    assert 4.75 < reached < 5.3


def test_impossible_heads_are_impossible():
    one = np.array([1])
    assert log_two_coins_beyond(np.array([3]), one, one, 0.5, 0.5)[0] == -math.inf


def test_sums_are_never_understated_by_listing_all_outcomes():
    """Six terms of three values each: all 729 outcomes with their exact chances."""
    values, chances = (0, 1, 4), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    mean = sum(v * c for v, c in zip(values, chances, strict=True))
    variance = sum((v - mean) ** 2 * c for v, c in zip(values, chances, strict=True))
    sums = {}
    for outcome in product(range(3), repeat=6):
        total = sum(values[o] for o in outcome)
        sums[total] = sums.get(total, 0) + math.prod(chances[o] for o in outcome)
    for total in sums:
        distance = float(total - 6 * mean)
        beyond = sum(c for s, c in sums.items() if (s >= total if distance > 0 else s <= total))
        bound = log_sum_beyond(np.array([distance]), np.array([6]), float(variance), 4 - float(mean))[0]
        assert math.exp(bound) >= float(beyond)
