"""The shares of places in forecasts: filtered together, and predicted.

The model is that of smoothing (:mod:`tacit.statespace.model`). Each place has a weight as its state; a share is the
weight divided by the sum of all weights. A place that is observed to grow therefore makes the shares of the others
smaller, also of those that noise hides. Bins whose total has an excess count for less. The filter starts without
knowledge of the places; the size prior (:mod:`tacit.statespace.size_prior`) is used at the end, when levels are asked
for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.extras import require
from tacit.counts.series import Observations
from tacit.domain import TimeAxis
from tacit.statespace.covariates import seasons
from tacit.statespace.model import Model, fitted
from tacit.statespace.passes import Ahead
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.size_prior import MOST_NUMBERS, LongRun, SizePrior, expected_sizes, pooled_shares

_FAR: Final = (-5.0, 6.0)  # standard deviations from 0 beyond which a normal part is 0, or all: to 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Filtered weights of places at origins; a share is a weight divided by the sum of all weights.

    ``states`` are places x origins x parts of the state, ``steps`` the variances that a bin adds to them.
    """

    origins: IntArray
    states: FloatArray
    covariances: FloatArray
    phi: float
    steps: FloatArray

    def given_sizes(self, prior: SizePrior, pooled: FloatArray, variances: FloatArray) -> Weights:
        """Return the same weights, conditioned on the size prior of pooled shares (places x origins).

        The size prior corrects the pooled shares. A filter's level is a weighted mean of the same measurements, so its
        covariance with the pooled share is the variance of the pooled share, whatever the weights. The level is
        therefore corrected by as much; by less where its own variance is smaller, because later bins are in it.
        """
        medians, squares = prior.medians(pooled, variances)
        gains = np.minimum(self.covariances[:, :, 0, 0] / variances, 1.0)
        states, covariances = self.states.copy(), self.covariances.copy()
        states[:, :, 0] += gains * (medians - pooled)
        covariances[:, :, 0, 0] -= np.square(gains) * (variances - squares)
        return replace(self, states=states, covariances=covariances)

    def ahead(self, coming: FloatArray, places: slice = slice(None)) -> Ahead:
        """Return the predictions of bins with these regressors (origins x horizon x terms), places x origins."""
        return Ahead(self.states[places], self.covariances[places], coming, self.phi, self.steps[places])


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Predicted shares of the bins after each origin, origins x horizon x places: they add up to 1.

    A share is a weight of ``weights`` divided by their sum, which is in ``wholes`` (origins x horizon).
    """

    means: FloatArray
    variances: FloatArray
    weights: Ahead
    wholes: FloatArray

    def sum_variances(self, totals: FloatArray) -> FloatArray:
        """Return variances of each place's sum over the horizon, given totals (origins x horizon): origins x places."""
        found = self.weights.sum_variances(totals / self.wholes).T
        return np.asarray(np.maximum(found, 0.0), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ShareModel:
    """The model of shares, once learned; ``shares`` are those around which the variances of counts were taken."""

    hyperparameters: Hyperparameters
    base: FloatArray
    shares: FloatArray
    shift_variance: FloatArray
    sizes: SizePrior

    @classmethod
    def learned(
        cls, known: Observations, time: TimeAxis, excess: FloatArray, sizes: FloatArray | None = None
    ) -> ShareModel:
        """Return the model learned from all bins; ``sizes`` are about in proportion to shares: populations, say."""
        calendar = seasons(time.with_end(len(known.exposures)))
        is_short = np.count_nonzero(known.exposures) < SETTINGS.totals.fewest_bins
        model, chosen = fitted(known, calendar, excess, SETTINGS.shares_prior if is_short else None)
        pooled, variances, _ = pooled_shares(known, excess, model.shares, np.array([len(known.exposures)]))
        levels, errors = pooled[:, 0], variances[:, 0]
        prior = SizePrior(expected_sizes(known, levels, errors, sizes), levels, errors, known.kinds)
        base = prior.medians(pooled, variances)[0][:, 0]
        return cls(chosen, base, np.asarray(model.shares, np.float64), model.shift_variance, prior)

    def filter(self, known: Observations, excess: FloatArray, time: TimeAxis, origins: IntArray) -> Weights:
        """Return the filtered weights at origins (ascending)."""
        calendar = seasons(time.without_end().with_end(len(known.exposures)))
        # first levels are all as uncertain: else the first bins of large places would set the sum of all weights
        prior = LongRun(self.base, self.base, np.ones(len(self.base)))
        model = Model(known, calendar, excess, prior, self.shares, self.shift_variance, of_weights=True)
        model = model.extended(known, calendar, excess)  # over the bins after those it learned from
        states_of = model.state_space(self.hyperparameters)
        states, covariances = states_of.states_at(origins, model.observed + self.base, self.base, are_parts=True)
        wholes = states[:, :, 0].sum(axis=0)[:, None]
        squares, steps = np.square(wholes), states_of.start_and_steps[1][:, None]
        found = Weights(origins, states / wholes, covariances / squares[..., None], states_of.phi, steps / squares)
        return found.given_sizes(self.sizes, *pooled_shares(known, excess, model.shares, origins)[:2])

    def predict(self, weights: Weights, time: TimeAxis, horizon: int) -> Shares:
        """Return predicted shares after each origin."""
        stop = int(weights.origins.max()) + horizon
        basis = seasons(time.without_end().with_end(stop)).basis
        coming = basis[weights.origins[:, None] + np.arange(horizon)]
        n_places = len(self.base)
        means, variances = np.empty((2, n_places, len(weights.origins), horizon))
        at_once = max(MOST_NUMBERS // max(coming.size, 1), 1)
        for first in range(0, n_places, at_once):
            some = slice(first, first + at_once)
            ahead = weights.ahead(coming, some)
            means[some], variances[some] = ahead.means(), ahead.variances()
        wholes = means.sum(axis=0)
        variances = np.maximum(variances, np.square(SETTINGS.least_forecast_sd * self.base)[:, None, None])
        shares, variances = _positive(means / wholes, variances / np.square(wholes))
        shares = np.moveaxis(shares / shares.sum(axis=0), 0, 2)
        return Shares(shares, np.moveaxis(variances, 0, 2), weights.ahead(coming), wholes)


def _positive(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return medians of normal distributions cut at 0, and the mean squares around them.

    With a = mean / sd the median is :math:`m - \sigma \Phi^{-1}(\Phi(a) / 2)`: between the mean, which makes too much
    of places of which noise shows nothing, and the mode, which makes nothing of them.
    """
    special = require("scipy.special", extra="forecast")
    sd = np.sqrt(variances)
    a = np.clip(means / np.maximum(sd, 1e-300), *_FAR)
    tilt = np.exp(-0.5 * np.square(a)) / (np.sqrt(2 * np.pi) * special.ndtr(a))
    medians = sd * (a - special.ndtri(0.5 * special.ndtr(a)))
    squares = variances * np.maximum(1 - a * tilt - np.square(tilt), 0.0) + np.square(sd * (a + tilt) - medians)
    is_far = a >= _FAR[1]
    return np.where(is_far, means, medians), np.where(is_far, variances, squares)
