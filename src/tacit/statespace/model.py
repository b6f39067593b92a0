"""The model of the shares of places over time: what was observed, what is known before, and the variances it has.

The room's page of mathematics is in :mod:`tacit.statespace`; this module turns hyperparameters into the Gaussian
state-space form of :mod:`tacit.statespace.state_space`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.observations import Observations
from tacit.statespace.calendar import DAYS_A_YEAR, Seasons
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.state_space import StateSpace


@dataclass(frozen=True, eq=False)
class Model:
    """All of the model but its hyperparameters.

    ``excess`` is the part of each public total that is out of the ordinary. ``base`` are long-run shares, ``start`` and
    ``start_variance`` the prior of the first levels, ``shares`` those that variances of counts are taken at.
    ``shift_variance`` is that of level shifts (times x places, or one 0), ``skews`` third cumulants of the posterior of
    long-run shares, ``taken`` what the size prior took from their variance. ``of_weights`` says that the states are
    weights, whose parts of their sum are the shares. ``fitted_places`` are some places, as they are once the sum of all
    is known.
    """

    observations: Observations
    calendar: Seasons
    excess: FloatArray
    base: FloatArray
    start: FloatArray
    start_variance: FloatArray
    shares: FloatArray
    shift_variance: FloatArray
    skews: FloatArray | None = None
    taken: FloatArray | None = None
    of_weights: bool = False
    fitted_places: IntArray | None = None

    def flat_start(self) -> Model:
        """Return the same with nearly nothing known of first levels, to learn hyperparameters.

        The prior of levels knows the counts already; they would be used twice.
        """
        squares = np.square(self.base)
        return replace(self, start=self.base, start_variance=SETTINGS.start_width * squares + squares.mean())

    def extended(self, known: Observations, calendar: Seasons, excess: FloatArray) -> Model:
        """Return the same for more times, or fewer: the last shares stay, and no further level shifts."""
        n_times, n_places = known.counts.shape
        n_later = max(n_times - len(self.shares), 0)
        shares = np.concatenate([self.shares, np.broadcast_to(self.shares[-1], (n_later, n_places))])
        shifts = self.shift_variance
        if shifts.shape != (1, 1):
            shifts = np.concatenate([shifts, np.zeros((n_later, n_places))])[:n_times]
        return replace(
            self, observations=known, calendar=calendar, excess=excess, shares=shares[:n_times], shift_variance=shifts
        )

    def given_sum(self, places: IntArray) -> Model:
        """Return the model of some places once the sum of all is known."""
        return replace(self, fitted_places=places)

    @cached_property
    def observed(self) -> FloatArray:
        """Return observed shares less the prior means of their levels; 0 where there is no exposure."""
        exposures, counts = self.observations.exposures[:, None], self.observations.counts
        shares = np.divide(counts, exposures, out=np.zeros(counts.shape), where=exposures > 0) - self.start
        return shares if self.fitted_places is None else shares[:, self.fitted_places]

    def state_space(self, hyperparameters: Hyperparameters) -> StateSpace:
        """Return the Gaussian state-space form."""
        (shares, chance, noise_variance, scale, start_variance, shifts), step_days = (
            self._fixed,
            self.calendar.step_days,
        )
        steps = hyperparameters.level_sd**2 * step_days / DAYS_A_YEAR
        of_kind = {"weekday": hyperparameters.weekday_sd**2, "season": hyperparameters.season_sd**2}
        mean_share = shares.mean(axis=1, keepdims=True)
        return StateSpace(
            exposures=self.observations.exposures,
            process_variance=chance * self._dispersion(hyperparameters, shares),
            noise_variance=noise_variance,
            regressors=self.calendar.basis,
            state_variances=np.stack([start_variance, scale * steps, scale * hyperparameters.ar_sd**2], axis=1),
            phi=float(np.exp(-step_days / hyperparameters.timescale_days)),
            coefficient_variances=scale[:, None] * np.array([of_kind[kind] for kind in self.calendar.kinds])[None, :],
            shift_variance=shifts,
            excess=1 - 1 / self._dispersion(hyperparameters, mean_share)[:, 0],
            tree=self.observations.tree,
        )

    def _dispersion(self, hyperparameters: Hyperparameters, shares: FloatArray) -> FloatArray:
        """Return how many times the variance of chance counts have."""
        spread = hyperparameters.overdispersion + hyperparameters.excess_dispersion * np.square(self.excess)
        sizes = self.observations.exposures[:, None] if self.observations.is_shared else shares
        return np.asarray(hyperparameters.chance + sizes * spread[:, None], np.float64)

    @cached_property
    def _fixed(self) -> tuple[FloatArray, ...]:
        """Return what does not depend on hyperparameters: shares, and variances before these multiply them.

        They are those of chance and noise, squares of the scale, and variances of the first level and of level shifts.
        """
        known, chosen = self.observations, self.fitted_places
        noise_variance = known.noise_variance(self.shares)
        chance = known.exposures[:, None] * self.shares
        scale_squared, start_variance = np.square(self.base), self.start_variance
        if self.of_weights:  # of what a weight moves, its share shows a part: the sum of weights moves with it
            scale_squared = scale_squared * (1 - self.base)
        if chosen is not None and known.is_shared:
            chance = chance * _left_by_sum(self.shares)
            noise_variance = noise_variance * _left_by_sum(noise_variance)
            start_variance = start_variance * _left_by_sum(start_variance[None])[0]
            scale_squared = scale_squared * _left_by_sum(scale_squared[None])[0]
        some = slice(None) if chosen is None else chosen
        shifts = self.shift_variance if self.shift_variance.shape[1] == 1 else self.shift_variance[:, some]
        of_times = (part[:, some] for part in (self.shares, chance, noise_variance))
        return *of_times, scale_squared[some], start_variance[some], shifts


def _left_by_sum(variances: FloatArray) -> FloatArray:
    """Return the part of the variances of independent numbers that is left once their sum is known, row by row."""
    total = np.maximum(variances.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.maximum(1 - variances / total, SETTINGS.least_fraction), np.float64)


def total_excess(totals: FloatArray, *, from_past: bool = False) -> FloatArray:
    """Return the part of each public total that is above the median of the weeks around it and chance.

    With ``from_past`` the weeks are those up to each time. Where the series begins, it is mirrored, or its first total
    repeated.
    """
    n_times = len(totals)
    half = min(SETTINGS.excess_window, n_times) // 2
    if from_past:
        padded = np.concatenate([np.repeat(totals[:1], 2 * half), totals])
    else:
        padded = np.pad(totals, half, mode="reflect") if half else totals
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    excess = np.maximum(totals - usual - SETTINGS.excess_sd * np.sqrt(usual), 0.0)
    return np.asarray(np.divide(excess, totals, out=np.zeros(n_times), where=totals > 0), np.float64)
