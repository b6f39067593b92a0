"""Storms: days on which a place has counts that no ordinary day explains."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.statespace.model import Setting
from tacit.statespace.state_space import StateSpace, rounded

_SURPRISE: Final = 4.5  # standard deviations: once in 150,000 days without storms


def with_storms(model: StateSpace, setting: Setting, shares: FloatArray, variances: FloatArray) -> StateSpace:
    """Let counts that no ordinary day explains stand for themselves: of such a day its share says nothing.

    What a count may deviate from its expectation is then as much as it did, so that the answer is about what its own
    reports say, with their noise, and the share is not moved by it. ``shares`` are means less the start, with their
    variances.
    """
    known, exposures = setting.measured, model.exposures[:, None]
    squares = np.square(known.counts - exposures * (shares + setting.start))
    spread = model.process_variance + model.noise_variance + np.square(exposures) * variances
    is_storm = squares > _SURPRISE**2 * spread
    if not is_storm.any():
        return model
    of_days = np.divide(known.counts, exposures, out=np.zeros(squares.shape), where=exposures > 0)
    errors = np.where(is_storm, known.errors(np.where(is_storm, of_days, setting.shares)), model.noise_variance)
    deviations = np.where(is_storm, squares, model.process_variance)
    return replace(model, process_variance=rounded(deviations), noise_variance=rounded(errors))
