r"""Confidence limits for a count seen through two laws.

Of N reports, m are about the box asked for; each shows a whole number, drawn from the law f if it is, from g if it is
not, and only the sum C of these numbers is seen:

.. math:: C \sim f^{*m} * g^{*(N - m)}.

Subset selection has this form for any box of cells: what a report shows is how many cells of the box it names. The
limits invert it as :mod:`tacit.counts.two_binomials` does for coins: all m that make neither tail beyond C rarer than
(1 - level)/2. Where f is stochastically larger than g both tails are monotone in m, so these are a range, which covers
the truth with probability at least ``level``. Up to ``LARGEST_LISTED`` reports, and wherever the variance is small, the
law is computed from the characteristic functions of f and g; elsewhere by the Edgeworth series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.two_binomials import edgeworth_below, limits_by_halving, smallest_variance_for_series

LARGEST_LISTED: Final = 256
_LARGEST_TABLE: Final = 1 << 20
_ROUNDING: Final = 1e-13
"""What a tail from a Fourier transform may be off by; a limit is widened rather than missed by so little."""


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a whole number: ``mass[i]`` is the probability of ``first + i``."""

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
class TwoLaws:
    """The law of what a report shows if its truth is ``inside`` the box, and if it is ``outside``.

    >>> coin = TwoLaws(Law(0, (0.25, 0.75)), Law(0, (0.75, 0.25)))
    >>> lower, upper = coin.limits(np.array([9]), np.array([10]), level=0.9)
    >>> int(lower[0]), int(upper[0])
    (8, 10)
    """

    inside: Law
    outside: Law

    def limits(self, sums: IntArray, reports: IntArray, *, level: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits of how many reports are about the box, elementwise (arrays of one shape)."""
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
            is_small = (n + 1) * (n * self.width + 1) <= _LARGEST_TABLE
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
        """How far apart the largest and the least are that a report can show."""
        return max(law.first + len(law.mass) - 1 for law in (self.inside, self.outside)) - self.first

    def transforms(self, size: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Both laws' characteristic functions, of what is shown beyond the least, on a grid of ``size`` points."""
        inside, outside = (
            np.exp(-2j * math.pi / size * np.outer(np.arange(size // 2 + 1), np.arange(len(law.mass)) + shift))
            @ np.array(law.mass)
            for law, shift in ((law, law.first - self.first) for law in (self.inside, self.outside))
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


def _by_listing(laws: TwoLaws, n: int, sums: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    at_least, at_most = _tail_tables(laws, n)
    at = np.clip(sums - n * laws.first, 0, n * laws.width)
    not_too_small, not_too_large = at_least[:, at] + _ROUNDING > tail, at_most[:, at] + _ROUNDING > tail
    lower = np.where(not_too_small.any(axis=0), not_too_small.argmax(axis=0), n)
    upper = np.where(not_too_large.any(axis=0), n - not_too_large[::-1].argmax(axis=0), 0)
    return lower.astype(np.float64), upper.astype(np.float64)


@lru_cache(maxsize=4)  # questions come sorted by their number of reports
def _tail_tables(laws: TwoLaws, n: int) -> tuple[FloatArray, FloatArray]:
    """P(C >= c) and P(C <= c) for every m in 0..n (rows) and c from the least possible sum up (columns)."""
    most = n * laws.width + 1
    size = 1 << max(1, (most - 1).bit_length())
    inside, outside = (_powers(transform, n) for transform in laws.transforms(size))
    mass = np.clip(np.fft.irfft(inside * outside[::-1], size)[:, :most], 0.0, 1.0)
    at_most = np.cumsum(mass, axis=1)
    at_least = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    return at_least, at_most


def _powers(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """Row i holds the i-th power, for i in 0..n."""
    powers = np.empty((n + 1, len(base)), np.complex128)
    powers[0] = 1
    for i in range(n):
        np.multiply(powers[i], base, out=powers[i + 1])
    return powers


def _by_window(laws: TwoLaws, n: int, sums: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """The same for many reports of little variance: the law in a window of 12 standard deviations to either side."""
    (mean_in, most_in, *_), (mean_out, most_out, *_) = laws.inside.cumulants, laws.outside.cumulants
    reach = math.ceil(12 * math.sqrt(n * max(most_in, most_out))) + 40
    size = 1 << (2 * reach + 1).bit_length()
    inside, outside = laws.transforms(size)

    def below(c: IntArray, m: IntArray) -> FloatArray:
        values, which = np.unique(m, return_inverse=True)
        mass = np.fft.irfft(inside ** values[:, None] * outside ** (n - values[:, None]), size)
        # what is seen modulo the size of the grid starts at the window's left end
        starts = np.rint(values * mean_in + (n - values) * mean_out).astype(np.int64) - size // 2
        at = (starts[:, None] - n * laws.first + np.arange(size)) % size
        at_most = np.cumsum(np.clip(np.take_along_axis(mass, at, axis=1), 0.0, 1.0), axis=1)
        column = c - starts[which.ravel()]
        found = at_most[which.ravel(), np.clip(column, 0, size - 1)]
        return np.where(column < 0, 0.0, np.where(column >= size, 1.0, found))

    return limits_by_halving(below, sums, np.full(sums.shape, n), tail - _ROUNDING)
