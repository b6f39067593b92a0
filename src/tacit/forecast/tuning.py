"""Boosted trees examined on bins they have not learned from: which settings do better, and which features matter.

Both are judged by the Poisson loss on private counts, which noise leaves unbiased. A search (Akiba2019) rolls through
the last part of the series: trees learn what was known before a span of bins and say what to expect in it. The
forecaster's own settings are the first trial, and stay unless others do better by more than chance: under much noise
there is little to choose by. Without a time limit the same seed gives the same settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.validation import check_at_least, check_positive
from tacit.counts.series import Series
from tacit.errors import DataError
from tacit.forecast.boosting import BoostingForecaster
from tacit.forecast.past import History
from tacit.forecast.tree_cases import Cases, Told, feature_groups, fewest_losses, ranks
from tacit.randomness import SeededRandomness
from tacit.statespace.covariates import Covariates, season_length

Progress = Callable[[int, float], None]

_FEWEST_BINS: Final = 120  # half of them are spans to judge by
_SURE: Final = 2.0  # standard errors, for many are tried
_USED: Final = "use: "
_RANGES: Final = {
    "max_depth": (2, 6),
    "learning_rate": (0.01, 0.3),
    "min_child_weight": (10.0, 3000.0),
    "reg_lambda": (1.0, 1000.0),
    "subsample": (0.4, 1.0),
    "colsample": (0.3, 1.0),
    "half_life": (1.0, 20.0),
}
"""Where a search looks: usual ranges of gradient boosting, on a log scale where they span more than a factor of ten."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried, and by how much they lowered the loss of new cases against no trees at all.

    ``advantage`` is by how much more than the first trial did, and ``error`` the standard error of that.
    """

    settings: Mapping[str, Any]
    gain: float
    advantage: float = 0.0
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """The forecaster with the settings chosen, not fitted yet, their trial, and all trials in order."""

    forecaster: BoostingForecaster
    chosen: Trial
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """A feature's share of all gain, and the loss its shuffling adds to a new case, with its standard error."""

    feature: str
    gain: float
    loss: float
    loss_error: float


def tune(
    series: Series,
    covariates: Covariates | None = None,
    *,
    forecaster: BoostingForecaster | None = None,
    n_trials: int = 40,
    seconds: float | None = 300.0,
    n_folds: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuned:
    """Return the best of ``n_trials``, or of as many as ``seconds`` allow; one trial is always made.

    The search also asks of each group of features (recent counts, totals, calendar, every covariate) whether to leave
    it out. ``progress`` is called after each trial with their number and the share of the work that is done.
    """
    check_at_least(1, n_trials=n_trials, n_folds=n_folds)
    check_at_least(0, seed=seed)
    check_positive(seconds=1.0 if seconds is None else seconds)
    begun = time.monotonic()
    own = BoostingForecaster() if forecaster is None else forecaster
    own.check()
    folds = _folds(series, covariates, own, n_folds)
    groups = feature_groups(series.domain, covariates)
    trials: list[Trial] = []
    first: list[FloatArray] = []

    def objective(trial: Any) -> float:
        tried = BoostingForecaster(**{**own.get_params(), **(settings := _suggested(trial, groups))})
        told = tried.columns(series.domain, covariates)
        parts = []  # by how much trees lower the loss of new cases, origin by origin
        for learned, new in folds:
            _, means = fewest_losses(tried.grow(learned, tried.n_estimators, *told), new, told[1])
            parts.append(new.by_origin(new.losses(new.base) - new.losses(means)))
        gains = np.concatenate(parts)
        first.append(gains)
        more = gains - first[0]
        trials.append(Trial(settings, float(gains.mean()), float(more.mean()), _error(more, 0.0)))
        if progress is not None:
            spent = 0.0 if seconds is None else (time.monotonic() - begun) / seconds
            progress(len(trials), min(max(len(trials) / n_trials, spent), 1.0))
        return trials[-1].gain

    optuna = require("optuna", extra="forecast")
    told = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(min(10, n_trials // 3), 1))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.enqueue_trial(_first(own, groups), skip_if_exists=True)
        # the time that cutting folds took is part of the limit
        left = None if seconds is None else max(seconds - (time.monotonic() - begun), 1e-3)
        study.optimize(objective, n_trials=n_trials, timeout=left)
    finally:
        optuna.logging.set_verbosity(told)
    best = max(trials, key=lambda trial: trial.gain)
    is_sure = best.advantage > _SURE * best.error
    settings = own.get_params() | (dict(best.settings) if is_sure else {})
    return Tuned(BoostingForecaster(**settings), best if is_sure else trials[0], tuple(trials))


def feature_importance(
    forecaster: BoostingForecaster,
    series: Series,
    covariates: Covariates | None = None,
    *,
    n_shuffles: int = 3,
    seed: int = 0,
) -> tuple[FeatureImportance, ...]:
    """Return how much worse forecasts of the last bins are with one feature shuffled, the most important first.

    Trees learn without those: a year, or a quarter of a short series. The forecaster itself stays as it is. Gain alone
    would mislead: it is that of training, and favours features with many values.
    """
    check_at_least(1, n_shuffles=n_shuffles)
    first = len(series) - min(season_length(series.domain.time.step, "year"), len(series) // 4)
    model = BoostingForecaster(**forecaster.get_params()).fit(series.until(first), covariates)
    cases = model.told(series, first, len(series)).cases(first)
    gains, plain, randomness = model.gains(), model.losses(cases), SeededRandomness(seed)
    found = []
    for column, (name, gain) in enumerate(gains.items()):
        added = np.zeros(len(cases))
        for _ in range(n_shuffles):
            order = np.argsort(randomness.words(len(cases)), kind="stable")
            added += model.losses(cases, shuffled=(column, order)) - plain
        loss = cases.by_origin(added / n_shuffles)
        found.append(FeatureImportance(name, gain, float(loss.mean()), _error(loss, float("inf"))))
    return tuple(sorted(found, key=lambda one: (-one.loss, -one.gain, one.feature)))


def _first(own: BoostingForecaster, groups: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the forecaster's own settings, as far as the search can have them."""
    chosen = None if own.features is None else set(own.features)
    uses = {_USED + name: chosen is None or bool(chosen & set(members)) for name, members in groups.items()}
    settings = own.get_params()
    return {name: min(max(settings[name], low), high) for name, (low, high) in _RANGES.items()} | uses


def _suggested(trial: Any, groups: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    settings = {
        name: trial.suggest_int(name, low, high)
        if isinstance(low, int)
        else trial.suggest_float(name, low, high, log=high / low > 10)
        for name, (low, high) in _RANGES.items()
    }
    used = [name for name in groups if trial.suggest_categorical(_USED + name, [True, False])]
    # trees that are told nothing are none: then all is told
    members = tuple(member for name in used for member in groups[name])
    return {**settings, "features": None if len(used) in (0, len(groups)) else members}


def _folds(
    series: Series, covariates: Covariates | None, own: BoostingForecaster, n_folds: int
) -> list[tuple[Cases, Cases]]:
    """Return, for spans of the last part of the series, cases of what was known before each, and those of the span."""
    n_times = len(series)
    if n_times < _FEWEST_BINS:
        raise DataError(
            f"a search needs a series of at least {_FEWEST_BINS} bins; got {n_times}. Use the settings as they are."
        )
    year = season_length(series.domain.time.step, "year")
    width = max(min(year, n_times // 2) // n_folds, 1)
    found = []
    for number in range(n_folds):
        cut = n_times - (n_folds - number) * width
        before, begin = series.until(cut), min(year, cut // 4)
        base, history = own.fitted_base(before, covariates), History.of(before)
        later = History.of(series.until(cut + width), before.shares)
        known = base, covariates, ranks(history)
        new = Told.of(later, *known, cut, cut + width).cases(cut)
        found.append((Told.of(history, *known, begin, cut).cases(begin), new))
    return found


def _error(values: FloatArray, alone: float) -> float:
    """Return the standard error of a mean; of a single value, what is given for one ``alone``."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else alone
