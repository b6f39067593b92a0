"""Numbers rounded in a stated direction.

For people bounds are rounded up, and zero has no sign. Of exact fractions as floats, a price is rounded up and what is
left is rounded down.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from tacit._base.languages import figures, gettext

if TYPE_CHECKING:
    from tacit._base.arrays import FloatArray, IntArray

_SAME: Final = 1e-9  # the last digits of a float are not worth a larger bound


def round_up(value: float, digits: int) -> float:
    """Return the least number of so many decimals that is not below ``value``.

    >>> round_up(2.0151, 2), round_up(9.000000000000002, 2)
    (2.02, 9.0)
    """
    scale = 10.0**digits
    return math.ceil(value * (1 - _SAME) * scale) / scale


def at_most(value: float) -> str:
    """Return a bound on a factor: two decimals below 10, one below 100, whole above, never below the value.

    >>> at_most(9.025), at_most(20.0855), at_most(364.9), at_most(9.000000000000002)
    ('9.03', '20.1', '365', '9.00')
    """
    if value == math.inf:
        return gettext("unlimited")
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return figures(f"{round_up(value, digits):,.{digits}f}")


def percent_at_most(share: float) -> str:
    """Return a bound on a share, in percent with one decimal.

    >>> percent_at_most(0.36001)
    '36.1%'
    """
    return figures(f"{round_up(100 * share, 1):.1f}%")


def epsilon_at_most(epsilon: float) -> str:
    """Return an epsilon with up to four decimals, never below it.

    >>> epsilon_at_most(2.1972245773362196), epsilon_at_most(0.5)
    ('2.1973', '0.5')
    """
    if epsilon == math.inf:
        return gettext("unlimited")
    digits = 4 if epsilon >= 0.001 else 10  # two digits of the smallest; of less four decimals show none
    return figures(f"{round_up(epsilon, digits):.10g}")


def whole(value: float) -> str:
    """Return a whole number with separators.

    >>> whole(-0.2), whole(1234.5)
    ('0', '1,234')
    """
    return figures(f"{round(value) or 0:,}")


def percent(level: float) -> str:
    """Return a level in percent, with as many decimals as it has.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return figures(f"{100 * level:.10g}%")


def whole_limits(limits: FloatArray) -> FloatArray:
    """Return limits of whole numbers as whole numbers: an interval between them holds every whole number that it held.

    >>> import numpy as np
    >>> whole_limits(np.array([147.975, 271.0, 3.4, -0.2])).tolist()
    [148.0, 271.0, 3.0, 0.0]
    """
    import numpy as np

    return np.round(limits) + 0.0


def four_digits(values: FloatArray) -> FloatArray:
    """Return errors to four significant digits; what is zero or not a number stays.

    >>> import numpy as np
    >>> four_digits(np.array([36.24975840816108, 0.0123456, 12345.6, 0.0])).tolist()
    [36.25, 0.01235, 12350.0, 0.0]
    """
    import numpy as np

    return np.array([float(f"{value:.4g}") for value in values.ravel().tolist()]).reshape(values.shape)


def round_to_error(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return values rounded to the second digit of their standard errors, which adds under a thousandth to a variance.

    Where there is no error, values are counts and become whole.

    >>> import numpy as np
    >>> round_to_error(np.array([15287.3, 152.87, 0.1234, 7.0]), np.array([1234.0, 36.2, 0.0567, 0.0])).tolist()
    [15300.0, 153.0, 0.123, 7.0]
    """
    import numpy as np

    pairs = zip(values.ravel().tolist(), _digits(errors).ravel().tolist(), strict=True)
    return np.array([round(value, digits) for value, digits in pairs]).reshape(values.shape) + 0.0


def round_limits(lower: FloatArray, upper: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return limits rounded as :func:`round_to_error` rounds, and outwards; never finer than whole, as counts are.

    >>> import numpy as np
    >>> low, high = round_limits(np.array([12871.2, 147.975]), np.array([17702.6, 271.0]), np.array([1234.0, 36.2]))
    >>> low.tolist(), high.tolist()
    ([12800.0, 148.0], [17800.0, 271.0])
    """
    import numpy as np

    unit = 10.0 ** np.maximum(-_digits(errors), 0)
    return (
        np.where(unit > 1, np.floor(lower / unit) * unit, whole_limits(lower)) + 0.0,
        np.where(unit > 1, np.ceil(upper / unit) * unit, whole_limits(upper)) + 0.0,
    )


def _digits(errors: FloatArray) -> IntArray:
    """Return how many decimals reach the second digit of each error; below zero they are tens and hundreds."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = np.floor(np.log10(errors))
    return np.where(np.isfinite(exponents), 1 - exponents, 0).astype(np.int64)


DIGITS: Final = Context(prec=60)  # sixty digits: far more than the 17 of the floats that are stated


def float_above(exact: Fraction | Decimal) -> float:
    """Return the smallest float that is not below the number.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(1, 4))
    (0.1, 0.25)
    >>> float_above(Fraction(1, 3)) > Fraction(1, 3)
    True
    """
    nearest = float(exact)
    return nearest if type(exact)(nearest) >= exact else math.nextafter(nearest, math.inf)


def float_below(exact: Fraction | Decimal) -> float:
    """Return the largest float that is not above the number.

    >>> float_below(Fraction(1, 3)) < Fraction(1, 3)
    True
    """
    return -float_above(-exact)


def rounded_down(value: float, digits: int = 9) -> float:
    """Return a number of so many significant digits that is not above ``value``, for people to type.

    >>> rounded_down(0.40000000000000013), rounded_down(0.123456789123), rounded_down(0.0)
    (0.4, 0.123456789, 0.0)
    """
    if value <= 0:
        return 0.0
    exact = Decimal(value)
    shown = float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding="ROUND_DOWN"))
    return shown if shown <= value else math.nextafter(shown, 0.0)
