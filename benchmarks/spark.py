"""Counting and randomizing on Spark, beside an identity ``mapInArrow`` and beside one machine.

Every line is from one run on one machine, and the counts and report files of both engines are compared. Run:

    python benchmarks/spark.py                       # 20 million rows, about 200 MB of Parquet
    python benchmarks/spark.py --rows 100_000_000

Rates are rows or reports a second of wall clock over all cores of the cluster, so compare within one run only. What
Spark itself takes for a pass over the same columns through Python is the line *identity*.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.collection.randomizing import PlanCounts
from tacit.collection.wire.reports import sorted_pieces
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.engines.frames import FrameSource
from tacit.engines.session import start
from tacit.engines.spark import SparkEngine
from tacit.events import DayDigest, EventColumns, open_events
from tacit.mechanisms.registry import mechanism_of, plan_for

TOWNS = [f"Town {number}" for number in range(17)]
DOMAIN = Domain(TimeAxis.between("2006-01-01", "2018-12-31"), PlaceAxis.of(TOWNS))
PLAN = plan_for(DOMAIN, epsilon=1.0)
COLUMNS = EventColumns(time="when", place="town")
N_AT_ONCE = 1_000_000  # rows that are made and written together


def make_file(path: Path, n_rows: int) -> None:
    """Write events of 13 years in 17 towns, by a fixed seed: speed does not depend on which they are."""
    random = np.random.default_rng(1)
    schema = pa.schema({"when": pa.timestamp("us"), "town": pa.string()})
    with pq.ParquetWriter(path, schema) as file:
        for at in range(0, n_rows, N_AT_ONCE):
            n = min(N_AT_ONCE, n_rows - at)
            when = np.datetime64("2006-01-01", "us") + random.integers(0, 4748 * 86_400, n).astype("timedelta64[s]")
            town = pa.array(TOWNS).take(pa.array(random.integers(0, len(TOWNS), n)))
            file.write_table(pa.table({"when": when, "town": town}, schema=schema))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def counted(events: Any) -> Any:
    digest = DayDigest(bytes(32), DOMAIN)
    counts = events.total(PlanCounts(PLAN), digest=digest).counts()
    return counts, digest.digests()


def drawn(pieces: Any, counts: Any, beside: Path) -> bytes:
    digest = hashlib.sha256()
    for piece in pieces(mechanism_of(PLAN), counts, bytes(32), beside):
        digest.update(piece.tobytes())
    return digest.digest()


def resident(process: int) -> float:
    """The memory of a process, MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peers() -> None:
    for name in ("pipeline-dp", "tmlt.analytics"):
        try:
            print(f"{name} {importlib.metadata.version(name)} is installed; its count is not compared here yet")
        except importlib.metadata.PackageNotFoundError:
            print(f"{name} is not installed here: nothing to compare with")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), default=20_000_000)
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    asked = parser.parse_args()
    session = start(asked.master)
    engine = SparkEngine(session)
    print(f"pyspark {session.version}, {asked.master}, {os.cpu_count()} cores")
    sizes = [max(1000, asked.rows // 100), asked.rows // 10, asked.rows]
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            path = Path(folder) / f"{n_rows}.parquet"
            make_file(path, n_rows)
            frame = session.read.parquet(str(path))
            same = frame.mapInArrow(_identity, frame.schema)
            took, _ = timed(lambda same=same: same.write.format("noop").mode("overwrite").save())
            print(f"{n_rows:>12,} rows  identity mapInArrow  {n_rows / took:>12,.0f} rows/s")
            events = engine.open(FrameSource(frame), columns=COLUMNS, domain=DOMAIN)
            spark_took, there = timed(lambda events=events: counted(events))
            seconds.append(spark_took)
            part = took / spark_took
            print(f"{'':>12}       counting on Spark    {n_rows / spark_took:>12,.0f} rows/s  {part:.2f} of identity")
            local_took, here = timed(lambda path=path: counted(open_events(path, columns=COLUMNS, domain=DOMAIN)))
            print(f"{'':>12}       counting locally     {n_rows / local_took:>12,.0f} rows/s")
            assert there[1] == here[1]
            assert there[0].digest() == here[0].digest()
            print(f"{'':>12}       driver: Python {resident(os.getpid()):,.0f} MB")
        spark_took, one = timed(lambda: drawn(engine.pieces, there[0], Path(folder)))
        local_took, other = timed(lambda: drawn(sorted_pieces, there[0], Path(folder)))
        assert one == other
        print(
            f"{asked.rows:>12,} reports  Spark {asked.rows / spark_took:,.0f}/s, local {asked.rows / local_took:,.0f}/s"
        )
        print(f"checksum of the reports: {one.hex()[:16]}")
    slope, fixed = np.polyfit(sizes, seconds, 1)
    print(f"counting: {fixed:.1f} s and {slope * 1e9:,.0f} s per billion rows on this cluster (fitted on three sizes)")
    peers()


def _identity(batches: Any) -> Any:
    return batches


if __name__ == "__main__":
    main()
