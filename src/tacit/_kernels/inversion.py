"""The inversion kernels, compiled. ``inversion_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_1, _32 = np.uint64(1), np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)


@compiled
def invert(words: NDArray[np.uint64], thresholds: NDArray[np.int64], out: NDArray[np.int64]) -> bool:
    is_any = False
    half = thresholds.size >> 1
    for i in range(words.size):
        digits = np.int64(words[i] >> _1)
        below, step = 0, half
        while step:
            below += step * (thresholds[below + step - 1] < digits)
            step >>= 1
        out[i] = below
        is_any |= thresholds[below] == digits
    return is_any


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
def toss_products(
    words: NDArray[np.uint64],
    exponents: NDArray[np.uint64],
    factors: NDArray[np.uint64],
    error: int,
    tails: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
) -> bool:
    is_any = False
    mask, n_bits = np.uint64(factors.shape[1] - 1), np.uint64(0)
    while factors.shape[1] >> n_bits > 1:
        n_bits += _1
    for i in range(words.size):
        chance = factors[0, exponents[i] & mask]
        rest = exponents[i] >> n_bits
        for j in range(1, factors.shape[0]):
            chance = _upper_half(chance, factors[j, rest & mask])
            rest >>= n_bits
        tails[i] = words[i] >= chance
        is_open[i] = (tails[i] & (words[i] - chance <= np.uint64(error))) | (rest > 0)
        is_any |= is_open[i]
    return is_any


@compiled
def _upper_half(a: Any, b: Any) -> Any:
    a_high, a_low, b_high, b_low = a >> _32, a & _LOWER, b >> _32, b & _LOWER
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _LOWER)
    return a_high * b_high + (middle >> _32) + (other >> _32)
