"""The cases that boosted trees learn from: counts, what a base forecaster expected of them, and features.

Everything is made of bins before an origin, of the calendar and of covariates. Counts are unbiased, may be negative and
stay so. Features are relative to what the base had expected, so that what is learned of a busy place holds for a quiet
one, and what is learned of one year for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tacit.domain import Domain
from tacit.forecast.forecaster import Forecaster
from tacit.forecast.past import History
from tacit.statespace.covariates import Covariates, bins_per_day, calendar_columns, known_means, season_length

LEADS: Final = (1, 2, 4, 7, 14, 28)  # bins ahead that are learned from; the last is a month of days
_WINDOWS: Final = (1, 4, 13, 52)  # seasons: a week, a month, a quarter and a year of days
_CALENDAR: Final = ("month", "day", "weekday", "day of year", "hour")
_MOST_ROWS: Final = 400_000  # cases; more take minutes to learn from and change little
_ROWS_AT_ONCE: Final = 200_000  # 16 MB of features
_STEP: Final = 10  # trees are compared by so many
_LARGEST_LOG: Final = 20.0  # of a mean: e^20 events
_LEAST_MEAN: Final = 0.01  # events expected of a bin: below, logarithms and weights say nothing


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Rows: features, what was counted, what the base expected, weights, ages in years, and origins."""

    features: Float32Array
    counts: FloatArray
    base: FloatArray
    weights: FloatArray
    ages: FloatArray
    origins: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, is_chosen: BoolArray) -> Cases:
        """Return some of them."""
        return Cases(*(getattr(self, name)[is_chosen] for name in Cases.__slots__))

    def loss(self, means: FloatArray) -> float:
        """Return the mean Poisson loss of these means, up to a constant; noise leaves it unbiased."""
        return float(self.losses(means).sum() / self.weights.sum())

    def losses(self, means: FloatArray) -> FloatArray:
        """Return the loss of each case, times its weight."""
        return np.asarray(self.weights * (means - self.counts * np.log(means)), np.float64)

    def by_origin(self, values: FloatArray) -> FloatArray:
        """Return sums over the cases of each origin, in parts of an origin's usual weight.

        Cases of one origin are correlated, origins hardly are: their standard error is that of a mean over all cases.
        """
        _, number = np.unique(self.origins, return_inverse=True)
        usual = max(float(np.bincount(number, self.weights).mean()), 1e-12)
        return np.asarray(np.bincount(number, values) / usual, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """All that trees are told: the past, what the base expects, covariates, and places numbered by size.

    ``expected`` (bins x (places and all)) is what the base expected of each bin just before it, NaN before ``begin``.
    """

    history: History
    base: Forecaster
    covariates: Covariates | None
    ranks: IntArray
    expected: FloatArray
    begin: int

    @classmethod
    def of(
        cls, history: History, base: Forecaster, covariates: Covariates | None, ranks: IntArray, first: int, stop: int
    ) -> Told:
        """Return what is known of a history for origins from ``first`` up to and with ``stop``."""
        begin = max(first - _WINDOWS[-1] * season_length(history.time.step), 1)
        bins = np.arange(begin, max(stop, begin + 1))
        expected = np.full(history.values.shape, np.nan)
        expected[bins] = _with_all(base.predict_from(history.series, bins, 1).counts.means[:, 0])
        return cls(history, base, covariates, ranks, expected, begin)

    def cases(self, first: int) -> Cases:
        """Return every origin from ``first`` on with the bin after it, and every fifth with some bins further on.

        A case of all places together stands beside those of the places: where totals are public, it tells without
        noise what moves all of them.
        """
        n_times, n_columns = self.history.values.shape
        every = max(-(-2 * (n_times - first) * n_columns // _MOST_ROWS), 1)
        near = np.arange(first, n_times, every)
        far = np.arange(first, n_times - LEADS[-1] + 1, every * (len(LEADS) - 1))
        parts = [self._cases_at(near, np.array(LEADS[:1]))]
        if len(far):
            parts.append(self._cases_at(far, np.array(LEADS[1:])))
        joined = Cases(*(np.concatenate([getattr(part, name) for part in parts]) for name in Cases.__slots__))
        return joined.chosen(joined.weights > 0)

    def blocks(self, origins: IntArray, horizon: int) -> list[slice]:
        """Return origins in blocks that fit into memory."""
        at_once = max(_ROWS_AT_ONCE // (horizon * self.history.values.shape[1]), 1)
        return [slice(first, first + at_once) for first in range(0, len(origins), at_once)]

    def features(self, origins: IntArray, leads: IntArray, base: FloatArray) -> Float32Array:
        """Return a row for each origin, lead (1 is the bin at the origin) and place, and last all places together.

        ``base`` (origins x leads x (places and all)) is what the base expects.
        """
        shape, targets = base.shape, origins[:, None] + leads[None, :] - 1
        season = season_length(self.history.time.step)
        a_season_before = origins[:, None] + ((leads - 1) % season)[None, :] - season
        last, windows = self._relative(origins - 1), self._windows(origins)
        kinds = self.history.series.observations.kinds
        found = [
            np.append(self.ranks, -1.0),
            *([] if kinds is None else [np.append(kinds, -1.0)]),
            np.minimum(leads, LEADS[-1])[:, None],
            np.log(base),
            last[:, None, :],
            self._relative(a_season_before),
            *(window[:, None, :] for window in windows),
            last[:, None, -1:],
            *(window[:, None, -1:] for window in windows),
        ]
        calendar = calendar_columns(self.history.time, int(targets.max()) + 1)
        found += [calendar[name][targets][:, :, None] for name in _CALENDAR if name in calendar]
        if self.covariates is not None:
            known = self.covariates.rows(0, int(targets.max()) + 1)
            n_kinds = self.history.series.domain.n_kinds
            found += [_of_targets(known[name], targets, n_kinds) for name in self.covariates.names]
        return np.stack([np.broadcast_to(column, shape).reshape(-1).astype(np.float32) for column in found], axis=1)

    def _cases_at(self, origins: IntArray, leads: IntArray) -> Cases:
        history = self.history
        made = self.base.predict_from(history.series, origins, int(leads.max()))
        base = _with_all(made.counts.means[:, leads - 1])
        targets = np.broadcast_to((origins[:, None] + leads[None, :] - 1)[:, :, None], base.shape)
        columns = np.broadcast_to(np.arange(base.shape[2]), base.shape)
        weights = base / (np.maximum(made.each.variances[:, leads - 1], base) + history.variances[targets, columns])
        return Cases(
            self.features(origins, leads, base),
            history.values[targets, columns].reshape(-1),
            base.reshape(-1),
            np.where(history.observed[targets, columns], weights, 0.0).reshape(-1),
            ((len(history) - targets) / season_length(history.time.step, "year")).reshape(-1),
            np.broadcast_to(origins[:, None, None], base.shape).reshape(-1),
        )

    def _relative(self, bins: IntArray) -> FloatArray:
        """Return counts of bins over what was expected of them, less 1: NaN where not counted or not expected."""
        inside = np.maximum(bins, 0)
        is_known = (bins >= self.begin)[..., None] & self.history.observed[inside]
        return np.where(is_known, self.history.values[inside] / self.expected[inside] - 1, np.nan)

    def _windows(self, origins: IntArray) -> list[FloatArray]:
        """Return, for windows of bins before each origin, what was counted over what was expected, less 1."""
        is_known = self.history.observed & (np.arange(len(self.history)) >= self.begin)[:, None]
        counted, expected = (
            np.concatenate([np.zeros((1, part.shape[1])), np.cumsum(np.where(is_known, part, 0.0), axis=0)])
            for part in (self.history.values, self.expected)
        )
        found = []
        for width in _WINDOWS:
            first = np.maximum(origins - width * season_length(self.history.time.step), 0)
            whole, part = expected[origins] - expected[first], counted[origins] - counted[first]
            found.append(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0) - 1)
        return found


def ranks(history: History) -> IntArray:
    """Return the number of the place of each column, from the busiest place on."""
    n_kinds = history.series.domain.n_kinds
    sums = np.where(history.observed, history.values, 0.0)[:, :-1].sum(axis=0).reshape(-1, n_kinds).sum(axis=1)
    order = np.argsort(-sums, kind="stable")
    return np.repeat(np.argsort(order, kind="stable"), n_kinds)


def fewest_losses(booster: Any, cases: Cases, columns: list[int]) -> tuple[int, FloatArray]:
    """Return the number of trees with the least loss, none if the base alone does best; and the means they give."""
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
        found = means_of(margins)
        if (loss := cases.loss(found)) < least:
            best, means, least = span[1], found, loss
    return best, means


def means_of(margins: Float32Array) -> FloatArray:
    """Return means from what trees add up to, their logarithms."""
    return np.asarray(np.exp(np.clip(margins, -_LARGEST_LOG, _LARGEST_LOG)), np.float64)


def feature_groups(domain: Domain, covariates: Covariates | None) -> dict[str, tuple[str, ...]]:
    """Return the features by what they are about, in the order of :meth:`Told.features`; a covariate is a group."""
    step = domain.time.step
    season = season_length(step)
    windows = [f"{width * season} {step}s" for width in _WINDOWS]
    return {
        "place": ("place",) if domain.n_kinds == 1 else ("place", "kind"),
        "horizon": ("bins ahead",),
        "level": ("expected count",),
        "recent counts": ("last count", "count a season before", *(f"mean of {window}" for window in windows)),
        "recent totals": ("last total", *(f"mean of {window}, all places" for window in windows)),
        "calendar": _CALENDAR if (bins_per_day(step) or 1) > 1 else _CALENDAR[:-1],
        **{name: (name,) for name in (() if covariates is None else covariates.names)},
    }


def _with_all(means: FloatArray) -> FloatArray:
    """Return means of places, none too small, with their sum as another."""
    places = np.maximum(means, _LEAST_MEAN)
    return np.concatenate([places, places.sum(axis=-1, keepdims=True)], axis=-1)


def _of_targets(column: FloatArray, targets: IntArray, n_kinds: int) -> FloatArray:
    found = column[targets]
    if found.ndim == 2:
        return found[:, :, None]
    found = np.repeat(found, n_kinds, axis=2)
    return np.concatenate([found, known_means(found)[:, :, None]], axis=2)
