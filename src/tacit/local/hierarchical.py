r"""Hierarchical histograms: each report answers for one level of a tree, and ranges are sums of a few nodes.

Adding up 500 noisy days adds up 500 errors. In a tree of degree 4 over 2048 days any range is a sum of a few nodes. A
report can afford one level only: it picks one at random, whatever the value is, and sends the node above its value
through that level's oracle with the whole epsilon. (The thesis has the same structure; what it lacks is an oracle whose
epsilon is the claimed one.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_positive
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import FormatError, SettingError
from tacit.local.cells import checked_cells
from tacit.local.nodes import NodeEstimate
from tacit.local.randomizer import LocalRandomizer
from tacit.local.subset import SubsetSelection
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN

MOST_LEVELS: Final = 255

LevelOracle = Callable[[float, int], LocalRandomizer]
"""Makes a level's oracle of an epsilon and a number of nodes."""


def subset_oracle(epsilon: float, n_cells: int) -> LocalRandomizer:
    """The oracle of least variance for the small levels of a tree, and within a few percent of it for large ones."""
    return SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)


@dataclass(frozen=True, slots=True)
class HierarchicalHistogram:
    r"""Pick a level l with probability chances[l] / 2**64, and answer for the node above the value by its oracle.

    .. math:: \hat x_{lv} = \frac{N}{n_l} \cdot \frac{C_{lv} - n_l q_l}{p_l - q_l}, \qquad
              \hat x_{[a,b)} = \sum_{(l,v) \in D(a,b)} \hat x_{lv}

    with the number :math:`n_l` of reports at level l among N and the fewest nodes D(a, b) that make up the range, the
    thesis' B-adic decomposition. The root is not asked: it holds all N reports, which is public.

    Privacy:   epsilon-local for replacing the value, per report: the largest epsilon of the levels' oracles, since the
               level is chosen without looking at the value and is part of the report.
    Error:     N / n_l times the oracle's variance for each node, plus that of sampling a level; see
               :mod:`tacit.local.nodes`. A range of a tree of degree B uses at most 2 (B - 1) nodes of a level.
    Cost:      one byte for the level, then the longest of the oracles' reports; O(oracle) to randomize and to tally.
    Reference: Kulkarni2019; Hay2010.

    >>> histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=2048, fan_out=4)
    >>> histogram.hierarchy.level_sizes, histogram.epsilon
    ((1, 2, 8, 32, 128, 512, 2048), 1.0)
    """

    hierarchy: Hierarchy
    oracles: tuple[LocalRandomizer, ...]
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
        fan_out: int = 4,
        level_oracle: LevelOracle = subset_oracle,
        weights: Sequence[float] | str = "uniform",
    ) -> HierarchicalHistogram:
        """Make the histogram of a tree of one degree; the other settings are those of :meth:`over`."""
        return cls.over(
            Hierarchy.of_degree(n_cells, fan_out), epsilon=epsilon, level_oracle=level_oracle, weights=weights
        )

    @classmethod
    def over(
        cls,
        hierarchy: Hierarchy,
        *,
        epsilon: float,
        level_oracle: LevelOracle = subset_oracle,
        weights: Sequence[float] | str = "uniform",
    ) -> HierarchicalHistogram:
        """Make the histogram of any tree, every level's oracle with the whole epsilon.

        ``weights`` are the shares of the levels below the root, coarsest first: "uniform", "ranges" (the least mean
        variance of plain answers over all ranges), or numbers in proportion to them.

        >>> tree = Hierarchy.of_fan_outs([8, 4, 4])
        >>> histogram = HierarchicalHistogram.over(tree, epsilon=1.0, weights="ranges")
        >>> [round(chance / 2**64, 2) for chance in histogram.chances]
        [0.26, 0.36, 0.38]
        """
        oracles = tuple(level_oracle(epsilon, size) for size in hierarchy.level_sizes[1:])
        if isinstance(weights, str):
            if weights not in ("uniform", "ranges"):
                raise SettingError(f"weights must be uniform, ranges or numbers; got weights={weights}.")
            weights = range_weights(hierarchy, oracles) if weights == "ranges" else [1.0] * len(oracles)
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
        """The chance of each level below the root, and its oracle's thresholds."""
        thresholds = {f"level {level} chance": chance for level, chance in enumerate(self.chances, 1)}
        for level, oracle in enumerate(self.oracles, 1):
            thresholds |= {f"level {level} {name}": value for name, value in oracle.thresholds().items()}
        return thresholds

    @classmethod
    def from_thresholds(
        cls,
        thresholds: Mapping[str, int],
        hierarchy: Hierarchy,
        oracle_from_thresholds: Callable[[Mapping[str, int], int], LocalRandomizer],
    ) -> HierarchicalHistogram:
        """Make the histogram that was agreed on, its oracles all of one kind."""
        chances, oracles = [], []
        for level, size in enumerate(hierarchy.level_sizes[1:], 1):
            prefix = f"level {level} "
            own = {name.removeprefix(prefix): t for name, t in thresholds.items() if name.startswith(prefix)}
            chances.append(own.pop("chance"))
            oracles.append(oracle_from_thresholds(own, size))
        return cls(hierarchy, tuple(oracles), tuple(chances))

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
        self._check_reports(reports)
        runs = np.repeat(np.arange(len(run_lengths)), run_lengths)
        columns = []
        for level, oracle in enumerate(self.oracles, 1):
            chosen = np.flatnonzero(reports[:, 0] == level)
            lengths = np.bincount(runs[chosen], minlength=len(run_lengths)).astype(np.int64)
            payloads = np.ascontiguousarray(reports[chosen, 1 : 1 + oracle.report_bytes])
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
        return NodeEstimate.of_supports(self.hierarchy, supports, level_reports, [o.law for o in self.oracles])

    def _check_reports(self, reports: NDArray[np.uint8]) -> None:
        if reports.ndim != 2 or reports.shape[1] != self.report_bytes:
            raise FormatError(
                f"reports must have {self.report_bytes} bytes each. Ask for them anew; nothing was counted."
            )
        levels = reports[:, 0]
        wrong = (levels < 1) | (levels > len(self.oracles))
        for level, oracle in enumerate(self.oracles, 1):
            wrong |= (levels == level) & reports[:, 1 + oracle.report_bytes :].any(axis=1)
        if wrong.any():
            raise FormatError(
                f"reports must name a level from 1 to {len(self.oracles)} and end in zeros; {np.count_nonzero(wrong)} "
                f"of {len(reports)} do not, the first at position {np.argmax(wrong)}. Ask for them anew; nothing was "
                "counted."
            )


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


def range_weights(hierarchy: Hierarchy, oracles: Sequence[LocalRandomizer]) -> list[float]:
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
        p, q = float(oracle.law.p), float(oracle.law.q)
        weights.append(float(np.sqrt(used * q * (1 - q)) / (p - q)))
    return weights
