"""The inversion kernels in plain NumPy: what the compiled ones must equal, and what a device runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_1, _32, _64 = np.uint64(1), np.uint64(32), np.uint64(64)
_LOWER = np.uint64((1 << 32) - 1)


def invert(
    words: NDArray[np.uint64],
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.uint16],
    guide_bits: int,
    out: NDArray[np.int64],
) -> bool:
    """Count the thresholds below the upper 63 bits of each word; say whether any equals one.

    The thresholds ascend and end with 2**63 - 1. The guide to them, of use to the compiled kernel only, has the number
    of thresholds before each bucket of digits, of which at most one lies inside (``tacit.randomness.inversion``).
    """
    digits = words >> _1
    out[:] = np.searchsorted(thresholds, digits)
    return bool((thresholds[out] == digits).any())


def join(blocks: NDArray[np.int64], low: NDArray[np.int64], n_low_bits: int) -> None:
    """Overwrite block b above 0 with 1 + (b - 1) * 2**n_low_bits + low; block 0 remains 0."""
    inside = blocks > 0
    blocks -= 1
    blocks <<= n_low_bits
    blocks += low
    blocks += 1
    blocks *= inside


def sign(words: NDArray[np.uint64], magnitudes: NDArray[np.int64]) -> None:
    """Turn to negative the magnitudes whose word is odd."""
    odd = (words & _1).view(np.int64)
    magnitudes ^= -odd
    magnitudes += odd


def place(
    signs: NDArray[np.uint64],
    places: NDArray[np.uint64],
    coins: NDArray[np.uint64],
    n_low_bits: int,
    factors: NDArray[np.uint64],
    error: int,
    values: NDArray[np.int64],
    rejected: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
) -> bool:
    """Overwrite blocks x with values 2**s x + y and a sign, and say which are rejected.

    The place y is the upper s = n_low_bits bits of its word. A value is kept with a probability that is a product of
    factors, one for each group of binary digits of y * (y + 2**(s + 1) x): row j of ``factors`` is for the j-th group,
    the lowest first, and there is a power of two of columns. The product, in units of 2**-64 and rounded down after
    each factor, is at most ``error`` too small. Values are kept where the coin is below it, rejected where the coin is
    more than ``error`` above, and open between, or if there are digits beyond the groups. A negative zero is rejected.
    Say whether any is open; what ``rejected`` says of an open one has no meaning.
    """
    bits = np.uint64(n_low_bits)
    y, x = places >> (_64 - bits), values.view(np.uint64)
    chance, rest = _chances(y * (y + (x << (bits + _1))), factors)
    np.greater_equal(coins, chance, out=rejected)
    is_open[:] = (rejected & (coins - chance <= np.uint64(error))) | (rest > 0)
    values <<= n_low_bits
    values += y.view(np.int64)
    is_negative_zero = (values == 0) & (signs & _1 > 0)
    rejected |= is_negative_zero
    is_open &= ~is_negative_zero
    sign(signs, values)
    return bool(is_open.any())


def _chances(
    exponents: NDArray[np.uint64], factors: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The products of factors, and the digits beyond the groups."""
    n_bits, mask = np.uint64(factors.shape[1].bit_length() - 1), np.uint64(factors.shape[1] - 1)
    chance, rest = factors[0][exponents & mask], exponents >> n_bits
    for row in factors[1:]:
        chance = _upper_half(chance, row[rest & mask])
        rest >>= n_bits
    return chance, rest


def _upper_half(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper 64 bits of the products of 64-bit numbers, from products of their halves."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOWER, b >> _32, b & _LOWER
    middle = a_high * b_low + (a_low * b_low >> _32)  # below 2**64: (2**32 - 1)**2 + 2**32 - 1
    other = a_low * b_high + (middle & _LOWER)
    upper: NDArray[np.uint64] = a_high * b_high + (middle >> _32) + (other >> _32)
    return upper
