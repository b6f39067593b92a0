"""Count events with a bound on what one person adds, beside counting them without. Run: make bench

The same files for all, in turn: CSV and Parquet, persons drawn unevenly from a million. The bound is a second look at
every row, so its price is a ratio to reading and counting the same columns, in processor time of all threads. Polars,
which holds all rows in memory, bounds by a window over person and day, in the order of rows; as many events must be
counted. Peak memory is that of a fresh process for each number of rows; the temporary files, 24 bytes a row, are not in
it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as parquet
from measure import per_second, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray
from reading import FIRST, LAST, as_counts, domain

from tacit.domain import Gazetteer
from tacit.events import ContributionBound, EventColumns, EventCounts, ReadOptions, open_events

BOUNDS = {
    "at most 2 a person and day": ContributionBound(2, None, "day", key=bytes(32)),
    "at most 20 a person and month, 5 a cell": ContributionBound(20, 5, "month", key=bytes(32)),
    "at most 20 a person, 1 a cell": ContributionBound(20, 1, key=bytes(32)),
}
TARGET = 2.0
N_USERS = 1_000_000
CHUNK_ROWS = 1_000_000
TARGET_MIB = 500
# the high-water mark of the process itself, in KiB (what getrusage gives would include its parent), and its seconds
IN_A_PROCESS = """
import sys
import time
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import ContributionBound, EventColumns, ReadOptions, open_events
axis = TimeAxis.between(sys.argv[2], sys.argv[3], zone="Europe/Paris")
domain = Domain(axis, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
columns = EventColumns(time="SDate", place="Town", user="User")
written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
bound = ContributionBound(20, 5, "month", key=bytes(32)) if sys.argv[4] == "bounded" else None
start = time.process_time()
open_events(sys.argv[1], columns=columns, domain=domain, options=written).count(bound=bound)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
print(time.process_time() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the files that are timed")
    parser.add_argument(
        "--memory-rows", type=int, nargs="*", default=[1_000_000, 10_000_000, 50_000_000], help="rows for peak memory"
    )
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args()
    print_machine("tacit", "polars", "pyarrow", "numpy")
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), settings.rows, settings.rounds)
        compare_memory(Path(folder), settings.memory_rows)


def counted(path: Path, bound: ContributionBound | None) -> EventCounts:
    columns = EventColumns(time="SDate", place="Town", user="User")
    written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
    return open_events(path, columns=columns, domain=domain(), options=written).count(bound=bound)


def by_window(path: Path) -> NDArray[np.int64]:
    """A bound on days in polars: rows numbered within each user and day."""
    date = pl.col("SDate").dt.date().alias("date")
    rows = pl.read_parquet(path, columns=["SDate", "Town", "User"]).with_columns(date)
    kept = rows.filter(pl.int_range(pl.len()).over("User", "date") < 2)
    return as_counts(kept.group_by("date", "Town").len())


def write_events(path: Path, n_rows: int) -> None:
    """Random visits; a few users come often, many once or twice."""
    rng = np.random.default_rng(2018)
    towns = np.array(Gazetteer.builtin("doubs").names("town"), dtype=object)
    first = np.datetime64(FIRST, "m")
    n_days = int((np.datetime64(LAST, "D") + 1 - np.datetime64(FIRST, "D")).astype(np.int64))
    with ExitStack() as opened:
        file = opened.enter_context(path.open("wb"))
        writer = None
        for start in range(0, n_rows, CHUNK_ROWS):
            n = min(CHUNK_ROWS, n_rows - start)
            user = (N_USERS * rng.random(n) ** 3).astype(np.int64)
            # each has a few days of their own, so that the bound is met
            day = (user * 7_919 + rng.integers(0, 12, n) * 397) % n_days
            frame = pl.DataFrame(
                {
                    "User": user,
                    "SDate": (first + day * 1440 + rng.integers(0, 1440, n)).astype("datetime64[ms]"),
                    "Town": pl.Series(towns[rng.integers(0, len(towns), n)], dtype=pl.String),
                }
            ).with_columns(pl.format("user-{}@example.org", "User").alias("User"))
            if path.suffix == ".csv":
                text = frame.with_columns(pl.col("SDate").dt.strftime("%Y-%m-%d %H:%M"))
                text.write_csv(file, include_header=start == 0)
            else:
                table = frame.to_arrow()
                writer = writer or opened.enter_context(parquet.ParquetWriter(file, table.schema))
                writer.write_table(table)


def compare(folder: Path, n_rows: int, rounds: int) -> None:
    text, binary = folder / "events.csv", folder / "events.parquet"
    for path in (text, binary):
        write_events(path, n_rows)
    works: dict[str, Callable[[], EventCounts | NDArray[np.int64]]] = {}
    for path in (text, binary):
        kind = "CSV" if path is text else "Parquet"
        works[f"{kind}, counted"] = partial(counted, path, None)
        works |= {f"{kind}, {name}": partial(counted, path, bound) for name, bound in BOUNDS.items()}
    works["Parquet, polars window over person and day"] = partial(by_window, binary)
    timings = side_by_side(works, rounds=rounds)
    print(f"{n_rows:,} rows, {N_USERS:,} persons, median of {rounds} rounds\n")
    rows, worst = [], 0.0
    for name, timing in timings.items():
        times = ratio(timing, timings[f"{name.split(',')[0]}, counted"])
        rows.append([name, f"{timing.median:.2f} s", per_second(n_rows, timing.median), f"{times:.2f}"])
        worst = worst if "polars" in name else max(worst, times)
    print_table(["work", "processor time", "rows", "× counting alone"], rows)
    print(f"target at most {TARGET:g} × counting alone: {'met' if worst <= TARGET else 'MISSED'}")
    by_day = "at most 2 a person and day"
    found = {timings[f"{kind}, {by_day}"].result.n_events for kind in ("CSV", "Parquet")}
    found.add(int(timings["Parquet, polars window over person and day"].result.sum()))
    print(f"events counted by day: {'equal' if len(found) == 1 else 'NOT EQUAL'}\n")
    if len(found) > 1:
        sys.exit(1)


def compare_memory(folder: Path, sizes: list[int]) -> None:
    if not Path("/proc/self/status").exists():
        print("peak memory is measured on Linux only")
        return
    rows, worst, slowest = [], 0.0, 0.0
    for n_rows in sizes:
        for path in (folder / "events.csv", folder / "events.parquet"):
            write_events(path, n_rows)
            peaks, seconds = {}, {}
            for way in ("alone", "bounded"):
                command = [sys.executable, "-c", IN_A_PROCESS, str(path), FIRST, LAST, way]
                printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                peaks[way], seconds[way] = int(printed[0]) / 1024, float(printed[1])
            times = seconds["bounded"] / seconds["alone"]
            worst, slowest = max(worst, peaks["bounded"]), max(slowest, times)
            size = f"{path.stat().st_size / 1e6:,.0f} MB"
            shown = [f"{peaks['bounded']:,.0f} MiB", f"{seconds['bounded']:.1f} s", f"{times:.2f}"]
            rows.append([f"{n_rows:,}", path.suffix[1:], size, *shown])
            path.unlink()
    if rows:
        print_table(["rows", "kind", "file", "peak memory", "processor time", "× counting alone"], rows)
        print(f"target under {TARGET_MIB} MiB: {'met' if worst < TARGET_MIB else 'MISSED'}")
        print(f"target at most {TARGET:g} × counting alone: {'met' if slowest <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
