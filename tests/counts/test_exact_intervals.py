"""Limits cover what they say: exactly where the distribution can be listed, closely where it is approximated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.counts.exact_intervals import LARGEST_LISTED, _series_tail, count_limits, normal_quantile

COINS = [(0.95, 0.05), (0.75, 0.25), (0.55, 0.45), (0.5, 0.1)]


def distribution(m: int, flips: int, p: float, q: float) -> np.ndarray:
    return np.convolve(stats.binom.pmf(np.arange(m + 1), m, p), stats.binom.pmf(np.arange(flips - m + 1), flips - m, q))


def limits(heads, flips, largest, p, q, level):
    size = len(heads)
    return count_limits(np.asarray(heads), np.full(size, flips), np.full(size, largest), p=p, q=q, level=level)


@pytest.mark.parametrize(("p", "q"), COINS)
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("flips", "largest"), [(1, 1), (2, 2), (3, 3), (17, 17), (40, 40), (60, 20), (200, 100)])
def test_limits_cover_every_true_count_at_least_as_often_as_stated(p, q, level, flips, largest):
    lower, upper = limits(np.arange(flips + 1), flips, largest, p, q, level)
    for m in range(largest + 1):
        covered = distribution(m, flips, p, q)[(lower <= m) & (m <= upper)].sum()
        assert covered >= level - 1e-12


@pytest.mark.parametrize(("p", "q"), COINS)
def test_limits_are_not_needlessly_wide(p, q):
    flips = 400
    lower, upper = limits(np.arange(flips + 1), flips, flips, p, q, 0.9)
    m = 200
    covered = distribution(m, flips, p, q)[(lower <= m) & (m <= upper)].sum()
    assert covered < 0.93


def test_no_flip_leaves_no_doubt():
    assert limits([0], 0, 0, 0.75, 0.25, 0.95) == (0.0, 0.0)


@pytest.mark.parametrize(("p", "q"), COINS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_beyond_the_listed_sizes_tails_are_right_to_three_decimals(p, q, share):
    flips = LARGEST_LISTED + 76
    if flips * q * (1 - q) < 9:
        flips = 400
    m = round(share * flips)
    exact = np.cumsum(distribution(m, flips, p, q))
    c = np.arange(flips + 1)
    series = _series_tail(c, np.full(c.shape, m), np.full(c.shape, flips), p, q)
    assert np.abs(exact - series).max() < 5e-4


def test_limits_do_not_jump_where_the_method_changes():
    below, above = (limits([77], flips, flips, 0.75, 0.25, 0.95) for flips in (LARGEST_LISTED, LARGEST_LISTED + 1))
    assert abs(below[0] - above[0]) <= 1
    assert abs(below[1] - above[1]) <= 1


def test_many_flips_with_rare_heads_are_inverted_exactly():
    p, q, flips, m = 1 - 1e-4, 1e-4, 20_000, 3
    lower, upper = limits(np.arange(60), flips, flips, p, q, 0.95)
    mass = distribution(m, flips, p, q)[:60]
    assert mass[(lower <= m) & (m <= upper)].sum() >= 0.95


@settings(max_examples=50)
@given(st.integers(0, 3000), st.sampled_from(COINS), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
@pytest.mark.slow
def test_limits_grow_with_the_heads_and_widen_with_the_level(flips, coins, level):
    heads = np.unique(np.linspace(0, flips, 40).astype(int))
    lower, upper = limits(heads, flips, flips, *coins, level)
    wider = limits(heads, flips, flips, *coins, (1 + level) / 2)
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert (wider[0] <= lower).all()
    assert (wider[1] >= upper).all()
    assert (lower >= 0).all()
    assert (upper <= flips).all()


def test_the_normal_quantile_is_the_usual_one():
    assert normal_quantile(0.95) == pytest.approx(stats.norm.ppf(0.975))
