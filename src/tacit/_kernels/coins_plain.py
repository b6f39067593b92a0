"""The coin kernels in plain NumPy: what the compiled ones must equal, and what a device runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ALL_LANES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def slice_digits(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    last_lanes: np.uint64,
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> None:
    """Compare 64 random numbers a word with a threshold, binary digit by binary digit.

    Digit d of lane j of output word i is bit j of ``words[d * n + i]``, most significant digit first. A lane
    is heads where its number is below the threshold, and stays undecided while all its digits equal the
    threshold's. ``last_lanes`` is the mask of the lanes that exist in the last word; the others are neither.
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


def count_open(undecided: NDArray[np.uint64]) -> int:
    """Return the number of undecided lanes."""
    return sum(word.bit_count() for word in undecided.tolist())


def settle(
    undecided: NDArray[np.uint64], spare: NDArray[np.uint64], rest: np.uint64, heads: NDArray[np.uint64]
) -> None:
    """Decide the undecided lanes, in ascending order, by one spare word each: heads below ``rest``."""
    taken = 0
    for i in np.flatnonzero(undecided):
        lanes, won = int(undecided[i]), 0
        while lanes:
            lane = lanes & -lanes
            lanes ^= lane
            if int(spare[taken]) < rest:
                won |= lane
            taken += 1
        heads[i] |= np.uint64(won)
