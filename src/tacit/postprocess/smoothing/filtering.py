"""Filtering: each time bin with what was known by its end, nothing from the future."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.estimate import Estimate
from tacit.counts.observations import Observations, measured
from tacit.postprocess.smoothing.shown import SHOWN, SHOWN_WITHOUT_TOTAL, shown_alone
from tacit.statespace.calendar import Seasons, seasons
from tacit.statespace.filtered_noise import FilteredNoise
from tacit.statespace.fit import fitted, with_outliers
from tacit.statespace.model import Model, total_excess
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.smoothed_noise import SmoothedNoise
from tacit.statespace.state_space import StateSpace, rounded

FILTERED: Final = "filtering over time: every bin as it stood, nothing from the future"


def filtered(
    estimate: Estimate, *, hyperparameters: Hyperparameters | None = None, non_negative: bool = True
) -> Estimate:
    """Estimate each time bin from itself and what came before: what could have been published on its day.

    The model is that of ``smooth``. How much shares vary is found from the past alone, again whenever the series has
    grown by a fifth: no value changes when later bins are added or altered. Intervals are exact for questions about one
    bin; for sums over time they are safe, and wide: months and years are better asked of ``smooth``. As there, below an
    epsilon of about 1.7 a day's answer is essentially its share as it was known, and cannot show that day's anomaly.

    Reference: Harvey1990; Durbin2012.
    """
    known = measured(estimate)
    calendar, n_times = seasons(estimate.domain.time), len(known.exposures)
    excess = total_excess(known.exposures, from_past=True) if known.is_shared else np.zeros(n_times)
    parts: list[tuple[StateSpace, FloatArray, FloatArray, slice]] = []
    first = 0
    while first < n_times:
        stop = min(first + max(int(SETTINGS.refit_growth * first), SETTINGS.first_fit), n_times)
        model, chosen = _learned(known, calendar, excess, first, stop, hyperparameters)
        states = model.state_space(chosen)
        states = with_outliers(states, model, *states.filter(model.observed))
        shares, variances = states.filter(model.observed)
        parts.append((states, shares + model.start, variances, slice(first, stop)))
        first = stop
    shares, noise = _joined(known, parts)
    values = _counts(known, noise, shares)
    steps = (*estimate.steps, FILTERED)
    if non_negative:
        offsets = (shown_alone(values, known) - values).astype(np.float32).astype(np.float64)
        values = np.maximum(values + offsets, 0.0)
        noise = replace(noise, offsets=offsets if offsets.any() else None)
        steps = (*steps, SHOWN if known.is_shared else SHOWN_WITHOUT_TOTAL)
    return replace(estimate, values=values, noise=noise, steps=steps)


def _learned(
    known: Observations,
    calendar: Seasons,
    excess: FloatArray,
    first: int,
    stop: int,
    hyperparameters: Hyperparameters | None,
) -> tuple[Model, Hyperparameters]:
    """Return the model of all bins before ``stop``, of which only those before ``first`` were looked at."""
    shown, n_places = known.until(stop), known.counts.shape[1]
    if first > 0:
        found = fitted(known.until(first), calendar.until(first), excess[:first], hyperparameters)
        return found.model.extended(shown, calendar.until(stop), excess[:stop]), found.hyperparameters
    base = np.full(n_places, 1 / n_places)
    if not known.is_shared:
        base = np.full(n_places, max(float(np.abs(known.counts[0]).mean()), 1.0))
    model = Model(
        observations=shown,
        calendar=calendar.until(stop),
        excess=excess[:stop],
        base=base,
        start=base,
        start_variance=base * np.maximum(base, 1 - base),
        shares=np.broadcast_to(base, shown.counts.shape),
        shift_variance=np.zeros((1, 1)),
    )
    return model, hyperparameters or SETTINGS.shares_prior


def _joined(
    known: Observations, parts: list[tuple[StateSpace, FloatArray, FloatArray, slice]]
) -> tuple[FloatArray, FilteredNoise]:
    def join(arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate([array[part[3]] for array, part in zip(arrays, parts, strict=True)])

    models = [part[0] for part in parts]
    noise = FilteredNoise(
        exposures=known.exposures,
        gains=rounded(join([model.gains for model in models])),
        share_variance=rounded(join([part[2] for part in parts])),
        count_variance=rounded(join([model.count_variance for model in models])),
        count_skew=rounded(join([SmoothedNoise(model).cumulants[0] for model in models])),
        is_shared=known.is_shared,
    )
    return join([part[1] for part in parts]), noise


def _counts(known: Observations, noise: FilteredNoise, shares: FloatArray) -> FloatArray:
    exposures = known.exposures[:, None]
    days = noise.gains * (known.counts - exposures * shares)
    if known.is_shared:
        k, m = noise.weights
        shares = shares + k * (1 - shares.sum(axis=1, keepdims=True))
        days = days - m * days.sum(axis=1, keepdims=True)
    return np.asarray(exposures * shares + days, np.float64)
