r"""Gradient-boosted trees over all places at once, on unbiased counts.

Trees correct, as factors, what the recent level of each place lets expect. They minimize the Poisson loss

.. math:: \sum w \, (\mu - y \log \mu), \qquad \text{gradient } w(\mu - y), \quad \text{curvature } w \mu,

which is linear in the count y: noise that is right on average leaves it right on average, and counts that noise made
negative may stay so. (Trained on counts clipped at 0, trees learn the clipping.) The weight
:math:`w = \mu / (\mu + v)` is less where the variance v of the noise is large, and less long ago and in bursts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import Float32Array, FloatArray, IntArray
from tacit._base.extras import require
from tacit._base.validation import check_at_least, check_one_of, check_positive, check_share
from tacit.counts.series import Series
from tacit.errors import SettingError
from tacit.forecast.cases import LEADS, Cases, Start, collect_cases
from tacit.forecast.features import feature_names
from tacit.forecast.forecaster import Forecaster
from tacit.forecast.history import History
from tacit.forecast.spread import Expected, Spread, learn_spread
from tacit.forecast.spread_forecaster import SpreadForecaster
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates

_HORIZONS: Final = (1, 7, 28)
_FEWEST_BINS: Final = 60
_STEP: Final = 10  # trees are compared by so many


class BoostingForecaster(SpreadForecaster):
    """Trees on lags, shares, calendar and covariates, with the place as a feature.

    ``n_estimators`` is the most trees: as many are grown as do best on the last year, which the trees compared have not
    seen. ``features`` are the names of those to use, all without it; ``half_life`` is how many years ago a bin counts
    half. With ``base`` trees correct the means of that forecaster in place of the recent level.

    Reference: Chen2016.
    """

    name = "boosting"

    def __init__(
        self,
        *,
        max_depth: int = 3,
        learning_rate: float = 0.05,
        n_estimators: int = 200,
        min_child_weight: float = 200.0,
        reg_lambda: float = 50.0,
        subsample: float = 0.7,
        colsample: float = 0.7,
        half_life: float = 6.0,
        features: tuple[str, ...] | None = None,
        base: Forecaster | None = None,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample = colsample
        self.half_life = half_life
        self.features = features
        self.base = base
        self.seed = seed
        self.n_jobs = n_jobs

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the trees are told."""
        self._fitted()
        return self._names

    @property
    def columns(self) -> list[int]:
        """Which of all features those are."""
        self._fitted()
        return self._columns

    @property
    def start(self) -> Start:
        """What the trees start from."""
        self._fitted()
        return self._start

    @property
    def booster(self) -> Any:
        """The trees, of which the first :attr:`n_trees` count."""
        self._fitted()
        return self._booster

    @property
    def n_trees(self) -> int:
        """How many trees did best; 0 where the start alone did."""
        self._fitted()
        return self._n_trees

    def gains(self) -> dict[str, float]:
        """By how much each feature lowered the loss in all splits, as shares of the whole."""
        self._fitted()
        found = self._booster.get_score(importance_type="total_gain") if self._n_trees else {}
        whole = sum(found.values()) or 1.0
        return {name: float(found.get(name, 0.0)) / whole for name in self._names}

    def grow(self, cases: Cases, n_trees: int, columns: list[int], names: tuple[str, ...]) -> Any:
        """Trees of these settings from cases, told these columns of their features."""
        xgboost = require("xgboost", extra="forecast")
        rows = xgboost.DMatrix(
            cases.features[:, columns],
            label=cases.counts,
            weight=cases.weights * 0.5 ** (cases.ages / self.half_life),
            base_margin=np.log(cases.base),
            feature_names=list(names),
            nthread=self.n_jobs,
        )
        params = {
            "max_depth": self.max_depth,
            "learning_rate": self.learning_rate,
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.reg_lambda,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample,
            "max_delta_step": 0.5,
            "tree_method": "hist",
            "base_score": 0.0,
            "seed": self.seed,
            "nthread": self.n_jobs,
        }
        return xgboost.train(params, rows, num_boost_round=n_trees, obj=_poisson, verbose_eval=False)

    def check(self) -> None:
        """Refuse settings that break their rules."""
        check_at_least(1, max_depth=self.max_depth, n_estimators=self.n_estimators, n_jobs=self.n_jobs)
        check_at_least(0, seed=self.seed)
        check_positive(learning_rate=self.learning_rate, half_life=self.half_life, reg_lambda=self.reg_lambda)
        check_positive(min_child_weight=self.min_child_weight, subsample=self.subsample, colsample=self.colsample)
        check_share(open_ends=False, subsample=self.subsample, colsample=self.colsample)

    def _learn(self, series: Series, history: History, covariates: Covariates | None) -> Spread:
        self.check()
        history.check_long_enough(_FEWEST_BINS, forecaster=self.name)
        base = None if self.base is None else type(self.base)(**self.base.get_params()).fit(series, covariates)
        self._start = Start.learned(history, covariates, base)
        self._names, self._columns = self._chosen(feature_names(history, covariates))
        n_times, year = len(history), season_length(history.time.step, "year")
        cases = collect_cases(history, self._start, first=min(year, n_times // 4))
        first = n_times - min(year, n_times // 4)
        # how many trees, and how far off they are, is learned on bins that they have not seen
        seen = cases.chosen(cases.origins < first - LEADS[-1])
        self._booster = self.grow(seen, self.n_estimators, self._columns, self._names)
        self._n_trees = fewest_losses(self._booster, cases.chosen(cases.origins >= first), self._columns)[0]
        spread = learn_spread(
            history,
            lambda origins, horizon: self._expect(history, origins, horizon),
            first=first,
            horizons=_HORIZONS,
        )
        self._booster = self.grow(cases, max(self._n_trees, 1), self._columns, self._names)
        return spread

    def _chosen(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[int]]:
        if self.features is None:
            return names, list(range(len(names)))
        if not self.features:
            raise SettingError("features must name at least one feature; got none. Leave it out for all.")
        for name in self.features:
            check_one_of(names, features=name)
        return tuple(self.features), [names.index(name) for name in self.features]

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        start, past = self._start, self._start.past(history)
        parts = []
        at_once, leads = start.at_once(horizon), np.arange(1, horizon + 1)
        for first in range(0, len(origins), at_once):
            rows, base = start.rows(history, past, origins[first : first + at_once], leads)
            means = corrected(self._booster, rows[:, self._columns], base.reshape(-1), self._n_trees)
            parts.append(means.reshape(base.shape))
        means = np.concatenate(parts)
        # trees know the total better than its parts
        totals = means[:, :, -1:]
        places = means[:, :, :-1] * (totals / means[:, :, :-1].sum(axis=2, keepdims=True))
        noise = np.square(totals) * past.levels.share_noise[origins][:, None, :]
        shared = np.concatenate([noise, np.zeros(totals.shape)], axis=2)
        return Expected.of(np.concatenate([places, totals], axis=2), shared=shared)

    def _notes(self) -> tuple[str, ...]:
        return () if self._start.covariates is None else self._start.covariates.notes

    def _kept(self) -> dict[str, Any]:
        return {
            "start": self._start.state(),
            "names": list(self._names),
            "columns": list(self._columns),
            "n_trees": self._n_trees,
            "booster": np.frombuffer(bytes(self._booster.save_raw("ubj")), np.uint8),
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        xgboost = require("xgboost", extra="forecast")
        series, _ = self._fitted()
        self._start = Start.of_state(state["start"], self.base, History.of(series))
        self._names = tuple(state["names"])
        self._columns = [int(column) for column in state["columns"]]
        self._n_trees = int(state["n_trees"])
        self._booster = xgboost.Booster({"nthread": self.n_jobs})
        self._booster.load_model(bytearray(np.asarray(state["booster"], np.uint8).tobytes()))


def corrected(booster: Any, features: Float32Array, base: FloatArray, n_trees: int) -> FloatArray:
    """What is expected by the base and by the first trees over it."""
    if n_trees == 0:
        return base
    margins = booster.inplace_predict(
        features, iteration_range=(0, n_trees), predict_type="margin", base_margin=np.log(base)
    )
    return np.asarray(np.exp(np.clip(margins, -20.0, 20.0)), np.float64)


def fewest_losses(booster: Any, cases: Cases, columns: list[int]) -> tuple[int, FloatArray]:
    """The number of trees with the least loss, none if the base alone does best; and the means they give."""
    n_trees = booster.num_boosted_rounds()
    if not len(cases):
        return n_trees, np.empty(0)
    features = np.ascontiguousarray(cases.features[:, columns])
    margins = np.log(cases.base)
    best, means, least = 0, cases.base, cases.loss(cases.base)
    for first in range(0, n_trees, _STEP):
        span = (first, min(first + _STEP, n_trees))
        # each step starts from the last, so that every tree is asked once
        margins = booster.inplace_predict(features, iteration_range=span, predict_type="margin", base_margin=margins)
        found = np.asarray(np.exp(np.clip(margins, -20.0, 20.0)), np.float64)
        if (loss := cases.loss(found)) < least:
            best, means, least = span[1], found, loss
    return best, means


def _poisson(margins: NDArray[np.float32], rows: Any) -> tuple[FloatArray, FloatArray]:
    """Gradient and curvature of the Poisson loss; xgboost leaves weights to the loss."""
    means = np.exp(np.clip(margins, -20.0, 20.0).astype(np.float64))
    weights = rows.get_weight()
    return weights * (means - rows.get_label()), weights * means
