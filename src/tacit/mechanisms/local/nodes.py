r"""Counts of a tree's nodes, estimated from reports that each answered for one level.

Given the public numbers :math:`n_l` of reports at each level, the reports of level l are a random sample, without
replacement, of all N. A question with weights w on nodes that do not overlap errs by the sampling and by the oracles:

.. math:: \mathrm{Var} = \sum_l \Bigl( \frac{N^2}{n_l} S^2(w_l) + \frac{N}{n_l} \sum_u x_{lu} V_{lu}(w_l) \Bigr)
          - N S^2(w), \qquad S^2(w) = \frac{1}{N-1}\Bigl(\sum_u x_u w_u^2 - \frac1N \bigl(\sum_u x_u w_u\bigr)^2\Bigr)

with the true counts x of nodes and the oracle's variance :math:`V_{lu}` of one report of node u. The last term is there
because no report answers for two levels; it makes the answer exact where one level has all reports and no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.norm_sub import norm_sub
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.domain.hierarchy import Hierarchy, Node
from tacit.errors import NoInterval

_Number = TypeVar("_Number", float, FloatArray)


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """The estimated number of events in a range of leaves, and the variance of its error."""

    value: float
    variance: float


@dataclass(frozen=True, eq=False)
class NodeEstimate:
    """Unbiased counts of all nodes of a tree, indexed as the hierarchy numbers them; the root's is known.

    ``level_reports`` and ``distributions`` belong to the levels below the root. A level without reports has no estimate
    (NaN); ranges are then answered from the levels below it. Levels are not made to agree: two ways to add up a range
    give two answers, each unbiased.
    """

    hierarchy: Hierarchy
    values: FloatArray
    level_reports: tuple[int, ...]
    distributions: tuple[SupportDistribution, ...]

    @classmethod
    def of_supports(
        cls,
        hierarchy: Hierarchy,
        supports: Sequence[NDArray[np.int64]],
        level_reports: Sequence[int],
        distributions: Sequence[SupportDistribution],
    ) -> NodeEstimate:
        """Scale every level's estimate up to all reports: N / n_l * (C - n_l q) / (p - q)."""
        total = sum(level_reports)
        values = np.full(hierarchy.n_nodes, np.nan)
        values[0] = total
        for level, (support, n_here, distribution) in enumerate(
            zip(supports, level_reports, distributions, strict=True), 1
        ):
            if n_here:
                counts = (support - n_here * float(distribution.q)) / float(distribution.p - distribution.q)
                values[hierarchy.level_slice(level)] = counts * (total / n_here)
        return cls(hierarchy, values, tuple(level_reports), tuple(distributions))

    @property
    def n_reports(self) -> int:
        return sum(self.level_reports)

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of every node's error; infinite where there is no estimate."""
        total = self.n_reports
        variances = np.full(self.hierarchy.n_nodes, np.inf)
        variances[0] = 0.0
        for level, (counts, n_here, distribution) in enumerate(
            zip(self._plug_in, self.level_reports, self.distributions, strict=True), 1
        ):
            if n_here:
                p, q = float(distribution.p), float(distribution.q)
                oracle = (counts * (p * (1 - p)) + (total - counts) * (q * (1 - q))) / float(
                    distribution.p - distribution.q
                ) ** 2
                sampled = (total**2 / n_here - total) * _spread(counts, counts, total)
                variances[self.hierarchy.level_slice(level)] = sampled + total / n_here * oracle
        return variances

    def answer(self, first: int, stop: int) -> RangeAnswer:
        """Add up the fewest nodes that hold the leaves from ``first`` up to but not including ``stop``."""
        nodes = self._nodes_for(first, stop)
        value = float(sum(self.values[self.hierarchy.number(*node)] for node in nodes))
        return RangeAnswer(value, self._variance(self._by_level(nodes), self._plug_in))

    def exact_variance(self, first: int, stop: int, leaf_counts: NDArray[np.integer]) -> float:
        """The variance of a range's answer given the true counts: for the laboratory, and to plan with."""
        leaves = np.asarray(leaf_counts, np.float64)
        counts = [np.add.reduceat(leaves, level[:-1]) for level in self.hierarchy.boundaries[1:]]
        return self._variance(self._by_level(self._nodes_for(first, stop)), counts)

    @cached_property
    def _plug_in(self) -> list[FloatArray]:
        """Every level's estimate, projected onto what counts can be: what stands in for the truth in variances."""
        parts = [self.values[self.hierarchy.level_slice(level)] for level in range(1, self.hierarchy.n_levels)]
        total = np.array([self.n_reports])
        return [norm_sub(np.nan_to_num(part)[None, :], total)[0] for part in parts]

    def _nodes_for(self, first: int, stop: int) -> list[Node]:
        return [usable for node in self.hierarchy.decompose(first, stop) for usable in self._usable(node)]

    def _usable(self, node: Node) -> list[Node]:
        """The node, or those below it that have an estimate."""
        if node[0] == 0 or self.level_reports[node[0] - 1]:
            return [node]
        below = self.hierarchy.children(*node)
        if not below:
            raise NoInterval("no report answered for the leaves, so there is no estimate. Collect more reports.")
        return [usable for child in below for usable in self._usable(child)]

    def _by_level(self, nodes: Sequence[Node]) -> dict[int, FloatArray]:
        """The weights of a sum of nodes, level by level; the root is known and has no error."""
        weights: dict[int, FloatArray] = {}
        for level, index in nodes:
            if level:
                weights.setdefault(level, np.zeros(self.hierarchy.level_sizes[level]))[index] = 1.0
        return weights

    def _variance(self, weights: dict[int, FloatArray], counts: Sequence[FloatArray]) -> float:
        total = self.n_reports
        variance = squares = sums = 0.0
        for level, ours in weights.items():
            distribution, n_here, here = self.distributions[level - 1], self.level_reports[level - 1], counts[level - 1]
            square, mean = float(here @ ours**2), float(here @ ours)
            squares, sums = squares + square, sums + mean
            variance += total**2 / n_here * _spread(square, mean, total)
            variance += total / n_here * float(here @ distribution.variances(ours))
        return max(0.0, variance - total * _spread(squares, sums, total))


def _spread(square: _Number, mean: _Number, n: int) -> _Number:
    """The variance of a value over a population of n, from the sums of its squares and of itself."""
    return (square - mean**2 / n) / max(1, n - 1)
