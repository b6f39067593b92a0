"""The noise of counts that run on: differences of published running totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.fields import shape_of
from tacit._base.validation import check_share
from tacit.counts.continual_noise import ContinualNoise, continual_noise_from_dict
from tacit.counts.noise.quantiles import VarianceGammaNoise, non_negative
from tacit.domain import Grouping
from tacit.errors import SettingError

_QUESTIONS_AT_ONCE: Final = 64  # of a million bins: 512 MiB; twice as many take twice the memory
# of the bound on the cumulant: the widest margin of these is taken. It is within 0.2 % of the widest of all shares;
# with half as many, within 1.2 %
_SHARES: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0)


@dataclass(frozen=True, eq=False)
class FactorizationNoise(VarianceGammaNoise):
    """One stream for each place, independent of the others, all by the same noise model of their totals.

    Bins of one place are correlated: the error of a range is that of two totals, whatever its length. Intervals of
    single questions have the noise model's own variance and kurtosis; those of all cells at once are the widest that a
    kurtosis within the noise model's bound can give.
    """

    noise_model: ContinualNoise
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        if not (0 < self.shape[0] <= self.noise_model.horizon and self.shape[1] > 0):
            raise SettingError(f"a stream has 1 to {self.noise_model.horizon} bins; got shape={self.shape}.")

    def standard_errors(self) -> FloatArray:
        return np.sqrt(np.broadcast_to(self._bin_moments()[0][:, None], self.shape))

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        return non_negative(values, self._sum_margins(*self._bin_moments(), level)[:, None])

    @property
    def is_continual(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "factorization", "distribution": self.noise_model.to_dict(), "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FactorizationNoise:
        return cls(continual_noise_from_dict(content["distribution"]), shape_of(content))

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the variance and the fourth cumulant of a question; places that are asked alike are asked once."""
        if np.shape(weights) != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={np.shape(weights)}.")
        questions, n_times = np.unique(np.asarray(weights, np.float64), axis=1, return_counts=True)
        variance = cumulant = 0.0
        for first in range(0, len(n_times), _QUESTIONS_AT_ONCE):
            some = slice(first, first + _QUESTIONS_AT_ONCE)
            squares = np.square(self.noise_model.loads(questions[:, some]))
            variance += float(squares.sum(axis=0) @ n_times[some])
            cumulant += float(np.square(squares).sum(axis=0) @ n_times[some])
        return variance, cumulant * self.noise_model.excess_kurtosis

    def _bin_moments(self) -> tuple[FloatArray, FloatArray]:
        bins = np.arange(self.shape[0])
        return self.noise_model.range_variances(bins, bins + 1), self.noise_model.range_cumulants(bins, bins + 1)

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray] | None:
        """Return the moments of sums of cells, if every group of bins is a range of its own."""
        groups = grouping.time
        edges = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [groups.size]])
        runs = groups[edges[:-1]]
        if np.unique(runs).size < runs.size:
            return None
        n_places = np.bincount(grouping.columns, minlength=grouping.shape[1])
        variances, cumulants = np.zeros(grouping.shape[0]), np.zeros(grouping.shape[0])
        variances[runs] = self.noise_model.range_variances(edges[:-1], edges[1:])
        cumulants[runs] = self.noise_model.range_cumulants(edges[:-1], edges[1:])
        return variances[:, None] * n_places, cumulants[:, None] * n_places

    def _sum_margins(self, variances: FloatArray, cumulants: FloatArray, level: float) -> FloatArray:
        shares = _SHARES if self.noise_model.excess_kurtosis else (0.0,)
        widest: FloatArray = np.max([self._margins(variances, share * cumulants, level) for share in shares], axis=0)
        return widest

    @property
    def _errs_by_whole_numbers(self) -> bool:
        return self.noise_model.grid == 1

    @property
    def _is_grainy(self) -> bool:
        return self.noise_model.is_grainy

    @property
    def _largest_smooth_kurtosis(self) -> float:
        return 2.0  # between the normal distribution's 0 and the Laplace distribution's 3
