"""The buffers of a factorized running total, compiled. ``buffers_plain`` says what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled


@compiled
def take_back(
    noise: NDArray[np.int64],
    buffers: NDArray[np.int64],
    decays: NDArray[np.int64],
    decay_shifts: NDArray[np.int64],
    weights: NDArray[np.int64],
    weight_shifts: NDArray[np.int64],
    guard_bits: Any,
) -> None:
    half = (np.int64(1) << np.int64(guard_bits)) >> np.int64(1)
    for t in range(noise.shape[0]):
        for place in range(noise.shape[1]):
            fed_back = half
            for j in range(len(decays)):
                fed_back += _product(buffers[j, place], weights[j], weight_shifts[j])
            left = noise[t, place] - (fed_back >> np.int64(guard_bits))
            noise[t, place] = left
            for j in range(len(decays)):
                decayed = _product(buffers[j, place], decays[j], decay_shifts[j])
                buffers[j, place] += (left << np.int64(guard_bits)) - decayed


@compiled
def _product(buffer: Any, factor: Any, shift: Any) -> Any:
    low = ((buffer & np.int64(0xFFFF)) * factor) >> np.int64(16)
    return ((buffer >> np.int64(16)) * factor + low) >> (shift - np.int64(16))
