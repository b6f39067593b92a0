"""The noise model of an estimate: what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.fields import text
from tacit._base.validation import check_share
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.domain import AXES, Grouping
from tacit.errors import NoInterval

if TYPE_CHECKING:
    from tacit.counts.noise.oracle import OracleNoise
    from tacit.counts.noise.tree import TreeNoise
    from tacit.counts.oracle_distributions import SupportDistribution
    from tacit.counts.tree_least_squares import TreeFusion


class Noise(Protocol):
    """The distribution of (estimate - truth), given the truth.

    Mathematical contract: the error of the question ``sum(weights * values)`` has mean 0 and variance
    ``variance(weights)``; ``interval`` covers the true answer with probability at least about ``level``.

    Every model answers the first eight methods. The others have an answer that holds for any noise, mostly "not
    known"; a model that knows more overrides them. No caller asks which class a model has.
    """

    def variance(self, weights: FloatArray) -> float:
        """Return the variance of the answer to a linear question."""

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        """Return limits for the true answer, given the estimated one."""

    def standard_errors(self) -> FloatArray:
        """Return the standard error of every cell."""

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits for every cell."""

    def coarsen(self, grouping: Grouping) -> Noise:
        """Return the noise of sums of cells."""

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        """Return the standard errors of sums of our cells, all at once."""

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        """Return limits for sums of our cells, all at once."""

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data."""

    @property
    def is_stated(self) -> bool:
        """Return whether an error can be stated at all."""
        return True

    @property
    def is_continual(self) -> bool:
        """Return whether errors of successive times are correlated as those of a running counter are."""
        return False

    def range_limits(
        self, values: FloatArray, first: NDArray[np.integer], stop: NDArray[np.integer], level: float
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return standard errors, lower and upper limits of sums over ranges of times of any one place, all at once.

        None where ranges have to be asked one after another.
        """
        return None

    def forget(self, cells: BoolArray) -> Noise:
        """Return the same noise with the counts of these cells replaced by means over them."""
        return self

    def scaled(self, budget: Fraction) -> Noise | None:
        """Return a curator's noise for so many times the budget (of epsilon, or of rho); None if it is not known."""
        return None

    def through(self, oracle: Callable[[int], SupportDistribution]) -> Noise | None:
        """Return the noise of the same reports through another oracle for their cells; None without reports.

        Where its errors depend on the truth, the estimated counts stand in for it.
        """
        return None

    def bin_covariance(self) -> FloatArray | None:
        """Return the covariance of the columns of a time bin, where it is the same in all, and bins err independently.

        None where it is not known.
        """
        return None

    def of_reports(self) -> OracleNoise | None:
        """Return the noise of each cell's own reports; None for sums, nodes of a tree, or a curator's counts."""
        return None

    def tree_over_time(self) -> TreeNoise | None:
        """Return the noise of a curator's tree whose leaves are the times in order; None for anything else."""
        return None

    def fused_trees(self) -> FusedTrees | None:
        """Return the trees whose least-squares leaves the cells are; None if they are not."""
        return None

    def browser_model(self, level: float) -> dict[str, Any] | None:
        """Return plain data from which a script finds the variance and interval of any box; None if none can.

        ``level`` is that of the intervals. The scripts are ``pages/templates/noise_*.js``.
        """
        return None


@dataclass(frozen=True)
class NoStatedNoise(Noise):
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

    def coarsen(self, grouping: Grouping) -> Noise:
        return self

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        raise self._refusal()

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        raise self._refusal()

    @property
    def is_stated(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "no stated noise", "reason": self.reason}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> NoStatedNoise:
        return cls(text(content, "reason"))

    def _refusal(self) -> NoInterval:
        return NoInterval(f"{self.reason}. Ask the unbiased values, which carry an interval.")


@dataclass(frozen=True, slots=True)
class FusedTrees:
    """An estimate's trees: their least squares, the way to their leaves and back, and the scales of their variances."""

    fusion: TreeFusion
    leaves: Callable[[FloatArray], FloatArray]
    cells: Callable[[FloatArray], FloatArray]
    scales: FloatArray | None


def evened(counts: FloatArray, cells: BoolArray) -> FloatArray:
    """Return each row's counts, those of its marked cells replaced by their mean."""
    sums = np.where(cells, counts, 0.0).sum(axis=1, keepdims=True)
    means = sums / np.maximum(cells.sum(axis=1, keepdims=True), 1)
    return np.where(cells, means, counts)


@dataclass(frozen=True, eq=False)
class LinearMap(Noise):
    """The noise of sums of another estimate's cells, whatever noise that has: fine time bins and places in groups."""

    base: Noise
    grouping: Grouping

    @property
    def shape(self) -> tuple[int, int]:
        return self.grouping.shape

    def variance(self, weights: FloatArray) -> float:
        return self.base.variance(self.grouping.fine(weights))

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        return self.base.interval(value, self.grouping.fine(weights), level)

    def standard_errors(self) -> FloatArray:
        return self.base.sum_errors(self.grouping)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return self.base.sum_intervals(values, self.grouping, level)

    def coarsen(self, grouping: Grouping) -> Noise:
        return LinearMap(self.base, self.grouping.then(grouping))

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        return self.base.sum_errors(self.grouping.then(grouping))

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        return self.base.sum_intervals(values, self.grouping.then(grouping), level)

    @property
    def is_stated(self) -> bool:
        return self.base.is_stated

    @property
    def is_continual(self) -> bool:
        return self.base.is_continual

    def forget(self, cells: BoolArray) -> Noise:
        return replace(self, base=self.base.forget(self.grouping.fine(cells.astype(np.float64)) > 0))

    def scaled(self, budget: Fraction) -> Noise | None:
        base = self.base.scaled(budget)
        return None if base is None else replace(self, base=base)

    def through(self, oracle: Callable[[int], SupportDistribution]) -> Noise | None:
        base = self.base.through(oracle)
        return None if base is None else replace(self, base=base)

    def browser_model(self, level: float) -> dict[str, Any] | None:
        base, groups = self.base.browser_model(level), self.grouping
        if base is None:
            return None
        return {"kind": "sums", "base": base, "groups": {axis: getattr(groups, axis).tolist() for axis in AXES}}

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "linear map", "base": self.base.to_dict(), **self.grouping.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Noise]) -> LinearMap:
        """Read it back; ``read`` reads the noise of the fine cells, whichever it is."""
        base = read(content["base"])
        return cls(base, Grouping.from_dict(content, fine=getattr(base, "shape", None)))


def errors_of_questions(base: Noise, grouping: Grouping) -> FloatArray:
    """Return the standard errors of sums, each asked as a question of its own: for noise that knows no faster way."""
    errors = np.empty(grouping.shape)
    for where, weights in grouping.questions():
        errors[where] = math.sqrt(base.variance(weights))
    return errors


def intervals_of_questions(
    base: Noise, values: FloatArray, grouping: Grouping, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of sums, each asked as a question of its own: for noise that knows no faster way."""
    lower, upper = np.empty(grouping.shape), np.empty(grouping.shape)
    for where, weights in grouping.questions():
        lower[where], upper[where] = base.interval(float(values[where]), weights, level)
    return lower, upper
