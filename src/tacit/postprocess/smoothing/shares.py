"""Where shares are about, before anything is known of when: pooled over all time, small places told by one another."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.postprocess.smoothing.measured import Measured

FloatArray = NDArray[np.float64]

_SMALL: Final = 2.5
_LEAST_DEVIATION: Final = 0.25
_LEAST_SHARE: Final = 0.05
_ROUNDS: Final = 3


def long_run_shares(measured: Measured, bursts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For every place its share in the long run, and the prior mean and variance of it.

    Days in proportion to what they tell; those out of the ordinary count less. Places of ordinary size (up to a few
    times the median) have one normal prior, whose mean and variance are estimated from them (empirical Bayes); larger
    ones stand for themselves.
    """
    n_places = measured.counts.shape[1]
    weights = measured.exposures * np.square(1 - bursts)
    total = float((weights * measured.exposures).sum())
    guess = np.full(n_places, 1 / n_places) if measured.is_shared else np.ones(n_places)
    if not total > 0:
        return guess, guess, np.square(guess)
    raw = (weights[:, None] * measured.counts).sum(axis=0) / total
    share = guess if measured.is_shared else np.maximum(raw, _LEAST_SHARE)
    for _ in range(_ROUNDS):
        spread = measured.errors(np.broadcast_to(share, measured.counts.shape)) + measured.exposures[:, None] * share
        errors = np.square(weights) @ spread / total**2
        means, variances = _prior(raw, errors)
        share = (raw * variances + means * errors) / (variances + errors)
        share = np.maximum(share, _LEAST_SHARE * max(float(np.median(share)), 1e-6))
    return share, means, variances


def _prior(raw: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    middle = max(float(np.median(raw)), 1e-9)
    is_small = raw <= _SMALL * middle + 2 * np.sqrt(errors)
    if np.count_nonzero(is_small) < 3:
        return raw, np.square(np.maximum(raw, middle))
    mean = max(float(raw[is_small].mean()), 1e-9)
    variance = float(raw[is_small].var(ddof=1) - errors[is_small].mean())
    variance = max(variance, (_LEAST_DEVIATION * mean) ** 2)
    means = np.where(is_small, mean, raw)
    return means, np.where(is_small, variance, np.square(np.maximum(raw, middle)))
