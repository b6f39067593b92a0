"""Which part of the events each place will have.

The model is that of smoothing (:mod:`tacit.statespace.model`): a share is a level that drifts, a wander,
weekday and yearly terms, of which unbiased counts with noise of known variance tell. A filter follows it; bins whose
total is out of the ordinary count for less, since storms are local. It starts as if nothing were known of the places;
what their sizes say of one another (:mod:`tacit.statespace.sizes`) comes in at the end, when levels are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.extras import require
from tacit._base.kernels import compiled_kernels
from tacit.counts.measured import Measured
from tacit.domain import TimeAxis
from tacit.statespace.ahead import Ahead
from tacit.statespace.calendar import Seasons, seasons
from tacit.statespace.fitted import fitted
from tacit.statespace.model import Setting, Variability
from tacit.statespace.sizes import Sizes
from tacit.statespace.state_space import StateSpace

_LEAST_SHARE: Final = 0.1
_MOST_OPEN: Final = 0.05
_LEAST_DEVIATION: Final = 1e-3
_FAR_BELOW: Final = -5.0
_FAR_ABOVE: Final = 6.0
_MOST_NUMBERS: Final = 1 << 22
_FEWEST_BINS: Final = 28
_ARRAYS: Final = ("base", "start", "start_variances", "shares", "shocks")


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What was known at origins of the weights of places, whose parts of their sum shares are; and how they move on.

    ``states`` and ``steps`` are places x origins x parts, ``spreads`` the covariances of states.
    """

    origins: IntArray
    states: FloatArray
    spreads: FloatArray
    memory: float
    steps: FloatArray

    def among(self, sizes: Sizes, pooled: FloatArray, errors: FloatArray) -> Weights:
        """The same with what the sizes of places say of the errors of pooled shares (places x origins).

        A filter's level is a mean of what was measured, with weights that add up to 1. So, whatever the weights, its
        error has the variance of the pooled share's in common with that, and where that is found to be off, the level
        is off as much. If the filter knows more of the level than that, by bins since, it is off by less.
        """
        middles, squares = sizes.middles(pooled, errors)
        gains = np.minimum(self.spreads[:, :, 0, 0] / errors, 1.0)
        states, spreads = self.states.copy(), self.spreads.copy()
        states[:, :, 0] += gains * (middles - pooled)
        spreads[:, :, 0, 0] -= np.square(gains) * (errors - squares)
        return replace(self, states=states, spreads=spreads)

    def ahead(self, coming: FloatArray, places: slice = slice(None)) -> Ahead:
        """Of the bins with these regressors (origins x horizon x terms), places x origins."""
        return Ahead(self.states[places], self.spreads[places], coming, self.memory, self.steps[places])


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
        found = self.weights.ahead(self.coming).sum_variances(totals / self.wholes).T
        return np.asarray(np.maximum(found, 0.0), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ShareModel:
    """How shares vary, once learned; ``shares`` are those around which the variances of counts were taken."""

    variability: Variability
    base: FloatArray
    start: FloatArray
    start_variances: FloatArray
    shares: FloatArray
    shocks: FloatArray
    sizes: Sizes

    @classmethod
    def learned(
        cls, known: Measured, time: TimeAxis, bursts: FloatArray, sizes: FloatArray | None = None
    ) -> ShareModel:
        """Learn from all bins. ``sizes`` are known to be about in proportion to shares: populations, say."""
        calendar = seasons(time.with_end(len(known.exposures)))
        is_short = np.count_nonzero(known.exposures) < _FEWEST_BINS
        found = fitted(known, calendar, bursts, Variability() if is_short else None)
        arrays = {name: np.asarray(getattr(found.setting, name), np.float64) for name in _ARRAYS}
        n_places = known.counts.shape[1]
        pooled, errors = _pooled(found.setting, np.array([len(known.exposures)]))
        law = Sizes.learned(
            np.full(n_places, 1 / n_places) if sizes is None else sizes / sizes.sum(), pooled[:, 0], errors[:, 0]
        )
        base = law.middles(pooled, errors)[0][:, 0]
        # all places are open to the same degree: else the first bins of large ones would set the sum of all weights
        arrays |= {"base": base, "start": base, "start_variances": np.ones(n_places)}
        arrays["shocks"] = _timed(arrays["shocks"])
        return cls(found.variability, sizes=law, **arrays)

    def follow(self, known: Measured, bursts: FloatArray, time: TimeAxis, origins: IntArray) -> Weights:
        """Go through the bins, and keep what was known at origins (ascending)."""
        model, setting = self._model(known, seasons(time.without_end().with_end(len(known.exposures))), bursts)
        start, steps = model.start_and_steps
        n_places, size = start.shape
        states, spreads = np.empty((n_places, len(origins), size)), np.empty((n_places, len(origins), size, size))
        compiled_kernels("filters").share_states(
            np.ascontiguousarray((setting.observed + self.start).T),
            np.ascontiguousarray(model.share_variance.T),
            model.regressors,
            self.start,
            start,
            steps,
            model.phi,
            model.shifts,
            origins,
            states,
            spreads,
        )
        wholes = states[:, :, 0].sum(axis=0)[:, None]
        squares = np.square(wholes)
        found = Weights(origins, states / wholes, spreads / squares[..., None], model.phi, steps[:, None] / squares)
        return found.among(self.sizes, *_pooled(setting, origins))

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
        variances = np.maximum(variances, np.square(_LEAST_DEVIATION * self.base)[:, None, None])
        shares, variances = _positive(means / wholes, variances / np.square(wholes))
        shares = np.maximum(shares, (_LEAST_SHARE * self.base)[:, None, None])
        shares = np.moveaxis(shares / shares.sum(axis=0), 0, 2)
        return Shares(shares, np.moveaxis(variances, 0, 2), weights, wholes, coming)

    def to_dict(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return arrays | {"variability": list(astuple(self.variability)), "sizes": self.sizes.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        arrays = {name: np.asarray(content[name], np.float64) for name in _ARRAYS}
        sizes = Sizes.from_dict(content["sizes"])
        return cls(Variability(*map(float, content["variability"])), sizes=sizes, **arrays)

    def _model(self, known: Measured, calendar: Seasons, bursts: FloatArray) -> tuple[StateSpace, Setting]:
        """The model of all bins, those after what it learned from included."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        learned = Setting(measured=known, calendar=calendar, bursts=bursts, of_weights=True, **arrays)
        setting = learned.going_on(known, calendar, bursts)
        return setting.model(self.variability), setting


def _timed(shocks: FloatArray) -> FloatArray:
    """The shocks of places whose breaks were at a time that is known, as far as it is spread over few bins.

    A break that may have been at almost any time is one that noise may have made, and of use to no forecast.
    """
    if shocks.shape == (1, 1):
        return shocks
    n_bins = np.square(shocks.sum(axis=0)) / np.maximum(np.square(shocks).sum(axis=0), 1e-300)
    return np.where(n_bins <= _MOST_OPEN * len(shocks), shocks, 0.0)


def _pooled(setting: Setting, origins: IntArray) -> tuple[FloatArray, FloatArray]:
    """Shares by all bins before each origin together (places x origins), and the variances of their errors.

    Bins out of the ordinary count less.
    """
    known, weights = setting.measured, np.square(1 - setting.bursts)[:, None]
    exposures = known.exposures[:, None]
    spread = known.errors(setting.shares) + exposures * setting.shares
    total, counts, squares = (
        np.concatenate([np.zeros((1, part.shape[1])), np.cumsum(part, axis=0)])[origins].T
        for part in (
            weights * exposures,
            np.where(exposures > 0, weights * known.counts, 0.0),
            np.square(weights) * spread,
        )
    )
    is_seen = total > 0
    total = np.where(is_seen, total, 1.0)
    return counts / total, np.where(is_seen & (squares > 0), squares / np.square(total), 1.0)


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
