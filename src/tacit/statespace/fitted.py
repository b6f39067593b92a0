"""Fit the state-space model to a series: its hyperparameters, its long-run shares and its level shifts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.measured import Measured
from tacit.statespace.breaks import found_breaks
from tacit.statespace.calendar import Seasons
from tacit.statespace.fitting import fit
from tacit.statespace.long_run import long_run_shares
from tacit.statespace.model import OF_RATES, Setting, Variability

_LEAST_SHARE: Final = 0.1
_REVISIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was learned from a series: how much it varies, and where its shares are about."""

    setting: Setting
    variability: Variability


def fitted(known: Measured, calendar: Seasons, extra: FloatArray, variability: Variability | None) -> Fitted:
    """Find the variability of a series, and the shares that the variances of its counts hang on."""
    pooled = long_run_shares(known, extra)
    setting = Setting(
        measured=known,
        calendar=calendar,
        bursts=extra,
        base=pooled.shares,
        start=pooled.start,
        start_variances=pooled.start_variances,
        shares=np.broadcast_to(pooled.shares, known.counts.shape),
        shocks=np.zeros((1, 1)),
        skews=pooled.skews,
    )
    prior = Variability() if known.is_shared else OF_RATES
    chosen = fit(setting.open_ended(), prior, prior=prior) if variability is None else variability
    for _ in range(_REVISIONS):
        pooled = long_run_shares(known, extra, drift=calendar.mean_drift(chosen.drift))
        setting = replace(
            setting, base=pooled.shares, start=pooled.start, start_variances=pooled.start_variances, skews=pooled.skews
        )
        shares = setting.model(chosen).smooth(setting.observed)[0] + setting.start
        setting = replace(setting, shares=np.maximum(shares, _LEAST_SHARE * setting.base))
        setting = replace(setting, shocks=found_breaks(setting.open_ended(), chosen))
        if variability is None:
            chosen = fit(setting.open_ended(), chosen, prior=prior, first_step=0.5)
    return Fitted(setting, chosen)
