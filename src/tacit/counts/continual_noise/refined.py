r"""Trees whose nodes are estimated from everything measured inside them, and sequences of such trees.

With the same noise variance :math:`\sigma^2` in every node of a tree of fan-outs b, a node of level l that is estimated
from its own measurement and its children's estimates by least squares has

.. math:: \hat y = \frac{m_l\, y + \Lambda_{l-1} \sum_c \hat y_c}{\Lambda_l}, \qquad
          V_l = \sigma^2 \frac{m_l}{\Lambda_l}, \qquad \Lambda_l = \sum_{i \le l} m_i,

and covaries by :math:`V_l\, r / m_l` with the estimate of r bins inside it that make whole nodes. A stream whose end
nobody knows has one tree after another, each twice as long as the one before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.continual_noise.model import LONGEST, OneNodeNoise, bounds_to_dict, check_horizon, check_ranges
from tacit.counts.continual_noise.nested import digits_of
from tacit.errors import SettingError
from tacit.privacy.cost import Cost

SHARE_BITS: Final = 20
"""The binary digits of the share that a node's own measurement has in its estimate: a share is off by a millionth. With
half of them it would be off by a thousandth; with twice as many sums would leave 64 bits."""

_LARGEST_DENOMINATOR: Final = 1 << 40  # leaves 22 of 62 bits for the noise itself
_SAFE_ERRORS: Final = 1000  # standard deviations of a node: a draw is beyond them with probability below 1e-600


@dataclass(frozen=True)
class _MeasuredTree(OneNodeNoise):
    """Both kinds of trees: ``fan_outs`` from the leaves up, and as many nodes on top as the stream needs."""

    kind: ClassVar[str]
    is_causal: ClassVar[bool]
    grid: ClassVar[int] = 1 << 10

    horizon: int
    cost: Cost
    fan_outs: tuple[int, ...] = ()
    most: int = 1
    most_per_cell: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        for fan_out in self.fan_outs:
            check_at_least(2, fan_out=fan_out)
        if self.sizes[-1] > LONGEST:
            raise SettingError(f"nodes must hold at most {LONGEST:,} bins; got fan_outs={self.fan_outs}. Drop a level.")
        if math.sqrt(self.node_noise.variance) * _SAFE_ERRORS * self._units >= 1 << 62:
            raise SettingError(
                f"the noise of a node must stay within 64-bit numbers; got {self.cost} and most={self.most}. "
                "Spend more, count fewer of a unit, or take fewer levels."
            )

    @property
    def _units(self) -> int:
        """The number of units in a count, in which whole numbers are computed."""
        return self.grid << SHARE_BITS

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(self.fan_outs[:level]) for level in range(len(self.fan_outs) + 1))

    @cached_property
    def sums(self) -> tuple[int, ...]:
        """The sums of the sizes up to each level."""
        return tuple(sum(self.sizes[: level + 1]) for level in range(self.levels))

    @cached_property
    def node_variances(self) -> tuple[float, ...]:
        """The variance of a node's estimate, level by level."""
        return tuple(self.node_noise.variance * size / total for size, total in zip(self.sizes, self.sums, strict=True))

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        raise NotImplementedError

    def range_cumulants(self, first: IntArray, stop: IntArray) -> FloatArray:
        return self.excess_kurtosis * self.range_variances(first, stop) ** 2

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "horizon": self.horizon,
            "cost": self.cost.to_dict(),
            "fan_outs": list(self.fan_outs),
        } | bounds_to_dict(self.most, self.most_per_cell)

    def _ends(self, level: int, n_bins: int) -> IntArray:
        """Return the totals at which nodes of a level are complete, those that are begun within ``n_bins`` included."""
        size = self.sizes[level]
        return np.arange(size, n_bins + size, size)


@dataclass(frozen=True)
class RefinedTree(_MeasuredTree):
    r"""Totals from the digits of t, each node estimated from all that was measured inside it.

    .. math:: \mathrm{Var}_t = \sum_l d_l V_l

    Privacy:   that of the tree without refinement: what is computed from noisy nodes costs nothing. Also when the
               stream reacts to what was published.
    Error:     as above; a range shares nodes, or parts of nodes, between its two totals. Estimates are rounded to
               1/1024 of a count.
    Cost:      b/(b - 1) noises a bin; a true sum and a sum of estimates for each level to keep.
    Reference: Honaker2015 (binary); Hay2010.

    >>> refined = RefinedTree(2048, Cost.pure(1.0), (13, 13))
    >>> round(float(refined.range_variances(np.zeros(2048, int), np.arange(1, 2049)).mean()), 1)
    297.1
    """

    kind: ClassVar[str] = "refined tree"
    is_causal: ClassVar[bool] = True

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        first, stop = check_ranges(first, stop, self.horizon)
        shared = np.ones(first.shape, bool)
        variances = np.zeros(first.shape)
        digits = zip(digits_of(first, self.fan_outs), digits_of(stop, self.fan_outs), strict=True)
        for (low, high), size, variance in zip(
            reversed(list(digits)), reversed(self.sizes), reversed(self.node_variances), strict=True
        ):
            parts_here = shared & (high > low)
            variances += variance * np.where(shared, high - low, high + low)
            variances -= np.where(parts_here, 2 * variance * (first % size) / size, 0.0)
            shared = shared & (high == low)
        return variances

    def loads(self, weights: FloatArray) -> FloatArray:
        n_bins, n_questions = weights.shape
        padded = np.concatenate([weights, np.zeros((1, n_questions))])
        at = [padded[np.minimum(self._ends(level, n_bins) - 1, n_bins)] for level in range(self.levels)]
        loads: list[FloatArray] = []
        above: FloatArray | None = None
        for level in range(self.levels - 1, -1, -1):
            use = at[level].copy()
            if above is not None:
                parent = np.arange(len(use)) // self.fan_outs[level]
                use += above[parent] * (self.sums[level] / self.sums[level + 1]) - at[level + 1][parent]
            loads.append(use * (self.sizes[level] / self.sums[level]))
            above = use
        return np.concatenate(loads) * math.sqrt(self.node_noise.variance)


@dataclass(frozen=True)
class FusedTree(_MeasuredTree):
    r"""Totals from the least-squares estimate of the whole tree, future nodes included: their noise is drawn ahead.

    .. math:: \mathrm{Var}(u) = \sum_j \frac{|P_j u|^2}{\lambda_j}, \qquad
              \lambda_j = \Lambda_{\min(j, h)} / \sigma^2, \qquad P_j = A_j - A_{j+1}

    with the average :math:`A_j` over nodes of level j and the top nodes not averaged any further.

    Privacy:   epsilon or rho as for the tree, **only if the stream does not react to what is published**: noise of
               nodes that are not complete is in the totals already, and counts chosen after seeing them are not
               covered. Visitors who look at the published counts and stay away are such a reaction.
    Error:     as above, rounded to 1/1024 of a count; about half of the best causal one.
    Cost:      the noise of the whole horizon, computed at once from the key.
    Reference: Hay2010; Honaker2015 ("full"); Andersson2024.

    >>> fused = FusedTree(2048, Cost.pure(1.0), (18, 18))
    >>> round(float(fused.range_variances(np.zeros(2048, int), np.arange(1, 2049)).mean()), 1)
    151.2
    """

    kind: ClassVar[str] = "fused tree, noise drawn ahead"
    is_causal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.denominator > _LARGEST_DENOMINATOR:
            raise SettingError(
                "the weights of the tree must have a common denominator of at most 2**40; "
                f"got fan_outs={self.fan_outs}. Take fewer levels."
            )

    @property
    def _units(self) -> int:
        return self.denominator * (self.horizon // self.sizes[-1] + 1)

    @cached_property
    def denominator(self) -> int:
        """The common denominator of the weights that noises have in totals."""
        return math.prod(self.sums) * self.sizes[-1]

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        first, stop = check_ranges(first, stop, self.horizon)
        energies = [self._energy(first, stop, size) for size in self.sizes]
        variances = np.zeros(first.shape)
        for energy, above, total in zip(energies, [*energies[1:], np.zeros(first.shape)], self.sums, strict=True):
            variances += (energy - above) * (self.node_noise.variance / total)
        return variances

    def loads(self, weights: FloatArray) -> FloatArray:
        n_bins, n_questions = weights.shape
        n_padded = -(-n_bins // self.sizes[-1]) * self.sizes[-1]
        padded = np.concatenate([weights, np.zeros((n_padded - n_bins, n_questions))])
        averages = [padded.reshape(-1, size, n_questions).mean(axis=1) for size in self.sizes]
        parts = [
            own - (np.repeat(averages[level + 1], self.fan_outs[level], axis=0) if level + 1 < self.levels else 0.0)
            for level, own in enumerate(averages)
        ]
        # the noises of all levels enter through the part of the question that lies in each, with the part's own weight
        loads = []
        for level in range(self.levels):
            total = np.zeros_like(averages[level])
            for part_level in range(level, self.levels):
                ratio = self.sizes[part_level] // self.sizes[level]
                total += np.repeat(parts[part_level], ratio, axis=0) * (self.sizes[level] / self.sums[part_level])
            loads.append(total)
        return np.concatenate(loads) * math.sqrt(self.node_noise.variance)

    @staticmethod
    def _energy(first: IntArray, stop: IntArray, size: int) -> FloatArray:
        """Return the squared length of a range averaged over nodes of one size."""
        inside = first // size == stop // size
        left = (-first) % size
        right = stop % size
        full = np.maximum((stop - right - first - left) // size, 0)
        ends = np.where(inside, (stop - first) ** 2, left**2 + right**2) / size
        energy: FloatArray = ends + np.where(inside, 0, full * size)
        return energy


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
    most_per_cell: int = field(default=0, kw_only=True)

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
        """The first bin of each epoch, and the end of the last one."""
        return tuple(self.first * ((1 << epoch) - 1) for epoch in range(len(self.fan_outs) + 1))

    @cached_property
    def trees(self) -> tuple[RefinedTree, ...]:
        return tuple(
            RefinedTree(self.first << epoch, self.cost, fan_outs, self.most, most_per_cell=self.most_per_cell)
            for epoch, fan_outs in enumerate(self.fan_outs)
        )

    @property
    def excess_kurtosis(self) -> float:
        return max(tree.excess_kurtosis for tree in self.trees)

    @property
    def is_grainy(self) -> bool:
        return any(tree.is_grainy for tree in self.trees)

    def epoch_of(self, bin: int) -> int:
        """Return the epoch that a bin lies in."""
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
        } | bounds_to_dict(self.most, self.most_per_cell)
