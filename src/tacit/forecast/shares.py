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

from tacit._extras import require
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
_UNEQUAL: Final = 3.0  # sizes are less alike than one normal law says
_ORDINARY: Final = 2.5
_LEAST_DEVIATION: Final = 0.25
_FAR_BELOW: Final = -5.0
_FAR_ABOVE: Final = 6.0
_MOST_NUMBERS: Final = 1 << 22
_FEWEST_BINS: Final = 28
_ARRAYS: Final = ("base", "start", "start_variances", "shares", "scales", "shocks")


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What was known at origins of the weights of places, whose parts of their sum shares are; and how they move on.

    ``states`` are places x origins x parts, ``spreads`` their covariances, ``steps`` places x parts.
    """

    origins: IntArray
    states: FloatArray
    spreads: FloatArray
    memory: float
    steps: FloatArray

    def ahead(self, coming: FloatArray, places: slice = slice(None)) -> Ahead:
        """Of the bins with these regressors (origins x horizon x terms), places x origins."""
        return Ahead(self.states[places], self.spreads[places], coming, self.memory, self.steps[places, None])


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What is expected of the shares of the bins after each origin, origins x horizon x places: they add up to 1.

    ``wholes`` (origins x horizon) are the sums of weights, ``coming`` the regressors of the bins.
    """

    means: FloatArray
    variances: FloatArray
    weights: Weights
    wholes: FloatArray
    coming: FloatArray

    def sum_variances(self, totals: FloatArray) -> FloatArray:
        """Of each place's sum over the horizon where totals (origins x horizon) are dealt out, origins x places."""
        return self.weights.ahead(self.coming).sum_variances(totals / self.wholes).T


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
        setting = _with_starts(found.setting, sizes)
        arrays = {name: np.asarray(getattr(setting, name), np.float64) for name in _ARRAYS}
        return cls(found.variability, **arrays)

    def follow(self, known: Measured, bursts: FloatArray, time: TimeAxis, origins: IntArray) -> Weights:
        """Go through the bins, and keep what was known at origins (ascending)."""
        model, observed = self._model(known, seasons(time.without_end().with_end(len(known.exposures))), bursts)
        n_places, size = len(self.base), model.basis.shape[1] + 2
        states, spreads = np.empty((n_places, len(origins), size)), np.empty((n_places, len(origins), size, size))
        state_kernels(len(observed) * n_places * size * size).share_states(
            np.ascontiguousarray((observed + self.start).T),
            model.share_errors,
            model.basis,
            self.start,
            model.series,
            model.memory,
            model.coefficients,
            np.ascontiguousarray(model.shocks.T),
            origins,
            states,
            spreads,
        )
        steps = np.zeros((n_places, size))
        steps[:, 0], steps[:, 1] = model.series[:, 1], model.series[:, 2] * (1 - model.memory**2)
        return Weights(origins, states, spreads, model.memory, steps)

    def foresee(self, weights: Weights, time: TimeAxis, horizon: int) -> Shares:
        """What is expected after each origin."""
        stop = int(weights.origins.max()) + horizon
        basis = seasons(time.without_end().with_end(stop)).basis
        coming = basis[weights.origins[:, None] + np.arange(horizon)]
        n_places = len(self.base)
        means, variances = np.empty((2, n_places, len(weights.origins), horizon))
        at_once = max(_MOST_NUMBERS // max(coming.size, 1), 1)
        for first in range(0, n_places, at_once):
            some = slice(first, first + at_once)
            ahead = weights.ahead(coming, some)
            means[some], variances[some] = ahead.means(), ahead.variances()
        wholes = means.sum(axis=0)
        shares, variances = _positive(means / wholes, variances / np.square(wholes))
        shares = np.maximum(shares, (_LEAST_SHARE * self.base)[:, None, None])
        shares = np.moveaxis(shares / shares.sum(axis=0), 0, 2)
        return Shares(shares, np.moveaxis(variances, 0, 2), weights, wholes, coming)

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


def _with_starts(setting: Setting, sizes: FloatArray | None) -> Setting:
    """Say where shares start, before it is known when: what all bins together tell of a place, and a prior.

    Bins out of the ordinary count less. Places are alike: around public sizes, or, without those, places of ordinary
    size (up to a few times the median) around one mean, while larger ones stand for themselves. How much alike they are
    is found from the places themselves (empirical Bayes).
    """
    known, weights = setting.measured, np.square(1 - setting.bursts)
    total = max(float(weights @ known.exposures), 1.0)
    raw = weights @ known.counts / total
    spread = known.errors(setting.shares) + known.exposures[:, None] * setting.shares
    errors = np.square(weights) @ spread / total**2
    means, variances = _alike(raw, errors) if sizes is None else _alike_sizes(raw, errors, sizes / sizes.sum())
    shares = (raw * variances + means * errors) / (variances + errors)
    shares = np.maximum(shares, _LEAST_SHARE * max(float(np.median(means)), 1e-9))
    return replace(setting, base=shares / shares.sum(), start=means / means.sum(), start_variances=variances)


def _alike(raw: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Prior means and variances of places of ordinary size around their mean; of larger ones around themselves.

    That mean is above 0, and no surer than it is: where noise hides all places, none is ruled out.
    """
    middle = max(float(np.median(raw)), 1e-9)
    is_small = raw <= _ORDINARY * middle + 2 * np.sqrt(errors)
    own = np.maximum(raw, middle)
    if np.count_nonzero(is_small) < 3:
        least, _ = _positive(np.median(raw, keepdims=True), errors.mean(keepdims=True) / len(raw))
        own = np.maximum(own, least)
        return own, np.square(own)
    small, noise = raw[is_small], errors[is_small].mean(keepdims=True)
    (middle,), (doubt,) = _positive(small.mean(keepdims=True), noise / len(small))
    mean = max(middle, 1e-9)
    variance = max(small.var(ddof=1) - noise[0], (_LEAST_DEVIATION * mean) ** 2)
    variance = _UNEQUAL * variance + doubt
    return np.where(is_small, mean, own), np.where(is_small, variance, np.square(own))


def _alike_sizes(raw: FloatArray, errors: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Prior means and variances in proportion to sizes; places measured well say how near shares are to them."""
    noise = errors / np.square(sizes)
    weights = 1 / np.square(noise + 0.1)
    deviation = float(weights @ (np.square(raw / sizes - 1) - noise) / weights.sum())
    return sizes, np.clip(deviation, 0.15**2, 1.0) * np.square(sizes)


def _positive(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""The middle of normal laws of which only the part above 0 can be, and the mean square around it.

    With a = mean / deviation the middle is :math:`m - \sigma \Phi^{-1}(\Phi(a) / 2)`: between the mean, which makes too
    much of places of which noise leaves nothing to be seen, and the mode, which makes nothing of them.
    """
    special = require("scipy.special", extra="forecast")
    deviations = np.sqrt(variances)
    a = np.clip(means / np.maximum(deviations, 1e-300), _FAR_BELOW, _FAR_ABOVE)
    tilt = np.exp(-0.5 * np.square(a)) / (np.sqrt(2 * np.pi) * special.ndtr(a))
    middles = deviations * (a - special.ndtri(0.5 * special.ndtr(a)))
    squares = variances * np.maximum(1 - a * tilt - np.square(tilt), 0.0) + np.square(deviations * (a + tilt) - middles)
    is_far = a >= _FAR_ABOVE
    return np.where(is_far, means, middles), np.where(is_far, variances, squares)
