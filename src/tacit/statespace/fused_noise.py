r"""The noise of counts smoothed over time that a tree was measured of: leaves, and sums of successive times too.

The least-squares leaves :math:`\hat y` of a tree have errors that hang together: their precision is

.. math:: A = D + H^\top R^{-1} H,

with the precision D of the leaves' own measurements, and sums H of leaves measured with the variances R. For counts c
of the law P that :mod:`tacit.statespace.smoothed_noise` has, what is open of them is :math:`(P^{-1} + A)^{-1}`. That is
as if the leaves had been measured as :math:`\hat y` with the precision D, and the sums as :math:`H \hat y` with the
variances R, all independently: :math:`D \hat y + H^\top R^{-1} H \hat y = A \hat y`. So the state of the model carries
along what has been added up so far of every level's node, and a sum is seen where its node ends. This is exact for any
tree, and takes a time that is linear in the number of leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import number
from tacit._base.kernels import summed_kernels
from tacit.counts.noise.model import Grouping
from tacit.counts.noise.tree import TreeNoise
from tacit.domain import sum_groups
from tacit.errors import SettingError
from tacit.statespace.drifting import StateSpace, packed, unpacked
from tacit.statespace.smoothed_noise import MIXED, Moments, StateSpaceNoise

_Law = tuple[
    FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float, FloatArray, FloatArray, BoolArray, FloatArray
]

_HEAVIER: Final = 0.8
_NONE: Final = 1e-300


@dataclass(frozen=True, eq=False)
class FusedStates(StateSpace):
    """A model of rates that drift, and of their counts, of which leaves and sums of a ``tree`` over time were measured.

    ``errors`` are the variances of the leaves' own measurements. Exposures are 1, as there are no public totals, or 0
    at times at which nothing can have been counted: those counts are 0.
    """

    tree: TreeNoise = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n_leaves = self.tree.hierarchy.n_leaves
        if self.tree.axis != "time" or self.tree.order is not None or len(self.exposures) != n_leaves:
            raise SettingError(f"the tree must stand over the model's {len(self.exposures)} times, in their order.")
        if not np.isin(self.exposures, (0, 1)).all():
            raise SettingError("exposures must be 0 or 1 where sums of counts were measured.")

    @classmethod
    def of(cls, independent: StateSpace, tree: TreeNoise) -> FusedStates:
        """The model of these rates, of which sums were measured too."""
        return cls(**{part.name: getattr(independent, part.name) for part in fields(StateSpace)}, tree=tree)

    def of_places(self, places: IntArray) -> FusedStates:
        """The same for some of the places."""
        return replace(
            self,
            deviations=self.deviations[:, places],
            errors=self.errors[:, places],
            series=self.series[places],
            coefficients=self.coefficients[places],
            shocks=self.shocks if self.shocks.shape == (1, 1) else self.shocks[:, places],
        )

    @cached_property
    def _sums(self) -> tuple[BoolArray, FloatArray]:
        """With which times the nodes of measured levels end (levels x times), and the variances of these levels."""
        levels = measured_levels(self.tree)
        ends = np.zeros((len(levels), self.shape[0]), np.bool_)
        for row, level in enumerate(levels):
            ends[row, self.tree.hierarchy.boundaries[level][1:] - 1] = True
        return ends, np.array([self.tree.fusion.level_variances[level] for level in levels], np.float64)

    def log_likelihoods(self, shares: FloatArray) -> FloatArray:
        out = np.empty(self.shape[1])
        summed_kernels(self._steps).log_likelihoods(self._values(shares), *self._summed_law, out)
        return out

    def smooth(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means of the rates given all that was measured; and their variances given the leaves alone."""
        return self._means(shares)[0], super().smooth(shares)[1]

    def level_scores(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        scores, informations = np.empty(self.shape[::-1]), np.empty(self.shape[::-1])
        summed_kernels(self._steps).level_scores(self._values(shares), *self._summed_law, scores, informations)
        return np.ascontiguousarray(scores.T), np.ascontiguousarray(informations.T)

    def counts(self, shares: FloatArray) -> FloatArray:
        """The means of the realized counts given all that was measured, less the same as ``shares`` are."""
        return self._means(shares)[1]

    def count_variances(self, weights: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
        """The variances of sums of weighted counts over groups of times (groups x places)."""
        return self._count_moments(weights, groups, n_groups, 0)[0]

    def count_variances_given_rates(
        self, weights: FloatArray, groups: IntArray, n_groups: int
    ) -> tuple[FloatArray, FloatArray]:
        """The same once rates are known, and how much answers grow with the rates of all times (groups x places)."""
        n_times, n_places = self.shape
        known = replace(
            self,
            series=np.zeros((n_places, 3)),
            shocks=np.zeros((1, 1)),
            basis=np.ones((n_times, 1)),
            coefficients=np.full((n_places, 1), _NONE),
        )
        variances, slopes = known._count_moments(weights, groups, n_groups, 1)
        return variances, slopes[:, :, 0]

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"tree": self.tree.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FusedStates:
        return cls.of(StateSpace.from_dict(content), TreeNoise.from_dict(content["tree"]))

    @property
    def _summed_law(self) -> _Law:
        errors, deviations = np.ascontiguousarray(self.errors.T), np.ascontiguousarray(self.deviations.T)
        basis, series, memory, coefficients, shocks = self._law
        ends, sum_errors = self._sums
        return self.exposures, errors, deviations, basis, series, memory, coefficients, shocks, ends, sum_errors

    @property
    def _steps(self) -> int:
        return self._work * (1 + len(self._sums[1]))

    def _values(self, shares: FloatArray) -> FloatArray:
        return np.ascontiguousarray((shares * self.exposures[:, None]).T)

    def _means(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        expected, realized = np.empty(self.shape[::-1]), np.empty(self.shape[::-1])
        summed_kernels(self._steps).smooth(self._values(shares), *self._summed_law, expected, realized)
        return np.ascontiguousarray(expected.T), np.ascontiguousarray(realized.T)

    def _count_moments(
        self, weights: FloatArray, groups: IntArray, n_groups: int, n_slopes: int
    ) -> tuple[FloatArray, FloatArray]:
        out = np.empty((self.shape[1], n_groups))
        slopes = np.empty((self.shape[1], n_groups, n_slopes))
        summed_kernels(self._steps).question_variances(
            *self._summed_law,
            np.ascontiguousarray(weights.T),
            groups,
            _bounds(groups, n_groups),
            out,
            slopes,
        )
        return np.ascontiguousarray(out.T), slopes.transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class FusedStateNoise(StateSpaceNoise):
    """What is open of counts smoothed over time that were measured by a tree: the posterior law of any question.

    Its variance is exact, but for the ``inflation`` of the part that comes by way of rates. The noise of few nodes is
    not normal: an answer that follows the tree's own to a part G has the tree's fourth cumulant, times G^4.
    """

    model: FusedStates

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "fused states",
            "model": self.model.to_dict(),
            "offsets": packed(self.offsets),
            "inflation": self.inflation,
            "share_skews": packed(self.share_skews),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FusedStateNoise:
        model = FusedStates.from_dict(content["model"])
        return cls(
            model,
            offsets=unpacked(content, "offsets", model.shape),
            inflation=number(content, "inflation", least=0),
            share_skews=unpacked(content, "share_skews", model.shape[1:]),
        )

    def _moments(self, weights: FloatArray) -> Moments:
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        places = np.flatnonzero(asked.any(axis=0)) if asked.any() else np.zeros(1, np.int64)
        weights, groups = asked[:, places], np.where(asked.any(axis=1), 0, -1)
        of_tree = [part[None] for part in self.model.tree.fusion.moments(weights)]
        skews = None if self.share_skews is None else self.share_skews[places]
        noise = replace(self, model=self.model.of_places(places), share_skews=skews, offsets=None)
        parts = noise._parts(weights, groups, 1, of_tree[0], of_tree[1])
        is_count = bool(((asked == 0) | (asked == 1)).all())
        of_shares, of_days, third, fourth, chance, excess = (part.sum() for part in parts)
        if not is_count:  # what was found is then no count, and says nothing of how much chance there is
            third, chance, excess = third - MIXED * of_shares, 0.0, 0.0
        return Moments(*(np.array(part, np.float64) for part in (of_shares, of_days, third, fourth, chance, excess)))

    @cached_property
    def _cell_moments(self) -> Moments:
        n_times, n_places = self.shape
        return self._image_moments(Grouping(np.arange(n_times), np.arange(n_places), self.shape))

    def _image_moments(self, image: Grouping) -> Moments:
        times, n_groups = image.time_groups, image.shape[0]
        variances, cumulants = (part[:, None] for part in self.model.tree.group_moments(times, n_groups))
        parts = self._parts(np.ones(self.shape), times, n_groups, variances, cumulants)
        return Moments(*(sum_groups(part, image.place_groups, n_groups=image.shape[1], axis=1) for part in parts))

    def _parts(
        self,
        weights: FloatArray,
        groups: IntArray,
        n_groups: int,
        tree_variances: FloatArray,
        tree_cumulants: FloatArray,
    ) -> tuple[FloatArray, ...]:
        """The moments of sums over groups of times, for each place: places are independent."""
        model = self.model
        whole = model.count_variances(weights, groups, n_groups)
        of_days, slopes = model.count_variances_given_rates(weights, groups, n_groups)
        of_shares = self.inflation * np.maximum(whole - of_days, 0.0)
        asked = groups >= 0

        def sums(cells: FloatArray) -> FloatArray:
            found: FloatArray = sum_groups(cells[asked], groups[asked], n_groups=n_groups)
            return found

        total = sums(weights)
        rest = np.divide(slopes, total, out=np.zeros_like(slopes), where=total != 0)
        followed = np.divide(whole, tree_variances, out=np.ones_like(whole), where=tree_variances > 0)
        third = rest**3 * sums(weights**3 * model.deviations) + MIXED * of_shares
        if self.share_skews is not None:
            third = third + slopes**3 * self.share_skews
        # of days that vary by an unknown amount, fewer than all speak in a sum
        days = np.square(weights) * model.day_variances
        open_days = np.square(sums(days))
        alike = np.divide(sums(np.square(days)), open_days, out=np.zeros_like(total), where=open_days > 0)
        fourth = rest**4 * sums(weights**4 * model.deviations) + _HEAVIER * alike * np.square(of_days)
        fourth = fourth + np.minimum(followed, 1.0) ** 4 * tree_cumulants
        return of_shares, of_days, third, fourth, *(sums(weights * part) for part in model.chance)


def measured_levels(tree: TreeNoise) -> tuple[int, ...]:
    """The levels of a tree above its leaves that were measured, or are known."""
    return tuple(level for level, variance in enumerate(tree.fusion.level_variances[:-1]) if np.isfinite(variance))


def _bounds(groups: IntArray, n_groups: int) -> IntArray:
    """The first time of every group, and the one after its last."""
    bounds = np.zeros((n_groups, 2), np.int64)
    present, first = np.unique(groups, return_index=True)
    last = len(groups) - np.unique(groups[::-1], return_index=True)[1]
    is_asked = present >= 0
    bounds[present[is_asked]] = np.stack([first, last], axis=1)[is_asked]
    return bounds
