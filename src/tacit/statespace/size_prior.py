r"""The size prior: how large places are, told by one another where noise hides them.

Places differ by factors, and most are smaller than the mean. Two families of distributions of sizes are possible: one
with a heavy tail, where a few places hold most (log-logistic), and one without (Weibull),

.. math:: F(x) = \frac{y}{1 + y} \quad\text{or}\quad 1 - 2^{-y}, \qquad y = (x / c)^{1 / b},

of sizes x relative to an equal share, or to what a public table says of the place, with the median c and the spread b
of logarithms. The mean of all sizes is known, which leaves little choice of c once b is given. A part of the places may
be empty: tables of places have names where nothing ever happens. No distribution is chosen. All are weighed by how well
they explain the pooled shares of the *other* places; the posterior of a place is this mixture times its own likelihood,
which is exact for independent places. Places of one kind of event are told by one another alone; the kinds themselves
have the same prior, one level up.

Reference: Efron1973.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.series import Observations
from tacit.statespace.settings import SETTINGS, Settings

_STEP: Final = 0.04  # of the grid of log sizes: two thirds of the narrowest spread
_CELLS: Final = np.linspace(0.0, 1.0, 51)  # edges of cells, 5 to a standard deviation
_FAR: Final = 5.0  # standard deviations: beyond them lies less than one in a million
_FINEST: Final = 1e-6  # the least size in integrals
_STEPS: Final = 600  # of integrals over sizes; more change no digit that is shown
_HALVINGS: Final = 50  # of an interval: to the last digit
_ROUNDS: Final = 3  # of Newton's method for the sum of shares; the third moves them by less than 1e-4
MOST_NUMBERS: Final = 1 << 16  # in one array: half a megabyte; 32 MB leave the cache and take half as long again


@dataclass(frozen=True, eq=False)
class SizePrior:
    """A mixture of distributions of the size of each place. ``units`` are what sizes are relative to.

    ``levels`` and ``variances`` are the pooled shares by which distributions are weighed, and the variances of their
    errors. Columns of one of the ``kinds`` speak for one another, all if None.
    """

    units: FloatArray
    levels: FloatArray
    variances: FloatArray
    kinds: IntArray | None = None

    @cached_property
    def below(self) -> FloatArray:
        """Return the probabilities of less than sizes on a grid of equal steps of their logarithm (places x sizes)."""
        of_kind = columns_by_kind(self.kinds, len(self.units))
        largest = max(2 * self.units[columns].sum() / self.units[columns].min() for columns in of_kind)
        sizes = np.exp(np.arange(np.log(SETTINGS.least_size), np.log(largest), _STEP))
        below = np.empty((len(self.units), len(sizes)))
        for some in of_kind:
            below[some] = _mixture(sizes, self.units[some], self.levels[some], self.variances[some])
        return below

    def moments(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return posterior means, variances and third cumulants of shares, given levels (places)."""
        _, shares, chances = (part[:, 0] for part in self._posterior(levels[:, None], variances[:, None]))
        means = (chances * shares).sum(axis=1)
        apart = shares - means[:, None]
        # at least a thousandth of the variance: cells are a fifth of a standard deviation wide
        squares = np.maximum((chances * np.square(apart)).sum(axis=1), 1e-3 * variances)
        return means, squares, np.asarray((chances * apart**3).sum(axis=1), np.float64)

    def medians(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return posterior medians of shares that add up to 1, given levels (places x origins), and mean squares.

        Independent shares given their sum are, nearly, independent shares whose levels are all moved by the same number
        of their variances, so that means add up. The median lies between the mean, which makes too much of places of
        which noise shows nothing, and the mode, which makes nothing of them.
        """
        medians, squares = np.empty(levels.shape), np.empty(levels.shape)
        at_once = max(MOST_NUMBERS // (len(_CELLS) * len(levels)), 1)
        for first in range(0, levels.shape[1], at_once):
            some = np.s_[:, first : first + at_once]
            medians[some], squares[some] = self._given_sum(levels[some], variances[some])
        return medians, squares

    def _given_sum(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        moved = levels
        for _ in range(_ROUNDS):
            _, centres, chances = self._posterior(moved, variances)
            means = (chances * centres).sum(axis=-1)
            spread = (chances * np.square(centres - means[..., None])).sum(axis=-1).sum(axis=0)
            moved = moved + (1 - means.sum(axis=0)) / np.maximum(spread, 1e-300) * variances
        medians, squares = _medians(*self._posterior(moved, variances))
        return medians / medians.sum(axis=0), squares

    def _posterior(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return edges and centres of cells around levels (places x origins), and the posterior probability of each."""
        edges, centres, likelihoods = _cells(levels, variances)
        prior = np.diff(_interpolated(self.below, edges / self.units[:, None, None]), axis=-1)
        parts = prior * likelihoods + 1e-300
        return edges, centres, parts / parts.sum(axis=-1, keepdims=True)


def _mixture(sizes: FloatArray, units: FloatArray, levels: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the probability of less than ``sizes``, by the distributions that the levels of other places speak for."""
    (edges, _, likelihoods), family = _cells(levels, variances), _family(len(units), SETTINGS)
    priors = (np.diff(some.below(edges / units[:, None]), axis=-1) for some in family)
    logs = np.log(np.maximum(np.concatenate([(prior * likelihoods).sum(axis=-1) for prior in priors]), 1e-300))
    log_weights = np.concatenate([some.log_weights for some in family])[:, None]
    of_others = logs.sum(axis=1, keepdims=True) - logs + log_weights
    weights = np.exp(of_others - of_others.max(axis=0))
    rows = np.concatenate([some.below(sizes) for some in family])
    return np.asarray((weights / weights.sum(axis=0)).T @ rows, np.float64)


def columns_by_kind(kinds: IntArray | None, n_columns: int) -> list[IntArray]:
    """Return the columns of each kind; all together where there are no kinds."""
    if kinds is None:
        return [np.arange(n_columns)]
    return [np.flatnonzero(kinds == kind) for kind in range(int(kinds.max()) + 1)]


def expected_sizes(
    known: Observations, levels: FloatArray, variances: FloatArray, sizes: FloatArray | None = None
) -> FloatArray:
    """Return what the size of each column is relative to: its part of its kind, equal or by ``sizes``.

    Where columns are of several kinds, what a kind has in all is estimated from the pooled levels of its columns.
    """
    n_columns = len(levels)
    whole = 1.0 if known.is_shared else n_columns * max(float(levels.mean()), SETTINGS.least_rate)
    parts = np.full(n_columns, 1 / n_columns) if sizes is None else sizes / sizes.sum()
    if known.kinds is None:
        return whole * parts
    sums, errors, own = (np.bincount(known.kinds, part).astype(np.float64) for part in (levels, variances, parts))
    of_kinds = SizePrior(np.full(len(sums), whole / len(sums)), sums, errors).moments(sums, errors)[0]
    return np.asarray((whole * of_kinds / of_kinds.sum() / own)[known.kinds] * parts, np.float64)


@dataclass(frozen=True, slots=True)
class LongRun:
    """For every place its long-run share, a normal prior of its first level, and what the size prior did to it.

    ``start`` and ``start_variance`` give, together with the counts, posterior mean and variance of the share again. So
    where they say little of a place, the mean may be far from it. ``skews`` are third cumulants of the posterior,
    ``taken`` what the prior took from the variance of each share (:func:`common_sd` gives it back to sums).
    """

    shares: FloatArray
    start: FloatArray
    start_variance: FloatArray
    skews: FloatArray = field(default_factory=lambda: np.zeros(1))
    taken: FloatArray = field(default_factory=lambda: np.zeros(1))


def long_run_shares(known: Observations, excess: FloatArray, *, level_variance: float = 0.0) -> LongRun:
    """Return what all times together say of shares; times with an excess of their total count less.

    ``level_variance`` is how far the long-run share may be from the first one: a variance, relative to its square.
    """
    n_places, everything = known.counts.shape[1], np.array([len(known.exposures)])
    shares = np.full(n_places, 1 / n_places) if known.is_shared else np.ones(n_places)
    raw, errors, exposures = (part[:, 0] for part in pooled_shares(known, excess, shares[None], everything))
    if not exposures.any():
        return LongRun(shares, shares, np.square(shares), np.zeros(n_places), np.zeros(n_places))
    shares = units = expected_sizes(known, raw, errors)
    for _ in range(SETTINGS.size_rounds):
        chance = pooled_shares(known, excess, shares[None], everything)[1][:, 0]
        variances = chance + level_variance * np.square(shares)
        prior = SizePrior(units, raw, variances, known.kinds)
        means, squares, _ = prior.moments(raw, variances)
        shares = np.maximum(means, SETTINGS.least_size * units)
    skews = prior.moments(raw, chance)[2]
    widest = SETTINGS.widest_start * np.square(shares) + variances
    precision = np.maximum(1 / squares - 1 / variances, 1 / widest)
    start = shares + (shares - raw) / (variances * precision)
    return LongRun(shares, start, 1 / precision, skews, np.maximum(variances - squares, 0.0))


def common_sd(taken: FloatArray, kinds: IntArray) -> FloatArray:
    """Return what the prior took from the variance of each kind's sum, as an error that its columns have in common.

    How large a kind is in all is told by its own columns alone, so the prior must take nothing from the variance of
    their sum. ``taken`` is what it took from each column's.
    """
    of_kind = np.maximum(np.bincount(kinds, taken), 1e-300)
    return np.asarray(taken / np.sqrt(of_kind)[kinds], np.float64)


def pooled_shares(
    known: Observations, excess: FloatArray, shares: FloatArray, origins: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares by all times before each origin together (places x origins), variances of errors, and exposures.

    Times with an excess of their total count less. Where nothing was observed the share is 0, with a wide variance.
    """
    weights = np.square(1 - excess)[:, None] * known.observed
    exposures = known.exposures[:, None]
    spread = known.summed_noise_variance(shares) + exposures * shares
    total, counts, squares = (
        np.concatenate([np.zeros((1, part.shape[1])), np.cumsum(part, axis=0)])[origins].T
        for part in (
            np.broadcast_to(weights * exposures, known.counts.shape),
            np.where(exposures > 0, weights * known.counts, 0.0),
            np.broadcast_to(np.square(weights) * spread, known.counts.shape),
        )
    )
    is_known = (total > 0) & (squares > 0)
    whole = np.where(total > 0, total, 1.0)
    unknown = 1.0 if known.is_shared else max(4 * float(np.square(shares).max()), 1.0)
    return counts / whole, np.where(is_known, squares / np.square(whole), unknown), total


@dataclass(frozen=True, slots=True, eq=False)
class _Distributions:
    """Distributions of sizes relative to their mean, alike but for two numbers; log weights by the mean each has."""

    spread: float
    is_heavy: bool
    medians: FloatArray
    empty: FloatArray
    log_weights: FloatArray = field(default_factory=lambda: np.zeros(0))

    def below(self, sizes: FloatArray) -> FloatArray:
        """Return the probabilities of less than these sizes (distributions x any)."""
        medians, empty = (part.reshape(-1, *(1,) * sizes.ndim) for part in (self.medians, self.empty))
        y = (sizes / medians) ** (1 / self.spread)
        below = y / (1 + y) if self.is_heavy else -np.expm1(-np.log(2) * y)
        return np.asarray(empty * np.minimum(sizes / SETTINGS.empty_size, 1.0) + (1 - empty) * below)

    def moments(self, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of sizes, of which those between two edges are taken for equal."""
        sizes, chances = (edges[1:] + edges[:-1]) / 2, np.diff(self.below(edges), axis=-1)
        chances /= chances.sum(axis=-1, keepdims=True)
        means = chances @ sizes
        return means, np.maximum(chances @ np.square(sizes) - means**2, 0.0)


@cache
def _family(n_places: int, settings: Settings) -> tuple[_Distributions, ...]:
    """Return the possible distributions: no size is more than the sum of all, and all have about the mean 1.

    A distribution of another mean is the less likely the surer it is of the mean of that many places.
    """
    edges = np.concatenate([[0.0], np.geomspace(_FINEST, float(max(n_places, 2)), _STEPS)])
    empty, parts, found = np.array(settings.empty_parts), np.array(settings.size_medians), []
    for spread, is_heavy in product(settings.size_spreads, (True, False)):
        # medians of sizes whose mean is 1 lie between, whatever the spread
        low, high = np.full_like(empty, 1e-8), np.full_like(empty, 3.0)
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            is_less = _Distributions(spread, is_heavy, middle, empty).moments(edges)[0] < 1
            low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
        each = _Distributions(spread, is_heavy, np.outer(middle, parts).ravel(), np.repeat(empty, len(parts)))
        means, variances = each.moments(edges)
        weights = -0.5 * np.square(means - 1) / (variances / n_places + settings.mean_doubt**2)
        found.append(replace(each, log_weights=weights))
    return tuple(found)


def _cells(levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges and centres of cells above 0 around each level, and the likelihood of the level at each centre.

    Where 0 is near, cells are the smaller the nearer they are to it: places may be much smaller than noise.
    """
    sd = np.sqrt(variances)[..., None]
    low = np.maximum(levels[..., None] - _FAR * sd, 0.0)
    high = np.maximum(levels, 0.0)[..., None] + _FAR * sd
    edges = low + (high - low) * np.where(low > 0, _CELLS, np.square(_CELLS))
    centres, nearest = (edges[..., 1:] + edges[..., :-1]) / 2, np.minimum(levels, 0.0)[..., None] / sd
    return edges, centres, np.exp(0.5 * (np.square(nearest) - np.square((levels[..., None] - centres) / sd)))


def _interpolated(below: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the probabilities of less than any sizes (places x any), from those on the grid (places x grid)."""
    least = SETTINGS.least_size
    at = (np.log(np.maximum(sizes, 1e-12 * least)) - np.log(least)) / _STEP
    left = np.clip(at.astype(np.int64), 0, below.shape[1] - 2)
    part = np.clip(at - left, 0.0, 1.0)
    rows = np.arange(len(below)).reshape(-1, *(1,) * (sizes.ndim - 1))
    found = below[rows, left] * (1 - part) + below[rows, left + 1] * part
    return np.asarray(found * np.minimum(sizes / least, 1.0), np.float64)


def _medians(edges: FloatArray, centres: FloatArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians of distributions given by the probabilities of cells, and the mean squares around them."""
    up_to = np.cumsum(chances, axis=-1)
    cell = np.argmax(up_to >= 0.5, axis=-1)[..., None]
    low, high = np.take_along_axis(edges, cell, -1), np.take_along_axis(edges, cell + 1, -1)
    chance = np.take_along_axis(chances, cell, -1)
    median = low + (high - low) * (0.5 - np.take_along_axis(up_to, cell, -1) + chance) / chance
    squares = (chances * np.square(centres - median)).sum(axis=-1)
    return np.asarray(median[..., 0], np.float64), np.asarray(squares, np.float64)
