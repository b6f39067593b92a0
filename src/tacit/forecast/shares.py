"""Which part of the events each place will have.

The model is that of smoothing (:mod:`tacit.postprocess.smoothing.model`): a share is a level that drifts, a wander,
weekday and yearly terms, of which unbiased counts with noise of known variance tell. A filter follows it; bins whose
total is out of the ordinary count for less, since storms are local.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tacit._kernels import state_kernels
from tacit.domain import TimeAxis
from tacit.forecast.ahead import Ahead
from tacit.noise.drifting import StateSpace
from tacit.postprocess.smoothing.measured import Measured
from tacit.postprocess.smoothing.model import Setting, Variability
from tacit.postprocess.smoothing.seasons import Seasons, seasons
from tacit.postprocess.smoothing.steps import fitted

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST_SHARE: Final = 0.1
_PLACES_AT_ONCE: Final = 64
_FEWEST_BINS: Final = 28
_ARRAYS: Final = ("base", "start", "start_variances", "shares", "scales", "shocks")


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What is expected of the shares of the bins after each origin, origins x horizon x places: they add up to 1."""

    means: FloatArray
    variances: FloatArray
    ahead: tuple[Ahead, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ShareModel:
    """How shares vary, once learned; ``shares`` are those around which the variances of counts were taken."""

    variability: Variability
    base: FloatArray
    start: FloatArray
    start_variances: FloatArray
    shares: FloatArray
    scales: FloatArray
    shocks: FloatArray

    @classmethod
    def learned(
        cls, known: Measured, time: TimeAxis, bursts: FloatArray, sizes: FloatArray | None = None
    ) -> ShareModel:
        """Learn from all bins. ``sizes`` are known to be about in proportion to shares: populations, say."""
        calendar = seasons(time.with_end(len(known.exposures)))
        is_short = np.count_nonzero(known.exposures) < _FEWEST_BINS
        found = fitted(known, calendar, bursts, Variability() if is_short else None)
        setting = found.setting if sizes is None else _with_sizes(found.setting, sizes)
        arrays = {name: np.asarray(getattr(setting, name), np.float64) for name in _ARRAYS}
        return cls(found.variability, **arrays)

    def foresee(self, known: Measured, time: TimeAxis, bursts: FloatArray, origins: IntArray, horizon: int) -> Shares:
        """What is expected after each origin (ascending), with the bins before it."""
        n_times, stop = len(known.exposures), int(origins.max()) + horizon
        calendar = seasons(time.without_end().with_end(max(n_times, stop)))
        model, observed = self._model(known, calendar.until(n_times), bursts)
        coming = calendar.basis[origins[:, None] + np.arange(horizon)]
        n_places = len(self.base)
        means, variances = np.empty((2, len(origins), horizon, n_places))
        ahead: list[Ahead] = []
        for first in range(0, n_places, _PLACES_AT_ONCE):
            places = np.arange(first, min(first + _PLACES_AT_ONCE, n_places))
            for place, one in zip(places, _ahead(model, observed, origins, coming, places), strict=True):
                means[:, :, place], variances[:, :, place] = one.means() + self.start[place], one.variances()
                if len(origins) == 1:
                    ahead.append(one)
        return Shares(_added_up(means, variances, self.base), variances, tuple(ahead))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _ARRAYS} | {"variability": list(astuple(self.variability))}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        arrays = {name: np.asarray(content[name], np.float64) for name in _ARRAYS}
        return cls(Variability(*map(float, content["variability"])), **arrays)

    def _model(self, known: Measured, calendar: Seasons, bursts: FloatArray) -> tuple[StateSpace, FloatArray]:
        """The model of all bins, those after what it learned from included."""
        n_times, n_places = known.counts.shape
        later = np.broadcast_to(self.shares[-1], (max(n_times - len(self.shares), 0), n_places))
        shares = np.concatenate([self.shares, later])[:n_times]
        shocks = self.shocks
        if shocks.shape != (1, 1):
            shocks = np.concatenate([shocks, np.zeros((max(n_times - len(shocks), 0), n_places))])[:n_times]
        setting = Setting(
            measured=known,
            calendar=calendar,
            bursts=bursts,
            base=self.base,
            start=self.start,
            start_variances=self.start_variances,
            shares=shares,
            scales=self.scales,
            shocks=shocks,
        )
        return setting.model(self.variability), setting.observed


def _with_sizes(setting: Setting, sizes: FloatArray) -> Setting:
    """Let sizes say where shares start; how far shares are from them is found from the places themselves."""
    known, base = setting.measured, setting.base
    total = max(float(known.exposures.sum()), 1.0)
    raw = known.counts.sum(axis=0) / total
    errors = known.errors(np.broadcast_to(base, known.counts.shape)).sum(axis=0) / total**2
    prior = sizes / sizes.sum()
    relative = np.square(raw / prior - 1) - errors / np.square(prior)
    weights = 1 / np.square(errors / np.square(prior) + 0.1)
    deviation = np.sqrt(np.clip(weights @ relative / weights.sum(), 0.15**2, 1.0))
    variances = np.square(deviation * prior)
    shares = (raw * variances + prior * errors) / (variances + errors)
    floor = _LEAST_SHARE * prior
    return replace(setting, base=np.maximum(shares, floor), start=prior, start_variances=variances)


def _ahead(
    model: StateSpace, observed: FloatArray, origins: IntArray, coming: FloatArray, places: IntArray
) -> list[Ahead]:
    size = model.basis.shape[1] + 2
    states = np.empty((len(places), len(origins), size))
    spreads = np.empty((len(places), len(origins), size, size))
    shocks = np.ascontiguousarray(model.shocks.T)
    state_kernels(len(places) * len(observed) * size * size).share_states(
        np.ascontiguousarray(observed.T[places]),
        np.ascontiguousarray(model.share_errors[places]),
        model.basis,
        np.ascontiguousarray(model.series[places]),
        model.memory,
        np.ascontiguousarray(model.coefficients[places]),
        shocks if shocks.shape == (1, 1) else np.ascontiguousarray(shocks[places]),
        origins,
        states,
        spreads,
    )
    steps = np.zeros((len(places), size))
    steps[:, 0], steps[:, 1] = model.series[places, 1], model.series[places, 2] * (1 - model.memory**2)
    return [Ahead(states[i], spreads[i], coming, model.memory, steps[i]) for i in range(len(places))]


def _added_up(means: FloatArray, variances: FloatArray, base: FloatArray) -> FloatArray:
    """Shares that add up to 1: what is missing goes where most is open; none falls below a part of its usual size."""
    weights = variances / np.maximum(variances.sum(axis=2, keepdims=True), 1e-300)
    shares = means + weights * (1 - means.sum(axis=2, keepdims=True))
    floor = _LEAST_SHARE * base / base.sum()
    shares = np.maximum(shares, floor)
    return np.asarray(shares / shares.sum(axis=2, keepdims=True), np.float64)
