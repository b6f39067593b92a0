"""What turns counts into published totals: one engine for each kind of noise model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from tacit._base.arrays import IntArray
from tacit.counts.continual_noise import ContinualNoise
from tacit.mechanisms.continual.node_noise import NodeDraws

Memory = Mapping[str, IntArray]
"""What an engine must remember from bin to bin: named arrays of whole numbers, true sums among them."""


class Engine(Protocol):
    """Publishes totals by a noise model, bin by bin or many at once, with the same result.

    Mathematical contract: what is published is the noise model's decoder applied to the nodes' counts plus their noise,
    and is computed from these sums alone: no rounding lets anything else about the counts through.
    """

    def start(self) -> Memory:
        """The memory before the first bin."""

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        """The memory after these bins (rows), and the totals after each in units of 1/grid.

        ``position`` is the number of bins before them. Nothing that is passed in is changed.
        """


def engine_of(noise_model: ContinualNoise, draws: NodeDraws) -> Engine:
    """The engine of a noise model."""
    from tacit.mechanisms.continual import buffered, measured, nested

    engines: Mapping[str, Callable[[Any, NodeDraws], Engine]] = {
        "k-ary tree": nested.NestedEngine,
        "smooth tree": nested.NestedEngine,
        "refined tree": measured.RefinedEngine,
        "fused tree, noise drawn ahead": measured.FusedEngine,
        "epochs of refined trees": measured.EpochsEngine,
        "buffered root": buffered.BufferedEngine,
    }
    return engines[noise_model.kind](noise_model, draws)


def running(total: IntArray, counts: IntArray) -> IntArray:
    """True totals after each of these bins."""
    totals: IntArray = np.cumsum(counts, axis=0, dtype=np.int64) + total
    return totals
