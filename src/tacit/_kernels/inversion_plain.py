"""The inversion kernels in plain NumPy: what the compiled ones must equal, and what a device runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_1, _32 = np.uint64(1), np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)


def invert(words: NDArray[np.uint64], thresholds: NDArray[np.int64], out: NDArray[np.int64]) -> bool:
    """Count the thresholds below the upper 63 bits of each word; say whether any equals one.

    The thresholds ascend, there is a power of two of them, and the last is 2**63 - 1.
    """
    digits = (words >> _1).view(np.int64)
    out[:] = np.searchsorted(thresholds, digits, side="left")
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
