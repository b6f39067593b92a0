r"""Epsilon as an exact statement about integer thresholds, and its conversion to and from zCDP.

A coin is heads with probability ``threshold / 2**64``. Thresholds are rounded against the adversary (towards
more noise), and the epsilon we state is computed back from the thresholds that the sampler really uses, rounded
up. It is therefore never below what the code provides.

A mechanism of :math:`\rho`-zCDP is :math:`(\epsilon, \delta)`-private for every :math:`\alpha > 1` with

.. math:: \epsilon = \alpha\rho + \ln\Bigl(1 - \frac1\alpha\Bigr) + \frac{\ln(1/\delta) - \ln\alpha}{\alpha - 1}

(Canonne2020, proposition 12). Any alpha gives a bound that holds; the best is searched in floats, and the bound at that
alpha is then computed to 60 digits and rounded against us.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

from tacit._base.rounding import DIGITS, float_above, float_below
from tacit._base.validation import check_positive, check_share, shown
from tacit.errors import SettingError
from tacit.randomness.bernoulli import COIN

SMALLEST_EPSILON: Final = 1e-6  # below, thresholds out of 2**64 would keep too few digits of it
LARGEST_EPSILON: Final = 32.0  # odds of 8e13: above, nothing is protected


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a number, or that protects nobody.

    >>> check_epsilon(50.0)
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: epsilon must be at most 32; got epsilon=50.0. Above that a report gives the value away.
    """
    if not (isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and epsilon >= SMALLEST_EPSILON):
        raise SettingError(
            f"epsilon must be a number of at least {SMALLEST_EPSILON:g}; got epsilon={shown(epsilon)}. "
            "From 0.5 (strong protection, large error) to 4 (weak protection, small error) is usual."
        )
    if not epsilon <= LARGEST_EPSILON:
        raise SettingError(
            f"epsilon must be at most {LARGEST_EPSILON:g}; got epsilon={epsilon}. "
            "Above that a report gives the value away."
        )


def largest_belief(epsilon: float, n_values: int) -> float:
    """Return the most that anyone can believe in one of ``n_values`` values that were equally likely to them before.

    >>> round(largest_belief(2 * math.log(3), 17), 12)
    0.36
    """
    return 1 / (1 + (n_values - 1) * math.exp(-epsilon))


@lru_cache(maxsize=4096)
def log_of_ratio(ratio: Fraction) -> float:
    """Return the smallest float that is not below ``ln(ratio)``.

    >>> log_of_ratio(Fraction(3))
    1.0986122886681098
    """
    if ratio <= 0:
        raise SettingError("the ratio of two probabilities must be above 0. A threshold of 0 or 2**64 has no epsilon.")
    with localcontext(DIGITS):
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def logistic_threshold(epsilon: float) -> int:
    r"""Return the least threshold whose probability is at least :math:`1/(1+e^\epsilon)`.

    >>> round(logistic_threshold(math.log(3)) / COIN, 12)
    0.25
    """
    with localcontext(DIGITS) as context:
        context.rounding = ROUND_CEILING
        share = Decimal(1) / (Decimal(1) + Decimal(epsilon).exp())
        return int((share * COIN).to_integral_value(rounding=ROUND_CEILING))


_GOLDEN: Final = (math.sqrt(5) - 1) / 2  # the golden ratio less 1
_SEARCH: Final = (-25.0, 60.0)  # of ln(alpha - 1)
_STEPS: Final = 110  # each keeps 0.618 of the range: 110 leave 85 * 1e-23
_ERROR: Final = Decimal("1e-45")  # more than what 60 digits may lose here


@lru_cache(maxsize=4096)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the epsilon that rho-zCDP gives at this delta; never below the tight conversion.

    >>> round(epsilon_of_rho(0.5, 1e-6), 4)
    5.2215
    """
    check_share(delta=delta)
    if rho == 0:
        return 0.0
    check_positive(rho=rho)

    def bound(x: float) -> float:
        return rho * (1 + math.exp(x)) + _offset(x, delta)

    a = Decimal(math.exp(_lowest(bound)))
    with localcontext(DIGITS):
        exact = Decimal(rho) * (1 + a) + _exact_offset(a, delta)
        return max(0.0, float_above(exact + _ERROR))


@lru_cache(maxsize=4096)
def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho whose releases stay within (epsilon, delta).

    >>> rho = largest_rho(1.0, 1e-6)
    >>> round(rho, 6), epsilon_of_rho(rho, 1e-6) <= 1.0
    (0.024356, True)
    """
    check_positive(epsilon=epsilon)
    check_share(delta=delta)

    def bound(x: float) -> float:
        return (_offset(x, delta) - epsilon) / (1 + math.exp(x))

    a = Decimal(math.exp(_lowest(bound)))
    with localcontext(DIGITS):
        exact = (Decimal(epsilon) - _exact_offset(a, delta)) / (1 + a)
        rho = max(0.0, float_below(exact - _ERROR))
    # the search for the other direction may stop beside this alpha, by less than a float's last digits
    while rho and epsilon_of_rho(rho, delta) > epsilon:
        rho = math.nextafter(rho * (1 - 2**-50), 0.0)
    return rho


def rho_of_epsilon(epsilon: float) -> float:
    """Return the zCDP cost of a pure epsilon, epsilon**2 / 2 (Bun2016); rounded up.

    >>> rho_of_epsilon(1.0)
    0.5
    """
    return float_above(Fraction(epsilon) ** 2 / 2)


def _offset(x: float, delta: float) -> float:
    """Return the part of the bound without rho, at alpha = 1 + exp(x)."""
    inverse = math.exp(-x)  # of alpha - 1; a difference of logarithms would lose all digits of a tiny bound
    return -math.log1p(inverse) - (math.log(delta) + math.log1p(math.exp(x))) * inverse


def _exact_offset(a: Decimal, delta: float) -> Decimal:
    log_alpha = (1 + a).ln()
    return a.ln() - log_alpha - (Decimal(delta).ln() + log_alpha) / a


def _lowest(bound: Callable[[float], float]) -> float:
    """Return the lowest bound by golden section; bounds fall and then rise, as ln delta is convex in alpha."""
    low, high = _SEARCH
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = bound(inner), bound(outer)
    for _ in range(_STEPS):
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _GOLDEN * (high - low)
            at_inner = bound(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _GOLDEN * (high - low)
            at_outer = bound(outer)
    return inner if at_inner <= at_outer else outer
