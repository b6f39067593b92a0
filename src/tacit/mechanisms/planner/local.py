r"""Candidates for devices that trust nobody: one report an event, through an oracle or through a tree of them.

One report through an oracle of k cells adds, on average over the cells it may come from,

.. math:: V(r) = a r + b r^2, \qquad V(1) = a + b, \qquad V(k) = a k + b k^2

to the variance of a sum of r cells. This is exact where cells are alike to the oracle (unary encodings, response and
subset selection; b is 0 or, where as many cells are named whatever happens, -a/k) and holds on average over the
positions of the range for the others.

In a tree each report answers for one level, chosen with probability :math:`\alpha_l`; the total is public. The nodes of
a level then err as if independently, by a itself, and by which reports the level happened to get:

.. math:: \sigma_l^2 = \frac{n}{\alpha_l} \Bigl(a_l + \frac{1 - \alpha_l}{k_l}\Bigr).

Where reports hide several coordinates, a sum of :math:`b_i` of the :math:`n_i` values of each private coordinate i is
asked for, of events that are spread evenly. One report adds to its variance

.. math:: \sum_{A \ne \emptyset} \Bigl(v_A - \frac{1}{n_A}\Bigr)
          \prod_{i \in A} b_i \Bigl(1 - \frac{b_i}{n_i}\Bigr) \prod_{i \notin A} \frac{b_i^2}{n_i^2}, \qquad
          \prod_i \Bigl(V_i(b_i) + \frac{b_i}{n_i}\Bigr) - \prod_i \frac{b_i}{n_i}

for tables (:mod:`tacit.mechanisms.local.tables`), and where every coordinate i is reported by an oracle of variance
:math:`V_i` with its part of epsilon (SPL). With fake data (RS+FD) a coordinate is reported with probability 1/d and
drawn evenly otherwise, which is randomized response of other probabilities; joint cells are not known. Its epsilon is
that of the response itself, since all coordinates may change (``docs/proofs/sampled-tables.md``).

Reference: Kulkarni2019; Hay2010; Arcolezi2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.noise.sampled import level_variances, table_variances, variance_of_differences
from tacit.counts.oracle_distributions import SupportDistribution, mean_variance
from tacit.counts.table_least_squares import TableFusion
from tacit.counts.tree_least_squares import TreeFusion
from tacit.errors import TacitError
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.tables import SampledTables
from tacit.mechanisms.planner.oracles import compare_oracles
from tacit.mechanisms.planner.situation import Box, Contender, QuadraticVariance, Situation
from tacit.mechanisms.registry import axes_asked

DEGREES: Final = (2, 3, 4, 8, 16)
"""The fan-outs that are tried for trees of one degree."""
MOST_DESIGNED: Final = 1 << 20
"""Up to so many bins the best tree is searched for, in a time that grows with their number; beyond, only trees of one
degree are compared."""


def report_variance(distribution: SupportDistribution) -> QuadraticVariance:
    """Return what one report adds to the variance of a sum of cells, on average over where it may come from.

    >>> from tacit.counts.oracle_distributions import UnaryDistribution
    >>> report_variance(UnaryDistribution(17, 3 << 62, 1 << 62))
    QuadraticVariance(single=0.75, shared=0.0)
    """
    one, single = mean_variance(distribution), variance_of_differences(distribution)
    # what differs by rounding alone does not differ
    return QuadraticVariance(single, one - single) if abs(one - single) > 1e-12 * one else QuadraticVariance(one)


def flat_contenders(situation: Situation) -> list[Contender]:
    """Return every oracle over the values that a report hides."""
    assert situation.epsilon is not None
    if situation.n_hidden < 2:
        return []
    n, made = situation.reports_together, []
    for candidate in compare_oracles(situation.n_hidden, situation.epsilon):
        try:
            variance = report_variance(candidate.randomizer.distribution)
        except TacitError:  # an oracle that does not go so far
            continue
        of_box = partial(_variance_of_box, situation, QuadraticVariance(n * variance.single, n * variance.shared))
        made.append(Contender(candidate.name, of_box((1, 1)), report_bytes=candidate.report_bytes, of_box=of_box))
    return made


def _variance_of_box(situation: Situation, variance: QuadraticVariance, box: Box) -> QuadraticVariance:
    """Return the variance of ranges of sums of places and kinds, from that of sums of private values."""
    hidden, public = situation.hidden_in(box)
    if "time" in situation.private:
        return QuadraticVariance(public * hidden * variance.single, public * hidden**2 * variance.shared)
    # every bin is estimated from reports of its own
    return QuadraticVariance(public * (hidden * variance.single + hidden**2 * variance.shared))


def tree_contenders(situation: Situation, degrees: Sequence[int] = DEGREES) -> list[Contender]:
    """Return hierarchical histograms over time, fused, where the time is what a report hides: of each degree."""
    assert situation.epsilon is not None
    if situation.private != ("time",):
        return []
    return [_tree(situation, degree) for degree in degrees if degree < situation.n_bins]


def designed_contenders(situation: Situation) -> list[Contender]:
    """Return the hierarchical histogram that a plan would get."""
    if situation.private != ("time",) or not 2 <= situation.n_bins <= MOST_DESIGNED:
        return []
    return [_tree(situation, None)]


def table_contenders(situation: Situation, asked: Mapping[str, float]) -> list[Contender]:
    """Return contenders whose reports are of one table each, where several coordinates are hidden; and others."""
    assert situation.epsilon is not None
    sizes = tuple(situation.sizes[axis] for axis in situation.private)
    if sum(size > 1 for size in sizes) < 2 or situation.n_hidden > MOST_DESIGNED:
        return []
    tables = SampledTables.from_epsilon(
        epsilon=situation.epsilon, sizes=sizes, asked=axes_asked(asked, situation.private)
    )
    ways: list[tuple[str, Callable[[Sequence[FloatArray]], FloatArray], int]] = [
        ("sampled tables", TableVariances(tables).variances, tables.report_bytes),
    ]
    oracles = [compare_oracles(size, situation.epsilon / len(sizes))[0] for size in sizes if size > 1]
    of_reports = [report_variance(one.randomizer.distribution) for one in oracles]
    ways.append(
        ("split epsilon (SPL)", partial(split_variances, sizes, of_reports), sum(one.report_bytes for one in oracles))
    )
    responses = [RandomizedResponse.from_epsilon(epsilon=situation.epsilon, n_cells=n) for n in sizes if n > 1]
    n_bytes = sum(one.report_bytes for one in responses)
    ways.append(("fake data (RS+FD)", partial(fake_variances, sizes, situation.epsilon), n_bytes))
    made = []
    for name, variances, report_bytes in ways:
        of_box = partial(TableRangeVariances, situation, variances)
        is_ours = name == "sampled tables"
        made.append(
            Contender(name, of_box((1, 1)), report_bytes=report_bytes, of_box=of_box, is_shown_only=not is_ours)
        )
    return made


def _tree(situation: Situation, degree: int | None) -> Contender:
    assert situation.epsilon is not None
    histogram = _histogram(situation.epsilon, situation.n_bins, degree)
    distributions = [oracle.distribution for oracle in histogram.oracles]
    variances = [situation.reports_together * one for one in level_variances(distributions, histogram.chances)]
    sizes = [int(boundaries[1]) for boundaries in histogram.hierarchy.boundaries]
    return Contender(
        "hierarchical",
        TreeFusion(histogram.hierarchy, variances),
        fan_outs=tuple(-(-above // below) for above, below in pairwise(sizes)),
        report_bytes=histogram.report_bytes,
        is_designed=degree is None,
    )


@lru_cache(maxsize=16)
def _histogram(epsilon: float, n_bins: int, degree: int | None) -> HierarchicalHistogram:
    return HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_bins, fan_out=degree)


Variances = Callable[[Sequence[FloatArray]], FloatArray]
"""A function: what one report adds to the variance of sums of so many values of each private coordinate."""


@dataclass(frozen=True)
class TableRangeVariances:
    """The variances of ranges of sums of places and kinds, from what a report adds to sums of private values."""

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
class TableVariances:
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


def split_variances(
    sizes: Sequence[int], of_reports: Sequence[QuadraticVariance], summed: Sequence[FloatArray]
) -> FloatArray:
    """Return variances of sums, where every coordinate of several values has an oracle of its own."""
    squares, means, own = np.ones(1), np.ones(1), iter(of_reports)
    for n, b in zip(sizes, summed, strict=True):
        if n > 1:
            variance = next(own)
            known = np.where(b < n, variance.single * b + variance.shared * b**2, 0.0)
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
