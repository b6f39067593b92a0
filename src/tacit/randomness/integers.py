r"""Uniform integers from random words, exactly.

A lane of b random bits times a limit n is a number of two halves: the upper one is below n, and each of its values
has :math:`\lfloor 2^b/n \rfloor` or one more lanes. Lanes whose lower half is below :math:`2^b \bmod n` are the
surplus; they are drawn again, and what is left is even (Lemire2019):

.. math:: P(\text{value} = v) = \frac{\lfloor 2^b/n \rfloor}{n \lfloor 2^b/n \rfloor} = \frac1n

Lanes have 16 bits for limits up to 4096, where at most one in 16 is drawn again, and 32 beyond. No float takes part,
and the number of words drawn depends on the words drawn alone.

The order of the words is fixed, so that a seed gives the same integers with compiled and with plain kernels: first all
lanes, row by row, the least significant bits of a word first; then a word for each rejected lane in their order, of
which the upper 32 bits are its new lane; then again for those rejected once more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels import integer_kernels
from tacit.errors import SettingError
from tacit.randomness.source import Randomness

LARGEST_NARROW_LIMIT: Final = 1 << 12  # for lanes of 16 bits: at most 1 in 16 is drawn again
LARGEST_LIMIT: Final = 1 << 31  # for lanes of 32 bits: at most 1 in 2 is drawn again

_TILE: Final = 256  # limits laid out beside as many lanes, for wide instructions
_32: Final = np.uint64(32)
_LOWER: Final = np.uint64((1 << 32) - 1)


def integers_below(limits: tuple[int, ...] | range, n_rows: int, randomness: Randomness) -> NDArray[Any]:
    """Draw ``n_rows`` rows of independent integers, each uniform from 0 up to and without the limit of its column.

    They are unsigned, of 16 bits where no limit exceeds 4096, otherwise of 32.

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
