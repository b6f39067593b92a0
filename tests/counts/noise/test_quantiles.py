"""Limits of whole numbers: exact where their distribution can be listed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.counts.exact_intervals import normal_quantile
from tacit.counts.noise.quantiles import limits_of, within

LEVELS = [0.5, 0.8, 0.95]


def cover(lower: float, upper: float, chances: dict[int, float]) -> float:
    """The chance that a number spread over its unit is within."""
    return sum(chance * max(0.0, min(upper, n + 0.5) - max(lower, n - 0.5)) for n, chance in chances.items())


def poisson(mean: float) -> dict[int, float]:
    return {n: math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(120)}


def limits(mean: float, variance: float, third: float, level: float, fourth: float = 0.0) -> tuple[float, float]:
    lower, upper = limits_of(np.array(mean), np.array(variance), np.array(third), np.array(fourth), level)
    return float(lower), float(upper)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mean", [0.02, 0.3, 1.0, 1.4])
def test_a_small_poisson_number_is_covered_exactly(mean: float, level: float) -> None:
    assert cover(*limits(mean, mean, mean, level), poisson(mean)) == pytest.approx(level, abs=2e-4)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mean", [2.0, 5.0, 30.0])
def test_a_larger_poisson_number_is_covered_to_two_points(mean: float, level: float) -> None:
    assert cover(*limits(mean, mean, mean, level, mean), poisson(mean)) == pytest.approx(level, abs=0.02)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_count_that_errs_by_one_at_most_is_covered_exactly_and_not_by_the_normal_distribution(level: float) -> None:
    """7 plus and minus one with a chance of about 7 % each, as at a large epsilon."""
    one = poisson(0.08)
    chances: dict[int, float] = {}
    for more, a in one.items():
        for fewer, b in one.items():
            chances[7 + more - fewer] = chances.get(7 + more - fewer, 0.0) + a * b
    assert cover(*limits(7.0, 0.16, 0.0, level), chances) == pytest.approx(level, abs=1e-6)
    reach = normal_quantile(level) * math.sqrt(0.16 + 1 / 12)
    assert abs(cover(7 - reach, 7 + reach, chances) - level) > 0.015


@pytest.mark.parametrize("level", LEVELS)
def test_one_of_two_whole_numbers_is_covered_exactly(level: float) -> None:
    assert cover(*limits(3.45, 0.45 * 0.55, 0.0, level), {3: 0.55, 4: 0.45}) == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_a_distribution_as_skew_as_the_exponential_has_its_shortest_interval(level: float) -> None:
    """It begins at 0: small places, whose shares are about so uncertain, are not ruled out for being small."""
    mean = 1000.0
    lower, upper = limits(mean, mean**2, 2 * mean**3, level)
    assert lower / mean == pytest.approx(0.0, abs=0.01)
    assert upper / mean == pytest.approx(-math.log(1 - level), abs=0.05)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [2.5, 4.0, 25.0])
def test_shortest_intervals_of_gamma_distributions_hold_the_level_and_their_ends_are_equally_likely(
    level: float, shape: float
) -> None:
    lower, upper = limits(1000 * shape, 1e6 * shape, 2e9 * shape, level)
    lower, upper = lower / 1000, upper / 1000
    x = np.linspace(0, 12 * shape + 20, 400_001)
    density = x ** (shape - 1) * np.exp(-x) / math.gamma(shape)
    inside = (x >= lower) & (x <= upper)
    assert density[inside].sum() * (x[1] - x[0]) == pytest.approx(level, abs=0.015)
    ends = np.interp([lower, upper], x, density)
    assert ends[0] == pytest.approx(ends[1], abs=0.2 * density.max())


@pytest.mark.parametrize("level", LEVELS)
def test_a_distribution_skew_to_the_left_has_the_mirrored_interval(level: float) -> None:
    lower, upper = limits(0.0, 1e6, 1e9, level)
    assert limits(0.0, 1e6, -1e9, level) == pytest.approx((-upper, -lower))


def test_without_skewness_limits_are_the_normal_ones() -> None:
    lower, upper = limits(500.0, 400.0, 0.0, 0.95)
    assert (lower, upper) == pytest.approx((500 - 1.95996 * math.sqrt(400 + 1 / 12), 500 + 1.95996 * 20.0021), rel=1e-4)


def test_what_is_known_has_no_reach() -> None:
    assert limits(3.0, 0.0, 0.0, 0.95) == (3.0, 3.0)


def test_estimates_far_below_zero_have_finite_limits() -> None:
    lower, upper = limits_of(np.array([-30.0, -0.4, -3.0]), np.full(3, 0.7), np.zeros(3), np.zeros(3), 0.9)
    assert np.isfinite(lower).all()
    assert (lower < upper).all()


def test_intervals_hold_every_whole_number_of_which_a_part_is_covered() -> None:
    lower, upper = within(np.array([-0.7, 0.6, 1.2]), np.array([0.7, 2.4, 9.0]), 5.0)
    np.testing.assert_array_equal(lower, [0.0, 0.6, 1.0])
    np.testing.assert_array_equal(upper, [1.0, 2.4, 5.0])


def test_many_are_computed_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    centre, variances = rng.normal(1, 2, (70, 30)), rng.gamma(1.0, 1.0, (70, 30))
    third, fourth = variances * rng.normal(0, 1, (70, 30)), variances
    lower, upper = limits_of(centre, variances, third, fourth, 0.9)
    for cell in ((0, 0), (3, 4), (69, 29), (20, 7)):
        alone = limits_of(centre[cell], variances[cell], third[cell], fourth[cell], 0.9)
        np.testing.assert_allclose(alone, (lower[cell], upper[cell]))
