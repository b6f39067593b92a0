"""Statistical assertions that state how often they fail by bad luck."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_share
from tacit.counts.exact_intervals import binomial_tails


def assert_frequencies(
    counts: Sequence[int] | NDArray[np.integer],
    probabilities: Sequence[float | Fraction] | NDArray[np.float64],
    *,
    false_failure: float,
) -> None:
    """Assert that outcomes were drawn with these probabilities.

    Each outcome's count is compared with its exact binomial tails at ``false_failure``, shared among all outcomes and
    both sides, so that right draws fail with at most that probability, whatever the number of outcomes.

    >>> assert_frequencies([505, 495], [0.5, 0.5], false_failure=1e-9)
    >>> assert_frequencies([700, 300], [0.5, 0.5], false_failure=1e-9)
    Traceback (most recent call last):
    ...
    AssertionError: outcome 0 came 700 times in 1000, expected 500.0: probability 8.8e-38 below 2.5e-10
    """
    check_share(false_failure=false_failure)
    counts = np.asarray(counts)
    n, share = int(counts.sum()), false_failure / (2 * len(counts))
    for outcome, (count, chance) in enumerate(zip(counts.tolist(), probabilities, strict=True)):
        if not 0 < chance < 1:
            assert count == n * chance, f"outcome {outcome} came {count} times in {n}, expected {n * chance}"
            continue
        rarest = min(binomial_tails(count, n, float(chance)))
        assert rarest >= share, (
            f"outcome {outcome} came {count} times in {n}, expected {n * float(chance):.1f}: "
            f"probability {rarest:.2g} below {share:.2g}"
        )
