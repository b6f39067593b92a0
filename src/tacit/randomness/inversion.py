r"""Draw from a distribution on 0, 1, 2, ... by its cumulative probabilities, exactly, with one word for each draw.

A real number x is enclosed at b bits by integers with ``low <= 2**b * x <= high``. Every step rounds outwards, so that
an enclosure is a proof, and a decision that it leaves open is taken with more bits.

The uniform number U has the upper 63 bits of a word as its first binary digits. The draw is the number of k with
:math:`F(k) \le U`, and :math:`P(k) = F(k) - F(k-1)`. Of the real number F(k) a table holds the first 63 digits,

.. math:: c_k = \lfloor 2^{63} F(k) \rfloor ,

and digits u of U that differ from all :math:`c_k` decide. Where they equal one, U may lie on either side of F(k): then
a word brings the next 64 digits of U, to be compared with F(k) enclosed at as many bits, and so on until they differ.
So every draw has the probability of the real distribution, not of one rounded to 63 digits.

Every draw takes one word, one look at a guide to the table and one comparison. A word is undecided with probability
(entries of the table) / 2**63: below 2**-52 for the tables made here. Only then does the number of words and steps
depend on the draw. (The plain kernels leave the search to NumPy, whose steps may differ by a few nanoseconds; and
which entries are read depends on the draw, for whoever can watch the processor's cache.) The lowest bit of each word
takes no part: it is the sign, where one is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import Kernels
from tacit._base.validation import check_positive
from tacit.errors import SettingError
from tacit.randomness.source import Randomness

Enclosure = tuple[int, int]


@lru_cache(maxsize=256)
def exp_minus(exponent: Fraction, bits: int) -> Enclosure:
    """Enclose exp(-exponent) for an exponent of at least 0.

    Decimal's exp is correctly rounded; the exponent as a decimal is rounded to either side before.

    >>> exp_minus(Fraction(0), 8), exp_minus(Fraction(1), 16), round(2**16 / 2.718281828459045, 3)
    ((256, 256), (24109, 24110), 24109.347)
    """
    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent >= bits:  # exp(-bits) is below 2**-bits
        return 0, 1
    n_digits = bits // 3 + 10
    least, most = (
        Context(prec=n_digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
        for rounding in (ROUND_FLOOR, ROUND_CEILING)
    )
    numerator, denominator = Decimal(-exponent.numerator), Decimal(exponent.denominator)
    low = least.next_minus(least.exp(least.divide(numerator, denominator)))
    high = most.next_plus(most.exp(most.divide(numerator, denominator)))
    return scaled_down(Fraction(low), bits), min(scaled_up(Fraction(high), bits), 1 << bits)


def scaled_down(value: Fraction, bits: int) -> int:
    return (value.numerator << bits) // value.denominator


def scaled_up(value: Fraction, bits: int) -> int:
    return -((-value.numerator << bits) // value.denominator)


def product(a: Enclosure, b: Enclosure, bits: int) -> Enclosure:
    """Enclose the product of two numbers of at least 0."""
    return a[0] * b[0] >> bits, -(-a[1] * b[1] >> bits)


def quotient(a: Enclosure, b: Enclosure, bits: int) -> Enclosure:
    """Enclose the quotient of a number of at least 0 and one above 0."""
    return (a[0] << bits) // b[1], -((-a[1] << bits) // b[0])


def coarser(a: Enclosure, bits: int) -> Enclosure:
    """Return the same enclosure with so many bits less."""
    return a[0] >> bits, -(-a[1] >> bits)


def exact_positive(**setting: Fraction | float) -> Fraction:
    """Return the fraction that a setting is, floats included, or an error where it is not a finite number above 0."""
    ((name, value),) = setting.items()
    if not isinstance(value, int | Fraction) or isinstance(value, bool) or value <= 0:
        check_positive(**{name: float(value) if isinstance(value, Fraction) else value})
    return Fraction(value)


DIGITS: Final = 63  # of a word; its lowest bit is the sign
MOST_GUIDE_BITS: Final = 7  # of a word that find its place in the table: a guide of 16 KiB

Distribution = Callable[[int], Iterator[Enclosure]]
"""Encloses F(0), F(1), ... at so many bits, each below 1; ends before the last value, or never."""

_LAST: Final = (1 << DIGITS) - 1
_SPARE_BITS: Final = 64  # beyond the table: more are needed once in 2**64


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """A distribution, the first digits of its cumulative probabilities, and where to look among them.

    ``thresholds`` ascend and end with 2**63 - 1: no digits lie beyond it, and those that equal it are never decided by
    the table. ``guide`` has for each bucket of digits the number of thresholds before it; at most one lies inside. The
    buckets are as in floating-point numbers: with r = 2**63 - 1 - digits + 2**guide_bits, they hold the numbers whose r
    has the same length and the same ``guide_bits`` digits after the first. So they are narrow where many thresholds
    lie close together, and every draw takes one look at the guide and one comparison.
    """

    distribution: Distribution
    thresholds: NDArray[np.uint64]
    guide: NDArray[np.uint16]
    guide_bits: int

    @classmethod
    def of(cls, distribution: Distribution) -> Inversion:
        """Tabulate a distribution whose cumulative probabilities reach 1 - 2**-63, none too close to the next."""
        bits = DIGITS + _SPARE_BITS
        while (listed := _listed(distribution, bits)) is None:  # 64 digits after the 63rd are all ones or all zeros
            bits *= 2
        thresholds = np.array(listed, np.uint64)
        for guide_bits in range(MOST_GUIDE_BITS + 1):
            first, last = _buckets(guide_bits)
            guide = np.searchsorted(thresholds, first)
            if (np.searchsorted(thresholds, last) - guide).max() <= 1:
                break
        else:
            raise AssertionError("more than one threshold lies in a bucket: the distribution has too many values")
        return cls(distribution, thresholds, guide.astype(np.uint16), guide_bits)

    def draw(
        self,
        words: NDArray[np.uint64],
        out: NDArray[np.int64],
        kernels: Kernels,
        randomness: Randomness,
    ) -> None:
        """Overwrite ``out`` with a draw for each word; the source is asked only for digits beyond the 63rd."""
        if kernels.invert(words, self.thresholds, self.guide, self.guide_bits, out):
            digits = words >> np.uint64(1)
            for i in np.flatnonzero(self.thresholds[out] == digits):
                out[i] = settle(self.distribution, int(digits[i]), DIGITS, randomness)


def settle(distribution: Distribution, digits: int, bits: int, randomness: Randomness) -> int:
    """Return the draw for a uniform number that begins with these digits, so many, and goes on with words of 64."""
    while (drawn := _decided(distribution(bits), digits)) is None:
        digits = digits << 64 | int(randomness.words(1)[0])
        bits += 64
    return drawn


def _listed(distribution: Distribution, bits: int) -> list[int] | None:
    listed = []
    for low, high in distribution(bits):
        # beneath 1 is F(k) itself, if not its enclosure
        digits = min(low >> (bits - DIGITS), _LAST)
        if digits != min(high >> (bits - DIGITS), _LAST):
            return None
        listed.append(digits)
        if digits == _LAST:
            return listed
    return [*listed, _LAST]


def _decided(cumulative: Iterator[Enclosure], digits: int) -> int | None:
    """Return the draw for all numbers that begin with these digits, as many as enclosures have bits, or None."""
    k = 0
    for low, high in cumulative:
        if digits < low:
            return k
        if digits < high:
            return None
        k += 1
    return k


@cache
def _buckets(guide_bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first and the last digits of every bucket, in the guide's order: last digits of all come first."""
    offset = 1 << guide_bits
    leading = [(length, offset + after) for length in range(64 - guide_bits) for after in range(offset)]
    first = [_LAST + offset - ((head + 1 << length) - 1) for length, head in leading]
    last = [_LAST + offset - (head << length) for length, head in leading]
    # the longest bucket is beyond the first digits, all zeros
    return np.array([max(0, u) for u in first], np.uint64), np.array([max(0, u) for u in last], np.uint64)


_GUARD_BITS: Final = 64  # by which enclosures are finer than what is asked for


def draw_choice(exponents: Sequence[Fraction], *, randomness: Randomness) -> int:
    r"""Draw the number of one of the exponents x by the exponential mechanism, exactly.

    .. math:: P(i) = \frac{e^{-x_i}}{\sum_j e^{-x_j}}

    for rational exponents. A uniform number is drawn 64 binary digits at a time and compared with integers that enclose
    each cumulative probability, until it is surely on one side of all (:func:`settle`). No float takes part, and
    nothing is rejected. Of n choices one word does not decide with a probability of about 2n / 2**64.

    >>> from tacit.randomness import SeededRandomness
    >>> drawn = [draw_choice([Fraction(0), Fraction(1)], randomness=SeededRandomness(seed)) for seed in range(1000)]
    >>> 640 < drawn.count(0) < 820  # 1000 / (1 + 1/e) is 731
    True
    """
    if not exponents:
        raise SettingError("a choice must have at least one thing to choose; got none.")
    return settle(partial(cumulative, tuple(exponents)), 0, 0, randomness)


def cumulative(exponents: tuple[Fraction, ...], bits: int) -> Iterator[Enclosure]:
    """Enclose the probabilities of the first one, the first two, ... of the choices at so many bits; not of all.

    >>> list(cumulative((Fraction(0), Fraction(0), Fraction(0)), 8))
    [(85, 86), (170, 171)]
    """
    fine, least = bits + _GUARD_BITS, min(exponents)
    weights = [exp_minus(exponent - least, fine) for exponent in exponents]
    sums = list(accumulate(weights, lambda a, b: (a[0] + b[0], a[1] + b[1])))
    for some in sums[:-1]:
        low, high = quotient(some, sums[-1], fine)
        yield coarser((low, min(high, 1 << fine)), _GUARD_BITS)
