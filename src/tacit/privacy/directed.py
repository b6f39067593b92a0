"""Fractions become floats with a direction: a price is rounded up, what is left is rounded down."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

DIGITS: Final = Context(prec=60)


def float_above(exact: Fraction | Decimal) -> float:
    """The smallest float that is not below the number.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(1, 4))
    (0.1, 0.25)
    >>> float_above(Fraction(1, 3)) > Fraction(1, 3)
    True
    """
    nearest = float(exact)
    return nearest if type(exact)(nearest) >= exact else math.nextafter(nearest, math.inf)


def float_below(exact: Fraction | Decimal) -> float:
    """The largest float that is not above the number.

    >>> float_below(Fraction(1, 3)) < Fraction(1, 3)
    True
    """
    return -float_above(-exact)


def rounded_down(value: float, digits: int = 9) -> float:
    """A number of so many significant digits that is not above ``value``, for people to type.

    >>> rounded_down(0.40000000000000013), rounded_down(0.123456789123), rounded_down(0.0)
    (0.4, 0.123456789, 0.0)
    """
    if value <= 0:
        return 0.0
    exact = Decimal(value)
    shown = float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding="ROUND_DOWN"))
    return shown if shown <= value else math.nextafter(shown, 0.0)
