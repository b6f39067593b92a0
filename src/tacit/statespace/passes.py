"""The passes of filter and smoother over one place after another, and what a filter's state predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import compiled_kernels

if TYPE_CHECKING:
    from tacit.statespace.state_space import StateSpace


class Passes:
    """The passes over one place after another, in arrays that are used again."""

    def __init__(self, model: StateSpace) -> None:
        self._kernels = compiled_kernels("series")
        self._model, (self._ends, self._sum_variance) = model, model.sums
        n_times, n_terms = model.regressors.shape
        n_rows, size = n_times + int(self._ends.sum()), len(self._ends) + 2
        self._observed = np.ascontiguousarray(np.column_stack([model.regressors, np.zeros(n_times)]))
        self._innovations, self._weights = np.empty((n_rows, n_terms + 1)), np.empty(n_rows)
        self._covariances, self._count_variance = np.empty((n_rows, size)), np.empty((n_times, 2))
        self._filtered = self._weights, self._covariances, self._count_variance
        self.products = np.empty((n_terms + 1, n_terms + 1))

    def forward(self, place: int, shares: FloatArray) -> float:
        """Return the sum of log variances of innovations, once observed shares and regressors are filtered."""
        model, (exposures, noise_variance, process_variance) = self._model, self._model.scaled
        self._observed[:, -1] = shares * exposures
        known = self._observed, exposures, noise_variance[place], process_variance[place], model.state_variances[place]
        sums = model.phi, model.shifts[place], self._ends, self._sum_variance
        return float(self._kernels.forward(*known, *sums, self._innovations, *self._filtered, self.products))

    def means(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of shares and of realized values."""
        residuals = self._innovations @ np.append(-self.coefficients(place)[0], 1.0)
        of_counts = self._backward(residuals[:, None], with_information=False)[0][:, 0]
        exposures, rows = self._model.scaled[0], self._rows
        moved = self._observed[:, -1] - residuals[rows] + of_counts[:, 0]
        shares = moved + self._covariances[rows, :2].sum(axis=1) * exposures * of_counts[:, 1]
        return shares, exposures * (moved + self._count_variance[:, 0] * of_counts[:, 1])

    def level_scores(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return score and information of a shift of the level from each time on; 0 for the first."""
        coefficients, inverse_root = self.coefficients(place)
        _, scores, informations = self._backward(self._innovations)
        of_terms = scores[:-1, :-1, 0]
        score, information = np.zeros((2, len(scores)))
        score[1:] = scores[:-1, -1, 0] - of_terms @ coefficients
        information[1:] = informations[:-1, 0, 0] - np.square(of_terms @ inverse_root.T).sum(axis=1)
        return score, information

    def questions(self, asked: FloatArray, groups: IntArray, bounds: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return posterior covariances of questions given the coefficients, and how errors grow with these."""
        later = self._backward(self._innovations)[1:]
        # copies, because numba would compile a second version for arrays that are read-only
        copies = np.array(asked, np.float64, order="C"), np.array(groups, np.int64, order="C")
        known = self._innovations, *self._filtered, self._model.phi, self._ends
        found, slopes = self._kernels.questions(*copies, bounds, self._rows, *known, *later)
        return found, slopes

    @cached_property
    def _rows(self) -> IntArray:
        """Return the rows of counts among all that was observed."""
        return np.concatenate([[0], np.cumsum(1 + self._ends.sum(axis=0))[:-1]]).astype(np.int64)

    def coefficients(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of coefficients, and the inverse of the root of their precision."""
        n_terms = self._model.regressors.shape[1]
        root = root_of(self.products[None], self._model.coefficient_variances[place][None])[0]
        inverse_root = np.linalg.solve(root, np.eye(n_terms))
        return inverse_root.T @ (inverse_root @ self.products[n_terms, :n_terms]), inverse_root

    def _backward(
        self, innovations: FloatArray, *, with_information: bool = True
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        known = innovations, *self._filtered, self._model.scaled[0], self._model.phi, self._ends
        of_counts, scores, informations = self._kernels.backward(*known, with_information)
        return of_counts, scores, informations


def filter_together(model: StateSpace, observed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return innovations (rows x columns x places) of all places together, and one over their variances, by NumPy.

    This is the plain twin of ``forward`` in ``tacit._base.kernels.series``, with places as the last axis of all.
    """
    exposures, noise_variance, process_variance = (part.T for part in model.scaled)
    (ends, sum_variance), phi, shift_variance = model.sums, model.phi, model.shifts.T
    (n_times, n_columns, n_places), n_sums = observed.shape, len(ends)
    n_rows = n_times + int(ends.sum())
    innovations, weights = np.empty((n_rows, n_columns, n_places)), np.zeros((n_rows, n_places))
    start, step, of_ar = model.state_variances.T
    states, covariance = np.zeros((n_sums + 2, n_columns, n_places)), np.zeros((n_sums + 2, n_sums + 2, n_places))
    covariance[0, 0], covariance[1, 1], fresh = start, of_ar, of_ar * (1 - phi * phi)

    def condition(row: int, innovation: FloatArray, side: FloatArray, variance: FloatArray) -> None:
        weight = np.divide(1.0, variance, out=weights[row], where=variance > 0)
        innovations[row] = innovation
        gain = side * weight
        states[...] += gain[:, None] * innovation
        covariance[...] -= gain[:, None] * side

    row = 0
    for t in range(n_times):
        if t > 0:
            states[1] *= phi
            covariance[1] *= phi
            covariance[:, 1] *= phi
            covariance[0, 0] += step
            covariance[1, 1] += fresh
        covariance[0, 0] += shift_variance[t]
        side = covariance[0] + covariance[1]
        own = side[0] + side[1] + process_variance[t]
        innovation = observed[t] - states[0] - states[1]
        condition(row, innovation, side, own + noise_variance[t] if exposures[t] > 0 else np.zeros(n_places))
        if n_sums and exposures[t] > 0:  # a sum is held as what it differs by from the sum of what was observed
            kept = 1 - own * weights[row]
            states[2:] -= kept * innovation
            covariance[2:] += side * kept
            covariance[:, 2:] += (side * kept)[:, None]
            covariance[2:, 2:] += own * kept
        row += 1
        ended = np.flatnonzero(ends[:, t]) + 2 if n_sums else ()
        for k in ended:
            condition(row, -states[k], covariance[k].copy(), covariance[k, k] + sum_variance[k - 2])
            row += 1
        if len(ended):
            states[ended], covariance[ended], covariance[:, ended] = 0.0, 0.0, 0.0
    return innovations, weights


def root_of(products: FloatArray, variances: FloatArray) -> FloatArray:
    """Return Cholesky roots of the posterior precisions of coefficients, from lower triangles of products."""
    n_terms = variances.shape[1]
    precision = products[:, :n_terms, :n_terms] + np.eye(n_terms) / variances[:, None, :]
    return np.asarray(np.linalg.cholesky(precision), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    r"""Predictions of the bins to come by a filter's state; arrays have any leading axes that broadcast.

    The state at an origin o is a level, an AR(1) component and coefficients, :math:`x = (\ell, a, \beta)`; h bins later
    the mean is :math:`\ell + \phi^h a + b_{o+h}^\top \beta`, and every part has taken h steps of its own since. Bins to
    come share the state and the steps before the first of them, so their errors are correlated; a sum's variance
    includes that.

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
        later, square = np.arange(loads.shape[-2]), self.phi**2
        level, ar, coefficients = self._process
        # 1 + phi^2 + ... + phi^(2 (later - 1))
        added = level * later + ar * (later if square == 1 else (1 - square**later) / (1 - square))
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
