"""The noise of counts smoothed over time that a tree was measured of: leaves, and sums of successive times too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import number
from tacit.counts.noise.tree import TreeNoise
from tacit.domain import Grouping, sum_groups
from tacit.statespace.posterior_noise import Moments
from tacit.statespace.settings import SETTINGS
from tacit.statespace.smoothed_noise import SmoothedNoise
from tacit.statespace.state_space import StateSpace, packed, unpacked


@dataclass(frozen=True, eq=False)
class FusedNoise(SmoothedNoise):
    """The posterior of smoothed counts of a tree.

    Its variance is exact, but for the ``inflation`` of the part that comes by way of rates. The noise of few nodes is
    not normal: an answer that follows the tree's own to a part G has the tree's fourth cumulant, times G^4.
    """

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "fused states",
            "model": self.model.to_dict(),
            "offsets": packed(self.offsets),
            "inflation": self.inflation,
            "share_skews": packed(self.share_skews),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FusedNoise:
        model = StateSpace.from_dict(content["model"])
        if model.tree is None:
            raise ValueError("tree")
        return cls(
            model,
            offsets=unpacked(content, "offsets", model.shape),
            inflation=number(content, "inflation", least=0),
            share_skews=unpacked(content, "share_skews", model.shape[1:]),
        )

    @property
    def _tree(self) -> TreeNoise:
        assert self.model.tree is not None
        return self.model.tree

    def moments(self, weights: FloatArray) -> Moments:
        places = np.flatnonzero(weights.any(axis=0)) if weights.any() else np.zeros(1, np.int64)
        asked, groups = weights[:, places], np.where(weights.any(axis=1), 0, -1)
        skews = None if self.share_skews is None else self.share_skews[places]
        noise = replace(self, model=self.model.for_places(places), share_skews=skews, offsets=None)
        whole = noise.model.covariance_with_terms(asked)[:, 0, 0]
        given = noise.model.given_rates().covariance_with_terms(asked)
        slopes = given[:, 0, 1] / given[:, 1, 1]
        known = [part[None] for part in (whole, given[:, 0, 0] - slopes * given[:, 0, 1], slopes)]
        parts = noise._parts(asked, groups, 1, known, [part[None] for part in self._tree.fusion.moments(asked)])
        of_shares, of_counts, third, fourth, chance, excess = (part.sum() for part in parts)
        if not ((weights == 0) | (weights == 1)).all():  # the answer is then no count, and says nothing of chance
            third, chance, excess = third - SETTINGS.poisson_third * of_shares, 0.0, 0.0
        return Moments(*(np.array(part, np.float64) for part in (of_shares, of_counts, third, fourth, chance, excess)))

    def group_moments(self, grouping: Grouping) -> Moments:
        times, n_groups = grouping.time, grouping.shape[0]
        asked = np.ones((1, *self.shape))
        whole = self.model.covariances(asked, times, n_groups)[:, :, 0, 0].T
        of_counts, slopes = self.model.given_rates().covariances_given_terms(asked, times, n_groups)
        known = [whole, of_counts[:, :, 0, 0].T, slopes[:, :, 0, 0].T]
        of_tree = [part[:, None] for part in self._tree.group_moments(times, n_groups)]
        parts = self._parts(asked[0], times, n_groups, known, of_tree)
        return Moments(*(sum_groups(part, grouping.columns, n_groups=grouping.shape[1], axis=1) for part in parts))

    def _parts(
        self,
        weights: FloatArray,
        groups: IntArray,
        n_groups: int,
        known: list[FloatArray],
        of_tree: list[FloatArray],
    ) -> tuple[FloatArray, ...]:
        """Return the moments of sums over groups of times for each place: places are independent.

        ``known`` are variances, variances when rates are known, and how errors grow with all rates; ``of_tree`` the
        variances and fourth cumulants of the tree's own answers.
        """
        (whole, of_counts, slopes), (tree_variances, tree_cumulants) = known, of_tree
        model, asked = self.model, groups >= 0
        of_shares = self.inflation * np.maximum(whole - of_counts, 0.0)

        def sums(cells: FloatArray) -> FloatArray:
            found: FloatArray = sum_groups(cells[asked], groups[asked], n_groups=n_groups)
            return found

        total = sums(weights)
        rest = np.divide(slopes, total, out=np.zeros_like(slopes), where=total != 0)
        followed = np.divide(whole, tree_variances, out=np.ones_like(whole), where=tree_variances > 0)
        third = rest**3 * sums(weights**3 * model.process_variance) + SETTINGS.poisson_third * of_shares
        if self.share_skews is not None:
            third = third + slopes**3 * self.share_skews
        # the process variance is uncertain for each time by itself: in a sum of many times the tails are lighter
        cells = np.square(weights) * model.count_variance
        squares = np.square(sums(cells))
        alike = np.divide(sums(np.square(cells)), squares, out=np.zeros_like(total), where=squares > 0)
        fourth = rest**4 * sums(weights**4 * model.process_variance) + SETTINGS.excess_kurtosis * alike * np.square(
            of_counts
        )
        fourth = fourth + np.minimum(followed, 1.0) ** 4 * tree_cumulants
        return of_shares, of_counts, third, fourth, *(sums(weights * part) for part in self._chance)
