"""A tally that is kept while files of reports arrive: every file counts once, whatever is stopped and started again.

Spark may run a batch of files twice. What a batch adds, its number and its files are stored in one transaction, so that
a batch that was stored is known again. A copy of a file under another name is known by its checksum and not counted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from tacit.collection.wire import ReportFile
from tacit.counts.provenance import Provenance, check_plan
from tacit.counts.tally import Tally
from tacit.engines.failures import speaking
from tacit.engines.tallying import tally
from tacit.errors import FormatError, TacitError
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS tally (plan TEXT PRIMARY KEY, label TEXT, n_bins INTEGER, statistics BLOB, reports BLOB);
CREATE TABLE IF NOT EXISTS batch (query TEXT, number INTEGER, PRIMARY KEY (query, number));
CREATE TABLE IF NOT EXISTS file (checksum BLOB PRIMARY KEY, name TEXT);
"""
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"  # as Spark's binaryFile has it


class TallyStore:
    """A SQLite file with the tally of all files so far, their checksums, and the batches that were counted."""

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path = Path(path)
        self._plan = plan
        self._n_statistics = mechanism_of(plan).n_statistics
        with self._opened() as base:
            base.executescript(_TABLES)
        self.tally()  # one of another plan is refused

    def tally(self) -> Tally:
        """Return what all files add up to so far."""
        with self._opened() as base:
            return self._tally(base)

    def has_batch(self, query: str, number: int) -> bool:
        """Return whether a batch of a query was stored."""
        with self._opened() as base:
            return _has_batch(base, query, number)

    def new_files(self, files: Sequence[ReportFile]) -> list[ReportFile]:
        """Return those of the files that were not counted yet, each once."""
        with self._opened() as base:
            known = {one for (one,) in base.execute("SELECT checksum FROM file")}
        return list({file.checksum: file for file in files if file.checksum not in known}.values())

    def add(self, query: str, number: int, files: Sequence[ReportFile], counted: Tally) -> None:
        """Store what a batch adds, in one transaction; a batch that is there already adds nothing."""
        with self._opened() as base:
            base.execute("BEGIN IMMEDIATE")
            if _has_batch(base, query, number):
                return
            total = self._tally(base) + counted
            base.execute("INSERT INTO batch VALUES (?, ?)", (query, number))
            base.executemany("INSERT INTO file VALUES (?, ?)", [(file.checksum, file.path.name) for file in files])
            base.execute(
                "INSERT OR REPLACE INTO tally VALUES (?, ?, ?, ?, ?)",
                (
                    self._plan.fingerprint,
                    json.dumps(total.provenance.to_dict()),
                    len(total.reports),
                    total.statistics.astype("<i8").tobytes(),
                    total.reports.astype("<i8").tobytes(),
                ),
            )
            base.execute("COMMIT")

    def _tally(self, base: sqlite3.Connection) -> Tally:
        row = base.execute("SELECT * FROM tally").fetchone()
        if row is None:
            return Tally.zero(self._plan.fingerprint, self._n_statistics)
        plan, label, n_bins, statistics, reports = row
        check_plan(str(self.path), plan, self._plan.fingerprint)
        return Tally(
            Provenance.from_dict(json.loads(label)),
            np.frombuffer(statistics, "<i8").astype(np.int64).reshape(n_bins, self._n_statistics),
            np.frombuffer(reports, "<i8").astype(np.int64),
        )

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection; what is not committed when it is closed did not happen."""
        problem = None
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as base:
                base.execute("PRAGMA synchronous = FULL")
                yield base
        except sqlite3.DatabaseError:
            problem = FormatError(f"{self.path} is no store of a tally, or it is damaged. Name another file.")
        if problem is not None:
            raise problem


def _has_batch(base: sqlite3.Connection, query: str, number: int) -> bool:
    return base.execute("SELECT 1 FROM batch WHERE query = ? AND number = ?", (query, number)).fetchone() is not None


def watch(
    session: SparkSession,
    folder: str | Path,
    plan: Plan,
    store: TallyStore,
    *,
    checkpoint: str | Path,
    until_empty: bool = True,
) -> Tally:
    """Count the report files (``*.reports``) of a folder as they arrive, each once, and return the tally.

    ``until_empty`` counts what is there and returns; else it goes on until it is interrupted. ``checkpoint`` is a
    folder of Spark's own: keep it with the store. Whatever is stopped, the same call goes on. Files must appear whole,
    under their name, as Tacit writes them.
    """
    checkpoint, refused = Path(checkpoint), list[TacitError]()

    def take(frame: DataFrame, number: int) -> None:
        try:
            _take(session, frame, number, plan, store, checkpoint)
        except TacitError as refusal:
            refused.append(refusal)  # which Spark would put into a stack trace
            raise

    arriving: Any = session.readStream.format("binaryFile").schema(_FILES).option("pathGlobFilter", "*.reports")
    # a file that was refused may be taken away, and is then no longer missed
    arriving = arriving.option("ignoreMissingFiles", "true").load(str(Path(folder).absolute())).select("path")
    writing = arriving.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint.absolute()))
    with speaking(session, str(folder)):
        query = (writing.trigger(availableNow=True) if until_empty else writing).start()
        try:
            query.awaitTermination()
        except Exception:
            if refused:
                raise refused[-1] from None
            raise
        finally:
            query.stop()
    return store.tally()


def _take(
    session: SparkSession, frame: DataFrame, number: int, plan: Plan, store: TallyStore, checkpoint: Path
) -> None:
    query = json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
    if store.has_batch(query, number):
        return
    paths = [Path(unquote(urlsplit(row.path).path)) for row in frame.collect()]
    files = store.new_files([ReportFile.open(path, check=False) for path in sorted(paths)])
    counted = tally(session, [file.path for file in files], plan)
    store.add(query, number, files, counted)
