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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._kernels import state_space_kernels
from tacit._packing import pack_array, unpack_array
from tacit._validate import check_share
from tacit.domain import sum_groups
from tacit.errors import SettingError
from tacit.noise.image import LinearImage
from tacit.noise.model import FloatArray, Grouping, IntArray, Noise
from tacit.two_binomials import normal_quantile

_DIGITS: Final = 1 << 12
_HEAVIER: Final = 0.8
_MOST_SKEWED: Final = 1.5
_MOST_PEAKED: Final = 5.0
_ARRAYS: Final = ("exposures", "deviations", "errors", "basis", "series", "coefficients", "shocks")


@dataclass(frozen=True, eq=False)
class StateSpace:
    """A model of shares that drift, one series for each place, independent of one another.

    ``exposures`` are N, ``deviations`` and ``errors`` (times x places) the variances of d and of y - c, on the scale of
    counts. ``series`` has for each place the variance of the first level, of a step of the level, and of the wander a;
    ``memory`` is its :math:`\\rho`, ``coefficients`` are the prior variances of :math:`\\beta` (places x terms) and
    ``basis`` (times x terms) its regressors. ``shocks`` is further variance of single steps of the level (times x
    places, or one 0). ``error_skew`` is the third cumulant of y - c, in parts of its variance.
    """

    exposures: FloatArray
    deviations: FloatArray
    errors: FloatArray
    basis: FloatArray
    series: FloatArray
    memory: float
    coefficients: FloatArray
    shocks: FloatArray
    error_skew: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.errors.shape[0], self.errors.shape[1]

    @cached_property
    def gains(self) -> FloatArray:
        """g: how much of what a day differs from its expected count is its own, and not noise."""
        spread = self.deviations + self.errors
        return np.divide(self.deviations, spread, out=np.zeros(self.shape), where=spread > 0)

    @cached_property
    def day_variances(self) -> FloatArray:
        """What stays open of each count when its share is known."""
        return self.gains * self.errors

    @cached_property
    def day_cumulants(self) -> tuple[FloatArray, FloatArray]:
        """The third and fourth cumulants of counts around their estimates.

        Chance is as in Poisson counts, whose cumulants are all the same; noise as in scaled ones. Days of which it is
        unknown how much they vary are a little heavier in the tails.
        """
        rest, skew = 1 - self.gains, self.error_skew
        third = rest**3 * self.deviations - self.gains**3 * (skew * self.errors)
        fourth = rest**4 * self.deviations + self.gains**4 * (skew**2 * self.errors)
        return third, fourth + _HEAVIER * np.square(self.day_variances)

    @cached_property
    def share_errors(self) -> FloatArray:
        """The variance of each observed share around the model's, places x times; infinite where nothing was seen."""
        spread = (self.deviations + self.errors).T
        square = np.square(self.exposures)
        out = np.full(spread.shape, np.inf)
        return np.ascontiguousarray(np.divide(spread, square, out=out, where=(square > 0) & (spread > 0)))

    @cached_property
    def _law(self) -> tuple[FloatArray, FloatArray, float, FloatArray, FloatArray]:
        return self.basis, self.series, self.memory, self.coefficients, np.ascontiguousarray(self.shocks.T)

    def log_likelihoods(self, shares: FloatArray) -> FloatArray:
        """The log likelihood of observed shares (times x places), for each place; constants left out."""
        out = np.empty(self.shape[1])
        state_space_kernels(self._work).log_likelihoods(
            np.ascontiguousarray(shares.T), self.share_errors, *self._law, out
        )
        return out

    def smooth(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means and variances of the shares given all that was observed (times x places)."""
        means, variances = np.empty(self.shape[::-1]), np.empty(self.shape[::-1])
        state_space_kernels(self._work).smooth(
            np.ascontiguousarray(shares.T), self.share_errors, *self._law, means, variances
        )
        return np.ascontiguousarray(means.T), np.ascontiguousarray(variances.T)

    def follow(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means and variances of the shares given what was observed up to each time (times x places)."""
        means, variances = np.empty(self.shape[::-1]), np.empty(self.shape[::-1])
        state_space_kernels(self._work).follow(
            np.ascontiguousarray(shares.T), self.share_errors, *self._law, means, variances
        )
        return np.ascontiguousarray(means.T), np.ascontiguousarray(variances.T)

    def question_variances(
        self, weights: FloatArray, damped: FloatArray, groups: IntArray, n_groups: int
    ) -> FloatArray:
        """For each place and group of times, Var(a), Cov(a, b) and Var(b) of the sums a and b of weighted shares."""
        bounds = np.zeros((n_groups, 2), np.int64)
        present, first = np.unique(groups, return_index=True)
        last = len(groups) - np.unique(groups[::-1], return_index=True)[1]
        is_asked = present >= 0
        bounds[present[is_asked]] = np.stack([first, last], axis=1)[is_asked]
        out = np.empty((self.shape[1], n_groups, 3))
        state_space_kernels(self._work * (1 + n_groups)).question_variances(
            self.share_errors,
            *self._law,
            np.ascontiguousarray(weights.T, np.float64),
            np.ascontiguousarray(damped.T, np.float64),
            groups,
            bounds,
            out,
        )
        return out

    def of_places(self, places: IntArray) -> StateSpace:
        """The same model of some of the places."""
        return replace(
            self,
            deviations=self.deviations[:, places],
            errors=self.errors[:, places],
            series=self.series[places],
            coefficients=self.coefficients[places],
            shocks=self.shocks if self.shocks.shape[1] == 1 else self.shocks[:, places],
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: _packed(getattr(self, name)) for name in _ARRAYS} | {
            "memory": self.memory,
            "error_skew": self.error_skew,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpace:
        arrays = {name: unpack_array(content[name]).astype(np.float64) for name in _ARRAYS}
        return cls(memory=float(content["memory"]), error_skew=float(content["error_skew"]), **arrays)

    @property
    def _work(self) -> int:
        return math.prod(self.shape) * (1 + int(self.basis.shape[1]))


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
            "share_weights": _packed(self.share_weights),
            "day_weights": _packed(self.day_weights),
            "offsets": _packed(self.offsets),
            "inflation": self.inflation,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpaceNoise:
        return cls(
            StateSpace.from_dict(content["model"]),
            _unpacked(content["share_weights"]),
            _unpacked(content["day_weights"]),
            _unpacked(content["offsets"]),
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


def rounded(values: FloatArray) -> FloatArray:
    """Numbers to about 12 binary digits: variances need no more, and a release stays small.

    >>> rounded(np.array([1.0, 0.3])).tolist()
    [1.0, 0.300048828125]
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissas * _DIGITS) / _DIGITS, exponents), np.float64)


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


def _packed(array: FloatArray | None) -> dict[str, Any] | None:
    if array is None:
        return None
    short = array.astype(np.float32)
    return pack_array(short if np.array_equal(short, array) else array)


def _unpacked(content: Any) -> FloatArray | None:
    return None if content is None else unpack_array(content).astype(np.float64)
