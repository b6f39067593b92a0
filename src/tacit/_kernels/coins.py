"""The coin kernels, compiled. ``coins_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_TILE = 512


@compiled
def slice_digits(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    last_lanes: np.uint64,
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> None:
    n = heads.size
    if digits.size == 8:
        _slice_eight(words, digits, heads, undecided)
    else:
        for i in range(n):
            heads[i], undecided[i] = np.uint64(0), ~np.uint64(0)
        for d in range(digits.size):
            digit, mask = words[d * n : (d + 1) * n], _mask(digits[d])
            for i in range(n):
                heads[i], undecided[i] = _one_digit(digit[i], mask, heads[i], undecided[i])
    heads[n - 1] &= last_lanes
    undecided[n - 1] &= last_lanes


@compiled
def _slice_eight(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> None:
    """All digits of a word while it is in a register: the usual case, half as long as digit by digit."""
    n = heads.size
    m0, m1, m2, m3 = _mask(digits[0]), _mask(digits[1]), _mask(digits[2]), _mask(digits[3])
    m4, m5, m6, m7 = _mask(digits[4]), _mask(digits[5]), _mask(digits[6]), _mask(digits[7])
    for i in range(n):
        won, still = _one_digit(words[i], m0, np.uint64(0), ~np.uint64(0))
        won, still = _one_digit(words[n + i], m1, won, still)
        won, still = _one_digit(words[2 * n + i], m2, won, still)
        won, still = _one_digit(words[3 * n + i], m3, won, still)
        won, still = _one_digit(words[4 * n + i], m4, won, still)
        won, still = _one_digit(words[5 * n + i], m5, won, still)
        won, still = _one_digit(words[6 * n + i], m6, won, still)
        heads[i], undecided[i] = _one_digit(words[7 * n + i], m7, won, still)


@compiled
def _one_digit(word: Any, mask: Any, won: Any, still: Any) -> tuple[Any, Any]:
    differs = word ^ mask
    return won | (still & differs & mask), still & ~differs


@compiled
def _mask(digit: Any) -> Any:
    return np.uint64(0) - np.uint64(digit)


@compiled
def count_open(undecided: NDArray[np.uint64]) -> int:
    n_open = 0
    for i in range(undecided.size):
        n_open += _ones(undecided[i])
    return n_open


@compiled
def settle(
    undecided: NDArray[np.uint64], spare: NDArray[np.uint64], rest: np.uint64, heads: NDArray[np.uint64]
) -> None:
    # whether a word has an undecided lane cannot be predicted, so the words that do are listed without a branch
    listed = np.empty(_TILE, np.uint16)
    taken = 0
    for first in range(0, heads.size, _TILE):
        won, still = heads[first : first + _TILE], undecided[first : first + _TILE]
        n_listed = 0
        for i in range(won.size):
            listed[n_listed] = i
            n_listed += still[i] != 0
        for j in range(n_listed):
            lanes, heads_here = still[listed[j]], np.uint64(0)
            while lanes != 0:
                later = lanes & (lanes - np.uint64(1))
                heads_here |= (lanes ^ later) * np.uint64(spare[taken] < rest)
                lanes = later
                taken += 1
            won[listed[j]] |= heads_here


@compiled
def _ones(word: Any) -> int:
    """The number of bits set: the compiler knows this loop and makes one instruction of it."""
    count = 0
    while word != 0:
        word &= word - np.uint64(1)
        count += 1
    return count
