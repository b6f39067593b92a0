r"""Limits of counts from their first moments: of a curator's noise, and of whole numbers such as smoothed counts.

A whole number c has no quantile of exactly 10 %. Spread evenly over its unit, from c - 1/2 to c + 1/2, it has one:
limits here are those of the spread number, so that an end inside a unit covers a part of it.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
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
    r"""Noise of which the variance and the fourth cumulant of any answer are known; intervals are those of the two.

    A weighted sum of few Laplace variables is not normal: of a single one the normal interval of 95 % covers 93.8 %.
    The symmetric variance-gamma distribution, the difference of two gamma variables of shape a, is Laplace's for a = 1,
    that of n equal Laplace variables for a = n, and tends to the normal distribution. With unit variance it is
    :math:`\sqrt{G/a}\,N` for G of the gamma distribution of shape a and a normal N, so

    .. math:: P(|Z| > t) = \int_0^\infty \frac{g^{a-1} e^{-g}}{\Gamma(a)}
              \operatorname{erfc}\Bigl(t \sqrt{\frac{a}{2g}}\Bigr)\, dg, \qquad \text{excess kurtosis } \frac3a.

    A sum of unequal variables is given the distribution of its own variance and kurtosis.

    Reference: Madan1990 (the distribution).
    """

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
    return places, np.array([_quantile_at(place, level) for place in places.tolist()])


def _quantile_at(place: float, level: float) -> float:
    if place < 1e-6:  # no digit differs at half or twice of it
        return normal_quantile(level)
    mass, speeds = _mixture(shape=(1 - place) / place)  # 3 / kurtosis
    low, high = 0.0, 1 / math.sqrt(1 - level)  # Chebyshev's
    while high - low > 1e-9 * high:  # 30 halvings; half or twice as small adds or saves one
        middle = (low + high) / 2
        beyond = float(mass @ [math.erfc(middle * speed) for speed in speeds.tolist()])
        low, high = (middle, high) if beyond > 1 - level else (low, middle)
    return high


def _mixture(shape: float) -> tuple[FloatArray, FloatArray]:
    """Return masses and sqrt(a / 2g) at nodes of the integral in y = ln g, where the trapezoidal rule serves well."""
    width = 1 / math.sqrt(max(shape, 1.0))
    # half as many nodes move quantiles by 2e-6, ends half as far by up to 1e-3, more of either by less than 1e-9
    y = math.log(shape) + width * np.linspace(-40.0 if shape < 1 else -16.0, 8.0 if shape < 4 else 12.0, 161)
    mass = np.exp(shape * y - np.exp(y) - math.lgamma(shape)) * (y[1] - y[0])
    kept = mass > 1e-18  # what is left out moves no digit; from 1e-9 on it would move quantiles by 4e-9
    return mass[kept], np.sqrt(shape / (2 * np.exp(y[kept])))


# tables end here; more skewed counts take these limits. Half of it moves limits by up to 0.17 standard deviations,
# twice as much by 0.01
_MOST_SKEWED: Final = 2.5
# below, limits are the normal distribution's: a gamma distribution of shape 4 / 1e-6 is one; no limit moves at half or
# twice of it
_LEAST_SKEWED: Final = 1e-3
_SKEWS: Final = np.linspace(0.0, _MOST_SKEWED, 26)  # half as many move limits by 0.02 standard deviations at most
# in parts of what an interval leaves out, below it; half or twice as many move limits by 0.014 standard deviations
_LEFT_OUT: Final = np.linspace(0.0, 0.5, 41)
# larger ones are taken for this: the expansion has one term for it. Half or twice of it moves limits of heavy tails
_MOST_PEAKED: Final = 5.0
# below, the chances of single whole numbers are listed instead; half or twice of it changes the mean width by 0.4 %
_SMALL_VARIANCE: Final = 1.5
# of the count: below, most of its events were observed one by one; half or twice of it changes the mean width by 0.2 %
_MOSTLY_OBSERVED: Final = 0.3
# the largest ratio of variance and mean that a listed count may have; half or twice of it moves no other limit
_MOST_MIXED: Final = 4.0
# whole numbers listed on each side: 6.5 standard deviations of the largest variance. Half cut tails off, twice as many
# change nothing
_BESIDE: Final = 8
_ROWS: Final = 2 * _BESIDE + 1
# Poisson numbers from 0 on: more have a chance below 1e-6 at these variances. Six move limits by up to 0.07 standard
# deviations
_TERMS: Final = 11
_BLOCK: Final = 1 << 16  # counts at once: half a MiB for each array; the size changes the time alone


def limits_of(
    centre: FloatArray,
    variances: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    level: float,
    *,
    is_whole: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of numbers with these means, variances, third and fourth cumulants."""
    lower, upper = _of_many(centre, variances, third, fourth, level, is_whole=is_whole)
    if is_whole:
        chosen = np.flatnonzero((variances > 0) & (variances < _SMALL_VARIANCE))
        for first in range(0, len(chosen), _BLOCK):
            block = chosen[first : first + _BLOCK]
            mean, variance, skew = (np.ravel(part)[block] for part in (centre, variances, third))
            lower.flat[block], upper.flat[block] = _of_few(mean, variance, skew, level)
    return lower, upper


def within(
    lower: FloatArray, upper: FloatArray, largest: FloatArray | float, *, is_whole: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return limits as intervals: cut to possible counts, and out to every whole number partly covered."""
    if is_whole:
        lower, upper = np.minimum(lower, np.ceil(lower - 0.5)), np.maximum(upper, np.floor(upper + 0.5))
    return np.clip(lower, 0.0, largest), np.clip(upper, 0.0, largest)


def settings_of_limits(level: float) -> dict[str, Any]:
    """Return plain data from which a page's script finds the same limits (``noise_smoothed.js``)."""
    lower, upper = _shortest_ends(level)
    return {
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "most_skewed": _MOST_SKEWED,
        "most_peaked": _MOST_PEAKED,
        "small_variance": _SMALL_VARIANCE,
        "mostly_observed": _MOSTLY_OBSERVED,
        "most_mixed": _MOST_MIXED,
        "beside": _BESIDE,
        "terms": _TERMS,
    }


def _of_many(
    centre: FloatArray, variances: FloatArray, third: FloatArray, fourth: FloatArray, level: float, *, is_whole: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the shortest interval of a gamma distribution (or mirrored) of the skewness, widened for heavy tails.

    Reference: Wilson1931.
    """
    is_open = variances > 0
    sd = np.sqrt(variances + (is_open / 12 if is_whole else 0.0))
    skewness = np.divide(third, sd**3, out=np.zeros_like(sd), where=is_open)
    skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
    kurtosis = np.divide(fourth, sd**4, out=np.zeros_like(sd), where=is_open)
    z = normal_quantile(level)
    # a gamma distribution has 1.5 squares of its skewness as kurtosis: only what is beyond that widens
    tails = (z**3 - 3 * z) / 24 * np.clip(kurtosis - 1.5 * np.square(skewness), 0.0, _MOST_PEAKED)
    lower, upper = _shortest(np.abs(skewness), level)
    lower, upper = np.where(skewness < 0, -upper, lower) - tails, np.where(skewness < 0, -lower, upper) + tails
    return np.array(centre + lower * sd), np.array(centre + upper * sd)


def _shortest(skewness: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the shortest intervals of gamma distributions of mean 0 and variance 1."""
    lower, upper = _shortest_ends(level)
    return np.interp(skewness, _SKEWS, lower), np.interp(skewness, _SKEWS, upper)


@cache
def _shortest_ends(level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends for every skewness of ``_SKEWS``. The more skewed, the less of what is left out is below."""
    ends = []
    for skewness in _SKEWS.tolist():
        tried = [(_of_gamma(left, skewness), _of_gamma(left + level, skewness)) for left in _LEFT_OUT * (1 - level)]
        ends.append(min(tried, key=lambda pair: pair[1] - pair[0]))
    lower, upper = np.array(ends).T
    return lower, upper


def _of_gamma(share: float, skewness: float) -> float:
    """Return the quantile of a gamma distribution of mean 0 and variance 1."""
    if share <= 0:
        return -2 / skewness if skewness > 0 else -math.inf
    z = math.copysign(normal_quantile(abs(2 * share - 1)), share - 0.5)
    if skewness < _LEAST_SKEWED:
        return z
    return 2 / skewness * (max(1 + skewness * z / 6 - skewness**2 / 36, 0.0) ** 3 - 1)


def _of_few(
    centre: FloatArray, variances: FloatArray, third: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of small counts: of how many there are, or, where most were seen, of how many were not."""
    first = np.zeros(len(centre))
    chances = np.empty((_ROWS, len(centre)))
    is_observed = variances < _MOSTLY_OBSERVED * centre
    if is_observed.any():
        first[is_observed], chances[:, is_observed] = _around(
            centre[is_observed], variances[is_observed], third[is_observed]
        )
    if not is_observed.all():
        chances[:, ~is_observed] = _from_zero(centre[~is_observed], variances[~is_observed])
    is_count = first + np.arange(_ROWS)[:, None] >= 0
    below = np.cumsum(chances * is_count, axis=0)
    below = below / below[-1]
    lower, upper = (_quantile(below, (1 + side * level) / 2) for side in (-1, 1))
    return first + lower, first + upper


def _from_zero(centre: FloatArray, variances: FloatArray) -> FloatArray:
    r"""Return the chances of 0, 1, 2 and so on: :math:`p_k = (a + b / k) p_{k-1}`, with these moments.

    It is binomial, Poisson or negative binomial, as the variance is less than the mean, the same, or more: events each
    of which may have been seen, or not, or whose rate is itself uncertain.

    Reference: Panjer1981.
    """
    means = np.maximum(centre, variances / _MOST_MIXED)
    rest = means / variances
    a, whole = 1 - rest, means * rest
    is_poisson = np.abs(a) < 1e-6  # where the power below loses its digits; half or twice of it moves no limit
    a = np.where(is_poisson, 1e-6, a)
    chances = np.empty((_ROWS, len(centre)))
    chances[0] = np.where(is_poisson, np.exp(-means), (1 - a) ** (whole / a))
    for k in range(1, _ROWS):
        chances[k] = chances[k - 1] * np.maximum(a + (whole - a) / k, 0.0)
    return chances


def _around(centre: FloatArray, variances: FloatArray, third: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return the least number, and the chances from there on, of b, more the events missed, less those that were none.

    Both are Poisson numbers: with means :math:`\lambda` and :math:`\mu` the count has mean :math:`b + \lambda - \mu`,
    variance :math:`\lambda + \mu` and third cumulant :math:`\lambda - \mu`. Where no whole number b is that near, it is
    itself one of the two around the mean.
    """
    least, most = np.ceil(centre - variances), np.floor(centre + variances)
    is_near = least <= most
    base = np.where(is_near, np.clip(np.rint(centre - third), least, most), np.floor(centre))
    rise = np.where(is_near, centre - base, 0.0)
    upper_one = np.where(is_near, 0.0, centre - base)
    total = np.maximum(variances - upper_one * (1 - upper_one), np.abs(rise))
    missed, none = (_poisson((total + sign * rise) / 2) for sign in (1, -1))
    chances = np.zeros((_ROWS, len(centre)))
    for row in range(_ROWS):
        for j in range(max(0, _BESIDE - row), min(_TERMS, _TERMS + _BESIDE - row)):
            chances[row] += missed[row - _BESIDE + j] * none[j]
    chances[1:] += upper_one * (chances[:-1] - chances[1:])
    return base - _BESIDE, chances


def _poisson(means: FloatArray) -> list[FloatArray]:
    """Return the chances of 0, 1, 2 and so on."""
    chances = [np.exp(-means)]
    for n in range(1, _TERMS):
        chances.append(chances[-1] * means / n)
    return chances


def _quantile(below: FloatArray, share: float) -> FloatArray:
    """Return the quantile of columns of cumulative chances, each row spread over the unit around it."""
    row = np.argmax(below >= share, axis=0)
    columns = np.arange(len(row))
    reached = below[row, columns]
    before = np.where(row > 0, below[row - 1, columns], 0.0)
    return np.asarray(row - 0.5 + (share - before) / (reached - before), np.float64)
