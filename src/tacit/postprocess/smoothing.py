r"""Smoothing over time: days borrow strength from their neighbours, weekdays, seasons and years.

:func:`smooth` revises the past with the whole series; :func:`filtered` takes nothing from the future. The model is that
of :mod:`tacit.statespace`; here are the ways from estimate to estimate.

**Trees.** Leaves of a curator's tree do not err independently, and its sums are known better: the model observes them
too. Where it is known that nothing was counted at some times, their counts are 0, whatever noise was added. Leaves with
the covariance C are then, given that those of the times m are 0, :math:`\hat y - C_{\cdot m} C_{mm}^{-1} \hat y_m`.

**What is shown.** A posterior mean may be below zero where next to nothing happens. Moving it to zero day by day would
add up to events that nobody found: a year of small rests. So the longest periods are moved first, to the nearest counts
that can be; then the months of each year, and the days of each month, so that they add up to them, and in each period
all places to its public total. Both are kept by scaling rows and columns in turn.

Reference: Harvey1990; Durbin2012; Deming1940.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.languages import stored
from tacit.counts.estimate import Estimate
from tacit.counts.norm_sub import norm_sub
from tacit.counts.series import Observations, column_kinds, measured_parts
from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain import TimeAxis
from tacit.postprocess.coherence import calendar_tree, handed_down
from tacit.statespace.covariates import Seasons, seasons
from tacit.statespace.model import Model, fitted, total_excess
from tacit.statespace.posterior_noise import FilteredNoise, StrataNoise, parts_of_one
from tacit.statespace.settings import SETTINGS, Hyperparameters
from tacit.statespace.size_prior import LongRun, common_sd
from tacit.statespace.smoothed_noise import FusedNoise, SmoothedNoise
from tacit.statespace.state_space import StateSpace, measured_levels, rounded

__all__ = ["Hyperparameters", "filtered", "smooth"]

SMOOTHED: Final = stored("smoothing over time: every bin revised with the whole series")
FILTERED: Final = stored("filtering over time: every bin as it stood, nothing from the future")
SHOWN: Final = stored("negative counts shown as 0, the others lowered to keep the total")
SHOWN_WITHOUT_TOTAL: Final = stored("negative counts shown as 0")
SHOWN_IN_PERIODS: Final = stored(
    "negative counts shown as 0, the others lowered to keep totals, and years, then months"
)
SHOWN_ADDING_UP: Final = stored("negative counts shown as 0, the others lowered to keep years, then months")

_MOST_ROUNDS: Final = 30  # of scaling rows and columns: bounds the time where they agree slowly
_SLACK: Final = 1e-4  # relative, of sums that agree: far below what is shown


def smooth(
    estimate: Estimate,
    *,
    hyperparameters: Hyperparameters | None = None,
    non_negative: bool = True,
    missing: BoolArray | None = None,
) -> Estimate:
    r"""Return counts that borrow strength from neighbours, weekdays, seasons and years; the past is revised.

    The model is that of :mod:`tacit.statespace`; how much its parts vary is estimated from the private data themselves
    unless ``hyperparameters`` say it. The realized count is the share's expectation and a part of what the day itself
    says,

    .. math:: \hat c = N s + \frac{\sigma^2}{\sigma^2 + v} (y - N s),

    and places add up to the public total. Below an epsilon of about 1.7 that part is so small that a day's answer is
    essentially the smoothed share: it cannot show that day's anomaly, and its interval says so.

    The noise is the model's posterior distribution, for days, months, years and any other sum. With ``non_negative``
    what is shown is moved to where counts can be, longer periods first; intervals stay those of the values before.
    Where a curator counted sums over time too, in a tree, they are as well known as their own noise lets them be. Of
    times that are ``missing``, a curator's counts are 0.
    """
    time, parts = estimate.domain.time, measured_with_sums(estimate, missing)
    found = []
    for columns, known in parts:
        kinds = known.kinds if len(parts) == 1 else np.arange(len(columns))
        found.append(_smoothed(known, time, hyperparameters, kinds))
    show = partial(shown_in_periods, time=time) if non_negative else None
    steps = SMOOTHED, SHOWN_IN_PERIODS, SHOWN_ADDING_UP
    return _joined_strata(estimate, parts, _erring_in_common(found), show, steps)


def _smoothed(
    known: Observations, time: TimeAxis, hyperparameters: Hyperparameters | None, kinds: IntArray | None
) -> tuple[FloatArray, SmoothedNoise]:
    """Return the smoothed counts of columns that have one public total, or none, and their noise.

    Columns of one of the ``kinds`` have in common what the size prior took from their variance.
    """
    excess = total_excess(known.exposures) if known.is_shared else np.zeros(len(known.exposures))
    model, chosen = fitted(known, seasons(time), excess, hyperparameters)
    states, long_run = model.state_space(chosen), model.long_run
    own, noise_variance = rounded(states.process_variance), rounded(states.noise_variance)
    states = replace(states, process_variance=own, noise_variance=noise_variance)
    shares, counts = states.smooth(model.observed)
    weights = _weights(known, states)
    if states.tree is None:
        values = _realized(known, states.gains, shares + long_run.start, *weights)
    else:
        values = counts + states.exposures[:, None] * long_run.start
    kind_sd = None if kinds is None else common_sd(long_run.taken, kinds)
    made = SmoothedNoise if states.tree is None else FusedNoise
    return values, made(states, *weights, None, SETTINGS.inflation, long_run.skews, kind_sd, kinds)


def filtered(
    estimate: Estimate, *, hyperparameters: Hyperparameters | None = None, non_negative: bool = True
) -> Estimate:
    """Return each time bin estimated from itself and those before: what could have been published on its day.

    The model is that of ``smooth``. How much shares vary is found from the past alone, again whenever the series has
    grown by a fifth: no value changes when later bins are added or altered. Intervals are exact for questions about one
    bin; for sums over time they are safe, and wide: months and years are better asked of ``smooth``. As there, below an
    epsilon of about 1.7 a day's answer is essentially its share as it was known, and cannot show that day's anomaly.
    """
    time, parts = estimate.domain.time, measured_parts(estimate)
    found = [_filtered(known, time, hyperparameters) for _, known in parts]
    show = shown_alone if non_negative else None
    return _joined_strata(estimate, parts, found, show, (FILTERED, SHOWN, SHOWN_WITHOUT_TOTAL))


def _filtered(
    known: Observations, time: TimeAxis, hyperparameters: Hyperparameters | None
) -> tuple[FloatArray, FilteredNoise]:
    """Return the filtered counts of columns that have one public total, or none, and their noise.

    Columns of all kinds are taken for alike: what the size prior of a kind leaves in common to its places is not kept.
    """
    known = replace(known, kinds=None)
    calendar, n_times = seasons(time), len(known.exposures)
    excess = total_excess(known.exposures, from_past=True) if known.is_shared else np.zeros(n_times)
    parts: list[tuple[FloatArray, ...]] = []
    first, earlier = 0, None
    while first < n_times:
        stop = min(first + max(int(SETTINGS.refit_growth * first), SETTINGS.first_fit), n_times)
        past, shown = ((known.until(end), calendar.until(end), excess[:end]) for end in (first, stop))
        if first > 0:
            model, chosen = fitted(*past, hyperparameters, earlier=earlier)
            model, earlier = model.extended(*shown), chosen
        else:
            model, chosen = _unlearned(*shown), hyperparameters or SETTINGS.shares_prior
        states = model.state_space(chosen)
        shares, variances = states.filter(model.observed)
        skews = SmoothedNoise(states).cumulants[0]
        found = shares + model.long_run.start, states.gains, variances, states.count_variance, skews
        parts.append(tuple(part[first:] for part in found))
        first = stop
    shares, *of_counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    gains, share_variance, count_variance, count_skew = map(rounded, of_counts)
    noise = FilteredNoise(known.exposures, gains, share_variance, count_variance, count_skew, known.is_shared)
    return _realized(known, noise.gains, shares, *noise.weights), noise


def _unlearned(known: Observations, calendar: Seasons, excess: FloatArray) -> Model:
    """Return the model of a filter before its first fit: places are alike, with the mean of the first time."""
    n_places = known.counts.shape[1]
    base = np.full(n_places, 1 / n_places if known.is_shared else max(float(np.abs(known.counts[0]).mean()), 1.0))
    first_levels = LongRun(base, base, base * np.maximum(base, 1 - base))
    return Model(known, calendar, excess, first_levels, np.broadcast_to(base, known.counts.shape))


def _erring_in_common(strata: list[tuple[FloatArray, SmoothedNoise]]) -> list[tuple[FloatArray, SmoothedNoise]]:
    """Return smoothed strata in which what the size prior took from variances is an error that they have in common.

    In every place (or kind) with a public total of its own, the prior moves the same small kind (or place) to the same
    side. So it must take nothing from the variance of a sum over strata, as within one (:func:`common_sd`). Each column
    comes with the standard deviation that the prior took from its own share.
    """
    if len(strata) == 1:
        return strata
    taken = np.square(np.array([noise.kind_sd for _, noise in strata], np.float64))
    exposures = np.array([[float(noise.model.exposures.sum())] for _, noise in strata])
    in_counts = common_sd((np.square(exposures) * taken).ravel(), np.tile(np.arange(taken.shape[1]), len(strata)))
    shared = in_counts.reshape(taken.shape) / np.maximum(exposures, 1.0)
    return [(values, replace(noise, kind_sd=sd)) for (values, noise), sd in zip(strata, shared, strict=True)]


def _joined_strata(
    estimate: Estimate,
    parts: list[tuple[IntArray, Observations]],
    found: Sequence[tuple[FloatArray, SmoothedNoise | FilteredNoise]],
    show: Callable[[FloatArray, Observations], FloatArray] | None,
    steps: tuple[str, str, str],
) -> Estimate:
    """Return an estimate of columns that were smoothed in strata, each with public totals of its own.

    ``show`` moves the values of a stratum to what is shown of them; their noise knows by how much, in half the digits.
    ``steps`` name the smoothing, and how values are shown: with public totals, and without.
    """
    values, offsets = np.empty(estimate.values.shape), np.zeros(estimate.values.shape)
    for (some, known), (part, _) in zip(parts, found, strict=True):
        values[:, some] = part
        if show is not None:
            offsets[:, some] = (show(part, known) - part).astype(np.float32)
    columns, noises = tuple(some for some, _ in parts), tuple(noise for _, noise in found)
    noise: Any = noises[0] if len(noises) == 1 else StrataNoise(noises, columns)
    done = [steps[0]]
    if show is not None:
        done.append(steps[1 if parts[0][1].is_shared else 2])
        values, noise = np.maximum(values + offsets, 0.0), replace(noise, offsets=offsets if offsets.any() else None)
    return replace(estimate, values=values, noise=noise, steps=(*estimate.steps, *done))


def measured_with_sums(estimate: Estimate, missing: BoolArray | None = None) -> list[tuple[IntArray, Observations]]:
    """Read an estimate in parts with public totals of their own, and the columns of each.

    Of a tree over time, the leaves are read with the noise that is their own, and the tree stands beside them. Times
    that are ``missing`` count for nothing in a curator's counts; where public totals say how many reports came
    in, they say it of these times too.
    """
    tree = estimate.noise.tree_over_time()
    # without sums that were measured, or with leaves of which all is known, a tree says nothing more
    is_told = tree is None or not measured_levels(tree) or not tree.fusion.level_variances[-1] > 0
    if tree is None or is_told or np.isnan(estimate.values).any():
        parts = measured_parts(estimate)
        if missing is None or parts[0][1].is_shared:
            return parts
        return [
            (some, replace(known, exposures=known.exposures * ~missing, counts=known.counts * ~missing[:, None]))
            for some, known in parts
        ]
    n_times, n_places = estimate.domain.shape
    gone = np.zeros(n_times, np.bool_) if missing is None else missing
    leaves = _given_zeros(tree.fusion, np.asarray(estimate.values, np.float64), gone)
    units, slopes = np.full((1, n_places), tree.fusion.level_variances[-1]), np.zeros((1, n_places))
    exposures, kinds = np.where(gone, 0.0, 1.0), column_kinds(estimate.domain)
    known = Observations(exposures, leaves, units, slopes, is_shared=False, cancels=False, tree=tree, kinds=kinds)
    return [(np.arange(n_places), known)]


def _given_zeros(fusion: TreeFusion, leaves: FloatArray, gone: BoolArray) -> FloatArray:
    """Return the least-squares leaves, given that some are 0."""
    if not gone.any():
        return leaves
    asked = np.eye(len(leaves))[:, gone]
    weights = fusion.node_weights(asked)
    for level, variance in enumerate(fusion.level_variances):
        weights[fusion.hierarchy.level_slice(level)] *= variance if np.isfinite(variance) else 0.0
    covariances = fusion.fuse(weights)
    given: FloatArray = leaves - covariances @ np.linalg.solve(covariances[gone], leaves[gone])
    given[gone] = 0.0
    return given


def _weights(known: Observations, model: StateSpace) -> tuple[FloatArray | None, FloatArray | None]:
    """Return how what is missing of a total is disaggregated: by posterior variances over all time together.

    Missing shares go to shares, but a place whose counts speak for themselves (gain 1) needs none of them: residuals of
    its counts would take them back.
    """
    if not known.is_shared:
        return None, None
    exposures = np.broadcast_to(known.exposures[:, None], model.shape)
    all_times = np.zeros(len(exposures), np.int64)
    of_shares = parts_of_one(model.covariances(exposures[None], all_times, 1)[:, 0, 0, 0])
    of_counts = parts_of_one(model.count_variance.sum(axis=0))
    gains = known.exposures @ model.gains / max(float(known.exposures.sum()), 1.0)
    return of_shares * (1 - gains) + of_counts * (of_shares @ gains), of_counts


def _realized(
    known: Observations, gains: FloatArray, shares: FloatArray, k: FloatArray | None, m: FloatArray | None
) -> FloatArray:
    """Return the posterior means of the realized counts; k and m say how they are made to add up to public totals."""
    exposures = known.exposures[:, None]
    residuals = gains * (known.counts - exposures * shares)
    if k is not None and m is not None:
        shares = shares + k * (1 - shares.sum(axis=1, keepdims=True))
        residuals = residuals - m * residuals.sum(axis=1, keepdims=True)
    return np.asarray(exposures * shares + residuals, np.float64)


def shown_alone(values: FloatArray, known: Observations) -> FloatArray:
    """Return the nearest values that counts can have, each time for itself."""
    if known.is_shared:
        return norm_sub(values, known.exposures.astype(np.int64))
    return np.maximum(values, 0.0)


def shown_in_periods(values: FloatArray, known: Observations, time: TimeAxis) -> FloatArray:
    """Return values that counts can have, whose years and months are the nearest that those can have."""
    if values.min() >= 0:
        return values
    tree = calendar_tree(time)
    if not known.is_shared:
        return known.exposures[:, None] * handed_down(tree, values, None)
    totals = tree.sum_leaves(known.exposures)
    nodes = norm_sub(tree.sum_leaves(values), totals)
    for level in range(1, tree.n_levels):
        part, above = tree.level_slice(level), tree.level_slice(level - 1)
        nodes[part] = _raked(nodes[part], totals[part], nodes[above], tree.first_children(level - 1))
    return nodes[tree.level_slice(tree.height)]


def _raked(rows: FloatArray, totals: FloatArray, parents: FloatArray, first: IntArray) -> FloatArray:
    """Return rows scaled so that their groups add up to their parents, nearly, and each to its total."""
    groups = np.repeat(np.arange(len(first) - 1), np.diff(first))
    for _ in range(_MOST_ROUNDS):
        sums = np.add.reduceat(rows, first[:-1], axis=0)
        if np.abs(sums - parents).max() <= _SLACK * (1 + parents.max()):
            break
        scaled = rows * np.divide(parents, sums, out=np.ones_like(sums), where=sums > 0)[groups]
        found = scaled.sum(axis=1, keepdims=True)
        rows = np.where(found > 0, scaled * np.divide(totals[:, None], found, where=found > 0, out=found.copy()), rows)
    return rows
