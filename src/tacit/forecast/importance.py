"""Which features a boosted model lives on: by what its splits gain, and by what is lost without them.

Gain is seen in training and favours features with many values. What is lost is measured on bins that the trees have not
seen: one feature at a time is shuffled among the cases, and the Poisson loss on private counts, unbiased whatever the
noise, tells by how much the forecast is worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_at_least
from tacit.counts.series import Series
from tacit.forecast.boosting import BoostingForecaster, corrected
from tacit.forecast.cases import Cases, collect_cases
from tacit.forecast.history import History, long_run_shares
from tacit.randomness import SeededRandomness
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """A feature's share of all gain, and the loss its shuffling adds to an unseen case, with its standard error."""

    feature: str
    gain: float
    loss: float
    loss_error: float


def feature_importance(
    forecaster: BoostingForecaster,
    series: Series,
    covariates: Covariates | None = None,
    *,
    n_unseen: int | None = None,
    n_shuffles: int = 3,
    seed: int = 0,
) -> tuple[FeatureImportance, ...]:
    """Learn without the last ``n_unseen`` bins (a year, or a quarter of a short series) and ask what they tell.

    The most important feature comes first. The forecaster itself stays as it is.
    """
    check_at_least(1, n_shuffles=n_shuffles)
    year = season_length(series.domain.time.step, "year")
    n_unseen = min(year, len(series) // 4) if n_unseen is None else n_unseen
    check_at_least(1, n_unseen=n_unseen)
    first = len(series) - n_unseen
    model = BoostingForecaster(**forecaster.get_params()).fit(series.until(first), covariates)
    # the noise is what the bins learned from let expect, as when forecasting
    history = History.of(series, long_run_shares(series.until(first)))
    cases = collect_cases(history, model.start, first=first)
    gains = model.gains()
    losses = _losses(model, cases, n_shuffles=n_shuffles, randomness=SeededRandomness(seed))
    found = [
        FeatureImportance(name, gains[name], float(loss.mean()), float(_error(loss)))
        for name, loss in zip(model.feature_names, losses, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.loss, -one.gain, one.feature)))


def _losses(
    model: BoostingForecaster, cases: Cases, *, n_shuffles: int, randomness: SeededRandomness
) -> list[FloatArray]:
    """For every feature the loss that shuffling it adds, origin by origin."""
    features = np.ascontiguousarray(cases.features[:, model.columns])
    plain = cases.losses(corrected(model.booster, features, cases.base, model.n_trees))
    found = []
    for column in range(features.shape[1]):
        added = np.zeros(len(cases))
        for _ in range(n_shuffles):
            shuffled = features.copy()
            shuffled[:, column] = features[np.argsort(randomness.words(len(cases)), kind="stable"), column]
            added += cases.losses(corrected(model.booster, shuffled, cases.base, model.n_trees)) - plain
        found.append(cases.by_origin(added / n_shuffles))
    return found


def _error(losses: FloatArray) -> float:
    return float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else float("inf")
