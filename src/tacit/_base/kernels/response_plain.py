"""Kernels of reports that name one cell, in plain NumPy: what the compiled ones must equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_REPORTS_AT_ONCE = 1 << 16  # numbers widened at a time


def respond(cells: NDArray[np.int32], drawn: NDArray[Any], coins: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Write ``cells[i]`` where bit i of ``coins`` is set, and ``drawn[i]`` elsewhere."""
    in_order = coins.astype("<u8", copy=False).view(np.uint8)
    keeps = np.unpackbits(in_order, count=cells.size, bitorder="little")
    named = np.where(keeps, cells, drawn).astype("<u4")
    out[:] = named.view(np.uint8).reshape(-1, 4)[:, : out.shape[1]]


def count_beyond(named: NDArray[Any], n_cells: int) -> int:
    """Return how many of the numbers are not below ``n_cells``."""
    return int(np.count_nonzero(named >= n_cells))


def count_grouped(named: NDArray[Any], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Add to ``counts[g, j]`` how many of the numbers ``starts[g] .. starts[g + 1] - 1`` are j."""
    flat = counts.reshape(-1)
    for first in range(0, named.size, _REPORTS_AT_ONCE):
        part = np.arange(first, min(first + _REPORTS_AT_ONCE, named.size))
        group = np.searchsorted(starts, part, side="right") - 1
        np.add.at(flat, group * counts.shape[1] + named[part], 1)
