"""Count events with a bound on what one user's day adds, beside counting them without. Run: make bench

The same files for all, in turn: CSV and Parquet, users drawn unevenly from a million. The bound is a second look at
every row, so its price is a ratio to counting alone, in processor time of all threads; polars, which holds all rows in
memory, does the same by a window over user and day, and its counts must be equal. Peak memory is that of a fresh
process for each number of rows; the temporary files, 24 bytes a row, are not in it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as parquet
from measure import checksum, per_second, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray
from reading import FIRST, LAST, as_counts, domain

from tacit.domain import Gazetteer
from tacit.events import EventColumns, EventCounts, ReadOptions, open_events

MOST = 2
N_USERS = 1_000_000
CHUNK_ROWS = 1_000_000
TARGET_MIB = 500
# the high-water mark of the process itself, in KiB; what getrusage gives would include its parent
PEAK_MEMORY = """
import sys
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events
axis = TimeAxis.between(sys.argv[2], sys.argv[3], zone="Europe/Paris")
domain = Domain(axis, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
columns = EventColumns(time="SDate", place="Town", user="User")
written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
open_events(sys.argv[1], columns=columns, domain=domain, options=written).count(most_per_user_day=int(sys.argv[4]))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
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


def counted(path: Path, most: int | None) -> EventCounts:
    columns = EventColumns(time="SDate", place="Town", user=None if most is None else "User")
    written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
    return open_events(path, columns=columns, domain=domain(), options=written).count(most_per_user_day=most)


def by_window(path: Path) -> NDArray[np.int64]:
    """The same rule in polars: rows numbered within each user and day."""
    date = pl.col("SDate").dt.date().alias("date")
    rows = pl.read_parquet(path, columns=["SDate", "Town", "User"]).with_columns(date)
    kept = rows.filter(pl.int_range(pl.len()).over("User", "date") < MOST)
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
    works = {
        "CSV, events counted": lambda: counted(text, None),
        f"CSV, at most {MOST} a user's day": lambda: counted(text, MOST),
        "Parquet, events counted": lambda: counted(binary, None),
        f"Parquet, at most {MOST} a user's day": lambda: counted(binary, MOST),
        "Parquet, polars window over user and day": lambda: by_window(binary),
    }
    timings = side_by_side(works, rounds=rounds)
    plain_csv, bound_csv, plain_parquet, bound_parquet, window = timings.values()
    print(f"{n_rows:,} rows, {N_USERS:,} users, median of {rounds} rounds\n")
    against = (plain_csv, plain_csv, plain_parquet, plain_parquet, plain_parquet)
    rows = [
        [name, f"{timing.median:.2f} s", per_second(n_rows, timing.median), f"{ratio(timing, base):.2f}"]
        for (name, timing), base in zip(timings.items(), against, strict=True)
    ]
    print_table(["work", "processor time", "rows", "× counting alone"], rows)
    found = {checksum(bound_csv.result.counts), checksum(bound_parquet.result.counts), checksum(window.result)}
    print(f"{bound_csv.result.n_rows_beyond:,} rows beyond the bound")
    print(f"counts by day and region: {'equal' if len(found) == 1 else 'NOT EQUAL'}\n")
    if len(found) > 1:
        sys.exit(1)


def compare_memory(folder: Path, sizes: list[int]) -> None:
    if not Path("/proc/self/status").exists():
        print("peak memory is measured on Linux only")
        return
    rows, worst = [], 0.0
    for n_rows in sizes:
        for path in (folder / "events.csv", folder / "events.parquet"):
            write_events(path, n_rows)
            command = [sys.executable, "-c", PEAK_MEMORY, str(path), FIRST, LAST, str(MOST)]
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024
            worst = max(worst, peak)
            rows.append([f"{n_rows:,}", path.suffix[1:], f"{path.stat().st_size / 1e6:,.0f} MB", f"{peak:,.0f} MiB"])
            path.unlink()
    if rows:
        print_table(["rows", "kind", "file", "peak memory"], rows)
        print(f"target under {TARGET_MIB} MiB: {'met' if worst < TARGET_MIB else 'MISSED'}")


if __name__ == "__main__":
    main()
