"""Report files counted by Spark: every task counts a piece of a file, and one task a file sees that it is whole.

The files must lie where every executor finds them under the same path.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from tacit.collection.poisoning import Run, runs_of
from tacit.collection.tallying import called_damaged_first, open_reports
from tacit.collection.wire import ReportFile
from tacit.counts.tally import Tally
from tacit.engines.session import speaking
from tacit.engines.tasks import SCHEMA, Batches, packed, unpacked
from tacit.errors import FormatError, TacitError
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan

_WHOLE: Final = -1  # in place of a first report: see that the file is whole


def tally(session: SparkSession, paths: Iterable[str | Path], plan: Plan) -> Tally:
    """Count the reports of all files; where one is damaged or does not fit, none counts."""
    total = Tally.zero(plan.fingerprint, mechanism_of(plan).n_statistics)
    for counted, _ in tallies_and_runs(session, paths, plan):
        total += counted
    return total


def tallies_and_runs(
    session: SparkSession,
    paths: Iterable[str | Path],
    plan: Plan,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[Tally, list[Run]]]:
    """Yield the tally of each file with its runs, as :func:`tacit.collection.poisoning.tallies_and_runs` does here.

    All files are counted and checked before the first tally is given.
    """
    mechanism = mechanism_of(plan)
    files = open_reports(paths, plan, mechanism.report_bytes)
    asked = [(number, start) for number, file in enumerate(files) for start in (_WHOLE, *file.starts())]
    orders = [
        (at, bytearray(pickle.dumps((files[number].path.absolute(), files[number].checksum, start))))
        for at, (number, start) in enumerate(asked)
    ]
    counted: dict[int, list[Any]] = {number: [] for number in range(len(files))}
    if orders:
        with speaking(session, "the report files"):
            frame = session.createDataFrame(session.sparkContext.parallelize(orders, len(orders)), SCHEMA)
            rows = frame.mapInArrow(partial(count_pieces, plan=plan), SCHEMA).collect()
        for row in sorted(rows, key=lambda row: int(row.part)):
            counted[asked[row.part][0]].append(unpacked(bytes(row.payload), {}))
    done, n_reports = 0, sum(file.n_reports for file in files)
    for number, file in enumerate(files):
        yield _added_up(file, [one for one in counted[number] if one is not None], mechanism)
        done += file.n_reports
        if progress is not None:
            progress(done, n_reports)


def count_pieces(batches: Batches, *, plan: Plan) -> Batches:
    """Count the pieces that are asked for; runs on the executors."""
    mechanism = mechanism_of(plan)
    for batch in batches:
        for part, order in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            try:
                path, checksum, start = pickle.loads(order)
                result: object = _counted(path, checksum, start, mechanism)
            except TacitError as refusal:
                result = refusal
            yield pa.record_batch({"part": [part], "payload": [packed(result)]})


def _counted(path: Path, checksum: bytes, start: int, mechanism: LocalRandomizer) -> object:
    file = ReportFile.open(path, check=False)
    if file.checksum != checksum:
        raise FormatError(f"{path} is another file on the executors. Put the same files where all of them find them.")
    if start == _WHOLE:
        file.check()
        return None
    with called_damaged_first(file):
        bins, run_lengths, rows = file.piece(start)
        return bins, mechanism.statistics(rows, run_lengths), run_lengths, runs_of(bins, run_lengths, rows)


def _added_up(file: ReportFile, pieces: Iterable[Any], mechanism: LocalRandomizer) -> tuple[Tally, list[Run]]:
    n_bins = int(file.bins[-1]) + 1 if len(file.bins) else 0
    statistics, reports = np.zeros((n_bins, mechanism.n_statistics), np.int64), np.zeros(n_bins, np.int64)
    runs: list[Run] = []
    for bins, counted, run_lengths, found in pieces:
        statistics[bins] += counted
        reports[bins] += run_lengths
        runs += found
    return Tally(file.provenance, statistics, reports), runs
