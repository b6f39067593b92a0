r"""Discrete Gaussian noise, exactly: integers z with probability proportional to exp(-z**2 / (2 variance)).

.. math:: P(z) = \frac{e^{-z^2/(2v)}}{\sum_{j \in \mathbb Z} e^{-j^2/(2v)}}

Up to a variance of 2**14 the magnitude is drawn by inverting its cumulative probabilities, with as many digits of these
real numbers as it takes (``tacit.randomness.inversion``); the lowest bit of the same word is its sign.

Beyond, a magnitude is :math:`2^s x + y`, proposed and then accepted or not:

* x by inversion, with probability proportional to :math:`e^{-(2^s x)^2/(2v)}`, and a sign;
* y uniform on :math:`0 \dots 2^s - 1`;
* accepted with probability :math:`e^{-a/(2v)}`, :math:`a = y (y + 2^{s+1} x)`, unless it is a negative zero.

The product of both is :math:`e^{-(2^s x + y)^2/(2v)}`. Since a block has at most a 32nd of the standard deviation, one
or two proposals in a hundred are rejected. A 64-bit word is heads where it is below :math:`2^{64} e^{-a/(2v)}`;
that number is known from tables, a factor for each group of binary digits of a, up to an error of a few units, and
words that lie within the error are decided by enclosing the real number (``tacit.randomness.inversion``).

Every proposal takes the same number of words (one, or three) and of steps, and how many proposals are rejected is
independent of the value accepted. Only where digits do not decide, with probability below 2**-52 for each z, does the
time depend on the value.

The order of the words is fixed, so that a seed or key gives the same noise with compiled and with plain kernels:
``CHUNK`` values at a time, first a word for each x, then for each y, then for each coin; then the same for those
rejected. Where digits do not decide, the further ones follow the words they continue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import Kernels, inversion_kernels
from tacit._base.validation import check_at_least
from tacit.errors import SettingError
from tacit.randomness.inversion import (
    Enclosure,
    Inversion,
    coarser,
    exact_positive,
    exp_minus,
    product,
    quotient,
    settle,
)
from tacit.randomness.source import Randomness

LARGEST_VARIANCE: Final = 1 << 50
"""Here a 64-bit integer is exceeded with probability below exp(-2**34)."""

LARGEST_TABLED_VARIANCE: Final = 1 << 14  # beyond, values are drawn in blocks, whose table is shorter
CHUNK: Final = 1 << 16  # values whose words fit in half a MiB

_LARGEST_BLOCK_VARIANCE: Final = 1 << 12  # of the blocks: their table stays short
_GROUP_BITS: Final = 10  # of an exponent whose powers are listed together: 8 KiB
_GUARD_BITS: Final = 64  # by which enclosures are finer than what is asked for


def discrete_gaussian(count: int, variance: Fraction | float, *, randomness: Randomness) -> NDArray[np.int64]:
    r"""Draw ``count`` independent integers of discrete Gaussian noise.

    Privacy:   counts plus this noise are rho-zCDP with rho = s**2 / (2 variance) where one unit changes them by at most
               s in the Euclidean norm, exactly: neither a float nor a last digit nor a largest value adds to that.
    Error:     at most ``variance``, and equal to it up to rounding from 4 on: ``gaussian_variance``.
    Cost:      one word and one comparison each; three words above a variance of 2**14.
    Reference: Canonne2020.

    >>> from tacit.randomness import SeededRandomness
    >>> noise = discrete_gaussian(100_000, Fraction(9, 2), randomness=SeededRandomness(3))
    >>> noise.dtype, bool(abs(noise.mean()) < 0.1), bool(abs(noise.var() / 4.5 - 1) < 0.1)
    (dtype('int64'), True, True)
    """
    check_at_least(0, count=count)
    exact = _checked(variance)
    out = np.empty(count, np.int64)
    sampler: _Tabled | _Blocked
    if exact <= LARGEST_TABLED_VARIANCE:
        sampler = _tabled(exact)
        kernels = inversion_kernels(count)
    else:
        sampler = _blocked(exact)
        kernels = inversion_kernels(3 * count)
    for first in range(0, count, CHUNK):
        sampler.draw(out[first : first + CHUNK], kernels, randomness)
    return out


def gaussian_variance(variance: Fraction | float) -> float:
    """Return the variance of discrete Gaussian noise: a little below the parameter where that is small.

    >>> gaussian_variance(100), round(gaussian_variance(0.25), 4)
    (100.0, 0.215)
    """
    v = float(_checked(variance))
    if v >= 4:  # the relative difference, about 16 pi**2 v exp(-2 pi**2 v), is below 1e-30
        return v
    if v < 1 / 2000:  # exp(-1000) is no float above 0
        return 0.0
    # at a variance below 4 a number beyond 77 has a chance of 0 among floats
    masses = [math.exp(-z * z / (2 * v)) for z in range(1, 80)]
    return 2 * math.fsum(z * z * mass for z, mass in enumerate(masses, 1)) / (1 + 2 * math.fsum(masses))


@dataclass(frozen=True, slots=True)
class _Tabled:
    """Magnitudes by one table."""

    magnitudes: Inversion

    def draw(self, out: NDArray[np.int64], kernels: Kernels, randomness: Randomness) -> None:
        words = randomness.words(out.size)
        self.magnitudes.draw(words, out, kernels, randomness)
        kernels.sign(words, out)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocked:
    """Blocks of 2**n_low_bits magnitudes by a table, the place in them by trial.

    Row j of ``factors`` holds a lower bound on exp(-d * 2**(10 j) / (2 variance)) * 2**64 for d = 0 .. 1023, less than
    two below it. A product of n of them, each rounded down, is then less than 3 n below the real one.
    """

    variance: Fraction
    blocks: Inversion
    n_low_bits: int
    factors: NDArray[np.uint64]

    def draw(self, out: NDArray[np.int64], kernels: Kernels, randomness: Randomness) -> None:
        rejected = np.flatnonzero(self._propose(out, kernels, randomness))
        while rejected.size:
            again = np.empty(rejected.size, np.int64)
            still = self._propose(again, kernels, randomness)
            out[rejected] = again
            rejected = rejected[still]

    def _propose(self, out: NDArray[np.int64], kernels: Kernels, randomness: Randomness) -> NDArray[np.bool_]:
        """Overwrite ``out`` with a proposal each, and say which are rejected."""
        signs = randomness.words(out.size)
        self.blocks.draw(signs, out, kernels, randomness)
        places, coins = randomness.words(out.size), randomness.words(out.size)
        rejected, is_open = np.empty(out.size, np.bool_), np.empty(out.size, np.bool_)
        error = 3 * len(self.factors)
        if kernels.place(signs, places, coins, self.n_low_bits, self.factors, error, out, rejected, is_open):
            for i in np.flatnonzero(is_open):
                rejected[i] = self._is_tails(abs(int(out[i])), int(coins[i]), randomness)
        return rejected

    def _is_tails(self, magnitude: int, coin: int, randomness: Randomness) -> bool:
        """Decide by the real number: exp((block start)**2 / 2v - magnitude**2 / 2v)."""
        block = magnitude >> self.n_low_bits << self.n_low_bits
        exponent = (magnitude**2 - block**2) / (2 * self.variance)
        return settle(partial(_chance, exponent), coin, 64, randomness) == 1


@lru_cache(maxsize=64)
def _tabled(variance: Fraction) -> _Tabled:
    return _Tabled(Inversion.of(partial(_magnitude_distribution, variance, 2)))


@lru_cache(maxsize=16)
def _blocked(variance: Fraction) -> _Blocked:
    n_low_bits = 0
    while variance > _LARGEST_BLOCK_VARIANCE << 2 * n_low_bits:
        n_low_bits += 1
    blocks = Inversion.of(partial(_magnitude_distribution, variance / (1 << 2 * n_low_bits), 1))
    # a block 16 times beyond the table comes with probability exp(-10**4), and is then decided without one
    largest_excess = blocks.thresholds.size << 2 * n_low_bits + 5
    n_groups = -(-largest_excess.bit_length() // _GROUP_BITS)
    rates = [(1 << _GROUP_BITS * group) / (2 * variance) for group in range(n_groups)]
    return _Blocked(variance, blocks, n_low_bits, np.array([_powers(rate) for rate in rates], np.uint64))


def _powers(rate: Fraction) -> list[int]:
    """Return lower bounds on 2**64 exp(-d rate), less than two below it, for d = 0 .. 1023."""
    bits = 64 + _GUARD_BITS
    factor = exp_minus(rate, bits)
    power, powers = (1 << bits, 1 << bits), []
    for _ in range(1 << _GROUP_BITS):
        powers.append(min(power[0] >> _GUARD_BITS, (1 << 64) - 1))
        power = product(power, factor, bits)
    return powers


def _magnitude_distribution(variance: Fraction, weight: int, bits: int) -> Iterator[Enclosure]:
    """Enclose the cumulative probabilities of 0, 1, 2, ..., whose masses are 1 and ``weight`` * exp(-k**2 / 2v)."""
    fine = bits + _GUARD_BITS
    one = 1 << fine
    sums = [(one, one)]
    mass, ratio, step = (one, one), exp_minus(1 / (2 * variance), fine), exp_minus(1 / variance, fine)
    while True:
        mass, ratio = product(mass, ratio, fine), product(ratio, step, fine)
        if not mass[0]:
            break
        sums.append((sums[-1][0] + weight * mass[0], sums[-1][1] + weight * mass[1]))
    # the masses left fall at least as fast as powers of the last ratio
    left = quotient((0, weight * mass[1]), (one - ratio[1], one), fine)[1]
    total = sums[-1][0], sums[-1][1] + left
    for part in sums:
        low, high = coarser(quotient(part, total, fine), _GUARD_BITS)
        yield low, min(high, 1 << bits)
    while True:
        yield low, 1 << bits


def _chance(exponent: Fraction, bits: int) -> Iterator[Enclosure]:
    """Yield the distribution of a coin that is 0 with probability exp(-exponent)."""
    yield exp_minus(exponent, bits)


def _checked(variance: Fraction | float) -> Fraction:
    exact = exact_positive(variance=variance)
    if exact > LARGEST_VARIANCE:
        raise SettingError(
            f"variance must be at most 2**50; got variance={variance}. "
            "Noise this large leaves nothing to see: spend more, or ask for less."
        )
    return exact
