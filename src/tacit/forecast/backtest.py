r"""Backtests: what forecasters would have said on past days, held against what came.

Origins roll through the past. At each, a forecaster knows the bins before it and speaks of those after. It is held
against the private counts (what everyone can do), or in the laboratory against the truth.

A private count is :math:`y = c + e` with a noise :math:`e` of mean 0 and known variance :math:`v`, drawn after the
forecast :math:`\mu` was made. Then :math:`E(y-\mu)^2 = E(c-\mu)^2 + v`: the mean of :math:`(y-\mu)^2 - v` errs from the
true mean squared error by chance alone. There is no such way to a mean absolute error, so none is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.files import csv_bytes, write_whole
from tacit._base.validation import check_at_least
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.counts.tally import ExactTally
from tacit.domain import ALL, Domain
from tacit.errors import SettingError
from tacit.forecast.forecast import Forecasts
from tacit.forecast.forecaster import Forecaster
from tacit.statespace.covariates import Covariates, season_length

Report = Callable[[int, int | None], None]

FEWEST_TO_LEARN: Final = 14  # two weeks of days: every weekday twice
LABORATORY: Final = "LABORATORY – not for publication"
LEVELS: Final = (0.80, 0.95)  # those that commands and pages show
_PLACES, _ALL = np.s_[..., :-1], np.s_[..., -1]  # of arrays whose last axis is places and, last, all together
_LITTLE_NOISE: Final = 0.25  # a variance at which a count can still be told by rounding


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Counts that forecasts are held against, the variance of their noise, and which of them were counted.

    Arrays are origins x horizon x (places and, last, all together).
    """

    counts: FloatArray
    variances: FloatArray
    counted: BoolArray

    def is_exact(self, some: Any) -> bool:
        return not self.variances[some][self.counted[some]].any()

    def mean(self, values: FloatArray, some: Any = _PLACES) -> Mean:
        """Return the mean over what was counted of places, or at another index."""
        return Mean.of(values[some], self.counted[some])


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over all that was forecast, and its standard error; forecasts of one origin are correlated."""

    value: float
    error: float

    @classmethod
    def of(cls, values: FloatArray, counted: BoolArray) -> Mean:
        """Return the mean over what was counted; the first axis are origins, whose means are taken for independent."""
        weights, sums = (
            part.reshape(len(values), -1).sum(axis=1) for part in (counted * 1.0, np.where(counted, values, 0.0))
        )
        n_all, n_used = float(weights.sum()), int((weights > 0).sum())
        mean = float(sums.sum() / n_all) if n_all else math.nan
        if n_used < 2:
            return cls(mean, math.nan)
        spread = np.square(sums - weights * mean).sum() * n_used / (n_used - 1)
        return cls(mean, math.sqrt(float(spread)) / n_all)


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one forecaster: means over origins, bins ahead and places (and kinds), each with its standard error.

    ``mse`` has no noise in it, ``mae`` is there only where counts are exact. ``behind`` is by how much its mean squared
    error exceeds the best one's, from the same bins. ``coverages`` and ``widths`` are those of 80 % and 95 % intervals.
    The same for all places together begins with ``total``.
    """

    name: str
    mse: Mean
    mae: Mean | None
    behind: Mean
    coverages: tuple[Mean, ...]
    widths: tuple[float, ...]
    total_mse: Mean
    total_mae: Mean | None
    total_coverages: tuple[Mean, ...]
    mse_by_lead: tuple[float, ...]

    @property
    def rmse(self) -> float:
        """The root of the mean squared error, 0 where the noise taken off was more than all of it."""
        return math.sqrt(max(self.mse.value, 0.0))

    @property
    def total_rmse(self) -> float:
        return math.sqrt(max(self.total_mse.value, 0.0))

    @property
    def is_least(self) -> bool:
        """Whether no other's mean squared error is less."""
        return self.behind.value == 0

    @property
    def is_told(self) -> bool:
        """Whether more than the noise is seen of its error: it is told from zero by two standard errors."""
        return self.mae is not None or not self.mse.value <= 2 * float(np.nan_to_num(self.mse.error))

    @property
    def rmse_at_most(self) -> float:
        """The root mean squared error two standard errors up: all that is known where noise hides it."""
        return math.sqrt(max(self.mse.value, 0.0) + 2 * np.nan_to_num(self.mse.error))


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard:
    """Forecasters in the order of how well they did: by mean absolute error where counts are exact, else squared.

    ``noise_share`` says how much of the spread of counts around forecasts is the known noise of the counts: the more,
    the less coverage says. ``is_mixed`` says that bins as far ahead are of different weekdays (or hours), so that
    errors may be compared by how far ahead they are. ``is_laboratory`` says that the truth was looked at. ``made`` are
    the forecasts of every forecaster (places, or places and kinds, and all together), ``held`` what they were held
    against.
    """

    scores: tuple[Score, ...]
    origins: IntArray
    horizon: int
    noise_share: float
    is_laboratory: bool
    is_simulation: bool
    domain: Domain
    made: Mapping[str, CountDistribution]
    held: Held

    @property
    def first(self) -> str:
        return self.domain.time.label(int(self.origins[0]))

    @property
    def last(self) -> str:
        return self.domain.time.label(int(self.origins[-1]) + self.horizon - 1)

    @property
    def is_mixed(self) -> bool:
        return bool((np.diff(self.origins) % season_length(self.domain.time.step)).any())

    @property
    def best(self) -> Score:
        return self.scores[0]

    @property
    def label(self) -> str:
        """What rows of these figures must say wherever they go; empty where there is nothing to say."""
        said = [f"{LABORATORY}: held against true counts"] if self.is_laboratory else []
        return "; ".join([*said, *(["SIMULATION: the noise came from a known seed"] if self.is_simulation else [])])

    def columns(self) -> dict[str, list[Any]]:
        """Return a row for every forecaster; what cannot be told is blank."""
        about = {
            "against": "true counts" if self.is_laboratory else "private counts",
            "noise_share": round(self.noise_share, 6),
            "first": self.first,
            "last": self.last,
            "origins": len(self.origins),
            "horizon": self.horizon,
        }
        rows = [_row(score) | about | ({"label": self.label} if self.label else {}) for score in self.scores]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def forecast_columns(self) -> dict[str, list[Any]]:
        """Return a row for every forecaster, origin, period and place (and kind), ``all`` for all together.

        ``observed`` is what it was held against; blank where nothing was counted.
        """
        time, names = self.domain.time, [*self.domain.columns, ALL]
        ahead = self.origins[:, None] + np.arange(self.horizon)
        labels = {int(bin): time.label(int(bin)) for bin in {*(self.origins - 1).tolist(), *ahead.ravel().tolist()}}
        both = zip(self.held.counts.flat, self.held.counted.flat, strict=True)
        observed = [round(count, 3) if is_counted else "" for count, is_counted in both]
        n_names, rows = len(names), ahead.size * len(names)
        found: dict[str, list[Any]] = {}
        for name, each in self.made.items():
            part: dict[str, list[Any]] = {
                "model": [name] * rows,
                "known_until": np.repeat([labels[int(o) - 1] for o in self.origins], self.horizon * n_names).tolist(),
                "period": np.repeat([labels[int(bin)] for bin in ahead.flat], n_names).tolist(),
                "place": names * ahead.size,
                "expected": np.round(each.means, 3).ravel().tolist(),
            }
            for level in LEVELS:
                for end, limit in zip(("lower", "upper"), each.intervals(level), strict=True):
                    part[f"{end}_{100 * level:g}"] = limit.ravel().astype(np.int64).tolist()
            part |= {"observed": observed} | ({"label": [self.label] * rows} if self.label else {})
            for column, values in part.items():
                found.setdefault(column, []).extend(values)
        return found

    def write(self, path: str | Path) -> None:
        """Write the leaderboard as CSV, with what it was made of in its last columns."""
        write_whole(Path(path), csv_bytes(self.columns()))

    def write_forecasts(self, path: str | Path) -> None:
        """Write every forecast beside what came as CSV: :meth:`forecast_columns`."""
        write_whole(Path(path), csv_bytes(self.forecast_columns()))

    def remarks(self) -> list[str]:
        """Return what a reader of the figures must know."""
        n_origins = len(self.origins)
        said = [
            f"{_many(n_origins, 'origin')}, {_many(self.horizon, 'period')} ahead{' each' if n_origins > 1 else ''}, "
            f"{_many(n_origins * self.horizon, 'forecast')} of every place"
            f"{'' if self.domain.kind is None else ' and kind'}, from {self.first} to {self.last}."
        ]
        if self.is_laboratory:
            said.insert(0, f"{LABORATORY}: held against true counts.")
        elif self.noise_share > 0:
            said.append(
                "Held against private counts, with their known noise taken off. "
                f"That noise is {100 * self.noise_share:.0f}% of their spread around the best forecast."
            )
        if not self.best.is_told:
            said.append(
                "Noise is all that is seen here of the best forecast's error, so no model can be called best: compare "
                "longer periods, or all places together."
            )
        if self.is_simulation:
            said.append("SIMULATION: the noise came from a known seed.")
        return said


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def backtest(
    forecasters: Mapping[str, Forecaster] | Sequence[Forecaster],
    series: Series,
    *,
    origins: int | IntArray = 52,
    horizon: int = 7,
    every: int | None = None,
    covariates: Covariates | None = None,
    truth: ExactTally | None = None,
    refit_every: int | None = None,
    progress: Report | None = None,
) -> Leaderboard:
    """Return how forecasters did on the last bins of a series, or against the ``truth`` of them.

    ``origins`` are the numbers of the bins from which to look ahead, or how many there are: then they lie ``every``
    bins apart, or a ``horizon``, so that every bin is forecast once, and the last one's horizon ends with the series. A
    forecaster learns from the bins before the first origin, and again at each ``refit_every``-th one. Covariates are
    taken for known ahead, weather too.
    """
    check_at_least(1, horizon=horizon, refit_every=1 if refit_every is None else refit_every)
    named = dict(forecasters) if isinstance(forecasters, Mapping) else {one.name: one for one in forecasters}
    if not named or len(named) < len(forecasters):
        raise SettingError("forecasters must be one or more, of different names. Name them: {'a': ..., 'b': ...}.")
    at = _origins(origins, horizon, horizon if every is None else every, len(series))
    groups = [at] if refit_every is None else [at[i : i + refit_every] for i in range(0, len(at), refit_every)]
    held, made = _held(series, truth, at, horizon), dict[str, CountDistribution]()
    told, n_all = progress or (lambda _done, _all: None), len(named) * len(groups)
    for n_done, (name, forecaster) in enumerate(named.items()):
        parts: list[Forecasts] = []
        for group in groups:
            told(n_done * len(groups) + len(parts), n_all)
            # learning sees a series that ends at the first origin, so that nothing later can be looked at
            fitted = forecaster.fit(series.until(int(group[0])), covariates)
            parts.append(fitted.predict_from(series.until(int(group[-1]) + horizon), group, horizon))
        made[name] = CountDistribution.joined([part.each for part in parts])
    told(n_all, n_all)
    squares = {name: squared_errors(each, held) for name, each in made.items()}
    best = min(squares.values(), key=lambda found: held.mean(found).value)
    scores = [_score(name, made[name], held, best) for name in made]
    scores.sort(key=lambda score: (score.mse if score.mae is None else score.mae).value)
    raw, noise = held.mean(best + held.variances).value, held.mean(held.variances).value
    return Leaderboard(
        tuple(scores),
        at,
        horizon,
        noise_share=min(noise / raw, 1.0) if raw > 0 else 0.0,
        is_laboratory=truth is not None,
        is_simulation=series.is_simulation,
        domain=series.domain,
        made=made,
        held=held,
    )


def _origins(asked: int | IntArray, horizon: int, every: int, n_times: int) -> IntArray:
    if isinstance(asked, int):
        check_at_least(1, origins=asked, every=every)
        found = n_times - horizon - every * np.arange(asked - 1, -1, -1, dtype=np.int64)
    else:
        found = np.sort(np.asarray(asked, np.int64))
    if not found.size or found[-1] + horizon > n_times or found[0] < FEWEST_TO_LEARN:
        most = max((n_times - FEWEST_TO_LEARN - horizon) // every + 1, 0)
        less = f"Ask for {'fewer, or a shorter horizon' if most else 'a shorter horizon, or wait for more periods'}."
        raise SettingError(
            f"origins must leave {FEWEST_TO_LEARN} periods before the first to learn from, and {horizon} after the "
            f"last; the series has {n_times}, which is enough for {_many(most, 'origin')}. {less}"
        )
    return found


def _held(series: Series, truth: ExactTally | None, at: IntArray, horizon: int) -> Held:
    """Return what forecasts at these origins are held against."""
    ahead = at[:, None] + np.arange(horizon)
    counts = np.column_stack([series.values, series.totals])
    variances = np.column_stack([series.stated_variances, series.total_variances])
    if truth is not None:
        true = truth.reveal().astype(np.float64)
        if true.shape[0] < len(series) or true.shape[1:] != series.values.shape[1:]:
            raise SettingError(
                f"truth must have the series' shape {series.values.shape}; got shape={true.shape}. "
                "Count the events over the same periods, places and kinds."
            )
        counts = np.column_stack([true, true.sum(axis=1)])
        variances = np.zeros(counts.shape)
    return Held(counts[ahead], variances[ahead], series.observed[ahead])


def _score(name: str, made: CountDistribution, held: Held, best: FloatArray) -> Score:
    own, absolute = squared_errors(made, held), np.abs(held.counts - made.means)
    inside = [covered(made, held, level) for level in LEVELS]
    widths = (upper - lower for lower, upper in map(made.intervals, LEVELS))
    return Score(
        name,
        held.mean(own),
        held.mean(absolute) if held.is_exact(_PLACES) else None,
        held.mean(own - best),
        tuple(map(held.mean, inside)),
        tuple(held.mean(width).value for width in widths),
        held.mean(own, _ALL),
        held.mean(absolute, _ALL) if held.is_exact(_ALL) else None,
        tuple(held.mean(found, _ALL) for found in inside),
        tuple(held.mean(own, np.s_[:, lead, :-1]).value for lead in range(own.shape[1])),
    )


def squared_errors(distribution: CountDistribution, held: Held) -> FloatArray:
    """Return squared errors whose mean is the true mean squared error: the noise's variance is taken off."""
    return np.asarray(np.square(held.counts - distribution.means) - held.variances, np.float64)


def covered(distribution: CountDistribution, held: Held, level: float) -> FloatArray:
    """Return whether each count lies within its interval; a noisy one within an interval widened by its known noise.

    Counts with next to no noise are covered with the probability of :meth:`CountDistribution.coverage`, noisy ones with
    0 or 1.
    """
    is_noisy = held.variances > _LITTLE_NOISE
    found = np.zeros(held.counts.shape)
    found[~is_noisy] = distribution[~is_noisy].coverage(np.maximum(np.round(held.counts[~is_noisy]), 0.0), level)
    counts, noise = held.counts[is_noisy], held.variances[is_noisy]
    ends = (1 - level) / 2, (1 + level) / 2
    lower, upper = (_noisy_quantiles(distribution[is_noisy], noise, share) for share in ends)
    found[is_noisy] = (lower <= counts) & (counts <= upper)
    return found


def _noisy_quantiles(distribution: CountDistribution, noise: FloatArray, share: float) -> FloatArray:
    r"""Return quantiles of a negative binomial count plus normal noise, by the expansion of Cornish and Fisher.

    With :math:`d = \sigma^2/\mu` the count's cumulants are :math:`\mu d, \mu d(2d-1), \mu d(6d^2-6d+1)` from the second
    on; the noise adds to the second alone.
    """
    means = np.maximum(distribution.means, 1e-9)  # guards the division
    own = np.maximum(distribution.variances, means)
    d = own / means
    spread = np.sqrt(own + noise)
    skew = own * (2 * d - 1) / spread**3
    excess = own * (6 * d**2 - 6 * d + 1) / spread**4
    z = NormalDist().inv_cdf(share)
    turned = z + (z**2 - 1) * skew / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skew**2 / 36
    return np.asarray(means + spread * turned, np.float64)


def _row(score: Score) -> dict[str, Any]:
    def cells(name: str, mean: Mean | None) -> dict[str, Any]:
        return {name: "" if mean is None else mean.value, f"{name}_error": "" if mean is None else mean.error}

    row: dict[str, Any] = {"model": score.name, "rmse": score.rmse if score.is_told else ""}
    row |= {"rmse_at_most": score.rmse_at_most, **cells("mse", score.mse), **cells("mse_behind_best", score.behind)}
    row |= cells("mae", score.mae)
    for level, coverage, width in zip(LEVELS, score.coverages, score.widths, strict=True):
        row |= cells(f"coverage_{100 * level:g}", coverage) | {f"width_{100 * level:g}": width}
    row |= {"total_rmse": score.total_rmse, "total_mae": "" if score.total_mae is None else score.total_mae.value}
    for level, coverage in zip(LEVELS, score.total_coverages, strict=True):
        row[f"total_coverage_{100 * level:g}"] = coverage.value
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
