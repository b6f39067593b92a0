"""A contender: a mechanism with its settings, and how much it would err in a situation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.mechanisms.planner.situation import Question


class RangeError(Protocol):
    """What the answers to ranges of bins err by; a :class:`~tacit.counts.tree_least_squares.TreeFusion` is one."""

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        """The variances of the sums of the bins from ``first`` up to but not including ``stop``."""


@dataclass(frozen=True, slots=True)
class QuadraticError:
    """Bins that err by ``single`` each, and by ``shared`` for each pair of them (a bin with itself too)."""

    single: float
    shared: float = 0.0

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        lengths = (np.asarray(stop) - np.asarray(first)).astype(np.float64)
        return np.maximum(self.single * lengths + self.shared * lengths**2, 0.0)


@dataclass(frozen=True, eq=False)
class Contender:
    """A mechanism by the name a plan knows it by, with the kind of a curator's noise and the fan-outs of a tree.

    Fan-outs stand root first. ``is_designed`` says that they, and what each level gets, were searched for; in other
    trees all levels are alike. ``is_continual`` says that it publishes after every bin; all others publish once, when
    all bins are full.
    """

    mechanism: str
    error: RangeError
    noise: str = ""
    fan_outs: tuple[int, ...] = ()
    report_bytes: int | None = None
    is_designed: bool = False
    is_continual: bool = False

    @property
    def name(self) -> str:
        """The mechanism and its noise."""
        return f"{self.mechanism} {self.noise}".rstrip()

    @property
    def is_plannable(self) -> bool:
        """Whether a plan can agree on it: devices' trees are designed, and a counter that runs on has its own file."""
        return not self.is_continual and (self.is_designed or self.mechanism != "hierarchical")

    def rmse(self, question: Question, n_bins: int) -> float:
        """The root of the mean variance over all questions of a kind."""
        mean = float(np.mean(self.error.range_variances(*question.ranges(n_bins))))
        return math.sqrt(max(mean, 0.0))  # rounding may leave a sum that is known a little below zero

    @property
    def shape(self) -> str:
        """The fan-outs for people, runs of equal ones as powers.

        >>> Contender("tree", QuadraticError(1.0), fan_outs=(4, 2, 2, 2)).shape
        '4 × 2^3'
        """
        runs = ((fan_out, len(list(run))) for fan_out, run in groupby(self.fan_outs))
        return " × ".join(f"{fan_out}^{times}" if times > 1 else f"{fan_out}" for fan_out, times in runs)

    def __str__(self) -> str:
        return f"{self.name} {self.shape}".rstrip()
