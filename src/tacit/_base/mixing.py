"""A fast mix of 64-bit words, for digests and orders: no cipher."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def mix(word: Words) -> Words:
    """Return the words after SplitMix64's finalizer: every input bit reaches every output bit, no two inputs meet."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
