"""Noise models: what is known about the error of an estimate, for any question.

Variance belongs to the question, not to the cell: cells may be correlated, and a sum of cells can be known better
than each. A noise model therefore answers for *weights*, an array of the estimate's shape. The set is closed and
every member can be written to plain data and read back, so that a release can be asked anything in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_share
from tacit.domain import sum_groups
from tacit.errors import FormatError, NoInterval
from tacit.randomness.bernoulli import COIN
from tacit.two_binomials import count_limits, normal_quantile

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Noise(Protocol):
    """The law of (estimate - truth), given the truth.

    Mathematical contract: the error of the question ``sum(weights * values)`` has mean 0 and variance
    ``variance(weights)``; ``interval`` covers the true answer with probability at least about ``level``.
    """

    def variance(self, weights: FloatArray) -> float:
        """The variance of the answer to a linear question."""

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        """Limits for the true answer, given the estimated one."""

    def standard_errors(self) -> FloatArray:
        """The standard error of every cell."""

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for every cell."""

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        """The noise of sums of cells."""

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data."""


@dataclass(frozen=True, eq=False)
class OracleNoise:
    r"""The noise of unary encoding: independent bits, ones with probability p for the true cell and q elsewhere.

    .. math:: \mathrm{Var} = \frac{\sum_c w_c^2 \left(N_c q(1-q) + n_c (p(1-p)-q(1-q))\right)}{(p-q)^2}

    ``reports`` is the public number of reports N behind every cell and broadcasts against ``shape``: (T, 1) when the
    time is public, (1, K) when the place is. ``counts`` are projected counts standing in for n where p + q is not 1.
    For sums of cells the interval is exact (:mod:`tacit.two_binomials`); for other questions it is the normal one.
    """

    ones: int
    zeros: int
    reports: IntArray
    shape: tuple[int, int]
    counts: FloatArray | None = None

    @cached_property
    def _coins(self) -> tuple[float, float, float]:
        p, q = Fraction(self.ones, COIN), Fraction(self.zeros, COIN)
        return float(p), float(q), float(p - q)

    @cached_property
    def _cell_variances(self) -> FloatArray:
        p, q, gap = self._coins
        variance = np.broadcast_to(self.reports * (q * (1 - q)), self.shape).astype(np.float64)
        if self.counts is not None:
            variance = variance + self.counts * (p * (1 - p) - q * (1 - q))
        return variance / gap**2

    def variance(self, weights: FloatArray) -> float:
        return float(np.sum(weights**2 * self._cell_variances))

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        if not np.isin(weights, (0.0, 1.0)).all():
            reach = normal_quantile(level) * self.variance(weights) ** 0.5
            return value - reach, value + reach
        flips = np.array([int(np.sum(weights * self.reports))])
        asked = weights.any(axis=_private_axes(self.reports), keepdims=True)
        largest = np.array([int(np.sum(self.reports * asked))])
        lower, upper = self._limits(np.array([value]), flips, largest, level)
        return float(lower[0]), float(upper[0])

    def standard_errors(self) -> FloatArray:
        return np.sqrt(self._cell_variances)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        reports = np.broadcast_to(self.reports, self.shape)
        return self._limits(values, reports, reports, level)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        # sums over public bins alone are again reports through the same coins
        if self.reports.shape == (self.shape[0], 1) and shape[1] == self.shape[1]:
            reports = sum_groups(self.reports, time_groups, n_groups=shape[0], axis=0)
        elif self.reports.shape == (1, self.shape[1]) and shape[0] == self.shape[0]:
            reports = sum_groups(self.reports, place_groups, n_groups=shape[1], axis=1)
        else:
            return LinearImage(self, time_groups, place_groups, shape)
        counts = self.counts
        if counts is not None:
            rows = sum_groups(counts, time_groups, n_groups=shape[0], axis=0)
            counts = sum_groups(rows, place_groups, n_groups=shape[1], axis=1)
        return OracleNoise(self.ones, self.zeros, reports, shape, counts)

    def image_intervals(self, values: FloatArray, image: LinearImage, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits for sums of our cells, all at once."""
        flips = image.added(np.broadcast_to(self.reports, self.shape))
        largest = self.reports
        if self.reports.shape[0] > 1:
            largest = sum_groups(largest, image.time_groups, n_groups=image.shape[0], axis=0)
        if self.reports.shape[1] > 1:
            largest = sum_groups(largest, image.place_groups, n_groups=image.shape[1], axis=1)
        return self._limits(values, flips, np.broadcast_to(largest, image.shape), level)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "oracle",
            "ones": hex(self.ones),
            "zeros": hex(self.zeros),
            "shape": list(self.shape),
            "reports": self.reports.tolist(),
            "counts": None if self.counts is None else self.counts.tolist(),
        }

    def _limits(
        self, values: FloatArray, flips: IntArray, largest: IntArray, level: float
    ) -> tuple[FloatArray, FloatArray]:
        p, q, gap = self._coins
        heads = np.rint(values * gap + flips * q).astype(np.int64)
        return count_limits(heads, flips, largest, p=p, q=q, level=level)


@dataclass(frozen=True, eq=False)
class LinearImage:
    """The noise of sums of another estimate's cells: fine time bins and places added into groups."""

    base: OracleNoise
    time_groups: IntArray
    place_groups: IntArray
    shape: tuple[int, int]

    def variance(self, weights: FloatArray) -> float:
        return self.base.variance(self._fine(weights))

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        return self.base.interval(value, self._fine(weights), level)

    def standard_errors(self) -> FloatArray:
        variances: FloatArray = self.added(self.base.standard_errors() ** 2)
        return np.sqrt(variances)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return self.base.image_intervals(values, self, level)

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return LinearImage(self.base, time_groups[self.time_groups], place_groups[self.place_groups], shape)

    def added(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Add the base's cells into ours."""
        rows = sum_groups(cells, self.time_groups, n_groups=self.shape[0], axis=0)
        return sum_groups(rows, self.place_groups, n_groups=self.shape[1], axis=1)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "linear image",
            "base": self.base.to_dict(),
            "time_groups": self.time_groups.tolist(),
            "place_groups": self.place_groups.tolist(),
            "shape": list(self.shape),
        }

    def _fine(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights)[self.time_groups][:, self.place_groups]


@dataclass(frozen=True)
class Unstated:
    """No honest error can be stated, because a biased step was taken; ``reason`` says which."""

    reason: str

    def variance(self, weights: FloatArray) -> float:
        raise self._refusal()

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        raise self._refusal()

    def standard_errors(self) -> FloatArray:
        raise self._refusal()

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        raise self._refusal()

    def coarsen(self, time_groups: IntArray, place_groups: IntArray, shape: tuple[int, int]) -> Noise:
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "unstated", "reason": self.reason}

    def _refusal(self) -> NoInterval:
        return NoInterval(f"{self.reason}. Ask the unbiased values, which carry an interval.")


def noise_from_dict(content: Mapping[str, Any]) -> Noise:
    """Read a noise model back from plain data."""
    try:
        return _READERS[content["kind"]](content)
    except (KeyError, TypeError, ValueError, IndexError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release anew.") from None


def _oracle_from_dict(content: Mapping[str, Any]) -> OracleNoise:
    counts = content["counts"]
    return OracleNoise(
        int(content["ones"], 16),
        int(content["zeros"], 16),
        np.array(content["reports"], np.int64),
        (int(content["shape"][0]), int(content["shape"][1])),
        None if counts is None else np.array(counts, np.float64),
    )


def _image_from_dict(content: Mapping[str, Any]) -> LinearImage:
    return LinearImage(
        _oracle_from_dict(content["base"]),
        np.array(content["time_groups"], np.int64),
        np.array(content["place_groups"], np.int64),
        (int(content["shape"][0]), int(content["shape"][1])),
    )


def _unstated_from_dict(content: Mapping[str, Any]) -> Unstated:
    return Unstated(str(content["reason"]))


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Noise]]] = {
    "oracle": _oracle_from_dict,
    "linear image": _image_from_dict,
    "unstated": _unstated_from_dict,
}


def _private_axes(reports: IntArray) -> tuple[int, ...]:
    return tuple(axis for axis in (0, 1) if reports.shape[axis] == 1)
