"""The choice of a running counter's noise model: the one of least predicted error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.continual_noise import (
    LONGEST,
    BufferedRoot,
    ContinualNoise,
    Epochs,
    Exponentials,
    FusedTree,
    KaryTree,
    RefinedTree,
    SmoothTree,
)
from tacit.counts.continual_noise.buffered import DIGITS
from tacit.counts.continual_noise.model import check_horizon, node_distribution
from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.randomness.gaussian import LARGEST_VARIANCE

# bins of the first tree: with 128 the first 64 totals err by 30 % more and 2,048 by 2 % less; with 32 the first 64 err
# the same and 2,048 by 1 % more
FIRST_EPOCH: Final = 64
USUAL: Final = 2048
"""For how many bins errors are compared where nobody knows the number."""

_MOST_TOTALS: Final = 2048  # that a mean is taken over: half or twice as many change it by 0.3 % at most
# What is tried, a choice: with half or twice of any of these the errors for 64, 365 and 2,048 bins stay the same,
# Laplace or Gaussian, and the search takes 0.9 to 1.2 times as long.
_MOST_ZEROS: Final = 8  # of labels
_WIDEST: Final = 64  # fan-out
_MOST_LEVELS: Final = 7
_LONGEST_LABEL: Final = 512  # digits of a label


@dataclass(frozen=True, slots=True)
class Candidate:
    """A noise model, and the squared error of its totals averaged over time: the mean, and the largest."""

    noise_model: ContinualNoise
    mean: float
    largest: float


def pick(
    cost: Cost, horizon: int | None = None, *, reacts: bool = True, most: int = 1, most_per_cell: int = 0
) -> ContinualNoise:
    """Return the noise model of least mean squared error of the running total.

    ``horizon`` is the number of bins, if it is known. Only if the stream surely does not react to what is published
    (``reacts=False``) may noise be drawn ahead. ``most`` is the number of counts of one unit, ``most_per_cell`` of
    those in one bin of one column (0 stands for ``most``): Gaussian noise follows both.

    >>> pick(Cost.pure(1.0), 2048).kind, pick(Cost.pure(1.0), 2048, reacts=False).kind
    ('smooth tree', 'fused tree, noise drawn ahead')
    >>> pick(Cost.pure(1.0)).kind, pick(Cost.zcdp(0.5)).kind
    ('epochs of refined trees', 'buffered root')
    """
    return compare(cost, horizon, reacts=reacts, most=most, most_per_cell=most_per_cell)[0].noise_model


def compare(
    cost: Cost, horizon: int | None = None, *, reacts: bool = True, most: int = 1, most_per_cell: int = 0
) -> list[Candidate]:
    """Return the best noise model of each kind, least error first; with a known horizon also the binary tree.

    Without a horizon errors are averaged over the first 2,048 totals.
    """
    node_distribution(cost, sizes=(1,), most=most)
    per_cell = most_per_cell if cost.rho and most_per_cell < most else 0
    if horizon is None:
        found = _ranked(_endless_noise_models(cost, most), _totals(USUAL), per_cell)
        if not found:
            raise SettingError(
                f"{cost} is too little for a counter without end, whose noise would not stay within 64-bit numbers. "
                "Spend more, or give the number of periods: horizon."
            )
        return found
    check_horizon(horizon)
    totals = _totals(horizon)
    found = _ranked(_noise_models(cost, horizon, most, reacts), totals, per_cell)
    binary = KaryTree.binary(horizon, cost, most)
    best = {candidate.noise_model.kind: candidate for candidate in reversed(found)}
    also = _ranked(iter([binary]), totals, per_cell)
    chosen = {candidate.noise_model: candidate for candidate in (*best.values(), *also)}
    return sorted(chosen.values(), key=lambda candidate: candidate.mean)


def _noise_models(cost: Cost, horizon: int, most: int, reacts: bool) -> Iterator[ContinualNoise]:
    """Yield all that is tried."""
    for zeros in range(1, _MOST_ZEROS + 1):
        ones = SmoothTree.fewest_ones(horizon, zeros)
        if zeros + ones <= _LONGEST_LABEL:
            yield SmoothTree(horizon, cost, most, zeros=zeros, ones=ones)
    for fan_outs in _shapes(horizon):
        yield KaryTree(horizon, cost, most, fan_outs)
        for kind in (RefinedTree,) if reacts else (RefinedTree, FusedTree):
            with suppress(SettingError):  # more noise or levels than whole numbers hold
                yield kind(horizon, cost, fan_outs, most)
    if cost.rho:
        with suppress(SettingError):
            yield tune(horizon, cost, most)


def _endless_noise_models(cost: Cost, most: int) -> Iterator[ContinualNoise]:
    with suppress(SettingError):  # more noise than whole numbers hold
        yield _epochs(cost, most)
    if cost.rho:
        with suppress(SettingError):
            yield tune(None, cost, most)


def _shapes(horizon: int) -> Iterator[tuple[int, ...]]:
    """Yield fan-outs below the top: equal ones, of up to seven levels."""
    yield ()
    for n_levels in range(2, _MOST_LEVELS + 1):
        for fan_out in range(2, _WIDEST + 1):
            if fan_out ** (n_levels - 1) > horizon:
                break
            if fan_out ** (n_levels + 1) >= horizon:  # fewer would leave more than a square of nodes on top
                yield (fan_out,) * (n_levels - 1)


def _totals(horizon: int) -> IntArray:
    """Return all totals, or as many as tell the mean: one from each of equal parts, and the last."""
    if horizon <= _MOST_TOTALS:
        return np.arange(1, horizon + 1)
    # steps of the golden ratio do not fall in with the sizes of nodes
    parts = (np.arange(_MOST_TOTALS - 1) + np.arange(1, _MOST_TOTALS) * 0.6180339887498949 % 1) / (_MOST_TOTALS - 1)
    return np.append(1 + (parts * (horizon - 1)).astype(np.int64), horizon)


def _ranked(noise_models: Iterator[Any], totals: IntArray, most_per_cell: int) -> list[Candidate]:
    candidates = []
    for noise_model in noise_models:
        noise_model = replace(noise_model, most_per_cell=most_per_cell) if most_per_cell else noise_model
        variances = noise_model.range_variances(np.zeros_like(totals), totals)
        candidates.append(Candidate(noise_model, float(variances.mean()), float(variances.max())))
    return sorted(candidates, key=lambda candidate: candidate.mean)


def _epochs(cost: Cost, most: int) -> Epochs:
    n_epochs = (LONGEST // FIRST_EPOCH).bit_length() - 1
    fan_outs = tuple(_epoch_shape(FIRST_EPOCH << epoch, bool(cost.rho)) for epoch in range(n_epochs))
    return Epochs(FIRST_EPOCH, cost, fan_outs, most)


@lru_cache(maxsize=256)
def _epoch_shape(n_bins: int, is_gaussian: bool) -> tuple[int, ...]:
    """Return the fan-outs, powers of two, of little error on the way and at the end, which later totals carry on."""
    best: tuple[int, ...] = ()
    least = math.inf
    for bits in range(1, 7):
        for n_inner in range(n_bins.bit_length() // bits + 1):
            sizes = [1 << bits * level for level in range(n_inner + 1)]
            if sizes[-1] > n_bins:
                continue
            errors = [size / sum(sizes[: level + 1]) for level, size in enumerate(sizes)]
            n_top = n_bins // sizes[-1]
            inside = ((1 << bits) - 1) / 2 * sum(errors[:-1])
            error = (inside + (n_top / 2 + 2 * n_top) * errors[-1]) * len(sizes) ** (1 if is_gaussian else 2)
            if error < least:
                best, least = (1 << bits,) * n_inner, error
    return best


ENDLESS: Final = 1 << 30
"""The horizon of a buffered root without end: more bins than hours in a hundred thousand years."""

_ROUNDS: Final = 80  # of the search, which ends earlier where a round gains less than 1e-5; 40 find the same
_STEP: Final = 1e-5  # of a derivative, in logarithms: the root of a float is 1e-8, its cube root 6e-6
_MOST_GRID_BITS: Final = 20  # the finest grid that a buffered root takes; with 10, 2,048 totals err by 1.2 % more
_GUARD_BITS: Final = 20  # the most that a buffered root takes: rounding then costs least, with 10 a millionth more
# a buffer for each factor of 6.7 in the number of bins; half as many buffers err by 1.5 % more over 2,048 bins, twice
# as many by nothing less in twice the time
_BITS_A_BUFFER: Final = 2.75
# bins; of more, 24 Gauss-Legendre nodes stand for all totals, which changes the error by a millionth
_LONGEST_LISTED: Final = 256

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
    r"""Return the buffered root of least mean squared error over the totals 1 .. ``horizon``.

    Sums of d exponentials come close to the coefficients of the square root, :math:`c_k \sim 1/\sqrt{\pi k}`: decays
    spread evenly in their logarithm, weights in proportion to the square root of the decay. From there the error itself
    is made small, by a quasi-Newton search in the logarithms of both.

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
    """Return the same noise model on the finest grid on which its noise can be drawn."""
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
    """Return decays and weights for a horizon, as short fractions."""
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
    """Return where tuned exponentials were found to lie for some horizons: even, but for the slowest and the fastest.

    The numbers are fitted to those, and only begin the search: from logarithms a tenth larger it ends within 0.02 %.
    """
    slowest = max(math.log(n_bins) - 1.04, 0.7)
    logs = np.append(np.linspace(0.7, max(slowest - 2.35, 0.75), n_buffers - 1), slowest)[::-1]
    gap = (logs[1] - logs[-1]) / (n_buffers - 2) if n_buffers > 2 else 1.7
    ratios = np.full(n_buffers, gap / math.pi)
    ratios[0], ratios[-1] = (1.27, 0.3) if n_buffers > 1 else (0.8, 0.8)
    return np.concatenate([-logs, np.log(ratios) - logs / 2])


def _at(point: FloatArray) -> Exponentials:
    decays, weights = np.exp(np.minimum(point.reshape(2, -1), -1e-3))  # below 1, as short fractions must be
    order = np.argsort(decays)
    return Exponentials(decays[order], weights[order])


def _minimize(loss: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Minimize by Broyden, Fletcher, Goldfarb and Shanno's search, with differences for derivatives."""

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
        if length <= 1e-10:  # no step helps: all that is left is rounding
            break
        step = length * direction
        new_value, new_gradient = loss(point + step), slope(point + step)
        change = new_gradient - gradient
        curvature = float(step @ change)
        if curvature > 1e-14:  # less is rounding, and would turn the direction
            keep = np.eye(len(start)) - np.outer(step, change) / curvature
            inverse = keep @ inverse @ keep.T + np.outer(step, step) / curvature
        gain, point, value, gradient = value - new_value, point + step, new_value, new_gradient
        if gain < 1e-5:  # of the logarithm of the error
            break
    return point


def _shifted(value: float) -> tuple[int, int]:
    """Return a number below 1 as (n, q): n / 2**q with 16 digits."""
    mantissa, exponent = math.frexp(value)
    n = min(round(math.ldexp(mantissa, DIGITS)), (1 << DIGITS) - 1)
    return n, DIGITS - exponent
