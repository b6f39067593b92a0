r"""The exponentials of a buffered root, tuned for the number of bins at hand.

Sums of d exponentials come close to the coefficients of the square root, :math:`c_k \sim 1/\sqrt{\pi k}`: decays spread
evenly in their logarithm, weights in proportion to the square root of the decay. From there the error itself is made
small, by a quasi-Newton search in the logarithms of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.continual_noise import BufferedRoot, Exponentials
from tacit.counts.continual_noise.buffered import DIGITS
from tacit.counts.continual_noise.model import check_horizon
from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.randomness.gaussian import LARGEST_VARIANCE

ENDLESS: Final = 1 << 30
"""The horizon of a buffered root without end: more bins than hours in a hundred thousand years."""

_ROUNDS: Final = 80  # of the search, which ends earlier where a round gains less than 1e-5
_STEP: Final = 1e-5  # of a derivative, in logarithms: the root of a float is 1e-8, its cube root 6e-6
_MOST_GRID_BITS: Final = 20  # the finest grid that a buffered root takes
_GUARD_BITS: Final = 20  # the most that a buffered root takes: rounding then costs least
_BITS_A_BUFFER: Final = 2.75  # a buffer for each factor of 6.7 in the number of bins
_LONGEST_LISTED: Final = 256  # bins; of more, 24 Gauss-Legendre nodes stand for all totals

# tuned once in the same way, for the mean of the logarithm of the error over totals from 1 to ENDLESS, spaced evenly in
# their logarithm
_ENDLESS_DECAYS: Final = (
    (57751, 44),
    (33268, 40),
    (62177, 38),
    (55117, 35),
    (47078, 32),
    (39017, 29),
    (63002, 27),
    (49634, 24),
    (38006, 21),
    (54868, 19),
    (63337, 17),
)
_ENDLESS_WEIGHTS: Final = (
    (52123, 31),
    (62763, 30),
    (45569, 28),
    (64651, 27),
    (44791, 25),
    (60914, 24),
    (40793, 22),
    (53858, 21),
    (34742, 19),
    (40831, 18),
    (55748, 18),
)


def tune(horizon: int | None, cost: Cost, most: int = 1) -> BufferedRoot:
    """The buffered root of least mean squared error over the totals 1 .. ``horizon``.

    Without a horizon the error is kept close to the least possible at every total, in proportion, up to 2**30 bins.

    >>> root = tune(2048, Cost.zcdp(0.5))
    >>> len(root.decays), bool(root.range_variances(np.zeros(2048, int), np.arange(1, 2049)).mean() < 11.2)
    (4, True)
    """
    if horizon is not None:
        check_horizon(horizon)
    decays, weights = (_ENDLESS_DECAYS, _ENDLESS_WEIGHTS) if horizon is None else _tuned(horizon)
    noise_model = BufferedRoot(
        ENDLESS if horizon is None else horizon, cost, decays, weights, guard_bits=_GUARD_BITS, most=most
    )
    return fitted(noise_model)


def fitted(noise_model: BufferedRoot) -> BufferedRoot:
    """The same noise model on the finest grid on which its noise can be drawn."""
    for bits in range(_MOST_GRID_BITS, -1, -1):
        noise_model = replace(noise_model, grid_bits=bits)
        if noise_model.squared_sensitivity / (2 * Fraction(noise_model.cost.rho)) <= LARGEST_VARIANCE:
            return noise_model
    raise SettingError(
        f"the noise of a total must stay within 64-bit numbers; got {noise_model.cost} and most={noise_model.most}. "
        "Spend more, or count fewer of a unit."
    )


@lru_cache(maxsize=256)
def _tuned(horizon: int) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Decays and weights for a horizon, as short fractions."""
    totals, shares = np.arange(1.0, horizon + 1), np.full(horizon, 1 / horizon)
    if horizon > _LONGEST_LISTED:
        nodes, shares = np.polynomial.legendre.leggauss(24)
        totals, shares = np.rint(horizon * ((nodes + 1) / 2) ** 2), shares * (nodes + 1) / 2

    def loss(point: FloatArray) -> float:
        exponentials = _at(point)
        if not exponentials.is_stable:
            return math.inf
        mean = float(exponentials.decoder_squares(totals) @ shares)
        return math.log1p(exponentials.encoder_sums(horizon)[1]) + math.log(mean)

    n_buffers = max(1, math.ceil(math.log2(horizon) / _BITS_A_BUFFER))
    best = _at(_minimize(loss, _start(horizon, n_buffers)))
    return tuple(map(_shifted, best.decays.tolist())), tuple(map(_shifted, best.weights.tolist()))


def _start(n_bins: int, n_buffers: int) -> FloatArray:
    """Where tuned exponentials of some horizons were found to lie: even, but for the slowest and the fastest."""
    slowest = max(math.log(n_bins) - 1.04, 0.7)
    logs = np.append(np.linspace(0.7, max(slowest - 2.35, 0.75), n_buffers - 1), slowest)[::-1]
    gap = (logs[1] - logs[-1]) / (n_buffers - 2) if n_buffers > 2 else 1.7
    ratios = np.full(n_buffers, gap / math.pi)
    ratios[0], ratios[-1] = (1.27, 0.3) if n_buffers > 1 else (0.8, 0.8)
    return np.concatenate([-logs, np.log(ratios) - logs / 2])


def _at(point: FloatArray) -> Exponentials:
    decays, weights = np.exp(np.minimum(point.reshape(2, -1), -1e-3))
    order = np.argsort(decays)
    return Exponentials(decays[order], weights[order])


def _minimize(loss: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Broyden, Fletcher, Goldfarb and Shanno's search, with differences for derivatives."""

    def slope(point: FloatArray) -> FloatArray:
        steps = np.eye(len(point)) * _STEP
        return np.array([(loss(point + step) - loss(point - step)) / (2 * _STEP) for step in steps])

    point, value, gradient = start, loss(start), slope(start)
    inverse = np.eye(len(start))
    for _ in range(_ROUNDS):
        direction = -inverse @ gradient
        if gradient @ direction >= 0:
            inverse, direction = np.eye(len(start)), -gradient
        length = min(1.0, 2.0 / float(np.abs(direction).max()))
        while not loss(point + length * direction) < value and length > 1e-10:
            length /= 2
        if length <= 1e-10:
            break
        step = length * direction
        new_value, new_gradient = loss(point + step), slope(point + step)
        change = new_gradient - gradient
        curvature = float(step @ change)
        if curvature > 1e-14:
            keep = np.eye(len(start)) - np.outer(step, change) / curvature
            inverse = keep @ inverse @ keep.T + np.outer(step, step) / curvature
        gain, point, value, gradient = value - new_value, point + step, new_value, new_gradient
        if gain < 1e-5:
            break
    return point


def _shifted(value: float) -> tuple[int, int]:
    """A number below 1 as (n, q): n / 2**q with 16 digits."""
    mantissa, exponent = math.frexp(value)
    n = min(round(math.ldexp(mantissa, DIGITS)), (1 << DIGITS) - 1)
    return n, DIGITS - exponent
