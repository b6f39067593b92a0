r"""How large places are, told by one another where noise hides them.

Of the law that shares follow two kinds are taken for possible, one with a heavy tail, where a few places hold most
(log-logistic), and one without (Weibull),

.. math:: F(x) = \frac{y}{1 + y} \quad\text{or}\quad 1 - 2^{-y}, \qquad y = (x / c)^{1 / b},

of sizes x in parts of an equal share, or of what a public table says of the place. No median c and no spread b of
logarithms is chosen: all are weighed by how well they explain the levels of all *other* places, and what they say of a
place is then held against its own level.

Reference: Efron1973.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray

_MEDIANS: Final = np.exp(np.linspace(-2.5, 0.5, 10))
_SPREADS: Final = np.exp(np.linspace(np.log(0.1), np.log(1.2), 8))
_SMALLEST: Final = 1e-3
_STEP: Final = 0.04
_FAR: Final = 5.0
_PARTS: Final = np.linspace(0.0, 1.0, 51)
_ROUNDS: Final = 3
_MOST_NUMBERS: Final = 1 << 22
_ARRAYS: Final = ("units", "levels", "variances")


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """A law of the size of each place. ``units`` are what sizes are relative to, as parts of all events.

    ``levels`` and ``variances`` are of the places it was learned from; ``below`` (places x sizes) is the probability
    of less than sizes of equal steps of their logarithm.
    """

    units: FloatArray
    levels: FloatArray
    variances: FloatArray
    below: FloatArray

    @classmethod
    def learned(cls, units: FloatArray, levels: FloatArray, variances: FloatArray) -> Sizes:
        """Weigh laws by the levels of places, each a measurement with the variance of its error."""
        sizes = np.exp(np.arange(np.log(_SMALLEST), np.log(2 / units.min()), _STEP))
        edges, likelihoods = _cells(levels, variances)
        rows, evidence = [], []
        for law in _laws(sizes):
            parts = np.diff(_interpolated(law[None], edges / units[:, None]), axis=-1)
            evidence.append(np.log(np.maximum((parts * likelihoods).sum(axis=-1), 1e-300)))
            rows.append(law)
        logs = np.array(evidence)
        of_others = logs.sum(axis=1, keepdims=True) - logs
        chances = np.exp(of_others - of_others.max(axis=0))
        return cls(units, levels, variances, (chances / chances.sum(axis=0)).T @ np.array(rows))

    def middles(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The middles of what levels (places x origins) can be if all add up to 1, and the mean squares around them.

        Laws of independent places given their sum are, nearly, those of independent places whose levels are all moved
        by the same number of their variances, so that means add up. The middle of a law is between its mean, which
        makes too much of places of which noise leaves nothing to be seen, and its mode, which makes nothing of them.
        """
        middles, squares = np.empty(levels.shape), np.empty(levels.shape)
        at_once = max(_MOST_NUMBERS // (len(_PARTS) * len(levels)), 1)
        for first in range(0, levels.shape[1], at_once):
            some = np.s_[:, first : first + at_once]
            middles[some], squares[some] = self._given_sum(levels[some], variances[some])
        return middles, squares

    def _given_sum(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        moved = levels
        for _ in range(_ROUNDS):
            edges, chances = self._chances(moved, variances)
            centres = (edges[..., 1:] + edges[..., :-1]) / 2
            means = (chances * centres).sum(axis=-1)
            spread = (chances * np.square(centres - means[..., None])).sum(axis=-1).sum(axis=0)
            moved = moved + (1 - means.sum(axis=0)) / np.maximum(spread, 1e-300) * variances
        middles, squares = _middles(*self._chances(moved, variances))
        return middles / middles.sum(axis=0), squares

    def _chances(self, levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cells around levels, and the probability of each."""
        edges, likelihoods = _cells(levels, variances)
        parts = np.diff(_interpolated(self.below, edges / self.units[:, None, None]), axis=-1) * likelihoods + 1e-300
        return edges, parts / parts.sum(axis=-1, keepdims=True)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        found = Sizes.learned(*(np.asarray(content[name], np.float64) for name in _ARRAYS))
        return cls(found.units, found.levels, found.variances, found.below)


def _laws(sizes: FloatArray) -> Iterator[FloatArray]:
    """The probabilities of less than these sizes."""
    for power in 1 / _SPREADS:
        for median in _MEDIANS:
            y = (sizes / median) ** power
            yield y / (1 + y)
            yield -np.expm1(-np.log(2) * y)


def _cells(levels: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Edges of cells above 0 around each level, and how likely it is to be measured in the middle of each cell.

    Where 0 is near, cells are the smaller the nearer they are to it: places may be much smaller than noise.
    """
    deviations = np.sqrt(variances)[..., None]
    low = np.maximum(levels[..., None] - _FAR * deviations, 0.0)
    high = np.maximum(levels, 0.0)[..., None] + _FAR * deviations
    edges = low + (high - low) * np.where(low > 0, _PARTS, np.square(_PARTS))
    apart = (levels[..., None] - (edges[..., 1:] + edges[..., :-1]) / 2) / deviations
    nearest = np.minimum(levels, 0.0)[..., None] / deviations
    return edges, np.exp(0.5 * (np.square(nearest) - np.square(apart)))


def _interpolated(below: FloatArray, sizes: FloatArray) -> FloatArray:
    """The probabilities of less than any sizes (places x any), from those on the grid (places x grid, or one row)."""
    at = (np.log(np.maximum(sizes, 1e-12 * _SMALLEST)) - np.log(_SMALLEST)) / _STEP
    left = np.clip(at.astype(np.int64), 0, below.shape[1] - 2)
    part = np.clip(at - left, 0.0, 1.0)
    rows = np.zeros(1, np.int64) if len(below) == 1 else np.arange(len(below))
    rows = rows.reshape(-1, *(1,) * (sizes.ndim - 1))
    found = below[rows, left] * (1 - part) + below[rows, left + 1] * part
    return np.asarray(found * np.minimum(sizes / _SMALLEST, 1.0), np.float64)


def _middles(edges: FloatArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The medians of laws given by the chances of cells, and the mean squares around them."""
    up_to = np.cumsum(chances, axis=-1)
    cell = np.argmax(up_to >= 0.5, axis=-1)[..., None]
    low, high = np.take_along_axis(edges, cell, -1), np.take_along_axis(edges, cell + 1, -1)
    chance = np.take_along_axis(chances, cell, -1)
    middle = low + (high - low) * (0.5 - np.take_along_axis(up_to, cell, -1) + chance) / chance
    squares = (chances * np.square((edges[..., 1:] + edges[..., :-1]) / 2 - middle)).sum(axis=-1)
    return np.asarray(middle[..., 0], np.float64), np.asarray(squares, np.float64)
