"""Limits of counts seen through two distributions cover what they say, listed or approximated."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tacit.counts.exact_intervals import (
    LARGEST_LISTED,
    NumberDistribution,
    TwoDistributions,
    _by_listing,
    _by_window,
    count_limits,
)
from tacit.counts.oracle_distributions import SubsetDistribution
from tacit.mechanisms.local.subset import SubsetSelection

COIN = TwoDistributions(NumberDistribution(0, (0.25, 0.75)), NumberDistribution(0, (0.75, 0.25)))
# the least number is not 0, and not the same
SHIFTED = TwoDistributions(NumberDistribution(2, (0.1, 0.2, 0.7)), NumberDistribution(1, (0.3, 0.4, 0.3)))


def subset_distributions(n_cells, size, epsilon, n_summed):
    return SubsetSelection.of_size(size, epsilon=epsilon, n_cells=n_cells).distribution.sum_distributions(n_summed)


CASES = [
    COIN,
    SHIFTED,
    subset_distributions(5, 2, 1.0, 3),
    subset_distributions(17, 5, 1.0, 4),
    subset_distributions(17, 2, 2.2, 9),
]


def mass_of(distributions, m, n):
    """P(C = c) for c from n times the least number up, by plain convolution."""
    mass = np.ones(1)
    for distribution, times in ((distributions.inside, m), (distributions.outside, n - m)):
        padded = np.concatenate((np.zeros(distribution.first - distributions.first), distribution.mass))
        for _ in range(times):
            mass = np.convolve(mass, padded)
    return np.concatenate((mass, np.zeros(n * distributions.width + 1)))[: n * distributions.width + 1]


@pytest.mark.parametrize("distributions", CASES)
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 30])
def test_limits_cover_every_true_count_at_least_as_often_as_stated(distributions, level, n):
    sums = n * distributions.first + np.arange(n * distributions.width + 1)
    lower, upper = distributions.limits(sums, np.full(sums.shape, n), level=level)
    assert (lower >= 0).all()
    assert (upper <= n).all()
    for m in range(n + 1):
        assert mass_of(distributions, m, n)[(lower <= m) & (m <= upper)].sum() >= level - 1e-12


@pytest.mark.parametrize("distributions", CASES)
def test_limits_are_not_needlessly_wide(distributions):
    n, m = 200, 80
    sums = n * distributions.first + np.arange(n * distributions.width + 1)
    lower, upper = distributions.limits(sums, np.full(sums.shape, n), level=0.9)
    assert mass_of(distributions, m, n)[(lower <= m) & (m <= upper)].sum() < 0.94


@pytest.mark.parametrize("distributions", CASES)
@pytest.mark.parametrize(("n", "m"), [(300, 0), (300, 40), (1000, 900)])
def test_the_series_covers_as_often_as_stated_to_three_decimals(distributions, n, m):
    assert n > LARGEST_LISTED
    sums = n * distributions.first + np.arange(n * distributions.width + 1)
    lower, upper = distributions.limits(sums, np.full(sums.shape, n), level=0.95)
    assert mass_of(distributions, m, n)[(lower <= m) & (m <= upper)].sum() >= 0.95 - 1e-3


@pytest.mark.parametrize("distributions", CASES)
@pytest.mark.parametrize("n", [3, 40, 200])
def test_a_window_of_the_distribution_gives_the_limits_of_the_whole(distributions, n):
    sums = n * distributions.first + np.arange(n * distributions.width + 1)
    for ours, theirs in zip(
        _by_listing(distributions, n, sums, 0.025), _by_window(distributions, n, sums, 0.025), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_two_coins_have_the_limits_of_two_coins():
    for n in (1, 7, 100, 400):
        heads, flips = np.arange(n + 1), np.full(n + 1, n)
        ours = COIN.limits(heads, flips, level=0.9)
        theirs = count_limits(heads, flips, flips, p=0.75, q=0.25, level=0.9)
        np.testing.assert_array_equal(ours, theirs)


def test_many_reports_of_little_variance_are_inverted_exactly():
    distributions = subset_distributions(17, 1, 9.0, 3)
    n, m = 600, 5
    assert n * distributions.outside.cumulants[1] < 9
    sums = np.arange(60)
    lower, upper = distributions.limits(sums, np.full(sums.shape, n), level=0.95)
    assert mass_of(distributions, m, n)[:60][(lower <= m) & (m <= upper)].sum() >= 0.95


def test_wide_distributions_need_no_large_table():
    """A box of half of 2048 cells, of which each report names 551."""
    distributions = SubsetSelection.from_epsilon(epsilon=1.0, n_cells=2048).distribution.sum_distributions(1024)
    mean_in, mean_out = distributions.inside.cumulants[0], distributions.outside.cumulants[0]
    sums = np.rint([50 * mean_in + 50 * mean_out, 100 * mean_out]).astype(int)
    lower, upper = distributions.limits(sums, np.array([100, 100]), level=0.95)
    assert lower[0] < 50 < upper[0]
    assert lower[1] == 0


@pytest.mark.parametrize("n_cells", [2, 3, 5, 6])
def test_the_distributions_of_subsets_are_what_listing_all_subsets_gives(n_cells):
    for size in range(1, n_cells):
        distribution = SubsetDistribution(n_cells, size, (1 << 64) * 7 // 8)
        for n_summed in range(1, n_cells + 1):
            distributions = distribution.sum_distributions(n_summed)
            for truth, found in ((0, distributions.inside), (n_cells - 1, distributions.outside)):
                expected = [Fraction(0)] * (size + 1)
                for named in combinations(range(n_cells), size):
                    is_true = truth in named
                    chance = (distribution.p if is_true else 1 - distribution.p) / math.comb(
                        n_cells - 1, size - 1 if is_true else size
                    )
                    expected[sum(cell < n_summed for cell in named)] += chance
                mass = np.zeros(size + 1)
                mass[found.first : found.first + len(found.mass)] = found.mass
                np.testing.assert_allclose(mass, [float(e) for e in expected], atol=1e-15)
