"""Types of arrays that many modules name, and a fast mix of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Times = NDArray[np.datetime64]


Words = NDArray[np.uint64]


def mix(word: Words) -> Words:
    """Return the words after SplitMix64's finalizer: every input bit reaches every output bit, no two inputs meet.

    For digests and orders: it is no cipher.
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
