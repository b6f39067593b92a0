"""A stream whose end nobody knows: one tree after another, each twice as long as the one before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.continual_noise.model import LONGEST, check_ranges
from tacit.counts.continual_noise.refined import RefinedTree
from tacit.errors import SettingError
from tacit.privacy.cost import Cost


@dataclass(frozen=True)
class Epochs:
    r"""Refined trees over epochs of ``first``, 2 ``first``, 4 ``first``, ... bins; a total adds up finished epochs.

    .. math:: \mathrm{Var}_t = \sum_{e < E} \mathrm{Var}^{(e)}_{T_e} + \mathrm{Var}^{(E)}_{t - T_0 - \dots}

    ``fan_outs`` holds those of each epoch's tree.

    Privacy:   each epoch spends the whole epsilon or rho: a unit lies in one bin, and so in one epoch (parallel
               composition). Also when the stream reacts to what was published.
    Error:     as above; a range adds up its parts in each epoch.
    Cost:      that of a refined tree.
    Reference: Chan2011 (doubling).
    """

    kind: ClassVar[str] = "epochs of refined trees"
    is_causal: ClassVar[bool] = True
    grid: ClassVar[int] = RefinedTree.grid

    first: int
    cost: Cost
    fan_outs: tuple[tuple[int, ...], ...]
    most: int = 1

    def __post_init__(self) -> None:
        check_at_least(1, first=self.first, epochs=len(self.fan_outs))
        if self.horizon > LONGEST:
            raise SettingError(f"epochs must hold at most {LONGEST:,} bins; got {len(self.fan_outs)}. Drop the last.")
        _ = self.trees  # each refuses what it cannot be, before anything is paid

    @property
    def horizon(self) -> int:
        return self.starts[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each epoch starts, and where the last one ends."""
        return tuple(self.first * ((1 << epoch) - 1) for epoch in range(len(self.fan_outs) + 1))

    @cached_property
    def trees(self) -> tuple[RefinedTree, ...]:
        return tuple(
            RefinedTree(self.first << epoch, self.cost, fan_outs, self.most)
            for epoch, fan_outs in enumerate(self.fan_outs)
        )

    @property
    def excess_kurtosis(self) -> float:
        return max(tree.excess_kurtosis for tree in self.trees)

    @property
    def is_grainy(self) -> bool:
        return any(tree.is_grainy for tree in self.trees)

    def epoch_of(self, bin: int) -> int:
        """The epoch that a bin lies in."""
        return (bin // self.first + 1).bit_length() - 1

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        first, stop = check_ranges(first, stop, self.horizon)
        variances = np.zeros(first.shape)
        latest = self.epoch_of(int(stop.max(initial=1)) - 1) if stop.size else 0
        for start, tree in zip(self.starts[: latest + 1], self.trees[: latest + 1], strict=True):
            low, high = (np.clip(end - start, 0, tree.horizon) for end in (first, stop))
            variances += tree.range_variances(low, high)
        return variances

    def range_cumulants(self, first: IntArray, stop: IntArray) -> FloatArray:
        return self.excess_kurtosis * self.range_variances(first, stop) ** 2

    def loads(self, weights: FloatArray) -> FloatArray:
        parts = [
            tree.loads(weights[start : start + tree.horizon])
            for start, tree in zip(self.starts, self.trees, strict=False)
            if start < len(weights)
        ]
        return np.concatenate(parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "first": self.first,
            "cost": self.cost.to_dict(),
            "fan_outs": [list(fan_outs) for fan_outs in self.fan_outs],
            "most": self.most,
        }
