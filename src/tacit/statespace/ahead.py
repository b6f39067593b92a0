r"""What a filter's state says of the bins to come.

The state at an origin o is a level, a wander and coefficients, :math:`x = (\ell, a, \beta)`; h bins later what is
expected is :math:`\ell + \rho^h a + b_{o+h}^\top \beta`, and every part has taken h steps of its own since. Bins to
come share the state and the steps before the first of them, so their errors hang together; a sum's variance counts that
in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """What was known, and how it moves on; arrays have any leading axes (places, origins) that broadcast.

    ``states`` (... x parts) and ``spreads`` (... x parts x parts) are a filter's, ``basis`` (... x horizon x terms) the
    regressors of the bins to come, ``memory`` the part of the wander left after a bin, ``steps`` (... x parts) the
    variance that a bin adds to each part.
    """

    states: FloatArray
    spreads: FloatArray
    basis: FloatArray
    memory: float
    steps: FloatArray

    def means(self) -> FloatArray:
        """What is expected, ... x horizon."""
        return np.asarray((self._loads @ self.states[..., None])[..., 0], np.float64)

    def variances(self) -> FloatArray:
        """Of what is expected, ... x horizon."""
        loads = self._loads
        known = ((loads @ self.spreads) * loads).sum(axis=-1)
        later = np.arange(loads.shape[-2])
        level, wander, terms = self.steps[..., :1], self.steps[..., 1:2], self.steps[..., 2:]
        fresh = level * later + wander * _powers(self.memory**2, later)
        return np.asarray(known + fresh + later * (np.square(self.basis) @ terms[..., None])[..., 0], np.float64)

    def sum_variances(self, weights: FloatArray) -> FloatArray:
        """Of sums over the horizon with these weights (... x horizon)."""
        loads = (weights[..., None, :] @ self._loads)[..., 0, :]
        known = ((loads[..., None, :] @ self.spreads)[..., 0, :] * loads).sum(axis=-1)
        of_level = _from_the_end(weights[..., None])[..., 0]
        of_terms = _from_the_end(weights[..., None] * self.basis)
        of_wander = weights.astype(np.float64)
        for h in range(weights.shape[-1] - 2, -1, -1):
            of_wander[..., h] += self.memory * of_wander[..., h + 1]
        level, wander, terms = self.steps[..., :1], self.steps[..., 1:2], self.steps[..., 2:]
        fresh = level * np.square(of_level) + wander * np.square(of_wander)
        fresh = fresh + (np.square(of_terms) @ terms[..., None])[..., 0]
        return np.asarray(known + fresh[..., 1:].sum(axis=-1), np.float64)  # the first step is in the state already

    @property
    def _loads(self) -> FloatArray:
        shape = self.basis.shape[:-1]
        left = np.broadcast_to(self.memory ** np.arange(shape[-1], dtype=np.float64), shape)
        return np.concatenate([np.ones((*shape, 1)), left[..., None], self.basis], axis=-1)


def _from_the_end(values: FloatArray) -> FloatArray:
    """Sums over a bin and all after it."""
    return np.cumsum(values[..., ::-1, :], axis=-2)[..., ::-1, :]


def _powers(base: float, n: NDArray[np.int64]) -> FloatArray:
    """1 + base + ... + base^(n-1)."""
    return np.asarray(n if base == 1 else (1 - base**n) / (1 - base), np.float64)
