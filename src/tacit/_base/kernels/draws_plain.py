"""Kernels that turn random words into coins, integers and noise, in plain NumPy: what the compiled ones must equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALL_LANES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # 64 coins, a bit each


def slice_digits(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    last_lanes: np.uint64,
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> int:
    """Compare 64 random numbers a word with a threshold, binary digit by binary digit.

    Digit d of lane j of output word i is bit j of ``words[d * n + i]``, most significant digit first. A lane
    is heads where its number is below the threshold, and stays undecided while all its digits equal the
    threshold's. ``last_lanes`` is the mask of the lanes that exist in the last word; the others are neither.
    Returns the number of undecided lanes.
    """
    heads[:] = 0
    undecided[:] = _ALL_LANES
    undecided[-1] = last_lanes
    for digit, word in zip(digits.tolist(), words.reshape(-1, heads.size), strict=True):
        if digit:
            heads |= undecided & ~word
            undecided &= word
        else:
            undecided &= ~word
    return int(_ONES[_bytes_of(undecided)].sum(dtype=np.int64))


def deal(undecided: NDArray[np.uint64], coins: NDArray[np.uint64], heads: NDArray[np.uint64]) -> None:
    """Decide the undecided lanes, in ascending order, by one bit of ``coins`` each.

    ``coins`` is two words longer than these bits: what stands there is read, and lost.
    """
    lanes = _bytes_of(undecided)
    n_lanes = _ONES[lanes]
    taken = np.cumsum(n_lanes, dtype=np.int64) - n_lanes
    in_order = _bytes_of(coins)
    from_byte = np.ndarray((in_order.size - 1,), "<u2", in_order, strides=(1,))[taken >> 3]
    next_coins = (from_byte >> (taken & 7).astype(np.uint16)).astype(np.uint8)
    heads |= DEPOSITS[lanes, next_coins].view("<u8")


def _bytes_of(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return words.astype("<u8", copy=False).view(np.uint8)


def _deposits() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    table, n_taken = np.zeros((256, 256), np.uint8), np.zeros(256, np.uint8)
    every_byte = np.arange(256, dtype=np.uint8)
    for lane in np.arange(8, dtype=np.uint8):
        is_set = every_byte >> lane & 1
        table |= (every_byte[None, :] >> n_taken[:, None] & is_set[:, None]) << lane
        n_taken += is_set
    return table, n_taken


DEPOSITS, _ONES = _deposits()
"""``DEPOSITS[lanes, bits]``: the lowest of eight bits moved to the lanes that are set, in order."""


def scale(lanes: NDArray[Any], limits: NDArray[Any], surplus: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Turn lanes of b random bits (16 or 32) into integers below limits; return where a lane must be drawn again.

    Lane i has the limit ``limits[i % limits.size]``; there is a multiple of eight of them, in the type of the lanes.
    Its value is the upper half of lane x limit. Lanes whose lower half is below the limit's ``surplus``, 2**b modulo
    the limit, would make some values likelier than others.
    """
    n_bits = np.uint64(8 * lanes.itemsize)
    products = lanes.astype(np.uint64) * np.resize(limits, lanes.size)
    values[:] = products >> n_bits
    return np.flatnonzero(products.astype(lanes.dtype) < np.resize(surplus, lanes.size))


_1, _32, _64 = np.uint64(1), np.uint64(32), np.uint64(64)  # numbers of bits as words
_LOWER = np.uint64((1 << 32) - 1)  # the lower half of a word


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


LOW_BITS = 16  # of a product that is computed in two parts


def take_back(
    noise: NDArray[np.int64],
    buffers: NDArray[np.int64],
    decays: NDArray[np.int64],
    decay_shifts: NDArray[np.int64],
    weights: NDArray[np.int64],
    weight_shifts: NDArray[np.int64],
    guard_bits: int,
) -> None:
    """Replace the noise of each bin (a row, a place a column) by what it is worth after all that is taken back.

    w = z - round(sum_j weight_j S_j), then S_j <- S_j - floor(decay_j S_j) + w, all in whole numbers: a decay or
    weight is n / 2**q with n below 2**16 and q at least 16, and buffers (a row each) have ``guard_bits`` digits more.
    """
    half = (1 << guard_bits) >> 1
    for row in noise:
        row -= (_products(buffers, weights, weight_shifts).sum(axis=0) + half) >> guard_bits
        buffers -= _products(buffers, decays, decay_shifts)
        buffers += row << guard_bits


def _products(buffers: NDArray[np.int64], factors: NDArray[np.int64], shifts: NDArray[np.int64]) -> NDArray[np.int64]:
    """floor(buffer n / 2**q), in two parts so that nothing overflows."""
    n = factors[:, None]
    low = ((buffers & ((1 << LOW_BITS) - 1)) * n) >> LOW_BITS
    products: NDArray[np.int64] = ((buffers >> LOW_BITS) * n + low) >> (shifts[:, None] - LOW_BITS)
    return products
