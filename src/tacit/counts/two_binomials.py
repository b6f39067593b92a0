r"""Confidence limits for a count seen through two coins.

A true count m out of n possible, among M coin flips of which m are heads with probability p and the other M - m with
probability q < p, is seen only as the number of heads

.. math:: C \sim \mathrm{Bin}(m, p) + \mathrm{Bin}(M - m, q).

Every range question put to unary encoding has this form. The limits here invert it: all m that make neither tail
beyond C rarer than (1 - level)/2, so that they cover the truth with probability at least ``level`` for every m and
every n, however small, where the normal approximation does not. Up to ``LARGEST_LISTED`` flips, and wherever the
variance is small, the law is computed exactly; elsewhere by the Edgeworth series to second order with Sheppard's
corrections, whose error in a tail probability is of order variance**-1.5 (compared with the exact law in the tests).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray

LARGEST_LISTED: Final = 256
_LARGEST_TABLE: Final = 1024
_NORMAL: Final = NormalDist()


def normal_quantile(level: float) -> float:
    """The z with P(|Z| <= z) = level.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return _NORMAL.inv_cdf((1 + level) / 2)


def count_limits(
    heads: IntArray, flips: IntArray, largest: IntArray, *, p: float, q: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits of the true counts, elementwise (arrays of one shape)."""
    tail = (1 - level) / 2
    lower, upper = np.zeros(heads.shape), np.zeros(heads.shape)
    variance = flips * (q * (1 - q))
    by_series = (flips > LARGEST_LISTED) & (variance >= smallest_variance_for_series(tail))
    if by_series.any():
        lower[by_series], upper[by_series] = _limits_by_series(
            heads[by_series], flips[by_series], largest[by_series], p, q, tail
        )
    exact = np.flatnonzero(~by_series.ravel())
    asked = np.stack([a.ravel()[exact] for a in (flips, largest, heads)], axis=1)
    distinct, where = np.unique(asked, axis=0, return_inverse=True)
    limits = np.array([_limits_by_listing(m, n, c, p, q, tail) for m, n, c in distinct.tolist()]).reshape(-1, 2)
    lower.ravel()[exact], upper.ravel()[exact] = limits[where.ravel()].T
    return lower, upper


def smallest_variance_for_series(tail: float) -> float:
    """Far tails need more: there the series errs by more than a part of the tail itself."""
    return 9.0 if tail >= 0.005 else 400.0


def binomial_tails(heads: int, flips: int, q: float) -> tuple[float, float]:
    """P(C >= heads) and P(C <= heads) for C heads in ``flips`` tosses of one coin.

    >>> [round(tail, 12) for tail in binomial_tails(2, 3, 0.5)]
    [0.5, 0.875]
    """
    first, mass = _binomial_window(flips, q)
    at = heads - first
    return float(mass[max(at, 0) :].sum()), float(mass[: max(at + 1, 0)].sum())


def _limits_by_listing(flips: int, largest: int, heads: int, p: float, q: float, tail: float) -> tuple[int, int]:
    heads = min(max(heads, 0), flips)
    if flips <= _LARGEST_TABLE:
        at_least, at_most = _tail_tables(flips, largest, p, q)
        not_too_small = at_least[:, heads] > tail
        not_too_large = at_most[:, heads] > tail
        lower = int(np.argmax(not_too_small)) if not_too_small.any() else largest
        upper = largest - int(np.argmax(not_too_large[::-1])) if not_too_large.any() else 0
        return lower, upper
    # both tails are monotone in m, so halving finds the limits
    lower = min(_first(largest, lambda m: _tails(m, flips, heads, p, q)[0] > tail), largest)
    upper = _first(largest, lambda m: _tails(m, flips, heads, p, q)[1] <= tail) - 1
    return lower, max(upper, 0)


@lru_cache(maxsize=4)  # questions come sorted by flips
def _tail_tables(flips: int, largest: int, p: float, q: float) -> tuple[FloatArray, FloatArray]:
    """P(C >= c) and P(C <= c) for every m in 0..largest (rows) and c in 0..flips (columns)."""
    m = np.arange(largest + 1)
    size = flips + 1
    width = 1 << (2 * size - 1).bit_length()
    true_heads = np.fft.rfft(_binomial_rows(m, p, size), width)
    false_heads = np.fft.rfft(_binomial_rows(flips - m, q, size), width)
    mass = np.clip(np.fft.irfft(true_heads * false_heads, width)[:, :size], 0.0, 1.0)
    at_most = np.cumsum(mass, axis=1)
    at_least = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    return at_least, at_most


def _binomial_rows(n: IntArray, p: float, size: int) -> FloatArray:
    """Row i holds the binomial probabilities of 0 .. size-1 successes in n[i] trials."""
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, max(size, int(n.max()) + 1))))))
    k = np.arange(size)
    possible = k[None, :] <= n[:, None]
    misses = np.where(possible, n[:, None] - k[None, :], 0)
    ways = (
        log_factorial[n][:, None]
        - log_factorial[np.minimum(k, len(log_factorial) - 1)][None, :]
        - log_factorial[misses]
    )
    return np.where(possible, np.exp(ways + k * math.log(p) + misses * math.log1p(-p)), 0.0)


def _tails(m: int, flips: int, heads: int, p: float, q: float) -> tuple[float, float]:
    """P(C >= heads) and P(C <= heads) for one m, from the two laws cut off 12 standard deviations out."""
    first, true_mass = _binomial_window(m, p)
    second, false_mass = _binomial_window(flips - m, q)
    mass = np.convolve(true_mass, false_mass)
    at = heads - first - second
    return float(mass[max(at, 0) :].sum()), float(mass[: max(at + 1, 0)].sum())


def _binomial_window(n: int, p: float) -> tuple[int, FloatArray]:
    reach = 12 * math.sqrt(n * p * (1 - p)) + 40
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    log_mass = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in range(low, high + 1)
    ]
    return low, np.exp(np.array(log_mass))


def _first(largest: int, holds: Callable[[int], bool]) -> int:
    """The least m in 0..largest for which a monotone condition holds, or largest + 1 if there is none."""
    low, high = 0, largest + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _limits_by_series(
    heads: IntArray, flips: IntArray, largest: IntArray, p: float, q: float, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Solve both tail equations for m by halving, all questions at once."""

    return limits_by_halving(lambda c, m: _series_tail(c, m, flips, p, q), heads, largest, tail)


def limits_by_halving(
    below: Callable[[IntArray, IntArray], FloatArray], seen: IntArray, largest: IntArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest m that make neither tail beyond what is seen rarer than ``tail``, elementwise.

    ``below(c, m)`` is P(C <= c) given m, which falls as m grows.
    """

    def solve(is_upper: bool) -> FloatArray:
        low, high = np.zeros(seen.shape, np.int64), largest + 1
        while (low < high).any():
            middle = (low + high) // 2
            at_most = below(seen if is_upper else seen - 1, np.minimum(middle, largest))
            met = (at_most <= tail) if is_upper else (1 - at_most > tail)
            met |= middle > largest
            low, high = (
                np.where(met | (low >= high), low, middle + 1),
                np.where(met & (low < high), middle, high),
            )
        return low.astype(np.float64)

    return np.minimum(solve(False), largest), np.maximum(solve(True) - 1, 0)


def _series_tail(c: IntArray, m: IntArray, flips: IntArray, p: float, q: float) -> FloatArray:
    rest = flips - m
    pv, qv = p * (1 - p), q * (1 - q)
    return edgeworth_below(
        c,
        m * p + rest * q,
        m * pv + rest * qv,
        m * pv * (1 - 2 * p) + rest * qv * (1 - 2 * q),
        m * pv * (1 - 6 * pv) + rest * qv * (1 - 6 * qv),
    )


def edgeworth_below(
    c: IntArray, mean: FloatArray, variance: FloatArray, third: FloatArray, fourth: FloatArray
) -> FloatArray:
    """P(C <= c) for a sum C of many whole numbers, by the Edgeworth series with its first four cumulants."""
    # C is a smooth variable rounded to whole numbers; Sheppard's corrections give that variable's cumulants
    variance = variance - 1 / 12
    skew, kurtosis = third / variance**1.5, (fourth + 1 / 120) / variance**2
    z = (c + 0.5 - mean) / np.sqrt(variance)
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    correction = skew / 6 * (z**2 - 1) + kurtosis / 24 * (z**3 - 3 * z) + skew**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
    return np.clip(_normal_below(z) - density * correction, 0.0, 1.0)


def _normal_below(z: FloatArray) -> FloatArray:
    """Phi(z), from the complementary error function, elementwise."""
    return 0.5 * np.array([math.erfc(-x / math.sqrt(2)) for x in z.ravel()]).reshape(z.shape)
