"""The inversion kernels, compiled. ``inversion_plain`` says what each does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_1 = np.uint64(1)


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
