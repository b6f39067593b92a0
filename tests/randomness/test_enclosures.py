"""Enclosures hold the real number, and are as narrow as their bits allow."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_exponentials import exp_minus_between
from tacit.errors import SettingError
from tacit.randomness.inversion import coarser, exact_positive, exp_minus, product, quotient

exponents = st.one_of(
    st.fractions(0, 60, max_denominator=10**6),
    st.floats(1e-12, 200.0).map(Fraction),
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 10**30), Fraction(8), Fraction(500)]),
)
all_bits = st.sampled_from([1, 8, 63, 127, 191, 300])
enclosed = st.tuples(st.integers(0, 1 << 40), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(exponent=exponents, bits=all_bits)
def test_exp_lies_in_its_enclosure_and_that_is_narrow(exponent, bits):
    low, high = exp_minus(exponent, bits)
    least, most = exp_minus_between(exponent)
    assert low <= most * (1 << bits)
    assert high >= least * (1 << bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 1 + (exponent != 0)


@pytest.mark.parametrize("bits", [8, 63, 127])
def test_exp_of_a_huge_number_is_almost_nothing_but_not_nothing(bits):
    assert exp_minus(Fraction(10) ** 300, bits) == (0, 1)
    assert exp_minus(Fraction(0), bits) == (1 << bits, 1 << bits)


@given(a=enclosed, b=enclosed, bits=st.integers(1, 50))
def test_products_and_quotients_of_enclosed_numbers_are_enclosed(a, b, bits):
    low, high = product(a, b, bits)
    assert low <= Fraction(a[0] * b[0], 1 << bits)
    assert Fraction(a[1] * b[1], 1 << bits) <= high < Fraction(a[1] * b[1], 1 << bits) + 1
    low, high = quotient(a, (b[0] + 1, b[1] + 1), bits)
    assert low <= Fraction(a[0] << bits, b[1] + 1) < low + 1
    assert Fraction(a[1] << bits, b[0] + 1) <= high < Fraction(a[1] << bits, b[0] + 1) + 1
    low, high = coarser(a, bits)
    assert low << bits <= a[0] < low + 1 << bits
    assert high - 1 << bits < a[1] <= high << bits


def test_a_float_is_the_fraction_it_is():
    assert exact_positive(rate=0.1) == Fraction(3602879701896397, 36028797018963968)
    assert exact_positive(rate=3) == 3
    assert exact_positive(rate=Fraction(1, 10**400)) == Fraction(1, 10**400)


@pytest.mark.parametrize(
    "value", [0, -1, -0.5, Fraction(-1, 3), Fraction(0), float("nan"), float("inf"), True, None, "1"]
)
def test_what_is_not_a_number_above_zero_is_refused(value):
    with pytest.raises(SettingError, match="rate must be a finite number above 0"):
        exact_positive(rate=value)
