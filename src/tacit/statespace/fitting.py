"""How much shares vary, found from the private data themselves by likelihood; where that is flat, a prior decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.statespace.model import Setting, Variability

_PRIOR_DEVIATIONS: Final = Variability(
    drift=2.0, wander=1.0, memory=0.7, weekday=1.0, season=1.0, overdispersion=1.5, burst=1.0, chance=0.08
)
_MOST_PLACES: Final = 24
_FIRST_STEP: Final = 1.2
_LAST_STEP: Final = 0.25
_MOST_SWEEPS: Final = 12
_SMALLEST: Final = -9.0
_LARGEST: Final = 7.0
_AVERAGED: Final = ((0, 2), (5, 1))  # the drift, squared, and the overdispersion: variances both
_SHIFTS: Final = (-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4)


def fit(setting: Setting, start: Variability, *, prior: Variability, first_step: float = _FIRST_STEP) -> Variability:
    """The variability of greatest penalized likelihood, searched one parameter after another.

    Places are independent given their totals, so a few dozen of them, from the largest to the smallest, tell as much
    as is needed about habits that all share.
    """
    n_places = len(setting.base)
    chosen = np.arange(n_places)
    if n_places > _MOST_PLACES:
        order = np.argsort(-setting.base)
        chosen = np.sort(order[np.linspace(0, n_places - 1, _MOST_PLACES).astype(np.int64)])
    observed, centre = setting.observed[:, chosen], prior.logs()
    fixed = setting.fixed(given_sum=True, places=chosen)
    deviations = np.array(astuple(_PRIOR_DEVIATIONS))

    def loss(logs: FloatArray) -> float:
        likelihood = float(fixed.model(Variability.from_logs(logs)).log_likelihoods(observed).sum())
        scores = np.square((logs - centre) / deviations)
        # most events know nothing of one another; those by timetable are far from that: a prior with heavy tails. Rates
        # have none: how much they vary differs from place to place, which could be taken for such events
        of_chance = np.log1p(scores[-1]) if setting.measured.is_shared else 0.5 * scores[-1]
        return 0.5 * float(scores[:-1].sum()) + float(of_chance) - likelihood

    return _with_means(loss, _descend(loss, start.logs(), first_step))


def _with_means(loss: Callable[[FloatArray], float], best: FloatArray) -> Variability:
    """Take the means of two variances over what the data leave possible, in place of the most likely ones.

    Much noise hides shifts of levels and how much days vary: that none is seen must not mean that there are none.
    """
    found = best.copy()
    for axis, power in _AVERAGED:
        logs = best[axis] + np.array(_SHIFTS)
        tried = np.repeat(found[None], len(logs), axis=0)
        tried[:, axis] = logs
        losses = np.array([loss(one) for one in tried])
        weights = np.exp(losses.min() - losses)
        found[axis] = np.log(weights @ np.exp(power * logs) / weights.sum()) / power
    return Variability.from_logs(found)


def _descend(loss: Callable[[FloatArray], float], start: FloatArray, first_step: float) -> FloatArray:
    """Minimize along one axis after another by parabolas through three points; steps shrink as they cease to help."""
    here, lowest = start.copy(), loss(start)
    steps = np.full(len(start), first_step)
    for _ in range(_MOST_SWEEPS):
        for axis in range(len(start)):
            if steps[axis] < _LAST_STEP:
                continue
            here, lowest, steps[axis] = _along(loss, here, lowest, axis, float(steps[axis]))
        if (steps < _LAST_STEP).all():
            break
    return here


def _along(
    loss: Callable[[FloatArray], float], here: FloatArray, lowest: float, axis: int, step: float
) -> tuple[FloatArray, float, float]:
    def at(shift: float) -> tuple[FloatArray, float]:
        there = here.copy()
        there[axis] = min(max(there[axis] + shift, _SMALLEST), _LARGEST)
        return there, loss(there)

    up, down = at(step), at(-step)
    bend = up[1] + down[1] - 2 * lowest
    candidates = [(here, lowest), up, down]
    if bend > 0:
        shift = 0.5 * step * (down[1] - up[1]) / bend
        if abs(shift) < 1.5 * step:
            candidates.append(at(shift))
    best = min(candidates, key=lambda pair: pair[1])
    moved = abs(float(best[0][axis] - here[axis]))
    return best[0], best[1], step if moved >= step else max(0.4 * step, min(step, moved))
