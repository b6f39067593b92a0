r"""Coins from integer words and integer thresholds, 64 at a time, and uniform integers, exactly.

A coin of threshold t is heads with probability t / 2**64: where a uniform number of 64 binary digits is below t.
Bit j of a random word is a digit of coin j, so one word brings 64 coins one digit further (*bit slicing*), the
most significant digit first. A coin is decided at the first digit that differs from t's, so half of the coins at
the first digit, and few need many digits. Therefore coins are tossed in rounds. After the first two digits one coin
in four is undecided; what it still lacks is a coin of the threshold that t's other digits make. Such coins
are tossed side by side in the same way, with three digits and then with eight, and given to the undecided ones. After
the last round, or where no more than ``FEW`` coins are to be tossed, each takes a word of its own and is heads where it
is below the threshold. With n digits in a round:

.. math:: P(\text{heads}) = \frac{\lfloor t / 2^{64-n} \rfloor}{2^n}
          + \frac{1}{2^n} \cdot \frac{2^n t \bmod 2^{64}}{2^{64}} = \frac{t}{2^{64}}

A threshold that ends in zeros needs only the digits before them: 1/4 needs two. No float takes part, and the
number of words drawn depends on the words drawn, never on a private value.

The order of the words is fixed, so that a seed gives the same draws with compiled and with plain kernels. Of coins:
``CHUNK_WORDS`` words of coins at a time, first a word for each of them for the first digit, then for the
second; then what the undecided coins need, in the order of the coins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import Kernels, coin_kernels, integer_kernels, unary_kernels
from tacit._base.validation import check_at_least
from tacit.errors import SettingError
from tacit.randomness.source import Randomness

if TYPE_CHECKING:
    from tacit.randomness.source import Randomness


COIN_BITS: Final = 64  # of a threshold: one word
COIN: Final = 1 << COIN_BITS
ROUNDS: Final = (2, 3, 8)
"""The number of binary digits that a round adds to coins that earlier rounds left undecided."""

FEW: Final = 1024
"""Coins for which rounds do not pay: each takes a word."""

CHUNK_WORDS: Final = 1 << 16
"""Words of coins tossed at a time: their digits, 1 MiB, stay in cache, and calls are few."""

ROWS_WORDS: Final = 1 << 16
"""Words of coins cut into rows at a time."""


def bernoulli_bits(n_bits: int, threshold: int, randomness: Randomness) -> NDArray[np.uint64]:
    """Toss ``n_bits`` independent coins of probability threshold / 2**64.

    Bit i % 64 of word i // 64 is coin i; bits beyond the last coin are zero.

    >>> from tacit.randomness import SeededRandomness
    >>> coins = bernoulli_bits(100, COIN // 4, SeededRandomness(1))
    >>> coins.shape, int(coins[1]) < 1 << 36
    ((2,), True)
    """
    check_at_least(0, n_bits=n_bits)
    heads = np.empty(_words_for(n_bits), np.uint64)
    _Coins(threshold, heads.size, coin_kernels(n_bits), randomness).toss(heads, n_bits)
    return heads


def bernoulli_rows(
    cells: NDArray[np.integer], n_cells: int, ones: int, zeros: int, randomness: Randomness
) -> NDArray[np.uint8]:
    """Toss a row of ``n_cells`` coins for each cell given: its own of threshold ``ones``, the others ``zeros``.

    A row has ceil(n_cells / 8) bytes; bit j % 8 of byte j // 8 is the coin of cell j; bits beyond the last are
    zero. Where ones + zeros = 2**64, each bit of a one-hot row is flipped by a coin of threshold ``zeros``;
    otherwise the coins for the true cells are tossed apart, after the others of their rows.

    >>> from tacit.randomness import SeededRandomness
    >>> bernoulli_rows(np.array([0, 9]), 10, COIN, 0, SeededRandomness(1)).tolist()
    [[1, 0], [0, 2]]
    """
    check_at_least(1, n_cells=n_cells)
    rows = np.empty((cells.size, (n_cells + 7) // 8), np.uint8)
    n_at_once = min(cells.size, max(1, ROWS_WORDS * COIN_BITS // n_cells))
    kernels = unary_kernels(cells.size * n_cells)
    coins = coin_kernels(cells.size * n_cells)
    # rows of whole words are tossed where they belong
    in_place = n_cells % COIN_BITS == 0 and np.little_endian
    noise = np.empty(_words_for(n_at_once * n_cells), np.uint64)
    truth = np.empty(0 if ones + zeros == COIN else _words_for(n_at_once), np.uint64)
    noise_coins = _Coins(zeros, noise.size, coins, randomness)
    truth_coins = _Coins(ones, truth.size, coins, randomness)
    for first in range(0, cells.size, max(1, n_at_once)):
        part, rows_here = _checked(cells[first : first + n_at_once], n_cells), rows[first : first + n_at_once]
        words_here = rows_here.reshape(-1).view(np.uint64) if in_place else noise[: _words_for(part.size * n_cells)]
        noise_coins.toss(words_here, part.size * n_cells)
        truth_coins.toss(truth[: _words_for(part.size)], part.size)
        if in_place:
            kernels.mark_rows(part, truth, rows_here)
        else:
            kernels.write_rows(part, n_cells, noise, truth, rows_here)
    return rows


class _Coins:
    """Coins of one threshold, with the memory to toss ``CHUNK_WORDS`` words of them at a time."""

    def __init__(self, threshold: int, n_words: int, kernels: Kernels, randomness: Randomness) -> None:
        self._threshold = threshold
        self._rounds = _rounds_of(threshold)
        self._kernels = kernels
        self._randomness = randomness
        # for all rounds in one piece: smaller pieces would be given back, and taken again page by page, each time
        n_at_once = min(n_words, CHUNK_WORDS)
        self._memory = np.empty(sum((n_digits + 2) * n_at_once + 2 for n_digits in ROUNDS), np.uint64)

    def toss(self, heads: NDArray[np.uint64], n_bits: int) -> None:
        """Overwrite ``heads`` with ``n_bits`` coins, as far as it goes."""
        for first in range(0, heads.size, CHUNK_WORDS):
            n_here = min(n_bits - first * COIN_BITS, CHUNK_WORDS * COIN_BITS)
            self._toss_chunk(heads[first : first + CHUNK_WORDS], n_here)

    def _toss_chunk(self, heads: NDArray[np.uint64], n_bits: int) -> None:
        if self._threshold in (0, COIN):
            heads[:] = COIN - 1 if self._threshold else 0
            heads[-1] &= _lanes_of_last(n_bits)
            return
        open_rounds = []
        memory, threshold = self._memory, self._threshold
        for digits, rest in self._rounds:
            if n_bits <= FEW:
                break
            end_of_digits, end = heads.size * digits.size, heads.size * (digits.size + 1)
            sliced, undecided, memory = memory[:end_of_digits], memory[end_of_digits:end], memory[end:]
            self._randomness.fill(sliced)
            n_bits = self._kernels.slice_digits(sliced, digits, _lanes_of_last(n_bits), heads, undecided)
            threshold = rest if n_bits else 0
            if not threshold:
                break
            n_words = _words_for(n_bits)
            coins, memory = memory[: n_words + 2], memory[n_words + 2 :]  # dealing reads two words more
            open_rounds.append((undecided, coins, heads))
            heads = coins[:n_words]
        if threshold:
            _compare(self._randomness.words(n_bits), threshold, heads)
        for undecided, coins, heads in reversed(open_rounds):
            self._kernels.deal(undecided, coins, heads)


def _compare(words: NDArray[np.uint64], threshold: int, heads: NDArray[np.uint64]) -> None:
    """Overwrite ``heads`` with a coin for each word: whether it is below the threshold."""
    won = np.zeros(heads.size * COIN_BITS, np.bool_)
    np.less(words, np.uint64(threshold), out=won[: words.size])
    heads[:] = np.packbits(won, bitorder="little").view("<u8")


@lru_cache(maxsize=64, typed=True)
def _rounds_of(threshold: int) -> tuple[tuple[NDArray[np.uint8], int], ...]:
    """Return the digits of each round, without zeros at the end, and the threshold of the digits after them."""
    if not (isinstance(threshold, int) and 0 <= threshold <= COIN):
        raise SettingError(
            f"threshold must be a whole number from 0 to 2**{COIN_BITS}; got threshold={threshold}. "
            f"Give the probability times 2**{COIN_BITS}, rounded."
        )
    rounds = []
    for n_digits in ROUNDS:
        top, threshold = divmod(threshold << n_digits, COIN)
        digits = [top >> d & 1 for d in reversed(range(n_digits))]
        while not threshold and digits and not digits[-1]:
            digits.pop()
        rounds.append((np.array(digits, np.uint8), threshold))
    return tuple(rounds)


def _lanes_of_last(n_bits: int) -> np.uint64:
    """Return the lanes of the last word that hold coins."""
    return np.uint64((COIN - 1) >> (-n_bits % COIN_BITS))


def _words_for(n_bits: int) -> int:
    return (n_bits + COIN_BITS - 1) // COIN_BITS


def _checked(cells: NDArray[np.integer], n_cells: int) -> NDArray[np.int32]:
    unsigned = cells.view(f"u{cells.dtype.itemsize}")  # a negative cell reads as a huge one
    if unsigned.max() >= n_cells:
        raise SettingError(
            f"cells must lie between 0 and {n_cells - 1}; "
            f"{np.count_nonzero(unsigned >= n_cells)} of the first {cells.size} do not. "
            "Set aside events outside the domain first."
        )
    return np.ascontiguousarray(cells, np.int32)


LARGEST_NARROW_LIMIT: Final = 1 << 12  # for lanes of 16 bits: at most 1 in 16 is drawn again
LARGEST_LIMIT: Final = 1 << 31  # for lanes of 32 bits: at most 1 in 2 is drawn again

_TILE: Final = 256  # limits laid out beside as many lanes, for wide instructions
_32: Final = np.uint64(32)
_LOWER: Final = np.uint64((1 << 32) - 1)


def integers_below(limits: tuple[int, ...] | range, n_rows: int, randomness: Randomness) -> NDArray[Any]:
    r"""Draw ``n_rows`` rows of independent integers, each uniform from 0 up to and without the limit of its column.

    A lane of b random bits times a limit n is a number of two halves: the upper one is below n, and each of its values
    has :math:`\lfloor 2^b/n \rfloor` or one more lanes. Lanes whose lower half is below :math:`2^b \bmod n` are the
    surplus; they are drawn again, and what is left is even (Lemire2019):

    .. math:: P(\text{value} = v) = \frac{\lfloor 2^b/n \rfloor}{n \lfloor 2^b/n \rfloor} = \frac1n

    Lanes, and the unsigned integers returned, have 16 bits where no limit exceeds 4096, so that at most one lane in 16
    is drawn again, and 32 otherwise. The order of the words is fixed: first all lanes, row by row, the least
    significant bits of a word first; then a word for each rejected lane in their order, of which the upper 32 bits are
    its new lane; then again for those rejected once more.

    >>> from tacit.randomness import SeededRandomness
    >>> dice = integers_below((6, 6, 20), 1000, SeededRandomness(1))
    >>> dice.shape, dice.max(axis=0).tolist(), dice.min(axis=0).tolist()
    ((1000, 3), [5, 5, 19], [0, 0, 0])
    """
    tiled, surplus = _tables(limits)
    n_lanes = n_rows * len(limits)
    lanes = in_lanes(randomness.words(-(-n_lanes * tiled.itemsize // 8)), tiled.dtype)[:n_lanes]
    values = np.empty(n_lanes, tiled.dtype)
    rejected = integer_kernels(n_lanes).scale(lanes, tiled, surplus, values)
    while rejected.size:
        bounds = tiled[rejected % tiled.size].astype(np.uint64)
        products = (randomness.words(rejected.size) >> _32) * bounds
        values[rejected] = products >> _32
        rejected = rejected[(products & _LOWER) < (_LOWER + np.uint64(1)) % bounds]
    return values.reshape(n_rows, len(limits))


@lru_cache(maxsize=64)
def _tables(limits: tuple[int, ...] | range) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the limits and their surplus in the type of the lanes they need, repeated to a multiple of eight."""
    if not (len(limits) and min(limits) >= 1 and max(limits) <= LARGEST_LIMIT):
        raise SettingError("limits must lie between 1 and 2**31. Give at least one.")
    lane = np.dtype(np.uint16 if max(limits) <= LARGEST_NARROW_LIMIT else np.uint32)
    tiled = np.tile(np.array(limits, np.uint64), 8 * -(-_TILE // (8 * len(limits))))
    surplus = np.uint64(1 << 8 * lane.itemsize) % tiled
    return tiled.astype(lane), surplus.astype(lane)


def in_lanes(words: NDArray[np.uint64], lane: np.dtype[Any]) -> NDArray[Any]:
    """Cut words into lanes of a type, the least significant bits of a word first."""
    if np.little_endian:
        return words.view(lane)
    return words.astype("<u8").view(lane.newbyteorder("<")).astype(lane)
