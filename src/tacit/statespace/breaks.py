r"""Breaks: places that open, close, or have another level from one day to the next.

A level that drifts follows a break slowly, and a drift wide enough for it would let noise in at all other times. So
breaks are looked for one after another: a shift of the level at time t, of a size with prior variance w, changes the
likelihood by a factor

.. math:: B_t(w) = (1 + w I_t)^{-1/2} \exp \frac{w S_t^2}{2 (1 + w I_t)},

with the score S and the information I of such a shift. Where the factors of all times, each with its prior chance, add
up to more than 1, a break is more likely than none. Its time stays as uncertain as it is: the level may move, at every
time, by as much variance as the break is likely to have been then.

Reference: DeJong1998.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.statespace.calendar import DAYS_A_YEAR
from tacit.statespace.model import Setting, Variability

_A_YEAR: Final = 0.05  # how many breaks are expected of a place
_SIZES: Final = (0.1, 1.0, 10.0)  # variances of shifts, in squares of the share
_MOST: Final = 8
_LEAST_PART: Final = 1e-4


def found_breaks(setting: Setting, variability: Variability) -> FloatArray:
    """How much variance each step of a level has beyond its drift: 0 (1 x 1) where no place shows a break."""
    n_times, n_places = setting.measured.counts.shape
    shocks, observed = np.zeros((n_times, n_places)), setting.observed
    places = np.arange(n_places)
    prior = np.log(_A_YEAR * setting.calendar.step_days / DAYS_A_YEAR / len(_SIZES))
    for _ in range(_MOST):
        model = replace(setting, shocks=shocks).fixed(given_sum=True, places=places).model(variability)
        scores, informations = model.level_scores(observed[:, places])
        variances = np.square(setting.base[places]) * np.array(_SIZES)[:, None, None]
        wider = 1 + variances * informations
        means = variances * scores / wider
        logs = prior + 0.5 * (means * scores - np.log(wider))
        logs[:, 0] = -np.inf  # of the first level nothing is known before
        most = np.maximum(logs.max(axis=(0, 1)), 0.0)
        chances = np.exp(logs - most)
        odds = chances.sum(axis=(0, 1))
        is_found = odds > np.exp(-most)
        if not is_found.any():
            break
        chances /= np.maximum(odds, 1e-300)
        sizes = (chances * (np.square(means) + variances / wider)).sum(axis=0)
        sizes[chances.sum(axis=0) < _LEAST_PART] = 0.0
        places = places[is_found]
        shocks[:, places] += sizes[:, is_found]
    return shocks if shocks.any() else np.zeros((1, 1))
