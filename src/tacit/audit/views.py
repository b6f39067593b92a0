"""Ways to look at outputs of which nothing is known: as wholes, by their most telling fields, as numbers.

Our own reports, looked at by what they support: all that a report says of two cells is whether it supports each.

For every oracle of the field the likelihood ratio of a report between two cells depends on that alone, so the best
event is "supports the one and not the other". In a tree or tables of oracles the level is part of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit.audit.games import View
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.memo import RepeatedRandomizer
from tacit.mechanisms.local.memoized import LongitudinalRappor, bloom_positions
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.sampled_levels import SampledLevels
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding

_MOST_OUTCOMES: Final = 1 << 16  # that fields are combined to: more would hardly come twice
_MOST_VALUES: Final = 256  # of a field that is combined with others, so that two of them stay within the outcomes
_FEWEST_QUANTILES: Final = 8  # fewer would hide a tail
_MOST_QUANTILES: Final = 128  # more would leave too few runs in each
_RUNS_A_QUANTILE: Final = 50  # so that a share of it errs by 14 %
_MOST_ANSWERS: Final = 512  # that are weighed together: weights take the cube of their number
_MOST_COMPARED: Final = 20_000  # runs by which columns are ranked: more cost time and change few ranks
_N_TELLING: Final = 3  # of the answers that tell most are looked at alone; each costs a look at every run
_LARGEST: Final = 1e100
"""Stands for infinity; its square and sums of it are still numbers."""


@dataclass(frozen=True, slots=True)
class Wholes:
    """Every different output is an outcome."""

    name: str = "the whole output"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        known = np.unique(_keys(np.asarray(observed)))

        def reduce(outputs: Any) -> IntArray:
            keys = _keys(np.asarray(outputs))
            at = np.minimum(np.searchsorted(known, keys), known.size - 1)
            return np.where(known[at] == keys, at, -1)

        return reduce


@dataclass(frozen=True, slots=True)
class Fields:
    """The ``n_fields`` columns whose values differ most between the two inputs, taken together."""

    n_fields: int

    @property
    def name(self) -> str:
        return "the field that tells most" if self.n_fields == 1 else f"the {self.n_fields} fields that tell most"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        columns = _columns(np.asarray(observed))
        chosen: list[tuple[int, NDArray[Any]]] = []
        n_outcomes = 1
        for column in tells_most(columns, coins)[: self.n_fields]:
            values = np.unique(columns[:, column])
            if values.size <= _MOST_VALUES and n_outcomes * (values.size + 1) <= _MOST_OUTCOMES:
                chosen.append((column, values))
                n_outcomes *= values.size + 1

        def reduce(outputs: Any) -> IntArray:
            table = _columns(np.asarray(outputs))
            code = np.zeros(len(table), np.int64)
            for column, values in chosen:
                at = np.minimum(np.searchsorted(values, table[:, column]), values.size - 1)
                code = code * (values.size + 1) + np.where(values[at] == table[:, column], at, values.size)
            return code

        return reduce


@dataclass(frozen=True, slots=True)
class Telling:
    """The answer that differs most between the two inputs, or the next after it: ``rank`` 0, 1, ..."""

    rank: int

    @property
    def name(self) -> str:
        return "the answer that tells most" if self.rank == 0 else f"the answer that tells most but {self.rank}"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = as_numbers(observed)
        column = gap_order(answers, coins)[min(self.rank, answers.shape[1] - 1)]
        return by_quantiles(lambda outputs: as_numbers(outputs)[:, column], observed)


@dataclass(frozen=True, slots=True)
class LaplaceLikelihood:
    """A view: the likelihood ratio of answers, with the unit against without, if each had its own Laplace noise."""

    name: str = "the likelihood of Laplace noise in all answers"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = finite(as_numbers(observed))
        gap, error = mean_gaps(answers, coins)
        kept = np.flatnonzero(np.abs(gap) > 4 * error)
        center = np.median(answers[~coins], axis=0) if (~coins).any() else answers[0]
        scale = np.abs(answers - np.where(coins[:, None], center + gap, center)).mean(axis=0)  # of Laplace noise

        def likelihood(outputs: Any) -> FloatArray:
            off = finite(as_numbers(outputs)[:, kept]) - center[kept]
            # an answer without noise tells all: guards the division
            terms = (np.abs(off) - np.abs(off - gap[kept])) / np.maximum(scale[kept], 1e-9 * np.abs(gap[kept]))
            return np.asarray(terms.sum(axis=1), np.float64)

        return by_quantiles(likelihood, observed)


@dataclass(frozen=True, slots=True)
class Discriminant:
    """The weighted sum of all answers that separates the two inputs best, as it is learned from outputs."""

    name: str = "a weighted sum of all answers"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = finite(as_numbers(observed))
        n_kept = min(answers.shape[1], _MOST_ANSWERS, max(1, len(answers) // 10))
        heads, tails = (answers[side].mean(axis=0) if side.any() else answers[0] for side in (coins, ~coins))
        gap, sd = heads - tails, answers.std(axis=0)
        telling = np.abs(gap) / np.maximum(sd, 1e-9 * (1 + np.abs(gap)))  # some answers have no noise
        kept = np.sort(np.argsort(-telling, kind="stable")[:n_kept])
        centered = (answers - np.where(coins[:, None], heads, tails))[:, kept]
        covariance = centered.T @ centered / len(centered)
        # keeps answers that say the same from a singular system: a millionth of the mean variance
        ridge = 1e-6 * float(np.trace(covariance)) / n_kept + 1e-12
        weights = np.linalg.solve(covariance + ridge * np.eye(n_kept), gap[kept])
        return by_quantiles(lambda outputs: finite(as_numbers(outputs)[:, kept]) @ weights, observed)


def by_quantiles(statistic: Callable[[Any], FloatArray], observed: Any) -> Callable[[Any], IntArray]:
    """Reduce a number to the quantile of the learning runs that it falls in.

    A number at which a quantile lies is an outcome of its own, and so is what is no number.
    """
    seen = statistic(observed)
    n_quantiles = int(np.clip(len(seen) // _RUNS_A_QUANTILE, _FEWEST_QUANTILES, _MOST_QUANTILES))
    levels = np.linspace(0, 1, n_quantiles + 1)[1:-1]
    known = seen[np.isfinite(seen)]
    edges = np.unique(np.quantile(known, levels, method="lower")) if known.size else known

    def reduce(outputs: Any) -> IntArray:
        numbers = statistic(outputs)
        place = np.searchsorted(edges, numbers, side="left") + np.searchsorted(edges, numbers, side="right")
        odd = 1 + np.isposinf(numbers) + 2 * np.isnan(numbers)
        return np.where(np.isfinite(numbers), place, 2 * edges.size + odd).astype(np.int64)

    return reduce


def views_of_answers() -> list[View]:
    """Return the views that make sense of noisy numbers."""
    return [*(Telling(rank) for rank in range(_N_TELLING)), Discriminant(), LaplaceLikelihood()]


def views_of(observed: Any) -> list[View]:
    """Return the views that make sense of outputs like these."""
    table = np.asarray(observed)
    columns = _columns(table)
    views: list[View] = [Wholes()]
    views += [Fields(n) for n in (1, 2, 4, 8) if n <= columns.shape[1] and columns.shape[1] > 1]
    is_spread = table.dtype.kind in "iu" and table.dtype != np.uint8 and np.ptp(columns, axis=0).max(initial=0) > 32
    return views + views_of_answers() if table.dtype.kind == "f" or is_spread else views


def _keys(table: NDArray[Any]) -> NDArray[Any]:
    """Return a key for each output, equal where outputs are."""
    if table.ndim == 1 and table.dtype.kind in "biuUmM":
        return table
    rows = np.ascontiguousarray(table.reshape(len(table), -1))
    if rows.dtype.kind in "US":
        rows = np.char.add(rows, "\x1f")  # so that no two rows run into one
        joined = rows[:, 0]
        for column in range(1, rows.shape[1]):
            joined = np.char.add(joined, rows[:, column])
        return joined
    # bytes of one width: zeros at the end are cut off from all alike
    return rows.view(f"S{rows.dtype.itemsize * rows.shape[1]}").reshape(-1)


def _columns(table: NDArray[Any]) -> NDArray[Any]:
    """Return outputs as columns; packed bytes as bits."""
    if table.ndim == 1:
        return table[:, None]
    rows = table.reshape(len(table), -1)
    return np.unpackbits(rows, axis=1, bitorder="little") if rows.dtype == np.uint8 else rows


def as_numbers(outputs: Any) -> FloatArray:
    table = np.asarray(outputs, np.float64)
    return table.reshape(len(table), -1)


def finite(table: FloatArray) -> FloatArray:
    """Return the same with infinity as a large number, and with 0 for what is no number."""
    return np.clip(np.nan_to_num(table, nan=0.0), -_LARGEST, _LARGEST)


def gap_order(answers: FloatArray, coins: BoolArray) -> list[int]:
    """Return answers by how surely they differ between the two inputs: in the mean, or in being no number."""
    gap, error = mean_gaps(finite(answers), coins)
    odd_gap, odd_error = mean_gaps((~np.isfinite(answers)).astype(np.float64), coins)
    surely = np.maximum(np.abs(gap) / error, np.abs(odd_gap) / odd_error)
    return [int(column) for column in np.argsort(-surely, kind="stable")]


def mean_gaps(answers: FloatArray, coins: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the difference of every answer's mean between the two inputs, and its standard error."""
    n_heads, n_tails = int(coins.sum()), int((~coins).sum())
    if not (n_heads and n_tails):
        return np.zeros(answers.shape[1]), np.ones(answers.shape[1])
    heads, tails = answers[coins], answers[~coins]
    error = np.sqrt(heads.var(axis=0) / n_heads + tails.var(axis=0) / n_tails)
    gap = heads.mean(axis=0) - tails.mean(axis=0)
    return gap, np.maximum(error, 1e-9 * (1 + np.abs(gap)))  # never zero: some answers have no noise


def tells_most(columns: NDArray[Any], coins: BoolArray) -> list[int]:
    """Return columns in the order of how much their values differ between the two inputs."""
    columns, coins = columns[:_MOST_COMPARED], coins[:_MOST_COMPARED]
    n_heads, n_tails = max(1, int(coins.sum())), max(1, int((~coins).sum()))
    if columns.dtype.kind in "biu" and columns.size and columns.max() <= 1 and columns.min() >= 0:
        differ = np.abs(columns[coins].sum(axis=0) / n_heads - columns[~coins].sum(axis=0) / n_tails)
        return [int(column) for column in np.argsort(-differ, kind="stable")]
    scores = []
    for column in range(columns.shape[1]):
        values, number = np.unique(columns[:, column], return_inverse=True)
        heads = np.bincount(number[coins], minlength=values.size) / n_heads
        tails = np.bincount(number[~coins], minlength=values.size) / n_tails
        by_chance = np.sqrt(values.size / len(columns))
        scores.append(float(np.abs(heads - tails).sum() / 2 - by_chance))
    return sorted(range(len(scores)), key=lambda column: -scores[column])


Reports = NDArray[np.uint8]

_REPORTS_AT_ONCE: Final = 1 << 22  # statistics at once: 32 MiB
_LARGEST_TABLE: Final = 1 << 16  # hash functions whose values are tabled: 512 KiB


@dataclass(frozen=True, slots=True)
class Supports:
    """Whether a report supports each of two cells: four outcomes, for each level of a tree or table."""

    randomizer: LocalRandomizer
    first: int
    second: int

    @property
    def name(self) -> str:
        return "which of the two a report supports"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return lambda reports: outcomes(self.randomizer, np.asarray(reports, np.uint8), self.first, self.second)


def has_supports(randomizer: LocalRandomizer) -> bool:
    """Return whether a randomizer's reports support cells, as a plug-in's need not."""
    return isinstance(randomizer, SampledLevels) or hasattr(type(randomizer), "distribution")


def outcomes(randomizer: LocalRandomizer, reports: Reports, first: int, second: int) -> IntArray:
    """Return what reports say of two cells, as one whole number each.

    >>> from tacit.randomness import SeededRandomness
    >>> response = RandomizedResponse.from_epsilon(epsilon=2.0, n_cells=5)
    >>> reports = response.randomize(np.arange(5), randomness=SeededRandomness(4))
    >>> reports[:, 0].tolist(), outcomes(response, reports, 3, 4).tolist()
    ([0, 1, 3, 4, 3], [0, 0, 2, 1, 2])
    """
    if isinstance(randomizer, SampledLevels):
        return _level_outcomes(randomizer, reports, first, second)
    if isinstance(randomizer, LongitudinalRappor):
        own, others = telling_bits(randomizer, first, second)
        return n_set(reports, own) * (randomizer.hashes + 1) + n_set(reports, others)
    supported = support_of(randomizer)
    return 2 * supported(reports, first).astype(np.int64) + supported(reports, second)


def support_of(randomizer: LocalRandomizer) -> Callable[[Reports, int], BoolArray]:
    """Return a function that says which reports support a cell."""
    if isinstance(randomizer, UnaryEncoding | SubsetSelection):
        return _is_set
    if isinstance(randomizer, RandomizedResponse):
        return lambda reports, cell: _numbers(reports) == cell
    if isinstance(randomizer, HadamardResponse):
        return lambda reports, cell: ~_parity(_numbers(reports) & np.uint64(cell + 1))
    if isinstance(randomizer, LongitudinalHashing):
        return support_of(randomizer.permanent)
    if isinstance(randomizer, LocalHashing):
        return lambda reports, cell: _is_hashed(randomizer, reports, cell)
    return lambda reports, cell: _is_counted(randomizer, reports, cell)


def _is_set(reports: Reports, cell: int) -> BoolArray:
    return (reports[:, cell >> 3] >> np.uint8(cell & 7) & np.uint8(1)).astype(bool)


def _numbers(reports: Reports) -> NDArray[np.uint64]:
    """Return reports of up to eight bytes as little-endian numbers."""
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
    """Return whether each report supports a cell, as the randomizer counts it; its statistics must be supports."""
    n_at_once = max(1, _REPORTS_AT_ONCE // randomizer.n_statistics)
    parts = [reports[first : first + n_at_once] for first in range(0, len(reports), n_at_once)]
    counted = [randomizer.statistics(part, np.ones(len(part), np.int64))[:, cell] > 0 for part in parts]
    return np.concatenate(counted) if counted else np.zeros(0, bool)


def telling_bits(rappor: LongitudinalRappor, first: int, second: int) -> tuple[list[int], list[int]]:
    """Return the bits that the one cell sets and the other does not, for both.

    >>> telling_bits(LongitudinalRappor.from_epsilon(epsilon=1.0, n_cells=5), 1, 4)
    ([1], [4])
    """
    if rappor.n_bits is None:
        return [first], [second]
    rows = bloom_positions(rappor.n_cells, rappor.n_bits, rappor.hashes)[[first, second]].tolist()
    return sorted(set(rows[0]) - set(rows[1])), sorted(set(rows[1]) - set(rows[0]))


def telling_counts(mechanism: RepeatedRandomizer, first: int, second: int) -> Callable[[Reports], IntArray]:
    """Return a function that says how much each report supports the one cell and the other: two columns.

    For longitudinal RAPPOR these are the numbers of telling bits that are set, for hashing 0 or 1.
    """
    if isinstance(mechanism, LongitudinalRappor):
        own, others = telling_bits(mechanism, first, second)
        return lambda reports: np.stack([n_set(reports, own), n_set(reports, others)], axis=1)
    supported = support_of(mechanism)
    return lambda reports: np.stack([supported(reports, cell) for cell in (first, second)], axis=1).astype(np.int64)


def n_set(reports: Reports, bits: Sequence[int]) -> IntArray:
    """Return the number of these bits that are set in each report."""
    total = np.zeros(len(reports), np.int64)
    for bit in bits:
        total += _is_set(reports, bit)
    return total


def _level_outcomes(histogram: SampledLevels[Any], reports: Reports, first: int, second: int) -> IntArray:
    levels = reports[:, 0].astype(np.int64)
    code = 4 * levels
    for level, oracle in enumerate(histogram.oracles, 1):
        nodes = histogram.hierarchy.nodes_of(np.array([first, second]), level).tolist()
        if nodes[0] != nodes[1]:
            chosen = np.flatnonzero(levels == level)
            payloads = np.ascontiguousarray(reports[chosen, 1 : 1 + oracle.report_bytes])
            code[chosen] += outcomes(oracle, payloads, nodes[0], nodes[1])
    return code
