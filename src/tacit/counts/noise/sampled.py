r"""The noise of a tree, or of tables, whose reports each answered for one level, fused by least squares.

Every report picks level l with probability :math:`\alpha_l`, whatever its value. A node's count is estimated by

.. math:: \hat y_{lv} = \frac{1}{\alpha_l} \Bigl( \frac{C_{lv} - n_l q_l}{p_l - q_l} - n_l s_{lv} \Bigr) + N s_{lv}

from the supports C of the :math:`n_l` reports that picked the level, with the node's share s of the leaves, and leaves
by least squares from all nodes and the public number N of reports (:mod:`tacit.counts.tree_least_squares`). Reports
remain independent, and any question is a sum of weights w on nodes, so its variance is exact: a report of true leaf u
adds

.. math:: \sum_l \frac{V_{lu}(w_l) + (w_l(u) - c_l)^2}{\alpha_l} - \Bigl(\sum_l (w_l(u) - c_l)\Bigr)^2,
          \qquad c_l = \sum_v w_{lv} s_{lv},

with the oracle's variance V for the node above u and that node's weight :math:`w_l(u)`. The least squares weigh levels
as if events were spread evenly over the leaves; they stay unbiased, and their variance exact, where events are not.

Of tables (:mod:`tacit.counts.table_least_squares`) the weights :math:`w_l(u) - c_l` of a leaf add up to its own weight
less the mean, whatever the chances. So the last term does not depend on them, and least squares with the variances

.. math:: \sigma_l^2 = \frac{1}{\alpha_l} \Bigl(a_l + \frac{1}{k_l}\Bigr)

are the best where events are spread evenly, for an oracle's variance a of half the difference of two of k cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import numbers, pack_array, sizes_of, texts, whole_numbers
from tacit._base.validation import check_share
from tacit.counts.exact_intervals import normal_quantile
from tacit.counts.noise.model import FusedTrees, LinearMap, Noise, evened
from tacit.counts.noise.oracle import OracleNoise
from tacit.counts.oracle_distributions import SupportDistribution, distribution_from_dict, mean_variance
from tacit.counts.table_least_squares import TableFusion
from tacit.counts.tree_least_squares import TreeFusion
from tacit.domain import AXES, Grouping, Layout, sum_groups
from tacit.domain.hierarchy import Hierarchy
from tacit.domain.layout import listed
from tacit.domain.marginals import Marginals
from tacit.randomness.bernoulli import COIN

FEW_REPORTS: Final = 512
"""Below so many reports nothing is trusted that was estimated from them: intervals are Chebyshev's, 2.3 times as wide
at 95 %. A choice, twice that of flat reports; doubled, more intervals are that wide."""
_SQUARED_STEPS: Final = 9
"""An error of less variance than so many squared steps of a single report is not taken for normal: three standard
deviations are then a few steps. Halved, fewer intervals are wide and more of them miss; doubled, the reverse."""
MOST_LISTED: Final = 256
"""Up to so many leaves, the error of each is computed from the estimated counts; beyond, as if they were even. The
weights take the square of their number: doubled, four times the memory."""


@dataclass(frozen=True, eq=False)
class SampledNoise(Noise):
    """The noise of fused leaves, one tree for each public bin, or one set of tables.

    ``distributions`` and ``chances`` (out of 2**64) belong to the levels below the root; ``reports`` are the public
    numbers of reports of the public bins, ``counts`` (public bins x leaves) estimated counts, projected onto what
    counts can be: they stand in for the truth. Intervals are normal; where the variance is that of a few steps of
    single reports, Chebyshev's; of few reports, Chebyshev's with the largest variance there can be. The errors of all
    leaves of a tree of more than ``MOST_LISTED`` are those of evenly spread events.
    """

    hierarchy: Hierarchy | Marginals
    distributions: tuple[SupportDistribution, ...]
    chances: tuple[int, ...]
    reports: IntArray
    layout: Layout
    counts: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.layout.shape

    @cached_property
    def fusion(self) -> TreeFusion | TableFusion:
        """The least squares that made the leaves; its variances are those of one report."""
        if isinstance(self.hierarchy, Marginals):
            return TableFusion(self.hierarchy, table_variances(self.distributions, self.chances))
        return TreeFusion(self.hierarchy, level_variances(self.distributions, self.chances))

    def variance(self, weights: FloatArray) -> float:
        return sum(float(self.counts[which].sum(axis=0) @ self.per_report(q)) for q, which in self._questions(weights))

    def per_report(self, leaf_weights: FloatArray) -> FloatArray:
        """Return, for every true leaf, the variance that one report adds to a question."""
        return self._asked(leaf_weights)[0]

    def _asked(self, leaf_weights: FloatArray) -> tuple[FloatArray, float]:
        """Return the variances that one report adds to a question, and the largest step it can take the answer."""
        nodes = self.fusion.node_weights(leaf_weights)
        squares, means = np.zeros(self.hierarchy.n_leaves), np.zeros(self.hierarchy.n_leaves)
        step = 0.0
        for level, (distribution, chance) in enumerate(zip(self.distributions, self.chances, strict=True), 1):
            own = nodes[self.hierarchy.level_slice(level)]
            centred = own - float(own @ self.hierarchy.leaf_counts(level)) / self.hierarchy.n_leaves
            per_node = (distribution.variances(own) + centred**2) * (COIN / chance)
            squares += self.hierarchy.spread(level, per_node)
            means += self.hierarchy.spread(level, centred)
            step = max(step, float(np.abs(own).max()) * _step(distribution, chance))
        return np.maximum(squares - means**2, 0.0), step  # what rounding leaves below zero

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        rows = self.layout.rows(weights)
        asked = int(self.reports[rows.any(axis=1)].sum())
        variance = worst = step = 0.0
        for question, which in self._questions(weights):
            per_report, largest = self._asked(question)
            variance += float(self.counts[which].sum(axis=0) @ per_report)
            worst += float(self.reports[which].sum() * per_report.max())
            step = max(step, largest)
        margin = float(_margin(variance, worst, step, asked, level))
        if not np.isin(rows, (0.0, 1.0)).all():
            return value - margin, value + margin
        return min(max(value - margin, 0.0), float(asked)), min(max(value + margin, 0.0), float(asked))

    def standard_errors(self) -> FloatArray:
        errors: FloatArray = self.layout.cells(np.sqrt(self._of_leaves[0]))
        return errors

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        lower, upper = _limits(self.layout.rows(values), self.reports, *self._of_leaves, level)
        return self.layout.cells(lower), self.layout.cells(upper)

    def coarsen(self, grouping: Grouping) -> Noise:
        public, private = self.layout.groups(grouping)
        if not np.array_equal(private, np.arange(self.hierarchy.n_leaves)):
            return LinearMap(self, grouping)
        # trees of several public bins, added up, are the tree of all their reports
        layout = self.layout.coarsened(grouping)
        reports, counts = self._of_public(public, layout.n_public)
        return SampledNoise(self.hierarchy, self.distributions, self.chances, reports, layout, counts)

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        _, variances, _, _ = self._of_sums(grouping)
        errors: FloatArray = self.layout.coarsened(grouping).cells(np.sqrt(variances))
        return errors

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        target = self.layout.coarsened(grouping)
        lower, upper = _limits(target.rows(values), *self._of_sums(grouping), level)
        return target.cells(lower), target.cells(upper)

    def forget(self, cells: BoolArray) -> Noise:
        return replace(self, counts=evened(self.counts, self.layout.rows(cells)))

    def through(self, oracle: Callable[[int], SupportDistribution]) -> Noise | None:
        other = oracle(self.hierarchy.n_leaves)
        return OracleNoise(other, self.reports, self.layout, self.counts if other.needs_counts else None)

    def fused_trees(self) -> FusedTrees | None:
        layout, fusion = self.layout, self.fusion
        if isinstance(fusion, TableFusion):
            return None
        return FusedTrees(
            fusion,
            lambda values: layout.rows(values).T,
            lambda leaves: layout.cells(leaves.T),
            self.reports.astype(np.float64),
        )

    def browser_model(self, level: float) -> dict[str, Any] | None:
        levels, models = self.hierarchy, [one.browser_model() for one in self.distributions]
        if isinstance(levels, Marginals) or None in models:
            return None
        edges = [edges.tolist() for edges in levels.boundaries[:-1]]
        variances = level_variances(self.distributions, self.chances)
        return {
            "kind": "sampled tree",
            "tree": {"edges": edges, "variances": variances},
            "distributions": models,
            "chances": [chance / COIN for chance in self.chances],
            "sizes": list(self.layout.sizes),
            "private": [axis in self.layout.private for axis in AXES],
            "reports": pack_array(self.reports),
            "counts": pack_array(self.counts),
            "normal": normal_quantile(level),
            "few": FEW_REPORTS,
            "squared_steps": _SQUARED_STEPS,
        }

    def to_dict(self) -> dict[str, Any]:
        levels = self.hierarchy
        if isinstance(levels, Hierarchy):
            named: dict[str, Any] = {"kind": "sampled tree", "hierarchy": levels.to_dict()}
        else:
            named = {"kind": "sampled tables", "tables": [list(axes) for axes in levels.tables]}
        return {
            **named,
            "distributions": [distribution.to_dict() for distribution in self.distributions],
            "chances": [hex(chance) for chance in self.chances],
            "shape": listed(self.layout.sizes),
            "private": list(self.layout.private),
            "reports": pack_array(self.reports),
            "counts": pack_array(self.counts),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SampledNoise:
        layout = Layout.of_file(texts(content, "private"), sizes_of(content))
        levels: Hierarchy | Marginals
        if content["kind"] == "sampled tree":
            levels = Hierarchy.from_dict(content["hierarchy"])
        else:
            levels = Marginals(layout.private_sizes, tuple(tuple(map(int, axes)) for axes in content["tables"]))
        read = cls(
            levels,
            tuple(distribution_from_dict(distribution) for distribution in content["distributions"]),
            tuple(int(chance, 16) for chance in content["chances"]),
            whole_numbers(content, "reports"),
            layout,
            numbers(content, "counts", least=0),
        )
        n_leaves = read.hierarchy.n_leaves
        if (
            tuple(distribution.n_cells for distribution in read.distributions) != read.hierarchy.level_sizes[1:]
            or len(read.chances) != len(read.distributions)
            or min(read.chances) < 1
            or read.counts.shape != (len(read.reports), n_leaves)
            or (read.layout.n_public, read.layout.n_private) != read.counts.shape
        ):
            raise ValueError("the parts of the tree do not fit")
        return read

    def _questions(self, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield the distinct questions about leaves, and which public bins ask them."""
        questions, which = np.unique(self.layout.rows(weights), axis=0, return_inverse=True)
        for number, question in enumerate(questions):
            if question.any():
                yield question, which.ravel() == number

    def _of_public(self, groups: IntArray, n_groups: int) -> tuple[IntArray, FloatArray]:
        """Return reports and counts of groups of public bins."""
        return sum_groups(self.reports, groups, n_groups=n_groups), sum_groups(self.counts, groups, n_groups=n_groups)

    @cached_property
    def _of_leaves(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The variance of the count of every public bin and leaf, the largest it can be for any truth, and steps."""
        n_leaves = self.hierarchy.n_leaves
        if n_leaves > MOST_LISTED:
            even = self.reports[:, None] * self._even_variances
            return even, np.full(even.shape, np.inf), np.full(n_leaves, _step(self.distributions[-1], self.chances[-1]))
        return self._of_groups(np.arange(n_leaves), n_leaves, self.reports, self.counts)

    @property
    def _even_variances(self) -> FloatArray:
        """The variance that one report adds to every leaf where events are spread evenly."""
        n_leaves = self.hierarchy.n_leaves
        variances = self.fusion.node_variances[-n_leaves:]
        if isinstance(self.hierarchy, Marginals):  # whose cells are alike: that no report answers twice
            return variances - (1 - 1 / n_leaves) / n_leaves
        return variances

    def _of_sums(self, grouping: Grouping) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return the reports of each group of public bins, and the same of groups of leaves."""
        (public, private), target = self.layout.groups(grouping), self.layout.coarsened(grouping)
        reports, counts = self._of_public(public, target.n_public)
        return reports, *self._of_groups(private, target.n_private, reports, counts)

    def _of_groups(
        self, groups: IntArray, n_groups: int, reports: IntArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        variances, worst = np.empty((len(reports), n_groups)), np.empty((len(reports), n_groups))
        steps = np.empty(n_groups)
        for group in range(n_groups):
            per_report, steps[group] = self._asked((groups == group).astype(np.float64))
            variances[:, group], worst[:, group] = counts @ per_report, reports * per_report.max()
        return variances, worst, steps


def level_variances(distributions: Sequence[SupportDistribution], chances: Sequence[int]) -> list[float]:
    r"""Return the variances of nodes, root first, that one report leaves where events are spread evenly.

    .. math:: \sigma_l^2 = \frac{1}{\alpha_l} \Bigl(a_l + \frac{1 - \alpha_l}{k_l}\Bigr)

    with half the oracle's variance a for the difference of two nodes: what all nodes share, the public total corrects.
    """
    variances = [0.0]
    for distribution, chance in zip(distributions, chances, strict=True):
        share = chance / COIN
        variances.append((variance_of_differences(distribution) + (1 - share) / distribution.n_cells) / share)
    return variances


def table_variances(distributions: Sequence[SupportDistribution], chances: Sequence[int]) -> list[float]:
    """Return the variances of the tables' cells, the total first, that make least squares best for even events."""
    parts = zip(distributions, chances, strict=True)
    return [0.0, *((variance_of_differences(one) + 1 / one.n_cells) * COIN / chance for one, chance in parts)]


def variance_of_differences(distribution: SupportDistribution) -> float:
    """Return half the variance that a report adds to the difference of two cells, on average over cells and truths."""
    k = distribution.n_cells
    return (k * mean_variance(distribution) - float(distribution.variances(np.ones(k)).mean()) / k) / (k - 1)


def _step(distribution: SupportDistribution, chance: int) -> float:
    """Return how far a report that supports a node, or does not, takes the node's count."""
    return COIN / chance / float(distribution.p - distribution.q)


def _margin(variances: Any, worst: Any, steps: Any, n_reports: Any, level: float) -> Any:
    """Return how far an answer may be from the truth."""
    by_chebyshev = np.sqrt(np.where(np.asarray(n_reports) < FEW_REPORTS, worst, variances) / (1 - level))
    is_normal = (np.asarray(n_reports) >= FEW_REPORTS) & (np.asarray(variances) >= _SQUARED_STEPS * np.square(steps))
    return np.where(is_normal, normal_quantile(level) * np.sqrt(variances), by_chebyshev)


def _limits(
    values: FloatArray, reports: IntArray, variances: FloatArray, worst: FloatArray, steps: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    largest = reports[:, None].astype(np.float64)
    margin = _margin(variances, worst, steps, largest, level)
    return np.clip(values - margin, 0.0, largest), np.clip(values + margin, 0.0, largest)
