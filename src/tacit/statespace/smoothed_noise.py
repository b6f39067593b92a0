r"""The noise of counts smoothed over time: what a linear-Gaussian model leaves open.

Every place r has a share (or a rate) :math:`s_{tr}` that drifts, and its realized count is :math:`c_{tr} = N_t s_{tr} +
d_{tr}` with the exposure N (public totals, or 1), of which y is known up to an error of variance v:

.. math:: s_{tr} = \ell_{tr} + a_{tr} + h_t^\top \beta_r, \qquad
          \ell_{t+1} = \ell_t + \eta_t, \quad a_{t+1} = \rho a_t + \alpha_t, \qquad
          \operatorname{Var} d = \sigma^2, \quad \operatorname{Var}(y - c) = v.

Given y the day's deviation is known up to :math:`\sigma^2 v / (\sigma^2 + v) = g v`, independently over days, and the
share up to a Gaussian process whose precision is banded but for the few coefficients :math:`\beta`. With its factors
(:math:`x_t = J_t x_{t+1} + \xi_t`, backwards in time) the variance of any question takes one pass over the series.

Counts of all places add up to the public total. What is missing is dealt out by weights that add up to 1: k for what
shares lack, m for what deviations do,

.. math:: \hat c = N (\hat s + k (1 - \mathbf 1^\top \hat s)) + \hat d - m \mathbf 1^\top \hat d,
          \qquad \hat d = g (y - N \hat s),

so the error of a question w is :math:`\sum_t N_t \{(w_t - k^\top w_t) - g_t (w_t - m^\top w_t)\}^\top (\hat s_t - s_t)`
plus :math:`\sum_t (w_t - m^\top w_t)^\top \zeta_t` with :math:`\operatorname{Var} \zeta = g v`: the two are
independent.

Small counts are not normal. Chance is Poisson's: of a count that was seen to be larger than expected, more may be
wrong, so g v grows with what was found (``Moments.given``); and where the share is larger than thought, days vary more
too, which makes answers skew to the right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import number
from tacit._base.validation import check_share
from tacit.counts.noise.linear_map import LinearMap
from tacit.counts.noise.model import Grouping, Noise, evened
from tacit.counts.noise.quantiles import limits_of, within
from tacit.domain import sum_groups
from tacit.errors import SettingError
from tacit.statespace.drifting import StateSpace, packed, unpacked

MIXED: Final = 3.0
_RATIOS: Final = (0.15, 4.0)


@dataclass(frozen=True, eq=False)
class StateSpaceNoise(Noise):
    """What is open of smoothed counts, given the model: its posterior law, exact for any question.

    ``share_weights`` (k) and ``day_weights`` (m) say how counts were made to add up to the public totals; None where
    there are none. ``offsets`` are what values were moved by to be shown (negative ones to 0, say): intervals are those
    of the values before. ``inflation`` multiplies the variance of shares, for a model that was itself estimated.
    ``share_skews`` are third cumulants of shares: small ones may be much larger than thought, but not negative. Limits
    are those of a whole number spread over its unit (:mod:`tacit.counts.noise.quantiles`); intervals are cut to what
    counts can be, and reach to every whole number of which a part is covered.
    """

    model: StateSpace
    share_weights: FloatArray | None = None
    day_weights: FloatArray | None = None
    offsets: FloatArray | None = None
    inflation: float = 1.0
    share_skews: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.model.shape

    def variance(self, weights: FloatArray) -> float:
        return float(self._moments(weights).variances)

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        centre = np.array(value if self.offsets is None else value - float((asked * self.offsets).sum()))
        is_whole = bool((asked % 1 == 0).all())
        lower, upper = self._moments(asked).limits(centre, level, is_whole=is_whole)
        if asked.min() < 0:
            return float(lower), float(upper)
        largest = float((asked.max(axis=1) * self.model.exposures).sum()) if self._is_shared else math.inf
        lower, upper = within(lower, upper, largest, is_whole=is_whole)
        return float(lower), float(upper)

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self._cell_moments.variances)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        largest = self.model.exposures[:, None] if self._is_shared else np.inf
        return within(*self.limits(values, level), largest)

    def limits(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for every cell, not yet cut to what counts can be."""
        check_share(level=level)
        centre = values if self.offsets is None else values - self.offsets
        return self._cell_moments.limits(centre, level)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return LinearMap(self, time_groups, place_groups, shape)

    def sum_errors(self, image: Grouping) -> FloatArray:
        return np.sqrt(self._image_moments(image).variances)

    def sum_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        largest: FloatArray | float = np.inf
        if self._is_shared:
            largest = sum_groups(self.model.exposures, image.time_groups, n_groups=image.shape[0])[:, None]
        return within(*self.image_limits(values, image, level), largest)

    def image_limits(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for sums of cells, not yet cut to what counts can be."""
        check_share(level=level)
        centre = values if self.offsets is None else values - _sums(self.offsets, image)
        return self._image_moments(image).limits(centre, level)

    def forget(self, cells: BoolArray) -> StateSpaceNoise:
        """How much days vary is nearly their count, and how much a place drifts goes with its size."""
        model = self.model
        rows = cells if self.share_weights is not None else cells.reshape(1, -1)
        is_gone: BoolArray = np.logical_and.reduce(cells, axis=0)
        return replace(
            self,
            model=replace(
                model,
                deviations=evened(model.deviations.reshape(rows.shape), rows).reshape(cells.shape),
                errors=evened(model.errors.reshape(rows.shape), rows).reshape(cells.shape),
                series=_evened_places(model.series, is_gone),
                coefficients=_evened_places(model.coefficients, is_gone),
            ),
            offsets=None if self.offsets is None else np.where(cells, 0.0, self.offsets),
            share_weights=None if self.share_weights is None else _evened_places(self.share_weights, is_gone),
            day_weights=None if self.day_weights is None else _evened_places(self.day_weights, is_gone),
            share_skews=None if self.share_skews is None else _evened_places(self.share_skews, is_gone),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "state space",
            "model": self.model.to_dict(),
            "share_weights": packed(self.share_weights),
            "day_weights": packed(self.day_weights),
            "offsets": packed(self.offsets),
            "inflation": self.inflation,
            "share_skews": packed(self.share_skews),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpaceNoise:
        model = StateSpace.from_dict(content["model"])
        per_place = model.shape[1:]
        return cls(
            model,
            unpacked(content, "share_weights", per_place),
            unpacked(content, "day_weights", per_place),
            unpacked(content, "offsets", model.shape),
            number(content, "inflation", least=0),
            unpacked({"share_skews": None} | dict(content), "share_skews", per_place),
        )

    @property
    def _is_shared(self) -> bool:
        return self.share_weights is not None

    @property
    def _k(self) -> FloatArray:
        return np.zeros(self.shape[1]) if self.share_weights is None else self.share_weights

    @property
    def _m(self) -> FloatArray:
        return np.zeros(self.shape[1]) if self.day_weights is None else self.day_weights

    def _moments(self, weights: FloatArray) -> Moments:
        """The moments of one question."""
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        of_shares, of_days = asked - asked @ self._k[:, None], asked - asked @ self._m[:, None]
        model = self.model
        on_shares = model.exposures[:, None] * (of_shares - model.gains * of_days)
        groups = np.where(on_shares.any(axis=1), 0, -1)
        open_shares, skew = 0.0, 0.0
        if not groups.all():
            of_places = model.question_variances(on_shares, np.zeros(self.shape), groups, 1)[:, 0, 0]
            open_shares = self.inflation * float(of_places.sum())
        if self.share_skews is not None:
            own = model.exposures @ (asked * (1 - self._k) - asked * model.gains * (1 - self._m))
            skew = float(own**3 @ self.share_skews)
        third, fourth = model.day_cumulants
        is_count = bool(((asked == 0) | (asked == 1)).all())
        sums = (
            open_shares,
            (np.square(of_days) * model.day_variances).sum(),
            (of_days**3 * third).sum() + skew + is_count * MIXED * open_shares,
            (of_days**4 * fourth).sum(),
            *(is_count * (asked * part).sum() for part in model.chance),
        )
        return Moments(*(np.array(part, np.float64) for part in sums))

    @cached_property
    def _cell_parts(self) -> list[FloatArray]:
        """For single cells, the three moments of N s and N g s, and the cumulants of what stays open of days."""
        model = self.model
        variances = model.smooth(np.zeros(self.shape))[1] * (self.inflation * np.square(model.exposures)[:, None])
        squares = [variances, variances * model.gains, variances * np.square(model.gains)]
        return [*squares, model.day_variances, *model.day_cumulants]

    @cached_property
    def _cell_moments(self) -> Moments:
        n_times, n_places = self.shape
        return self._of_groups(self._cell_parts, Grouping(np.arange(n_times), np.arange(n_places), self.shape))

    def _image_moments(self, image: Grouping) -> Moments:
        """The moments of sums of cells."""
        model, times, n_times = self.model, image.time_groups, image.shape[0]
        if len(np.unique(times)) == len(times):
            parts = [sum_groups(part, times, n_groups=n_times) for part in self._cell_parts]
        else:
            exposures = np.broadcast_to(model.exposures[:, None], self.shape)
            found = model.question_variances(exposures, exposures * model.gains, times, n_times)
            of_days = (model.day_variances, *model.day_cumulants)
            days = [sum_groups(part, times, n_groups=n_times) for part in of_days]
            parts = [*(self.inflation * found.transpose(2, 1, 0)), *days]
        return self._of_groups(parts, image)

    def _of_groups(self, parts: Sequence[FloatArray], image: Grouping) -> Moments:
        """Moments of sums of places, from those of each: all places share what is missing of a total."""
        places, n_places = image.place_groups, image.shape[1]
        k = sum_groups(self._k, places, n_groups=n_places)
        m = sum_groups(self._m, places, n_groups=n_places)
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
        third = signed[4] + MIXED * of_shares
        if self.share_skews is not None:
            third = third + self._skews(self.share_skews, image)
        chance = (_sums(part, image) for part in self.model.chance)
        return Moments(of_shares, np.maximum(signed[3], 0.0), third, signed[5], *chance)

    def _skews(self, skews: FloatArray, image: Grouping) -> FloatArray:
        """The third cumulants by way of shares; what comes from other places by way of the total is left out."""
        times, n_times = image.time_groups, image.shape[0]
        exposures = self.model.exposures[:, None]
        whole = sum_groups(exposures, times, n_groups=n_times)
        damped = sum_groups(exposures * self.model.gains, times, n_groups=n_times)
        own = whole * (1 - self._k) - damped * (1 - self._m)
        thirds: FloatArray = sum_groups(own**3 * skews, image.place_groups, n_groups=image.shape[1], axis=1)
        return thirds


@dataclass(frozen=True, slots=True)
class Moments:
    """What is known of answers: what is open by way of shares and of days, and cumulants of both together.

    ``chance`` is the variance of the realized counts around the expected ones, ``excess`` the part that is more than
    that of a Poisson number.
    """

    of_shares: FloatArray
    of_days: FloatArray
    third: FloatArray
    fourth: FloatArray
    chance: FloatArray
    excess: FloatArray

    @property
    def variances(self) -> FloatArray:
        return self.of_shares + self.of_days

    def given(self, centre: FloatArray) -> FloatArray:
        """The variances once answers are known: the expected counts in those of chance become what was found."""
        found = np.maximum(centre, 0.0) + self.excess
        ratios = np.divide(found, self.chance, out=np.ones_like(found), where=self.chance > 0)
        return np.asarray(self.of_shares + self.of_days * np.clip(ratios, *_RATIOS), np.float64)

    def limits(self, centre: FloatArray, level: float, *, is_whole: bool = True) -> tuple[FloatArray, FloatArray]:
        return limits_of(centre, self.given(centre), self.third, self.fourth, level, is_whole=is_whole)


def _evened_places(parts: FloatArray, is_gone: BoolArray) -> FloatArray:
    """What is known of each place, with the mean of those of which every count is removed in their stead."""
    if not is_gone.any():
        return parts
    found = parts.copy()
    found[is_gone] = parts[is_gone].mean(axis=0)
    return found


def _sums(cells: FloatArray, image: Grouping) -> FloatArray:
    by_time = sum_groups(cells, image.time_groups, n_groups=image.shape[0])
    sums: FloatArray = sum_groups(by_time, image.place_groups, n_groups=image.shape[1], axis=1)
    return sums
