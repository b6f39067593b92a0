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
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._validate import check_share
from tacit.domain import sum_groups
from tacit.errors import SettingError
from tacit.noise.drifting import StateSpace, packed, unpacked
from tacit.noise.image import LinearImage
from tacit.noise.model import FloatArray, Grouping, IntArray, Noise
from tacit.two_binomials import normal_quantile

_MOST_SKEWED: Final = 1.5
_MOST_PEAKED: Final = 5.0


@dataclass(frozen=True, eq=False)
class StateSpaceNoise:
    """What is open of smoothed counts, given the model: its posterior law, exact for any question.

    ``share_weights`` (k) and ``day_weights`` (m) say how counts were made to add up to the public totals; None where
    there are none. ``offsets`` are what values were moved by to be shown (negative ones to 0, say): intervals are those
    of the values before. ``inflation`` multiplies the variance of shares, for a model that was itself estimated. Limits
    are those of a law with the variance and the skewness of the answer, for a whole number
    spread over its unit; then they are cut to what counts can be.
    """

    model: StateSpace
    share_weights: FloatArray | None = None
    day_weights: FloatArray | None = None
    offsets: FloatArray | None = None
    inflation: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.model.shape

    def variance(self, weights: FloatArray) -> float:
        return self._moments(weights)[0]

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        variance, third, fourth = (np.array(moment) for moment in self._moments(asked))
        if self.offsets is not None:
            value = value - float((asked * self.offsets).sum())
        is_whole = bool((asked % 1 == 0).all())
        lower, upper = limits_of(np.array(value), variance, third, fourth, level, is_whole=is_whole)
        if asked.min() < 0:
            return float(lower), float(upper)
        largest = float((asked.max(axis=1) * self.model.exposures).sum()) if self._is_shared else math.inf
        return min(max(float(lower), 0.0), largest), min(max(float(upper), 0.0), largest)

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self._cell_moments[0])

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        lower, upper = self.limits(values, level)
        largest = self.model.exposures[:, None] if self._is_shared else np.inf
        return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)

    def limits(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for every cell, not yet cut to what counts can be."""
        check_share(level=level)
        centre = values if self.offsets is None else values - self.offsets
        return limits_of(centre, *self._cell_moments, level)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return LinearImage(self, time_groups, place_groups, shape)

    def image_errors(self, image: Grouping) -> FloatArray:
        return np.sqrt(self._image_moments(image)[0])

    def image_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        lower, upper = self.image_limits(values, image, level)
        largest: Any = np.inf
        if self._is_shared:
            largest = sum_groups(self.model.exposures, image.time_groups, n_groups=image.shape[0])[:, None]
        return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)

    def image_limits(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for sums of cells, not yet cut to what counts can be."""
        check_share(level=level)
        centre = values
        if self.offsets is not None:
            moved = sum_groups(self.offsets, image.time_groups, n_groups=image.shape[0])
            centre = values - sum_groups(moved, image.place_groups, n_groups=image.shape[1], axis=1)
        return limits_of(centre, *self._image_moments(image), level)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "state space",
            "model": self.model.to_dict(),
            "share_weights": packed(self.share_weights),
            "day_weights": packed(self.day_weights),
            "offsets": packed(self.offsets),
            "inflation": self.inflation,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpaceNoise:
        return cls(
            StateSpace.from_dict(content["model"]),
            unpacked(content["share_weights"]),
            unpacked(content["day_weights"]),
            unpacked(content["offsets"]),
            float(content["inflation"]),
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

    def _moments(self, weights: FloatArray) -> tuple[float, float, float]:
        """The variance, the third and the fourth cumulant of a question."""
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        of_shares, of_days = asked - asked @ self._k[:, None], asked - asked @ self._m[:, None]
        model = self.model
        on_shares = model.exposures[:, None] * (of_shares - model.gains * of_days)
        groups = np.where(on_shares.any(axis=1), 0, -1)
        variance = float((np.square(of_days) * model.day_variances).sum())
        if not groups.all():
            of_places = model.question_variances(on_shares, np.zeros(self.shape), groups, 1)[:, 0, 0]
            variance += self.inflation * float(of_places.sum())
        third, fourth = model.day_cumulants
        return variance, float((of_days**3 * third).sum()), float((of_days**4 * fourth).sum())

    @cached_property
    def _cell_parts(self) -> list[FloatArray]:
        """For single cells, the three moments of N s and N g s, and the cumulants of what stays open of days."""
        model = self.model
        variances = model.smooth(np.zeros(self.shape))[1] * (self.inflation * np.square(model.exposures)[:, None])
        squares = [variances, variances * model.gains, variances * np.square(model.gains)]
        return [*squares, model.day_variances, *model.day_cumulants]

    @cached_property
    def _cell_moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._of_groups(self._cell_parts, np.arange(self.shape[1]), self.shape[1])

    def _image_moments(self, image: Grouping) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The variances, third and fourth cumulants of sums of cells."""
        model, times, n_times = self.model, image.time_groups, image.shape[0]
        if len(np.unique(times)) == len(times):
            parts = [sum_groups(part, times, n_groups=n_times) for part in self._cell_parts]
        else:
            exposures = np.broadcast_to(model.exposures[:, None], self.shape)
            found = model.question_variances(exposures, exposures * model.gains, times, n_times)
            of_days = (model.day_variances, *model.day_cumulants)
            days = [sum_groups(part, times, n_groups=n_times) for part in of_days]
            parts = [*(self.inflation * found.transpose(2, 1, 0)), *days]
        return self._of_groups(parts, image.place_groups, image.shape[1])

    def _of_groups(
        self, parts: Sequence[FloatArray], places: IntArray, n_places: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Moments of sums of places, from those of each: all places share what is missing of a total."""
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
        variances = signed[0] - 2 * signed[1] + signed[2] + signed[3]
        return np.maximum(variances, 0.0), signed[4], signed[5]


def limits_of(
    centre: FloatArray,
    variances: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    level: float,
    *,
    is_whole: bool = True,
) -> tuple[FloatArray, FloatArray]:
    r"""Quantiles of a law with these cumulants, by the expansion of Cornish and Fisher.

    .. math:: z + \frac{z^2 - 1}{6} \gamma + \frac{z^3 - 3z}{24} \kappa - \frac{2z^3 - 5z}{36} \gamma^2

    with the skewness and the excess kurtosis.
    """
    is_open = variances > 0
    spread = np.sqrt(variances + (is_open / 12 if is_whole else 0.0))  # a whole number, spread over its unit
    skewness = np.divide(third, spread**3, out=np.zeros_like(spread), where=is_open)
    skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
    kurtosis = np.divide(fourth, spread**4, out=np.zeros_like(spread), where=is_open)
    kurtosis = np.clip(kurtosis, 0.0, _MOST_PEAKED)
    z = normal_quantile(level)
    shift = (z * z - 1) / 6 * skewness
    reach = z + (z**3 - 3 * z) / 24 * kurtosis - (2 * z**3 - 5 * z) / 36 * np.square(skewness)
    return centre + (shift - reach) * spread, centre + (shift + reach) * spread
