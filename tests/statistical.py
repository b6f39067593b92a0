"""Statistical assertions that state how often they fail by bad luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

FALSE_FAILURE = 1e-8
"""The false-failure probability of one assertion. Ten thousand of them fail together once in ten thousand runs."""

Statistics: TypeAlias = Mapping[str, float]
"""What one run with a seed of its own comes to, by name."""
Recorded: TypeAlias = Mapping[str, tuple[float, float]]
"""The mean and the standard deviation of each statistic over ``RECORDED_RUNS`` runs, noted beside a test."""
RECORDED_RUNS = 40
RECORDED_FAILURE = 5e-7
"""How often a statistic is off by bad luck, by Student's t: by 6 standard errors for 40 runs noted, by 10 for 12."""


def record(statistics: Callable[[int], Statistics], n_runs: int = RECORDED_RUNS) -> dict[str, tuple[float, float]]:
    """Return the means and standard deviations to note beside a test; their seeds are those from 1 on.

    >>> record(lambda seed: {"seed": seed}, n_runs=3)
    {'seed': (2.0, 1.0)}
    """
    runs = [statistics(seed) for seed in range(1, n_runs + 1)]
    columns = {name: np.array([run[name] for run in runs], np.float64) for name in runs[0]}
    return {name: (float(f"{one.mean():.4g}"), float(f"{one.std(ddof=1):.2g}")) for name, one in columns.items()}


def assert_as_recorded(
    statistics: Callable[[int], Statistics],
    recorded: Recorded,
    seed: int,
    n_runs: int = 1,
    n_recorded: int = RECORDED_RUNS,
) -> None:
    """Assert that the means of fresh runs are as near the recorded ones as chance explains.

    >>> assert_as_recorded(lambda seed: {"seed": seed}, {"seed": (2.0, 1.0)}, seed=5)
    >>> assert_as_recorded(lambda seed: {"seed": seed}, {"seed": (2.0, 1.0)}, seed=9)
    Traceback (most recent call last):
    ...
    AssertionError: seed is 9 in 1 run, recorded as 2 with a standard deviation of 1
    """
    runs = [statistics((seed + k) % 2**32) for k in range(n_runs)]
    assert runs[0].keys() == recorded.keys()
    margin = stats.t.isf(RECORDED_FAILURE / 2, n_recorded - 1) * np.sqrt(1 / n_runs + 1 / n_recorded)
    for name, (mean, sd) in recorded.items():
        found = float(np.mean([run[name] for run in runs]))
        if not abs(found - mean) <= margin * sd:
            raise AssertionError(
                f"{name} is {found:.4g} in {n_runs} run{'s' * (n_runs > 1)}, recorded as {mean:g} "
                f"with a standard deviation of {sd:g}"
            )


def assert_share(
    hits: int, trials: int, *, at_least: float = 0.0, at_most: float = 1.0, false_failure: float = FALSE_FAILURE
) -> None:
    """Assert that independent trials hit with a probability between two bounds, by exact binomial tails.

    >>> assert_share(930, 1000, at_least=0.95)
    >>> assert_share(880, 1000, at_least=0.95)
    Traceback (most recent call last):
    ...
    AssertionError: 880 of 1000 hit; at 0.95 so few come with probability 3e-18, below 5e-09
    """
    for chance, tail, said in (
        (at_least, stats.binom.cdf(hits, trials, at_least), "few"),
        (at_most, stats.binom.sf(hits - 1, trials, at_most), "many"),
    ):
        least = false_failure / 2
        if tail < least:
            raise AssertionError(
                f"{hits} of {trials} hit; at {chance:g} so {said} come with probability {tail:.0g}, below {least:g}"
            )


def assert_variance(
    errors: ArrayLike, variance: ArrayLike, *, excess_kurtosis: float, false_failure: float = FALSE_FAILURE
) -> None:
    """Assert that independent errors (rows) of mean 0 have this variance, one for each column.

    The mean of n squares errs by sqrt((kurtosis - 1) / n) of the variance. It has a longer tail above than a normal
    distribution has, so that a tenth of the false failures is used: for a thousand rows and more that is on the safe
    side.
    """
    errors = np.asarray(errors, np.float64)
    ratio = (errors**2).mean(axis=0) / np.asarray(variance)
    error = np.sqrt((excess_kurtosis + 2) / len(errors))
    margin = stats.norm.isf(false_failure / 10 / (2 * np.size(ratio))) * error
    worst = float(np.max(np.abs(ratio - 1)))
    assert worst <= margin, f"the mean square is off by {worst:.2g} of the variance; chance explains {margin:.2g}"
