r"""Discrete Laplace noise, exactly: integers z with probability proportional to exp(-rate |z|) for the real rate.

.. math:: P(z) = \frac{1-q}{1+q}\, q^{|z|}, \qquad q = e^{-\text{rate}}

The magnitude is drawn by inverting its cumulative probabilities, :math:`1 - 2 q^{k+1}/(1+q)`, with as many digits of
these real numbers as it takes (``tacit.randomness.inversion``); the lowest bit of the same word is its sign, which zero
has no use for. Nothing is rejected.

A rate below 1/32 would need a long table. There a magnitude above 0 is :math:`1 + 2^s h + l`: the block h and the place
l in it are independent, since :math:`q^{2^s h + l} = (q^{2^s})^h \cdot q^l`, and so are the groups of binary digits
of l, of at most eight each. Block and groups are drawn with a word and a table each. The largest block has no bound:
where a table ends the search goes on, so there is no cut-off, and no delta.

The number of words, 1 to 6 for each z, depends on the rate alone, except where 63 digits do not decide: with
probability below 2**-51 for each z.

The order of the words is fixed, so that a seed or key gives the same noise with compiled and with plain kernels:
``CHUNK`` values at a time, first a word for each block, then for each lowest group of digits, ...; where 63 digits do
not decide, the further ones follow the words they continue.
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
from tacit.randomness.inversion import Enclosure, Inversion, coarser, exact_positive, exp_minus, product, quotient
from tacit.randomness.source import Randomness

SMALLEST_RATE: Final = Fraction(1, 1 << 40)
"""At this rate 2**62 is exceeded with probability exp(-2**22): integers of 64 bits suffice."""

CHUNK: Final = 1 << 16  # values whose words fit in half a MiB

_SMALLEST_BLOCK_RATE: Final = Fraction(1, 32)  # below, values are drawn in blocks, whose table stays short
_GROUP_BITS: Final = 8  # of a value drawn by one table of 256 entries
_GUARD_BITS: Final = 64  # by which enclosures are finer than what is asked for


def discrete_laplace(count: int, rate: Fraction | float, *, randomness: Randomness) -> NDArray[np.int64]:
    r"""Draw ``count`` independent integers of discrete Laplace noise.

    Privacy:   a count plus this noise is rate-differentially private where one unit changes it by at most 1, exactly:
               neither a float nor a last digit nor a largest value adds to that.
    Error:     variance 1 / (cosh(rate) - 1), below 2 / rate**2: ``laplace_variance``.
    Cost:      one word and one comparison each for rates from 1/32 up, two for rates from 1/8192 up.
    Reference: Ghosh2012.

    >>> from tacit.randomness import SeededRandomness
    >>> noise = discrete_laplace(100_000, Fraction(1, 2), randomness=SeededRandomness(3))
    >>> noise.dtype, bool(abs(noise.mean()) < 0.1), bool(abs(noise.var() / laplace_variance(0.5) - 1) < 0.1)
    (dtype('int64'), True, True)
    """
    check_at_least(0, count=count)
    tables = _tables(_checked(rate))
    out = np.empty(count, np.int64)
    kernels = inversion_kernels(count * (1 + len(tables.groups)))
    words = np.empty(min(count, CHUNK), np.uint64)
    for first in range(0, count, CHUNK):
        part = out[first : first + CHUNK]
        tables.draw(words[: part.size], part, kernels, randomness)
    return out


def laplace_variance(rate: Fraction | float) -> float:
    """Return the variance of discrete Laplace noise: 2 q / (1 - q)**2 with q = exp(-rate).

    >>> round(laplace_variance(math.log(2)), 12)
    4.0
    """
    exact = _checked(rate)
    return 0.5 / math.sinh(float(exact) / 2) ** 2 if exact < 700 else 0.0  # beyond, the square may be no float


@dataclass(frozen=True, slots=True)
class _Tables:
    """The block of a magnitude, and the groups of binary digits of the place in it, the lowest first."""

    blocks: Inversion
    groups: tuple[tuple[int, Inversion], ...]
    n_low_bits: int

    def draw(
        self,
        words: NDArray[np.uint64],
        out: NDArray[np.int64],
        kernels: Kernels,
        randomness: Randomness,
    ) -> None:
        randomness.fill(words)
        self.blocks.draw(words, out, kernels, randomness)
        if self.groups:
            low, digits = np.zeros_like(out), np.empty_like(out)
            group_words = np.empty_like(words)
            for first_bit, group in self.groups:
                randomness.fill(group_words)
                group.draw(group_words, digits, kernels, randomness)
                low += digits << first_bit
            kernels.join(out, low, self.n_low_bits)
        kernels.sign(words, out)


@lru_cache(maxsize=64)
def _tables(rate: Fraction) -> _Tables:
    n_low_bits = 0
    while rate * (1 << n_low_bits) < _SMALLEST_BLOCK_RATE:
        n_low_bits += 1
    groups = []
    for first_bit in range(0, n_low_bits, _GROUP_BITS):
        size = 1 << min(_GROUP_BITS, n_low_bits - first_bit)
        groups.append((first_bit, Inversion.of(partial(_group_distribution, rate * (1 << first_bit), size))))
    return _Tables(Inversion.of(partial(_block_distribution, rate, n_low_bits)), tuple(groups), n_low_bits)


def _block_distribution(rate: Fraction, n_low_bits: int, bits: int) -> Iterator[Enclosure]:
    """Enclose P(z = 0), then P(|z| <= 2**s), P(|z| <= 2 * 2**s), ...: what is left is 2 q / (1 + q) times powers."""
    fine = bits + _GUARD_BITS
    one = 1 << fine
    low, high = exp_minus(rate, fine)
    left = quotient((2 * low, 2 * high), (one + low, one + high), fine)
    factor = exp_minus(rate * (1 << n_low_bits), fine)
    while True:
        yield coarser((one - left[1], one - left[0]), _GUARD_BITS)
        left = product(left, factor, fine)


def _group_distribution(rate: Fraction, size: int, bits: int) -> Iterator[Enclosure]:
    """Enclose the cumulative probabilities of the geometric distribution of this rate on 0 .. size - 1."""
    fine = bits + _GUARD_BITS
    one = 1 << fine
    low, high = exp_minus(rate * size, fine)
    whole = one - high, one - low
    factor = left = exp_minus(rate, fine)
    for _ in range(size - 1):
        yield coarser(quotient((one - left[1], one - left[0]), whole, fine), _GUARD_BITS)
        left = product(left, factor, fine)


def _checked(rate: Fraction | float) -> Fraction:
    exact = exact_positive(rate=rate)
    if exact < SMALLEST_RATE:
        raise SettingError(
            f"rate must be at least 2**-40; got rate={rate}. "
            "Noise this large leaves nothing to see: spend more, or ask for less."
        )
    return exact
