"""Real numbers between two integers: what is needed of exp, as exactly as asked for.

A number x is enclosed at b bits by integers with ``low <= 2**b * x <= high``. Every step rounds outwards, so that an
enclosure is a proof, and a decision that it leaves open is taken with more bits.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from tacit._base.validation import check_positive

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
    """The same enclosure with so many bits less."""
    return a[0] >> bits, -(-a[1] >> bits)


def exact_positive(**setting: Fraction | float) -> Fraction:
    """The fraction that a setting is, floats included, or an error where it is not a finite number above 0."""
    ((name, value),) = setting.items()
    if not isinstance(value, int | Fraction) or isinstance(value, bool) or value <= 0:
        check_positive(**{name: float(value) if isinstance(value, Fraction) else value})
    return Fraction(value)
