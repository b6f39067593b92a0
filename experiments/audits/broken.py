"""Mechanisms with faults, written from their descriptions: an audit that lets one of them pass is no audit.

None of them may be used for anything else. The randomizers take values and give reports; the structures take counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]


class ThesisOracle:
    """The thesis' frequency oracle: the truth with e^eps/(e^eps + k - 1), otherwise any of all k cells.

    That "otherwise" may name the truth again, so the real epsilon is ln(1 + k e^eps/(k - 1)).
    """

    def __init__(self, epsilon: float, n_cells: int, seed: int) -> None:
        self.keep = math.exp(epsilon) / (math.exp(epsilon) + n_cells - 1)
        self.n_cells, self._rng = n_cells, np.random.default_rng(seed)

    def __call__(self, values: Values) -> Values:
        kept = self._rng.random(len(values)) < self.keep
        return np.where(kept, values, self._rng.integers(0, self.n_cells, len(values)))

    @property
    def true_epsilon(self) -> float:
        k = self.n_cells
        return math.log((self.keep + (1 - self.keep) / k) / ((1 - self.keep) / k))


class Rappor:
    """Bits through coins of 1 - f/2 and f/2, with a fault to be named."""

    def __init__(self, f: float, n_cells: int, seed: int, *, fault: str) -> None:
        self.f, self.n_cells, self.fault = f, n_cells, fault
        self._rng = np.random.default_rng(seed)

    def __call__(self, values: Values) -> NDArray[np.int64]:
        truth = np.arange(self.n_cells) == values[:, None]
        ones = 1.0 if self.fault == "never clears the true bit" else 1 - self.f / 2
        bits = self._rng.random(truth.shape) < np.where(truth, ones, self.f / 2)
        if self.fault == "last bit as it is":
            bits[:, -1] = truth[:, -1]
        return bits.astype(np.int64)


class PerBitUnary:
    """Unary encoding whose every bit has the whole epsilon: a pair of bits costs twice that."""

    def __init__(self, epsilon: float, n_cells: int, seed: int) -> None:
        self.p = math.exp(epsilon) / (1 + math.exp(epsilon))
        self.n_cells, self._rng = n_cells, np.random.default_rng(seed)

    def __call__(self, values: Values) -> NDArray[np.int64]:
        truth = np.arange(self.n_cells) == values[:, None]
        return (self._rng.random(truth.shape) < np.where(truth, self.p, 1 - self.p)).astype(np.int64)


class SeedLeftIn:
    """Right randomized response of two values, drawn from the same seed in every run."""

    def __init__(self, epsilon: float) -> None:
        self.keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def __call__(self, values: Values) -> Values:
        kept = np.random.default_rng(2024).random(len(values)) < self.keep
        return np.where(kept, values, 1 - values)


class FloatLaplace:
    """Counts with textbook Laplace noise in floating point."""

    def __init__(self, epsilon: float, seed: int) -> None:
        self.scale, self._rng = 1 / epsilon, np.random.default_rng(seed)

    def __call__(self, tables: NDArray[np.int64]) -> NDArray[np.float64]:
        return tables + self._rng.laplace(0, self.scale, tables.shape)


class ThesisCounter:
    """The thesis' binary tree over 2**height bins, with one of its faults at a time.

    ``scale``: every node has noise of its own, of scale log2(levels)/eps where levels/eps is needed.
    ``dependent``: right scale, but the noise of a first child is that of the second plus the parent's.
    ``redrawn``: right noise, drawn again at every question.
    """

    def __init__(self, epsilon: float, height: int, seed: int, *, fault: str) -> None:
        self.n_bins, self.n_levels, self.fault = 1 << height, height + 1, fault
        factor = math.log2(self.n_levels) if fault == "scale" else self.n_levels
        self.scale, self._rng = factor / epsilon, np.random.default_rng(seed)

    @property
    def n_nodes(self) -> int:
        return 2 * self.n_bins - 1

    def design(self) -> NDArray[np.float64]:
        """The bins of every node, root first, level by level."""
        bins = np.arange(self.n_bins)
        sizes = [self.n_bins >> level for level in range(self.n_levels)]
        return np.concatenate([bins // size == np.arange(self.n_bins // size)[:, None] for size in sizes]).astype(float)

    def mixing(self) -> NDArray[np.float64]:
        """Every node's noise as a sum of independent draws: the root's and those of the second children."""
        if self.fault != "dependent":
            return np.eye(self.n_nodes)
        rows = {0: np.eye(self.n_nodes)[0]}
        for parent in range(self.n_bins - 1):
            first, second = 2 * parent + 1, 2 * parent + 2
            rows[second] = np.eye(self.n_nodes)[second]
            rows[first] = rows[second] + rows[parent]
        mixing = np.array([rows[node] for node in range(self.n_nodes)])
        return mixing[:, mixing.any(axis=0)]

    def __call__(self, tables: NDArray[np.int64]) -> NDArray[np.float64]:
        """The noisy nodes of one tree for each row of counts."""
        mixing = self.mixing()
        draws = self._rng.laplace(0, self.scale, (len(tables), mixing.shape[1]))
        return tables @ self.design().T + draws @ mixing.T

    def structure(self, counts: NDArray[np.int64]) -> Callable[[], NDArray[np.float64]]:
        """One tree that can be asked for the total of its bins, which is one node, again and again."""
        truth = float(counts.sum())
        kept = truth + self._rng.laplace(0, self.scale)
        if self.fault == "redrawn":
            return lambda: np.array([truth + self._rng.laplace(0, self.scale)])
        return lambda: np.array([kept])
