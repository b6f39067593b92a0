"""The coin kernels, compiled. ``coins_plain`` says what each does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_TILE = 512  # words: heads, undecided and one digit of them stay in the first-level cache


@compiled
def slice_digits(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    last_lanes: np.uint64,
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> int:
    n = heads.size
    total = 0
    for first in range(0, n, _TILE):
        tile, still = heads[first : first + _TILE], undecided[first : first + _TILE]
        tile[:] = 0
        still[:] = ~np.uint64(0)
        if first + _TILE >= n:
            still[-1] = last_lanes
        for d in range(digits.size):
            digit = words[d * n + first : d * n + first + tile.size]
            if digits[d]:
                for i in range(tile.size):
                    tile[i] |= still[i] & ~digit[i]
                    still[i] &= digit[i]
            else:
                for i in range(tile.size):
                    still[i] &= ~digit[i]
        for i in range(tile.size):
            total += _ones(still[i])
    return total


@compiled
def settle(
    undecided: NDArray[np.uint64], spare: NDArray[np.uint64], rest: np.uint64, heads: NDArray[np.uint64]
) -> None:
    taken = 0
    for i in range(undecided.size):
        lanes = undecided[i]
        while lanes != 0:
            rising = lanes & (lanes - np.uint64(1))
            if spare[taken] < rest:
                heads[i] |= lanes ^ rising
            taken += 1
            lanes = rising


@compiled
def _ones(word: np.uint64) -> np.int64:
    """The number of bits set: a pattern the compiler knows and turns into vector instructions."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555_5555_5555_5555))
    fours = (pairs & np.uint64(0x3333_3333_3333_3333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333_3333_3333_3333)
    )
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    return np.int64((eights * np.uint64(0x0101_0101_0101_0101)) >> np.uint64(56))
