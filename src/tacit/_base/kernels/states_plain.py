"""The kernels of what a filter knows, in plain NumPy: what the compiled ones must equal, up to the last digits.

A state is a level, a wander around it and the coefficients of a basis; what is expected is their sum, level + wander +
basis @ b. Origins are in ascending order; what is known at one are the bins before it, moved on to the bin itself.
"""

from __future__ import annotations

import numpy as np

from tacit._base.arrays import FloatArray, IntArray


def share_states(
    shares: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    starts: FloatArray,
    series: FloatArray,
    memory: float,
    coefficients: FloatArray,
    shocks: FloatArray,
    origins: IntArray,
    states: FloatArray,
    spreads: FloatArray,
) -> None:
    """Follow the weights of all series, whose parts of their sum the shares are; write what was known at every origin.

    The model of a weight is ``state_space_plain``'s, from a level around ``starts`` on. What a share says of its weight
    hangs on the sum W of all: it is W times the share, with W as it was expected. So a series that is seen to grow
    makes the parts of all others smaller, of which too little is seen to tell.
    """
    n_series, n_terms = len(shares), basis.shape[1]
    decay = np.concatenate([[1.0, memory], np.ones(n_terms)])
    fresh = np.zeros((n_series, n_terms + 2))
    fresh[:, 0], fresh[:, 1] = series[:, 1], series[:, 2] * (1 - memory * memory)
    state = np.zeros((n_series, n_terms + 2))
    state[:, 0] = starts
    spread = np.eye(n_terms + 2) * np.concatenate([series[:, [0, 2]], coefficients], axis=1)[:, None, :]
    shocks = np.broadcast_to(shocks, errors.shape)
    for t in range(int(origins[-1]) + 1):
        if t > 0:
            state = state * decay
            spread = spread * decay[:, None] * decay + np.eye(n_terms + 2) * fresh[:, None, :]
        for o in np.flatnonzero(origins == t):
            states[:, o], spreads[:, o] = state, spread
        if t == shares.shape[1]:
            break
        spread[:, 0, 0] += shocks[:, t]
        asked = np.concatenate([[1.0, 1.0], basis[t]])
        moved, means = spread @ asked, state @ asked
        whole = means.sum()
        gain = moved / (moved @ asked + errors[:, t] * whole**2)[:, None]  # an infinite error teaches nothing
        state = state + gain * (shares[:, t] * whole - means)[:, None]
        spread = spread - gain[:, :, None] * moved[:, None, :]


def rate_states(
    counts: FloatArray,
    errors: FloatArray,
    basis: FloatArray,
    state: FloatArray,
    spread: FloatArray,
    steps: FloatArray,
    memory: float,
    overdispersion: float,
    largest: float,
    origins: IntArray,
    logs: FloatArray,
    variances: FloatArray,
    states: FloatArray,
    spreads: FloatArray,
) -> None:
    """Follow the rate of counts, whose logarithm a state says; write what was expected of each bin before it was seen.

    A count around its rate m has the variance m + overdispersion m^2 + errors (infinite where nothing was seen). The
    logarithm is taken as linear around what is expected (an extended Kalman filter), and a count that is further away
    than ``largest`` standard deviations moves the state no more than one just as far would. ``state`` and ``spread``
    are those before the first bin, ``steps`` the variances that each bin adds to the parts of the state.
    """
    decay = np.ones(len(state))
    decay[1] = memory
    for t in range(len(basis) + 1):
        if t > 0:
            state = state * decay
            spread = spread * decay[:, None] * decay + np.diag(steps)
        for o in np.flatnonzero(origins == t):
            states[o], spreads[o] = state, spread
        if t == len(basis):
            break
        asked = np.concatenate([[1.0, 1.0], basis[t]])
        moved = spread @ asked
        logs[t], variances[t] = asked @ state, asked @ moved
        if not np.isfinite(errors[t]):
            continue
        rate = np.exp(logs[t])
        total = variances[t] + 1 / rate + overdispersion + errors[t] / rate**2
        far = (counts[t] - rate) / rate / np.sqrt(total)
        state = state + moved * min(max(far, -largest), largest) / np.sqrt(total)
        spread = spread - np.outer(moved, moved) / total
