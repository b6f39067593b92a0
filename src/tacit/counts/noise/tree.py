r"""The noise of the leaves of measured trees, fused by least squares.

Every answer is a weighted sum of the nodes' independent noises, whose weights :mod:`tacit.counts.tree_least_squares`
knows; so its variance and its fourth cumulant are exact, :math:`\sum_v g_v^2 \sigma_v^2` and :math:`\sum_v g_v^4 c_v`.
Intervals are those of the variance-gamma distribution of this variance and kurtosis: exact for one Laplace node, and
for equal ones. Where leaves alone were measured the noise of a sum is a whole number, and so is the margin of its
interval. Where a level's noise is mostly 0 (a variance below 1, as for a large epsilon) an answer errs by few distinct
amounts, which no smooth distribution describes: there the interval is wider by the half unit that makes it safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import packed, shape_of, text, whole, whole_numbers
from tacit._base.validation import check_one_of, check_share
from tacit.counts.estimate import LEAST_SQUARES, Estimate
from tacit.counts.node_distributions import NodeDistribution, node_distribution_from_dict
from tacit.counts.noise.model import FusedTrees, Noise
from tacit.counts.noise.quantiles import VarianceGammaNoise, non_negative
from tacit.counts.provenance import Provenance
from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain import Domain, Grouping
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError

_NUMBERS_AT_ONCE: Final = 1 << 22  # 32 MiB of weights; doubled, twice the memory
_RANGES_AT_ONCE: Final = 1 << 15  # stay in cache on their way from moments to limits; the size changes the time alone


@dataclass(frozen=True, eq=False)
class TreeNoise(VarianceGammaNoise):
    """Trees of one shape over one axis, an independent one for each bin of the other.

    ``distributions`` are those of the noise of single nodes, one for each level, root first, None where a level was not
    measured; ``known`` lists levels whose counts are public. Leaf i of a tree over places is place ``order[i]``.
    """

    hierarchy: Hierarchy
    distributions: tuple[NodeDistribution | None, ...]
    shape: tuple[int, int]
    axis: str = "time"
    order: IntArray | None = None
    known: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_one_of(("time", "place"), axis=self.axis)
        n_leaves = self.hierarchy.n_leaves
        if self.shape[self._tree_axis] != n_leaves or len(self.distributions) != self.hierarchy.n_levels:
            raise SettingError(
                f"a tree of {n_leaves} leaves and {self.hierarchy.n_levels} levels must stand over as many bins and "
                f"have as many distributions; got shape={self.shape}, {len(self.distributions)} distributions."
            )
        if any(not 0 <= level < self.hierarchy.n_levels for level in self.known):
            raise SettingError(f"known must list levels from 0 to {self.hierarchy.height}; got known={self.known}.")
        if self.distributions[-1] is None and self.hierarchy.height not in self.known:
            raise SettingError(
                "distributions must name one for the leaves; got None. Measure the leaves, or cut the tree above."
            )
        if self.order is not None and not np.array_equal(np.sort(self.order), np.arange(n_leaves)):
            raise SettingError(f"order must hold each of the {n_leaves} leaves once.")

    @cached_property
    def fusion(self) -> TreeFusion:
        """The least squares that made the leaves, with the exact moments of every question."""
        variances, cumulants = [], []
        for level, distribution in enumerate(self.distributions):
            is_known = level in self.known
            variance = 0.0 if is_known else np.inf if distribution is None else distribution.variance
            kurtosis = 0.0 if is_known or distribution is None else distribution.excess_kurtosis
            variances.append(variance)
            cumulants.append(kurtosis * variance**2 if kurtosis else 0.0)
        return TreeFusion(self.hierarchy, variances, cumulants)

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self._over_leaves(self._leaf_moments[0]))

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return non_negative(values, self._over_leaves(self._margins(*self._leaf_moments, level)))

    def range_limits(
        self, values: FloatArray, first: NDArray[np.integer], stop: NDArray[np.integer], level: float
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        if self.tree_over_time() is None:
            return None
        errors = np.sqrt(self.fusion.range_variances(first, stop))
        return errors, *self.range_intervals(values, first, stop, level)

    def range_intervals(
        self, values: FloatArray, first: NDArray[np.integer], stop: NDArray[np.integer], level: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return limits for sums of the leaves ``first`` up to but not including ``stop`` of one tree, elementwise.

        O(height) for each, compiled: for millions of ranges at once. Leaves stand in the tree's order.
        """
        check_share(level=level)
        values, first, stop = (array.ravel() for array in np.broadcast_arrays(values, first, stop))
        lower, upper = np.empty(values.size), np.empty(values.size)
        for start in range(0, values.size, _RANGES_AT_ONCE):
            part = slice(start, start + _RANGES_AT_ONCE)
            margin = self._margins(*self.fusion.range_moments(first[part], stop[part]), level)
            lower[part], upper[part] = non_negative(values[part], margin)
        return lower, upper

    def scaled(self, budget: Fraction) -> Noise | None:
        return replace(
            self,
            distributions=tuple(distribution and distribution.scaled(budget) for distribution in self.distributions),
        )

    def tree_over_time(self) -> TreeNoise | None:
        return self if self.axis == "time" and self.order is None else None

    def fused_trees(self) -> FusedTrees | None:
        return FusedTrees(self.fusion, self.leaves, self.cells, None)

    def browser_moments(self, level: float | None = None) -> dict[str, Any]:
        fusion = self.fusion
        return {
            "kind": "tree",
            "axis": self.axis,
            "edges": [edges.tolist() for edges in self.hierarchy.boundaries[:-1]],
            "order": None if self.order is None else self.order.tolist(),
            "variances": [None if np.isinf(variance) else variance for variance in fusion.level_variances],
            "cumulants": list(fusion.level_cumulants or ()),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "tree",
            "hierarchy": self.hierarchy.to_dict(),
            "distributions": [
                None if distribution is None else distribution.to_dict() for distribution in self.distributions
            ],
            "shape": list(self.shape),
            "axis": self.axis,
            "order": packed(self.order),
            "known": list(self.known),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TreeNoise:
        return cls(
            Hierarchy.from_dict(content["hierarchy"]),
            tuple(
                None if distribution is None else node_distribution_from_dict(distribution)
                for distribution in content["distributions"]
            ),
            shape_of(content),
            text(content, "axis"),
            None if content["order"] is None else whole_numbers(content, "order"),
            tuple(whole({"known": level}, "known") for level in content["known"]),
        )

    @property
    def _tree_axis(self) -> int:
        return 0 if self.axis == "time" else 1

    def leaves(self, cells: FloatArray) -> FloatArray:
        """Return an array over the domain with one row for each leaf, in the tree's order."""
        rows = np.asarray(cells, np.float64)
        rows = rows if self.axis == "time" else rows.T
        return rows if self.order is None else rows[self.order]

    def cells(self, leaves: FloatArray) -> FloatArray:
        """Return rows of leaves in the tree's order as an array over the domain."""
        by_bin = leaves
        if self.order is not None:
            by_bin = np.empty_like(leaves)
            by_bin[self.order] = leaves
        return np.ascontiguousarray(by_bin if self.axis == "time" else by_bin.T)

    def _over_leaves(self, one_each: FloatArray) -> FloatArray:
        """Return a number for each leaf, the same in all trees, as an array over the domain."""
        n_trees = self.shape[1 - self._tree_axis]
        return self.cells(np.repeat(one_each[:, None], n_trees, axis=1))

    @cached_property
    def _leaf_moments(self) -> tuple[FloatArray, FloatArray]:
        leaves = np.arange(self.hierarchy.n_leaves)
        return self.fusion.range_moments(leaves, leaves + 1)

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the variance and the fourth cumulant of a question; trees that are asked alike are asked once."""
        if np.shape(weights) != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={np.shape(weights)}.")
        questions, n_times = np.unique(self.leaves(weights), axis=1, return_counts=True)
        variance = cumulant = 0.0
        for question, n in zip(questions.T, n_times.tolist(), strict=True):
            if question.any():
                moments = self.fusion.moments(question)
                variance, cumulant = variance + n * float(moments[0]), cumulant + n * float(moments[1])
        return variance, cumulant

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray]:
        """Return the moments of sums of cells: of groups of leaves, times the number of trees that are added up."""
        groups, trees = grouping.time, grouping.columns
        n_groups, n_sums = grouping.shape
        if self.axis == "place":
            groups, trees, n_groups, n_sums = trees, groups, n_sums, n_groups
        groups = groups if self.order is None else groups[self.order]
        n_trees = np.bincount(trees, minlength=n_sums)
        moments = [one[:, None] * n_trees for one in self.group_moments(groups, n_groups)]
        variances, cumulants = moments if self.axis == "time" else [one.T for one in moments]
        return variances, cumulants

    def group_moments(self, groups: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
        """Return the variances and the fourth cumulants of sums of groups of leaves of one tree."""
        edges = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [groups.size]])
        runs = groups[edges[:-1]]
        moments = np.zeros((2, n_groups))
        if np.unique(runs).size == runs.size:
            moments[:, runs] = self.fusion.range_moments(edges[:-1], edges[1:])
        else:
            n_columns = max(1, _NUMBERS_AT_ONCE // self.hierarchy.n_nodes)
            for first in range(0, n_groups, n_columns):
                columns = np.arange(first, min(first + n_columns, n_groups))
                moments[:, columns] = self.fusion.moments((groups[:, None] == columns).astype(np.float64))
        return moments[0], moments[1]

    @cached_property
    def is_flat(self) -> bool:
        """Return whether only leaves were measured: then answers to whole-number questions err by whole numbers."""
        return not self.known and all(distribution is None for distribution in self.distributions[:-1])

    @property
    def _errs_by_whole_numbers(self) -> bool:
        return self.is_flat

    @property
    def _is_grainy(self) -> bool:
        """Return whether some level's noise is mostly 0."""
        return any(distribution is not None and distribution.variance < 1 for distribution in self.distributions)


def fuse(
    hierarchy: Hierarchy,
    nodes: NDArray[np.integer] | NDArray[np.floating],
    distributions: Sequence[NodeDistribution | None],
    *,
    domain: Domain,
    axis: str = "time",
    order: NDArray[np.int64] | None = None,
    known: Sequence[int] = (),
    provenance: Provenance,
) -> Estimate:
    """Return the least-squares leaves of trees over one axis of a domain, one tree for each bin of the other.

    ``nodes`` has a row for each node, as the hierarchy numbers them, and a column for each tree. ``distributions`` are
    those of the noise of single nodes, one for each level, root first; None for a level that was not measured, whose
    rows are not looked at. ``known`` lists levels whose rows are public and exact, such as a total. Leaf i of a tree
    over places is place ``order[i]``. Leaves are unbiased, add up to every node, and carry the exact variance of any
    question.
    """
    noise = TreeNoise(hierarchy, tuple(distributions), domain.shape, axis, order, tuple(known))
    n_trees = domain.shape[1 if axis == "time" else 0]
    if nodes.shape != (hierarchy.n_nodes, n_trees):
        raise SettingError(
            f"nodes must have {hierarchy.n_nodes} rows, one for each node, and {n_trees} columns; "
            f"got shape={nodes.shape}."
        )
    return Estimate(
        domain=domain,
        values=noise.cells(noise.fusion.fuse(nodes)),
        noise=noise,
        totals=None,
        steps=() if noise.is_flat else (LEAST_SQUARES,),
        provenance=provenance,
    )
