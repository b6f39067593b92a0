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
