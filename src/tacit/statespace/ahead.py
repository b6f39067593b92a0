r"""What a filter's state predicts of the bins to come.

The state at an origin o is a level, an AR(1) component and coefficients, :math:`x = (\ell, a, \beta)`; h bins later the
mean is :math:`\ell + \phi^h a + b_{o+h}^\top \beta`, and every part has taken h steps of its own since. Bins to come
share the state and the steps before the first of them, so their errors are correlated; a sum's variance includes that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """A filter's state and its dynamics; arrays have any leading axes (places, origins) that broadcast.

    ``states`` (... x parts) and ``covariances`` (... x parts x parts) are a filter's, ``regressors`` (... x horizon x
    terms) those of the bins to come, ``phi`` the part of the AR(1) component left after a bin, ``process_variance``
    (... x parts) what a bin adds to each part.
    """

    states: FloatArray
    covariances: FloatArray
    regressors: FloatArray
    phi: float
    process_variance: FloatArray

    def means(self) -> FloatArray:
        """Return the predicted means, ... x horizon."""
        return np.asarray((self._loads @ self.states[..., None])[..., 0], np.float64)

    def variances(self) -> FloatArray:
        """Return the variances of predictions, ... x horizon."""
        loads = self._loads
        known = ((loads @ self.covariances) * loads).sum(axis=-1)
        later = np.arange(loads.shape[-2])
        level, ar, coefficients = self._process
        added = level * later + ar * _powers(self.phi**2, later)
        added = added + later * (np.square(self.regressors) @ coefficients[..., None])[..., 0]
        return np.asarray(known + added, np.float64)

    def sum_variances(self, weights: FloatArray) -> FloatArray:
        """Return the variances of sums over the horizon with these weights (... x horizon)."""
        loads = (weights[..., None, :] @ self._loads)[..., 0, :]
        known = ((loads[..., None, :] @ self.covariances)[..., 0, :] * loads).sum(axis=-1)
        of_level = _from_the_end(weights[..., None])[..., 0]
        of_coefficients = _from_the_end(weights[..., None] * self.regressors)
        of_ar = weights.astype(np.float64)
        for h in range(weights.shape[-1] - 2, -1, -1):
            of_ar[..., h] += self.phi * of_ar[..., h + 1]
        level, ar, coefficients = self._process
        added = level * np.square(of_level) + ar * np.square(of_ar)
        added = added + (np.square(of_coefficients) @ coefficients[..., None])[..., 0]
        return np.asarray(known + added[..., 1:].sum(axis=-1), np.float64)  # the first step is in the state already

    @property
    def _process(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.process_variance[..., :1], self.process_variance[..., 1:2], self.process_variance[..., 2:]

    @property
    def _loads(self) -> FloatArray:
        shape = self.regressors.shape[:-1]
        left = np.broadcast_to(self.phi ** np.arange(shape[-1], dtype=np.float64), shape)
        return np.concatenate([np.ones((*shape, 1)), left[..., None], self.regressors], axis=-1)


def _from_the_end(values: FloatArray) -> FloatArray:
    """Return sums over a bin and all after it."""
    return np.cumsum(values[..., ::-1, :], axis=-2)[..., ::-1, :]


def _powers(base: float, n: NDArray[np.int64]) -> FloatArray:
    """Return 1 + base + ... + base^(n-1)."""
    return np.asarray(n if base == 1 else (1 - base**n) / (1 - base), np.float64)
