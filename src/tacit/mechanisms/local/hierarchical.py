r"""Hierarchical histograms: each report answers for one level of a tree, and ranges are sums of a few nodes.

Adding up 500 noisy days adds up 500 errors. In a tree over 2048 days any range is a sum of a few nodes. A report can
afford one level only: it picks one at random, whatever the value is, and sends the node above its value through that
level's oracle with the whole epsilon. (The thesis has the same structure; what it lacks is an oracle whose epsilon is
the claimed one, and least squares, which let every level improve all others.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.counts.noise.sampled import variance_of_differences
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.sampled_levels import SampledLevels, level_chances, of_level
from tacit.mechanisms.local.tree_design import (
    LevelOracle,
    NodeEstimate,
    best_shares,
    best_tree,
    oracle_from_thresholds,
    short_oracle,
)


@dataclass(frozen=True, slots=True)
class HierarchicalHistogram(SampledLevels[Hierarchy]):
    r"""The levels of a tree over the cells: the tree and the chances that make ranges err least on average.

    Privacy:   epsilon-local for replacing the value, per report: the largest epsilon of the levels' oracles, since the
               level is chosen without looking at the value and is part of the report.
    Error:     exact for any question, see :mod:`tacit.counts.noise.sampled`: about 8.2 sqrt(N) for a random range
               of 2048 leaves at epsilon 1, where adding up leaves alone would err by 35 sqrt(N).
    Cost:      one byte for the level, then the longest of the oracles' reports; O(oracle) to randomize and to tally,
               O(nodes) to fuse.
    Reference: Kulkarni2019; Hay2010.

    >>> histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=2048)
    >>> histogram.hierarchy.level_sizes
    (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
    >>> histogram.report_bytes, histogram.epsilon <= 1.0
    (17, True)
    """

    @classmethod
    def from_epsilon(
        cls,
        *,
        epsilon: float,
        n_cells: int,
        fan_out: int | None = None,
        level_oracle: LevelOracle = short_oracle,
        weights: Sequence[float] | str = "fused",
    ) -> HierarchicalHistogram:
        """Make the histogram whose fused ranges err least, or that of a tree of one degree.

        The other settings are those of :meth:`over`.
        """
        if fan_out is None and weights == "fused":
            oracles: dict[int, FrequencyOracle] = {}

            @cache
            def variance_of(n_nodes: int) -> float:
                oracles[n_nodes] = level_oracle(epsilon, n_nodes)
                return variance_of_differences(oracles[n_nodes].distribution)

            check_at_least(2, n_cells=n_cells)
            tree, shares = best_tree(n_cells, variance_of)
            return cls(tree, tuple(oracles[size] for size in tree.level_sizes[1:]), level_chances(shares))
        tree = Hierarchy.of_degree(n_cells, 2 if fan_out is None else fan_out)
        return cls.over(tree, epsilon=epsilon, level_oracle=level_oracle, weights=weights)

    @classmethod
    def over(
        cls,
        hierarchy: Hierarchy,
        *,
        epsilon: float,
        level_oracle: LevelOracle = short_oracle,
        weights: Sequence[float] | str = "fused",
    ) -> HierarchicalHistogram:
        """Make the histogram of any tree, every level's oracle with the whole epsilon.

        ``weights`` are the shares of the levels below the root, coarsest first: "fused" (the least mean variance of
        fused answers over all ranges), "ranges" (of plain sums of nodes), "uniform", or numbers in proportion to them.

        >>> tree = Hierarchy.of_fan_outs([8, 4, 4])
        >>> histogram = HierarchicalHistogram.over(tree, epsilon=1.0)
        >>> [round(chance / 2**64, 2) for chance in histogram.chances]
        [0.26, 0.28, 0.46]
        """
        oracles = tuple(level_oracle(epsilon, size) for size in hierarchy.level_sizes[1:])
        if isinstance(weights, str):
            weights = _named_weights(weights, hierarchy, oracles)
        return cls(hierarchy, oracles, level_chances(weights))

    def thresholds(self) -> dict[str, int]:
        """Return, for each level below the root, the fan-out above it, its chance and its oracle's thresholds."""
        thresholds: dict[str, int] = {}
        for level, (fan_out, chance, oracle) in enumerate(
            zip(self._fan_outs, self.chances, self.oracles, strict=True), 1
        ):
            own = {"fan-out": fan_out, "chance": chance} | oracle.thresholds()
            thresholds |= {f"level {level} {name}": value for name, value in own.items()}
        return thresholds

    @classmethod
    def from_thresholds(cls, thresholds: Mapping[str, int], n_cells: int) -> HierarchicalHistogram:
        """Make the histogram that was agreed on; the names of an oracle's thresholds say which oracle it is."""
        levels: list[dict[str, int]] = []
        while own := of_level("level", len(levels) + 1, thresholds):
            levels.append(own)
        if sum(map(len, levels)) != len(thresholds):
            raise SettingError("thresholds must belong to levels numbered from 1. Make them again.")
        tree = Hierarchy.of_fan_outs([own.pop("fan-out") for own in levels], n_cells)
        chances = tuple(own.pop("chance") for own in levels)
        if tree.n_levels != len(levels) + 1:
            raise SettingError("fan-outs must give every level more nodes than the one above. Leave a level out.")
        oracles = (oracle_from_thresholds(own, size) for own, size in zip(levels, tree.level_sizes[1:], strict=True))
        made = cls(tree, tuple(oracles), chances)
        if made.thresholds() != dict(thresholds):
            raise SettingError("fan-outs must be no larger than the tree is. Make them again.")
        return made

    def estimate_nodes(self, statistics: NDArray[np.int64]) -> NodeEstimate:
        """Estimate the counts of all nodes from one public bin's row of statistics."""
        statistics = np.asarray(statistics)
        if statistics.shape != (self.n_statistics,):
            raise SettingError(
                f"statistics must be one row of {self.n_statistics} numbers; got shape={statistics.shape}. "
                "Ask for each public bin on its own."
            )
        supports, level_reports, first = [], [], 0
        for oracle in self.oracles:
            stop = first + 1 + oracle.n_statistics
            level_reports.append(int(statistics[first]))
            supports.append(statistics[first + 1 : stop])
            first = stop
        return NodeEstimate.of_supports(self.hierarchy, supports, level_reports, [o.distribution for o in self.oracles])

    @property
    def _fan_outs(self) -> list[int]:
        """The fan-outs of the levels, root first, where all full nodes of a level have one."""
        first_nodes = [int(boundaries[1]) for boundaries in self.hierarchy.boundaries[1:]]
        fan_outs = [self.hierarchy.level_sizes[1], *(above // below for above, below in pairwise(first_nodes))]
        if min(fan_outs) < 2 or Hierarchy.of_fan_outs(fan_outs, self.n_cells) != self.hierarchy:
            raise SettingError(
                "the tree must have one fan-out for each level before a plan can carry it. "
                "Make it with of_degree or of_fan_outs."
            )
        return fan_outs


def _named_weights(name: str, hierarchy: Hierarchy, oracles: Sequence[FrequencyOracle]) -> Sequence[float]:
    if name == "uniform":
        return [1.0] * len(oracles)
    if name == "ranges":
        return range_weights(hierarchy, oracles)
    if name == "fused":
        return best_shares(hierarchy, [variance_of_differences(oracle.distribution) for oracle in oracles])
    raise SettingError(f"weights must be fused, ranges, uniform or numbers; got weights={name}.")


def range_weights(hierarchy: Hierarchy, oracles: Sequence[FrequencyOracle]) -> list[float]:
    r"""Return the shares of levels that minimize the oracles' part of the mean variance over all ranges.

    That part is :math:`\sum_l c_l / \alpha_l` with the oracle's variance times the mean number of nodes that a range
    uses at level l, so the best shares are :math:`\alpha_l \propto \sqrt{c_l}`. A node [a, b) lies inside (a + 1)
    (N - b + 1) ranges, and is used by those its parent does not lie inside.
    """
    n = hierarchy.n_leaves

    def ranges_around(level: int) -> NDArray[np.float64]:
        edges = np.array(hierarchy.boundaries[level], np.float64)
        around: NDArray[np.float64] = (edges[:-1] + 1) * (n - edges[1:] + 1)
        return around

    weights = []
    for level, oracle in enumerate(oracles, 1):
        first_leaves = np.array(hierarchy.boundaries[level][:-1])
        parents = hierarchy.nodes_of(first_leaves, level - 1)
        used = (ranges_around(level) - ranges_around(level - 1)[parents]).sum() / (n * (n + 1) / 2)
        p, q = float(oracle.distribution.p), float(oracle.distribution.q)
        weights.append(float(np.sqrt(used * q * (1 - q)) / (p - q)))
    return weights
