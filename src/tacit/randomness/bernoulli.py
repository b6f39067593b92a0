r"""Coins from integer words and integer thresholds, 64 at a time, exactly.

A coin is heads with probability t / 2**64 for an integer threshold t. It compares a uniform number u of 64 binary
digits with t: heads where u < t. Bit j of one random word serves as a digit of coin j, so one word brings 64 coins
one digit further (*bit slicing*), the most significant digit first. Where u's digits agree with t's so far the
coin is undecided; after ``SLICED_DIGITS`` = 8 digits one coin in 256 is, and a whole word of its own decides it
against the other 56 digits of t. A threshold whose last digits are zeros needs only those before them.

.. math:: P(\text{heads}) = \frac{\lfloor t / 2^{56} \rfloor}{2^8}
          + \frac{1}{2^8} \cdot \frac{2^8 (t \bmod 2^{56})}{2^{64}} = \frac{t}{2^{64}}

No float takes part. The number of words drawn depends on the digits drawn, never on a private value.

Order of the words, the same for compiled and plain kernels (a seed gives the same coins with and without numba):
``CHUNK_WORDS`` output words at a time, first one word per output word for the first digit, then for the second, ...;
then one word for each undecided coin, in the order of the coins.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit import _kernels
from tacit._validate import check_at_least
from tacit.errors import SettingError
from tacit.randomness.source import Randomness

COIN_BITS: Final = 64
COIN: Final = 1 << COIN_BITS
SLICED_DIGITS: Final = 8
CHUNK_WORDS: Final = 1 << 12
"""Output words made at a time: their digits, 256 KiB, stay in the second-level cache."""

_ALL_LANES: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def bernoulli_bits(n_bits: int, threshold: int, randomness: Randomness) -> NDArray[np.uint64]:
    """Toss ``n_bits`` independent coins of probability threshold / 2**64.

    Bit i of the little-endian bit string (bit i % 64 of word i // 64) is coin i; bits beyond the last coin are zero.

    >>> from tacit.randomness import SeededRandomness
    >>> words = bernoulli_bits(100, 1 << 63, SeededRandomness(1))
    >>> words.shape, int(words[1]) < 1 << 36
    ((2,), True)
    """
    check_at_least(0, n_bits=n_bits)
    heads = np.empty(_words_for(n_bits), np.uint64)
    _Coins(threshold, heads.size, _kernels.coin_kernels(n_bits), randomness).toss(heads, n_bits)
    return heads


def bernoulli_rows(
    cells: NDArray[np.integer], n_cells: int, ones: int, zeros: int, randomness: Randomness
) -> NDArray[np.uint8]:
    """Toss one row of ``n_cells`` coins for each entry of ``cells``: the coin of that cell has probability
    ones / 2**64, the others zeros / 2**64.

    A row is ceil(n_cells / 8) bytes; bit j of the little-endian bit string is the coin of cell j; the bits beyond the last
    are zero. Where ones + zeros = 2**64 the row is one-hot with every bit flipped by a coin of probability zeros;
    otherwise the true cell's coin is tossed apart. Rows are made a chunk at a time: first the coins of the cells, then those of
    the truth. ``cells`` must lie within 0 .. n_cells - 1; the message of a breach holds no cell.

    >>> from tacit.randomness import SeededRandomness
    >>> bernoulli_rows(np.array([0, 9]), 10, 1 << 64, 0, SeededRandomness(1)).tolist()
    [[1, 0], [0, 2]]
    """
    check_at_least(1, n_cells=n_cells)
    rows = np.empty((cells.size, (n_cells + 7) // 8), np.uint8)
    chunk = min(cells.size, max(1, CHUNK_WORDS * COIN_BITS // n_cells))
    kernels = _kernels.unary_kernels(cells.size * n_cells)
    coins = _kernels.coin_kernels(cells.size * n_cells)
    noise = np.empty(_words_for(chunk * n_cells), np.uint64)
    truth = np.empty(0 if ones + zeros == COIN else _words_for(chunk), np.uint64)
    noise_coins = _Coins(zeros, noise.size, coins, randomness)
    truth_coins = _Coins(ones, truth.size, coins, randomness)
    for first in range(0, cells.size, chunk):
        part = _checked(cells[first : first + chunk], n_cells)
        noise_coins.toss(noise[: _words_for(part.size * n_cells)], part.size * n_cells)
        if truth.size:
            truth_coins.toss(truth[: _words_for(part.size)], part.size)
        kernels.write_rows(part, n_cells, noise, truth, rows[first : first + chunk])
    return rows


class _Coins:
    """Coins of one threshold, with the memory to toss up to ``CHUNK_WORDS`` words of them at a time."""

    __slots__ = ("_digits", "_is_certain", "_kernels", "_randomness", "_rest", "_sliced", "_undecided")

    def __init__(
        self, threshold: int, n_words: int, kernels: _kernels.CoinKernels, randomness: Randomness
    ) -> None:
        self._digits, self._rest = _split(threshold)
        self._is_certain = threshold == COIN
        self._kernels = kernels
        self._randomness = randomness
        chunk = min(n_words, CHUNK_WORDS)
        self._sliced = np.empty(chunk * self._digits.size, np.uint64)
        self._undecided = np.empty(chunk, np.uint64)

    def toss(self, heads: NDArray[np.uint64], n_bits: int) -> None:
        """Overwrite ``heads`` with ``n_bits`` coins."""
        for first in range(0, heads.size, CHUNK_WORDS):
            lanes_here = min(n_bits - first * COIN_BITS, CHUNK_WORDS * COIN_BITS)
            self._toss_chunk(heads[first : first + CHUNK_WORDS], lanes_here)

    def _toss_chunk(self, heads: NDArray[np.uint64], n_bits: int) -> None:
        sliced = self._sliced[: heads.size * self._digits.size]
        undecided = self._undecided[: heads.size]
        self._randomness.fill(sliced)
        last_lanes = _ALL_LANES >> np.uint64(-n_bits % COIN_BITS)
        n_open = self._kernels.slice_digits(sliced, self._digits, last_lanes, heads, undecided)
        if self._is_certain:
            heads[:] = undecided
        elif self._rest and n_open:
            self._kernels.settle(undecided, self._randomness.words(n_open), self._rest, heads)


def _split(threshold: int) -> tuple[NDArray[np.uint8], np.uint64]:
    """Return the digits to slice, most significant first, and what a spare word of an undecided coin must be below."""
    if not (isinstance(threshold, int) and 0 <= threshold <= COIN):
        raise SettingError(
            f"threshold must be a whole number from 0 to 2**{COIN_BITS}; got threshold={threshold}. "
            f"Give the probability times 2**{COIN_BITS}, rounded."
        )
    top, rest = divmod(threshold % COIN << SLICED_DIGITS, COIN)
    digits = [top >> d & 1 for d in reversed(range(SLICED_DIGITS))]
    while not rest and digits and not digits[-1]:
        digits.pop()
    return np.array(digits, np.uint8), np.uint64(rest)


def _words_for(n_bits: int) -> int:
    return (n_bits + COIN_BITS - 1) // COIN_BITS


def _checked(cells: NDArray[np.integer], n_cells: int) -> NDArray[np.int32]:
    outside = int(np.count_nonzero((cells < 0) | (cells >= n_cells)))
    if outside:
        raise SettingError(
            f"cells must lie between 0 and {n_cells - 1}; {outside} of {cells.size} do not. "
            "Set aside events outside the domain first."
        )
    return np.ascontiguousarray(cells, np.int32)
