r"""The margin of an answer whose noise is a weighted sum of few Laplace variables.

Such a sum is not normal: of a single Laplace variable the normal interval of 95 % covers 93.8 %. The symmetric
variance-gamma distribution, the difference of two gamma variables of shape a, is Laplace's for a = 1, that of n equal
Laplace variables for a = n, and tends to the normal distribution. With unit variance it is :math:`\sqrt{G/a}\,N` for G
of the gamma distribution of shape a and a normal N, so

.. math:: P(|Z| > t) = \int_0^\infty \frac{g^{a-1} e^{-g}}{\Gamma(a)}
          \operatorname{erfc}\Bigl(t \sqrt{\frac{a}{2g}}\Bigr)\, dg, \qquad \text{excess kurtosis } \frac3a.

A sum of unequal variables is given the distribution of its own variance and kurtosis.

Reference: Madan1990 (the distribution).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_share
from tacit.counts.exact_intervals import normal_quantile
from tacit.counts.noise.model import LinearMap, Noise, errors_of_questions, intervals_of_questions
from tacit.domain import Grouping

# of the table that quantiles are interpolated in: 80 % limits and wider are off by 0.2 % at most, with half as many by
# 0.7 %; twice as many take twice as long to list, once for a level
_N_STEPS: Final = 128
_LARGEST_KURTOSIS: Final = 60.0
"""Beyond, almost all mass is at 0 and the quantiles fall again: this one's are wide enough. At half of it 95 % limits
of such noise are a fifth wider than needed; at twice of it they fall by a third."""


class VarianceGammaNoise(Noise):
    """Noise of which the variance and the fourth cumulant of any answer are known; intervals are those of the two."""

    if TYPE_CHECKING:  # a field of some models, a property of others

        @property
        def shape(self) -> tuple[int, int]: ...

    def variance(self, weights: FloatArray) -> float:
        return self._moments(weights)[0]

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        variance, cumulant = self._moments(weights)
        is_whole = bool((np.asarray(weights) % 1 == 0).all())
        margin = float(self._margins(np.array([variance]), np.array([cumulant]), level, is_whole=is_whole)[0])
        if np.min(weights) < 0:
            return value - margin, value + margin
        return max(value - margin, 0.0), max(value + margin, 0.0)

    def coarsen(self, grouping: Grouping) -> Noise:
        return LinearMap(self, grouping)

    def browser_model(self, level: float) -> dict[str, Any] | None:
        moments = self.browser_moments(level)
        if moments is None:
            return None
        smooth = self._largest_smooth_kurtosis
        return {
            "kind": "variance gamma",
            "moments": moments,
            "is_whole": self._errs_by_whole_numbers,
            "is_grainy": self._is_grainy,
            "smooth_kurtosis": None if math.isinf(smooth) else smooth,
            "largest_kurtosis": _LARGEST_KURTOSIS,
            "factors": _table(level)[1].tolist(),
        }

    def browser_moments(self, level: float) -> dict[str, Any] | None:
        """Return plain data for a script to find the variance and fourth cumulant of a box; None if none can."""
        return None

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        moments = self._sum_moments(grouping)
        return errors_of_questions(self, grouping) if moments is None else np.sqrt(moments[0])

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        moments = self._sum_moments(grouping)
        if moments is None:
            return intervals_of_questions(self, values, grouping, level)
        return non_negative(values, self._sum_margins(*moments, level))

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray] | None:
        """Return the variances and the fourth cumulants of sums of cells; None where each must be asked by itself."""
        raise NotImplementedError

    def _sum_margins(self, variances: FloatArray, cumulants: FloatArray, level: float) -> FloatArray:
        """Return how far sums of cells may be from the truth."""
        return self._margins(variances, cumulants, level)

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the variance and the fourth cumulant of the answer to a question."""
        raise NotImplementedError

    @property
    def _errs_by_whole_numbers(self) -> bool:
        """Return whether answers to whole-number questions err by whole numbers."""
        raise NotImplementedError

    @property
    def _is_grainy(self) -> bool:
        """Return whether some noise is mostly 0, so that no smooth distribution describes an answer's error."""
        raise NotImplementedError

    @property
    def _largest_smooth_kurtosis(self) -> float:
        """The excess kurtosis above which one node outweighs the others, and errors are near whole numbers."""
        return math.inf

    def _margins(
        self, variances: FloatArray, cumulants: FloatArray, level: float, *, is_whole: bool = True
    ) -> FloatArray:
        """Return how far answers may be from the truth."""
        is_whole, is_exact = is_whole and self._errs_by_whole_numbers, variances == 0
        if is_whole or self._is_grainy:
            # spread the noise over a unit, U: a continuous variable, and P(|Z| <= t + 1/2) >= P(|Z + U| <= t)
            variances, cumulants = variances + 1 / 12, cumulants - 1 / 120
        squares = np.square(variances)
        kurtosis = np.divide(cumulants, squares, out=np.zeros_like(squares), where=squares > 0)
        margins = quantile_factors(kurtosis, level) * np.sqrt(variances)
        if is_whole:
            margins = np.ceil(margins - 0.5)  # P(|Z| <= n) = P(|Z + U| <= n + 1/2) for whole numbers
        elif self._is_grainy:
            margins = margins + 0.5
        else:
            margins = np.where(kurtosis > self._largest_smooth_kurtosis, np.ceil(margins), margins)
        return np.where(is_exact, 0.0, margins)


def non_negative(values: FloatArray, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return limits of counts. Counts are never below zero, so cutting limits there loses nothing."""
    return np.maximum(values - margins, 0.0), np.maximum(values + margins, 0.0)


def quantile_factors(excess_kurtosis: FloatArray, level: float) -> FloatArray:
    """Return, for each kurtosis, the t with P(\\|Z\\| <= t) = level, Z of unit variance.

    >>> quantile_factors(np.array([0.0, 3.0]), 0.95).round(3).tolist()  # normal; Laplace: ln(20) / sqrt(2)
    [1.96, 2.118]
    """
    kurtosis = np.clip(excess_kurtosis, 0.0, _LARGEST_KURTOSIS)
    places, factors = _table(level)
    return np.interp(kurtosis / (kurtosis + 3), places, factors)


@lru_cache(maxsize=16)
def _table(level: float) -> tuple[FloatArray, FloatArray]:
    """Return quantiles at equal steps of kurtosis / (kurtosis + 3), in which they are smooth."""
    places = np.linspace(0.0, _LARGEST_KURTOSIS / (_LARGEST_KURTOSIS + 3), _N_STEPS + 1)
    return places, np.array([_quantile(place, level) for place in places.tolist()])


def _quantile(place: float, level: float) -> float:
    if place < 1e-6:
        return normal_quantile(level)
    mass, speeds = _mixture(shape=(1 - place) / place)  # 3 / kurtosis
    low, high = 0.0, 1 / math.sqrt(1 - level)  # Chebyshev's
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        beyond = float(mass @ [math.erfc(middle * speed) for speed in speeds.tolist()])
        low, high = (middle, high) if beyond > 1 - level else (low, middle)
    return high


def _mixture(shape: float) -> tuple[FloatArray, FloatArray]:
    """Return masses and sqrt(a / 2g) at nodes of the integral in y = ln g, where the trapezoidal rule serves well."""
    width = 1 / math.sqrt(max(shape, 1.0))
    y = math.log(shape) + width * np.linspace(-40.0 if shape < 1 else -16.0, 8.0 if shape < 4 else 12.0, 161)
    mass = np.exp(shape * y - np.exp(y) - math.lgamma(shape)) * (y[1] - y[0])
    kept = mass > 1e-18
    return mass[kept], np.sqrt(shape / (2 * np.exp(y[kept])))
