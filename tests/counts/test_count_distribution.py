"""The distribution of a count that has not happened yet."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.counts.count_distribution import CountDistribution
from tacit.errors import SettingError

COUNTS = np.arange(2000.0)


def _probabilities(distribution: CountDistribution) -> np.ndarray:
    return distribution.up_to(COUNTS) - distribution.below(COUNTS)


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.5), (4.0, 9.0), (100.0, 700.0)])
def test_means_and_variances_are_those_asked_for(mean: float, variance: float) -> None:
    distribution = CountDistribution(np.array(mean), np.array(variance))
    p = _probabilities(distribution)
    assert p.sum() == pytest.approx(1)
    assert p @ COUNTS == pytest.approx(mean)
    assert p @ np.square(COUNTS) - mean**2 == pytest.approx(variance)


def test_a_variance_below_the_mean_is_raised_to_it() -> None:
    distribution = CountDistribution(np.array(5.0), np.array(1.0))
    np.testing.assert_allclose(_probabilities(distribution), stats.poisson(5.0).pmf(COUNTS), atol=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("mean", "variance"), [(0.2, 0.25), (3.0, 3.0), (40.0, 90.0)])
def test_a_randomized_interval_covers_counts_of_the_law_with_just_its_level(
    mean: float, variance: float, level: float
) -> None:
    distribution = CountDistribution(np.array(mean), np.array(variance))
    assert _probabilities(distribution) @ distribution.coverage(COUNTS, level) == pytest.approx(level, abs=1e-9)


def test_limits_hold_the_count_with_at_least_the_level() -> None:
    distribution = CountDistribution(np.array([0.5, 7.0]), np.array([0.6, 20.0]))
    low, high = distribution.intervals(0.9)
    assert (distribution.up_to(high) - distribution.below(low) >= 0.9).all()
    assert (distribution.quantiles(0.5) <= high).all()


def test_a_mean_of_nothing_is_a_count_of_nothing() -> None:
    distribution = CountDistribution(np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(distribution.quantiles(0.99), 0.0)


def test_levels_are_between_0_and_1() -> None:
    with pytest.raises(SettingError, match="strictly between 0 and 1"):
        CountDistribution(np.ones(1), np.ones(1)).intervals(1.0)


def test_quantiles_are_those_of_the_negative_binomial_distribution() -> None:
    means = np.array([[1e-9, 0.05, 0.7], [3.0, 41.0, 20_000.0]])
    distribution = CountDistribution(means, means + np.array([[0.0, 0.01, 3.0], [0.0, 900.0, 1e7]]))
    sizes = means**2 / np.maximum(distribution.variances - means, 1e-9 * means)
    other = stats.nbinom(sizes, sizes / (sizes + means))
    for share in (0.001, 0.025, 0.1, 0.5, 0.9, 0.975, 0.999):
        np.testing.assert_array_equal(distribution.quantiles(share), other.ppf(share))
    np.testing.assert_allclose(distribution.up_to(means + 2), other.cdf(means + 2), rtol=1e-9)
