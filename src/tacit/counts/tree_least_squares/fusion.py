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

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import tree_kernels
from tacit.counts.tree_least_squares.means import mean_over_ranges
from tacit.counts.tree_least_squares.passes import Passes, range_tables
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError


@dataclass(frozen=True, eq=False)
class TreeFusion:
    """The least-squares leaves of a measured tree, and the exact error of every question put to them.

    ``level_variances`` stand root first, as the levels of the hierarchy do; arrays of nodes are numbered as the
    hierarchy numbers them. ``level_cumulants`` are the fourth cumulants of the measurements' noise, 0 if it is normal:
    they say how far from normal an answer still is. O(nodes) to make, to fuse and for the variance of a question;
    O(height) for a range.

    >>> fusion = TreeFusion(Hierarchy.of_degree(4, 2), [math.inf, 2.0, 2.0])
    >>> fusion.fuse(np.array([0.0, 10.0, 2.0, 4.0, 3.0, 1.0, 1.0])).tolist()
    [5.0, 4.0, 1.0, 1.0]
    >>> fusion.range_variances(np.array([0, 0, 0]), np.array([1, 2, 4])).round(4).tolist()
    [1.3333, 1.3333, 2.6667]
    """

    hierarchy: Hierarchy
    level_variances: Sequence[float]
    level_cumulants: Sequence[float] | None = None

    def __post_init__(self) -> None:
        variances = tuple(float(variance) for variance in self.level_variances)
        object.__setattr__(self, "level_variances", variances)
        cumulants = self.level_cumulants or [0.0] * len(variances)
        object.__setattr__(self, "level_cumulants", tuple(float(cumulant) for cumulant in cumulants))
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
        last = self.hierarchy.height
        from_below = [np.asarray(nodes[self.hierarchy.level_slice(last)], np.float64)]
        sums: list[FloatArray] = []
        for level in range(last - 1, -1, -1):
            below = self.passes.sum_children(level, from_below[0])
            sums.insert(0, below)
            if math.isfinite(self.level_variances[level]):
                own = nodes[self.hierarchy.level_slice(level)]
                below = below + _beside(self.passes.gains[level], below) * (own - below)
            from_below.insert(0, below)
        fused = from_below[0]
        for level in range(last):
            correction = self.passes.spread(level, fused - sums[level])
            correction *= _beside(self.passes.shares[level + 1], correction)
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
        last = self.hierarchy.height
        beyond = [weights] * (last + 1)
        for level in range(last - 1, -1, -1):
            means = self.passes.sum_children(level, weights * _beside(self.passes.shares[level + 1], weights))
            beyond[level + 1] = weights - self.passes.spread(level, means)
            weights = means
        beyond[0] = weights
        result = np.zeros((self.hierarchy.n_nodes, *weights.shape[1:]))
        for level in range(last):
            gains = _beside(self.passes.gains[level], beyond[level])
            result[self.hierarchy.level_slice(level)] = gains * beyond[level]
            beyond[level + 1] = beyond[level + 1] + self.passes.spread(level, (1 - gains) * beyond[level])
        result[self.hierarchy.level_slice(last)] = beyond[last]
        return result

    def variance(self, leaf_weights: FloatArray) -> float:
        """The variance of a question about the leaves."""
        return float(self.moments(leaf_weights)[0])

    def moments(self, leaf_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The variance and the fourth cumulant of a question about the leaves, or of each column of questions."""
        squares = self.node_weights(leaf_weights) ** 2
        variance, cumulant = np.zeros((2, *squares.shape[1:]))
        for level, (own_variance, own_cumulant) in enumerate(
            zip(self.level_variances, self._level_cumulants, strict=True)
        ):
            if math.isfinite(own_variance):
                here = squares[self.hierarchy.level_slice(level)]
                variance = variance + own_variance * here.sum(axis=0)
                cumulant = cumulant + own_cumulant * (here**2).sum(axis=0)
        return variance, cumulant

    @cached_property
    def node_variances(self) -> FloatArray:
        """The variance of every node's fused count."""
        fused = [self.passes.from_below[0]]
        for level in range(self.hierarchy.height):
            shares, below = self.passes.shares[level + 1], self.passes.from_below[level + 1]
            fused.append(below * (1 - shares) + shares**2 * self.passes.spread(level, fused[level]))
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
        return self.range_moments(first, stop)[0]

    def range_moments(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        """The variances and the fourth cumulants of sums of leaves, O(height) each: see :mod:`.ranges`."""
        first, stop = self._checked_ranges(first, stop)
        variances, cumulants = np.empty(first.shape), np.empty(first.shape)
        kernels = tree_kernels(first.size * self.hierarchy.n_levels)
        kernels.range_moments(
            first.ravel(),
            stop.ravel(),
            self.hierarchy.level_slice(self.hierarchy.height).start,
            *self._range_tables,
            variances.reshape(-1),
            cumulants.reshape(-1),
        )
        return variances, cumulants

    def mean_range_variance(self) -> float:
        """The mean variance over all ranges, each as likely as any other; O(nodes)."""
        return mean_over_ranges(self.passes)

    def _checked_ranges(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        starts, stops = np.broadcast_arrays(np.asarray(first, np.int64), np.asarray(stop, np.int64))
        wrong = (starts < 0) | (starts >= stops) | (stops > self.hierarchy.n_leaves)
        if wrong.any():
            raise SettingError(
                f"ranges must satisfy 0 <= first < stop <= {self.hierarchy.n_leaves}; {np.count_nonzero(wrong)} of "
                f"{wrong.size} do not, the first at position {np.argmax(wrong.ravel())}."
            )
        return np.ascontiguousarray(starts), np.ascontiguousarray(stops)

    @property
    def _level_cumulants(self) -> Sequence[float]:
        assert self.level_cumulants is not None
        return self.level_cumulants

    @cached_property
    def passes(self) -> Passes:
        """What is summed, gained and shared at every node."""
        return Passes.over(self.hierarchy, self.level_variances)

    @cached_property
    def _range_tables(self) -> tuple[NDArray[np.uint32], FloatArray]:
        return range_tables(self.passes, self.node_variances, self._level_cumulants)


def _beside(one_each: FloatArray, rows: FloatArray) -> FloatArray:
    """A number for each row, shaped to multiply rows of any width."""
    return one_each if rows.ndim == 1 else one_each[:, None]
