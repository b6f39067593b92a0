"""The stated epsilon is exact, and rounding is always against the adversary."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.privacy.epsilon import check_epsilon, log_of_ratio, logistic_threshold
from tacit.randomness.bernoulli import COIN


@given(st.floats(1e-4, 32))
def test_the_logistic_threshold_is_the_least_that_keeps_epsilon(epsilon):
    threshold = logistic_threshold(epsilon)
    assert log_of_ratio(Fraction(COIN - threshold, threshold)) <= epsilon
    less = threshold - 1
    # one step less would give more away than asked (unless it is exactly epsilon to float precision)
    assert log_of_ratio(Fraction(COIN - less, less)) >= epsilon


@given(st.integers(1, COIN - 1), st.integers(1, COIN - 1))
def test_a_stated_logarithm_is_never_below_the_true_one(numerator, denominator):
    stated = log_of_ratio(Fraction(numerator, denominator))
    assert stated == pytest.approx(math.log(numerator) - math.log(denominator), rel=1e-12, abs=1e-12)
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 80
        exact = (Decimal(numerator) / Decimal(denominator)).ln()
        assert Decimal(stated) >= exact
        assert Decimal(math.nextafter(stated, -math.inf)) < exact


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 33, "1", True, None])
def test_an_epsilon_that_protects_nobody_or_is_no_number_is_refused(epsilon):
    with pytest.raises(SettingError, match="epsilon must be"):
        check_epsilon(epsilon)


def test_a_text_that_looks_like_an_epsilon_is_called_a_text():
    with pytest.raises(SettingError, match=r"must be a number of at least 1e-06; got epsilon='1', a text\. From"):
        check_epsilon("1")
