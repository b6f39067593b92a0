r"""The model of the shares of places over time: what was observed, what is known before, its variances, and its fit.

The room's page of mathematics is in :mod:`tacit.statespace`; :class:`Model` turns hyperparameters into the Gaussian
state-space form of :mod:`tacit.statespace.state_space`.

**Fit.** Hyperparameters are those of greatest penalized likelihood, found from the private data themselves; where the
likelihood is flat, the prior decides. A random-walk level follows a level shift slowly, and a variance wide enough for
it would let noise in at all other times. So level shifts are looked for one after another: a shift at time t of prior
variance w changes the likelihood by the factor

.. math:: B_t(w) = (1 + w I_t)^{-1/2} \exp \frac{w S_t^2}{2 (1 + w I_t)},

with the score S and the information I of such a shift. Where the factors of all times, each with its prior probability,
add up to more than 1, a shift is more likely than none. Its time stays as uncertain as it is: the level gets, at every
time, as much variance as the shift is likely to have been then.

Reference: DeJong1998.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.series import Observations
from tacit.statespace.covariates import DAYS_A_YEAR, Seasons
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.size_prior import LongRun, columns_by_kind, long_run_shares
from tacit.statespace.state_space import StateSpace

_AVERAGED: Final = ((0, 2), (5, 1))  # level_sd, squared, and overdispersion: variances both
_SHRINK: Final = 0.4  # of a step that did not help; a half or a third take as many evaluations


@dataclass(frozen=True, eq=False)
class Model:
    """All of the model but its hyperparameters.

    ``excess`` is the part of each public total that is out of the ordinary. ``long_run`` are long-run shares and the
    prior of the first levels, ``shares`` those that variances of counts are taken at. ``shift_variance`` is that of
    level shifts (times x places, or one 0). ``of_weights`` says that the states are weights: a share is a weight
    divided by the sum of all. ``fitted_places`` are some places, as they are once the sum of all is known.
    """

    observations: Observations
    calendar: Seasons
    excess: FloatArray
    long_run: LongRun
    shares: FloatArray
    shift_variance: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    of_weights: bool = False
    fitted_places: IntArray | None = None

    def flat_start(self) -> Model:
        """Return the same with nearly nothing known of first levels, to learn hyperparameters.

        The prior of levels knows the counts already; they would be used twice.
        """
        shares, squares = self.long_run.shares, np.square(self.long_run.shares)
        return replace(self, long_run=LongRun(shares, shares, SETTINGS.start_width * squares + squares.mean()))

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

    @cached_property
    def observed(self) -> FloatArray:
        """Return observed shares less the prior means of their levels; 0 where there is no exposure."""
        exposures, counts = self.observations.exposures[:, None], self.observations.counts
        shares = np.divide(counts, exposures, out=np.zeros(counts.shape), where=exposures > 0) - self.long_run.start
        return shares if self.fitted_places is None else shares[:, self.fitted_places]

    def state_space(self, hyperparameters: Hyperparameters) -> StateSpace:
        """Return the Gaussian state-space form."""
        shares, chance, noise_variance, scale, start_variance, shifts = self._fixed
        step_days = self.calendar.step_days
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
        scale_squared, start_variance = np.square(self.long_run.shares), self.long_run.start_variance
        if self.of_weights:  # of what a weight moves, its share shows a part: the sum of weights moves with it
            scale_squared = scale_squared * (1 - self.long_run.shares)
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
    padded = np.pad(totals, (2 * half, 0), mode="edge") if from_past else np.pad(totals, half, mode="reflect")
    usual = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    excess = np.maximum(totals - usual - SETTINGS.excess_sd * np.sqrt(usual), 0.0)
    return np.asarray(np.divide(excess, totals, out=np.zeros(n_times), where=totals > 0), np.float64)


def fitted(
    observations: Observations,
    calendar: Seasons,
    excess: FloatArray,
    hyperparameters: Hyperparameters | None,
    *,
    earlier: Hyperparameters | None = None,
) -> tuple[Model, Hyperparameters]:
    """Return the model of a series and its hyperparameters, which are estimated if not given.

    Where an ``earlier`` fit of the first part of the series found some, one round from these does for all.
    """
    first = long_run_shares(observations, excess)
    model = Model(observations, calendar, excess, first, np.broadcast_to(first.shares, observations.counts.shape))
    prior = SETTINGS.shares_prior if observations.is_shared else SETTINGS.rates_prior
    chosen = hyperparameters or earlier or fit_hyperparameters(model.flat_start(), prior, prior=prior)
    for _ in range(SETTINGS.revisions if earlier is None else 1):
        found = long_run_shares(observations, excess, level_variance=calendar.mean_drift(chosen.level_sd))
        model = replace(model, long_run=found)
        shares = model.state_space(chosen).smooth(model.observed)[0] + found.start
        model = replace(model, shares=np.maximum(shares, SETTINGS.least_share * found.shares))
        model = replace(model, shift_variance=level_shifts(model.flat_start(), chosen))
        if hyperparameters is None:
            chosen = fit_hyperparameters(model.flat_start(), chosen, prior=prior, first_step=SETTINGS.next_step)
    return model, chosen


def fit_hyperparameters(
    model: Model, start: Hyperparameters, *, prior: Hyperparameters, first_step: float = SETTINGS.first_step
) -> Hyperparameters:
    """Return the hyperparameters of greatest penalized likelihood, two of them averaged over their posterior.

    Places are independent given their totals, so a few dozen of them, from the largest to the smallest, tell as much
    as is needed about hyperparameters that all share: as many of each kind of event.
    """
    sizes = model.long_run.shares
    of_kind = columns_by_kind(model.observations.kinds, len(sizes))
    most = max(SETTINGS.fitted_places // len(of_kind), 1)
    ranked = (columns[np.argsort(-sizes[columns], kind="stable")] for columns in of_kind)
    chosen = [some[np.linspace(0, len(some) - 1, min(len(some), most)).astype(np.int64)] for some in ranked]
    given_sum = replace(model, fitted_places=np.sort(np.concatenate(chosen)))
    centre, is_shared = prior.logs(), model.observations.is_shared

    def loss(logs: FloatArray) -> float:
        state_space = given_sum.state_space(Hyperparameters.from_logs(logs))
        likelihood = float(state_space.log_likelihoods(given_sum.observed).sum())
        return prior_penalty(logs - centre, is_shared=is_shared) - likelihood

    return _averaged(loss, minimize(loss, start.logs(), first_step))


def prior_penalty(away: FloatArray, *, is_shared: bool) -> float:
    """Return minus the log density of the prior, up to a constant, so far away from its medians (of logarithms)."""
    scores = np.square(away / np.array(astuple(SETTINGS.prior_sd)))
    # events by timetable are far from chance: a prior with heavy tails. Rates have none: how much they vary differs
    # from place to place, which could be taken for such events
    of_chance = np.log1p(scores[-1]) if is_shared else 0.5 * scores[-1]
    return 0.5 * float(scores[:-1].sum()) + float(of_chance)


def _averaged(loss: Callable[[FloatArray], float], best: FloatArray) -> Hyperparameters:
    """Return the best hyperparameters, with the posterior means of two variances.

    Much noise hides shifts of levels and how much counts vary: that none is seen must not mean that there are none.
    """
    found = best.copy()
    for axis, power in _AVERAGED:
        logs = best[axis] + np.array(SETTINGS.averaged_shifts)
        tried = np.repeat(found[None], len(logs), axis=0)
        tried[:, axis] = logs
        losses = np.array([loss(one) for one in tried])
        weights = np.exp(losses.min() - losses)
        found[axis] = np.log(weights @ np.exp(power * logs) / weights.sum()) / power
    return Hyperparameters.from_logs(found)


def minimize(loss: Callable[[FloatArray], float], start: FloatArray, first_step: float) -> FloatArray:
    """Return where a smooth loss is least: one axis after another by parabolas, with steps that shrink."""
    here, lowest = start.copy(), loss(start)
    steps = np.full(len(start), first_step)
    for _ in range(SETTINGS.most_sweeps):
        for axis in range(len(start)):
            if steps[axis] >= SETTINGS.last_step:
                here, lowest, steps[axis] = _along(loss, here, lowest, axis, float(steps[axis]))
        if (steps < SETTINGS.last_step).all():
            break
    return here


def _along(
    loss: Callable[[FloatArray], float], here: FloatArray, lowest: float, axis: int, step: float
) -> tuple[FloatArray, float, float]:
    def at(shift: float) -> tuple[FloatArray, float]:
        there = here.copy()
        there[axis] = np.clip(there[axis] + shift, *SETTINGS.log_limits)
        return there, loss(there)

    up, down = at(step), at(-step)
    bend = up[1] + down[1] - 2 * lowest
    candidates = [(here, lowest), up, down]
    if bend > 0:
        shift = 0.5 * step * (down[1] - up[1]) / bend
        if abs(shift) < 1.5 * step:  # a parabola says little beyond the points it goes through
            candidates.append(at(shift))
    best = min(candidates, key=lambda pair: pair[1])
    moved = abs(float(best[0][axis] - here[axis]))
    return best[0], best[1], step if moved >= step else max(_SHRINK * step, min(step, moved))


def level_shifts(model: Model, hyperparameters: Hyperparameters) -> FloatArray:
    """Return the variance of level shifts at each time (times x places): one 0 where no place shows any."""
    n_times, n_places = model.observations.counts.shape
    found, places = np.zeros((n_times, n_places)), np.arange(n_places)
    n_sizes = len(SETTINGS.shift_variances)
    prior = np.log(SETTINGS.shifts_per_year * model.calendar.step_days / DAYS_A_YEAR / n_sizes)
    is_observed = model.observations.observed & (model.observations.exposures > 0)[:, None]
    n_after = np.cumsum(np.broadcast_to(is_observed, found.shape)[::-1], axis=0)[::-1]
    for _ in range(SETTINGS.most_shifts):
        part = replace(model, shift_variance=found, fitted_places=places)
        scores, informations = part.state_space(hyperparameters).level_scores(part.observed)
        variances = np.square(model.long_run.shares[places]) * np.array(SETTINGS.shift_variances)[:, None, None]
        wider = 1 + variances * informations
        means = variances * scores / wider
        logs = prior + 0.5 * (means * scores - np.log(wider))
        logs[:, 0] = -np.inf  # of the first level nothing is known before
        logs[:, n_after[:, places] < SETTINGS.fewest_after_shift] = -np.inf
        most = np.maximum(logs.max(axis=(0, 1)), 0.0)
        chances = np.exp(logs - most)
        odds = chances.sum(axis=(0, 1))
        is_found = odds > np.exp(-most)
        if not is_found.any():
            break
        chances /= np.maximum(odds, 1e-300)
        sizes = (chances * (np.square(means) + variances / wider)).sum(axis=0)
        sizes[chances.sum(axis=0) < SETTINGS.least_shift_part] = 0.0
        places = places[is_found]
        found[:, places] += sizes[:, is_found]
    return found if found.any() else np.zeros((1, 1))
