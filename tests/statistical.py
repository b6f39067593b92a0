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
"""How often a statistic is off by bad luck. By Student's t once is enough: 6 standard errors for 40 runs noted, 10 for
12. Statistics have longer tails than that, so that a statistic must be off ``TIMES_OFF`` times, on seeds of its own:
beyond 6 standard errors lies 1/36 of any distribution at most (Chebyshev), and (1/38)**4 is 5e-7."""
TIMES_OFF = 4
_SEEDS_APART = 1_000_003
"""Between the seeds of one time and the next: statistics draw from a few seeds that follow the one they are given."""


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

    Those that are not are looked at again with other seeds: what is wrong is off every time.

    >>> assert_as_recorded(lambda seed: {"seed": seed}, {"seed": (2.0, 1.0)}, seed=5)
    >>> assert_as_recorded(lambda seed: {"seed": seed % 10**6}, {"seed": (2.0, 1.0)}, seed=9)
    Traceback (most recent call last):
    ...
    AssertionError: seed is 9, 12, 15, 18 in 1 run each, recorded as 2 with a standard deviation of 1
    """
    margin = stats.t.isf(RECORDED_FAILURE / 2, n_recorded - 1) * np.sqrt(1 / n_runs + 1 / n_recorded)
    off: dict[str, list[float]] = {name: [] for name in recorded}
    for time in range(TIMES_OFF):
        first = seed + time * _SEEDS_APART
        runs = [statistics((first + k) % 2**32) for k in range(n_runs)]
        assert runs[0].keys() == recorded.keys()
        for name in list(off):
            found, (mean, sd) = float(np.mean([run[name] for run in runs])), recorded[name]
            if abs(found - mean) <= margin * sd:
                del off[name]
            else:
                off[name].append(found)
        if not off:
            return
    name, found_each = next(iter(off.items()))
    raise AssertionError(
        f"{name} is {', '.join(f'{found:.4g}' for found in found_each)} in {n_runs} run{'s' * (n_runs > 1)} each, "
        f"recorded as {recorded[name][0]:g} with a standard deviation of {recorded[name][1]:g}"
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
