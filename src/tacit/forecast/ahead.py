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

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """What was known at origins, and how it moves on.

    ``states`` (origins x parts) and ``spreads`` (origins x parts x parts) are a filter's, ``basis`` (origins x horizon
    x terms) the regressors of the bins to come, ``memory`` the part of the wander left after a bin, ``steps`` (parts)
    the variance that a bin adds to each part.
    """

    states: FloatArray
    spreads: FloatArray
    basis: FloatArray
    memory: float
    steps: FloatArray

    def means(self) -> FloatArray:
        """What is expected, origins x horizon."""
        return np.asarray(np.einsum("ohs,os->oh", self._loads, self.states), np.float64)

    def variances(self) -> FloatArray:
        """Of what is expected, origins x horizon."""
        loads = self._loads
        known = ((loads @ self.spreads) * loads).sum(axis=2)
        later = np.arange(loads.shape[1])
        wander = self.steps[1] * _powers(self.memory**2, later)
        return np.asarray(known + self.steps[0] * later + wander + later * (np.square(self.basis) @ self.steps[2:]))

    def sum_variances(self, weights: FloatArray) -> FloatArray:
        """Of sums over the horizon with these weights (origins x horizon)."""
        loads = np.einsum("oh,ohs->os", weights, self._loads)
        known = np.einsum("os,ost,ot->o", loads, self.spreads, loads)
        of_level = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
        of_terms = np.cumsum((weights[:, :, None] * self.basis)[:, ::-1], axis=1)[:, ::-1]
        of_wander = weights.astype(np.float64)
        for h in range(weights.shape[1] - 2, 0, -1):
            of_wander[:, h] += self.memory * of_wander[:, h + 1]
        fresh = self.steps[0] * np.square(of_level) + self.steps[1] * np.square(of_wander)
        fresh = fresh + np.square(of_terms) @ self.steps[2:]
        return np.asarray(known + fresh[:, 1:].sum(axis=1), np.float64)  # the first bin's step is in the state already

    @property
    def _loads(self) -> FloatArray:
        shape = self.basis.shape[:2]
        left = self.memory ** np.arange(shape[1], dtype=np.float64)
        return np.concatenate([np.ones((*shape, 1)), np.broadcast_to(left[:, None], (*shape, 1)), self.basis], axis=2)


def _powers(base: float, n: NDArray[np.int64]) -> FloatArray:
    """1 + base + ... + base^(n-1)."""
    return np.asarray(n if base == 1 else (1 - base**n) / (1 - base), np.float64)
