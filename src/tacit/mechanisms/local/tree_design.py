r"""Trees, their level chances and the oracles of their levels that make ranges of fused leaves err least.

Where level l of a tree has nodes of :math:`m_l` leaves, measured with variance :math:`\sigma_l^2`, and the total is
known, least squares leave a range with the indicator u the variance

.. math:: \sum_{l \ge 1} \frac{|A_l u|^2 - |A_{l-1} u|^2}{\lambda_l}, \qquad
          \lambda_l = \sum_{j \ge l} \frac{m_j}{\sigma_j^2},

where :math:`A_l` averages over the nodes of level l. The mean of :math:`|A_l u|^2` over all ranges has a closed form,
and so has the mean variance: exact for equal fan-outs, and close where the last nodes are cut short.

Reference: Kulkarni2019; Hay2010.

Counts of a tree's nodes, estimated from reports that each answered for one level.

Given the public numbers :math:`n_l` of reports at each level, the reports of level l are a random sample, without
replacement, of all N. A question with weights w on nodes that do not overlap errs by the sampling and by the oracles:

.. math:: \mathrm{Var} = \sum_l \Bigl( \frac{N^2}{n_l} S^2(w_l) + \frac{N}{n_l} \sum_u x_{lu} V_{lu}(w_l) \Bigr)
          - N S^2(w), \qquad S^2(w) = \frac{1}{N-1}\Bigl(\sum_u x_u w_u^2 - \frac1N \bigl(\sum_u x_u w_u\bigr)^2\Bigr)

with the true counts x of nodes and the oracle's variance :math:`V_{lu}` of one report of node u. The last term is there
because no report answers for two levels; it makes the answer exact where one level has all reports and no noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.norm_sub import norm_sub
from tacit.counts.oracle_distributions import SupportDistribution, mean_variance
from tacit.domain.hierarchy import Hierarchy, Node
from tacit.errors import NoInterval, SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding

LevelOracle = Callable[[float, int], FrequencyOracle]
"""Makes a level's oracle of an epsilon and a number of nodes."""

MOST_NAMED: Final = 128
"""Up to so many nodes subsets are named, a bit for each node: 16 bytes. With 256, ranges of 365 days at epsilon 2 err
by 0.15 % less, from reports of 32 bytes; with 64 nothing changes there."""
# a variance may be 3 % larger if the report is shorter; with half of it ranges err by 0.15 % less at most, with longer
# reports, with twice as much nothing changes
_TOLERANCE: Final = 1.03


def subset_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """Return the oracle of least variance; its reports have a bit for each node."""
    return SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)


def short_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """Return the best oracle for a small level; for a large one, the shortest report that errs at most 3 % more.

    >>> short_oracle(1.0, 128).report_bytes, short_oracle(1.0, 2048).report_bytes
    (16, 2)
    """
    subset = subset_oracle(epsilon, n_cells)
    if n_cells <= MOST_NAMED:
        return subset
    made: list[FrequencyOracle] = [
        subset,
        LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells),
        HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells),
    ]
    least = min(mean_variance(one.distribution) for one in made)
    good = [one for one in made if mean_variance(one.distribution) <= _TOLERANCE * least]
    return min(good, key=lambda one: (one.report_bytes, mean_variance(one.distribution)))


def oracle_from_thresholds(thresholds: Mapping[str, int], n_cells: int) -> FrequencyOracle:
    """Make the oracle that has thresholds of these names.

    >>> oracle_from_thresholds({"keep": 1 << 62}, 5)
    HadamardResponse(n_cells=5, keep=4611686018427387904)
    """
    make = _KINDS.get(frozenset(thresholds))
    if make is None:
        raise SettingError("the thresholds of a level must be those of a known oracle. Install a newer Tacit.")
    made: FrequencyOracle = make(n_cells=n_cells, **thresholds)
    return made


_KINDS: Final[Mapping[frozenset[str], type[Any]]] = {
    frozenset(("include", "size")): SubsetSelection,
    frozenset(("ones", "zeros")): UnaryEncoding,
    frozenset(("bits", "keep")): LocalHashing,
    frozenset(("keep",)): HadamardResponse,
}
LEVEL_ORACLES: Final = tuple(_KINDS.values())
"""What may randomize a level: a plan tells them apart by the names of their thresholds."""


DEGREES: Final = (2, 3, 4, 8, 16)
"""The fan-outs that are tried: the degrees of the thesis, and two wider ones."""
_STEPS: Final = 100  # rounds of the iteration; 50 leave 2e-6 of the error, 200 none less
_GRID: Final = 1024  # shares are whole parts of so many; half as many err by up to 0.3 % more, twice by 2e-6 less
_LEAST_SHARE: Final = 1e-6  # of reports that a level gets, so that none is left without; half or twice gives the same
_TOO_FEW: Final = 8
"""A level that deserves less than 8 of 1024 reports is left out. At 16 the error grows by 0.3 % for 2,048 days; at 4 it
stays the same, with more levels."""


def range_energies(hierarchy: Hierarchy) -> FloatArray:
    r"""Return, for each level, root first, the mean of :math:`|A u|^2` over all ranges u.

    Two leaves i <= j lie together in (i + 1) (N - j) ranges.

    >>> range_energies(Hierarchy.of_degree(2, 2)).round(4).tolist()   # ranges 10, 01 and 11
    [1.0, 1.3333]
    """
    n = hierarchy.n_leaves
    leaves = np.arange(n, dtype=np.float64)
    energies = []
    for boundaries in hierarchy.boundaries:
        starts, sizes = boundaries[:-1], np.diff(boundaries)
        first = np.repeat(starts, sizes)
        before = (leaves - first) * (leaves + first + 1) / 2  # the sum of i + 1 over the node's leaves before this one
        together = np.add.reduceat((n - leaves) * (leaves + 1 + 2 * before), starts)
        energies.append(float((together / sizes).sum()) / (n * (n + 1) / 2))
    return np.array(energies)


def mean_range_variance(hierarchy: Hierarchy, level_variances: Sequence[float]) -> float:
    """Return the variance of a range of fused leaves, on average over all ranges; the root is known."""
    gains = np.diff(range_energies(hierarchy))
    return float((gains / _precisions(_node_sizes(hierarchy), np.array(level_variances[1:]))).sum())


def best_shares(hierarchy: Hierarchy, report_variances: Sequence[float]) -> list[int]:
    r"""Return the shares of the levels below the root, out of 1024, of least mean variance of ranges.

    ``report_variances`` are the oracles' variances a for one report and node; the variance of a node is then
    :math:`(a_l + (1 - \alpha_l)/k_l)/\alpha_l`. Shares are multiplied by the root of what they gain until they settle.
    """
    gains, sizes = np.diff(range_energies(hierarchy)), _node_sizes(hierarchy)
    own, even = np.array(report_variances), 1 / np.array(hierarchy.level_sizes[1:])
    shares = np.full(len(own), 1 / len(own))
    for _ in range(_STEPS):
        variances = own + (1 - shares) * even
        precisions = _precisions(sizes, variances / shares)
        falls = np.cumsum(gains / precisions**2) * sizes * (own + even) / variances**2
        shares *= np.sqrt(falls)
        shares = np.maximum(shares / shares.sum(), _LEAST_SHARE)
    return _rounded(shares)


def best_tree(n_leaves: int, variance_of: Callable[[int], float]) -> tuple[Hierarchy, list[int]]:
    """Return the tree whose ranges err least, and the shares of its levels below the root, out of 1024.

    ``variance_of`` gives an oracle's variance for one report and node, by the number of nodes of its level. Trees of
    one degree are tried; of the best, levels that hardly any report should answer for are left out.

    >>> best_tree(64, lambda n_nodes: 3.7)[0].level_sizes
    (1, 4, 8, 16, 32, 64)
    """
    best = (math.inf, Hierarchy.of_degree(n_leaves, n_leaves), [_GRID])
    for degree in DEGREES:
        if degree <= n_leaves:
            tree = Hierarchy.of_degree(n_leaves, degree)
            report_variances = [variance_of(size) for size in tree.level_sizes[1:]]
            shares = best_shares(tree, report_variances)
            variance = mean_range_variance(tree, _variances(tree, report_variances, shares))
            if variance < best[0]:
                best = variance, tree, shares
    _, tree, shares = best
    if min(shares) < _TOO_FEW:
        inner = [tree.boundaries[level] for level, share in enumerate(shares[:-1], 1) if share >= _TOO_FEW]
        tree = Hierarchy.of_levels(inner, n_leaves)
        shares = best_shares(tree, [variance_of(size) for size in tree.level_sizes[1:]])
    return tree, shares


def _variances(hierarchy: Hierarchy, report_variances: Sequence[float], shares: Sequence[int]) -> list[float]:
    """Return the variances of nodes, root first."""
    parts = zip(report_variances, hierarchy.level_sizes[1:], shares, strict=True)
    return [0.0, *((variance + (1 - share / _GRID) / size) * _GRID / share for variance, size, share in parts)]


def _node_sizes(hierarchy: Hierarchy) -> FloatArray:
    """Return the mean number of leaves of a node, for each level below the root."""
    return hierarchy.n_leaves / np.array(hierarchy.level_sizes[1:], np.float64)


def _precisions(sizes: FloatArray, variances: FloatArray) -> FloatArray:
    """Return lambda of each level below the root: what it and all finer levels know."""
    return np.cumsum((sizes / variances)[::-1])[::-1]


def _rounded(shares: FloatArray) -> list[int]:
    """Return whole numbers of at least 1 in proportion to the shares, 1024 in all: the same on every platform."""
    whole = np.maximum(np.rint(shares * _GRID).astype(np.int64), 1)
    whole[np.argmax(whole)] += _GRID - whole.sum()
    return [int(share) for share in whole]


_Number = TypeVar("_Number", float, FloatArray)


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """The estimated number of events in a range of leaves, and the variance of its error."""

    value: float
    variance: float


@dataclass(frozen=True, eq=False)
class NodeEstimate:
    """Unbiased counts of all nodes of a tree, indexed as the hierarchy numbers them; the root's is known.

    ``level_reports`` and ``distributions`` belong to the levels below the root. A level without reports has no estimate
    (NaN); ranges are then answered from the levels below it. Levels are not made to agree: two ways to add up a range
    give two answers, each unbiased.
    """

    hierarchy: Hierarchy
    values: FloatArray
    level_reports: tuple[int, ...]
    distributions: tuple[SupportDistribution, ...]

    @classmethod
    def of_supports(
        cls,
        hierarchy: Hierarchy,
        supports: Sequence[NDArray[np.int64]],
        level_reports: Sequence[int],
        distributions: Sequence[SupportDistribution],
    ) -> NodeEstimate:
        """Scale every level's estimate up to all reports: N / n_l * (C - n_l q) / (p - q)."""
        total = sum(level_reports)
        values = np.full(hierarchy.n_nodes, np.nan)
        values[0] = total
        for level, (support, n_here, distribution) in enumerate(
            zip(supports, level_reports, distributions, strict=True), 1
        ):
            if n_here:
                counts = (support - n_here * float(distribution.q)) / float(distribution.p - distribution.q)
                values[hierarchy.level_slice(level)] = counts * (total / n_here)
        return cls(hierarchy, values, tuple(level_reports), tuple(distributions))

    @property
    def n_reports(self) -> int:
        return sum(self.level_reports)

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of every node's error; infinite where there is no estimate."""
        total = self.n_reports
        variances = np.full(self.hierarchy.n_nodes, np.inf)
        variances[0] = 0.0
        for level, (counts, n_here, distribution) in enumerate(
            zip(self._plug_in, self.level_reports, self.distributions, strict=True), 1
        ):
            if n_here:
                p, q = float(distribution.p), float(distribution.q)
                oracle = (counts * (p * (1 - p)) + (total - counts) * (q * (1 - q))) / float(
                    distribution.p - distribution.q
                ) ** 2
                sampled = (total**2 / n_here - total) * _population_variance(counts, counts, total)
                variances[self.hierarchy.level_slice(level)] = sampled + total / n_here * oracle
        return variances

    def answer(self, first: int, stop: int) -> RangeAnswer:
        """Add up the fewest nodes that hold the leaves from ``first`` up to but not including ``stop``."""
        nodes = self._nodes_for(first, stop)
        value = float(sum(self.values[self.hierarchy.number(*node)] for node in nodes))
        return RangeAnswer(value, self._variance(self._by_level(nodes), self._plug_in))

    def exact_variance(self, first: int, stop: int, leaf_counts: NDArray[np.integer]) -> float:
        """Return the variance of a range's answer given the true counts: for the laboratory, and to plan with."""
        leaves = np.asarray(leaf_counts, np.float64)
        counts = [np.add.reduceat(leaves, level[:-1]) for level in self.hierarchy.boundaries[1:]]
        return self._variance(self._by_level(self._nodes_for(first, stop)), counts)

    @cached_property
    def _plug_in(self) -> list[FloatArray]:
        """Every level's estimate, projected onto what counts can be: what stands in for the truth in variances."""
        parts = [self.values[self.hierarchy.level_slice(level)] for level in range(1, self.hierarchy.n_levels)]
        total = np.array([self.n_reports])
        return [norm_sub(np.nan_to_num(part)[None, :], total)[0] for part in parts]

    def _nodes_for(self, first: int, stop: int) -> list[Node]:
        return [usable for node in self.hierarchy.decompose(first, stop) for usable in self._usable(node)]

    def _usable(self, node: Node) -> list[Node]:
        """Return the node, or those below it that have an estimate."""
        if node[0] == 0 or self.level_reports[node[0] - 1]:
            return [node]
        below = self.hierarchy.children(*node)
        if not below:
            raise NoInterval("no report answered for the leaves, so there is no estimate. Collect more reports.")
        return [usable for child in below for usable in self._usable(child)]

    def _by_level(self, nodes: Sequence[Node]) -> dict[int, FloatArray]:
        """Return the weights of a sum of nodes, level by level; the root is known and has no error."""
        weights: dict[int, FloatArray] = {}
        for level, index in nodes:
            if level:
                weights.setdefault(level, np.zeros(self.hierarchy.level_sizes[level]))[index] = 1.0
        return weights

    def _variance(self, weights: dict[int, FloatArray], counts: Sequence[FloatArray]) -> float:
        total = self.n_reports
        variance = squares = sums = 0.0
        for level, ours in weights.items():
            distribution, n_here, here = self.distributions[level - 1], self.level_reports[level - 1], counts[level - 1]
            square, mean = float(here @ ours**2), float(here @ ours)
            squares, sums = squares + square, sums + mean
            variance += total**2 / n_here * _population_variance(square, mean, total)
            variance += total / n_here * float(here @ distribution.variances(ours))
        return max(0.0, variance - total * _population_variance(squares, sums, total))


def _population_variance(square: _Number, mean: _Number, n: int) -> _Number:
    """Return the variance of a value over a population of n, from the sums of its squares and of itself."""
    return (square - mean**2 / n) / max(1, n - 1)
