r"""Where shares are about, before anything is known of when: pooled over all time, places told by one another.

Places differ by factors, and most are smaller than the mean. Of the law their shares follow two kinds are taken for
possible: one with a heavy tail, where a few places hold most (log-logistic), and one without (Weibull),

.. math:: F(s) = \frac{x}{1 + x} \quad\text{or}\quad 1 - 2^{-x}, \qquad x = (s / c)^{1 / b},

with the median c and the spread b of logarithms. The mean of all shares is known, which leaves little choice of c once
b is given. A part of the places may be empty: tables of places have names where nothing ever happens. None of the laws
is chosen: all are weighed by how well they explain the counts of all places. What they say of one place, together with
its own counts, has a mean, a variance and a skewness. The normal prior handed on is the one that gives this mean and
variance again (empirical Bayes, but that the law is integrated over and not chosen).

Reference: Efron1973.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.measured import Measured

_SPREADS: Final = np.geomspace(0.2, 2.5, 8)
_AROUND: Final = np.array([0.6, 0.8, 1.0, 1.25, 1.6])  # medians, in parts of the one whose law has the known mean
_EMPTY: Final = (0.0, 0.2, 0.4)
_TINY: Final = 0.03  # up to where a place is next to empty
_DOUBT: Final = 0.05
_FINEST: Final = 1e-6
_STEPS: Final = 600
_HALVINGS: Final = 50
_EDGES: Final = np.linspace(-5.0, 5.0, 51)
_LEAST_SHARE: Final = 0.001
_LEAST_RATE: Final = 0.05
_WIDEST: Final = 25.0
_ROUNDS: Final = 2
_NEXT_TO_NONE: Final = 1e-9


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
    edges = np.sort(np.concatenate([edges, np.full((len(raw), 1), _TINY * middle)], axis=1), axis=1)
    shares = (edges[:, 1:] + edges[:, :-1]) / 2
    squares = np.square((raw[:, None] - shares) / deviations)
    likelihoods = np.exp(0.5 * (squares.min(axis=1, keepdims=True) - squares))
    laws = _laws(len(raw))
    evidence = [np.maximum((law.chances(edges / middle) * likelihoods).sum(axis=1), 1e-300) for law in laws]
    logs = np.array([np.log(part).sum() + law.log_weight for part, law in zip(evidence, laws, strict=True)])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    posterior = np.zeros_like(likelihoods)
    for law, total, weight in zip(laws, evidence, weights, strict=True):
        if weight > _NEXT_TO_NONE:
            posterior += likelihoods * law.chances(edges / middle) * (weight / total)[:, None]
    posterior /= posterior.sum(axis=1, keepdims=True)
    means = (posterior * shares).sum(axis=1)
    apart = shares - means[:, None]
    variances = np.maximum((posterior * np.square(apart)).sum(axis=1), 1e-3 * errors)
    return means, variances, np.asarray((posterior * apart**3).sum(axis=1), np.float64)


@dataclass(frozen=True, slots=True)
class _Law:
    """A law of shares in parts of their mean, and how well that mean goes with what it says of itself.

    A part of the places may be ``empty``, or next to it: names in a table where hardly anything ever happens.
    """

    spread: float
    median: float
    is_heavy: bool
    empty: float = 0.0
    log_weight: float = 0.0

    def chances(self, edges: FloatArray) -> FloatArray:
        """Between neighbouring edges."""
        x = (edges / self.median) ** (1 / self.spread)
        below = x / (1 + x) if self.is_heavy else -np.expm1(-np.log(2) * x)
        return np.asarray(np.diff(self.empty * np.minimum(edges / _TINY, 1.0) + (1 - self.empty) * below), np.float64)

    def moments(self, most: float) -> tuple[float, float]:
        """The mean and the variance of shares up to ``most``."""
        edges = np.concatenate([[0.0], np.geomspace(_FINEST, most, _STEPS)])
        shares, chances = (edges[1:] + edges[:-1]) / 2, self.chances(edges)
        chances /= chances.sum()
        mean = float(chances @ shares)
        return mean, max(float(chances @ np.square(shares)) - mean**2, 0.0)


@cache
def _laws(n_places: int) -> tuple[_Law, ...]:
    """The laws that may be: no share is more than the sum of all, and all have about the mean 1.

    A law of another mean is the less likely the surer it is of the mean of that many places.
    """
    most, found = float(max(n_places, 2)), []
    for spread, is_heavy, empty in product(_SPREADS.tolist(), (True, False), _EMPTY):
        low, high = 1e-8, 3.0
        for _ in range(_HALVINGS):
            middle = _Law(spread, math.sqrt(low * high), is_heavy, empty)
            low, high = (middle.median, high) if middle.moments(most)[0] < 1 else (low, middle.median)
        for part in _AROUND.tolist():
            law = replace(middle, median=middle.median * part)
            mean, variance = law.moments(most)
            weight = -0.5 * (mean - 1) ** 2 / (variance / n_places + _DOUBT**2)
            found.append(replace(law, log_weight=weight))
    return tuple(found)
