"""Epsilon as an exact statement about integer thresholds.

A coin is heads with probability ``threshold / 2**64``. Thresholds are rounded against the adversary (towards
more noise), and the epsilon we state is computed back from the thresholds that the sampler really uses, rounded
up. It is therefore never below what the code provides.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

from tacit.errors import SettingError
from tacit.randomness.bernoulli import COIN

SMALLEST_EPSILON: Final = 1e-6
LARGEST_EPSILON: Final = 32.0

_DIGITS: Final = Context(prec=60)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a number, or that protects nobody.

    >>> check_epsilon(50.0)
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: epsilon must be at most 32; got epsilon=50.0. Above that a report gives the value away.
    """
    if not (isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and epsilon >= SMALLEST_EPSILON):
        raise SettingError(
            f"epsilon must be a number of at least {SMALLEST_EPSILON:g}; got epsilon={epsilon}. "
            "From 0.5 (strong protection, large error) to 4 (weak protection, small error) is usual."
        )
    if not epsilon <= LARGEST_EPSILON:
        raise SettingError(
            f"epsilon must be at most {LARGEST_EPSILON:g}; got epsilon={epsilon}. "
            "Above that a report gives the value away."
        )


def log_of_ratio(ratio: Fraction) -> float:
    """Return the smallest float that is not below ``ln(ratio)``.

    >>> log_of_ratio(Fraction(3))
    1.0986122886681098
    """
    if ratio <= 0:
        raise SettingError("the ratio of two probabilities must be above 0. A threshold of 0 or 2**64 has no epsilon.")
    with localcontext(_DIGITS):
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def logistic_threshold(epsilon: float) -> int:
    r"""Return the least threshold whose probability is at least :math:`1/(1+e^\epsilon)`.

    >>> round(logistic_threshold(math.log(3)) / COIN, 12)
    0.25
    """
    with localcontext(_DIGITS) as context:
        context.rounding = ROUND_CEILING
        share = Decimal(1) / (Decimal(1) + Decimal(epsilon).exp())
        return int((share * COIN).to_integral_value(rounding=ROUND_CEILING))
