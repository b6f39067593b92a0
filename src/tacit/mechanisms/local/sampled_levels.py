"""Reports that each answer for one of several levels: what trees of oracles and tables of oracles share.

A level is a way to cut the cells up into nodes. A report picks one at random, whatever the value is, and sends the node
that holds its value through that level's oracle, with the whole epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_positive
from tacit.counts.estimate import LEAST_SQUARES, Estimate
from tacit.counts.noise import SampledNoise
from tacit.counts.norm_sub import norm_sub
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.domain.hierarchy import Hierarchy
from tacit.domain.marginals import Marginals
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, checked_cells
from tacit.plan import Plan
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN

MOST_LEVELS: Final = 255  # a level is named by one byte
Levels = TypeVar("Levels", Hierarchy, Marginals)


@dataclass(frozen=True, slots=True)
class SampledLevels(Generic[Levels]):
    r"""Pick a level l with probability chances[l] / 2**64, and answer for the node of the value by its oracle.

    .. math:: \hat y_{lv} = \frac{1}{\alpha_l} \Bigl( \frac{C_{lv} - n_l q_l}{p_l - q_l} - n_l s_{lv} \Bigr)
              + N s_{lv}, \qquad \hat x = \arg\min_x \sum_{lv} \frac{(\hat y_{lv} - x_{lv})^2}{\sigma_l^2}

    with the number :math:`n_l` of reports at level l among N, and a node's share s of the leaves: nodes are estimated
    without bias, leaves by least squares from all nodes and the public N, which the root need not be asked for.

    Privacy: epsilon-local for replacing the value, per report: the largest epsilon of the levels' oracles, since the
    level is chosen without looking at the value and is part of the report.
    """

    hierarchy: Levels
    oracles: tuple[FrequencyOracle, ...]
    chances: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = self.hierarchy.level_sizes[1:]
        if not 1 <= len(sizes) <= MOST_LEVELS:
            raise SettingError(
                f"there must be 1 to {MOST_LEVELS} levels below the root; got {len(sizes)}. "
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
        """The number of statistics: for each level below the root its number of reports, then its oracle's."""
        return sum(1 + oracle.n_statistics for oracle in self.oracles)

    def channel(self) -> list[list[Fraction]]:
        """Return P(report | leaf), row by leaf, column by level + 256 payload as a little-endian number."""
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

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate all nodes without bias, and fuse them into leaves that add up to the public number of reports."""
        check_plan("the tally", tally.provenance.plan_id, plan.fingerprint)
        layout, reports = plan.layout(domain), plan.in_bins(tally.reports, domain)
        statistics = plan.in_bins(tally.statistics, domain)
        blank = np.zeros((len(reports), self.n_cells))
        distributions = tuple(oracle.distribution for oracle in self.oracles)
        fusion = SampledNoise(self.hierarchy, distributions, self.chances, reports, layout, blank).fusion
        leaves = fusion.fuse(self._unbiased_nodes(statistics, reports)).T
        # single precision is plenty for a plug-in, and halves the release
        counts = norm_sub(leaves, reports).astype(np.float32).astype(np.float64)
        return Estimate(
            domain=domain,
            values=np.ascontiguousarray(layout.cells(leaves)),
            noise=SampledNoise(self.hierarchy, distributions, self.chances, reports, layout, counts),
            totals=plan.totals(reports, domain),
            steps=(LEAST_SQUARES,),
            provenance=tally.provenance,
        )

    def _unbiased_nodes(self, statistics: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the counts of all nodes (rows) of every public bin (columns), each level scaled up by its chance."""
        nodes = np.zeros((self.hierarchy.n_nodes, len(reports)))
        nodes[0] = reports
        first = 0
        for level, (oracle, chance) in enumerate(zip(self.oracles, self.chances, strict=True), 1):
            n_here, supports = statistics[:, first], statistics[:, first + 1 : first + 1 + oracle.n_statistics].T
            first += 1 + oracle.n_statistics
            p, q = float(oracle.distribution.p), float(oracle.distribution.q)
            shares = self.hierarchy.leaf_counts(level)[:, None] / self.n_cells
            beyond_even = (supports - n_here * q) / (p - q) - n_here * shares
            nodes[self.hierarchy.level_slice(level)] = beyond_even * (COIN / chance) + reports * shares
        return nodes

    def _checked_levels(self, reports: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """Return the positions of the reports of each level, none of which breaks the form of a report."""
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


def of_level(word: str, number: int, thresholds: Mapping[str, int]) -> dict[str, int]:
    """Return the thresholds of one level, without the word and the number that their names begin with."""
    prefix = f"{word} {number} "
    return {name.removeprefix(prefix): t for name, t in thresholds.items() if name.startswith(prefix)}


def level_chances(weights: Sequence[float]) -> tuple[int, ...]:
    """Return whole numbers in proportion to the weights, 2**64 together; the last level takes what rounding leaves.

    Rounding costs no privacy: the level does not depend on the value.

    >>> level_chances([1, 1]) == (2**63, 2**63)
    True
    """
    for weight in weights:
        check_positive(weight=weight)
    exact = [Fraction(weight) for weight in weights]
    chances = [max(1, int(weight / sum(exact) * COIN)) for weight in exact[:-1]]
    return (*chances, COIN - sum(chances))
