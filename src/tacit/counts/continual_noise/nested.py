r"""Trees whose nodes come and go as on a stack: a node a bin, and a total that is the sum of those that stand.

After bin t exactly one new node is complete. It holds the counts of the last ``spans[t]`` bins, takes the place of all
nodes within them, and stands until a larger one takes its place. So the noise of a total obeys

.. math:: N_t = N_{t - s_t} + z_t,

and a question with the weight :math:`w_i` on bin i puts the weight :math:`w_{t-1} - w_{e_t - 1}` on the noise of node
t, which stands from total t up to total :math:`e_t - 1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.continual_noise.model import LONGEST, OneNodeNoise, bounds_to_dict, check_horizon, check_ranges
from tacit.errors import SettingError
from tacit.privacy.cost import Cost

_LONGEST_LABEL: Final = 1 << 10  # digits: a table of binomials of so many rows is made at once, its square in size


@dataclass(frozen=True)
class NestedTree(OneNodeNoise):
    """Trees of this kind: ``horizon`` is the number of bins, ``most`` the counts of one unit.

    ``most_per_cell`` are those of them in one bin of one column (0 stands for ``most``).
    """

    kind: ClassVar[str]
    is_causal: ClassVar[bool] = True
    grid: ClassVar[int] = 1

    horizon: int
    cost: Cost
    most: int = 1
    most_per_cell: int = field(default=0, kw_only=True)

    def spans(self, totals: IntArray) -> IntArray:
        """Return how many bins the node that completes with each of these totals (1, 2, ...) holds."""
        raise NotImplementedError

    def ends(self, totals: IntArray) -> IntArray:
        """Return the first total in which this node no longer stands; beyond all horizons if it stands for ever."""
        raise NotImplementedError

    def node_counts(self, first: IntArray, stop: IntArray) -> IntArray:
        """Return how many noises are in a range: the nodes of its two totals, without those they share."""
        raise NotImplementedError

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        first, stop = check_ranges(first, stop, self.horizon)
        variances: FloatArray = self.node_counts(first, stop).astype(np.float64) * self.node_noise.variance
        return variances

    def range_cumulants(self, first: IntArray, stop: IntArray) -> FloatArray:
        return self.range_variances(first, stop) * (self.excess_kurtosis * self.node_noise.variance)

    def loads(self, weights: FloatArray) -> FloatArray:
        n_bins = len(weights)
        totals = np.arange(1, n_bins + 1)
        padded = np.concatenate([weights, np.zeros_like(weights[:1])])
        after = padded[np.minimum(self.ends(totals), n_bins + 1) - 1]
        loads: FloatArray = (weights - after) * math.sqrt(self.node_noise.variance)
        return loads

    def _fields(self) -> dict[str, Any]:
        return {"horizon": self.horizon, "cost": self.cost.to_dict()} | bounds_to_dict(self.most, self.most_per_cell)


@dataclass(frozen=True)
class KaryTree(NestedTree):
    r"""Totals from the digits of t: a node of :math:`b_1 \cdots b_l` bins for each unit of its digit l.

    .. math:: t = \sum_l d_l m_l, \qquad m_l = b_1 \cdots b_l, \qquad
              \mathrm{Var}_t = \sigma^2 \sum_l d_l

    Of level h, the top, there are as many nodes as the stream needs.

    Privacy:   a count stands in h + 1 nodes; epsilon for Laplace noise of scale (h + 1)/epsilon, rho for Gaussian
               noise of variance (h + 1)/(2 rho). Also when the stream reacts to what was published.
    Error:     as above; a range has the nodes of its two totals, without those they share.
    Cost:      one noise a bin; at most the sum of the largest digits to keep.
    Reference: Dwork2010, Chan2011 (binary); Andersson2024 (wider).

    >>> binary = KaryTree.binary(2048, Cost.pure(1.0))
    >>> binary.levels, binary.node_counts(np.array([0]), np.array([2047])).tolist()
    (12, [11])
    """

    kind: ClassVar[str] = "k-ary tree"

    fan_outs: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        for fan_out in self.fan_outs:
            check_at_least(2, fan_out=fan_out)
        if self.sizes[-1] > LONGEST:
            raise SettingError(f"nodes must hold at most {LONGEST:,} bins; got fan_outs={self.fan_outs}. Drop a level.")

    @classmethod
    def binary(cls, horizon: int, cost: Cost, most: int = 1) -> KaryTree:
        """Return the binary mechanism."""
        check_horizon(horizon)
        return cls(horizon, cost, most, (2,) * (horizon.bit_length() - 1))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(self.fan_outs[:level]) for level in range(len(self.fan_outs) + 1))

    def digits(self, totals: IntArray) -> list[IntArray]:
        """Return the digits of totals, lowest first."""
        return digits_of(totals, self.fan_outs)

    def spans(self, totals: IntArray) -> IntArray:
        spans = np.ones_like(totals)
        for size in self.sizes[1:]:
            spans = np.where(totals % size == 0, size, spans)
        return spans

    def ends(self, totals: IntArray) -> IntArray:
        ends = np.full_like(totals, LONGEST + 1)
        spans = self.spans(totals)
        for size, parent in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            ends = np.where(spans == size, (totals // parent + 1) * parent, ends)
        return ends

    def node_counts(self, first: IntArray, stop: IntArray) -> IntArray:
        shared = np.ones(first.shape, bool)
        nodes = np.zeros(first.shape, np.int64)
        for low, high in zip(reversed(self.digits(first)), reversed(self.digits(stop)), strict=True):
            nodes += np.where(shared, high - low, high + low)
            shared = shared & (high == low)
        return nodes

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._fields(), "fan_outs": list(self.fan_outs)}


@dataclass(frozen=True)
class SmoothTree(NestedTree):
    r"""Totals from labels of a zeros and b ones: the same error early and late, and the least of the causal trees.

    Bin i has the i-th label in the order of numbers, of all with exactly a zeros. A count stands in the a nodes that
    are the left children on the way to its label, and total t is the sum of the left siblings of the ones in label t;
    those after the last zero hold nothing and are left out. There are :math:`\binom{a + b}{a} - 1` bins at most.

    .. math:: \mathrm{Var}_t = \sigma^2 \cdot (\text{ones of label } t \text{ before its last zero})

    Privacy:   epsilon for Laplace noise of scale a/epsilon, rho for Gaussian noise of variance a/(2 rho). Also when
               the stream reacts to what was published.
    Error:     as above; a range has the nodes of its two totals, without those they share.
    Cost:      one noise a bin; b to keep.
    Reference: Andersson2023 (a = b), generalized.

    >>> smooth = SmoothTree(2048, Cost.pure(1.0), zeros=3, ones=22)
    >>> smooth.node_counts(np.array([0, 0]), np.array([1000, 2047])).tolist()
    [16, 18]
    """

    kind: ClassVar[str] = "smooth tree"

    zeros: int = 1
    ones: int = 1

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_at_least(1, zeros=self.zeros, ones=self.ones)
        if self.length > _LONGEST_LABEL:
            raise SettingError(
                f"a label must have at most {_LONGEST_LABEL} digits; got zeros={self.zeros} and ones={self.ones}. "
                "Take more zeros and fewer ones."
            )
        if math.comb(self.length, self.zeros) <= self.horizon:
            raise SettingError(
                f"{self.zeros} zeros and {self.ones} ones have labels for {math.comb(self.length, self.zeros) - 1:,} "
                f"bins; got horizon={self.horizon}. Take more zeros or ones."
            )

    @classmethod
    def fewest_ones(cls, horizon: int, zeros: int) -> int:
        """Return the fewest ones with which there are labels enough."""
        low, high = 1, max(horizon, 1)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if math.comb(middle + zeros, zeros) > horizon else (middle + 1, high)
        return low

    @property
    def length(self) -> int:
        return self.zeros + self.ones

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        # a left child that ends with zero i holds the labels of the other zeros behind it: most where no one is before
        return tuple(math.comb(self.length - zero, self.zeros - zero) for zero in range(self.zeros, 0, -1))

    def spans(self, totals: IntArray) -> IntArray:
        tail, run = self._endings(totals)
        return self._choose(tail + run, run - 1)

    def ends(self, totals: IntArray) -> IntArray:
        tail, run = self._endings(totals)
        return totals + self._choose(tail + run, run)

    def node_counts(self, first: IntArray, stop: IntArray) -> IntArray:
        shared = np.ones(first.shape, bool)
        nodes = np.zeros(first.shape, np.int64)
        for (low, low_zeros), (high, high_zeros) in zip(self._labels(first), self._labels(stop), strict=True):
            shared = shared & (low == high)
            counted = (low & (low_zeros > 0)).astype(np.int64) + (high & (high_zeros > 0))
            nodes += np.where(shared, 0, counted)
        return nodes

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._fields(), "zeros": self.zeros, "ones": self.ones}

    def _labels(self, totals: IntArray) -> Any:
        """Yield the labels place by place from the left: whether it is a one, and the zeros still to come."""
        rank = np.asarray(totals).copy()
        zeros = np.full(rank.shape, self.zeros)
        for rest in range(self.length - 1, -1, -1):
            with_zero = self._choose(np.full(rank.shape, rest), zeros - 1)
            is_one = rank >= with_zero
            yield is_one, zeros
            rank = np.where(is_one, rank - with_zero, rank)
            zeros = np.where(is_one, zeros, zeros - 1)

    def _endings(self, totals: IntArray) -> tuple[IntArray, IntArray]:
        """Return the ones at the end of each label, and the zeros before them."""
        tail = np.zeros(np.shape(totals), np.int64)
        run = np.zeros(np.shape(totals), np.int64)
        for is_one, _ in self._labels(totals):
            run = np.where(is_one, run, np.where(tail > 0, 1, run + 1))
            tail = np.where(is_one, tail + 1, 0)
        return tail, run

    def _choose(self, n: IntArray, k: IntArray) -> IntArray:
        chosen: IntArray = _binomials(self.length, self.zeros)[n, np.maximum(k, -1)]
        return chosen


@lru_cache(maxsize=64)
def _binomials(most: int, zeros: int) -> IntArray:
    """Return n over k, for n to ``most`` and k to ``zeros``, cut off at 2**62; the last column is for k = -1."""
    table = np.zeros((most + 1, zeros + 2), np.int64)
    for n in range(most + 1):
        for k in range(min(n, zeros) + 1):
            table[n, k] = min(math.comb(n, k), 1 << 62)
    return table


def digits_of(totals: IntArray, fan_outs: tuple[int, ...]) -> list[IntArray]:
    """Return the digits of numbers, lowest first; the last digit has no limit.

    >>> [digit.tolist() for digit in digits_of(np.array([17, 23]), (2, 5))]
    [[1, 1], [3, 1], [1, 2]]
    """
    digits = []
    rest = np.asarray(totals)
    for fan_out in fan_outs:
        digits.append(rest % fan_out)
        rest = rest // fan_out
    return [*digits, rest]
