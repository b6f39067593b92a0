r"""Where shares are about, before anything is known of when: pooled over all time, places told by one another.

Places differ by factors, and most are smaller than the mean. Of the law their shares follow two kinds are taken for
possible: one with a heavy tail, where a few places hold most (log-logistic), and one without (Weibull),

.. math:: F(s) = \frac{x}{1 + x} \quad\text{or}\quad 1 - 2^{-x}, \qquad x = (s / c)^{1 / b},

with the median c and the spread b of logarithms. None is chosen: all are weighed by how well they explain the counts of
all places. What they say of one place, together with its own counts, has a mean, a variance and a skewness. The normal
prior handed on is the one that gives this mean and variance again (empirical Bayes, but that the law is integrated
over and not chosen).

Reference: Efron1973.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.postprocess.smoothing.measured import Measured

FloatArray = NDArray[np.float64]

_MEDIANS: Final = np.exp(np.linspace(-2.5, 0.5, 10))
_SPREADS: Final = np.exp(np.linspace(np.log(0.1), np.log(1.2), 8))
_EDGES: Final = np.linspace(-5.0, 5.0, 51)
_LEAST_SHARE: Final = 0.02
_LEAST_RATE: Final = 0.05
_WIDEST: Final = 25.0
_ROUNDS: Final = 2


@dataclass(frozen=True, slots=True)
class LongRun:
    """For every place its share in the long run, the third cumulant of what is open of it, and a prior of the first.

    ``start`` and ``start_variances`` are the mean and the variance of the level a series begins with: together with the
    counts they give the share, so where they say little of a place, the mean may be far from it.
    """

    shares: FloatArray
    skews: FloatArray
    start: FloatArray
    start_variances: FloatArray


def long_run_shares(measured: Measured, bursts: FloatArray, *, drift: float = 0.0) -> LongRun:
    """Pool days in proportion to what they tell; those out of the ordinary count less.

    ``drift`` is how far the share in the long run may be from the first one: a variance, relative to its square.
    """
    n_places = measured.counts.shape[1]
    weights = (measured.exposures * np.square(1 - bursts))[:, None] * measured.seen
    total = measured.exposures @ weights
    guess = np.full(n_places, 1 / n_places) if measured.is_shared else np.ones(n_places)
    if not (total > 0).all():
        return LongRun(guess, np.zeros(n_places), guess, np.square(guess))
    raw = (weights * measured.counts).sum(axis=0) / total
    middle = 1 / n_places if measured.is_shared else max(float(raw.mean()), _LEAST_RATE)
    shares = np.full(n_places, middle)
    for _ in range(_ROUNDS):
        noise = measured.errors_of_sums(np.broadcast_to(shares, measured.counts.shape))
        spread = noise + measured.exposures[:, None] * shares
        chance = (np.square(weights) * spread).sum(axis=0) / np.square(total)
        errors = chance + drift * np.square(shares)
        means, variances, _ = _moments(raw, errors, middle)
        shares = np.maximum(means, _LEAST_SHARE * middle)
    skews = _moments(raw, chance, middle)[2]
    precision = np.maximum(1 / variances - 1 / errors, 1 / (_WIDEST * np.square(shares) + errors))
    start = shares + (shares - raw) / (errors * precision)
    return LongRun(shares, skews, start, 1 / precision)


def _moments(raw: FloatArray, errors: FloatArray, middle: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The means, variances and third cumulants of shares, given estimates of them and the variances of those."""
    deviations = np.sqrt(errors)[:, None]
    edges = np.maximum(np.maximum(raw, 0.0)[:, None] + deviations * _EDGES, 0.0)
    shares = (edges[:, 1:] + edges[:, :-1]) / 2
    likelihoods = np.exp(-0.5 * np.square((raw[:, None] - shares) / deviations))
    evidence = [np.maximum((law * likelihoods).sum(axis=2), 1e-300) for law in _laws(edges / middle)]
    logs = np.array([np.log(part).sum(axis=1) for part in evidence])
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    posterior = np.zeros_like(likelihoods)
    for law, total, chance in zip(_laws(edges / middle), evidence, chances, strict=True):
        posterior += likelihoods * np.einsum("lrs,lr->rs", law, chance[:, None] / total)
    means = (posterior * shares).sum(axis=1)
    apart = shares - means[:, None]
    variances = np.maximum((posterior * np.square(apart)).sum(axis=1), 1e-3 * errors)
    return means, variances, np.asarray((posterior * apart**3).sum(axis=1), np.float64)


def _laws(edges: FloatArray) -> Iterator[FloatArray]:
    """The chances between neighbouring edges (medians x places x bins), for each spread and kind of law."""
    for power in 1 / _SPREADS:
        x = edges**power / (_MEDIANS**power)[:, None, None]
        for below in (x / (1 + x), -np.expm1(-np.log(2) * x)):
            yield np.diff(below, axis=2)
