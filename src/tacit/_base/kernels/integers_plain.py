"""The integer kernels in plain NumPy: what the compiled ones must equal, and what a device runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def scale(lanes: NDArray[Any], limits: NDArray[Any], surplus: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Turn lanes of b random bits (16 or 32) into integers below limits; return where a lane must be drawn again.

    Lane i has the limit ``limits[i % limits.size]``; there is a multiple of eight of them, in the type of the lanes.
    Its value is the upper half of lane x limit. Lanes whose lower half is below the limit's ``surplus``, 2**b modulo
    the limit, would make some values likelier than others.
    """
    n_bits = np.uint64(8 * lanes.itemsize)
    products = lanes.astype(np.uint64) * np.resize(limits, lanes.size)
    values[:] = products >> n_bits
    return np.flatnonzero(products.astype(lanes.dtype) < np.resize(surplus, lanes.size))
