"""Smoothing over time as a step from estimate to estimate."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.estimate import Estimate
from tacit.counts.observations import Observations
from tacit.postprocess.smoothing.shown import SHOWN_ADDING_UP, SHOWN_IN_PERIODS, shown_in_periods
from tacit.postprocess.smoothing.trees import measured_with_sums, smoothed_tree
from tacit.statespace.calendar import seasons
from tacit.statespace.fit import fitted, with_outliers
from tacit.statespace.model import total_excess
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.smoothed_noise import SmoothedNoise
from tacit.statespace.state_space import StateSpace, rounded

SMOOTHED: Final = "smoothing over time: every bin revised with the whole series"


def smooth(
    estimate: Estimate,
    *,
    hyperparameters: Hyperparameters | None = None,
    non_negative: bool = True,
    missing: NDArray[np.bool_] | None = None,
) -> Estimate:
    r"""Let time bins borrow strength from their neighbours, from weekdays, seasons and years; the past is revised.

    Each place's share of the public totals (or its rate, where there are none) is a random-walk level, an AR(1)
    component around it, weekday and yearly terms; days vary around it by chance, by overdispersion, and more
    where the public total is out of the ordinary. How much is estimated from the private data themselves unless
    ``hyperparameters`` say it. The realized count is the share's expectation and a part of what the day itself says,

    .. math:: \hat c = N s + \frac{\sigma^2}{\sigma^2 + v} (y - N s),

    and places add up to the public total. Below an epsilon of about 1.7 that part is so small that a day's answer is
    essentially the smoothed share: it cannot show that day's anomaly, and its interval says so.

    The noise is the model's posterior distribution, for days, months, years and any other sum. With ``non_negative``
    what is shown is moved to where counts can be, longer periods first; intervals stay those of the values before.
    Where a curator counted sums over time too, in a tree, they are as well known as their own noise lets them be. Of
    times that are ``missing``, a curator's counts are 0.

    Reference: Harvey1990; Durbin2012.
    """
    known = measured_with_sums(estimate, missing)
    excess = total_excess(known.exposures) if known.is_shared else np.zeros(len(known.exposures))
    found = fitted(known, seasons(estimate.domain.time), excess, hyperparameters)
    model = found.model.state_space(found.hyperparameters)
    model = replace(
        model, process_variance=rounded(model.process_variance), noise_variance=rounded(model.noise_variance)
    )
    if model.tree is not None:
        return smoothed_tree(
            replace(estimate, steps=(*estimate.steps, SMOOTHED)),
            model,
            found.model,
            inflation=SETTINGS.inflation,
            non_negative=non_negative,
        )
    means, variances = model.smooth(found.model.observed)[0], model.smoothed_variances()
    model = with_outliers(model, found.model, means, variances)
    shares = model.smooth(found.model.observed)[0] + found.model.start
    noise = SmoothedNoise(model, *_weights(known, model), inflation=SETTINGS.inflation, share_skews=found.model.skews)
    values = _counts(known, noise, shares)
    steps = (*estimate.steps, SMOOTHED)
    if non_negative:
        shown = shown_in_periods(values, known, estimate.domain.time) if values.min() < 0 else values
        offsets = (shown - values).astype(np.float32).astype(np.float64)
        values, noise = values + offsets, replace(noise, offsets=offsets if offsets.any() else None)
        values = np.maximum(values, 0.0)
        steps = (*steps, SHOWN_IN_PERIODS if known.is_shared else SHOWN_ADDING_UP)
    return replace(estimate, values=values, noise=noise, steps=steps)


def _weights(known: Observations, model: StateSpace) -> tuple[FloatArray | None, FloatArray | None]:
    """Return how what is missing of a total is disaggregated: by posterior variances over all time together.

    Missing shares go to shares, but a place whose counts speak for themselves (gain 1) needs none of them: residuals of
    its counts would take them back.
    """
    if not known.is_shared:
        return None, None
    exposures = np.broadcast_to(known.exposures[:, None], model.shape)
    all_times = np.zeros(len(exposures), np.int64)
    of_shares = model.covariances(exposures[None], all_times, 1)[:, 0, 0, 0]
    of_counts = model.count_variance.sum(axis=0)
    if not of_counts.sum() > 0:
        of_counts = np.ones_like(of_counts)
    if not of_shares.sum() > 0:
        of_shares = np.ones_like(of_shares)
    of_shares, of_counts = of_shares / of_shares.sum(), of_counts / of_counts.sum()
    total = max(float(known.exposures.sum()), 1.0)
    gains = known.exposures @ model.gains / total
    return of_shares * (1 - gains) + of_counts * (of_shares @ gains), of_counts


def _counts(known: Observations, noise: SmoothedNoise, shares: FloatArray) -> FloatArray:
    """The posterior means of the realized counts."""
    exposures = known.exposures[:, None]
    days = noise.model.gains * (known.counts - exposures * shares)
    if noise.share_weights is not None and noise.count_weights is not None:
        shares = shares + noise.share_weights * (1 - shares.sum(axis=1, keepdims=True))
        days = days - noise.count_weights * days.sum(axis=1, keepdims=True)
    return np.asarray(exposures * shares + days, np.float64)
