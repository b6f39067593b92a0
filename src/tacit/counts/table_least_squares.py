r"""Least squares on tables: cells from measured marginals of the same counts, and the errors of any question.

Level S, a table of the axes S, is measured with variance :math:`1/\tau_S` in every cell. For each set A of axes the
counts have a *residual*: what their A-marginal has beyond those of fewer axes. Table S measures the residuals of all A
within S, by sums over the axes of S that A lacks, and residuals of different A are uncorrelated. So least squares is
one weighted mean for each A, with the variance

.. math:: v_A = \Bigl(\sum_{S \supseteq A} \frac{\tau_S}{n_{S \setminus A}}\Bigr)^{-1}

of the cells of the A-marginal, where :math:`n_B` is the number of cells of a table of the axes B. A question w about
joint cells has the residuals :math:`r_A` (its sum over the axes outside A, centred along those inside, divided by
:math:`n_{A^c}`), and its answer the variance :math:`\sum_A v_A \lVert r_A \rVert^2`.

Reference: Xiao2023 (residuals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.domain.marginals import Axes, Marginals, subsets


@dataclass(frozen=True, eq=False)
class TableFusion:
    """The fit of joint cells to tables whose cells were measured with these variances, the total first.

    A variance is 0 where a number is known, and infinite where it is not measured.

    >>> fusion = TableFusion(Marginals.every((2, 2)), [0.0, 1.0, 1.0, 1.0])
    >>> fusion.fuse(np.array([[8.0], [6], [2], [5], [3], [4], [2], [1], [1]])).ravel().round(2).tolist()
    [4.0, 2.0, 1.0, 1.0]
    """

    marginals: Marginals
    variances: Sequence[float]

    def fuse(self, nodes: FloatArray) -> FloatArray:
        """Return the joint cells (rows) of all measured cells (rows), the total first; any number of columns."""
        tables = self.marginals
        joint = np.zeros((*tables.sizes, nodes.shape[1]))
        for axes in self._residuals:
            mean = sum(
                weight * self._summed(self._table(nodes, level), axes) for level, weight in self.weights[axes].items()
            )
            joint = joint + self._centred(np.asarray(mean, np.float64), axes) / self._n_outside(axes)
        return joint.reshape(tables.n_leaves, -1)

    def node_weights(self, leaf_weights: FloatArray) -> FloatArray:
        """Return the weights of all measured cells (rows) in the answer to questions about joint cells (rows)."""
        tables = self.marginals
        asked = np.asarray(leaf_weights, np.float64).reshape(*tables.sizes, -1)
        nodes = np.zeros((tables.n_nodes, asked.shape[-1]))
        for axes in self._residuals:
            residual = self._centred(self._summed(asked, axes), axes) / self._n_outside(axes)
            for level, weight in self.weights[axes].items():
                here = self._table(nodes, level)
                here += weight * residual
        return nodes.reshape(tables.n_nodes, *np.shape(leaf_weights)[1:])

    @cached_property
    def residual_variances(self) -> dict[Axes, float]:
        """v of each set of axes: the variance of the cells of its marginal's residual."""
        found = {}
        for axes in self._residuals:
            loads = self.weights[axes].items()
            found[axes] = math.fsum(w * w * self._n_between(level, axes) * self.variances[level] for level, w in loads)
        return found

    @cached_property
    def node_variances(self) -> FloatArray:
        """The variance of every node of the fit, the total first."""
        found = []
        for axes in self.marginals.levels:
            inside = (one for one in self._residuals if set(one) <= set(axes))
            found.append(
                math.fsum(
                    self.residual_variances[one]
                    * math.prod(1 - 1 / self.marginals.sizes[axis] for axis in one)
                    / self.marginals.n_cells(tuple(axis for axis in axes if axis not in one)) ** 2
                    for one in inside
                )
            )
        return np.repeat(found, self.marginals.level_sizes)

    @cached_property
    def weights(self) -> dict[Axes, dict[int, float]]:
        """The weights of the measured levels in the mean for each residual."""
        found = {}
        for axes in self._residuals:
            variances = {
                level: self._n_between(level, axes) * self.variances[level]
                for level, table in enumerate(self.marginals.levels)
                if set(axes) <= set(table) and math.isfinite(self.variances[level])
            }
            known = [level for level, variance in variances.items() if not variance]
            parts = dict.fromkeys(known, 1.0) or {level: 1 / variance for level, variance in variances.items()}
            found[axes] = {level: part / sum(parts.values()) for level, part in parts.items()}
        return found

    @property
    def _residuals(self) -> tuple[Axes, ...]:
        return subsets(len(self.marginals.sizes))

    def _n_between(self, level: int, axes: Axes) -> int:
        return self.marginals.n_cells(tuple(axis for axis in self.marginals.levels[level] if axis not in axes))

    def _n_outside(self, axes: Axes) -> int:
        return self.marginals.n_leaves // self.marginals.n_cells(axes)

    def _table(self, nodes: FloatArray, level: int) -> FloatArray:
        """Return the cells of a level, with size 1 along the axes that it lacks; a view."""
        tables = self.marginals
        shape = [size if axis in tables.levels[level] else 1 for axis, size in enumerate(tables.sizes)]
        return nodes[tables.level_slice(level)].reshape(*shape, nodes.shape[1])

    def _summed(self, table: FloatArray, axes: Axes) -> FloatArray:
        """Return the sum of a table over all axes but these."""
        gone = tuple(axis for axis in range(len(self.marginals.sizes)) if axis not in axes)
        return np.asarray(table.sum(axis=gone, keepdims=True), np.float64)

    def _centred(self, table: FloatArray, axes: Axes) -> FloatArray:
        """Return a table less its means along these axes."""
        for axis in axes:
            table = table - table.mean(axis=axis, keepdims=True)
        return table
