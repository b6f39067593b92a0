"""The model of shares that drift, and what its kernels can tell of it; :mod:`tacit.statespace.smoothed_noise` says
more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.fields import number, numbers
from tacit._base.kernels import state_space_kernels
from tacit._base.packing import pack_array
from tacit.errors import SettingError

_DIGITS: Final = 1 << 12
_HEAVIER: Final = 0.8
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
    excess: FloatArray | None = None

    def __post_init__(self) -> None:
        n_times, n_places = self.shape
        n_terms = self.basis.shape[-1]
        fitting = {
            "exposures": (n_times,),
            "deviations": (n_times, n_places),
            "basis": (n_times, n_terms),
            "series": (n_places, 3),
            "coefficients": (n_places, n_terms),
        }
        if self.shocks.shape != (1, 1):
            fitting["shocks"] = (n_times, n_places)
        for name, shape in fitting.items():
            if getattr(self, name).shape != shape:
                raise SettingError(f"{name} must have shape {shape}; got shape={getattr(self, name).shape}.")

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
    def chance(self) -> tuple[FloatArray, FloatArray]:
        """The deviations, and the part that a Poisson number would not have; nothing where that is not known."""
        if self.excess is None:
            return np.zeros(self.shape), np.zeros(self.shape)
        return self.deviations, self.deviations * self.excess[:, None]

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

    def level_scores(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How much the log likelihood gains by a shift of the level from each time on, and what that tells of it.

        A score and an information (times x places): for a shift of prior variance w the gain is
        w score^2 / (1 + w information) / 2 - log(1 + w information) / 2.
        """
        scores, informations = np.empty(self.shape[::-1]), np.empty(self.shape[::-1])
        state_space_kernels(self._work).level_scores(
            np.ascontiguousarray(shares.T), self.share_errors, *self._law, scores, informations
        )
        return np.ascontiguousarray(scores.T), np.ascontiguousarray(informations.T)

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

    def to_dict(self) -> dict[str, Any]:
        return {name: packed(getattr(self, name)) for name in _ARRAYS} | {
            "memory": self.memory,
            "error_skew": self.error_skew,
            "excess": packed(self.excess),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpace:
        arrays = {name: numbers(content, name) for name in _ARRAYS}
        read = cls(
            memory=number(content, "memory", least=-1, most=1),
            error_skew=number(content, "error_skew"),
            excess=unpacked({"excess": None} | dict(content), "excess"),
            **arrays,
        )
        variances = (read.exposures, read.deviations, read.errors, read.series, read.coefficients, read.shocks)
        if min(part.min(initial=0) for part in variances) < 0:
            raise ValueError("variances")
        if read.excess is not None and read.excess.shape != read.exposures.shape:
            raise ValueError("excess")
        return read

    @property
    def _work(self) -> int:
        return math.prod(self.shape) * (1 + int(self.basis.shape[1]))


def rounded(values: FloatArray) -> FloatArray:
    """Numbers to about 12 binary digits: variances need no more, and a release stays small.

    >>> rounded(np.array([1.0, 0.3])).tolist()
    [1.0, 0.300048828125]
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissas * _DIGITS) / _DIGITS, exponents), np.float64)


def packed(array: FloatArray | None) -> dict[str, Any] | None:
    """An array as plain data, with half the digits where that loses nothing."""
    if array is None:
        return None
    short = array.astype(np.float32)
    return pack_array(short if np.array_equal(short, array) else array)


def unpacked(content: Mapping[str, Any], name: str, shape: tuple[int, ...] | None = None) -> FloatArray | None:
    """The array back, of a shape if one is given; None where there is none."""
    return None if content[name] is None else numbers(content, name, shape=shape)
