r"""Exact confidence limits for a count that is seen through random reports.

Coins. A true count m out of n possible, among M coin flips of which m are heads with probability p and the other M - m
with probability q < p, is seen only as the number of heads

.. math:: C \sim \mathrm{Bin}(m, p) + \mathrm{Bin}(M - m, q).

Every range question put to unary encoding has this form. The limits invert it: all m that make neither tail beyond C
rarer than (1 - level)/2, so that they cover the truth with probability at least ``level`` for every m and every n,
however small, where the normal approximation does not. Up to ``LARGEST_LISTED`` flips, and wherever the variance is
small, the distribution is computed exactly; elsewhere by the Edgeworth series to second order with Sheppard's
corrections, whose error in a tail probability is of order variance**-1.5 (compared with exact tails in the tests).

Numbers. Of N reports, m are about the box asked for; each shows a whole number, drawn from the distribution f if it
is, from g if it is not, and only the sum C of these numbers is seen:

.. math:: C \sim f^{*m} * g^{*(N - m)}.

Subset selection has this form for any box of cells: what a report shows is how many cells of the box it names. Where f
is stochastically larger than g both tails are monotone in m, so the limits are a range here too. The distribution is
computed from the characteristic functions of f and g, or by the Edgeworth series, as for coins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray

# flips or reports, up to which distributions are computed exactly: the series' error is of the order of the variance to
# the power -1.5, 2e-3 at a quarter of so many. Doubled, it is a third of that, and listing takes four times as long
LARGEST_LISTED: Final = 256
_LARGEST_TABLE: Final = 1024  # flips: two tables of 8 MiB each; doubled, four times the memory
_LARGEST_NUMBER_TABLE: Final = 1 << 20  # entries of a table of tails, 8 MiB; of larger ones a window is computed
_ROUNDING: Final = 1e-13
"""What a tail from a Fourier transform may be off by; a limit is widened rather than missed by so little."""
_NORMAL: Final = NormalDist()


def normal_quantile(level: float) -> float:
    """Return the z with P(|Z| <= z) = level.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return _NORMAL.inv_cdf((1 + level) / 2)


def count_limits(
    heads: IntArray, flips: IntArray, largest: IntArray, *, p: float, q: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits of the true counts, elementwise (arrays of one shape)."""
    tail = (1 - level) / 2
    (flips, largest, heads), where = _distinct(flips, largest, heads)
    lower, upper = np.zeros(heads.shape), np.zeros(heads.shape)
    variance = flips * (q * (1 - q))
    by_series = (flips > LARGEST_LISTED) & (variance >= smallest_variance_for_series(tail))
    if by_series.any():
        lower[by_series], upper[by_series] = _limits_by_series(
            heads[by_series], flips[by_series], largest[by_series], p, q, tail
        )
    exact = np.flatnonzero(~by_series)
    asked = zip(flips[exact].tolist(), largest[exact].tolist(), heads[exact].tolist(), strict=True)
    limits = np.array([_limits_by_listing(m, n, c, p, q, tail) for m, n, c in asked]).reshape(-1, 2)
    lower[exact], upper[exact] = limits.T
    return lower[where], upper[where]


def _distinct(*columns: IntArray) -> tuple[list[IntArray], IntArray]:
    """Return the distinct questions in order, and which of them each one is: many cells of a release are alike."""
    shape, flat = columns[0].shape, [column.ravel().astype(np.int64) for column in columns]
    if flat[0].size < 2:
        return flat, np.arange(flat[0].size).reshape(shape)
    least, sizes = zip(*((int(one.min()), int(one.max()) - int(one.min()) + 1) for one in flat), strict=True)
    if math.prod(sizes) < 1 << 62:  # one number each, which is ten times as fast to sort as rows are
        numbers = np.ravel_multi_index([one - low for one, low in zip(flat, least, strict=True)], sizes)
        _, first, where = np.unique(numbers, return_index=True, return_inverse=True)
    else:
        _, first, where = np.unique(np.stack(flat, axis=1), axis=0, return_index=True, return_inverse=True)
    return [one[first] for one in flat], where.reshape(shape)


def smallest_variance_for_series(tail: float) -> float:
    """Return the variance from which on a series serves: more for far tails, where it errs by a part of the tail.

    Of tails down to 0.005 it then misses half a percent, at half the variance 1 %, at twice a quarter. Of tails down to
    1e-6 it misses 0.1 %, at half the variance 0.3 %; at a variance of 9 it would miss all of them.
    """
    return 9.0 if tail >= 0.005 else 400.0


def binomial_tails(heads: int, flips: int, q: float) -> tuple[float, float]:
    """Return P(C >= heads) and P(C <= heads) for C heads in ``flips`` tosses of one coin.

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
    """Return P(C >= c) and P(C <= c) for every m in 0..largest (rows) and c in 0..flips (columns)."""
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
    """Return rows: row i holds the binomial probabilities of 0 .. size-1 successes in n[i] trials."""
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
    """Return P(C >= heads) and P(C <= heads) for one m, from distributions cut off 12 standard deviations out."""
    first, true_mass = _binomial_window(m, p)
    second, false_mass = _binomial_window(flips - m, q)
    mass = np.convolve(true_mass, false_mass)
    at = heads - first - second
    return float(mass[max(at, 0) :].sum()), float(mass[: max(at + 1, 0)].sum())


def _binomial_window(n: int, p: float) -> tuple[int, FloatArray]:
    # beyond 12 standard deviations lies less than 1e-30; small variances, whose tails are longer, get 40 more. At half
    # of both 1e-9 is cut off, twice as much takes twice the time
    margin = 12 * math.sqrt(n * p * (1 - p)) + 40
    low, high = max(0, math.floor(n * p - margin)), min(n, math.ceil(n * p + margin))
    first = math.lgamma(n + 1) - math.lgamma(low + 1) - math.lgamma(n - low + 1)
    first += low * math.log(p) + (n - low) * math.log1p(-p)
    k = np.arange(low, high)
    ratios = np.log((n - k) / (k + 1) * (p / (1 - p)))  # of each probability to the one before
    return low, np.exp(first + np.concatenate(([0.0], np.cumsum(ratios))))


def _first(largest: int, holds: Callable[[int], bool]) -> int:
    """Return the least m in 0..largest for which a monotone condition holds, or largest + 1 if there is none."""
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
    """Return the least and the largest m that make neither tail beyond what is seen rarer than ``tail``, elementwise.

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
    """Return P(C <= c) for a sum C of many whole numbers, by the Edgeworth series with its first four cumulants."""
    # C is a smooth variable rounded to whole numbers; Sheppard's corrections give that variable's cumulants
    variance = variance - 1 / 12
    skew, kurtosis = third / variance**1.5, (fourth + 1 / 120) / variance**2
    z = (c + 0.5 - mean) / np.sqrt(variance)
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    correction = skew / 6 * (z**2 - 1) + kurtosis / 24 * (z**3 - 3 * z) + skew**2 / 72 * (z**5 - 10 * z**3 + 15 * z)
    return np.clip(_normal_below(z) - density * correction, 0.0, 1.0)


def _normal_below(z: FloatArray) -> FloatArray:
    """Return Phi(z), from the complementary error function, elementwise."""
    return 0.5 * np.array([math.erfc(-x / math.sqrt(2)) for x in z.ravel()]).reshape(z.shape)


@dataclass(frozen=True, slots=True)
class NumberDistribution:
    """The distribution of a whole number: ``mass[i]`` is the probability of ``first + i``."""

    first: int
    mass: tuple[float, ...]

    @property
    def cumulants(self) -> tuple[float, float, float, float]:
        """Mean, variance, third and fourth cumulant."""
        mass, points = np.array(self.mass), self.first + np.arange(len(self.mass), dtype=np.float64)
        mean = float(mass @ points)
        second, third, fourth = (float(mass @ (points - mean) ** power) for power in (2, 3, 4))
        return mean, second, third, fourth - 3 * second**2


@dataclass(frozen=True)
class TwoDistributions:
    """The distributions of what a report shows if its truth is ``inside`` the box, and if it is ``outside``.

    >>> coin = TwoDistributions(NumberDistribution(0, (0.25, 0.75)), NumberDistribution(0, (0.75, 0.25)))
    >>> lower, upper = coin.limits(np.array([9]), np.array([10]), level=0.9)
    >>> int(lower[0]), int(upper[0])
    (8, 10)
    """

    inside: NumberDistribution
    outside: NumberDistribution

    def limits(self, sums: IntArray, reports: IntArray, *, level: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper limits of how many reports are about the box, elementwise (arrays of one shape)."""
        tail = (1 - level) / 2
        lower, upper = np.zeros(sums.shape), np.zeros(sums.shape)
        least = reports * min(self.inside.cumulants[1], self.outside.cumulants[1])
        by_series = (reports > LARGEST_LISTED) & (least >= smallest_variance_for_series(tail))
        if by_series.any():
            lower[by_series], upper[by_series] = self._by_series(sums[by_series], reports[by_series], tail)
        exact = np.flatnonzero(~by_series.ravel())
        asked = np.stack([a.ravel()[exact] for a in (reports, sums)], axis=1)
        distinct, where = np.unique(asked, axis=0, return_inverse=True)
        found = np.empty((len(distinct), 2))
        for n in np.unique(distinct[:, 0]).tolist():
            rows = distinct[:, 0] == n
            is_small = (n + 1) * (n * self.width + 1) <= _LARGEST_NUMBER_TABLE
            invert = _by_listing if is_small else _by_window
            found[rows] = np.stack(invert(self, n, distinct[rows, 1], tail), axis=1)
        lower.ravel()[exact], upper.ravel()[exact] = found[where.ravel()].T
        return lower, upper

    @property
    def first(self) -> int:
        """The least a report can show."""
        return min(self.inside.first, self.outside.first)

    @property
    def width(self) -> int:
        """Return how far apart the largest and the least are that a report can show."""
        return max(one.first + len(one.mass) - 1 for one in (self.inside, self.outside)) - self.first

    def transforms(self, size: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Return both characteristic functions, of what is shown beyond the least, on a grid of ``size`` points."""
        inside, outside = (
            np.exp(-2j * math.pi / size * np.outer(np.arange(size // 2 + 1), np.arange(len(one.mass)) + shift))
            @ np.array(one.mass)
            for one, shift in ((one, one.first - self.first) for one in (self.inside, self.outside))
        )
        return inside, outside

    @cached_property
    def _all_cumulants(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.inside.cumulants, self.outside.cumulants

    def _by_series(self, sums: IntArray, reports: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
        def below(c: IntArray, m: IntArray) -> FloatArray:
            mean, variance, third, fourth = (
                m * inside + (reports - m) * outside for inside, outside in zip(*self._all_cumulants, strict=True)
            )
            return edgeworth_below(c, mean, variance, third, fourth)

        return limits_by_halving(below, sums, reports, tail)


def _by_listing(pair: TwoDistributions, n: int, sums: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    at_least, at_most = _number_tail_tables(pair, n)
    at = np.clip(sums - n * pair.first, 0, n * pair.width)
    not_too_small, not_too_large = at_least[:, at] + _ROUNDING > tail, at_most[:, at] + _ROUNDING > tail
    lower = np.where(not_too_small.any(axis=0), not_too_small.argmax(axis=0), n)
    upper = np.where(not_too_large.any(axis=0), n - not_too_large[::-1].argmax(axis=0), 0)
    return lower.astype(np.float64), upper.astype(np.float64)


@lru_cache(maxsize=4)  # questions come sorted by their number of reports
def _number_tail_tables(pair: TwoDistributions, n: int) -> tuple[FloatArray, FloatArray]:
    """Return P(C >= c) and P(C <= c) for every m in 0..n (rows) and c from the least possible sum up (columns)."""
    most = n * pair.width + 1
    size = 1 << max(1, (most - 1).bit_length())
    inside, outside = (_powers(transform, n) for transform in pair.transforms(size))
    mass = np.clip(np.fft.irfft(inside * outside[::-1], size)[:, :most], 0.0, 1.0)
    at_most = np.cumsum(mass, axis=1)
    at_least = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    return at_least, at_most


def _powers(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """Return rows: row i holds the i-th power, for i in 0..n."""
    powers = np.empty((n + 1, len(base)), np.complex128)
    powers[0] = 1
    for i in range(n):
        np.multiply(powers[i], base, out=powers[i + 1])
    return powers


def _by_window(pair: TwoDistributions, n: int, sums: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Return the same for many reports of little variance, within 12 standard deviations to either side."""
    (mean_in, most_in, *_), (mean_out, most_out, *_) = pair.inside.cumulants, pair.outside.cumulants
    margin = math.ceil(12 * math.sqrt(n * max(most_in, most_out))) + 40  # as for single coins
    size = 1 << (2 * margin + 1).bit_length()
    inside, outside = pair.transforms(size)

    def below(c: IntArray, m: IntArray) -> FloatArray:
        values, which = np.unique(m, return_inverse=True)
        mass = np.fft.irfft(inside ** values[:, None] * outside ** (n - values[:, None]), size)
        # what is seen modulo the size of the grid starts at the window's left end
        starts = np.rint(values * mean_in + (n - values) * mean_out).astype(np.int64) - size // 2
        at = (starts[:, None] - n * pair.first + np.arange(size)) % size
        at_most = np.cumsum(np.clip(np.take_along_axis(mass, at, axis=1), 0.0, 1.0), axis=1)
        column = c - starts[which.ravel()]
        found = at_most[which.ravel(), np.clip(column, 0, size - 1)]
        return np.where(column < 0, 0.0, np.where(column >= size, 1.0, found))

    return limits_by_halving(below, sums, np.full(sums.shape, n), tail - _ROUNDING)
