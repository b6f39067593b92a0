"""What boosted trees learn from: counts with their features, and what is expected of them without any tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import Float32Array, FloatArray, IntArray
from tacit.forecast.features import Past, feature_rows
from tacit.forecast.forecaster import Forecaster
from tacit.forecast.habits import Habits
from tacit.forecast.history import History
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates

LEADS: Final = (1, 2, 4, 7, 14, 28)
_MOST_ROWS: Final = 400_000
_ROWS_AT_ONCE: Final = 200_000
_LEAST_MEAN: Final = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Rows: features, what was counted, what is expected without trees, weights, ages in years, and origins."""

    features: Float32Array
    counts: FloatArray
    base: FloatArray
    weights: FloatArray
    ages: FloatArray
    origins: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, is_chosen: NDArray[np.bool_]) -> Cases:
        """Some of them."""
        return Cases(
            self.features[is_chosen],
            self.counts[is_chosen],
            self.base[is_chosen],
            self.weights[is_chosen],
            self.ages[is_chosen],
            self.origins[is_chosen],
        )

    def loss(self, means: FloatArray) -> float:
        """The Poisson loss of these means on average, but for a constant: unbiased, whatever the noise."""
        return float(self.losses(means).sum() / self.weights.sum())

    def losses(self, means: FloatArray) -> FloatArray:
        """The loss of each case, times its weight."""
        return np.asarray(self.weights * (means - self.counts * np.log(means)), np.float64)

    def by_origin(self, values: FloatArray) -> FloatArray:
        """Sums over the cases of each origin, in parts of an origin's usual weight.

        Cases of one origin hang together, origins hardly do: the spread of these is that of a mean over all cases.
        """
        _, number = np.unique(self.origins, return_inverse=True)
        usual = max(float(np.bincount(number, self.weights).mean()), 1e-12)
        return np.asarray(np.bincount(number, values) / usual, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What trees start from: habits of the series, places numbered from the busiest on, or a forecaster's means."""

    habits: Habits
    ranks: IntArray
    covariates: Covariates | None
    base: Forecaster | None

    @classmethod
    def learned(cls, history: History, covariates: Covariates | None, base: Forecaster | None) -> Start:
        """What a history tells; ``base`` is fitted already."""
        order = np.argsort(-history.values[history.counted, :-1].sum(axis=0), kind="stable")
        ranks = np.asarray(np.argsort(order, kind="stable"), np.int64)
        return cls(Habits.learned(history), ranks, covariates, base)

    def past(self, history: History) -> Past:
        return Past.of(history, self.habits.levels(history))

    def rows(self, history: History, past: Past, origins: IntArray, leads: IntArray) -> tuple[Float32Array, FloatArray]:
        """Features of origins x leads x (places and all), and the means of the start, in this shape."""
        means = self._means(history, past, origins, int(leads.max()))[:, leads - 1]
        return feature_rows(history, past, self.covariates, self.ranks, origins, leads, means), means

    def at_once(self, horizon: int) -> int:
        """How many origins to look at together."""
        return max(_ROWS_AT_ONCE // (horizon * (len(self.ranks) + 1)), 1)

    def _means(self, history: History, past: Past, origins: IntArray, horizon: int) -> FloatArray:
        if self.base is None:
            bins = origins[:, None] + np.arange(horizon)[None, :]
            means = past.levels.expected(np.broadcast_to(origins[:, None], bins.shape), bins)
        else:
            means = self.base.predict_from(history.series, origins, horizon).counts.means
        means = np.maximum(means, _LEAST_MEAN)
        return np.concatenate([means, means.sum(axis=2, keepdims=True)], axis=2)

    def state(self) -> dict[str, Any]:
        """As plain data and arrays, but for what a setting says."""
        known = self.covariates
        return {
            "habits": self.habits.state(),
            "ranks": self.ranks,
            "base": None if self.base is None else dict(self.base.state()),
            "covariates": None if known is None else dict(known.columns),
            "covariate_bins": None if known is None else known.time.n_bins,
            "covariate_notes": [] if known is None else list(known.notes),
        }

    @classmethod
    def of_state(cls, state: Mapping[str, Any], base: Forecaster | None, history: History) -> Start:
        """What :meth:`state` told, of a start with this base."""
        covariates = None
        if state["covariates"] is not None:
            columns = {str(name): np.asarray(column, np.float64) for name, column in state["covariates"].items()}
            time = history.time.with_end(int(state["covariate_bins"]))
            covariates = Covariates(time, columns, tuple(state["covariate_notes"]))
        known = None if base is None else base.with_state(state["base"])
        return cls(Habits.of_state(state["habits"]), np.asarray(state["ranks"], np.int64), covariates, known)


def collect_cases(history: History, start: Start, *, first: int) -> Cases:
    """Every origin from ``first`` on with the bin after it, and every fifth with some bins further on.

    A case of all places together stands beside those of the places: where totals are public it tells without noise what
    moves all of them.
    """
    n_times, n_columns = history.values.shape
    every = max(-(-2 * (n_times - first) * n_columns // _MOST_ROWS), 1)
    past = start.past(history)
    near = np.arange(first, n_times, every)
    far = np.arange(first, n_times - LEADS[-1] + 1, every * (len(LEADS) - 1))
    parts = [_cases_at(history, start, past, near, np.array(LEADS[:1]))]
    if len(far):
        parts.append(_cases_at(history, start, past, far, np.array(LEADS[1:])))
    joined = Cases(*(np.concatenate([getattr(part, name) for part in parts]) for name in Cases.__slots__))
    return joined.chosen(joined.weights > 0)


def _cases_at(history: History, start: Start, past: Past, origins: IntArray, leads: IntArray) -> Cases:
    features, base = start.rows(history, past, origins, leads)
    targets = np.broadcast_to((origins[:, None] + leads[None, :] - 1)[:, :, None], base.shape)
    columns = np.broadcast_to(np.arange(base.shape[2]), base.shape)
    noise = history.variances[targets, columns]
    return Cases(
        features,
        history.values[targets, columns].reshape(-1),
        base.reshape(-1),
        (past.levels.weights[targets] * base / (base + noise)).reshape(-1),
        ((len(history) - targets) / season_length(history.time.step, "year")).reshape(-1),
        np.broadcast_to(origins[:, None, None], base.shape).reshape(-1),
    )
