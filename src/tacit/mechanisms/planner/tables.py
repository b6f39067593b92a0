r"""The errors of reports that hide several coordinates: of one table each, with epsilon split, and among fake data.

A sum of :math:`b_i` of the :math:`n_i` values of each private coordinate i is asked for, of events that are spread
evenly. One report adds to its variance

.. math:: \sum_{A \ne \emptyset} \Bigl(v_A - \frac{1}{n_A}\Bigr)
          \prod_{i \in A} b_i \Bigl(1 - \frac{b_i}{n_i}\Bigr) \prod_{i \notin A} \frac{b_i^2}{n_i^2}, \qquad
          \prod_i \Bigl(V_i(b_i) + \frac{b_i}{n_i}\Bigr) - \prod_i \frac{b_i}{n_i}

for tables (:mod:`tacit.mechanisms.local.tables`), and where every coordinate i is reported by an oracle of variance
:math:`V_i` with its part of epsilon (SPL). With fake data (RS+FD) a coordinate is reported with probability 1/d and
drawn evenly otherwise, which is randomized response of other probabilities; joint cells are not known. Its epsilon is
that of the response itself, since all coordinates may change (``docs/proofs/sampled-tables.md``).

Reference: Arcolezi2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.noise.sampled import table_variances
from tacit.counts.table_least_squares import TableFusion
from tacit.mechanisms.local.tables import SampledTables
from tacit.mechanisms.planner.situation import Box, QuadraticError, Situation

Variances = Callable[[Sequence[FloatArray]], FloatArray]
"""A function: what one report adds to the variance of sums of so many values of each private coordinate."""


@dataclass(frozen=True)
class TableError:
    """The error of ranges of sums of places and kinds, from what a report adds to sums of private values."""

    situation: Situation
    variances: Variances
    box: Box

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        lengths, which = np.unique(np.asarray(stop) - np.asarray(first), return_inverse=True)
        summed = {"time": lengths.astype(np.float64), "place": np.array([self.box[0]]), "kind": np.array([self.box[1]])}
        asked = [np.broadcast_to(summed[axis], lengths.shape).astype(np.float64) for axis in self.situation.private]
        _, public = self.situation.hidden_in(self.box)
        n_bins = 1 if "time" in self.situation.private else lengths
        found = self.situation.reports_together * public * n_bins * self.variances(asked)
        return np.asarray(np.maximum(found, 0.0)[which.ravel()], np.float64)


@dataclass(frozen=True)
class TableErrors:
    """The variance that a report of one of several tables adds to sums."""

    tables: SampledTables

    def variances(self, summed: Sequence[FloatArray]) -> FloatArray:
        """Return variances of sums of so many values of each private coordinate."""
        sizes = self.tables.hierarchy.sizes
        total = np.zeros(np.broadcast(*summed).shape)
        for axes, variance in self._fusion.residual_variances.items():
            if axes:  # the number of all reports is known
                part = np.full(total.shape, variance - 1 / self.tables.hierarchy.n_cells(axes))
                for axis, (n, b) in enumerate(zip(sizes, summed, strict=True)):
                    part = part * (b * (1 - b / n) if axis in axes else (b / n) ** 2)
                total += part
        return total

    @cached_property
    def _fusion(self) -> TableFusion:
        distributions = [oracle.distribution for oracle in self.tables.oracles]
        return TableFusion(self.tables.hierarchy, table_variances(distributions, self.tables.chances))


def split_variances(sizes: Sequence[int], errors: Sequence[QuadraticError], summed: Sequence[FloatArray]) -> FloatArray:
    """Return variances of sums, where every coordinate of several values has an oracle of its own."""
    squares, means, own = np.ones(1), np.ones(1), iter(errors)
    for n, b in zip(sizes, summed, strict=True):
        if n > 1:
            error = next(own)
            known = np.where(b < n, error.single * b + error.shared * b**2, 0.0)
            squares, means = squares * (known + b / n), means * (b / n)
    return np.asarray(squares - means, np.float64)


def fake_variances(sizes: Sequence[int], epsilon: float, summed: Sequence[FloatArray]) -> FloatArray:
    """Return variances of sums along one coordinate, by randomized response among even fake data; else infinite."""
    d, found = sum(n > 1 for n in sizes), np.zeros(np.broadcast(*summed).shape)
    n_asked = np.sum([b < n for n, b in zip(sizes, summed, strict=True)], axis=0)
    for n, b in zip(sizes, summed, strict=True):
        kept = (math.exp(epsilon) - 1) / (math.exp(epsilon) + n - 1) / d  # otherwise the value is even
        outside, inside = (1 - kept) * b / n, kept + (1 - kept) * b / n
        variance = b / n * inside * (1 - inside) + (1 - b / n) * outside * (1 - outside)
        found = found + np.where(b < n, variance / kept**2, 0.0)
    return np.where(n_asked > 1, math.inf, found)
