r"""The noise of counts smoothed over time: what a linear-Gaussian model leaves open.

Every place r has a share (or a rate) :math:`s_{tr}` that drifts, and its realized count is :math:`c_{tr} = N_t s_{tr} +
d_{tr}` with the exposure N (public totals, or 1), of which y is known up to an error of variance v:

.. math:: s_{tr} = \ell_{tr} + a_{tr} + h_t^\top \beta_r, \qquad
          \ell_{t+1} = \ell_t + \eta_t, \quad a_{t+1} = \rho a_t + \alpha_t, \qquad
          \operatorname{Var} d = \sigma^2, \quad \operatorname{Var}(y - c) = v.

Given y the day's deviation is known up to :math:`\sigma^2 v / (\sigma^2 + v) = g v`, independently over days, and the
share up to a Gaussian process whose precision is banded but for the few coefficients :math:`\beta`. With its factors
(:math:`x_t = J_t x_{t+1} + \xi_t`, backwards in time) the variance of any question takes one pass over the series.

Counts of all places add up to the public total. What is missing is dealt out in proportion to what is open: weights k
for shares, m for deviations,

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
_ARRAYS: Final = ("exposures", "deviations", "errors", "basis", "series", "coefficients", "shocks")


@dataclass(frozen=True, eq=False)
class StateSpace:
    """A model of shares that drift, one series for each place, independent of one another.

    ``exposures`` are N, ``deviations`` and ``errors`` (times x places) the variances of d and of y - c, on the scale of
    counts. ``series`` has for each place the variance of the first level, of a step of the level, and of the wander a;
    ``memory`` is its :math:`\\rho`, ``coefficients`` are the prior variances of :math:`\\beta` (places x terms) and
    ``basis`` (times x terms) its regressors. ``shocks`` is further variance of single steps of the level (times x
    places, or one 0).
    """

    exposures: FloatArray
    deviations: FloatArray
    errors: FloatArray
    basis: FloatArray
    series: FloatArray
    memory: float
    coefficients: FloatArray
    shocks: FloatArray

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
    def share_errors(self) -> FloatArray:
        """The variance of each observed share around the model's, places x times; infinite where nothing was seen."""
        spread = (self.deviations + self.errors).T
        square = np.square(self.exposures)
        out = np.full(spread.shape, np.inf)
        return np.ascontiguousarray(np.divide(spread, square, out=out, where=(square > 0) & (spread > 0)))

    @cached_property
    def _law(self) -> tuple[Any, ...]:
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
        return {name: _packed(getattr(self, name)) for name in _ARRAYS} | {"memory": self.memory}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpace:
        arrays = {name: unpack_array(content[name]).astype(np.float64) for name in _ARRAYS}
        return cls(memory=float(content["memory"]), **arrays)

    @property
    def _work(self) -> int:
        return self.errors.size * (1 + self.basis.shape[1])


@dataclass(frozen=True, eq=False)
class StateSpaceNoise:
    """What is open of smoothed counts, given the model: its posterior law, exact for any question.

    ``share_weights`` (k) and ``day_weights`` (m) say how counts were made to add up to the public totals; None where
    there are none. ``offsets`` are what values were moved by to be shown (negative ones to 0, say): intervals are those
    of the values before. Limits are the normal law's, cut to what counts can be.
    """

    model: StateSpace
    share_weights: FloatArray | None = None
    day_weights: FloatArray | None = None
    offsets: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.model.shape

    def variance(self, weights: FloatArray) -> float:
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        of_shares, of_days = asked - asked @ self._k[:, None], asked - asked @ self._m[:, None]
        model = self.model
        on_shares = model.exposures[:, None] * (of_shares - model.gains * of_days)
        groups = np.where(on_shares.any(axis=1), 0, -1)
        variance = 0.0
        if not groups.all():
            variance = float(model.question_variances(on_shares, np.zeros(self.shape), groups, 1)[:, 0, 0].sum())
        return variance + float((np.square(of_days) * model.day_variances).sum())

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        if self.offsets is not None:
            value = value - float((asked * self.offsets).sum())
        reach = normal_quantile(level) * math.sqrt(self.variance(asked))
        if asked.min() < 0:
            return value - reach, value + reach
        largest = self._largest(asked)
        return min(max(value - reach, 0.0), largest), min(max(value + reach, 0.0), largest)

    def standard_errors(self) -> FloatArray:
        return self._cell_errors

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        centre = values if self.offsets is None else values - self.offsets
        largest = self.model.exposures[:, None] if self._is_shared else np.inf
        return _limits(centre, normal_quantile(level) * self._cell_errors, largest)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return LinearImage(self, time_groups, place_groups, shape)

    def image_errors(self, image: Grouping) -> FloatArray:
        model = self.model
        if len(np.unique(image.time_groups)) == len(image.time_groups):
            parts = self._cell_parts
            parts = [sum_groups(part, image.time_groups, n_groups=image.shape[0]) for part in parts]
        else:
            exposures = np.broadcast_to(model.exposures[:, None], self.shape)
            found = model.question_variances(exposures, exposures * model.gains, image.time_groups, image.shape[0])
            days = sum_groups(model.day_variances, image.time_groups, n_groups=image.shape[0])
            parts = [*found.transpose(2, 1, 0), days]
        return self._errors(parts, image.place_groups, image.shape[1])

    def image_intervals(self, values: FloatArray, image: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        centre = values
        if self.offsets is not None:
            moved = sum_groups(self.offsets, image.time_groups, n_groups=image.shape[0])
            centre = values - sum_groups(moved, image.place_groups, n_groups=image.shape[1], axis=1)
        largest: Any = np.inf
        if self._is_shared:
            largest = sum_groups(self.model.exposures, image.time_groups, n_groups=image.shape[0])[:, None]
        return _limits(centre, normal_quantile(level) * self.image_errors(image), largest)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "state space",
            "model": self.model.to_dict(),
            "share_weights": _packed(self.share_weights),
            "day_weights": _packed(self.day_weights),
            "offsets": _packed(self.offsets),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpaceNoise:
        names = ("share_weights", "day_weights", "offsets")
        return cls(StateSpace.from_dict(content["model"]), *(_unpacked(content[name]) for name in names))

    @property
    def _is_shared(self) -> bool:
        return self.share_weights is not None

    @property
    def _k(self) -> FloatArray:
        return np.zeros(self.shape[1]) if self.share_weights is None else self.share_weights

    @property
    def _m(self) -> FloatArray:
        return np.zeros(self.shape[1]) if self.day_weights is None else self.day_weights

    def _largest(self, asked: FloatArray) -> float:
        return float((asked.max(axis=1) * self.model.exposures).sum()) if self._is_shared else math.inf

    @cached_property
    def _cell_parts(self) -> list[FloatArray]:
        """For single cells, the three moments of N s and N g s, and what stays open of days."""
        model = self.model
        variances = model.smooth(np.zeros(self.shape))[1] * np.square(model.exposures)[:, None]
        return [variances, variances * model.gains, variances * np.square(model.gains), model.day_variances]

    @cached_property
    def _cell_errors(self) -> FloatArray:
        return self._errors(self._cell_parts, np.arange(self.shape[1]), self.shape[1])

    def _errors(self, parts: Sequence[FloatArray], places: IntArray, n_places: int) -> FloatArray:
        """Standard errors of sums of places, from the moments of each: all places share what is missing."""
        k = sum_groups(self._k, places, n_groups=n_places)
        m = sum_groups(self._m, places, n_groups=n_places)
        factors = ((1 - 2 * k, k * k), (1 - k - m, k * m), (1 - 2 * m, m * m), (1 - 2 * m, m * m))
        variances = np.zeros((len(parts[0]), n_places))
        for part, sign, (own, all_of_them) in zip(parts, (1, -2, 1, 1), factors, strict=True):
            of_group = sum_groups(part, places, n_groups=n_places, axis=1)
            variances += sign * (own * of_group + all_of_them * part.sum(axis=1, keepdims=True))
        return np.sqrt(np.maximum(variances, 0.0))


def rounded(values: FloatArray) -> FloatArray:
    """Numbers to about 12 binary digits: variances need no more, and a release stays small.

    >>> rounded(np.array([1.0, 0.3])).tolist()
    [1.0, 0.300048828125]
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissas * _DIGITS) / _DIGITS, exponents), np.float64)


def _limits(centre: FloatArray, reach: FloatArray, largest: Any) -> tuple[FloatArray, FloatArray]:
    return np.clip(centre - reach, 0.0, largest), np.clip(centre + reach, 0.0, largest)


def _packed(array: FloatArray | None) -> dict[str, Any] | None:
    if array is None:
        return None
    short = array.astype(np.float32)
    return pack_array(short if np.array_equal(short, array) else array)


def _unpacked(content: Any) -> FloatArray | None:
    return None if content is None else unpack_array(content).astype(np.float64)
