r"""The questions that will be asked: single bins, ranges of a length, ranges of any length, running totals.

An error is predicted for a *kind* of question: the root of the mean variance over all of its ranges, each equally
likely. Where there are too many to list, evenly spread ones stand in for all of them, placed by fractions of the golden
ratio and its like so that they fall into step with no tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.validation import check_at_least, check_one_of
from tacit.errors import SettingError

KINDS: Final = ("points", "ranges", "totals")
MOST_RANGES: Final = 1 << 15
"""So many ranges are listed one by one; of more, so many stand in for all."""

_GOLDEN: Final = 0.6180339887498949
_PLASTIC: Final = (0.7548776662466927, 0.5698402909980532)  # the golden ratio's like in the plane


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of question about the bins of one place.

    ``points`` are single bins, ``totals`` all bins up to one of them, ``ranges`` all runs of ``length`` bins, or of any
    length when there is none.

    >>> [str(question) for question in Question.parse("points, 7, ranges, totals")]
    ['points', 'ranges of 7', 'random ranges', 'running totals']
    >>> first, stop = Question("ranges", 2).ranges(4)
    >>> first.tolist(), stop.tolist()
    ([0, 1, 2], [2, 3, 4])
    """

    kind: str
    length: int | None = None

    def __post_init__(self) -> None:
        check_one_of(KINDS, kind=self.kind)
        if self.length is not None:
            check_at_least(1, length=self.length)
            if self.kind != "ranges":
                raise SettingError(f"length belongs to ranges; got length={self.length} for {self.kind}. Leave it out.")

    @classmethod
    def parse(cls, words: str | Iterable[str]) -> tuple[Question, ...]:
        """Read words such as ``points, 7, 30, ranges, totals``; a number is a length of ranges."""
        listed = words.split(",") if isinstance(words, str) else list(words)
        return tuple(dict.fromkeys(cls._of_word(word.strip()) for word in listed))

    @classmethod
    def _of_word(cls, word: str) -> Question:
        if word in KINDS:
            return cls(word)
        if word.isascii() and word.isdigit() and int(word):
            return cls("ranges", int(word))
        raise SettingError(f"a question must be points, ranges, totals or a length in bins; got question={word}.")

    def __str__(self) -> str:
        if self.length is not None:
            return f"ranges of {self.length:,}"
        return {"points": "points", "ranges": "random ranges", "totals": "running totals"}[self.kind]

    @property
    def heading(self) -> str:
        """The question above a column of a table."""
        if self.length is not None:
            return f"{self.length:,} long"
        return {"points": "points", "ranges": "any length", "totals": "totals"}[self.kind]

    def check(self, n_bins: int) -> None:
        """Refuse a length beyond the domain."""
        if self.length is not None and self.length > n_bins:
            raise SettingError(
                f"length must be at most the number of bins, {n_bins:,}; got length={self.length:,}. "
                "Ask for shorter ranges or count over a longer time."
            )

    def mean_length(self, n_bins: int) -> float:
        """The number of bins that a question of this kind adds up, on average."""
        if self.kind == "ranges":
            return float(self.length) if self.length is not None else (n_bins + 2) / 3
        return 1.0 if self.kind == "points" else (n_bins + 1) / 2

    def ranges(self, n_bins: int) -> tuple[IntArray, IntArray]:
        """All ranges of this kind, or as many that stand in for them: first bins, and the bins after the last."""
        check_at_least(1, n_bins=n_bins)
        self.check(n_bins)
        if self.kind == "ranges" and self.length is None:
            return _any_ranges(n_bins)
        if self.kind == "totals":
            stop = positions(n_bins) + 1
            return np.zeros_like(stop), stop
        length = self.length or 1
        first = positions(n_bins - length + 1)
        return first, first + length


def positions(count: int, most: int = MOST_RANGES) -> IntArray:
    """The numbers 0 .. count - 1, or evenly spread ones of them where they are more than ``most``.

    >>> positions(3).tolist(), positions(100, 5).tolist()
    ([0, 1, 2], [61, 23, 85, 47, 9])
    """
    if count <= most:
        return np.arange(count)
    return (np.arange(1, most + 1) * _GOLDEN % 1 * count).astype(np.int64)


@lru_cache(maxsize=8)
def _any_ranges(n_bins: int) -> tuple[IntArray, IntArray]:
    first, stop = _listed_ranges(n_bins)
    for shared in (first, stop):
        shared.flags.writeable = False
    return first, stop


def _listed_ranges(n_bins: int) -> tuple[IntArray, IntArray]:
    if n_bins * (n_bins + 1) // 2 <= MOST_RANGES:
        first, last = np.triu_indices(n_bins)
        return first.astype(np.int64), last.astype(np.int64) + 1
    across, along = (np.arange(1, MOST_RANGES + 1) * step % 1 for step in _PLASTIC)
    # of all N (N + 1) / 2 ranges, r (2 N - r + 1) / 2 have a length of at most r
    twice = n_bins + 0.5
    length = np.ceil(twice - np.sqrt(twice**2 - across * n_bins * (n_bins + 1))).astype(np.int64).clip(1, n_bins)
    first = (along * (n_bins - length + 1)).astype(np.int64)
    return first, first + length
