"""The state-space kernels in plain NumPy: what the compiled ones must equal, up to the last digits.

Every row of ``shares`` is a series ``x = level + wander + basis @ b`` seen with an independent error of the variance in
``errors`` (infinite where nothing was seen). A row of ``series`` holds the variance of the first level, that of each
step of the level, and that of the wander, which is stationary with correlation ``memory`` from one time to the next.
The coefficients b have prior means 0 and the variances in ``coefficients``. ``shocks`` (series x times, or 1 x 1) is
further variance of single steps of the level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray


def log_likelihoods(
    shares: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    out: FloatArray,
) -> None:
    """Write the log likelihood of every series, but for a constant that depends on the number of observations only."""
    filtered = _Filtered.run(shares, errors, basis, series, memory, coefficients, shocks)
    total = filtered.deviance + np.log(coefficients).sum(axis=1)
    total += np.linalg.slogdet(filtered.precision)[1] if basis.shape[1] else 0.0
    total -= np.einsum("rj,rj->r", filtered.loads, filtered.coefficients)
    out[:] = -0.5 * total


def smooth(
    shares: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> None:
    """Write the mean and the variance of every x, given all observations."""
    n_times = shares.shape[1]
    filtered = _Filtered.run(shares, errors, basis, series, memory, coefficients, shocks, keep=True)
    links, rests = _links(errors, series, memory, shocks)
    decay = np.array([1.0, memory])
    covariance = np.linalg.inv(filtered.precision)
    later, spread = filtered.states[-1], rests[:, -1]
    for t in range(n_times - 1, -1, -1):
        if t < n_times - 1:
            link, state = links[:, t], filtered.states[t]
            later = state + np.einsum("rij,rkj->rki", link, later - state * decay)
            spread = rests[:, t] + link @ spread @ link.transpose(0, 2, 1)
        rest = basis[t] - later[:, :-1].sum(axis=2)
        means[:, t] = later[:, -1].sum(axis=1) + np.einsum("rj,rj->r", rest, filtered.coefficients)
        variances[:, t] = spread.sum(axis=(1, 2)) + np.einsum("ri,rij,rj->r", rest, covariance, rest)


def follow(
    shares: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> None:
    """Write the mean and the variance of every x, given the observations up to its time."""
    n_series, n_terms = len(shares), basis.shape[1]
    decay = np.concatenate([[1.0, memory], np.ones(n_terms)])
    fresh = np.zeros((n_series, n_terms + 2))
    fresh[:, 0], fresh[:, 1] = series[:, 1], series[:, 2] * (1 - memory * memory)
    state = np.zeros((n_series, n_terms + 2))
    diagonal = np.concatenate([series[:, [0, 2]], coefficients], axis=1)
    spread = np.eye(n_terms + 2) * diagonal[:, None, :]
    shocks = np.broadcast_to(shocks, errors.shape)
    for t in range(shares.shape[1]):
        if t > 0:
            state = state * decay
            spread = spread * decay[:, None] * decay + np.eye(n_terms + 2) * fresh[:, None, :]
        spread[:, 0, 0] += shocks[:, t]
        asked = np.concatenate([[1.0, 1.0], basis[t]])
        moved = spread @ asked
        variance = moved @ asked
        gain = moved / (variance + errors[:, t])[:, None]  # an infinite error teaches nothing
        residual = shares[:, t] - state @ asked
        state = state + gain * residual[:, None]
        spread = spread - gain[:, :, None] * moved[:, None, :]
        means[:, t], variances[:, t] = state @ asked, variance - variance * (gain @ asked)


def level_scores(
    shares: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    scores: FloatArray,
    informations: FloatArray,
) -> None:
    """Write for every time how much the likelihood gains by a shift of the level from then on.

    That is a derivative, and the variance it has if there is no shift: the shift that fits best is their quotient.
    """
    n_series, n_times = shares.shape
    n_terms = basis.shape[1]
    filtered = _Filtered.run(shares, errors, basis, series, memory, coefficients, shocks, keep=True)
    covariance = np.linalg.inv(filtered.precision)
    decay = np.array([1.0, memory])
    seen = list(_covariances(errors, series, memory, shocks))
    slopes, bends = np.zeros((n_series, n_terms + 1, 2)), np.zeros((n_series, 2, 2))
    for t in range(n_times - 1, -1, -1):
        _, _, spread, gain = seen[t]
        residuals, weight = filtered.residuals[t] / spread[:, None], 1 / spread
        slopes, bends = slopes * decay, bends * decay[:, None] * decay
        rest = np.eye(2) - gain[:, :, None]  # what a state leaves of itself once its time is seen
        slopes = residuals[:, :, None] + slopes @ rest
        bends = weight[:, None, None] + rest.transpose(0, 2, 1) @ bends @ rest
        of_terms = slopes[:, :-1, 0]
        scores[:, t] = slopes[:, -1, 0] - np.einsum("rj,rj->r", of_terms, filtered.coefficients)
        informations[:, t] = bends[:, 0, 0] - np.einsum("ri,rij,rj->r", of_terms, covariance, of_terms)


def question_variances(
    errors: FloatArray,
    basis: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    weights: FloatArray,
    damped: FloatArray,
    groups: NDArray[np.int64],
    bounds: NDArray[np.int64],
    out: FloatArray,
) -> None:
    """Write Var(a), Cov(a, b) and Var(b) of a = sum of weights * x and b = sum of damped * x over each group of times.

    ``bounds`` holds the first time of each group and the one after its last; the variances are those given the
    observations, which need not be known for it.
    """
    n_series, n_times = errors.shape
    n_groups = len(bounds)
    links, rests = _links(errors, series, memory, shocks)
    nothing = np.zeros_like(errors)
    covariance = np.linalg.inv(_Filtered.run(nothing, errors, basis, series, memory, coefficients, shocks).precision)
    asked = np.zeros((n_times, n_series, 2, n_groups))
    for t in range(n_times):
        if 0 <= groups[t] < n_groups:
            asked[t, :, 0, groups[t]], asked[t, :, 1, groups[t]] = weights[:, t], damped[:, t]
    carried = np.zeros((n_series, 2, n_groups, 2))
    moved = np.empty((n_times, *carried.shape))
    out[:] = 0.0
    for t in range(n_times):
        if t > 0:
            carried = carried @ links[:, None, t - 1]
        carried = carried + asked[t][..., None]
        moved[t] = carried @ rests[:, None, t]
        _add_products(out, np.einsum("rxgi,rygi->rgxy", carried, moved[t]))
    rest = np.zeros((n_series, 2, n_groups, basis.shape[1]))
    backward = np.zeros_like(carried)
    for t in range(n_times - 1, -1, -1):
        if t < n_times - 1:
            backward = backward @ links[:, None, t].transpose(0, 1, 3, 2)
        backward = backward + moved[t]
        left = asked[t] - backward.sum(axis=3) / errors[:, t][:, None, None]
        rest += left[..., None] * basis[t]
    _add_products(out, np.einsum("rxgi,rij,rygj->rgxy", rest, covariance, rest))


def _add_products(out: FloatArray, products: FloatArray) -> None:
    out[..., 0] += products[..., 0, 0]
    out[..., 1] += products[..., 0, 1]
    out[..., 2] += products[..., 1, 1]


def _covariances(
    errors: FloatArray, series: FloatArray, memory: float, shocks: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """For every time: the covariance of (level, wander) before it is seen and after, the spread and the gain."""
    n_series, n_times = errors.shape
    decay = np.array([1.0, memory])
    fresh = np.zeros((n_series, 2, 2))
    fresh[:, 0, 0], fresh[:, 1, 1] = series[:, 1], series[:, 2] * (1 - memory * memory)
    shocks = np.broadcast_to(shocks, errors.shape)
    after = np.zeros((n_series, 2, 2))
    after[:, 0, 0], after[:, 1, 1] = series[:, 0], series[:, 2]
    for t in range(n_times):
        before = after if t == 0 else after * decay[:, None] * decay + fresh
        before = before + shocks[:, t, None, None] * np.array([[1.0, 0.0], [0.0, 0.0]])
        sides = before.sum(axis=2)
        spread = sides.sum(axis=1) + errors[:, t]
        gain = sides / spread[:, None]  # an infinite error teaches nothing
        after = before - gain[:, :, None] * sides[:, None, :]
        yield before, after, spread, gain


def _links(errors: FloatArray, series: FloatArray, memory: float, shocks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """J and the covariance of xi in x_t = J_t x_(t+1) + xi_t: the factors of the states given the observations."""
    n_series, n_times = errors.shape
    links, rests = np.zeros((n_series, n_times, 2, 2)), np.zeros((n_series, n_times, 2, 2))
    decay = np.array([1.0, memory])
    last: FloatArray | None = None
    for t, (before, after, _, _) in enumerate(_covariances(errors, series, memory, shocks)):
        if last is not None:
            links[:, t - 1] = last * decay @ np.linalg.inv(before)
            rests[:, t - 1] = last - links[:, t - 1] @ before @ links[:, t - 1].transpose(0, 2, 1)
        last = after
    rests[:, -1] = last
    return links, rests


@dataclass(frozen=True, slots=True)
class _Filtered:
    """The states that one pass finds for the columns of the basis and, last, for the shares; and what it adds up."""

    states: Any
    residuals: Any
    deviance: FloatArray
    precision: FloatArray
    loads: FloatArray
    coefficients: FloatArray

    @classmethod
    def run(
        cls,
        shares: FloatArray,
        errors: FloatArray,
        basis: FloatArray,
        series: FloatArray,
        memory: float,
        coefficients: FloatArray,
        shocks: FloatArray,
        *,
        keep: bool = False,
    ) -> _Filtered:
        n_series, n_terms = len(shares), basis.shape[1]
        decay = np.array([1.0, memory])
        state = np.zeros((n_series, n_terms + 1, 2))
        states, all_residuals = [], []
        products = np.zeros((n_series, n_terms + 1, n_terms + 1))
        logs = np.zeros(n_series)
        for t, (_, _, spread, gain) in enumerate(_covariances(errors, series, memory, shocks)):
            state = state if t == 0 else state * decay
            seen = np.concatenate([np.broadcast_to(basis[t], (n_series, n_terms)), shares[:, t, None]], axis=1)
            residuals = seen - state.sum(axis=2)
            state = state + residuals[:, :, None] * gain[:, None, :]
            is_seen = np.isfinite(spread)
            logs += np.log(spread, out=np.zeros(n_series), where=is_seen)
            products += residuals[:, :, None] * residuals[:, None, :] / spread[:, None, None]
            if keep:
                states.append(state)
                all_residuals.append(residuals)
        precision = products[:, :-1, :-1] + np.eye(n_terms) / coefficients[:, None, :]
        loads = products[:, :-1, -1]
        found: FloatArray = np.linalg.solve(precision, loads[..., None])[..., 0].astype(np.float64)
        return cls(states, all_residuals, logs + products[:, -1, -1], precision, loads, found)
