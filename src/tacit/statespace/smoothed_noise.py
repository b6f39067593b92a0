r"""The noise of counts smoothed over time: the posterior of a time-series model of shares (or rates), and of trees.

Given y the residual of a count is known up to :math:`\sigma^2 v / (\sigma^2 + v) = g v`, independently over times, with
the process variance :math:`\sigma^2` and the noise variance v; and the share up to a Gaussian process
(:mod:`tacit.statespace.state_space`).

Counts of all places add up to the public total. What is missing is disaggregated by weights that add up to 1: k for
what shares lack, m for what residuals do,

.. math:: \hat c = N (\hat s + k (1 - \mathbf 1^\top \hat s)) + \hat d - m \mathbf 1^\top \hat d,
          \qquad \hat d = g (y - N \hat s),

so the error of a question w is :math:`\sum_t N_t \{(w_t - k^\top w_t) - g_t (w_t - m^\top w_t)\}^\top (\hat s_t - s_t)`
plus :math:`\sum_t (w_t - m^\top w_t)^\top \zeta_t` with :math:`\operatorname{Var} \zeta = g v`: the two are
independent.

Small counts are not normal. Chance is Poisson's: of a count that was found to be larger than expected, more may be
wrong, so g v grows with what was found (``Moments.given``); and where the share is larger than estimated, counts vary
more too, which makes answers skew to the right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import number, pack_array, packed, unpacked, whole_numbers
from tacit.counts.noise.model import evened
from tacit.domain import Grouping, sum_groups
from tacit.statespace.posterior_noise import Moments, PosteriorNoise
from tacit.statespace.settings import SETTINGS
from tacit.statespace.size_prior import columns_by_kind
from tacit.statespace.state_space import StateSpace


@dataclass(frozen=True, eq=False)
class SmoothedNoise(PosteriorNoise):
    """The posterior of smoothed counts, exact for any question, given the model.

    ``share_weights`` (k) and ``count_weights`` (m) say how counts were made to add up to the public totals; None where
    there are none. ``inflation`` multiplies the variance of shares, for a model that was itself estimated.
    ``share_skews`` are third cumulants of shares: small ones may be much larger than estimated, but not negative.
    ``kind_sd`` are standard deviations of an error of shares that all columns of one of the ``kinds`` have in common;
    None where there are no kinds.
    """

    model: StateSpace
    share_weights: FloatArray | None = None
    count_weights: FloatArray | None = None
    offsets: FloatArray | None = None
    inflation: float = 1.0
    share_skews: FloatArray | None = None
    kind_sd: FloatArray | None = None
    kinds: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.model.shape

    @property
    def totals(self) -> FloatArray | None:
        return None if self.share_weights is None else self.model.exposures

    def forget(self, cells: BoolArray) -> SmoothedNoise:
        """Return the same without what process variances (nearly counts) and variances of levels say of cells."""
        model = self.model
        rows = cells if self.share_weights is not None else cells.reshape(1, -1)
        is_gone: BoolArray = np.logical_and.reduce(cells, axis=0)

        def in_cells(name: str) -> FloatArray:
            return evened(getattr(model, name).reshape(rows.shape), rows).reshape(cells.shape)

        def in_places(owner: Any, *names: str) -> dict[str, Any]:
            return {name: _evened_places(getattr(owner, name), is_gone) for name in names}

        changes: dict[str, Any] = {name: in_cells(name) for name in ("process_variance", "noise_variance")}
        model = replace(model, **changes, **in_places(model, "state_variances", "coefficient_variances"))
        of_places = in_places(self, "share_weights", "count_weights", "share_skews", "kind_sd")
        return replace(self, model=model, offsets=self._offsets_without(cells), **of_places)

    def _browser_moments(self) -> dict[str, Any]:
        cumulants = {"poisson_third": SETTINGS.poisson_third, "excess_kurtosis": SETTINGS.excess_kurtosis}
        return super()._browser_moments() | cumulants

    def to_dict(self) -> dict[str, Any]:
        parts = self.share_weights, self.count_weights, self.offsets, self.share_skews, self.kind_sd
        k, m, offsets, skews, kind_sd = (packed(part, is_short=True) for part in parts)
        found: dict[str, Any] = {"kind": "state space", "model": self.model.to_dict(), "share_weights": k}
        found |= {"count_weights": m, "offsets": offsets, "inflation": self.inflation, "share_skews": skews}
        return found if self.kinds is None else found | {"kinds": pack_array(self.kinds), "kind_sd": kind_sd}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        content = {"share_skews": None, "kind_sd": None} | dict(content)
        model = StateSpace.from_dict(content["model"])
        per_place = model.shape[1:]
        kinds = whole_numbers(content, "kinds", shape=per_place) if "kinds" in content else None
        if kinds is not None and kinds.max(initial=0) >= len(kinds):
            raise ValueError("kinds")
        names = "share_weights", "count_weights", "share_skews", "kind_sd"
        k, m, skews, kind_sd = (unpacked(content, name, per_place) for name in names)
        inflation, offsets = number(content, "inflation", least=0), unpacked(content, "offsets", model.shape)
        return cls(model, k, m, offsets, inflation, skews, kind_sd, kinds)

    @cached_property
    def _per_place(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return k, m, third cumulants of shares, and errors in common: 0 where there are none."""
        parts = self.share_weights, self.count_weights, self.share_skews, self.kind_sd
        k, m, skews, sd = (np.zeros(self.shape[1]) if part is None else part for part in parts)
        return k, m, skews, sd

    @cached_property
    def _chance(self) -> tuple[FloatArray, FloatArray]:
        """Return the process variance, and the part that a Poisson count would not have; 0 where that is not known."""
        if self.model.excess is None:
            return np.zeros(self.shape), np.zeros(self.shape)
        return self.model.process_variance, self.model.process_variance * self.model.excess[:, None]

    @cached_property
    def cumulants(self) -> tuple[FloatArray, FloatArray]:
        """Return the third and fourth cumulants of counts around their estimates.

        Chance is as in Poisson counts, whose cumulants are all the same; noise is taken for normal. Counts of which the
        process variance is uncertain are a little heavier in the tails.
        """
        model, rest = self.model, 1 - self.model.gains
        fourth = rest**4 * model.process_variance + SETTINGS.excess_kurtosis * np.square(model.count_variance)
        return rest**3 * model.process_variance, fourth

    def moments(self, weights: FloatArray) -> Moments:
        model, (k, m, skews, _) = self.model, self._per_place
        of_shares, of_counts = weights - weights @ k[:, None], weights - weights @ m[:, None]
        on_shares, variance = model.exposures[:, None] * (of_shares - model.gains * of_counts), 0.0
        if on_shares.any():
            variance = self.inflation * float(model.question_variances(on_shares).sum())
            variance += sum(float(np.square(error).sum()) for error in self.common_errors(weights))
        skew = float((model.exposures @ (weights * (1 - k) - weights * model.gains * (1 - m))) ** 3 @ skews)
        third, fourth = self.cumulants
        is_count = bool(((weights == 0) | (weights == 1)).all())
        sums = (
            variance,
            (np.square(of_counts) * model.count_variance).sum(),
            (of_counts**3 * third).sum() + skew + is_count * SETTINGS.poisson_third * variance,
            (of_counts**4 * fourth).sum(),
            *(is_count * (weights * part).sum() for part in self._chance),
        )
        return Moments(*(np.array(part, np.float64) for part in sums))

    @cached_property
    def _cell_squares(self) -> list[FloatArray]:
        """Return the posterior variance of N s of every cell, its covariance with N g s, and the variance of that."""
        gains, weights = self.model.gains, self.inflation * np.square(self.model.exposures)[:, None]
        variances = self.model.smoothed_variances() * weights
        return [variances, variances * gains, variances * np.square(gains)]

    def group_moments(self, grouping: Grouping) -> Moments:
        model, (times, n_times) = self.model, (grouping.time, grouping.shape[0])

        def of_times(cells: FloatArray) -> FloatArray:
            return np.asarray(sum_groups(cells, times, n_groups=n_times), np.float64)

        if len(np.unique(times)) == len(times):
            squares = [of_times(part) for part in self._cell_squares]
        else:
            exposures = np.broadcast_to(model.exposures[:, None], self.shape)
            found = model.covariances(np.stack([exposures, exposures * model.gains]), times, n_times)
            squares = [self.inflation * found[:, :, p, q].T for p, q in ((0, 0), (0, 1), (1, 1))]
        parts = [*squares, *map(of_times, (model.count_variance, *self.cumulants))]
        # moments of sums of places from those of each: all places share what is missing of a total
        places, n_places, (each_k, each_m, skews, _) = grouping.columns, grouping.shape[1], self._per_place
        k, m = (sum_groups(part, places, n_groups=n_places) for part in (each_k, each_m))
        factors = (
            (1 - 2 * k, k * k),
            (1 - k - m, k * m),
            (1 - 2 * m, m * m),
            (1 - 2 * m, m * m),
            ((1 - m) ** 3 + m**3, -(m**3)),
            ((1 - m) ** 4 - m**4, m**4),
        )
        signed = []
        for part, (own, all_of_them) in zip(parts, factors, strict=True):
            of_group = sum_groups(part, places, n_groups=n_places, axis=1)
            signed.append(own * of_group + all_of_them * part.sum(axis=1, keepdims=True))
        of_shares = np.maximum(signed[0] - 2 * signed[1] + signed[2], 0.0)
        for error in self.common_errors(grouping):
            of_shares = of_shares + np.square(error)
        # what comes from other places by way of the total is left out of the third cumulant
        whole, damped = self._sensitivities(grouping)
        own_skews = (whole * (1 - each_k) - damped * (1 - each_m)) ** 3 * skews
        of_places = sum_groups(own_skews, places, n_groups=n_places, axis=1)
        third = signed[4] + SETTINGS.poisson_third * of_shares + of_places
        chance = (grouping.sums(part) for part in self._chance)
        return Moments(of_shares, np.maximum(signed[3], 0.0), third, signed[5], *chance)

    def _sensitivities(self, grouping: Grouping) -> tuple[FloatArray, FloatArray]:
        """Return how sums over groups of times grow with shares, and which part of that the counts themselves undo."""
        times, n_times, exposures = grouping.time, grouping.shape[0], self.model.exposures[:, None]
        gained = exposures * self.model.gains
        return sum_groups(exposures, times, n_groups=n_times), sum_groups(gained, times, n_groups=n_times)

    def common_errors(self, asked: FloatArray | Grouping) -> list[FloatArray]:
        """Return, for each kind, the errors of one question or of sums of cells that its columns have in common."""
        if self.kinds is None:
            return []
        each_k, each_m, _, sd = self._per_place
        if not isinstance(asked, Grouping):
            of_shares, of_counts = asked - asked @ each_k[:, None], asked - asked @ each_m[:, None]
            on_shares = self.model.exposures @ (of_shares - self.model.gains * of_counts)
            return [error[0, 0] for error in self._errors_of_kinds(on_shares[None], np.zeros(len(on_shares), int), 1)]
        groups, n_groups = asked.columns, asked.shape[1]
        k, m = (sum_groups(part, groups, n_groups=n_groups) for part in (each_k, each_m))
        whole, damped = self._sensitivities(asked)
        found = self._errors_of_kinds(whole - damped, groups, n_groups)
        # by way of the public total all columns of the kind move every sum
        for error, some in zip(found, columns_by_kind(self.kinds, len(self.kinds)), strict=True):
            error -= k * whole * sd[some].sum() - m * (damped[:, some] @ sd[some])[:, None]
        return found

    def _errors_of_kinds(self, inside: FloatArray, groups: IntArray, n_groups: int) -> list[FloatArray]:
        """Return, for each kind, the errors of sums that grow by ``inside`` (answers x columns) with their columns."""
        of_kinds = [] if self.kinds is None else columns_by_kind(self.kinds, len(self.kinds))
        errors = inside * self._per_place[3]
        return [sum_groups(errors[:, some], groups[some], n_groups=n_groups, axis=1) for some in of_kinds]


@dataclass(frozen=True, eq=False)
class FusedNoise(SmoothedNoise):
    """The posterior of smoothed counts that a tree was measured of: leaves, and sums of successive times too.

    Its variance is exact, but for the ``inflation`` of the part that comes by way of rates. The noise of few nodes is
    not normal: an answer that follows the tree's own to a part G has the tree's fourth cumulant, times G^4.
    """

    def _browser_moments(self) -> dict[str, Any]:
        found = super()._browser_moments()
        return found | {"model": found["model"] | {"tree": self.model.summed.browser_moments()}}

    def to_dict(self) -> dict[str, Any]:
        content = super().to_dict() | {"kind": "fused states"}
        return {key: part for key, part in content.items() if key not in ("share_weights", "count_weights")}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        found = super().from_dict({"share_weights": None, "count_weights": None} | dict(content))
        if found.model.tree is None:
            raise ValueError("tree")
        return found

    def moments(self, weights: FloatArray) -> Moments:
        places = np.flatnonzero(weights.any(axis=0)) if weights.any() else np.zeros(1, np.int64)
        asked, groups = weights[:, places], np.where(weights.any(axis=1), 0, -1)
        skews = None if self.share_skews is None else self.share_skews[places]
        noise = replace(self, model=self.model.for_places(places), share_skews=skews, offsets=None)
        of_counts, slopes, _ = noise.model.given_rates().question_given_terms(asked)
        known = [part[None] for part in (noise.model.question_variances(asked), of_counts, slopes[:, 0])]
        of_tree = [part[None] for part in self.model.summed.fusion.moments(asked)]
        parts = noise._parts(asked, groups, 1, known, of_tree)
        of_shares, of_counts, third, fourth, chance, excess = (part.sum() for part in parts)
        inside = np.zeros((1, self.shape[1]))
        inside[:, places] = slopes.T
        if not ((weights == 0) | (weights == 1)).all():  # the answer is then no count, and says nothing of chance
            third, chance, excess = third - SETTINGS.poisson_third * of_shares, 0.0, 0.0
        errors = self._errors_of_kinds(inside, np.zeros(self.shape[1], int), 1)
        of_shares = of_shares + sum(np.square(error).sum() for error in errors)
        return Moments(*(np.array(part, np.float64) for part in (of_shares, of_counts, third, fourth, chance, excess)))

    def group_moments(self, grouping: Grouping) -> Moments:
        times, n_groups = grouping.time, grouping.shape[0]
        asked = np.ones((1, *self.shape))
        whole = self.model.covariances(asked, times, n_groups)[:, :, 0, 0].T
        of_counts, slopes = self.model.given_rates().covariances_given_terms(asked, times, n_groups)
        known = [whole, of_counts[:, :, 0, 0].T, slopes[:, :, 0, 0].T]
        of_tree = [part[:, None] for part in self.model.summed.group_moments(times, n_groups)]
        parts = self._parts(asked[0], times, n_groups, known, of_tree)
        sums = [sum_groups(part, grouping.columns, n_groups=grouping.shape[1], axis=1) for part in parts]
        for error in self._errors_of_kinds(known[2], grouping.columns, grouping.shape[1]):
            sums[0] = sums[0] + np.square(error)
        return Moments(*sums)

    def _parts(
        self, weights: FloatArray, groups: IntArray, n_groups: int, known: list[FloatArray], of_tree: list[FloatArray]
    ) -> tuple[FloatArray, ...]:
        """Return the moments of sums over groups of times for each place: places are independent.

        ``known`` are variances, variances when rates are known, and how errors grow with all rates; ``of_tree`` the
        variances and fourth cumulants of the tree's own answers.
        """
        (whole, of_counts, slopes), (tree_variances, tree_cumulants) = known, of_tree
        model, asked = self.model, groups >= 0
        of_shares = self.inflation * np.maximum(whole - of_counts, 0.0)

        def sums(cells: FloatArray) -> FloatArray:
            return np.asarray(sum_groups(cells[asked], groups[asked], n_groups=n_groups), np.float64)

        total = sums(weights)
        rest = np.divide(slopes, total, out=np.zeros_like(slopes), where=total != 0)
        followed = np.divide(whole, tree_variances, out=np.ones_like(whole), where=tree_variances > 0)
        third = rest**3 * sums(weights**3 * model.process_variance) + SETTINGS.poisson_third * of_shares
        third = third + slopes**3 * self._per_place[2]
        # the process variance is uncertain for each time by itself: in a sum of many times the tails are lighter
        cells = np.square(weights) * model.count_variance
        squares = np.square(sums(cells))
        alike = np.divide(sums(np.square(cells)), squares, out=np.zeros_like(total), where=squares > 0)
        fourth = rest**4 * sums(weights**4 * model.process_variance) + followed**4 * tree_cumulants
        fourth = fourth + SETTINGS.excess_kurtosis * alike * np.square(of_counts)
        return of_shares, of_counts, third, fourth, *(sums(weights * part) for part in self._chance)


def _evened_places(parts: Any, is_gone: BoolArray) -> Any:
    """Return the parts of places, if any, with the mean of all places whose every count is removed in place of each."""
    if parts is None or not is_gone.any():
        return parts
    found = parts.copy()
    found[is_gone] = parts[is_gone].mean(axis=0)
    return found
