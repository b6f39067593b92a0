r"""Gradient-boosted trees: on unbiased counts over all places at once, and as the paper published them.

:class:`BoostingForecaster` corrects, by factors, what another forecaster expects. Its trees minimize the Poisson loss

.. math:: \sum w \, (\mu - y \log \mu), \qquad \text{gradient } w(\mu - y), \quad \text{curvature } w \mu,

which is linear in the count y: noise of mean 0 leaves it unbiased, and counts that noise made negative stay so.
(Trained on counts clipped at 0, trees learn the clipping.) The weight :math:`w = \mu / (\sigma^2 + v)`, with the
variance the other forecaster states and that of the noise, is less where a count tells less.

:class:`PaperForecaster` clips, because that is what was published.

Reference: Chen2016; Arcolezi2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np

from tacit._base.arrays import Float32Array, FloatArray, IntArray
from tacit._base.extras import require
from tacit._base.languages import stored
from tacit._base.validation import check_at_least, check_one_of, check_positive, check_share
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.forecast.baselines import Expected, ResidualForecaster, learn_overdispersion
from tacit.forecast.forecast import Forecasts
from tacit.forecast.forecaster import Forecaster, Kept, forecaster_from_dict, forecaster_named
from tacit.forecast.past import History
from tacit.forecast.tree_cases import LEADS, Cases, Told, feature_groups, fewest_losses, means_of, ranks
from tacit.statespace.covariates import Covariates, calendar_columns, season_length

_HORIZONS: Final = (1, 7, 28)  # bins at which residuals of the paper's model are measured: a day, a week, a month
_FEWEST_BINS: Final = 60  # two months: trees on less see no weekday nine times


def _trees(raw: Any) -> Any:
    """Return the trees of a file; one thread is enough to ask them."""
    booster = require("xgboost", extra="forecast").Booster({"nthread": 1})
    booster.load_model(bytearray(np.asarray(raw, np.uint8).tobytes()))
    return booster


@dataclass(kw_only=True, repr=False, eq=False)
class BoostingForecaster(Forecaster):
    """Trees on residuals, calendar and covariates, with the place as a feature, correct the means of ``base``.

    Without one, ``base`` is the default forecaster on counts alone. ``n_estimators`` is the most trees: as many are
    grown as do best on the last year, which the trees compared have not learned from. ``features`` are the names of
    those to use, all without it; ``half_life`` is how many years ago a bin counts half. Relative variances beyond
    chance are those that the base states.
    """

    name = "boosting"
    kept: ClassVar[Kept] = {
        "base": forecaster_from_dict,
        "ranks": IntArray,
        "names": tuple[str, ...],
        "columns": lambda columns: [int(column) for column in columns],
        "n_trees": int,
        "booster": _trees,
    }

    max_depth: int = 3
    learning_rate: float = 0.05
    n_estimators: int = 200
    min_child_weight: float = 200.0
    reg_lambda: float = 50.0
    subsample: float = 0.7
    colsample: float = 0.7
    half_life: float = 6.0
    features: tuple[str, ...] | None = None
    base: Forecaster | None = None
    seed: int = 0
    n_jobs: int = 1

    def check(self) -> None:
        """Refuse settings that break their rules."""
        _check_trees(self)
        check_positive(half_life=self.half_life, reg_lambda=self.reg_lambda, min_child_weight=self.min_child_weight)
        check_share(open_ends=False, subsample=self.subsample, colsample=self.colsample)

    def gains(self) -> dict[str, float]:
        """Return by how much each feature lowered the loss in all splits, as shares of the whole."""
        self._fitted()
        found = self._booster.get_score(importance_type="total_gain") if self._n_trees else {}
        whole = sum(found.values()) or 1.0
        return {name: float(found.get(name, 0.0)) / whole for name in self._names}

    def fitted_base(self, series: Series, covariates: Covariates | None) -> Forecaster:
        """Return the base, fitted on a series; the setting itself stays as it is.

        The default one is told of no covariates. It would give them the same effect in all places; what trees then have
        to correct averages out over places, and no first split finds it.
        """
        if self.base is None:
            return forecaster_named().fit(series)
        return type(self.base)(**self.base.get_params()).fit(series, covariates)

    def columns(self, domain: Domain, covariates: Covariates | None) -> tuple[tuple[str, ...], list[int]]:
        """Return the names of the features to use, and their numbers among all."""
        names = [name for members in feature_groups(domain, covariates).values() for name in members]
        if self.features is None:
            return tuple(names), list(range(len(names)))
        if not self.features:
            raise SettingError("features must name at least one feature; got none. Leave it out for all.")
        for name in self.features:
            check_one_of(names, features=name)
        return tuple(self.features), [names.index(name) for name in self.features]

    def grow(self, cases: Cases, n_trees: int, names: tuple[str, ...], columns: list[int]) -> Any:
        """Return trees of these settings from cases, told these columns of their features."""
        xgboost = require("xgboost", extra="forecast")
        rows = xgboost.DMatrix(
            cases.features[:, columns],
            label=cases.counts,
            weight=cases.weights * 0.5 ** (cases.ages / self.half_life),
            base_margin=np.log(cases.base),
            feature_names=list(names),
            nthread=self.n_jobs,
        )
        own = ("max_depth", "learning_rate", "min_child_weight", "reg_lambda", "subsample", "seed")
        params = {name: getattr(self, name) for name in own} | {
            "colsample_bytree": self.colsample,
            "max_delta_step": 0.5,  # a leaf changes a mean by at most e^0.5 before the learning rate
            "tree_method": "hist",
            "base_score": 0.0,
            "nthread": self.n_jobs,
        }
        return xgboost.train(params, rows, num_boost_round=n_trees, obj=_poisson, verbose_eval=False)

    def losses(self, cases: Cases, shuffled: tuple[int, IntArray] | None = None) -> FloatArray:
        """Return the loss of each case; one feature, by number, may be taken in another order."""
        self._fitted()
        features = np.ascontiguousarray(cases.features[:, self._columns])
        if shuffled is not None:
            column, order = shuffled
            features[:, column] = features[order, column]
        return cases.losses(_corrected(self._booster, features, cases.base, self._n_trees))

    def told(self, series: Series, first: int, stop: int) -> Told:
        """Return what the trees are told of a series for origins from ``first`` up to and with ``stop``."""
        # the noise is what the bins learned from let expect
        history = History.of(series, self._fitted().shares)
        return Told.of(history, self._base, self._covariates, self._ranks, first, stop)

    def updated(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Return the forecaster at the end of a series that goes on where its own ended, not fitted again."""
        found = super().updated(series, covariates)
        found._base = self._base.updated(series, covariates)
        return found

    def _learn(self, series: Series, covariates: Covariates | None) -> None:
        self.check()
        history = History.of(series)
        history.check_long_enough(_FEWEST_BINS, forecaster=self.name)
        self._names, self._columns = told = self.columns(series.domain, covariates)
        self._base, self._ranks = self.fitted_base(series, covariates), ranks(history)
        n_times, year = len(history), season_length(history.time.step, "year")
        begin = min(year, n_times // 4)
        cases = Told.of(history, self._base, covariates, self._ranks, begin, n_times).cases(begin)
        # how many trees are best is found on bins that they have not learned from
        first = n_times - begin
        earlier = self.grow(cases.chosen(cases.origins < first - LEADS[-1]), self.n_estimators, *told)
        self._n_trees = fewest_losses(earlier, cases.chosen(cases.origins >= first), self._columns)[0]
        self._booster = self.grow(cases, max(self._n_trees, 1), *told)

    def _forecasts(self, series: Series, origins: IntArray, horizon: int) -> Forecasts:
        made = self._base.predict_from(series, origins, horizon)
        told = self.told(series, int(origins.min()), int(origins.max()))
        leads, factors = np.arange(1, horizon + 1), []
        for some in told.blocks(origins, horizon):
            base = np.maximum(made.each.means[some], np.finfo(np.float32).tiny)
            rows = told.features(origins[some], leads, base)[:, self._columns]
            means = _corrected(self._booster, rows, base.reshape(-1), self._n_trees).reshape(base.shape)
            # trees know the total better than its parts
            means[..., :-1] *= means[..., -1:] / means[..., :-1].sum(axis=2, keepdims=True)
            factors.append(means / base)
        return Forecasts(origins, _scaled(made.each, np.concatenate(factors)))

    def _sums(self, series: Series, made: Forecasts) -> CountDistribution:
        base = self._base.predict(made.each.means.shape[1])
        sums = CountDistribution.joined([base.sums, base.total_sum])
        means = np.append(made.counts.means[0].sum(axis=0), made.totals.means[0].sum())
        return _scaled(sums, means / np.maximum(sums.means, 1e-300))

    def _notes(self, series: Series, horizon: int) -> tuple[str, ...]:
        own = () if self._covariates is None else self._covariates.notes
        without = (
            ()
            if self._n_trees
            else (stored("no tree did better than %(name)s, whose forecast this is", name=self._base.name),)
        )
        return tuple(dict.fromkeys((*without, *self._base.predict(horizon).notes, *own)))


@dataclass(kw_only=True, repr=False, eq=False)
class PaperForecaster(ResidualForecaster):
    """Learns from each day's calendar and counts the next day's counts, a tree model for every place.

    Settings are the defaults of XGBoost before 1.0, which the paper's figures need; ``tree_method`` alone is today's,
    as quick as it is alike. Counts below 0, which its Poisson objective refuses, are set to 0: on private counts that
    alone makes its forecasts too high, as in the paper. The paper corrects that with means of raw counts, which leaks:
    only :mod:`tacit.publication.laboratory` does.

    Further ahead than a bin it takes its own forecasts for counts.
    """

    name = "paper's XGBoost"
    kept: ClassVar[Kept] = {**ResidualForecaster.kept, "boosters": lambda raw: [*map(_trees, raw)]}

    max_depth: int = 3
    learning_rate: float = 0.1
    n_estimators: int = 100
    base_score: float = 0.5
    tree_method: str = "hist"
    seed: int = 0
    n_jobs: int = 1

    def inputs(self, series: Series) -> FloatArray:
        """Return what the model sees of each bin: its calendar, and the counts as it takes them."""
        return np.column_stack([*calendar_columns(series.domain.time, len(series)).values(), _clipped(series)])

    def expect(self, inputs: FloatArray) -> FloatArray:
        """Return the counts expected in the bin after each of these, per place."""
        return np.column_stack([booster.inplace_predict(inputs) for booster in self._boosters]).astype(np.float64)

    def _learn(self, series: Series, covariates: Covariates | None) -> None:
        _check_trees(self)
        check_positive(base_score=self.base_score)
        history, n_times = History.of(series), len(series)
        history.check_long_enough(_FEWEST_BINS, forecaster=self.name)
        inputs, counts = self.inputs(series), _clipped(series)
        # distributions are learned on bins that the trees have not learned from
        first = n_times - min(season_length(series.domain.time.step, "year"), n_times // 4)
        self._boosters = self._grow(inputs[:first], counts[:first])
        expect = partial(self._expect, history)
        self._overdispersion = learn_overdispersion(history, expect, first=first, horizons=_HORIZONS)
        self._boosters = self._grow(inputs, counts)

    def _grow(self, inputs: FloatArray, counts: FloatArray) -> list[Any]:
        """Return a booster for each place, from the rows whose own bin and the next were counted."""
        xgboost = require("xgboost", extra="forecast")
        multioutput = require("sklearn.multioutput", extra="forecast")
        is_pair = ~np.isnan(counts[:-1]).any(axis=1) & ~np.isnan(counts[1:]).any(axis=1)
        own = ("max_depth", "learning_rate", "n_estimators", "base_score", "tree_method", "n_jobs")
        settings = {name: getattr(self, name) for name in own} | {"random_state": self.seed, "max_delta_step": 0.7}
        model = multioutput.MultiOutputRegressor(xgboost.XGBRegressor(objective="count:poisson", **settings))
        model.fit(inputs[:-1][is_pair], counts[1:][is_pair])
        return [one.get_booster() for one in model.estimators_]

    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected:
        today = _clipped(history.series)[origins - 1]
        calendar = np.column_stack([*calendar_columns(history.time, int(origins.max()) + horizon).values()])
        steps = []
        for step in range(horizon):
            today = self.expect(np.column_stack([calendar[origins - 1 + step], today]))
            steps.append(today)
        means = np.maximum(np.stack(steps, axis=1), history.floor[:-1])
        return Expected(np.concatenate([means, means.sum(axis=2, keepdims=True)], axis=2))


def _clipped(series: Series) -> FloatArray:
    """Return counts without negative ones, NaN where none was observed."""
    return np.where(series.observed[:, :-1], np.maximum(series.values, 0.0), np.nan)


def _check_trees(settings: BoostingForecaster | PaperForecaster) -> None:
    check_at_least(1, max_depth=settings.max_depth, n_estimators=settings.n_estimators, n_jobs=settings.n_jobs)
    check_at_least(0, seed=settings.seed)
    check_positive(learning_rate=settings.learning_rate)


def _corrected(booster: Any, features: Float32Array, base: FloatArray, n_trees: int) -> FloatArray:
    """Return what is expected by the base and by the first trees over it."""
    if n_trees == 0:
        return base.copy()
    margin = {"predict_type": "margin", "base_margin": np.log(base)}
    return means_of(booster.inplace_predict(features, iteration_range=(0, n_trees), **margin))


def _poisson(margins: Float32Array, rows: Any) -> tuple[FloatArray, FloatArray]:
    """Return gradient and curvature of the Poisson loss; xgboost leaves weights to the loss."""
    means, weights = means_of(margins.astype(np.float64)), rows.get_weight()
    return weights * (means - rows.get_label()), weights * means


def _scaled(distribution: CountDistribution, factors: FloatArray) -> CountDistribution:
    """Return counts whose means are multiplied, with the same relative variance beyond chance."""
    beyond = np.maximum(distribution.variances - distribution.means, 0.0)
    means = distribution.means * factors
    return CountDistribution(means, means + beyond * np.square(factors))
