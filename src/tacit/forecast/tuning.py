"""Settings and features of boosted trees by search, within a time limit and without a look ahead.

Each trial is judged by rolling origins: trees learn what was known before a span of bins and say what to expect in it,
and what is counted there, private as it is, judges them by the Poisson loss, which noise leaves unbiased. Several spans
follow one another up to the end of the series. The forecaster's own settings are the first trial, and stay unless
others do better by more than chance: under much noise there is little to choose by. Without a time limit the same seed
gives the same settings.

Reference: Akiba2019.
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
from tacit.forecast.boosting import BoostingForecaster, fewest_losses
from tacit.forecast.cases import Cases, Start, collect_cases
from tacit.forecast.features import feature_groups, feature_names
from tacit.forecast.history import History, long_run_shares
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates

Progress = Callable[[int, float], None]

_FEWEST_BINS: Final = 120
_SURE: Final = 2.0  # standard errors, for many are tried
_USED: Final = "use: "


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried, and by how much they lowered the loss of unseen cases against no trees at all.

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


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    seen: Cases
    unseen: Cases


def tune(
    series: Series,
    covariates: Covariates | None = None,
    *,
    forecaster: BoostingForecaster | None = None,
    n_trials: int = 40,
    seconds: float | None = 300.0,
    n_folds: int = 3,
    select_features: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuned:
    """Search for ``n_trials`` or as long as ``seconds`` last, whichever is less; one trial is always made.

    ``select_features`` also asks of each group of features (recent counts, totals, calendar, every covariate) whether
    to leave it out. ``progress`` is called after each trial with their number and the share of the work that is done.
    """
    check_at_least(1, n_trials=n_trials, n_folds=n_folds)
    check_at_least(0, seed=seed)
    if seconds is not None:
        check_positive(seconds=seconds)
    begun = time.monotonic()
    own = BoostingForecaster() if forecaster is None else forecaster
    own.check()
    folds = _folds(series, covariates, own, n_folds)
    groups = feature_groups(History.of(series), covariates)
    names = feature_names(History.of(series), covariates)
    trials: list[Trial] = []
    first: list[FloatArray] = []

    def objective(trial: Any) -> float:
        settings = _suggested(trial, own, groups if select_features else {})
        gains = _gains(BoostingForecaster(**{**own.get_params(), **settings}), folds, names)
        first.append(gains)
        more = gains - first[0]
        error = float(more.std(ddof=1) / np.sqrt(len(more))) if len(more) > 1 else 0.0
        trials.append(Trial(settings, float(gains.mean()), float(more.mean()), error))
        if progress is not None:
            spent = 0.0 if seconds is None else (time.monotonic() - begun) / seconds
            progress(len(trials), min(max(len(trials) / n_trials, spent), 1.0))
        return trials[-1].gain

    # the time that cutting folds took is part of the limit
    left = None if seconds is None else max(seconds - (time.monotonic() - begun), 1e-3)
    _search(objective, own, groups if select_features else {}, n_trials=n_trials, seconds=left, seed=seed)
    best = max(trials, key=lambda trial: trial.gain)
    if best.advantage <= _SURE * best.error:
        return Tuned(BoostingForecaster(**own.get_params()), trials[0], tuple(trials))
    return Tuned(BoostingForecaster(**{**own.get_params(), **best.settings}), best, tuple(trials))


def _search(
    objective: Callable[[Any], float],
    own: BoostingForecaster,
    groups: Mapping[str, tuple[str, ...]],
    *,
    n_trials: int,
    seconds: float | None,
    seed: int,
) -> None:
    optuna = require("optuna", extra="forecast")
    told = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(min(10, n_trials // 3), 1))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.enqueue_trial(_first(own, groups), skip_if_exists=True)
        study.optimize(objective, n_trials=n_trials, timeout=seconds)
    finally:
        optuna.logging.set_verbosity(told)


def _first(own: BoostingForecaster, groups: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The forecaster's own settings, as far as the search can have them."""
    chosen = None if own.features is None else set(own.features)
    uses = {_USED + name: chosen is None or bool(chosen & set(members)) for name, members in groups.items()}
    return {
        "max_depth": min(max(own.max_depth, 2), 6),
        "learning_rate": min(max(own.learning_rate, 0.01), 0.3),
        "min_child_weight": min(max(own.min_child_weight, 10.0), 3000.0),
        "reg_lambda": min(max(own.reg_lambda, 1.0), 1000.0),
        "subsample": min(max(own.subsample, 0.4), 1.0),
        "colsample": min(max(own.colsample, 0.3), 1.0),
        "half_life": min(max(own.half_life, 1.0), 20.0),
        **uses,
    }


def _suggested(trial: Any, own: BoostingForecaster, groups: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "max_depth": trial.suggest_int("max_depth", 2, 6),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "min_child_weight": trial.suggest_float("min_child_weight", 10.0, 3000.0, log=True),
        "reg_lambda": trial.suggest_float("reg_lambda", 1.0, 1000.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.4, 1.0),
        "colsample": trial.suggest_float("colsample", 0.3, 1.0),
        "half_life": trial.suggest_float("half_life", 1.0, 20.0, log=True),
    }
    if groups:
        used = [name for name in groups if trial.suggest_categorical(_USED + name, [True, False])]
        # trees that are told nothing are none: then all is told
        members = [member for name in (used or groups) for member in groups[name]]
        settings["features"] = None if len(used) in (0, len(groups)) else tuple(members)
    else:
        settings["features"] = own.features
    return settings


def _folds(series: Series, covariates: Covariates | None, own: BoostingForecaster, n_folds: int) -> list[_Fold]:
    """Spans of the last part of the series, each with what was known before it."""
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
        before = series.until(cut)
        history = History.of(before)
        base = None if own.base is None else type(own.base)(**own.base.get_params()).fit(before, covariates)
        start = Start.learned(history, covariates, base)
        seen = collect_cases(history, start, first=min(year, cut // 4))
        later = History.of(series.until(cut + width), long_run_shares(before))
        found.append(_Fold(seen, collect_cases(later, start, first=cut)))
    return found


def _gains(forecaster: BoostingForecaster, folds: list[_Fold], names: tuple[str, ...]) -> FloatArray:
    """By how much trees lower the loss, origin by origin."""
    chosen = names if forecaster.features is None else tuple(forecaster.features)
    columns = [names.index(name) for name in chosen]
    gains = []
    for fold in folds:
        booster = forecaster.grow(fold.seen, forecaster.n_estimators, columns, chosen)
        _, means = fewest_losses(booster, fold.unseen, columns)
        gains.append(fold.unseen.by_origin(fold.unseen.losses(fold.unseen.base) - fold.unseen.losses(means)))
    return np.concatenate(gains)
