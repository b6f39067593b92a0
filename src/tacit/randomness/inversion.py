r"""Draw from a law on 0, 1, 2, ... by its cumulative probabilities, exactly, with one word for each draw.

The uniform number U has the upper 63 bits of a word as its first binary digits. The draw is the number of k with
:math:`F(k) \le U`, and :math:`P(k) = F(k) - F(k-1)`. Of the real number F(k) a table holds the first 63 digits,

.. math:: c_k = \lfloor 2^{63} F(k) \rfloor ,

and digits u of U that differ from all :math:`c_k` decide. Where they equal one, U may lie on either side of F(k): then
a word brings the next 64 digits of U, to be compared with F(k) enclosed at as many bits, and so on until they differ.
So every draw has the probability of the real law, not of one rounded to 63 digits.

Every draw takes one word, and as many steps of the same search. A word is undecided with probability (entries of the
table) / 2**63: below 2**-52 for the tables made here. Only then does the time depend on the draw. The lowest bit of
each word takes no part: it is the sign, where one is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit import _kernels
from tacit.randomness.enclosures import Enclosure
from tacit.randomness.source import Randomness

DIGITS: Final = 63
LONGEST_TABLE: Final = 1 << 11

Law = Callable[[int], Iterator[Enclosure]]
"""Encloses F(0), F(1), ... at so many bits, each below 1; ends before the last value, or never."""

_LAST: Final = (1 << DIGITS) - 1
_SPARE_BITS: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """A law and the first digits of its cumulative probabilities.

    ``thresholds`` ascend and are filled up with 2**63 - 1 to a power of two: no digits lie beyond it, and those that
    equal it are never decided by the table.
    """

    law: Law
    thresholds: NDArray[np.int64]

    @classmethod
    def of(cls, law: Law) -> Inversion:
        """Tabulate a law whose cumulative probabilities come within 2**-63 of 1."""
        bits = DIGITS + _SPARE_BITS
        while (listed := _listed(law, bits)) is None:  # 64 digits after the 63rd are all ones or all zeros
            bits *= 2
        size = 1 << (len(listed) - 1).bit_length()
        thresholds = np.full(size, _LAST, np.int64)
        thresholds[: len(listed)] = listed
        thresholds.flags.writeable = False
        return cls(law, thresholds)

    def draw(
        self,
        words: NDArray[np.uint64],
        out: NDArray[np.int64],
        kernels: _kernels.InversionKernels,
        randomness: Randomness,
    ) -> None:
        """Overwrite ``out`` with a draw for each word; the source is asked only for digits beyond the 63rd."""
        if kernels.invert(words, self.thresholds, out):
            digits = (words >> np.uint64(1)).view(np.int64)
            for i in np.flatnonzero(self.thresholds[out] == digits):
                out[i] = settle(self.law, int(digits[i]), DIGITS, randomness)


def settle(law: Law, digits: int, bits: int, randomness: Randomness) -> int:
    """The draw for a uniform number that begins with these digits, so many, and goes on with words of 64."""
    while (drawn := _decided(law(bits), digits)) is None:
        digits = digits << 64 | int(randomness.words(1)[0])
        bits += 64
    return drawn


def _listed(law: Law, bits: int) -> list[int] | None:
    listed = []
    for low, high in law(bits):
        # beneath 1 is F(k) itself, if not its enclosure
        digits = min(low >> (bits - DIGITS), _LAST)
        if digits != min(high >> (bits - DIGITS), _LAST):
            return None
        listed.append(digits)
        if digits == _LAST:
            return listed
    return [*listed, _LAST]


def _decided(cumulative: Iterator[Enclosure], digits: int) -> int | None:
    """The draw for all numbers that begin with these digits, as many as the enclosures have bits, if it is one."""
    k = 0
    for low, high in cumulative:
        if digits < low:
            return k
        if digits < high:
            return None
        k += 1
    return k
