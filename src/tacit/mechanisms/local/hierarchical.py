r"""Hierarchical histograms: each report answers for one level of a tree, and ranges are sums of a few nodes.

Adding up 500 noisy days adds up 500 errors. In a tree over 2048 days any range is a sum of a few nodes. A report can
afford one level only: it picks one at random, whatever the value is, and sends the node above its value through that
level's oracle with the whole epsilon. (The thesis has the same structure; what it lacks is an oracle whose epsilon is
the claimed one, and least squares, which let every level improve all others.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least, check_positive
from tacit.counts.estimate import LEAST_SQUARES, Estimate
from tacit.counts.noise import SampledTreeNoise
from tacit.counts.noise.sampled_tree import error_of_differences
from tacit.counts.norm_sub import norm_sub
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, checked_cells
from tacit.mechanisms.local.tree_design import (
    LevelOracle,
    NodeEstimate,
    best_shares,
    best_tree,
    oracle_from_thresholds,
    short_oracle,
)
from tacit.plan import Plan
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN

MOST_LEVELS: Final = 255  # a level is named by one byte


@dataclass(frozen=True, slots=True)
class HierarchicalHistogram:
    r"""Pick a level l with probability chances[l] / 2**64, and answer for the node above the value by its oracle.

    .. math:: \hat y_{lv} = \frac{1}{\alpha_l} \Bigl( \frac{C_{lv} - n_l q_l}{p_l - q_l} - n_l s_{lv} \Bigr)
              + N s_{lv}, \qquad \hat x = \arg\min_x \sum_{lv} \frac{(\hat y_{lv} - x_{lv})^2}{\sigma_l^2}

    with the number :math:`n_l` of reports at level l among N, and a node's share s of the leaves: nodes are estimated
    without bias, leaves by least squares from all nodes and the public N, which the root need not be asked for. The
    tree and the chances of its levels are those that make ranges err least on average.

    Privacy:   epsilon-local for replacing the value, per report: the largest epsilon of the levels' oracles, since the
               level is chosen without looking at the value and is part of the report.
    Error:     exact for any question, see :mod:`tacit.counts.noise.sampled_tree`: about 8.2 sqrt(N) for a random range
               of 2048 leaves at epsilon 1, where adding up leaves alone would err by 35 sqrt(N).
    Cost:      one byte for the level, then the longest of the oracles' reports; O(oracle) to randomize and to tally,
               O(nodes) to fuse.
    Reference: Kulkarni2019; Hay2010.

    >>> histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=2048)
    >>> histogram.hierarchy.level_sizes
    (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
    >>> histogram.report_bytes, histogram.epsilon <= 1.0
    (17, True)
    """

    hierarchy: Hierarchy
    oracles: tuple[FrequencyOracle, ...]
    chances: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = self.hierarchy.level_sizes[1:]
        if not 1 <= len(sizes) <= MOST_LEVELS:
            raise SettingError(
                f"a tree must have 1 to {MOST_LEVELS} levels below its root; got {len(sizes)}. "
                "One leaf has nothing to hide."
            )
        if tuple(oracle.n_cells for oracle in self.oracles) != sizes:
            raise SettingError(
                f"oracles must have one cell for each node of their levels, {sizes}; "
                f"got {tuple(oracle.n_cells for oracle in self.oracles)}. Make one for each level below the root."
            )
        if len(self.chances) != len(sizes) or min(self.chances) < 1 or sum(self.chances) != COIN:
            raise SettingError(
                "chances must be one whole number above 0 for each level below the root, 2**64 together. "
                "Make them with level_chances."
            )

    @classmethod
    def from_epsilon(
        cls,
        *,
        epsilon: float,
        n_cells: int,
        fan_out: int | None = None,
        level_oracle: LevelOracle = short_oracle,
        weights: Sequence[float] | str = "fused",
    ) -> HierarchicalHistogram:
        """Make the histogram whose fused ranges err least, or that of a tree of one degree.

        The other settings are those of :meth:`over`.
        """
        if fan_out is None and weights == "fused":
            oracles: dict[int, FrequencyOracle] = {}

            def error_of(n_nodes: int) -> float:
                if n_nodes not in oracles:
                    oracles[n_nodes] = level_oracle(epsilon, n_nodes)
                return error_of_differences(oracles[n_nodes].distribution)

            check_at_least(2, n_cells=n_cells)
            tree, shares = best_tree(n_cells, error_of)
            return cls(tree, tuple(oracles[size] for size in tree.level_sizes[1:]), level_chances(shares))
        tree = Hierarchy.of_degree(n_cells, 2 if fan_out is None else fan_out)
        return cls.over(tree, epsilon=epsilon, level_oracle=level_oracle, weights=weights)

    @classmethod
    def over(
        cls,
        hierarchy: Hierarchy,
        *,
        epsilon: float,
        level_oracle: LevelOracle = short_oracle,
        weights: Sequence[float] | str = "fused",
    ) -> HierarchicalHistogram:
        """Make the histogram of any tree, every level's oracle with the whole epsilon.

        ``weights`` are the shares of the levels below the root, coarsest first: "fused" (the least mean variance of
        fused answers over all ranges), "ranges" (of plain sums of nodes), "uniform", or numbers in proportion to them.

        >>> tree = Hierarchy.of_fan_outs([8, 4, 4])
        >>> histogram = HierarchicalHistogram.over(tree, epsilon=1.0)
        >>> [round(chance / 2**64, 2) for chance in histogram.chances]
        [0.26, 0.28, 0.46]
        """
        oracles = tuple(level_oracle(epsilon, size) for size in hierarchy.level_sizes[1:])
        if isinstance(weights, str):
            weights = _named_weights(weights, hierarchy, oracles)
        return cls(hierarchy, oracles, level_chances(weights))

    @property
    def n_cells(self) -> int:
        return self.hierarchy.n_leaves

    @property
    def epsilon(self) -> float:
        return max(oracle.epsilon for oracle in self.oracles)

    @property
    def report_bytes(self) -> int:
        return 1 + max(oracle.report_bytes for oracle in self.oracles)

    @property
    def n_statistics(self) -> int:
        """For each level below the root: its number of reports, then its oracle's statistics."""
        return sum(1 + oracle.n_statistics for oracle in self.oracles)

    def thresholds(self) -> dict[str, int]:
        """For each level below the root: the fan-out of the nodes above it, its chance, its oracle's thresholds."""
        thresholds: dict[str, int] = {}
        for level, (fan_out, chance, oracle) in enumerate(
            zip(self._fan_outs, self.chances, self.oracles, strict=True), 1
        ):
            own = {"fan-out": fan_out, "chance": chance} | oracle.thresholds()
            thresholds |= {f"level {level} {name}": value for name, value in own.items()}
        return thresholds

    @classmethod
    def from_thresholds(cls, thresholds: Mapping[str, int], n_cells: int) -> HierarchicalHistogram:
        """Make the histogram that was agreed on; the names of an oracle's thresholds say which oracle it is."""
        levels: list[dict[str, int]] = []
        while own := _of_level(len(levels) + 1, thresholds):
            levels.append(own)
        if sum(map(len, levels)) != len(thresholds):
            raise SettingError("thresholds must belong to levels numbered from 1. Make them again.")
        tree = Hierarchy.of_fan_outs([own.pop("fan-out") for own in levels], n_cells)
        chances = tuple(own.pop("chance") for own in levels)
        if tree.n_levels != len(levels) + 1:
            raise SettingError("fan-outs must give every level more nodes than the one above. Leave a level out.")
        oracles = (oracle_from_thresholds(own, size) for own, size in zip(levels, tree.level_sizes[1:], strict=True))
        made = cls(tree, tuple(oracles), chances)
        if made.thresholds() != dict(thresholds):
            raise SettingError("fan-outs must be no larger than the tree is. Make them again.")
        return made

    def channel(self) -> list[list[Fraction]]:
        """P(report | leaf), row by leaf, column by the report read as a little-endian number: level + 256 payload."""
        channels = [oracle.channel() for oracle in self.oracles]
        n_columns = (MOST_LEVELS + 1) * max(len(channel[0]) for channel in channels)
        rows = []
        for leaf in range(self.n_cells):
            row = [Fraction(0)] * n_columns
            for level, (channel, chance) in enumerate(zip(channels, self.chances, strict=True), 1):
                node = int(self.hierarchy.nodes_of(np.array([leaf]), level)[0])
                for payload, probability in enumerate(channel[node]):
                    row[level + (MOST_LEVELS + 1) * payload] = probability * Fraction(chance, COIN)
            rows.append(row)
        return rows

    def randomize(self, cells: NDArray[np.integer], *, randomness: Randomness) -> NDArray[np.uint8]:
        cells = checked_cells(cells, self.n_cells)
        reports = np.zeros((cells.size, self.report_bytes), np.uint8)
        edges = np.array(list(accumulate(self.chances))[:-1], np.uint64)
        reports[:, 0] = 1 + np.searchsorted(edges, randomness.words(cells.size), side="right")
        for level, oracle in enumerate(self.oracles, 1):
            chosen = np.flatnonzero(reports[:, 0] == level)
            nodes = self.hierarchy.nodes_of(cells[chosen], level)
            reports[chosen, 1 : 1 + oracle.report_bytes] = oracle.randomize(nodes, randomness=randomness)
        return reports

    def statistics(self, reports: NDArray[np.uint8], run_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        by_level = self._checked_levels(reports)
        ends = np.cumsum(run_lengths)
        columns = []
        for chosen, oracle in zip(by_level, self.oracles, strict=True):
            lengths = np.diff(np.searchsorted(chosen, ends), prepend=0).astype(np.int64)
            payloads = reports[chosen, 1 : 1 + oracle.report_bytes]
            columns += [lengths[:, None], oracle.statistics(payloads, lengths)]
        return np.concatenate(columns, axis=1)

    def estimate_nodes(self, statistics: NDArray[np.int64]) -> NodeEstimate:
        """Estimate the counts of all nodes from one public bin's row of statistics."""
        statistics = np.asarray(statistics)
        if statistics.shape != (self.n_statistics,):
            raise SettingError(
                f"statistics must be one row of {self.n_statistics} numbers; got shape={statistics.shape}. "
                "Ask for each public bin on its own."
            )
        supports, level_reports, first = [], [], 0
        for oracle in self.oracles:
            stop = first + 1 + oracle.n_statistics
            level_reports.append(int(statistics[first]))
            supports.append(statistics[first + 1 : stop])
            first = stop
        return NodeEstimate.of_supports(self.hierarchy, supports, level_reports, [o.distribution for o in self.oracles])

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate all nodes without bias, and fuse them into leaves that add up to the public number of reports."""
        check_plan("the tally", tally.provenance.plan_id, plan.fingerprint)
        layout, reports = plan.layout(domain), plan.in_bins(tally.reports, domain)
        statistics = plan.in_bins(tally.statistics, domain)
        blank = np.zeros((len(reports), self.n_cells))
        distributions = tuple(oracle.distribution for oracle in self.oracles)
        fusion = SampledTreeNoise(self.hierarchy, distributions, self.chances, reports, layout, blank).fusion
        leaves = fusion.fuse(self._unbiased_nodes(statistics, reports)).T
        # single precision is plenty for a plug-in, and halves the release
        counts = norm_sub(leaves, reports).astype(np.float32).astype(np.float64)
        return Estimate(
            domain=domain,
            values=np.ascontiguousarray(layout.cells(leaves)),
            noise=SampledTreeNoise(self.hierarchy, distributions, self.chances, reports, layout, counts),
            totals=plan.totals(reports, domain),
            steps=(LEAST_SQUARES,),
            provenance=tally.provenance,
        )

    def _unbiased_nodes(self, statistics: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """The counts of all nodes (rows) of every public bin (columns), each level scaled up by its chance."""
        nodes = np.zeros((self.hierarchy.n_nodes, len(reports)))
        nodes[0] = reports
        first = 0
        for level, (oracle, chance) in enumerate(zip(self.oracles, self.chances, strict=True), 1):
            n_here, supports = statistics[:, first], statistics[:, first + 1 : first + 1 + oracle.n_statistics].T
            first += 1 + oracle.n_statistics
            p, q = float(oracle.distribution.p), float(oracle.distribution.q)
            shares = np.diff(self.hierarchy.boundaries[level])[:, None] / self.n_cells
            beyond_even = (supports - n_here * q) / (p - q) - n_here * shares
            nodes[self.hierarchy.level_slice(level)] = beyond_even * (COIN / chance) + reports * shares
        return nodes

    @property
    def _fan_outs(self) -> list[int]:
        """The fan-outs of the levels, root first, where all full nodes of a level have one."""
        first_nodes = [int(boundaries[1]) for boundaries in self.hierarchy.boundaries[1:]]
        fan_outs = [self.hierarchy.level_sizes[1], *(above // below for above, below in pairwise(first_nodes))]
        if min(fan_outs) < 2 or Hierarchy.of_fan_outs(fan_outs, self.n_cells) != self.hierarchy:
            raise SettingError(
                "the tree must have one fan-out for each level before a plan can carry it. "
                "Make it with of_degree or of_fan_outs."
            )
        return fan_outs

    def _checked_levels(self, reports: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """The positions of the reports of each level, none of which breaks the form of a report."""
        if reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise FormatError(
                f"reports must have {self.report_bytes} bytes each. Ask for them again; nothing was counted."
            )
        levels = np.ascontiguousarray(reports[:, 0])
        by_level = [np.flatnonzero(levels == level) for level in range(1, len(self.oracles) + 1)]
        wrong = np.flatnonzero((levels < 1) | (levels > len(self.oracles)))
        for chosen, oracle in zip(by_level, self.oracles, strict=True):
            if oracle.report_bytes + 1 < self.report_bytes:
                wrong = np.append(wrong, chosen[reports[chosen, 1 + oracle.report_bytes :].any(axis=1)])
        if wrong.size:
            raise FormatError(
                f"reports must name a level from 1 to {len(self.oracles)} and end in zeros; {wrong.size} "
                f"of {len(reports)} do not, the first at position {wrong.min()}. Ask for them again; nothing was "
                "counted."
            )
        return by_level


def _of_level(level: int, thresholds: Mapping[str, int]) -> dict[str, int]:
    prefix = f"level {level} "
    return {name.removeprefix(prefix): t for name, t in thresholds.items() if name.startswith(prefix)}


def _named_weights(name: str, hierarchy: Hierarchy, oracles: Sequence[FrequencyOracle]) -> Sequence[float]:
    if name == "uniform":
        return [1.0] * len(oracles)
    if name == "ranges":
        return range_weights(hierarchy, oracles)
    if name == "fused":
        return best_shares(hierarchy, [error_of_differences(oracle.distribution) for oracle in oracles])
    raise SettingError(f"weights must be fused, ranges, uniform or numbers; got weights={name}.")


def level_chances(weights: Sequence[float]) -> tuple[int, ...]:
    """Whole numbers in proportion to the weights that add up to 2**64; the last level takes what rounding leaves.

    Rounding costs no privacy: the level does not depend on the value.

    >>> level_chances([1, 1]) == (2**63, 2**63)
    True
    """
    for weight in weights:
        check_positive(weight=weight)
    exact = [Fraction(weight) for weight in weights]
    chances = [max(1, int(weight / sum(exact) * COIN)) for weight in exact[:-1]]
    return (*chances, COIN - sum(chances))


def range_weights(hierarchy: Hierarchy, oracles: Sequence[FrequencyOracle]) -> list[float]:
    r"""The shares of levels that minimize the oracles' part of the mean variance over all ranges.

    That part is :math:`\sum_l c_l / \alpha_l` with the oracle's variance times the mean number of nodes that a range
    uses at level l, so the best shares are :math:`\alpha_l \propto \sqrt{c_l}`. A node [a, b) lies inside (a + 1)
    (N - b + 1) ranges, and is used by those its parent does not lie inside.
    """
    n = hierarchy.n_leaves

    def ranges_around(level: int) -> NDArray[np.float64]:
        edges = np.array(hierarchy.boundaries[level], np.float64)
        around: NDArray[np.float64] = (edges[:-1] + 1) * (n - edges[1:] + 1)
        return around

    weights = []
    for level, oracle in enumerate(oracles, 1):
        first_leaves = np.array(hierarchy.boundaries[level][:-1])
        parents = hierarchy.nodes_of(first_leaves, level - 1)
        used = (ranges_around(level) - ranges_around(level - 1)[parents]).sum() / (n * (n + 1) / 2)
        p, q = float(oracle.distribution.p), float(oracle.distribution.q)
        weights.append(float(np.sqrt(used * q * (1 - q)) / (p - q)))
    return weights
