"""Our own reports, looked at by what they support: all that a report says of two cells is whether it supports each.

For every oracle of the field the likelihood ratio of a report between two cells depends on that alone, so the best
event is "supports the one and not the other". In a tree of oracles the level is part of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, IntArray
from tacit.mechanisms.local.bloom import bloom_positions
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding

Reports = NDArray[np.uint8]

_REPORTS_AT_ONCE: Final = 1 << 22
_LARGEST_TABLE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Supports:
    """Whether a report supports each of two cells: four outcomes, for each level of a tree."""

    randomizer: LocalRandomizer
    first: int
    second: int

    @property
    def name(self) -> str:
        return "which of the two a report supports"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return lambda reports: outcomes(self.randomizer, np.asarray(reports, np.uint8), self.first, self.second)


def has_supports(randomizer: LocalRandomizer) -> bool:
    """Whether a randomizer's reports support cells, as a plug-in's need not."""
    return isinstance(randomizer, HierarchicalHistogram) or hasattr(type(randomizer), "distribution")


def outcomes(randomizer: LocalRandomizer, reports: Reports, first: int, second: int) -> IntArray:
    """What reports say of two cells, as one whole number each.

    >>> from tacit.randomness import SeededRandomness
    >>> response = RandomizedResponse.from_epsilon(epsilon=2.0, n_cells=5)
    >>> reports = response.randomize(np.arange(5), randomness=SeededRandomness(4))
    >>> reports[:, 0].tolist(), outcomes(response, reports, 3, 4).tolist()
    ([0, 1, 3, 4, 3], [0, 0, 2, 1, 2])
    """
    if isinstance(randomizer, HierarchicalHistogram):
        return _level_outcomes(randomizer, reports, first, second)
    if isinstance(randomizer, LongitudinalRappor):
        own, others = telling_bits(randomizer, first, second)
        return n_set(reports, own) * (randomizer.hashes + 1) + n_set(reports, others)
    supported = support_of(randomizer)
    return 2 * supported(reports, first).astype(np.int64) + supported(reports, second)


def support_of(randomizer: LocalRandomizer) -> Callable[[Reports, int], BoolArray]:
    """A function that says which reports support a cell."""
    if isinstance(randomizer, UnaryEncoding | SubsetSelection):
        return _is_set
    if isinstance(randomizer, RandomizedResponse):
        return lambda reports, cell: _numbers(reports) == cell
    if isinstance(randomizer, HadamardResponse):
        return lambda reports, cell: ~_parity(_numbers(reports) & np.uint64(cell + 1))
    if isinstance(randomizer, LocalHashing):
        return lambda reports, cell: _is_hashed(randomizer, reports, cell)
    return lambda reports, cell: _is_counted(randomizer, reports, cell)


def _is_set(reports: Reports, cell: int) -> BoolArray:
    return (reports[:, cell >> 3] >> np.uint8(cell & 7) & np.uint8(1)).astype(bool)


def _numbers(reports: Reports) -> NDArray[np.uint64]:
    """Reports of up to eight bytes as little-endian numbers."""
    total = reports[:, 0].astype(np.uint64)
    for column in range(1, reports.shape[1]):
        total |= reports[:, column].astype(np.uint64) << np.uint64(8 * column)
    return total


def _parity(numbers: NDArray[np.uint64]) -> BoolArray:
    folded = numbers.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return (folded & np.uint64(1)).astype(bool)


def _is_hashed(hashing: LocalHashing, reports: Reports, cell: int) -> BoolArray:
    numbers = _numbers(reports)
    size = 1 << hashing.degree
    functions, values = numbers & np.uint64(size - 1), numbers >> np.uint64(hashing.degree)
    if size <= _LARGEST_TABLE:
        table = hashing.hashed(np.arange(size), np.full(size, cell))
        return np.asarray(table[functions] == values)
    return np.asarray(hashing.hashed(functions, np.full(len(functions), cell)) == values)


def _is_counted(randomizer: LocalRandomizer, reports: Reports, cell: int) -> BoolArray:
    """As the randomizer itself counts, a report at a time: for any oracle whose statistics are supports."""
    n_at_once = max(1, _REPORTS_AT_ONCE // randomizer.n_statistics)
    parts = [reports[first : first + n_at_once] for first in range(0, len(reports), n_at_once)]
    counted = [randomizer.statistics(part, np.ones(len(part), np.int64))[:, cell] > 0 for part in parts]
    return np.concatenate(counted) if counted else np.zeros(0, bool)


def telling_bits(rappor: LongitudinalRappor, first: int, second: int) -> tuple[list[int], list[int]]:
    """The bits that the one cell sets and the other does not, for both.

    >>> telling_bits(LongitudinalRappor.from_epsilon(epsilon=1.0, n_cells=5), 1, 4)
    ([1], [4])
    """
    if rappor.n_bits is None:
        return [first], [second]
    rows = bloom_positions(rappor.n_cells, rappor.n_bits, rappor.hashes)[[first, second]].tolist()
    return sorted(set(rows[0]) - set(rows[1])), sorted(set(rows[1]) - set(rows[0]))


def n_set(reports: Reports, bits: Sequence[int]) -> IntArray:
    """How many of these bits are set in each report."""
    total = np.zeros(len(reports), np.int64)
    for bit in bits:
        total += _is_set(reports, bit)
    return total


def _level_outcomes(histogram: HierarchicalHistogram, reports: Reports, first: int, second: int) -> IntArray:
    levels = reports[:, 0].astype(np.int64)
    code = 4 * levels
    for level, oracle in enumerate(histogram.oracles, 1):
        nodes = histogram.hierarchy.nodes_of(np.array([first, second]), level).tolist()
        if nodes[0] != nodes[1]:
            chosen = np.flatnonzero(levels == level)
            payloads = np.ascontiguousarray(reports[chosen, 1 : 1 + oracle.report_bytes])
            code[chosen] += outcomes(oracle, payloads, nodes[0], nodes[1])
    return code
