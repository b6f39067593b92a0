"""Totals of a buffered root."""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.kernels import buffer_kernels
from tacit.counts.continual_noise import BufferedRoot
from tacit.mechanisms.continual.engine import Memory, running
from tacit.mechanisms.continual.node_noise import NodeDraws


class BufferedEngine:
    """Remembers the true total, the noise in the last published one, and a buffer for each exponential."""

    def __init__(self, noise_model: BufferedRoot, draws: NodeDraws) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws
        self._decays, self._decay_shifts = np.array(noise_model.decays, np.int64).T.copy()
        self._weights, self._weight_shifts = np.array(noise_model.weights, np.int64).T.copy()

    def start(self) -> Memory:
        n_places = self._draws.n_places
        return {
            "total": np.zeros(n_places, np.int64),
            "noise": np.zeros(n_places, np.int64),
            "buffers": np.zeros((len(self.noise_model.decays), n_places), np.int64),
        }

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        left = self._draws.take(self.noise_model.node_noise, 0, position, position + len(counts))
        buffers = memory["buffers"].copy()
        kernels = buffer_kernels(len(counts))
        kernels.take_back(
            left,
            buffers,
            self._decays,
            self._decay_shifts,
            self._weights,
            self._weight_shifts,
            self.noise_model.guard_bits,
        )
        totals, noise = running(memory["total"], counts), running(memory["noise"], left)
        after = {"total": totals[-1], "noise": noise[-1], "buffers": buffers}
        return after, totals * self.noise_model.grid + noise
