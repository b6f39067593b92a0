"""Ways to look at outputs of which nothing is known: as wholes, by their most telling fields, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.games import BoolArray, FloatArray, IntArray, View

_MOST_OUTCOMES: Final = 1 << 16
_MOST_VALUES: Final = 256
_FEWEST_QUANTILES: Final = 8
_MOST_QUANTILES: Final = 128
_RUNS_A_QUANTILE: Final = 50
_MOST_ANSWERS: Final = 512
_MOST_COMPARED: Final = 20_000


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
class Number:
    """One column of numbers, cut at quantiles."""

    column: int

    @property
    def name(self) -> str:
        return f"answer {self.column + 1}"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return by_quantiles(lambda outputs: as_numbers(outputs)[:, self.column], observed)


@dataclass(frozen=True, slots=True)
class Discriminant:
    """The weighted sum of all answers that separates the two inputs best, as it is learned from outputs."""

    name: str = "a weighted sum of all answers"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = as_numbers(observed)
        n_kept = min(answers.shape[1], _MOST_ANSWERS, max(1, len(answers) // 10))
        heads, tails = (answers[side].mean(axis=0) if side.any() else answers[0] for side in (coins, ~coins))
        gap, spread = heads - tails, answers.std(axis=0)
        telling = np.abs(gap) / np.maximum(spread, 1e-9 * (1 + np.abs(gap)))  # some answers have no noise
        kept = np.sort(np.argsort(-telling, kind="stable")[:n_kept])
        centered = (answers - np.where(coins[:, None], heads, tails))[:, kept]
        covariance = centered.T @ centered / len(centered)
        ridge = 1e-6 * float(np.trace(covariance)) / n_kept + 1e-12
        weights = np.linalg.solve(covariance + ridge * np.eye(n_kept), gap[kept])
        return by_quantiles(lambda outputs: as_numbers(outputs)[:, kept] @ weights, observed)


def by_quantiles(statistic: Callable[[Any], FloatArray], observed: Any) -> Callable[[Any], IntArray]:
    """Reduce a number to the quantile of the learning runs that it falls in."""
    seen = statistic(observed)
    n_quantiles = int(np.clip(len(seen) // _RUNS_A_QUANTILE, _FEWEST_QUANTILES, _MOST_QUANTILES))
    edges = np.unique(np.quantile(seen, np.linspace(0, 1, n_quantiles + 1)[1:-1]))

    def reduce(outputs: Any) -> IntArray:
        return np.searchsorted(edges, statistic(outputs), side="left").astype(np.int64)

    return reduce


def views_of(observed: Any) -> list[View]:
    """The views that make sense of outputs like these."""
    table = np.asarray(observed)
    n_columns = _columns(table).shape[1]
    views: list[View] = [Wholes()]
    views += [Fields(n) for n in (1, 2, 4, 8) if n <= n_columns and n_columns > 1]
    if table.dtype.kind == "f":
        views += [Number(column) for column in range(min(n_columns, 4))]
    return views


def _keys(table: NDArray[Any]) -> NDArray[Any]:
    """A key for each output, equal where outputs are."""
    if table.ndim == 1:
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
    """Outputs as columns; packed bytes as bits."""
    if table.ndim == 1:
        return table[:, None]
    rows = table.reshape(len(table), -1)
    return np.unpackbits(rows, axis=1, bitorder="little") if rows.dtype == np.uint8 else rows


def as_numbers(outputs: Any) -> FloatArray:
    table = np.asarray(outputs, np.float64)
    return table.reshape(len(table), -1)


def tells_most(columns: NDArray[Any], coins: BoolArray) -> list[int]:
    """Columns in the order of how much their values differ between the two inputs."""
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
