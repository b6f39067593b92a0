"""The Hadamard kernels in plain NumPy: what the compiled ones must equal, and what a device runs.

The Hadamard matrix of order K = 2**n_bits has the entry (-1)**popcount(row & column). Cell v owns row v + 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_NUMBERS_AT_ONCE = 1 << 16  # of a histogram: stays in cache while it is transformed


def transform(values: NDArray[np.int64] | NDArray[np.float64]) -> None:
    """Multiply by the Hadamard matrix, in place, along the last axis, whose length is a power of two."""
    size, half = values.shape[-1], 1
    while half < size:
        pairs = values.reshape(-1, 2, half)
        upper, lower = pairs[:, 0], pairs[:, 1]
        difference = upper - lower
        upper += lower
        lower[:] = difference
        half *= 2


def steer(
    columns: NDArray[np.unsignedinteger], n_bits: int, cells: NDArray[np.int32], kept: NDArray[np.uint64]
) -> None:
    """Turn uniform words, in place, into columns of 0 .. 2**n_bits - 1, led to +1 in the cell's row where kept.

    Bit r of ``kept`` says whether report r is kept. Where it is and the row has -1, the column changes in the row's
    lowest bit, which changes the sign and nothing else: what was uniform is uniform on the half with +1.
    """
    kind = columns.dtype.type
    rows = (cells + 1).astype(kind)
    columns &= kind((1 << n_bits) - 1)
    signs = columns & rows
    shift = 4 * columns.itemsize
    while shift:
        signs ^= signs >> kind(shift)
        shift //= 2
    bits = np.unpackbits(kept.astype("<u8", copy=False).view(np.uint8), count=cells.size, bitorder="little")
    columns ^= (rows & (~rows + kind(1))) * (signs & bits.astype(kind))


def count_grouped(
    columns: NDArray[np.unsignedinteger], starts: NDArray[np.int64], n_bits: int, counts: NDArray[np.int64]
) -> None:
    """Add to ``counts[g, v]`` the columns ``starts[g] .. starts[g + 1] - 1`` that have +1 in the row of cell v."""
    order, n_groups = 1 << n_bits, max(1, _NUMBERS_AT_ONCE >> n_bits)
    for first in range(0, len(counts), n_groups):
        here = counts[first : first + n_groups]
        sizes = np.diff(starts[first : first + len(here) + 1])
        groups = np.repeat(np.arange(len(here)), sizes)
        numbers = columns[starts[first] : starts[first + len(here)]].astype(np.int64)
        histograms = np.bincount(numbers + order * groups, minlength=order * len(here)).reshape(len(here), order)
        transform(histograms)
        here += (sizes[:, None] + histograms[:, 1 : here.shape[1] + 1]) >> 1
