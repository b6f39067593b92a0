r"""Bounds on rare chances that never understate them, as natural logarithms, for many questions at once.

An alarm promises how often it is false. The bounds here are therefore theorems, not approximations: each is at least
the true probability, however small that is, and close enough to it not to cost much.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._base.arrays import FloatArray, IntArray

_STEEPEST = 60.0


def log_at_least(heads: IntArray, flips: IntArray, chance: float) -> FloatArray:
    r"""A bound on ln P(C >= heads) for C heads in ``flips`` tosses.

    Above the mean, terms fall by a ratio r of less than one, and a binomial coefficient is at most its Stirling form:

    .. math:: P(C \ge c) \le \frac{1}{1 - r}\sqrt{\frac{n}{2\pi c(n-c)}}\; e^{-n D(c/n \| p)},
              \qquad r = \frac{(n-c)\,p}{(c+1)(1-p)}

    >>> bound = np.exp(log_at_least(np.array([60]), np.array([100]), 0.5))
    >>> bool(0.0284 < bound[0] < 0.035)  # exactly 0.02844...
    True
    """
    heads, flips = np.broadcast_arrays(heads, flips)
    c, n = heads.astype(np.float64), flips.astype(np.float64)
    bound = np.zeros(c.shape)
    bound[c > n] = -np.inf
    every = (c == n) & (n > 0)
    bound[every] = n[every] * math.log(chance)
    rare = (c > n * chance) & (c < n)
    c, n = c[rare], n[rare]
    ratio = (n - c) / (c + 1) * (chance / (1 - chance))
    divergence = c * np.log(c / (n * chance)) + (n - c) * np.log((n - c) / (n * (1 - chance)))
    bound[rare] = 0.5 * np.log(n / (2 * np.pi * c * (n - c))) - divergence - np.log1p(-ratio)
    return np.minimum(bound, 0.0)


def log_at_most(heads: IntArray, flips: IntArray, chance: float) -> FloatArray:
    """A bound on ln P(C <= heads) for C heads in ``flips`` tosses: that of as many tails."""
    return log_at_least(flips - heads, flips, 1 - chance)


def log_two_coins_beyond(heads: IntArray, first: IntArray, second: IntArray, p: float, q: float) -> FloatArray:
    r"""A bound on the rarer of ln P(C >= heads) and ln P(C <= heads), for the heads of two coins tossed together.

    Chernoff's, which holds for every t of the right sign and is least where its slope is zero:

    .. math:: P(C \ge c) \le e^{-tc}\,(1 - p + p e^t)^{m_1}\,(1 - q + q e^t)^{m_2}, \qquad t \ge 0

    >>> both = log_two_coins_beyond(np.array([75, 50]), np.array([50, 50]), np.array([50, 50]), 0.5, 0.5)
    >>> [round(float(bound), 2) for bound in both]  # of 100 fair coins, 75 and 50 heads
    [-13.08, 0.0]
    """
    low, high = np.full(heads.shape, -_STEEPEST), np.full(heads.shape, _STEEPEST)
    for _ in range(60):
        t = (low + high) / 2
        mean = first / (1 + (1 - p) / p * np.exp(-t)) + second / (1 + (1 - q) / q * np.exp(-t))
        low, high = np.where(mean < heads, t, low), np.where(mean < heads, high, t)
    bound = first * np.log1p(p * np.expm1(t)) + second * np.log1p(q * np.expm1(t)) - t * heads
    impossible = (heads > first + second) | (heads < 0)
    return np.where(impossible, -np.inf, np.minimum(bound, 0.0))


def log_sum_beyond(distance: FloatArray, n: IntArray, variance: float, reach: float) -> FloatArray:
    r"""A bound on ln P(the sum of n independent terms is ``distance`` or more beyond its mean, on one side).

    Bernstein's, for terms of this variance that stay within ``reach`` of their means:

    .. math:: \ln P \le -\frac{d^2}{2 (n \sigma^2 + r d / 3)}

    >>> float(log_sum_beyond(np.array([30.0]), np.array([100]), 1.0, 1.0)[0]) < math.log(0.02)
    True
    """
    spread = 2 * (n * variance + reach * np.abs(distance) / 3)
    return -np.divide(distance**2, spread, out=np.zeros(np.shape(distance)), where=spread > 0)
