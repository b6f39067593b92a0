r"""The noise of tables by place, by kind and of both together, measured at once and made to agree by least squares.

Every time bin has four tables S: the total, by place, by kind, and the joint one. Table S may be measured with noise of
variance :math:`1/\tau_S` in every cell. For each set A of axes, a table has a *residual*: what its A-marginal has
beyond those of fewer axes. Table S measures the residuals of all A within S, by sums over the axes of S that A lacks,
and residuals of different A are uncorrelated. So least squares is one weighted mean for each A, with the variance

.. math:: v_A = \Bigl(\sum_{S \supseteq A} \frac{\tau_S}{n_{S \setminus A}}\Bigr)^{-1}

of the cells of the A-marginal, where :math:`n_B` is the number of cells of a table of the axes B. A question w about
joint cells has the residuals :math:`r_A` (its sum over the axes outside A, centred along those inside, divided by
:math:`n_{A^c}`), and its answer the variance :math:`\sum_A v_A \lVert r_A \rVert^2`.

Reference: Xiao2023 (residuals; the least error that any Gaussian measurement of marginals can have).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.fields import sizes_of
from tacit._base.validation import check_share
from tacit.counts.node_distributions import NodeDistribution, node_distribution_from_dict
from tacit.counts.noise.model import Noise
from tacit.counts.noise.variance_gamma import VarianceGammaNoise, non_negative
from tacit.domain import Grouping
from tacit.domain.layout import Sizes, listed
from tacit.errors import SettingError

Axes = tuple[int, ...]
TABLES: Final[tuple[Axes, ...]] = ((), (1,), (2,), (1, 2))
"""The tables of a time bin by the axes of the grid they have: the total, by place, by kind, joint."""


@dataclass(frozen=True, eq=False)
class MarginalNoise(VarianceGammaNoise):
    """Joint cells from measured tables, the same in every time bin; None for a table that was not measured.

    Time bins are independent. The joint table must be among the measured ones: without it, single cells are not known.
    """

    distributions: tuple[NodeDistribution | None, ...]
    sizes: Sizes

    def __post_init__(self) -> None:
        if len(self.distributions) != len(TABLES) or self.distributions[-1] is None:
            raise SettingError(
                f"distributions must be one for each of {len(TABLES)} tables, and one for the joint one."
            )
        if min(self.sizes) < 1:
            raise SettingError(f"sizes must be at least 1; got sizes={self.sizes}.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.sizes[0], self.sizes[1] * self.sizes[2]

    def fit(self, tables: Mapping[Axes, FloatArray]) -> FloatArray:
        """The least-squares joint table, time x columns, of measured ones; these have size 1 along axes they lack."""
        joint = np.zeros(self.sizes)
        for axes in TABLES:
            means = sum(self._shares[table, axes] * _summed(tables[table], axes) for table in self._measured(axes))
            joint = joint + _centred(np.asarray(means, np.float64), axes) / self._n_outside(axes)
        return joint.reshape(self.shape)

    def standard_errors(self) -> FloatArray:
        return np.full(self.shape, np.sqrt(self._of_box(1, 1)[0]))

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        variance, cumulant = self._of_box(1, 1)
        return non_negative(values, self._margins(np.array([variance]), np.array([cumulant]), level))

    def scaled(self, budget: Fraction) -> Noise | None:
        return replace(self, distributions=tuple(one and one.scaled(budget) for one in self.distributions))

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "marginals",
            "laws": [None if one is None else one.to_dict() for one in self.distributions],
            "shape": listed(self.sizes),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> MarginalNoise:
        read = (None if one is None else node_distribution_from_dict(one) for one in content["laws"])
        return cls(tuple(read), sizes_of(content))

    @cached_property
    def _precisions(self) -> dict[Axes, float]:
        """1 / variance of the cells of every table that was measured."""
        known = zip(TABLES, self.distributions, strict=True)
        return {table: 1 / one.variance for table, one in known if one is not None}

    @cached_property
    def _shares(self) -> dict[tuple[Axes, Axes], float]:
        """The weights of the measured tables in the mean for each residual."""
        shares: dict[tuple[Axes, Axes], float] = {}
        for axes in TABLES:
            parts = {table: self._precisions[table] / self._n_between(table, axes) for table in self._measured(axes)}
            shares |= {(table, axes): part / sum(parts.values()) for table, part in parts.items()}
        return shares

    def _measured(self, axes: Axes) -> list[Axes]:
        """The measured tables that have these axes."""
        return [table for table in self._precisions if set(axes) <= set(table)]

    def _n_between(self, table: Axes, axes: Axes) -> int:
        return prod(self.sizes[axis] for axis in table if axis not in axes)

    def _n_outside(self, axes: Axes) -> int:
        return self._n_between((1, 2), axes)

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """The variance and the fourth cumulant of a question, from its loads on all measured cells."""
        if np.shape(weights) != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={np.shape(weights)}.")
        asked = np.asarray(weights, np.float64).reshape(self.sizes)
        residuals = {axes: _centred(_summed(asked, axes), axes) / self._n_outside(axes) for axes in TABLES}
        return self._of_loads({axes: (residual, np.ones(1)) for axes, residual in residuals.items()})

    def _of_box(self, n_places: int, n_kinds: int) -> tuple[float, float]:
        """The moments of the sum of so many places and kinds in one time bin.

        Cells inside the box are alike, and so are those outside of it: two classes along each axis.
        """
        inside = {1: n_places, 2: n_kinds}
        asked = np.zeros((1, 2, 2))
        asked[0, 0, 0] = 1.0
        many = [np.array([inside[axis], self.sizes[axis] - inside[axis]], np.float64) for axis in (1, 2)]
        numbers = np.ones((1, 2, 2)) * many[0][:, None] * many[1]
        parts = {}
        for axes in TABLES:
            part, kept = asked * numbers, np.ones((1, 2, 2))
            for axis in (1, 2):
                n_each = many[axis - 1].reshape((1, 2, 1) if axis == 1 else (1, 1, 2))
                if axis in axes:
                    part = np.divide(part, n_each, out=np.zeros_like(part), where=n_each > 0)
                    part = part - (part * n_each).sum(axis=axis, keepdims=True) / self.sizes[axis]
                    kept = kept * n_each
                else:
                    part, kept = part.sum(axis=axis, keepdims=True), kept[(slice(None),) * axis + (slice(0, 1),)]
            parts[axes] = part / self._n_outside(axes), kept
        return self._of_loads(parts)

    def _of_loads(self, residuals: Mapping[Axes, tuple[FloatArray, FloatArray]]) -> tuple[float, float]:
        """The moments of an answer with these residuals; beside each, how many cells are alike."""
        variance = cumulant = 0.0
        for table, distribution in zip(TABLES, self.distributions, strict=True):
            if distribution is None:
                continue
            loads = sum(
                (self._shares[table, axes] * residuals[axes][0] for axes in TABLES if set(axes) <= set(table)),
                np.zeros((1, 1, 1)),
            )
            squares, numbers = np.square(loads), residuals[table][1]
            variance += distribution.variance * float((squares * numbers).sum())
            cumulant += distribution.excess_kurtosis * distribution.variance**2 * float((squares**2 * numbers).sum())
        return variance, cumulant

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray]:
        """The moments of sums of cells: of boxes of a bin, times the number of bins."""
        n_bins = np.bincount(grouping.time, minlength=grouping.sizes[0])
        sizes = [
            np.bincount(groups, minlength=n_groups).tolist()
            for groups, n_groups in zip((grouping.place, grouping.kind), grouping.sizes[1:], strict=True)
        ]
        known = {box: self._of_box(*box) for box in set(product(*sizes))}
        moments = np.array([known[box] for box in product(*sizes)])
        return n_bins[:, None] * moments[:, 0], n_bins[:, None] * moments[:, 1]

    @property
    def _errs_by_whole_numbers(self) -> bool:
        """Whether nothing but the joint table was measured."""
        return all(one is None for one in self.distributions[:-1])

    @property
    def _is_grainy(self) -> bool:
        return any(one is not None and one.variance < 1 for one in self.distributions)


def _summed(table: FloatArray, axes: Axes) -> FloatArray:
    """The sum of a table over places and kinds, but for these axes."""
    gone = tuple(axis for axis in (1, 2) if axis not in axes)
    return np.asarray(table.sum(axis=gone, keepdims=True), np.float64)


def _centred(table: FloatArray, axes: Axes) -> FloatArray:
    """A table less its means along these axes."""
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table
