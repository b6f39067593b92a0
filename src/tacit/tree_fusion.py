r"""Least squares on a tree whose nodes were measured with independent noise, one variance for each level.

A node's count is the sum of its children's, so measurements of nodes say something about one another. The estimate of
least variance among all unbiased ones takes two passes. Upward, every node v is estimated from its own subtree,

.. math:: z_v = (1 - k_v) \sum_c z_c + k_v y_v, \qquad k_v = \frac{S_v}{S_v + \sigma_l^2}, \qquad
          S_v = \sum_c s_c, \qquad s_v = (1 - k_v) S_v,

with the measurement y of variance :math:`\sigma_l^2` and the variance s of z over the children c; a leaf has z = y.
Downward, the children share what their parent knows better, in proportion to their variances:

.. math:: x_c = z_c + \frac{s_c}{S_v} \Bigl(x_v - \sum_{c'} z_{c'}\Bigr), \qquad x_\mathrm{root} = z_\mathrm{root}.

The leaves x then add up to every node. Nothing asks for equal fan-outs. A level of infinite variance was not measured;
one of variance 0 is known exactly, as a public total is.

Reference: Hay2010 (equal fan-outs and variances); the passes are Kalman smoothing on a tree, Chou1994.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit import _kernels
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeFusion:
    """The least-squares leaves of a measured tree, and the exact error of every question put to them.

    ``level_variances`` stand root first, as the levels of the hierarchy do. Arrays of nodes are numbered as the
    hierarchy numbers them. O(nodes) to make, to fuse and for the variance of a question; O(height) for a range.

    >>> fusion = TreeFusion(Hierarchy.of_degree(4, 2), [math.inf, 2.0, 2.0])
    >>> fusion.fuse(np.array([0.0, 10.0, 2.0, 4.0, 3.0, 1.0, 1.0])).tolist()
    [5.0, 4.0, 1.0, 1.0]
    >>> fusion.range_variances(np.array([0, 0, 0]), np.array([1, 2, 4])).round(4).tolist()
    [1.3333, 1.3333, 2.6667]
    """

    hierarchy: Hierarchy
    level_variances: Sequence[float]

    def __post_init__(self) -> None:
        variances = tuple(float(variance) for variance in self.level_variances)
        object.__setattr__(self, "level_variances", variances)
        if len(variances) != self.hierarchy.n_levels or not all(variance >= 0 for variance in variances):
            raise SettingError(
                f"level_variances must be {self.hierarchy.n_levels} numbers of at least 0, root first; "
                f"got level_variances={variances}. Write inf for a level that was not measured."
            )
        if math.isinf(variances[-1]):
            raise SettingError(
                "level_variances must be finite for the leaves; got inf. "
                "Measure the leaves, or make a tree whose leaves are the finest level that was measured."
            )

    def fuse(self, nodes: NDArray[np.floating] | NDArray[np.integer]) -> FloatArray:
        """The leaves of least variance, from measurements of all nodes: one tree, or many of one shape in columns.

        Values of levels that were not measured are not looked at, and may be NaN.
        """
        nodes = np.asarray(nodes)
        if nodes.ndim not in (1, 2) or len(nodes) != self.hierarchy.n_nodes:
            raise SettingError(
                f"nodes must have {self.hierarchy.n_nodes} rows, one for each node; got shape={nodes.shape}."
            )
        last = self.hierarchy.n_levels - 1
        from_below = [np.asarray(nodes[self.hierarchy.level_slice(last)], np.float64)]
        sums: list[FloatArray] = []
        for level in range(last - 1, -1, -1):
            below = self._sum_children(level, from_below[0])
            sums.insert(0, below)
            if math.isfinite(self.level_variances[level]):
                own = nodes[self.hierarchy.level_slice(level)]
                below = below + _beside(self._gains[level], below) * (own - below)
            from_below.insert(0, below)
        fused = from_below[0]
        for level in range(last):
            correction = self._spread(level, fused - sums[level])
            correction *= _beside(self._shares[level + 1], correction)
            correction += from_below[level + 1]
            fused = correction
        return fused

    def node_weights(self, leaf_weights: FloatArray) -> FloatArray:
        """The weights of a question on the measurements: ``leaf_weights @ fuse(y) == node_weights(leaf_weights) @ y``.

        Columns of leaf weights give columns of node weights.
        """
        weights = np.asarray(leaf_weights, np.float64)
        if weights.ndim not in (1, 2) or len(weights) != self.hierarchy.n_leaves:
            raise SettingError(
                f"leaf_weights must have {self.hierarchy.n_leaves} rows, one for each leaf; got shape={weights.shape}."
            )
        last = self.hierarchy.n_levels - 1
        beyond = [weights] * (last + 1)
        for level in range(last - 1, -1, -1):
            means = self._sum_children(level, weights * _beside(self._shares[level + 1], weights))
            beyond[level + 1] = weights - self._spread(level, means)
            weights = means
        beyond[0] = weights
        result = np.zeros((self.hierarchy.n_nodes, *weights.shape[1:]))
        for level in range(last):
            gains = _beside(self._gains[level], beyond[level])
            result[self.hierarchy.level_slice(level)] = gains * beyond[level]
            beyond[level + 1] = beyond[level + 1] + self._spread(level, (1 - gains) * beyond[level])
        result[self.hierarchy.level_slice(last)] = beyond[last]
        return result

    def variance(self, leaf_weights: FloatArray) -> float:
        """The variance of a question about the leaves."""
        squares = self.node_weights(leaf_weights) ** 2
        return float(
            sum(
                variance * squares[self.hierarchy.level_slice(level)].sum()
                for level, variance in enumerate(self.level_variances)
                if math.isfinite(variance)
            )
        )

    @cached_property
    def node_variances(self) -> FloatArray:
        """The variance of every node's fused count."""
        fused = [self._from_below[0]]
        for level in range(self.hierarchy.n_levels - 1):
            shares, below = self._shares[level + 1], self._from_below[level + 1]
            fused.append(below * (1 - shares) + shares**2 * self._spread(level, fused[level]))
        variances = np.concatenate(fused)
        variances.flags.writeable = False
        return variances

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        r"""The variances of sums of the leaves from ``first`` up to but not including ``stop``, elementwise.

        Up to the node v that holds both ends of a range, its sum is :math:`\alpha_v x_v` plus a rest that is
        uncorrelated with it. Where children carry the weights w (1 inside the range, :math:`\alpha_c` at its ends),

        .. math:: \alpha_v = \frac{\sum_c w_c s_c}{S_v}, \qquad
                  \rho_v = \sum_c \rho_c + \sum_c w_c^2 s_c - \frac{(\sum_c w_c s_c)^2}{S_v}, \qquad
                  \mathrm{Var} = \rho_v + \alpha_v^2 \mathrm{Var}(x_v).
        """
        first, stop = self._checked_ranges(first, stop)
        variances = np.empty(first.shape)
        kernels = _kernels.tree_kernels(first.size * self.hierarchy.n_levels)
        parents, tables = self._tables
        kernels.range_variances(
            first.ravel(),
            stop.ravel(),
            self.hierarchy.level_slice(self.hierarchy.n_levels - 1).start,
            parents,
            tables,
            self.node_variances,
            variances.reshape(-1),
        )
        return variances

    def _checked_ranges(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        starts, stops = np.broadcast_arrays(np.asarray(first, np.int64), np.asarray(stop, np.int64))
        wrong = (starts < 0) | (starts >= stops) | (stops > self.hierarchy.n_leaves)
        if wrong.any():
            raise SettingError(
                f"ranges must satisfy 0 <= first < stop <= {self.hierarchy.n_leaves}; {np.count_nonzero(wrong)} of "
                f"{wrong.size} do not, the first at position {np.argmax(wrong.ravel())}."
            )
        return np.ascontiguousarray(starts), np.ascontiguousarray(stops)

    @cached_property
    def _children(self) -> list[tuple[IntArray, int | IntArray]]:
        """For each level but the last: where its nodes' children start, and how many (one number if equal)."""
        children: list[tuple[IntArray, int | IntArray]] = []
        for level in range(self.hierarchy.n_levels - 1):
            starts = self.hierarchy.first_children(level)
            numbers = np.diff(starts)
            is_equal = bool((numbers == numbers[0]).all())
            children.append((starts[:-1], int(numbers[0]) if is_equal else numbers))
        return children

    def _sum_children(self, level: int, below: FloatArray) -> FloatArray:
        starts, numbers = self._children[level]
        if isinstance(numbers, int):
            total: FloatArray = below.reshape(-1, numbers, *below.shape[1:]).sum(axis=1)
            return total
        return np.add.reduceat(below, starts, axis=0)

    def _sum_before(self, level: int, below: FloatArray) -> FloatArray:
        """For every node below a level, the sum over its siblings before it."""
        starts, numbers = self._children[level]
        if isinstance(numbers, int):
            siblings = below.reshape(-1, numbers)
            before = np.zeros_like(siblings)
            np.cumsum(siblings[:, :-1], axis=1, out=before[:, 1:])
            return before.ravel()
        # extended precision, so that differences of running sums over a million leaves keep their digits
        running = np.concatenate([[0], np.cumsum(below, dtype=np.longdouble)])[:-1]
        return np.asarray(running - np.repeat(running[starts], numbers), np.float64)

    def _spread(self, level: int, above: FloatArray) -> FloatArray:
        """The parent's number at every child."""
        return np.repeat(above, self._children[level][1], axis=0)

    @cached_property
    def _passes(self) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
        """The variances s from below, the gains k (all levels but the last) and the shares s_c / S (1 at the root)."""
        variances = self.level_variances
        from_below = [np.full(self.hierarchy.n_leaves, variances[-1])]
        gains: list[FloatArray] = []
        shares: list[FloatArray] = []
        for level in range(self.hierarchy.n_levels - 2, -1, -1):
            sums = self._sum_children(level, from_below[0])
            # where all children are known exactly nothing is left to share, and a measurement adds nothing
            inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
            shares.insert(0, from_below[0] * self._spread(level, inverse))
            known = sums + variances[level]
            gains.insert(0, np.divide(sums, known, out=np.zeros_like(sums), where=known > 0))
            from_below.insert(0, sums * (1 - gains[0]))
        shares.insert(0, np.ones(1))
        return from_below, gains, shares

    @property
    def _from_below(self) -> list[FloatArray]:
        return self._passes[0]

    @property
    def _gains(self) -> list[FloatArray]:
        return self._passes[1]

    @property
    def _shares(self) -> list[FloatArray]:
        return self._passes[2]

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int32], FloatArray]:
        """For every node: its parent's number; and s, the sum of s over siblings before it, and 1 / S of its parent."""
        n_nodes = self.hierarchy.n_nodes
        parents, tables = np.full(n_nodes, -1, np.int32), np.zeros((n_nodes, 3))
        tables[0, 0] = self._from_below[0][0]
        for level in range(1, self.hierarchy.n_levels):
            here, above = self.hierarchy.level_slice(level), self.hierarchy.level_slice(level - 1)
            own = self._from_below[level]
            sums = self._sum_children(level - 1, own)
            parents[here] = self._spread(level - 1, np.arange(above.start, above.stop))
            tables[here, 0] = own
            tables[here, 1] = self._sum_before(level - 1, own)
            inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
            tables[here, 2] = self._spread(level - 1, inverse)
        return parents, tables


def _beside(one_each: FloatArray, rows: FloatArray) -> FloatArray:
    """A number for each row, shaped to multiply rows of any width."""
    return one_each if rows.ndim == 1 else one_each[:, None]
