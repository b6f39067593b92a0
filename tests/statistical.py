"""Statistical assertions that state how often they fail by bad luck."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

FALSE_FAILURE = 1e-8
"""The false-failure probability of one assertion. Ten thousand of them fail together once in ten thousand runs."""


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
