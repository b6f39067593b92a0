"""The integer kernels, compiled. ``integers_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_16, _32 = np.uint32(16), np.uint64(32)


def scale(lanes: NDArray[Any], limits: NDArray[Any], surplus: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    is_short, rejected = np.zeros(limits.size, np.uint8), np.empty(lanes.size, np.int64)
    work = _scale16 if lanes.itemsize == 2 else _scale32
    return rejected[: work(lanes, limits, surplus, values, is_short, is_short.view(np.uint64), rejected)]


@compiled
def _scale16(
    lanes: NDArray[np.uint16],
    limits: NDArray[np.uint16],
    surplus: NDArray[np.uint16],
    values: NDArray[np.uint16],
    is_short: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    rejected: NDArray[np.int64],
) -> int:
    n_rejected = 0
    for first in range(0, lanes.size, limits.size):
        part, out = lanes[first : first + limits.size], values[first : first + limits.size]
        for i in range(part.size):
            out[i] = np.uint16(np.uint32(np.uint32(part[i]) * np.uint32(limits[i])) >> _16)
        is_any = np.uint16(0)
        for i in range(part.size):
            is_any = np.uint16(is_any | np.uint16(np.uint16(np.uint32(part[i]) * np.uint32(limits[i])) < surplus[i]))
        if is_any:
            for i in range(part.size):
                is_short[i] = np.uint16(np.uint32(part[i]) * np.uint32(limits[i])) < surplus[i]
            n_rejected = _list(is_short, eights, part.size, first, n_rejected, rejected)
    return n_rejected


@compiled
def _scale32(
    lanes: NDArray[np.uint32],
    limits: NDArray[np.uint32],
    surplus: NDArray[np.uint32],
    values: NDArray[np.uint32],
    is_short: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    rejected: NDArray[np.int64],
) -> int:
    n_rejected = 0
    for first in range(0, lanes.size, limits.size):
        part, out = lanes[first : first + limits.size], values[first : first + limits.size]
        for i in range(part.size):
            out[i] = np.uint32((np.uint64(part[i]) * np.uint64(limits[i])) >> _32)
        is_any = np.uint32(0)
        for i in range(part.size):
            is_any = np.uint32(is_any | np.uint32(np.uint32(np.uint64(part[i]) * np.uint64(limits[i])) < surplus[i]))
        if is_any:
            for i in range(part.size):
                is_short[i] = np.uint32(np.uint64(part[i]) * np.uint64(limits[i])) < surplus[i]
            n_rejected = _list(is_short, eights, part.size, first, n_rejected, rejected)
    return n_rejected


@compiled
def _list(
    is_short: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    n: int,
    first: int,
    n_rejected: int,
    rejected: NDArray[np.int64],
) -> int:
    """List the rejected among ``n`` lanes; few are, so eight are looked at together."""
    for eight in range((n + 7) // 8):
        if eights[eight]:
            for i in range(8 * eight, min(8 * eight + 8, n)):
                if is_short[i]:
                    rejected[n_rejected] = first + i
                    n_rejected += 1
    return n_rejected
