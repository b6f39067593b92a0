"""How far shares drift and how much days vary, where noise hides it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit.statespace.model import Setting, Variability

_SHIFTS: Final = np.linspace(-4.0, 2.4, 9)
_PRIOR_DEVIATIONS: Final = {"drift": 2.0, "overdispersion": 1.5}
_MOST_PLACES: Final = 24


def with_middles(setting: Setting, variability: Variability) -> Variability:
    """The same with the drift and the overdispersion in the middle of what the data leave possible, on a log scale.

    Smoothing takes the means of these variances, so that intervals of the past are wide enough. What is expected of the
    future suffers from it: of a drift that is not there, a filter makes noise.
    """
    open_ended, n_places = setting.open_ended(), len(setting.base)
    order = np.argsort(-setting.base, kind="stable")
    chosen = np.sort(order[np.linspace(0, n_places - 1, min(n_places, _MOST_PLACES)).astype(np.int64)])
    fixed, observed = open_ended.fixed(given_sum=True, places=chosen), open_ended.observed[:, chosen]
    found = variability
    for name, deviation in _PRIOR_DEVIATIONS.items():
        logs = np.log(getattr(variability, name)) + _SHIFTS
        tried = [replace(found, **{name: float(value)}) for value in np.exp(logs)]
        likelihoods = np.array([fixed.model(one).log_likelihoods(observed).sum() for one in tried])
        scores = likelihoods - 0.5 * np.square((logs - np.log(getattr(Variability(), name))) / deviation)
        weights = np.exp(scores - scores.max())
        found = replace(found, **{name: float(np.exp(logs @ weights / weights.sum()))})
    return found
