r"""Arithmetic in the fields of 2**m elements, for hashing that every platform repeats bit for bit.

An element is a whole number below 2**m whose bit i is the coefficient of x**i. Adding is XOR. Multiplying is the
product of polynomials over {0, 1}, reduced modulo a fixed polynomial of degree m:

.. math:: (x + 1)(x^2 + x) = x^3 + x = 1 \pmod{x^3 + x + 1}

>>> multiply(np.array([0b011]), np.array([0b110]), degree=3).tolist()
[1]

The polynomial of a degree is the numerically least *primitive* one, so nothing about it is chosen: x generates all
elements but 0, which the tests verify. ``docs/hash.md`` specifies all of this for other languages.

Everything here is linear over {0, 1}, and what is built on it uses that: bit j of a product a v is the parity of
u & v for a vector u that depends on a and j alone, and XORs of such vectors list all others (:func:`forms`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError

POLYNOMIALS: Final = (
    *(0x3, 0x7, 0xB, 0x13, 0x25, 0x43, 0x83, 0x11D),
    *(0x211, 0x409, 0x805, 0x1053, 0x201B, 0x402B, 0x8003, 0x1002D),
    *(0x20009, 0x40027, 0x80027, 0x100009, 0x200005, 0x400003, 0x800021, 0x100001B),
)
"""The reducing polynomials of degree 1, 2, ...: bit i is the coefficient of x**i."""

LARGEST_DEGREE: Final = len(POLYNOMIALS)

_PRODUCTS_AT_ONCE: Final = 1 << 13  # 64 KiB

_Number = TypeVar("_Number", bound=np.generic)


def polynomial(degree: int) -> int:
    """Return the polynomial that products of a field of 2**degree elements are reduced by."""
    if not 1 <= degree <= LARGEST_DEGREE:
        raise SettingError(f"degree must lie between 1 and {LARGEST_DEGREE}; got degree={degree}. Use fewer cells.")
    return POLYNOMIALS[degree - 1]


def multiply(a: NDArray[np.integer], b: NDArray[np.integer], degree: int) -> NDArray[np.uint32]:
    """Multiply element by element.

    The same work is done whatever the elements: nothing about them shows in the time it takes.
    """
    products = np.empty(len(a), np.uint32)
    for first in range(0, len(a), _PRODUCTS_AT_ONCE):
        part = slice(first, first + _PRODUCTS_AT_ONCE)
        products[part] = _multiply(a[part].astype(np.uint64), b[part].astype(np.uint64), degree)
    return products


def _multiply(a: NDArray[np.uint64], b: NDArray[np.uint64], degree: int) -> NDArray[np.uint64]:
    shifts, powers = _columns(degree)
    whole = np.bitwise_xor.reduce((a >> shifts[:degree] & np.uint64(1)) * (b << shifts[:degree]), axis=0)
    reduced: NDArray[np.uint64] = np.bitwise_xor.reduce((whole >> shifts & np.uint64(1)) * powers, axis=0)
    return reduced


@lru_cache(maxsize=LARGEST_DEGREE)
def _columns(degree: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the exponents of all powers of x in a product, and those powers, reduced."""
    powers = monomials(degree).astype(np.uint64)[:, None]
    return np.arange(len(powers), dtype=np.uint64)[:, None], powers


@lru_cache(maxsize=LARGEST_DEGREE)
def monomials(degree: int) -> NDArray[np.uint32]:
    """Return x**0, x**1, ... x**(2 degree - 2), reduced: what any product is a sum of.

    >>> monomials(3).tolist()
    [1, 2, 4, 3, 6]
    """
    modulus, powers = polynomial(degree), [1]
    for _ in range(2 * degree - 2):
        power = powers[-1] << 1
        powers.append(power ^ modulus if power >> degree else power)
    return _frozen(np.array(powers, np.uint32))


@lru_cache(maxsize=4)
def inverses(degree: int) -> NDArray[np.uint32]:
    """Return 1 / a for every element a; 0 stands in for the inverse of 0.

    >>> inverses(3).tolist()
    [0, 1, 5, 6, 7, 2, 3, 4]
    """
    size = 1 << degree
    powers = np.ones(size, np.uint32)  # x**0, x**1, ...: all elements but 0, and then 1 again
    factor = np.array([2 if degree > 1 else 1], np.uint32)
    for i in range(degree):
        powers[1 << i : 2 << i] = _times(powers[: 1 << i], int(factor[0]), degree)
        factor = _times(factor, int(factor[0]), degree)
    inverse = np.zeros(size, np.uint32)
    inverse[powers] = powers[::-1]
    return _frozen(inverse)


def _times(elements: NDArray[np.uint32], factor: int, degree: int) -> NDArray[np.uint32]:
    """Multiply many elements by one, in little memory."""
    modulus, product = polynomial(degree), np.zeros_like(elements)
    for i in range(degree):
        product ^= (elements >> np.uint32(i) & np.uint32(1)) * np.uint32(factor)
        factor <<= 1
        factor ^= modulus if factor >> degree else 0
    return product


def forms(degree: int, n_top: int) -> NDArray[np.uint32]:
    r"""Return vectors u[i, j] that read the ``n_top`` highest bits of a product from its factors.

    Bit j of the highest ``n_top`` bits of a v is the parity of :math:`v \wedge \bigoplus_{i: a_i = 1} u_{ij}`.
    """
    powers = monomials(degree)
    i = np.arange(degree)
    bits = powers[i[:, None] + i[None, :]][:, None, :] >> np.arange(degree - n_top, degree)[None, :, None] & 1
    vectors: NDArray[np.uint32] = (bits << i).sum(axis=2).astype(np.uint32)
    return vectors


def form_blocks(degree: int, n_top: int, most: int) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    r"""List the vectors u_s(a) with parity(s & top(a v)) = parity(u_s(a) & v), for all s and blocks of elements a.

    Yields the first a of a block and an array of 2**n_top rows (s) and a column for each a, about ``most`` numbers at a
    time. For every s but 0 the map from a to u_s(a) is one to one.
    """
    basis = forms(degree, n_top)
    low_bits = min(degree, max(0, most.bit_length() - 1 - n_top))
    low, high = spanned(basis[:low_bits]), spanned(basis[low_bits:])
    for block, offset in enumerate(high):
        yield block << low_bits, spanned((low ^ offset).T)


def spanned(basis: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the XORs of all selections of rows: entry s is that of the rows whose bit is set in s.

    >>> spanned(np.array([1, 2, 5], np.uint32)).tolist()
    [0, 1, 2, 3, 5, 4, 7, 6]
    """
    sums = np.zeros((1 << len(basis), *basis.shape[1:]), np.uint32)
    for i, vector in enumerate(basis):
        np.bitwise_xor(sums[: 1 << i], vector, out=sums[1 << i : 2 << i])
    return sums


def walsh_hadamard(values: NDArray[_Number]) -> None:
    r"""Replace ``values[v]`` by the sum over u of :math:`(-1)^{|u \wedge v|}` ``values[u]``, along the first axis.

    >>> values = np.array([1, 0, 2, 0])
    >>> walsh_hadamard(values)
    >>> values.tolist()
    [3, 3, -1, -1]
    """
    half = 1
    while half < len(values):
        pairs: NDArray[Any] = values.reshape(-1, 2, half, *values.shape[1:])
        difference = pairs[:, 0] - pairs[:, 1]
        pairs[:, 0] += pairs[:, 1]
        pairs[:, 1] = difference
        half *= 2


def _frozen(table: NDArray[np.uint32]) -> NDArray[np.uint32]:
    table.flags.writeable = False
    return table
