"""The fields are fields, their polynomials the least primitive ones, and linear shortcuts equal the long way."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit._base import galois
from tacit.errors import SettingError

DEGREES = range(1, galois.LARGEST_DEGREE + 1)


def slow_product(a: int, b: int, modulus: int) -> int:
    """Schoolbook: multiply the polynomials, then divide."""
    whole = 0
    for i in range(b.bit_length()):
        whole ^= (b >> i & 1) * (a << i)
    return remainder(whole, modulus)


def remainder(a: int, modulus: int) -> int:
    while a.bit_length() >= modulus.bit_length():
        a ^= modulus << (a.bit_length() - modulus.bit_length())
    return a


def slow_power(a: int, exponent: int, modulus: int) -> int:
    result, a = remainder(1, modulus), remainder(a, modulus)
    while exponent:
        if exponent & 1:
            result = slow_product(result, a, modulus)
        a, exponent = slow_product(a, a, modulus), exponent >> 1
    return result


def common_divisor(a: int, b: int) -> int:
    while b:
        a, b = b, remainder(a, b)
    return a


def primes_of(n: int) -> set[int]:
    found, divisor = set(), 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            found.add(divisor)
            n //= divisor
        divisor += 1
    return found | ({n} if n > 1 else set())


def is_irreducible(modulus: int) -> bool:
    """Rabin's test: x^(2^m) = x, and x^(2^(m/r)) - x has no factor in common for any prime r that divides m."""
    m = modulus.bit_length() - 1
    if slow_power(2, 1 << m, modulus) != remainder(2, modulus):
        return False
    return all(
        common_divisor(modulus, slow_power(2, 1 << m // r, modulus) ^ remainder(2, modulus)) == 1 for r in primes_of(m)
    )


def is_primitive(modulus: int) -> bool:
    order = (1 << modulus.bit_length() - 1) - 1
    return (
        modulus & 1 == 1
        and is_irreducible(modulus)
        and all(slow_power(2, order // prime, modulus) != 1 for prime in primes_of(order))
    )


@pytest.mark.parametrize("degree", DEGREES)
def test_the_polynomial_is_irreducible_and_the_least_primitive_one(degree):
    modulus = galois.polynomial(degree)
    assert modulus.bit_length() == degree + 1
    assert is_irreducible(modulus)
    assert is_primitive(modulus)
    assert not any(is_primitive(smaller) for smaller in range(1 << degree, modulus))


def test_reducible_and_imprimitive_polynomials_are_told_apart():
    assert not is_irreducible(0b101)  # (x + 1)^2
    assert not is_irreducible(0b110)
    assert is_irreducible(0b11111)
    assert not is_primitive(0b11111)  # x^5 = 1


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_small_fields_multiply_as_by_hand(degree):
    a, b = np.array(list(product(range(1 << degree), repeat=2))).T
    right = [slow_product(x, y, galois.polynomial(degree)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert galois.multiply(a, b, degree).tolist() == right


@given(st.integers(1, galois.LARGEST_DEGREE), st.data())
def test_products_of_any_field_are_schoolbook_products(degree, data):
    element = st.integers(0, (1 << degree) - 1)
    a, b = data.draw(element), data.draw(element)
    right = slow_product(a, b, galois.polynomial(degree))
    assert galois.multiply(np.array([a]), np.array([b]), degree).tolist() == [right]


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 10, 14])
def test_every_element_but_zero_has_its_inverse(degree):
    inverse = galois.inverses(degree)
    assert galois.multiply(np.arange(1 << degree), inverse, degree).tolist() == [0] + [1] * ((1 << degree) - 1)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_forms_read_the_top_bits_of_every_product(degree):
    size = 1 << degree
    for n_top in range(1, degree + 1):
        for most in (1, 8, 1 << 20):
            seen = 0
            for first, vectors in galois.form_blocks(degree, n_top, most):
                for s, row in enumerate(vectors.tolist()):
                    for a, u in enumerate(row, first):
                        for v in range(size):
                            top = slow_product(a, v, galois.polynomial(degree)) >> (degree - n_top)
                            assert (s & top).bit_count() % 2 == (u & v).bit_count() % 2
                seen += vectors.shape[1]
            assert seen == size


def test_the_walsh_hadamard_transform_is_its_definition_and_undoes_itself():
    values = np.random.default_rng(1).integers(-100, 100, (16, 3))
    signs = np.array([[1 - 2 * ((u & v).bit_count() % 2) for u in range(16)] for v in range(16)])
    transformed = values.copy()
    galois.walsh_hadamard(transformed)
    assert transformed.tolist() == (signs @ values).tolist()
    galois.walsh_hadamard(transformed)
    assert transformed.tolist() == (16 * values).tolist()


@pytest.mark.parametrize("degree", [0, -1, galois.LARGEST_DEGREE + 1])
def test_a_degree_without_a_polynomial_is_refused(degree):
    with pytest.raises(SettingError, match="degree must"):
        galois.polynomial(degree)
