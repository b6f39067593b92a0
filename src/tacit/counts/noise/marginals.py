"""The noise of tables by place, by kind and of both together, measured at once and made to agree by least squares.

Every time bin has four tables: the total, by place, by kind, and the joint one. Any of them may be measured, each with
noise of its own; :mod:`tacit.counts.table_least_squares` joins them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.fields import sizes_of
from tacit._base.validation import check_share
from tacit.counts.node_distributions import NodeDistribution, node_distribution_from_dict
from tacit.counts.noise.model import Noise
from tacit.counts.noise.quantiles import VarianceGammaNoise, non_negative
from tacit.counts.table_least_squares import TableFusion
from tacit.domain import Grouping
from tacit.domain.layout import Sizes, listed
from tacit.domain.marginals import Marginals
from tacit.errors import SettingError

N_TABLES: Final = 4
"""The total, by place, by kind, joint: in the order of :class:`~tacit.domain.marginals.Marginals`."""


@dataclass(frozen=True, eq=False)
class MarginalNoise(VarianceGammaNoise):
    """Joint cells from measured tables, the same in every time bin; None for a table that was not measured.

    Time bins are independent. The joint table must be among the measured ones: without it, single cells are not known.
    """

    distributions: tuple[NodeDistribution | None, ...]
    sizes: Sizes

    def __post_init__(self) -> None:
        if len(self.distributions) != N_TABLES or self.distributions[-1] is None:
            raise SettingError(f"distributions must be one for each of {N_TABLES} tables, and one for the joint one.")
        if min(self.sizes) < 1:
            raise SettingError(f"sizes must be at least 1; got sizes={self.sizes}.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.sizes[0], self.sizes[1] * self.sizes[2]

    @cached_property
    def fusion(self) -> TableFusion:
        """The least squares of one time bin."""
        variances = [math.inf if one is None else one.variance for one in self.distributions]
        return TableFusion(Marginals.every(self.sizes[1:]), variances)

    def fit(self, nodes: FloatArray) -> FloatArray:
        """Return the least-squares joint cells, time x columns, of the cells of all tables (rows) of every time bin."""
        return np.ascontiguousarray(self.fusion.fuse(nodes).T)

    def standard_errors(self) -> FloatArray:
        return np.full(self.shape, np.sqrt(self.box_moments(1, 1)[0]))

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        variance, cumulant = self.box_moments(1, 1)
        return non_negative(values, self._margins(np.array([variance]), np.array([cumulant]), level))

    def scaled(self, budget: Fraction) -> Noise | None:
        return replace(self, distributions=tuple(one and one.scaled(budget) for one in self.distributions))

    def bin_covariance(self) -> FloatArray | None:
        loads = self.fusion.node_weights(np.eye(self.shape[1]))
        variances = [0.0 if one is None else one.variance for one in self.distributions]
        return np.asarray((loads.T * np.repeat(variances, self.fusion.marginals.level_sizes)) @ loads, np.float64)

    def browser_moments(self, level: float) -> dict[str, Any] | None:
        levels = self.fusion.marginals.levels
        variances = [0.0 if one is None else one.variance for one in self.distributions]
        kurtosis = [0.0 if one is None else one.excess_kurtosis for one in self.distributions]
        return {
            "kind": "marginals",
            "sizes": list(self.sizes[1:]),
            # of each table in each residual, by the axes of both
            "weights": [[self.fusion.weights[axes].get(table, 0.0) for table in range(N_TABLES)] for axes in levels],
            "variances": variances,
            "cumulants": [k * v**2 for k, v in zip(kurtosis, variances, strict=True)],
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "marginals",
            "distributions": [None if one is None else one.to_dict() for one in self.distributions],
            "shape": listed(self.sizes),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> MarginalNoise:
        read = (None if one is None else node_distribution_from_dict(one) for one in content["distributions"])
        return cls(tuple(read), sizes_of(content))

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the variance and the fourth cumulant of a question, from its weights on all measured cells."""
        if np.shape(weights) != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={np.shape(weights)}.")
        loads = self.fusion.node_weights(np.asarray(weights, np.float64).T)
        variance = cumulant = 0.0
        for level, distribution in enumerate(self.distributions):
            if distribution is not None:
                squares = np.square(loads[self.fusion.marginals.level_slice(level)])
                variance += distribution.variance * float(squares.sum())
                cumulant += distribution.excess_kurtosis * distribution.variance**2 * float((squares**2).sum())
        return variance, cumulant

    def box_moments(self, n_places: int, n_kinds: int) -> tuple[float, float]:
        """Return the moments of the sum of so many places and kinds in one time bin: any of them are alike."""
        asked = np.zeros((self.sizes[1], self.sizes[2]))
        asked[:n_places, :n_kinds] = 1.0
        return replace(self, sizes=(1, *self.sizes[1:]))._moments(asked.reshape(1, -1))

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray]:
        """Return the moments of sums of cells: of boxes of a bin, times the number of bins."""
        n_bins = np.bincount(grouping.time, minlength=grouping.sizes[0])
        sizes = [
            np.bincount(groups, minlength=n_groups).tolist()
            for groups, n_groups in zip((grouping.place, grouping.kind), grouping.sizes[1:], strict=True)
        ]
        known = {box: self.box_moments(*box) for box in set(product(*sizes))}
        moments = np.array([known[box] for box in product(*sizes)])
        return n_bins[:, None] * moments[:, 0], n_bins[:, None] * moments[:, 1]

    @property
    def _errs_by_whole_numbers(self) -> bool:
        """Return whether nothing but the joint table was measured."""
        return all(one is None for one in self.distributions[:-1])

    @property
    def _is_grainy(self) -> bool:
        return any(one is not None and one.variance < 1 for one in self.distributions)
