"""Sources of words for tests: one that remembers what was drawn, and one that gives what is listed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Randomness


class RecordedWords:
    """Passes words on from another source and remembers them.

    >>> from tacit.randomness import SeededRandomness
    >>> source = RecordedWords(SeededRandomness(7))
    >>> source.words(2).tolist() == source.drawn
    True
    """

    def __init__(self, source: Randomness) -> None:
        self._source = source
        self.drawn: list[int] = []

    @property
    def is_simulation(self) -> bool:
        return True  # whoever has the record knows every word

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out

    def fill(self, out: NDArray[np.uint64]) -> None:
        self._source.fill(out)
        self.drawn.extend(out.ravel().tolist())


class ListedWords:
    """Gives the words of a list in their order, and fails when they are used up.

    >>> ListedWords([5, 6, 7]).words(2).tolist()
    [5, 6]
    """

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, np.uint64)
        self._n_used = 0

    @property
    def is_simulation(self) -> bool:
        return True

    @property
    def n_left(self) -> int:
        return self._words.size - self._n_used

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out

    def fill(self, out: NDArray[np.uint64]) -> None:
        assert out.size <= self.n_left, f"{out.size} words are asked for, and {self.n_left} are left"
        out.reshape(-1)[:] = self._words[self._n_used : self._n_used + out.size]
        self._n_used += out.size
