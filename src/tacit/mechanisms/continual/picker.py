"""Which noise model to count by: the one of least predicted error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit.counts.continual_noise import LONGEST, ContinualNoise, Epochs, FusedTree, KaryTree, RefinedTree, SmoothTree
from tacit.counts.continual_noise.model import NodeNoise, check_horizon
from tacit.errors import SettingError
from tacit.mechanisms.continual.tuning import tune
from tacit.privacy.cost import Cost

FIRST_EPOCH: Final = 64  # bins of the first tree
USUAL: Final = 2048
"""For how many bins errors are compared where nobody knows the number."""

_MOST_TOTALS: Final = 2048  # that a mean is taken over
_MOST_ZEROS: Final = 8  # of labels that are tried
_WIDEST: Final = 64  # fan-out that is tried
_MOST_LEVELS: Final = 7  # that are tried
_LONGEST_LABEL: Final = 512  # digits of a label that is tried


@dataclass(frozen=True, slots=True)
class Candidate:
    """A noise model, and the squared error of its totals averaged over time: the mean, and the largest."""

    noise_model: ContinualNoise
    mean: float
    largest: float


def pick(cost: Cost, horizon: int | None = None, *, reacts: bool = True, most: int = 1) -> ContinualNoise:
    """The noise model of least mean squared error of the running total.

    ``horizon`` is the number of bins, if it is known. Only if the stream surely does not react to what is published
    (``reacts=False``) may noise be drawn ahead. ``most`` is the number of counts of one unit.

    >>> pick(Cost.pure(1.0), 2048).kind, pick(Cost.pure(1.0), 2048, reacts=False).kind
    ('smooth tree', 'fused tree, noise drawn ahead')
    >>> pick(Cost.pure(1.0)).kind, pick(Cost.zcdp(0.5)).kind
    ('epochs of refined trees', 'buffered root')
    """
    return compare(cost, horizon, reacts=reacts, most=most)[0].noise_model


def compare(cost: Cost, horizon: int | None = None, *, reacts: bool = True, most: int = 1) -> list[Candidate]:
    """The best noise model of each kind, least error first; the binary tree is always among those of a known horizon.

    Without a horizon errors are averaged over the first 2,048 totals.
    """
    NodeNoise.of(cost, levels=1, most=most)
    if horizon is None:
        found = _ranked(_endless_noise_models(cost, most), _totals(USUAL))
        if not found:
            raise SettingError(
                f"{cost} is too little for a counter without end, whose noise would not stay within 64-bit numbers. "
                "Spend more, or give the number of periods: horizon."
            )
        return found
    check_horizon(horizon)
    totals = _totals(horizon)
    found = _ranked(_noise_models(cost, horizon, most, reacts), totals)
    binary = KaryTree.binary(horizon, cost, most)
    best = {candidate.noise_model.kind: candidate for candidate in reversed(found)}
    chosen = {candidate.noise_model: candidate for candidate in (*best.values(), *_ranked(iter([binary]), totals))}
    return sorted(chosen.values(), key=lambda candidate: candidate.mean)


def _noise_models(cost: Cost, horizon: int, most: int, reacts: bool) -> Iterator[ContinualNoise]:
    """All that is tried."""
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
    """Fan-outs below the top: equal ones, of up to seven levels."""
    yield ()
    for n_levels in range(2, _MOST_LEVELS + 1):
        for fan_out in range(2, _WIDEST + 1):
            if fan_out ** (n_levels - 1) > horizon:
                break
            if fan_out ** (n_levels + 1) >= horizon:  # fewer would leave more than a square of nodes on top
                yield (fan_out,) * (n_levels - 1)


def _totals(horizon: int) -> IntArray:
    """All totals, or as many as tell the mean: one from each of equal parts, and the last."""
    if horizon <= _MOST_TOTALS:
        return np.arange(1, horizon + 1)
    # steps of the golden ratio do not fall in with the sizes of nodes
    parts = (np.arange(_MOST_TOTALS - 1) + np.arange(1, _MOST_TOTALS) * 0.6180339887498949 % 1) / (_MOST_TOTALS - 1)
    return np.append(1 + (parts * (horizon - 1)).astype(np.int64), horizon)


def _ranked(noise_models: Iterator[ContinualNoise], totals: IntArray) -> list[Candidate]:
    candidates = []
    for noise_model in noise_models:
        variances = noise_model.range_variances(np.zeros_like(totals), totals)
        candidates.append(Candidate(noise_model, float(variances.mean()), float(variances.max())))
    return sorted(candidates, key=lambda candidate: candidate.mean)


def _epochs(cost: Cost, most: int) -> Epochs:
    n_epochs = (LONGEST // FIRST_EPOCH).bit_length() - 1
    fan_outs = tuple(_epoch_shape(FIRST_EPOCH << epoch, bool(cost.rho)) for epoch in range(n_epochs))
    return Epochs(FIRST_EPOCH, cost, fan_outs, most)


@lru_cache(maxsize=256)
def _epoch_shape(n_bins: int, is_gaussian: bool) -> tuple[int, ...]:
    """The fan-outs, powers of two, with little error on the way and at the end, which all later totals carry on."""
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
