"""Apache Spark as an engine: counting, randomizing and tallying where the rows are, with the results of one machine.

Counting is a map and a sum. Each task makes batches of rows into exact counts, digests of days and an account of bad
rows; here they are added (:class:`tacit.events.passes.Pass`). What comes here are cells, never events.

Reports are drawn from the counts, in ranges of report numbers that cover whole public bins. A task gets the counts and
the keys of its own blocks and no others. Whichever task runs, and how often, report j is the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from operator import add
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tacit.collection.curating import EVENT, CountedEvents, count_events
from tacit.collection.randomizing import Randomized, randomize_events
from tacit.collection.wire.cell_counts import BLOCK_REPORTS, CellCounts, block_keys, blocks_of
from tacit.collection.wire.reports import gathered
from tacit.collection.wire.spool import ROWS_IN_MEMORY, Spool, sorting_order
from tacit.domain import Domain
from tacit.engines.failures import speaking
from tacit.engines.frames import FrameSource, SparkSource
from tacit.engines.tasks import (
    COUNTED,
    PERSON_SCHEMA,
    SCHEMA,
    Order,
    count_persons,
    expand,
    send_persons,
    take_rows,
    unpacked,
)
from tacit.errors import Remedy, SettingError
from tacit.events import EventColumns, Events, ReadOptions, open_events
from tacit.events.contribution_bound import BoundedCount
from tacit.events.counts import CountKeeper
from tacit.events.passes import Added, Pass, TableReader
from tacit.events.sources import Source
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

ORDER_REPORTS: Final = 16 * BLOCK_REPORTS
"""Reports of an order, about a million, a second of work. Halved, twice the orders, and more blocks that are cut in
two; doubled, a lost task loses twice the work."""
WAVE_BYTES: Final = 1 << 27
"""Reports that are on their way here at a time, in bytes; twice that is held. Halved, tasks wait more often for the
last one; doubled, twice the memory of the driver."""

Drawn = tuple[Order, NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs passes over rows, and draws reports, on a session of Spark."""

    session: SparkSession

    def open(
        self, source: SparkSource, *, columns: EventColumns, domain: Domain, options: ReadOptions | None = None
    ) -> Events:
        """Open a source of Spark as events; no row is read yet."""
        if options is not None and options.bad_rows is not None:
            raise SettingError(
                "a list of all bad rows is made on one machine alone. Leave bad_rows out: the first rows of each "
                "reason are named in any case."
            )
        return open_events(source, columns=columns, domain=domain, options=options, engine=self)

    def run(self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[Added]) -> Pass[Added]:
        """Return ``start``, which is empty, with all rows of the source taken in."""
        assert isinstance(source, SparkSource)
        if isinstance(start.total, CountKeeper) and start.total.domain.time.n_bins is None:
            raise SettingError(
                "the time axis must have an end where Spark counts every cell; got none.", remedy=Remedy.GIVE_LAST_DAY
            )
        shared = {"domain": reader.domain, "plan": getattr(start.total, "plan", None)}
        task = partial(take_rows, tables=source.tables(positions), reader=reader, start=start)
        with speaking(self.session, reader.name):
            rows = source.chosen(positions).mapInArrow(task, SCHEMA).collect()
        parts: list[Pass[Added]] = [unpacked(bytes(row.payload), shared) for row in sorted(rows, key=_number)]
        # the first part begins with the row that the source says
        return reduce(add, parts, replace(start, n_records=source.first_row))

    def run_bounded(
        self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[BoundedCount]
    ) -> Pass[BoundedCount]:
        """Return the same where what a person adds is bounded: rows of a person in a window meet by their keyed hash.

        The rows that meet are hashes and cells, never persons; what is counted of them does not depend on which task
        has them.
        """
        assert isinstance(source, SparkSource)
        send = partial(send_persons, tables=source.tables(positions), reader=reader, start=start)
        counting = partial(count_persons, start=start.total)
        with speaking(self.session, reader.name):
            sent = source.chosen(positions).mapInArrow(send, PERSON_SCHEMA)
            rows = sent.repartition("first").mapInArrow(counting, SCHEMA).collect()
        shared = {"domain": reader.domain}
        results = [(row.part, unpacked(bytes(row.payload), shared)) for row in sorted(rows, key=_number)]
        done = reduce(
            add, (one for part, one in results if part != COUNTED), replace(start, n_records=source.first_row)
        )
        return replace(done, total=reduce(add, (one for part, one in results if part == COUNTED), done.total))

    def pieces(
        self, mechanism: LocalRandomizer, counts: CellCounts, key: bytes, beside: Path
    ) -> Iterator[NDArray[np.uint8]]:
        """Draw a report for every event counted, and give them sorted by bin and report, piece by piece.

        A bin of more than a few orders is drawn by several tasks and sorted here, in memory or through enciphered files
        beside the output.
        """
        with closing(self._drawn(mechanism, _orders(counts, key))) as drawn:
            for order, reports in drawn:
                if order.is_whole:
                    yield reports
                else:
                    yield from _sorted_here(chain([(order, reports)], drawn), order, reports.shape[1], beside)

    def _drawn(self, mechanism: LocalRandomizer, orders: Iterator[Order]) -> Generator[Drawn, None, None]:
        """The orders and their reports; the next ones are drawn while these are written."""
        per_wave = max(1, WAVE_BYTES // (ORDER_REPORTS * mechanism.report_bytes))
        with ThreadPoolExecutor(1, thread_name_prefix="tacit-spark") as pool:
            wave = list(islice(orders, per_wave))
            coming = pool.submit(self._wave, mechanism, wave)
            while wave:
                drawn, reports = wave, coming.result()
                if wave := list(islice(orders, per_wave)):
                    coming = pool.submit(self._wave, mechanism, wave)
                yield from zip(drawn, reports, strict=True)

    def _wave(self, mechanism: LocalRandomizer, orders: Sequence[Order]) -> list[NDArray[np.uint8]]:
        if not orders:
            return []
        packed = [(number, bytearray(pickle.dumps(order))) for number, order in enumerate(orders)]
        with speaking(self.session, "the counts"):
            asked = self.session.sparkContext.parallelize(packed, len(packed))
            frame = self.session.createDataFrame(asked, SCHEMA)
            rows = sorted(frame.mapInArrow(partial(expand, mechanism=mechanism), SCHEMA).collect(), key=_number)
        return [np.frombuffer(bytes(row.payload), np.uint8).reshape(-1, mechanism.report_bytes) for row in rows]


def _orders(counts: CellCounts, key: bytes) -> Iterator[Order]:
    """Orders of whole bins, or of parts of a bin that is larger than an order."""
    start = 0
    for bins, run_lengths in gathered(*counts.bins()):
        stop = start + int(run_lengths.sum())
        cuts = range(start, stop, ORDER_REPORTS if len(bins) == 1 else stop - start)
        for first in cuts:
            last = min(first + cuts.step, stop)
            blocks = blocks_of(range(first, last))
            begin, end = blocks.start * BLOCK_REPORTS, min(blocks.stop * BLOCK_REPORTS, counts.n_events)
            yield Order(
                reports=range(first, last),
                first=begin,
                counts=counts.between(begin, end),
                keys=block_keys(key, blocks),
                bins=bins,
                run_lengths=run_lengths if len(cuts) == 1 else np.array([last - first]),
                n_in_bins=stop - start,
            )
        start = stop


def _sorted_here(drawn: Iterator[Drawn], first: Order, n_bytes: int, beside: Path) -> Iterator[NDArray[np.uint8]]:
    """The reports of one large bin that several tasks drew, sorted as a whole; no more is taken of ``drawn``."""

    def of_this_bin() -> Iterator[NDArray[np.uint8]]:
        left = first.n_in_bins
        while left:
            _, reports = next(drawn)
            left -= len(reports)
            yield reports

    if first.n_in_bins <= ROWS_IN_MEMORY:
        whole = np.concatenate(list(of_this_bin()))
        yield whole[sorting_order(np.zeros(len(whole), np.int64), whole)]
        return
    with Spool(beside, n_bytes) as spool:
        for reports in of_this_bin():
            spool.add(np.repeat(first.bins, len(reports)), reports)
        yield from spool.sorted_reports()


def _number(row: Any) -> int:
    return int(row.part)


def count(
    frame: DataFrame,
    domain: Domain,
    *,
    columns: EventColumns,
    key: bytes,
    options: ReadOptions | None = None,
    data_set: str = "",
    unit: Unit = EVENT,
) -> CountedEvents:
    """Count the events of a frame of Spark exactly, as :func:`tacit.collection.curating.count_events` does here."""
    engine = SparkEngine(frame.sparkSession)
    events = engine.open(FrameSource(frame, options), columns=columns, domain=domain, options=options)
    return count_events(events, key=key, data_set=data_set, unit=unit)


def randomize(
    frame: DataFrame,
    plan: Plan,
    path: str | Path,
    *,
    columns: EventColumns,
    ledger: Ledger | None,
    data_set: str,
    options: ReadOptions | None = None,
    seed: int | None = None,
    again: bool = False,
    overwrite: bool = True,
) -> Randomized:
    """Write one report for every event of a frame, after the ledger has agreed to pay for them.

    The file is that of :func:`tacit.collection.randomizing.randomize_events` under the same key, byte for byte, and an
    interrupted run is taken up by the same call, here or there.
    """
    engine = SparkEngine(frame.sparkSession)
    events = engine.open(FrameSource(frame, options), columns=columns, domain=plan.domain, options=options)
    return randomize_events(
        events,
        plan,
        path,
        ledger=ledger,
        data_set=data_set,
        seed=seed,
        again=again,
        overwrite=overwrite,
        pieces=engine.pieces,
    )
