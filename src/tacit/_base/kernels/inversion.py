"""The inversion kernels, compiled. ``inversion_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_TILE = 512
_0, _1, _32, _64 = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(64)
_LOWER = np.uint64((1 << 32) - 1)


@compiled
def invert(
    words: NDArray[np.uint64],
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.uint16],
    guide_bits: Any,
    out: NDArray[np.int64],
) -> bool:
    next_thresholds = np.empty(_TILE, np.uint64)
    bits, is_any = np.uint64(guide_bits), _0
    offset, shortest = _1 << bits, bits + _1
    for first in range(0, words.size, _TILE):
        part, below = words[first : first + _TILE], out[first : first + _TILE]
        for i in range(part.size):
            rest = (~part[i] >> _1) + offset
            length = _length(rest) - shortest
            k = np.uint64(guide[(length << bits) + (rest >> length) - offset])
            k += np.uint64(thresholds[k] < part[i] >> _1)
            below[i], next_thresholds[i] = k, thresholds[k]
        for i in range(part.size):
            is_any |= np.uint64(next_thresholds[i] == part[i] >> _1)
    return bool(is_any != 0)


@compiled
def _length(word: Any) -> Any:
    """The number of binary digits: the compiler knows this loop and makes one instruction of it."""
    length = _0
    while word != 0:
        word >>= _1
        length += _1
    return length


@compiled
def join(blocks: NDArray[np.int64], low: NDArray[np.int64], n_low_bits: int) -> None:
    for i in range(blocks.size):
        blocks[i] = (1 + ((blocks[i] - 1) << n_low_bits) + low[i]) * (blocks[i] > 0)


@compiled
def sign(words: NDArray[np.uint64], magnitudes: NDArray[np.int64]) -> None:
    for i in range(words.size):
        odd = np.int64(words[i] & _1)
        magnitudes[i] = (magnitudes[i] ^ -odd) + odd


@compiled
def place(
    signs: NDArray[np.uint64],
    places: NDArray[np.uint64],
    coins: NDArray[np.uint64],
    n_low_bits: Any,
    factors: NDArray[np.uint64],
    error: Any,
    values: NDArray[np.int64],
    rejected: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
) -> bool:
    bits, most, is_any = np.uint64(n_low_bits), np.uint64(error), False
    mask = np.uint64(factors.shape[1] - 1)
    group_bits = _length(mask)
    for i in range(values.size):
        x, y = np.uint64(values[i]), places[i] >> (_64 - bits)
        rest = y * (y + (x << (bits + _1)))
        chance = factors[0, rest & mask]
        for group in range(1, len(factors)):
            rest >>= group_bits
            chance = _upper_half(chance, factors[group, rest & mask])
        magnitude, odd = (x << bits) + y, signs[i] & _1
        is_negative_zero = (magnitude | (odd ^ _1)) == 0
        is_tails = coins[i] >= chance
        rejected[i] = is_tails | is_negative_zero
        is_open[i] = ((is_tails & (coins[i] - chance <= most)) | (rest > mask)) & (not is_negative_zero)
        is_any |= is_open[i]
        values[i] = np.int64((magnitude ^ (_0 - odd)) + odd)
    return is_any


@compiled
def _upper_half(a: Any, b: Any) -> Any:
    a_high, a_low, b_high, b_low = a >> _32, a & _LOWER, b >> _32, b & _LOWER
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _LOWER)
    return a_high * b_high + (middle >> _32) + (other >> _32)
