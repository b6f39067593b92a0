"""A tally that is kept while files of reports arrive: every file counts once, whatever is stopped and started again.

Spark says when to look. What is counted is what lies in the folder and the store does not know: Spark remembers names,
and would pass over a file that comes under a name it has seen, or long after it was written. What is added, its files
and the batch are stored in one transaction, so that a batch that runs twice adds nothing. A file is known by the
checksum of its content; beside it stands what the file system says of it, so that one that did not change is not opened
again.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from tacit._base.files import check_writable, write_new, write_whole
from tacit.collection.wire import ReportFile
from tacit.counts.provenance import Provenance, check_plan
from tacit.counts.tally import Tally
from tacit.engines.frames import literal
from tacit.engines.parts import SUFFIX
from tacit.engines.session import speaking
from tacit.engines.tallying import tally
from tacit.errors import FormatError, SettingError, TacitError
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS tally (plan TEXT PRIMARY KEY, label TEXT, n_bins INTEGER, statistics BLOB, reports BLOB);
CREATE TABLE IF NOT EXISTS batch (query TEXT, number INTEGER, PRIMARY KEY (query, number));
CREATE TABLE IF NOT EXISTS file (checksum BLOB PRIMARY KEY, name TEXT);
CREATE TABLE IF NOT EXISTS seen (path BLOB PRIMARY KEY, stamp TEXT);
CREATE TABLE IF NOT EXISTS self (identity TEXT PRIMARY KEY, n_added INTEGER);
"""
_FIRST_TABLES: Final = {"tally", "batch", "file"}  # which every store has had
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"  # as Spark's binaryFile has it
_NOTE: Final = "tacit.json"  # in the folder of a checkpoint
_TAKE_AWAY: Final = "is damaged. Take it away and start again; the store knows what was counted."
_LOOK_SECONDS: Final = 10  # between two looks for files that Spark passes over
_PATIENCE_SECONDS: Final = 10  # for another process that writes

Batch = tuple[str, int]
"""The query of a checkpoint, and the number of one of its batches."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """Files that are to be counted, and the stamps of all paths whose content is known when they are."""

    files: list[ReportFile]
    stamps: dict[Path, str]


class TallyStore:
    """A SQLite file with the tally of all files so far, their checksums, and the batches that were counted.

    A new one is for its owner alone.
    """

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path = Path(path)
        self._plan = plan
        self._n_statistics = mechanism_of(plan).n_statistics
        check_writable(self.path)
        if not self.path.exists():
            write_new(self.path, b"", is_private=True)  # what SQLite puts beside it has the same permissions
        with self._opened() as base:
            tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not tables >= _FIRST_TABLES:
                raise FormatError(f"{self.path} {_DAMAGED}")
            base.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
            new = secrets.token_hex(16)
            base.execute("INSERT INTO self SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM self)", (new,))
        self.tally()  # one of another plan is refused

    def tally(self) -> Tally:
        """Return what all files add up to so far."""
        with self._opened() as base:
            return self._tally(base)

    def state(self) -> tuple[str, int]:
        """Return what tells the store from any other, and how often something was added to it."""
        with self._opened() as base:
            identity, n_added = base.execute("SELECT identity, n_added FROM self").fetchone()
            return str(identity), int(n_added)

    def has_batch(self, batch: Batch) -> bool:
        """Return whether a batch was stored."""
        with self._opened() as base:
            return _has_batch(base, batch)

    def arrived(self, folder: Path) -> Arrived:
        """Return what is new in a folder and the folders in it; an empty or damaged file is refused.

        A file is not opened if its path is known, and the file system says the same of it as when it was counted.
        """
        with self._opened() as base:
            known = {one for (one,) in base.execute("SELECT checksum FROM file")}
            seen = dict(base.execute("SELECT path, stamp FROM seen"))
        stamps = {path: stamp for path, stamp in _listed(folder).items() if seen.get(os.fsencode(path)) != stamp}
        new: dict[bytes, ReportFile] = {}
        for file in (ReportFile.open(path, check=False) for path in sorted(stamps)):
            if file.checksum not in known:
                new.setdefault(file.checksum, file)  # of copies the first
        return Arrived(list(new.values()), stamps)

    def add(self, arrived: Arrived, counted: Tally, batch: Batch | None = None) -> None:
        """Store what files add, in one transaction; a batch that is there already adds nothing."""
        with self._opened() as base:
            base.execute("BEGIN IMMEDIATE")
            if batch is not None:
                if _has_batch(base, batch):
                    return
                base.execute("INSERT INTO batch VALUES (?, ?)", batch)
            base.execute("UPDATE self SET n_added = n_added + 1")
            total = self._tally(base)
            for file in arrived.files:
                _check_counts_once(file, total)
                if base.execute("SELECT 1 FROM file WHERE checksum = ?", (file.checksum,)).fetchone() is not None:
                    raise SettingError(
                        f"{self.path}: another process counted {file.path.name} at the same time. Let one process "
                        "watch the folder, and start again."
                    )
                name = os.fsencode(file.path.name).decode(errors="replace")
                base.execute("INSERT INTO file VALUES (?, ?)", (file.checksum, name))
            base.executemany(
                "INSERT OR REPLACE INTO seen VALUES (?, ?)",
                [(os.fsencode(path), stamp) for path, stamp in arrived.stamps.items()],
            )
            if arrived.files:
                self._replace(base, total + counted)
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

    def _replace(self, base: sqlite3.Connection, total: Tally) -> None:
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

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection; what is not committed when it is closed did not happen."""
        address = f"{self.path.absolute().as_uri()}?mode=rw"  # one that was lost meanwhile is not made again
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)) as base:
                base.execute("PRAGMA synchronous = FULL")
                yield base
        except sqlite3.Error as problem:
            code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            raise FormatError(f"{self.path} {_FAULTS.get(code, _DAMAGED)}") from None


_DAMAGED: Final = (
    "is no store of a tally, or it is damaged. Restore it from a copy, or name another file to begin a new tally."
)
_FAULTS: Final = {
    sqlite3.SQLITE_BUSY: "is locked by another process. Start again when that is done; do not name another file.",
    sqlite3.SQLITE_LOCKED: "is locked by another process. Start again when that is done; do not name another file.",
    sqlite3.SQLITE_READONLY: "cannot be written. Check its permissions and those of its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check the path and its permissions.",
    sqlite3.SQLITE_PERM: "cannot be opened. Check the path and its permissions.",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full. Make room, and start again.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error. Check it.",
}


def _check_counts_once(file: ReportFile, total: Tally) -> None:
    """Refuse a file that may hold events of the total: events randomized twice, in the same public bins."""
    bins = file.bins[file.bins < len(total.reports)]
    if (file.provenance.prior_epsilon or total.provenance.prior_epsilon) and total.reports[bins].any():
        raise SettingError(
            f"{file.path}: its events, or some that were counted before, were randomized twice, and may be the same. "
            "They would count twice. Take it away, and tally it on its own."
        )


def _has_batch(base: sqlite3.Connection, batch: Batch) -> bool:
    return base.execute("SELECT 1 FROM batch WHERE query = ? AND number = ?", batch).fetchone() is not None


def _listed(folder: Path) -> dict[Path, str]:
    """Return the report files of a folder and the folders in it, each with what the file system says of it.

    What is hidden is not finished: tasks write parts so, and programs that copy do. Links to folders are not followed.
    An empty file is refused.
    """

    def refuse(problem: OSError) -> None:
        if not isinstance(problem, FileNotFoundError):  # taken away since it was listed
            raise FormatError(f"the folder {problem.filename} cannot be read. Check its permissions.") from None

    found = {}
    for at, inner, names in os.walk(folder.absolute(), onerror=refuse):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for name in names:
            if name.endswith(SUFFIX) and not name.startswith("."):
                path = Path(at, name)
                try:
                    said = path.stat()
                except FileNotFoundError:  # taken away since it was listed
                    continue
                if not said.st_size:
                    raise FormatError(
                        f"{path} is empty: it was cut short, or is still on its way. Replace it or take it away, and "
                        "start again."
                    )
                # times alone may be those of another file: programs that copy keep them
                found[path] = f"{said.st_size} {said.st_mtime_ns} {said.st_ctime_ns} {said.st_ino}"
    return found


def count_new(
    folder: str | Path, store: TallyStore, counting: Callable[[list[Path]], Tally], batch: Batch | None = None
) -> None:
    """Count the files of a folder that the store does not know, and store what they add; one bad file stops all."""
    arrived = store.arrived(Path(folder))
    if batch is None and not arrived.stamps:
        return
    counted = counting([file.path for file in arrived.files])
    for file in arrived.files:
        if ReportFile.open(file.path, check=False).checksum != file.checksum:
            raise FormatError(f"{file.path} was replaced while it was counted, and did not count. Start again.")
    store.add(arrived, counted, batch)


def watch(
    session: SparkSession,
    folder: str | Path,
    plan: Plan,
    store: TallyStore,
    *,
    checkpoint: str | Path,
    until_empty: bool = True,
) -> Tally:
    """Count the report files (``*.reports``) of a folder and the folders in it, each once, and return the tally.

    ``until_empty`` counts what is there and returns; else it goes on until it is interrupted. ``checkpoint`` is a
    folder of Spark's own: keep it with the store. Whatever is stopped, the same call goes on. Files should appear
    whole, under their name, as Tacit writes them. One that is empty or damaged stops it.
    """
    if not Path(folder).is_dir():
        raise SettingError(f"the folder {folder} does not exist. Make it first, or name another.")
    folder, checkpoint = Path(folder).absolute(), Path(checkpoint).absolute()
    check_knows(store, checkpoint)
    note(store, checkpoint)
    refused, turn = list[TacitError](), Lock()

    def count(batch: Batch | None = None) -> None:
        with turn:  # batches run in another thread
            count_new(folder, store, lambda paths: tally(session, paths, plan), batch)
            note(store, checkpoint)

    def take(_: DataFrame, number: int) -> None:
        try:
            batch = _query_of(checkpoint), number
            if not store.has_batch(batch):
                count(batch)
        except TacitError as refusal:
            refused.append(refusal)  # which Spark would put into a stack trace
            raise

    arriving: Any = session.readStream.format("binaryFile").schema(_FILES).option("pathGlobFilter", f"*{SUFFIX}")
    # a file that was refused may be taken away, and is then no longer missed
    arriving = arriving.option("ignoreMissingFiles", "true").option("recursiveFileLookup", "true").load(literal(folder))
    writing = arriving.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    with speaking(session, str(folder)):
        query = (writing.trigger(availableNow=True) if until_empty else writing).start()
        try:
            while not query.awaitTermination(_LOOK_SECONDS):
                if not until_empty:
                    count()
        except Exception:
            if refused:
                raise refused[-1] from None
            raise
        finally:
            query.stop()
    count()
    return store.tally()


def note(store: TallyStore, checkpoint: Path) -> None:
    """Write beside what Spark knows which store counted, and how often; the store may be ahead of it, never behind."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    write_whole(checkpoint / _NOTE, json.dumps(store.state()).encode())


def check_knows(store: TallyStore, checkpoint: Path) -> None:
    """Refuse a store that does not know all that a checkpoint has: what was counted is not in it."""
    done = [int(one.name) for one in checkpoint.glob("commits/*") if one.name.isdecimal()]
    is_known = not done or store.has_batch((_query_of(checkpoint), max(done)))
    if is_known and (checkpoint / _NOTE).is_file():
        (identity, n_added), (noted, n_noted) = store.state(), _noted(checkpoint)
        is_known = noted == identity and n_noted <= n_added
    if not is_known:
        raise FormatError(
            f"{store.path} does not know what was counted under {checkpoint}: it was lost, is an older copy, or is of "
            "another folder. Put the right one back. If there is none, take the checkpoint away: then those files that "
            "are still in the folder and that the store does not know are counted."
        )


def _noted(checkpoint: Path) -> tuple[str, int]:
    try:
        identity, n_added = json.loads((checkpoint / _NOTE).read_text(encoding="utf-8"))
        return str(identity), int(n_added)
    except (OSError, ValueError, TypeError):
        raise FormatError(f"the checkpoint {checkpoint} {_TAKE_AWAY}") from None


def _query_of(checkpoint: Path) -> str:
    try:
        return str(json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        raise FormatError(f"the checkpoint {checkpoint} {_TAKE_AWAY}") from None
