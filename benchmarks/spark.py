"""Counting and randomizing on Spark, beside an identity ``mapInArrow`` and beside one machine.

Every line is from one run on one machine, and the counts, digests and reports of both engines are compared. Run:

    python benchmarks/spark.py                                                       # 1 and 10 million rows
    python benchmarks/spark.py --sizes 1_000_000 10_000_000 30_000_000 100_000_000   # for a quiet machine

Sizes of up to 10 million rows are measured three times, each engine in turn, and the fastest counts; larger ones once.
The start of Spark, and a first small run of everything, stand on lines of their own; the other lines are without them.
*wall* are rows a second of the clock over all cores of the cluster. *cpu* are rows for each second that any process of
the cluster (Java and Python, driver and executors) spent on a processor: that figure hardly depends on who else works
there. What Spark itself takes for a pass over the same columns through Python is the line *identity*.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from spark_peers import cpu_of_tree

from tacit.collection.randomizing import PlanCounts
from tacit.collection.wire.randomizing_writer import sorted_pieces
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events import DayDigest, EventColumns, open_events
from tacit.mechanisms.registry import mechanism_of, plan_for

TOWNS = [f"Town {number}" for number in range(17)]
DOMAIN = Domain(TimeAxis.between("2006-01-01", "2018-12-31"), PlaceAxis.of(TOWNS))
PLAN = plan_for(DOMAIN, epsilon=1.0)
COLUMNS = EventColumns(time="when", place="town")
N_AT_ONCE = 1_000_000  # rows that are made and written together
ROUNDS_UP_TO = 10_000_000  # rows of a file that is measured several times
KEY = bytes(32)
WARM_UP = 20_000  # rows that are read before anything is measured: processes start, libraries are loaded


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


@dataclass(frozen=True)
class Timing:
    """Seconds of the clock, and seconds on processors."""

    wall: float
    cpu: float

    def best(self, other: Timing) -> Timing:
        return Timing(min(self.wall, other.wall), min(self.cpu, other.cpu))

    def rates(self, n: int) -> str:
        return f"{n / self.wall:>12,.0f}/s wall {n / self.cpu:>12,.0f}/s cpu"


def timed(work: Callable[[], Any]) -> tuple[Timing, Any]:
    began, cpu = time.perf_counter(), cpu_of_tree()
    done = work()
    return Timing(time.perf_counter() - began, cpu_of_tree() - cpu), done


def counted(events: Any) -> tuple[Any, bytes]:
    digest = DayDigest(KEY, DOMAIN)
    counts = events.total(PlanCounts(PLAN), digest=digest).counts()
    return counts, hashlib.sha256(counts.digest() + repr(digest.digests()).encode()).digest()


def drawn(pieces: Any, counts: Any, beside: Path) -> bytes:
    digest = hashlib.sha256()
    for piece in pieces(mechanism_of(PLAN), counts, KEY, beside):
        digest.update(piece.tobytes())
    return digest.digest()


def counted_here(path: Path) -> tuple[Timing, bytes]:
    """Count on this machine alone; in a process of its own, so that the driver's memory is the driver's."""
    began, cpu = time.perf_counter(), time.process_time()
    _, checksum = counted(open_events(path, columns=COLUMNS, domain=DOMAIN))
    return Timing(time.perf_counter() - began, time.process_time() - cpu), checksum


def counts_here(path: Path) -> Any:
    return counted(open_events(path, columns=COLUMNS, domain=DOMAIN))[0]


def drawn_here(counts: Any, beside: Path) -> tuple[Timing, bytes]:
    began, cpu = time.perf_counter(), time.process_time()
    checksum = drawn(sorted_pieces, counts, beside)
    return Timing(time.perf_counter() - began, time.process_time() - cpu), checksum


def peak(process: int) -> float:
    """The most memory that a process ever had, MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def identity(frame: Any) -> None:
    frame.mapInArrow(_same, frame.schema).write.format("noop").mode("overwrite").save()


def _same(batches: Any) -> Any:
    return batches


def _said(n_rows: int, what: str, timing: Timing, note: str = "") -> None:
    print(f"{n_rows:>12,} rows  {what:<22} {timing.rates(n_rows)}  {note}", flush=True)


def _peaks(engine: Any) -> str:
    java = engine.session.sparkContext._gateway.proc.pid
    return f"{'':>12}       driver at most: Python {peak(os.getpid()):,.0f} MB, Java {peak(java):,.0f} MB"


def measure_counting(engine: Any, folder: Path, sizes: list[int], local: Any) -> tuple[list[Timing], list[Any]]:
    from tacit.engines.frames import FrameSource

    timings, all_counts = [], []
    for n_rows in sizes:
        path = folder / f"{n_rows}.parquet"
        make_file(path, n_rows)
        frame = engine.session.read.parquet(str(path))
        events = engine.open(FrameSource(frame), columns=COLUMNS, domain=DOMAIN)
        best: dict[str, Timing] = {}
        for _ in range(3 if n_rows <= ROUNDS_UP_TO else 1):
            found = {}
            found["identity mapInArrow"], _ = timed(lambda frame=frame: identity(frame))
            found["counting on Spark"], (counts, there) = timed(lambda events=events: counted(events))
            found["counting locally"], here = local.apply(counted_here, (path,))
            assert there == here, "the engines counted differently"
            best = {name: one.best(best.get(name, one)) for name, one in found.items()}
        limit, spark = best["identity mapInArrow"], best["counting on Spark"]
        part = f"{limit.wall / spark.wall:.2f} of identity (wall), {limit.cpu / spark.cpu:.2f} (cpu)"
        for name, timing in best.items():
            _said(n_rows, name, timing, part if timing is spark else "")
        print(_peaks(engine))
        print(f"{'':>12}       checksum of counts and digests: {there.hex()[:16]}", flush=True)
        timings.append(spark)
        all_counts.append(counts)
    return timings, all_counts


def measure_drawing(
    engine: Any, folder: Path, sizes: list[int], all_counts: list[Any], local: Any
) -> tuple[list[Timing], list[Timing]]:
    """Return what drawing took on Spark and here; the first draw of both, in which libraries are loaded, is apart."""
    n_cores = engine.session.sparkContext.defaultParallelism
    n_first = min(sizes[-1], 2 * n_cores * N_AT_ONCE)  # orders for all processes: they start, and load kernels
    first = all_counts[-1].between(0, n_first)
    _said(n_first, "first reports, Spark", timed(lambda: drawn(engine.pieces, first, folder))[0], "with start-up")
    _said(n_first, "first reports, locally", local.apply(drawn_here, (first, folder))[0], "with start-up")
    timings: tuple[list[Timing], list[Timing]] = ([], [])
    for n_rows, counts in zip(sizes, all_counts, strict=True):
        best: dict[str, Timing] = {}
        for _ in range(3 if n_rows <= ROUNDS_UP_TO else 1):
            found = {}
            found["reports drawn locally"], here = local.apply(drawn_here, (counts, folder))
            found["reports drawn on Spark"], there = timed(lambda counts=counts: drawn(engine.pieces, counts, folder))
            assert there == here, "the engines drew different reports"
            best = {name: one.best(best.get(name, one)) for name, one in found.items()}
        here_took, spark = best.values()
        _said(n_rows, "reports drawn locally", here_took, "on one core")
        part = (here_took.wall / spark.wall / n_cores, here_took.cpu / spark.cpu)
        _said(n_rows, "reports drawn on Spark", spark, f"{part[0]:.2f} of local per core (wall), {part[1]:.2f} (cpu)")
        print(_peaks(engine))
        print(f"{'':>12}       checksum of the reports: {there.hex()[:16]}", flush=True)
        timings[0].append(spark)
        timings[1].append(here_took)
    return timings


def print_slopes(what: str, sizes: list[int], timings: list[Timing]) -> None:
    for name in ("wall", "cpu"):
        seconds = [getattr(timing, name) for timing in timings]
        slope, fixed = np.polyfit(sizes, seconds, 1)
        off = max(abs(fixed + slope * n - took) for n, took in zip(sizes, seconds, strict=True))
        print(f"{what}, {name}: {fixed:.1f} s and {slope * 1e9:,.0f} s per billion; off by at most {off:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=_number, nargs="+", default=[1_000_000, 10_000_000], metavar="ROWS")
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--only-drawing", action="store_true", help="count on this machine alone, unmeasured")
    asked = parser.parse_args()
    from tacit.engines.session import start
    from tacit.engines.spark import SparkEngine

    began, cpu = time.perf_counter(), cpu_of_tree()
    engine = SparkEngine(start(asked.master))
    print(f"pyspark {engine.session.version}, {asked.master}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"Spark started in {time.perf_counter() - began:.1f} s, {cpu_of_tree() - cpu:.1f} s of processors")
    # one process here for all that the local engine does
    with tempfile.TemporaryDirectory() as name, multiprocessing.get_context("spawn").Pool(1) as local:
        folder, sizes = Path(name), sorted(asked.sizes)
        timings: list[Timing] = []
        if asked.only_drawing:
            all_counts = []
            for n_rows in sizes:
                make_file(folder / f"{n_rows}.parquet", n_rows)
                all_counts.append(local.apply(counts_here, (folder / f"{n_rows}.parquet",)))
        else:
            measure_counting(engine, folder, [WARM_UP], local)
            print("warm from here on; the lines above tell how long a start takes", flush=True)
            timings, all_counts = measure_counting(engine, folder, sizes, local)
        on_spark, here = measure_drawing(engine, folder, sizes, all_counts, local)
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    if len(sizes) > 1:
        if timings:
            print_slopes("counting on Spark", sizes, timings)
        print_slopes("drawing on Spark", sizes, on_spark)
        print_slopes("drawing locally", sizes, here)


def _number(text: str) -> int:
    return int(text.replace("_", ""))


if __name__ == "__main__":
    main()
