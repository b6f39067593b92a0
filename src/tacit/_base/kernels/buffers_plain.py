"""The buffers of a factorized running total, in plain NumPy: what ``buffers`` does, slowly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LOW_BITS = 16


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
