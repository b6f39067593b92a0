"""The paper's model as published, for comparison: one XGBoost per region on the calendar and today's counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.extras import require
from tacit._base.validation import check_at_least, check_positive
from tacit.counts.series import Series
from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.forecast.history import History
from tacit.forecast.spread import Expected, Spread, learn_spread
from tacit.forecast.spread_forecaster import SpreadForecaster
from tacit.statespace.calendar import calendar_columns, season_length
from tacit.statespace.covariates import Covariates

RAW_DATA_NOTE: Final = (
    "uses raw data: the means of true counts by which private counts were rescaled were not made private"
)
_HORIZONS: Final = (1, 7, 28)
_FEWEST_BINS: Final = 60


class PaperForecaster(SpreadForecaster):
    """Learns from each day's calendar and counts the next day's counts, a tree model for every place.

    Settings are the defaults of XGBoost before 1.0, which the paper's figures need; ``tree_method`` alone is today's,
    as quick as it is alike. Counts below 0, which its Poisson objective refuses, are set to 0: on private counts that
    alone makes its forecasts too high, as in the paper. The paper corrects that by a ratio of means: ``true_means`` are
    the true means per place over ``ratio_years`` (the last whole year of the series without them), by whose ratio to
    the private means all counts are multiplied, or divided if ``literal``, as its text says. That **uses raw data**,
    which a user does not have, and every forecast says so.

    Further ahead than a bin it takes its own forecasts for counts.

    Reference: Arcolezi2020.
    """

    name = "paper's XGBoost"

    def __init__(
        self,
        *,
        max_depth: int = 3,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        base_score: float = 0.5,
        tree_method: str = "hist",
        true_means: Sequence[float] | FloatArray | None = None,
        ratio_years: Sequence[int] | None = None,
        literal: bool = False,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.base_score = base_score
        self.tree_method = tree_method
        self.true_means = true_means
        self.ratio_years = ratio_years
        self.literal = literal
        self.seed = seed
        self.n_jobs = n_jobs

    def inputs(self, series: Series, *, as_given: bool = False) -> FloatArray:
        """What the model sees of each bin: its calendar, and the counts as it takes them (``as_given``: unscaled).

        An experiment may so ask a model that was fitted on private counts about true ones.
        """
        counts = np.maximum(series.values, 0.0)
        if not as_given:
            counts = counts * self._ratio
        return paper_inputs(series.domain.time, np.where(series.missing[:, None], np.nan, counts))

    def expect(self, inputs: FloatArray) -> FloatArray:
        """The counts expected in the bin after each of these, per place."""
        return np.column_stack([booster.inplace_predict(inputs) for booster in self._boosters]).astype(np.float64)

    def _learn(self, series: Series, history: History, covariates: Covariates | None) -> Spread:
        self._check()
        history.check_long_enough(_FEWEST_BINS, forecaster=self.name)
        self._ratio = self._ratio_of(series)
        inputs, n_times = self.inputs(series), len(series)
        held_out = min(season_length(series.domain.time.step, "year"), n_times // 4)
        # laws are learned on bins that the trees have not seen
        self._boosters = self._grow(inputs[: n_times - held_out])
        spread = learn_spread(
            history,
            lambda origins, horizon: self._expect(history, origins, horizon),
            first=n_times - held_out,
            horizons=_HORIZONS,
        )
        self._boosters = self._grow(inputs)
        return spread

    def _check(self) -> None:
        check_at_least(1, max_depth=self.max_depth, n_estimators=self.n_estimators, n_jobs=self.n_jobs)
        check_at_least(0, seed=self.seed)
        check_positive(learning_rate=self.learning_rate, base_score=self.base_score)

    def _ratio_of(self, series: Series) -> FloatArray:
        """By what counts are multiplied, per place."""
        n_places = series.domain.shape[1]
        if self.true_means is None:
            return np.ones(n_places)
        true_means = np.asarray(self.true_means, np.float64)
        if true_means.shape != (n_places,):
            raise SettingError(
                f"true_means must be a mean for each of the {n_places} places; got shape={true_means.shape}."
            )
        years = calendar_columns(series.domain.time, len(series))["year"]
        chosen = np.isin(years, _last_whole_year(years) if self.ratio_years is None else list(self.ratio_years))
        chosen &= ~series.missing
        if not chosen.any():
            raise SettingError(f"ratio_years must be years of the series; got ratio_years={self.ratio_years}.")
        private_means = np.maximum(series.values[chosen], 0.0).mean(axis=0)
        ratio = np.divide(true_means, private_means, out=np.ones(n_places), where=private_means > 0)
        if self.literal:
            ratio = np.divide(1.0, ratio, out=np.ones(n_places), where=ratio > 0)
        return np.asarray(ratio, np.float64)

    def _grow(self, inputs: FloatArray) -> list[Any]:
        """A booster for each place, from the rows whose own bin and the next were counted."""
        xgboost = require("xgboost", extra="forecast")
        multioutput = require("sklearn.multioutput", extra="forecast")
        n_places = len(self._ratio)
        counts = inputs[:, -n_places:]
        is_pair = ~np.isnan(counts[:-1, 0]) & ~np.isnan(counts[1:, 0])
        regressor = xgboost.XGBRegressor(
            objective="count:poisson",
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            n_estimators=self.n_estimators,
            base_score=self.base_score,
            tree_method=self.tree_method,
            gamma=0.0,
            min_child_weight=1.0,
            max_delta_step=0.7,
            subsample=1.0,
            colsample_bytree=1.0,
            reg_alpha=0.0,
            reg_lambda=1.0,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        model = multioutput.MultiOutputRegressor(regressor)
        model.fit(inputs[:-1][is_pair], counts[1:][is_pair])
        return [one.get_booster() for one in model.estimators_]

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        places = np.maximum(history.values[:, :-1], 0.0) * self._ratio
        today = np.where(history.counted[:, None], places, np.nan)[origins - 1]
        calendar = np.column_stack(list(calendar_columns(history.time, int(origins.max()) + horizon).values()))
        steps = []
        for step in range(horizon):
            today = self.expect(np.column_stack([calendar[origins - 1 + step], today]))
            steps.append(today)
        means = np.maximum(np.stack(steps, axis=1), history.floor[:-1])
        return Expected.of(np.concatenate([means, means.sum(axis=2, keepdims=True)], axis=2))

    def _notes(self) -> tuple[str, ...]:
        return () if self.true_means is None else (RAW_DATA_NOTE,)

    def _kept(self) -> dict[str, Any]:
        boosters = [np.frombuffer(bytes(booster.save_raw("ubj")), np.uint8) for booster in self._boosters]
        return {"ratio": self._ratio, "boosters": boosters}

    def _restore(self, state: Mapping[str, Any]) -> None:
        xgboost = require("xgboost", extra="forecast")
        self._ratio = np.asarray(state["ratio"], np.float64)
        self._boosters = []
        for raw in state["boosters"]:
            booster = xgboost.Booster({"nthread": self.n_jobs})
            booster.load_model(bytearray(np.asarray(raw, np.uint8).tobytes()))
            self._boosters.append(booster)


def paper_inputs(time: TimeAxis, counts: FloatArray) -> FloatArray:
    """The calendar of each bin beside its counts."""
    return np.column_stack([*calendar_columns(time, len(counts)).values(), counts])


def _last_whole_year(years: FloatArray) -> list[float]:
    """The last year that the bins go through, or the last at all."""
    found, counts = np.unique(years, return_counts=True)
    return [float(found[counts >= 0.99 * counts.max()][-1])]
