"""Apache Spark as an engine: counting, randomizing and tallying where the rows are, with the results of one machine.

Counting is a map and a sum. Each task makes batches of rows into exact counts, digests of days and an account of bad
rows (:class:`tacit.events.passes.Pass`). Tasks add those of many parts up, the driver the last few. What comes here are
cells, never events. Reports are drawn from the counts (:mod:`tacit.engines.drawing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from tacit.collection.curating import EVENT, CountedEvents, count_events
from tacit.collection.randomizing import Randomized, randomize_events
from tacit.collection.wire.cell_counts import CellCounts
from tacit.collection.wire.randomizing_writer import OneFile, Output
from tacit.domain import Domain
from tacit.engines.drawing import Drawing
from tacit.engines.frames import FrameSource, SparkSource
from tacit.engines.parts import Parts
from tacit.engines.session import speaking
from tacit.engines.tasks import PERSON_SCHEMA, SCHEMA, count_persons, results_of, send_persons, take_rows
from tacit.events import EventColumns, Events, ReadOptions, open_events
from tacit.events.contribution_bound import BoundedCount
from tacit.events.counts import CountKeeper
from tacit.events.passes import Added, Pass, TableReader
from tacit.events.sources import Source
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs passes over rows, and draws reports, on a session of Spark."""

    session: SparkSession

    def open(
        self, source: SparkSource, *, columns: EventColumns, domain: Domain, options: ReadOptions | None = None
    ) -> Events:
        """Open a source of Spark as events; no row is read yet."""
        return open_events(source, columns=columns, domain=domain, options=options, engine=self)

    def run(self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[Added]) -> Pass[Added]:
        """Return ``start``, which is empty, with all rows of the source taken in."""
        assert isinstance(source, SparkSource)
        if isinstance(start.total, CountKeeper):
            start.total.names_rows = False
        shared = {"domain": reader.domain, "plan": getattr(start.total, "plan", None)}
        task = partial(take_rows, tables=source.tables(positions), reader=reader, start=start)
        with speaking(self.session, reader.name):
            results = results_of(source.chosen(positions).mapInArrow(task, SCHEMA), shared)
        # the first part begins with the row that the source says
        return reduce(add, (one for _, one in results), replace(start, n_records=source.first_row))

    def run_bounded(
        self, source: Source, positions: Sequence[int], reader: TableReader, start: Pass[BoundedCount]
    ) -> Pass[BoundedCount]:
        """Return the same where what a person adds is bounded: rows of a person in a window meet by their keyed hash.

        The rows that meet are hashes and cells, never persons; what is counted of them does not depend on which task
        has them.
        """
        assert isinstance(source, SparkSource)
        start.total.keeper.names_rows = False
        send = partial(send_persons, tables=source.tables(positions), reader=reader, start=start)
        counting = partial(count_persons, start=start.total)
        with speaking(self.session, reader.name):
            sent = source.chosen(positions).mapInArrow(send, PERSON_SCHEMA)
            counted = sent.repartition("first").mapInArrow(counting, SCHEMA)
            # one round in any case: how many parts the source has is not known here
            results = results_of(counted, {"domain": reader.domain}, n_rounds=1)
        done = reduce(add, (one for part, one in results if part >= 0), replace(start, n_records=source.first_row))
        return replace(done, total=reduce(add, (one for part, one in results if part < 0), done.total))

    def pieces(
        self, mechanism: LocalRandomizer, counts: CellCounts, key: bytes, beside: Path
    ) -> Iterator[NDArray[np.uint8]]:
        """Draw a report for every event counted, and give them sorted by bin and report, piece by piece."""
        return Drawing(self.session, mechanism).pieces(counts, key)

    def output(self, *, in_parts: bool = False) -> Output:
        """Return where reports are written: to one file by the driver, or to a folder by tasks."""
        return Parts(self.session) if in_parts else OneFile(self.pieces)


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
    in_parts: bool = False,
) -> Randomized:
    """Write one report for every event of a frame, after the ledger has agreed to pay for them.

    The file is that of :func:`tacit.collection.randomizing.randomize_events` under the same key, byte for byte, and an
    interrupted run is taken up by the same call, here or there. ``in_parts`` makes it a folder of report files, which
    tasks write: it must lie where all machines find it under the same path.
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
        output=engine.output(in_parts=in_parts),
    )
