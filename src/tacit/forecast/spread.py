r"""How far counts fall from what was expected, learned from private residuals less the noise that is known.

A count expected to be L varies as

.. math:: L + \kappa + \phi L^2,

where kappa is what the forecast itself varies by for known reasons (noise of the counts it is made of), and phi all
that is left: what drives counts beyond chance, and what the model gets wrong. The residuals of private counts
vary by their own noise v besides, whose variance is known and taken away. Under much noise little is left to learn phi
from: then it is drawn to that of all places, and that of all places to the one of the totals, which are known better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.count_law import CountLaw
from tacit.forecast.history import History
from tacit.statespace.calendar import season_length

_MOST_ORIGINS: Final = 120
_MOST_NUMBERS: Final = 2_000_000
_CAP: Final = 4.0  # deviations; one storm must not widen every day
_ROUNDS: Final = 4
_AGREEING: Final = 2.0  # residuals that hang together tell half as much as independent ones
_USUAL: Final = 0.03  # phi of a day of all places where nothing is known
_USUAL_DRIFT: Final = 0.1  # relative change from year to year where there is no second year


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Means at some origins: origins x horizon x (places and all).

    ``known`` is the variance of the mean itself as far as it is known; ``repeats`` (origins x horizon) says how many
    steps of the horizon share one mean, whose error counts that many times over in their sum. ``shared`` is the
    variance of an error that all steps have in common, the noise of a place's level say.
    """

    means: FloatArray
    known: FloatArray
    repeats: FloatArray
    shared: FloatArray

    @classmethod
    def of(
        cls,
        means: FloatArray,
        *,
        known: FloatArray | None = None,
        repeats: FloatArray | None = None,
        shared: FloatArray | None = None,
    ) -> Expected:
        """Means, and what is known of their own error; the rest of it is in the residuals."""
        none = np.zeros(means.shape)
        ones = np.ones(means.shape[:2])
        return cls(
            means,
            none if known is None else known,
            ones if repeats is None else repeats,
            none if shared is None else shared,
        )

    def variances(self) -> FloatArray:
        """What is known of the error of each mean."""
        return self.known + self.shared

    def sum_variances(self, is_seen: NDArray[np.bool_] | bool = True) -> FloatArray:
        """What is known of the error of the sum of the means over the horizon, or over a part of it."""
        known = np.where(is_seen, self.known * self.repeats[:, :, None], 0.0).sum(axis=1)
        return np.asarray(known + np.square(np.where(is_seen, np.sqrt(self.shared), 0.0).sum(axis=1)), np.float64)


Expect = Callable[[IntArray, int], Expected]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """phi of single bins and of sums over a horizon, at some horizons: horizons x (places and all).

    Beyond the last horizon phi grows by ``drift`` squared a year.
    """

    horizons: FloatArray
    single: FloatArray
    summed: FloatArray
    drift: float
    per_year: int

    def law(self, expected: Expected, leads: FloatArray, unseen: IntArray) -> CountLaw:
        """The law of single counts.

        ``leads`` (origins x horizon) are the bins since the model last learned, ``unseen`` how many just before each
        origin were not counted.
        """
        phi = self._at(self.single, leads, unseen[:, None])
        means = expected.means
        return CountLaw(means, np.asarray(means + expected.variances() + phi * np.square(means), np.float64))

    def law_of_sums(self, expected: Expected, leads: FloatArray, unseen: IntArray) -> CountLaw:
        """The law of the sums over the whole horizon: origins x (places and all)."""
        levels = expected.means.sum(axis=1)
        known = expected.sum_variances()
        phi = self._at(self.summed, leads[:, -1], unseen)
        return CountLaw(expected.means.sum(axis=1), np.asarray(levels + known + phi * np.square(levels), np.float64))

    def _at(self, table: FloatArray, leads: FloatArray, unseen: IntArray) -> FloatArray:
        """phi at these leads; after a gap no less than without it, and what the level may have moved meanwhile."""
        found = np.maximum(self._beyond(table, leads), self._beyond(table, leads + unseen))
        return np.asarray(found + (self.drift**2 * unseen / self.per_year)[..., None], np.float64)

    def _beyond(self, table: FloatArray, leads: FloatArray) -> FloatArray:
        at = np.log(np.maximum(leads, 1.0))
        found = np.stack([np.interp(at, np.log(self.horizons), column) for column in table.T], axis=-1)
        beyond = np.maximum(leads - self.horizons[-1], 0.0) / self.per_year
        return np.asarray(found + (self.drift**2 * beyond)[..., None], np.float64)

    def state(self) -> dict[str, Any]:
        """As plain data and arrays."""
        return {name: getattr(self, name) for name in ("horizons", "single", "summed", "drift", "per_year")}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Spread:
        horizons, single, summed = (np.asarray(state[name], np.float64) for name in ("horizons", "single", "summed"))
        return cls(horizons, single, summed, float(state["drift"]), int(state["per_year"]))


def learn_spread(history: History, expect: Expect, *, first: int, horizons: Sequence[int]) -> Spread:
    """Compare what ``expect`` says at origins from ``first`` on with what was counted.

    Horizons that the history is too short for are left out; with none left the spread is what is usual.
    """
    n_times, n_columns = history.values.shape
    per_year = season_length(history.time.step, "year")
    prior = np.full(n_columns, _USUAL)
    found: list[tuple[float, FloatArray, FloatArray]] = []
    for horizon in horizons:
        origins = _origins(first, n_times - horizon, n_numbers=horizon * n_columns)
        if len(origins) < 3:
            break
        seen = _compare(history, expect(origins, horizon), origins)
        # sums that overlap are told apart by their own bins only
        stride = max(float(origins[-1] - origins[0]) / (len(origins) - 1), 1.0)
        single = _phi(seen.last, prior, _AGREEING)
        # where noise hides it, what moves one bin is taken to move all
        summed = single if horizon == 1 else _phi(seen.summed, single, max(_AGREEING, horizon / stride))
        found.append((float(horizon), single, summed))
        prior = single
    if not found:
        found = [(1.0, prior * 2, prior * 2)]
    steps, single_rows, summed_rows = zip(*found, strict=True)
    return Spread(np.array(steps), np.array(single_rows), np.array(summed_rows), _drift(history, per_year), per_year)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Squared residuals, the levels they belong to, and the variance known of them: cases x columns."""

    squares: FloatArray
    levels: FloatArray
    known: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    last: _Seen
    summed: _Seen


def _origins(first: int, last: int, *, n_numbers: int) -> IntArray:
    if last < first:
        return np.zeros(0, np.int64)
    count = max(min(_MOST_ORIGINS, _MOST_NUMBERS // n_numbers, last - first + 1), 1)
    # an uneven stride, so that origins fall on all days of the week
    return np.unique(np.linspace(first, last, count).astype(np.int64))


def _compare(history: History, expected: Expected, origins: IntArray) -> _Compared:
    targets = origins[:, None] + np.arange(expected.means.shape[1])[None, :]
    is_seen = history.counted[targets][:, :, None]
    residuals = np.where(is_seen, history.values[targets] - expected.means, 0.0)
    noise = np.where(is_seen, history.variances[targets], 0.0)
    levels = np.where(is_seen, expected.means, 0.0)
    known = np.where(is_seen, expected.variances(), 0.0)
    last = _Seen(np.square(residuals[:, -1]), levels[:, -1], (noise + known)[:, -1])
    summed_known = noise.sum(axis=1) + expected.sum_variances(is_seen)
    summed = _Seen(np.square(residuals.sum(axis=1)), levels.sum(axis=1), summed_known)
    return _Compared(last, summed)


def _phi(seen: _Seen, prior: FloatArray, agreeing: float) -> FloatArray:
    """phi of each column: the totals' first, then what the places have in common, then each place's own.

    Of ``agreeing`` cases only one is independent of the others. What moves the total moves its places: they have no
    less in common than that.
    """
    alone, information = _moments(seen, prior)
    information = information / agreeing
    found = np.empty(len(prior))
    found[-1] = _drawn(alone[-1], information[-1], prior[-1])
    places, weights = alone[:-1], information[:-1]
    usual = max(float(found[-1]), float(prior[:-1].mean()), 1e-3)
    pooled = float((weights * places).sum() / max(float(weights.sum()), 1e-300))
    common = max(_drawn(pooled, float(weights.sum()), usual), float(found[-1]))
    found[:-1] = [_drawn(phi, weight, max(common, 1e-3)) for phi, weight in zip(places, weights, strict=True)]
    return found


def _drawn(phi: float, information: float, prior: float) -> float:
    """An estimate drawn to the prior, whose deviation is its own size."""
    own = 1 / max(prior, 1e-3) ** 2
    return max((information * phi + own * prior) / (information + own), 0.0)


def _moments(seen: _Seen, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """phi of each column by itself, and one over the variance that this estimate has if the prior is right."""
    base = seen.levels + seen.known
    quadratic = np.square(seen.levels)
    phi, information = prior, np.zeros(len(prior))
    for turn in range(_ROUNDS):
        variance = np.maximum(base + np.maximum(phi, 0.0) * quadratic, 1e-12)
        weights = quadratic / np.square(variance)
        squares = np.minimum(seen.squares, _CAP**2 * variance)
        sums = np.maximum((weights * quadratic).sum(axis=0), 1e-300)
        phi = np.asarray((weights * (squares - base)).sum(axis=0) / sums, np.float64)
        if turn == 0:
            information = np.asarray(sums / 2, np.float64)
    return phi, information


def _drift(history: History, per_year: int) -> float:
    """The relative change of a year's total against the year before."""
    n_years = len(history) // per_year
    if n_years < 2:
        return _USUAL_DRIFT
    shape = (n_years, per_year)
    counted = history.counted[-n_years * per_year :].reshape(shape)
    totals = np.where(counted, history.values[-n_years * per_year :, -1].reshape(shape), 0.0).sum(axis=1)
    means = totals / np.maximum(counted.sum(axis=1), 1)
    whole = means[(counted.mean(axis=1) > 0.5) & (means > 0)]
    if len(whole) < 2:
        return _USUAL_DRIFT
    return float(np.sqrt(np.mean(np.square(np.diff(np.log(whole))))))
