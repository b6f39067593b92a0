"""The kernels for series of which sums were seen too, in plain NumPy: what the compiled ones must equal.

Every row of ``values`` is a series of realized values ``c = x + d``, each seen with an independent error of the
variance in ``errors`` (infinite where it was not seen). What is expected of them, x, follows the model of
``state_space_plain``; d is independent, of the variance in ``deviations``. ``exposures`` are 1, or 0 at times at which
nothing can have been counted: there c is 0, and the value seen must be 0 too.

Runs of times follow one another on several levels: a row of ``ends`` says with which times those of a level end, and
the sum of c over each was seen too, with the variance in ``sum_errors``. What was seen of a sum is the sum of what was
seen: as for leaves and nodes of a tree that least squares made agree, of which this is the same likelihood as before,
but for a constant.

The state is (level, wander, what has been added up so far on each level). The coefficients of the basis are found as
in a regression, from what the same filter makes of the columns of the basis.

Reference: Durbin2012 (observations one after the other; smoothing without inverses).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray


def log_likelihoods(
    values: FloatArray,
    exposures: FloatArray,
    errors: FloatArray,
    deviations: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    ends: BoolArray,
    sum_errors: FloatArray,
    out: FloatArray,
) -> None:
    """Write the log likelihood of every series, but for a constant that depends on what was seen only."""
    passed = _Pass.over(values, exposures, errors, deviations, basis, series, memory, shocks, ends, sum_errors)
    precision, loads = passed.products(coefficients)
    weights, own = passed.weights, passed.found[:, :, -1]
    total = (np.square(own) * weights - np.log(weights, out=np.zeros_like(weights), where=weights > 0)).sum(axis=0)
    total += np.log(coefficients).sum(axis=1)
    if basis.shape[1]:
        total += np.linalg.slogdet(precision)[1]
        total -= np.einsum("rj,rj->r", loads, np.linalg.solve(precision, loads[..., None])[..., 0])
    out[:] = -0.5 * total


def smooth(
    values: FloatArray,
    exposures: FloatArray,
    errors: FloatArray,
    deviations: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    ends: BoolArray,
    sum_errors: FloatArray,
    expected: FloatArray,
    realized: FloatArray,
) -> None:
    """Write the means of x and of c, given all that was seen."""
    passed = _Pass.over(values, exposures, errors, deviations, basis, series, memory, shocks, ends, sum_errors)
    precision, loads = passed.products(coefficients)
    found = np.linalg.solve(precision, loads[..., None])[..., 0]
    own = passed.found[:, :, -1:] - np.einsum("orj,rj->or", passed.found[:, :, :-1], found)[..., None]
    pull = np.zeros((len(values), 1, len(ends) + 2))
    for t in range(values.shape[1] - 1, -1, -1):
        row = passed.rows[t]
        pull = passed.before_sums(t, pull, own)
        of_state = np.einsum("ri,rxi->r", passed.moved[row], pull)
        of_own = passed.pulled(t, pull, own)[:, 0]
        before = values[:, t] - own[row, :, 0] + of_state
        realized[:, t] = exposures[t] * (before + passed.spreads[:, t] * of_own)
        of_own = exposures[t] * of_own
        expected[:, t] = before + passed.moved[row, :, :2].sum(axis=1) * of_own
        pull[:, 0, :2] += of_own[:, None]
        pull[:, :, 1] *= memory


def level_scores(
    values: FloatArray,
    exposures: FloatArray,
    errors: FloatArray,
    deviations: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    ends: BoolArray,
    sum_errors: FloatArray,
    scores: FloatArray,
    informations: FloatArray,
) -> None:
    """Write for every time but the first how much the likelihood gains by a shift of the level from then on.

    That is a derivative, and the variance it has if there is no shift.
    """
    passed = _Pass.over(values, exposures, errors, deviations, basis, series, memory, shocks, ends, sum_errors)
    precision, loads = passed.products(coefficients)
    covariance = np.linalg.inv(precision)
    found = np.einsum("rij,rj->ri", covariance, loads)
    pulls, bends = passed.backward(exposures, memory, passed.found)
    levels = pulls[:-1, :, :, 0]
    scores[:, 0], informations[:, 0] = 0.0, 0.0
    scores[:, 1:] = (levels[:, :, -1] - np.einsum("trj,rj->tr", levels[:, :, :-1], found)).T
    of_terms = np.einsum("tri,rij,trj->tr", levels[:, :, :-1], covariance, levels[:, :, :-1])
    informations[:, 1:] = (bends[:-1, :, 0, 0] - of_terms).T


def question_variances(
    exposures: FloatArray,
    errors: FloatArray,
    deviations: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    ends: BoolArray,
    sum_errors: FloatArray,
    weights: FloatArray,
    groups: IntArray,
    bounds: IntArray,
    out: FloatArray,
    slopes: FloatArray,
) -> None:
    """Write the variance of the sum of weights * c over each group of times, given all that was seen.

    ``bounds`` holds the first time of each group and the one after its last. ``slopes`` (series x groups x the first
    few terms, or none) are what answers change by if coefficients of the basis were larger by 1 than they were taken.
    """
    passed = _Pass.over(
        np.zeros_like(errors), exposures, errors, deviations, basis, series, memory, shocks, ends, sum_errors
    )
    covariance = np.linalg.inv(passed.products(coefficients)[0])
    pulls, bends = passed.backward(exposures, memory, passed.found[:, :, :-1])
    for g, (first, stop) in enumerate(bounds):
        variance, rest = np.zeros(len(errors)), np.zeros((len(errors), basis.shape[1]))
        shared = np.zeros((len(errors), len(ends) + 2))
        for t in range(first, stop):
            row, spread, kept = passed.rows[t], passed.spreads[:, t], passed.kept[:, t]
            shared[:, 1] *= memory
            own, weight = shared[:, 0] + shared[:, 1], passed.weights[row]
            asked = weights[:, t] * (groups[t] == g)
            change = asked * kept - own * weight
            variance += asked * (2 * own + asked * spread) * kept - own**2 * weight
            rest += passed.found[row, :, :-1] * change[:, None]
            shared += passed.moved[row] * change[:, None]
            shared[:, 2:] += ((own + asked * spread) * kept)[:, None]
            ended = np.flatnonzero(ends[:, t])
            for row, k in enumerate(ended, passed.rows[t] + 1):
                own, weight = shared[:, k + 2].copy(), passed.weights[row]
                variance -= own**2 * weight
                rest -= passed.found[row, :, :-1] * (own * weight)[:, None]
                shared -= passed.moved[row] * (own * weight)[:, None]
            shared[:, ended + 2] = 0.0
        if stop > first:
            variance -= np.einsum("ri,rij,rj->r", shared, bends[stop - 1], shared)
            rest -= np.einsum("rji,ri->rj", pulls[stop - 1], shared)
        out[:, g] = np.maximum(variance + np.einsum("ri,rij,rj->r", rest, covariance, rest), 0.0)
        slopes[:, g] = rest[:, : slopes.shape[2]]


@dataclass(frozen=True, slots=True)
class _Pass:
    """What a filter finds, one row for all that was seen: a value, and then the sums that end with it.

    ``found`` is how far columns of the basis, and last the values, are from what was expected; ``weights`` one over the
    variance of that; ``moved`` covariances with the state. ``spreads`` are the variances of realized values before they
    are seen, ``kept`` the part that seeing them leaves; ``rows`` the rows of values.
    """

    ends: BoolArray
    rows: IntArray
    moved: FloatArray
    weights: FloatArray
    found: FloatArray
    spreads: FloatArray
    kept: FloatArray

    @classmethod
    def over(
        cls,
        values: FloatArray,
        exposures: FloatArray,
        errors: FloatArray,
        deviations: FloatArray,
        basis: FloatArray,
        series: FloatArray,
        memory: float,
        shocks: FloatArray,
        ends: BoolArray,
        sum_errors: FloatArray,
    ) -> _Pass:
        n_series, n_times = values.shape
        n_terms, size = basis.shape[1], len(ends) + 2
        rows = np.concatenate([[0], np.cumsum(1 + ends.sum(axis=0))])
        n_rows = int(rows[-1])
        moved, weights = np.empty((n_rows, n_series, size)), np.empty((n_rows, n_series))
        found = np.empty((n_rows, n_series, n_terms + 1))
        spreads, kept = np.empty((n_series, n_times)), np.empty((n_series, n_times))
        spread, states = np.zeros((n_series, size, size)), np.zeros((n_series, n_terms + 1, size))
        spread[:, 0, 0], spread[:, 1, 1] = series[:, 0], series[:, 2]
        shocks = np.broadcast_to(shocks, errors.shape)
        is_sum = (np.arange(size) > 1).astype(np.float64)
        decay = np.ones(size)
        decay[1] = memory
        for t in range(n_times):
            if t > 0:
                spread, states = spread * decay[:, None] * decay, states * decay
                spread[:, 0, 0] += series[:, 1]
                spread[:, 1, 1] += series[:, 2] * (1 - memory * memory)
            spread[:, 0, 0] += shocks[:, t]
            row, side = rows[t], spread[:, 0] + spread[:, 1]
            own = side[:, 0] + side[:, 1] + deviations[:, t]
            weight = 1 / (own + errors[:, t]) if exposures[t] > 0 else np.zeros(n_series)  # 0 too if nothing was seen
            rest = exposures[t] * (1 - own * weight)
            seen = np.concatenate([np.broadcast_to(basis[t], (n_series, n_terms)), values[:, t, None]], axis=1)
            residuals = seen - states[:, :, 0] - states[:, :, 1]
            # sums are held as what they differ by from those of the values
            states = states + residuals[:, :, None] * (side * weight[:, None] - np.outer(rest, is_sum))[:, None, :]
            added = (side + (own / 2)[:, None] * is_sum)[:, :, None] * is_sum * rest[:, None, None]
            spread = spread - side[:, :, None] * (side * weight[:, None])[:, None, :]
            spread = spread + added + added.transpose(0, 2, 1)
            moved[row], weights[row], found[row] = side, weight, residuals
            spreads[:, t], kept[:, t] = own, rest
            ended = np.flatnonzero(ends[:, t])
            for row, k in enumerate(ended, rows[t] + 1):
                side, residuals = spread[:, :, k + 2], -states[:, :, k + 2]
                total = side[:, k + 2] + sum_errors[k]
                weight = np.divide(1.0, total, out=np.zeros(n_series), where=total > 0)
                moved[row], weights[row], found[row] = side, weight, residuals
                states = states + residuals[:, :, None] * (side * weight[:, None])[:, None, :]
                spread = spread - side[:, :, None] * (side * weight[:, None])[:, None, :]
            states[:, :, ended + 2] = 0.0
            spread[:, ended + 2] = 0.0
            spread[:, :, ended + 2] = 0.0
        return cls(ends, rows, moved, weights, found, spreads, kept)

    def products(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The precision of the coefficients of the basis, and what it is multiplied by to give what was seen."""
        terms = self.found[:, :, :-1]
        precision = np.einsum("orj,or,ori->rji", terms, self.weights, terms)
        loads: FloatArray = np.einsum("orj,or,or->rj", terms, self.weights, self.found[:, :, -1])
        return precision + np.eye(terms.shape[2]) / coefficients[:, None, :], loads

    def before_sums(self, t: int, pull: FloatArray, own: FloatArray) -> FloatArray:
        """The pull on the state after a time, as one on the state before the sums that end with it were seen."""
        ended = np.flatnonzero(self.ends[:, t])
        pull[:, :, ended + 2] = 0.0
        for row, k in zip(range(self.rows[t + 1] - 1, self.rows[t], -1), ended[::-1], strict=True):
            back = np.einsum("ri,rxi->rx", self.moved[row], pull)
            pull[:, :, k + 2] += self.weights[row][:, None] * (own[row] - back)
        return pull

    def pulled(self, t: int, pull: FloatArray, own: FloatArray) -> FloatArray:
        """The pull on a realized value, that of the value seen included."""
        row = self.rows[t]
        later = pull[:, :, 2:].sum(axis=2)
        back = np.einsum("ri,rxi->rx", self.moved[row], pull) + self.spreads[:, t, None] * later
        pulled: FloatArray = later + self.weights[row][:, None] * (own[row] - back)
        return pulled

    def backward(self, exposures: FloatArray, memory: float, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What all that comes after each time says of the state then: a pull for columns of ``found``, a precision."""
        n_times, (_, n_series, size), n_terms = len(self.rows) - 1, self.moved.shape, own.shape[2]
        pulls, bends = np.empty((n_times, n_series, n_terms, size)), np.empty((n_times, n_series, size, size))
        pull, bend = np.zeros((n_series, n_terms, size)), np.zeros((n_series, size, size))
        take_in = np.zeros((size + 1, size))  # from (state, realized value) to the state that has it added up
        take_in[:size], take_in[size, 2:] = np.eye(size), 1.0
        make = np.concatenate([np.eye(size), np.zeros((size, 1))], axis=1)
        decay = np.ones(size)
        decay[1] = memory
        for t in range(n_times - 1, -1, -1):
            pulls[t], bends[t] = pull, bend
            ended = np.flatnonzero(self.ends[:, t])
            bend[:, ended + 2] = 0.0
            bend[:, :, ended + 2] = 0.0
            pull = self.before_sums(t, pull, own)
            for row, k in zip(range(self.rows[t + 1] - 1, self.rows[t], -1), ended[::-1], strict=True):
                bend = _seen(bend, self.moved[row], self.weights[row], k + 2)
            row = self.rows[t]
            of_own = self.pulled(t, pull, own) * exposures[t]
            make[:2, size] = exposures[t]
            joint = np.concatenate([self.moved[row], self.spreads[:, t, None]], axis=1)
            bend = make @ _seen(take_in @ bend @ take_in.T, joint, self.weights[row], size) @ make.T
            bend = bend * decay[:, None] * decay
            pull[:, :, :2] += of_own[:, :, None]
            pull = pull * decay
        return pulls, bends


def _seen(bend: FloatArray, moved: FloatArray, weights: FloatArray, part: int) -> FloatArray:
    """The precision before a part of the state was seen, with these covariances and one over the variance."""
    rest = np.broadcast_to(np.eye(bend.shape[1]), bend.shape).copy()
    rest[:, :, part] -= moved * weights[:, None]
    before: FloatArray = rest.transpose(0, 2, 1) @ bend @ rest
    before[:, part, part] += weights
    return before
