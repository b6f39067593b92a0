"""Reports drawn from counts by tasks: ranges of report numbers that cover whole public bins, sorted by report.

An order has the counts and the keys of its own blocks and no others. Whichever task runs it, and how often, report j is
the same. A bin larger than an order is drawn by several tasks; its reports then meet by ranges of their value, and
other tasks sort these. Where the ranges begin follows from the mechanism alone, and nothing that is written shows it.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, islice
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import SparkSession

from tacit.collection.wire.cell_counts import BLOCK_REPORTS, CellCounts, block_keys, blocks_of, draw_reports
from tacit.collection.wire.randomizing_writer import gathered
from tacit.collection.wire.spool import report_keys, sorting_order
from tacit.engines.session import speaking
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.randomness.source import KeyedRandomness

ORDER_REPORTS: Final = 16 * BLOCK_REPORTS
"""Reports of an order, about a million, a second of work. Halved, twice the orders, and more blocks that are cut in
two; doubled, a lost task loses twice the work."""
WAVE_BYTES: Final = 1 << 27
"""Reports of a job at most, in bytes; three jobs are held. Halved, tasks of large clusters wait more often; doubled,
twice the memory of the driver."""
_ORDERS_A_CORE: Final = 2  # of a job, so that its end does not idle; doubled, twice the memory of a driver of few cores
_FEWEST_ORDERS: Final = 8  # of a job: a cluster that grows with its work must see some
_JOBS_AHEAD: Final = 2  # one ends while the next one has begun, so that no core idles; each more holds more memory
_SLICES_AN_ORDER: Final = 2  # as ranges of values are not equally full; doubled, twice the pieces that tasks exchange
_PIECE_REPORTS: Final = 1 << 22  # reports that are given at once, as those that are read at once
_TOP: Final = 8  # bytes of a report that decide its range of values: a machine word

Reports = NDArray[np.uint8]
Runs = tuple[Reports, NDArray[np.int64] | None]
"""Sorted reports, or distinct ones and how often each stands there: of few cells few reports differ."""


@dataclass(frozen=True, slots=True)
class Order:
    """Reports to draw: their numbers, the counts and keys of their blocks and no others, and the bins they stand in."""

    reports: range
    first: int
    counts: CellCounts
    keys: Mapping[int, bytes]
    bins: NDArray[np.int64]
    run_lengths: NDArray[np.int64]

    def draw(self, mechanism: LocalRandomizer) -> Reports:
        """Return the reports sorted by bin and report: no order of events is left in them."""
        reports = draw_reports(mechanism, self.keys, self.counts, self.reports, first=self.first)
        if TaskContext.get() is not None:
            _keep_loaded()
        return reports[sorting_order(np.repeat(self.bins, self.run_lengths), reports)]


@cache
def _keep_loaded() -> None:
    """Leave what a process has loaded out of later searches for garbage, of which Spark makes one after every task.

    Between two tasks of .3 s a process took .09 s of a processor, and .055 s with this.
    """
    gc.freeze()


def orders_of(counts: CellCounts, key: bytes) -> Iterator[list[Order]]:
    """Yield the orders of whole bins, one after the other; several together for a bin that is larger than an order."""
    start = 0
    for bins, run_lengths in gathered(*counts.bins()):
        stop = start + int(run_lengths.sum())
        step = ORDER_REPORTS if len(bins) == 1 else stop - start
        yield [
            _order(counts, key, range(first, min(first + step, stop)), bins, run_lengths)
            for first in range(start, stop, step)
        ]
        start = stop


def _order(
    counts: CellCounts, key: bytes, reports: range, bins: NDArray[np.int64], run_lengths: NDArray[np.int64]
) -> Order:
    blocks = blocks_of(reports)
    begin, end = blocks.start * BLOCK_REPORTS, min(blocks.stop * BLOCK_REPORTS, counts.n_events)
    return Order(
        reports=reports,
        first=begin,
        counts=counts.between(begin, end),
        keys=block_keys(key, blocks),
        bins=bins,
        run_lengths=np.array([len(reports)]) if len(bins) == 1 else run_lengths,
    )


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws the reports of a mechanism on a session of Spark."""

    session: SparkSession
    mechanism: LocalRandomizer

    def pieces(self, counts: CellCounts, key: bytes) -> Iterator[Reports]:
        """Draw a report for every event counted, and give them sorted by bin and report, piece by piece."""
        for is_large, some in groupby(orders_of(counts, key), key=_is_large):
            if is_large:
                for orders in some:
                    yield from self.bin(orders)
            else:
                with closing(self._whole(orders[0] for orders in some)) as drawn:
                    yield from drawn

    def _whole(self, orders: Iterator[Order]) -> Generator[Reports, None, None]:
        """The reports of orders of whole bins; the next ones are drawn while these are written."""
        per_wave = self._orders_a_job()

        def drawn(wave: list[Order]) -> list[Reports]:
            with speaking(self.session, "the counts"):
                rows = self._sent(wave).map(partial(expand, mechanism=self.mechanism)).collect()
            return [self._rows(row) for row in rows]

        return ahead(drawn, waves(orders, per_wave))

    def bin(self, orders: Sequence[Order]) -> Iterator[Reports]:
        """Draw and sort the reports of one large bin."""
        n_slices = _SLICES_AN_ORDER * len(orders)
        per_wave = _SLICES_AN_ORDER * self._orders_a_job()
        cut = partial(cut_up, mechanism=self.mechanism, splitters=splitters_of(self.mechanism, n_slices))
        # no order of events is left: rows meet by their value, and are sorted as a whole
        slices = self._sent(orders).flatMap(cut).partitionBy(n_slices, int).mapPartitions(join)

        def drawn(wave: list[int]) -> list[Runs]:
            with speaking(self.session, "the counts"):
                return list(self.session.sparkContext.runJob(slices, list, wave))

        with closing(ahead(drawn, waves(iter(range(n_slices)), per_wave))) as sorted_runs:
            for runs in sorted_runs:
                yield from spelled_out(runs)

    def _orders_a_job(self) -> int:
        for_all_cores = max(_FEWEST_ORDERS, _ORDERS_A_CORE * self.session.sparkContext.defaultParallelism)
        return max(1, min(for_all_cores, WAVE_BYTES // (ORDER_REPORTS * self.mechanism.report_bytes)))

    def _sent(self, orders: Sequence[Order]) -> Any:
        return self.session.sparkContext.parallelize([pickle.dumps(one) for one in orders], len(orders))

    def _rows(self, content: bytes) -> Reports:
        return np.frombuffer(content, np.uint8).reshape(-1, self.mechanism.report_bytes)


def _is_large(orders: list[Order]) -> bool:
    return len(orders) > 1


Item = TypeVar("Item")
Result = TypeVar("Result")


def waves(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items so many at a time.

    >>> list(waves(iter("abc"), 2))
    [['a', 'b'], ['c']]
    """
    while wave := list(islice(items, size)):
        yield wave


def ahead(work: Callable[[Item], Iterable[Result]], items: Iterator[Item]) -> Generator[Result, None, None]:
    """Yield the results of every item in order; the next items are worked on while these are used.

    >>> list(ahead(lambda item: [item, item], iter("abc")))
    ['a', 'a', 'b', 'b', 'c', 'c']
    """
    with ThreadPoolExecutor(_JOBS_AHEAD, thread_name_prefix="tacit-spark") as pool:
        coming = deque(pool.submit(work, item) for item in islice(items, _JOBS_AHEAD))
        while coming:
            results = coming.popleft().result()
            coming.extend(pool.submit(work, item) for item in islice(items, 1))
            yield from results


def splitters_of(mechanism: LocalRandomizer, n_slices: int) -> NDArray[np.uint64]:
    """Return the least values of all ranges but the first, for reports of the mechanism in general.

    They come from reports of made-up events, the same for all data: private cells in turn, with coins that are no
    secret. Ranges that real events fill unequally take longer, and give the same.
    """
    cells = np.arange(BLOCK_REPORTS) % mechanism.n_cells
    values = np.sort(_tops(mechanism.randomize(cells, randomness=KeyedRandomness(bytes(32)))))
    return np.unique(values[np.arange(1, n_slices) * len(values) // n_slices])


def expand(packed: bytes, *, mechanism: LocalRandomizer) -> bytes:
    """Give the reports of an order of whole bins; runs on the executors."""
    order: Order = pickle.loads(packed)
    return order.draw(mechanism).tobytes()


def cut_up(packed: bytes, *, mechanism: LocalRandomizer, splitters: NDArray[np.uint64]) -> Iterator[tuple[int, Runs]]:
    """Give the reports of a part of a bin, in ranges of values; runs on the executors."""
    order: Order = pickle.loads(packed)
    reports = order.draw(mechanism)
    ends = np.searchsorted(_tops(reports), splitters)
    for number, some in enumerate(np.split(reports, ends)):
        if len(some):
            yield number, _counted(some)


def join(pairs: Iterable[tuple[int, Runs]]) -> Iterator[Runs]:
    """Sort all reports of a range of values; runs on the executors."""
    runs = [run for _, run in pairs]
    if not runs:
        return
    rows = np.concatenate([one for one, _ in runs])
    order = sorting_order(np.zeros(len(rows), np.int64), rows)
    if all(numbers is None for _, numbers in runs):
        yield rows[order], None
        return
    numbers = np.concatenate([np.ones(len(one), np.int64) if n is None else n for one, n in runs])
    yield rows[order], numbers[order]


def spelled_out(runs: Runs) -> Iterator[Reports]:
    """Yield sorted reports, each as often as it stands there, in pieces that do not grow.

    >>> [piece.tolist() for piece in spelled_out((np.array([[1], [7]], np.uint8), np.array([2, 1])))]
    [[[1], [1], [7]]]
    """
    rows, numbers = runs
    if numbers is None:
        yield rows
        return
    ends = np.cumsum(numbers)
    for start in range(0, int(ends[-1]), _PIECE_REPORTS):
        stop = min(start + _PIECE_REPORTS, int(ends[-1]))
        upto = np.concatenate(([start], np.clip(ends, start, stop)))
        yield np.repeat(rows, upto[1:] - upto[:-1], axis=0)


def _counted(rows: Reports) -> Runs:
    """Sorted reports, with numbers where at most half of them differ."""
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    if 2 * len(starts) > len(rows):
        return rows, None
    return rows[starts], np.diff(np.append(starts, len(rows)))


def _tops(reports: Reports) -> NDArray[np.uint64]:
    """The most significant bytes of each report as a number, which ascends where reports do."""
    return report_keys(reports[:, -_TOP:])[:, 0]
