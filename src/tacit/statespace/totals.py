r"""How many events there will be in all places together.

The logarithm of a total's rate is a level that drifts, a wander around it that is forgotten in days, and regressors
whose coefficients change slowly (:mod:`tacit.statespace.covariates`). Totals vary around the rate m by chance and
beyond it,

.. math:: \operatorname{Var} T = m + \phi m^2 + v,

with the variance v of the noise where totals are not public. A filter follows the rate (``rate_states``); what it
expects of each bin before it is seen says how likely a habit is, and how far off forecasts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.extras import require
from tacit._base.kernels import compiled_kernels
from tacit.counts.count_law import CountLaw
from tacit.counts.exact_intervals import normal_quantile
from tacit.domain import TimeAxis
from tacit.statespace.ahead import Ahead
from tacit.statespace.calendar import DAYS_A_YEAR, bin_days, season_length
from tacit.statespace.covariates import CHANGING, USUAL_SIZES, Covariates, Terms

_LARGEST: Final = 2.5
_HALF_LIFE_YEARS: Final = 2.0
FEWEST_BINS: Final = 28
"""With fewer bins no habit is learned."""
_MOST_BINS: Final = 12_000
_SPECIAL_SCORE: Final = 4.0
_SPECIAL_YEARS: Final = 3
_MOST_SPECIALS: Final = 12
_LEVELS: Final = (0.8, 0.95)
_LEAST_EXCESS: Final = 1.0
_YEARS_DIFFER: Final = 1.2
_LOOK_BACK_YEARS: Final = 6.0
_MOST_ORIGINS: Final = 800
_MOST_EXCESS: Final = 30.0
_HALVINGS: Final = 12


@dataclass(frozen=True, slots=True)
class Habits:
    """How the rate of totals varies, relative to it.

    ``drift`` of the level in a year; ``wander`` around it, forgotten in ``memory`` days; ``overdispersion`` of single
    bins; ``change`` of coefficients in a year, in parts of their usual size.
    """

    drift: float = 0.1
    wander: float = 0.06
    memory: float = 7.0
    overdispersion: float = 0.004
    change: float = 0.1


_PRIOR: Final = np.log(np.array(astuple(Habits())))
_PRIOR_DEVIATIONS: Final = np.array([1.5, 1.0, 0.7, 1.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What is known of totals: for each bin the total, and the variance of its noise (infinite where nothing is)."""

    time: TimeAxis
    counts: FloatArray
    errors: FloatArray
    covariates: Covariates | None

    def until(self, n_times: int) -> Totals:
        return replace(self, counts=self.counts[:n_times], errors=self.errors[:n_times])

    def since_seen(self, origins: IntArray) -> IntArray:
        """Of how many bins just before each origin nothing is known."""
        last = np.maximum.accumulate(np.where(np.isfinite(self.errors), np.arange(len(self.errors)), -1))
        return np.asarray(origins - 1 - np.concatenate([[-1], last])[origins], np.int64)

    @property
    def bin_days(self) -> float:
        return bin_days(self.time)


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """What was expected of the log rate of each bin before it was seen; and what was known at origins."""

    logs: FloatArray
    variances: FloatArray
    states: FloatArray
    spreads: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class TotalModel:
    """The habits of totals, once learned. ``start`` and ``start_variance`` are of the log rate at the beginning."""

    terms: Terms
    habits: Habits
    start: float
    start_variance: float
    excess: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def learned(cls, totals: Totals) -> TotalModel:
        """Learn from all bins."""
        n_times = len(totals.counts)
        seen = np.isfinite(totals.errors)
        n_events = max(float(totals.counts[seen].sum()), 0.5)
        early = totals.counts[seen][: max(FEWEST_BINS, int(60 / totals.bin_days))]
        level = max(float(np.median(early)), 0.2 * float(early.mean()), n_events / max(seen.sum(), 1) / 20)
        model = cls(Terms.learned(totals.covariates, n_times), Habits(), float(np.log(level)), 0.25 + 1 / n_events)
        if seen.sum() < FEWEST_BINS:
            return model
        model = replace(model, habits=_fitted(model, totals, n_steps=160))
        specials = model._specials(totals) if totals.time.step == "day" else ()
        if specials:
            model = replace(model, terms=replace(model.terms, specials=specials))
        model = replace(model, habits=_fitted(model, totals, n_steps=90))
        return replace(model, excess=_excess(model, totals))

    def excesses(self, step: str, leads: FloatArray) -> FloatArray:
        """How many times the model's own variance bins have that are so many (1 or more) after the last one seen.

        Storms, and years that differ, are included.
        """
        return np.asarray(np.interp(np.log(leads), np.log(np.array(_leads(step), np.float64)), self.excess), np.float64)

    def follow(self, totals: Totals, origins: IntArray) -> Followed:
        """Go through all bins, and keep what was known at origins (ascending)."""
        basis = self.terms.rows(totals.time, totals.covariates, 0, len(totals.counts))
        return self._follow(totals, basis, origins)

    def ahead(self, totals: Totals, followed: Followed, origins: IntArray, horizon: int) -> Ahead:
        """The log rate of the bins after each origin."""
        stop = int(origins.max()) + horizon
        rows = self.terms.rows(totals.time, totals.covariates, 0, stop)
        basis = rows[origins[:, None] + np.arange(horizon)]
        memory, steps, _, _ = self._dynamics(totals)
        return Ahead(followed.states, followed.spreads, basis, memory, steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "terms": self.terms.to_dict(),
            "habits": list(astuple(self.habits)),
            "start": self.start,
            "start_variance": self.start_variance,
            "excess": list(self.excess),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        terms, habits = Terms.from_dict(content["terms"]), Habits(*map(float, content["habits"]))
        excess = tuple(map(float, content["excess"]))
        return cls(terms, habits, float(content["start"]), float(content["start_variance"]), excess)

    def _follow(self, totals: Totals, basis: FloatArray, origins: IntArray) -> Followed:
        memory, steps, state, spread = self._dynamics(totals)
        n_times, size = len(basis), len(state)
        found = Followed(
            np.empty(n_times), np.empty(n_times), np.empty((len(origins), size)), np.empty((len(origins), size, size))
        )
        compiled_kernels("filters").rate_states(
            totals.counts,
            totals.errors,
            basis,
            state,
            spread,
            steps,
            memory,
            self.habits.overdispersion,
            _LARGEST,
            origins,
            found.logs,
            found.variances,
            found.states,
            found.spreads,
        )
        return found

    def _dynamics(self, totals: Totals) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """How much of the wander is left after a bin, what a bin adds, and the state and its spread at the start."""
        kinds, years = self.terms.kinds(totals.time.step), totals.bin_days / DAYS_A_YEAR
        memory = float(np.exp(-totals.bin_days / self.habits.memory))
        sizes = np.array([USUAL_SIZES[kind] for kind in kinds])
        changes = np.array([self.habits.change * (kind in CHANGING) for kind in kinds])
        wander = self.habits.wander**2
        steps = np.concatenate(
            [[self.habits.drift**2 * years, wander * (1 - memory * memory)], np.square(sizes * changes) * years]
        )
        state = np.array([self.start, 0.0, *(float(kind == "length") for kind in kinds)])
        spread = np.diag(np.concatenate([[self.start_variance, wander], np.square(sizes)]))
        return memory, steps, state, spread

    def _specials(self, totals: Totals) -> tuple[str, ...]:
        """Days of the year that several years agree to be out of the ordinary."""
        followed = self.follow(totals, np.empty(0, np.int64))
        far = np.clip(scores(totals, followed, self.habits.overdispersion), -4.0, 4.0)
        days = totals.time.without_end().starts(len(totals.counts)).astype("datetime64[D]").astype(str)
        of_day: dict[str, list[float]] = {}
        for day, score in zip(days.tolist(), far.tolist(), strict=True):
            if np.isfinite(score):
                of_day.setdefault(day[5:], []).append(score)
        found = {
            day: abs(float(np.sum(some))) / len(some) ** 0.5
            for day, some in of_day.items()
            if len(some) >= _SPECIAL_YEARS
        }
        best = sorted((day for day in found if found[day] > _SPECIAL_SCORE), key=lambda day: (-found[day], day))
        return tuple(sorted(best[:_MOST_SPECIALS]))


def scores(totals: Totals, followed: Followed, overdispersion: float) -> FloatArray:
    """How far each total was from what was expected, in standard deviations; NaN where nothing was seen."""
    rates = np.exp(followed.logs)
    seen = np.isfinite(totals.errors)
    errors = np.where(seen, totals.errors, 0.0)
    spread = rates + (overdispersion + followed.variances) * np.square(rates) + errors
    return np.where(seen, (totals.counts - rates) / np.sqrt(spread), np.nan)


def _fitted(model: TotalModel, totals: Totals, *, n_steps: int) -> Habits:
    """The habits of greatest penalized likelihood; recent years count for more, and a bin far off for less."""
    n_times = len(totals.counts)
    first = max(n_times - _MOST_BINS, 0)
    basis = model.terms.rows(totals.time, totals.covariates, 0, n_times)[first:]
    part = replace(totals, counts=totals.counts[first:], errors=totals.errors[first:])
    seen = np.isfinite(part.errors)
    ages = (n_times - np.arange(first, n_times)) * totals.bin_days / DAYS_A_YEAR
    weights = np.where(seen, 0.5 ** (ages / _HALF_LIFE_YEARS), 0.0)
    weights[: min(60, len(weights) // 4)] = 0.0  # where the filter has yet to find the level
    none = np.empty(0, np.int64)

    def loss(logs: FloatArray) -> float:
        habits = Habits(*np.exp(np.clip(logs, -12.0, 8.0)).tolist())
        followed = replace(model, habits=habits)._follow(part, basis, none)
        far = np.abs(np.nan_to_num(scores(part, followed, habits.overdispersion)))
        rates = np.exp(followed.logs)
        errors = np.where(seen, part.errors, 0.0)
        spread = rates + (habits.overdispersion + followed.variances) * np.square(rates) + errors
        costs = np.where(far < _LARGEST, 0.5 * np.square(far), _LARGEST * far - 0.5 * _LARGEST**2)
        total = float(weights @ (costs + 0.5 * np.log(spread)))
        return total + 0.5 * float(np.square((logs - _PRIOR) / _PRIOR_DEVIATIONS).sum())

    start = np.log(np.array(astuple(model.habits)))
    corners = np.vstack([start, start + 0.7 * np.eye(len(start))])
    options = {"maxfev": n_steps, "xatol": 0.05, "fatol": 0.05, "initial_simplex": corners}
    found = require("scipy.optimize", extra="forecast").minimize(loss, start, method="Nelder-Mead", options=options)
    return Habits(*np.exp(np.clip(found.x, -12.0, 8.0)).tolist())


def _leads(step: str) -> tuple[int, ...]:
    """So many bins ahead forecasts of the past are looked at."""
    season = season_length(step)
    return (1, 4, 12) if step in ("week", "month", "year") else (1, season, 4 * season)


def _excess(model: TotalModel, totals: Totals) -> tuple[float, ...]:
    """How many times the model's own variance makes intervals hold as many past totals as they should.

    At each of a few horizons; not less than once, and a little more: some years vary more than those before them.
    """
    n_times, found = len(totals.counts), [1.0]
    first = max(min(60, n_times // 4), n_times - int(_LOOK_BACK_YEARS * DAYS_A_YEAR / totals.bin_days))
    leads = _leads(totals.time.step)
    origins = np.arange(first, n_times, max((n_times - first) // _MOST_ORIGINS, 1))
    followed = model.follow(totals, origins)
    ahead = model.ahead(totals, followed, origins, leads[-1])
    logs, variances = ahead.means(), ahead.variances()
    for lead in leads:
        bins = origins + lead - 1
        is_seen = (bins < n_times) & np.isfinite(totals.errors[np.minimum(bins, n_times - 1)])
        if is_seen.sum() < FEWEST_BINS:
            found.append(found[-1])
            continue
        bins, log, variance = bins[is_seen], logs[is_seen, lead - 1], variances[is_seen, lead - 1]
        weights = 0.5 ** ((n_times - bins) * totals.bin_days / DAYS_A_YEAR / _HALF_LIFE_YEARS)
        means, own = np.exp(log + variance / 2), model.habits.overdispersion + np.expm1(variance)
        found.append(_factor(totals.counts[bins], totals.errors[bins], means, own, weights / weights.sum()))
    return tuple(_YEARS_DIFFER * factor for factor in found[1:])


def _factor(counts: FloatArray, errors: FloatArray, means: FloatArray, own: FloatArray, weights: FloatArray) -> float:
    """The multiple of relative variances at which intervals cover as much as they say, by halving.

    Where noise is most of what varies, nothing can be told, and the model's own variance stays.
    """
    chance = means + own * np.square(means)
    if float(weights @ errors) > float(weights @ chance):
        return _LEAST_EXCESS
    low, high = np.log(_LEAST_EXCESS), np.log(_MOST_EXCESS)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        spread = means + np.exp(middle) * own * np.square(means) + errors
        too_wide = sum(float(weights @ _covered(counts, means, spread, errors, level)) - level for level in _LEVELS)
        low, high = (low, middle) if too_wide > 0 else (middle, high)
    return float(np.exp(0.5 * (low + high)))


def _covered(counts: FloatArray, means: FloatArray, spread: FloatArray, errors: FloatArray, level: float) -> FloatArray:
    """How much of each count an interval holds; noisy totals may be negative, and have normal ones."""
    if errors.any():
        return np.asarray(np.abs(counts - means) <= normal_quantile(level) * np.sqrt(spread), np.float64)
    return CountLaw(means, spread).coverage(counts, level)
