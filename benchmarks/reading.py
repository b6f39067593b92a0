"""Read a CSV file of interventions and count by day and region, beside a bare polars scan. Run: make bench

The same file for both, all cores, in turn. The bare scan parses the dates and groups by date and town; ours reads
every row by itself and checks it, matches towns to regions, numbers and sets aside bad rows. The counts must be equal.
Peak memory is that of a fresh process for each number of rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from measure import Timing, checksum, per_second, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray

from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events

TARGET_RATIO = 2.0
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
FIRST, LAST = "2006-01-01", "2018-12-31"
CHUNK_ROWS = 1_000_000
# the high-water mark of the process itself, in KiB; what getrusage gives would include its parent
PEAK_MEMORY = """
import sys
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events
axis = TimeAxis.between(sys.argv[2], sys.argv[3], zone="Europe/Paris")
domain = Domain(axis, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
open_events(sys.argv[1], columns=EventColumns(time="SDate", place="Town"), domain=domain, options=written).count()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the file that is timed")
    parser.add_argument(
        "--memory-rows", type=int, nargs="*", default=[1_000_000, 10_000_000, 50_000_000], help="rows for peak memory"
    )
    parser.add_argument("--rounds", type=int, default=5)
    settings = parser.parse_args()
    print_machine("tacit", "polars", "pyarrow", "numpy")
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder) / "events.csv", settings.rows, settings.rounds)
        compare_memory(Path(folder) / "events.csv", settings.memory_rows)


def domain() -> Domain:
    return Domain(
        TimeAxis.between(FIRST, LAST, zone="Europe/Paris"), PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    )


def ours(path: Path) -> NDArray[np.int64]:
    columns = EventColumns(time="SDate", place="Town")
    return open_events(path, columns=columns, domain=domain(), options=WRITTEN).count().counts


def bare_scan(path: Path) -> pl.DataFrame:
    date = pl.col("SDate").str.to_datetime("%Y/%m/%d %H:%M").dt.date()
    return pl.scan_csv(path).group_by(date.alias("date"), "Town").len().collect(engine="streaming")


def as_counts(groups: pl.DataFrame) -> NDArray[np.int64]:
    """The bare scan's groups by date and town as counts by day and region."""
    axes = domain()
    counts = np.zeros(axes.shape, np.int64)
    day = axes.time.bins_of_local(groups["date"].to_numpy().astype("datetime64[s]"))
    np.add.at(counts, (day, axes.place.match(groups["Town"].to_list())), groups["len"].to_numpy())
    return counts


def write_events(path: Path, n_rows: int) -> None:
    """Random interventions with the paper's columns; towns as uneven as real ones."""
    rng = np.random.default_rng(2018)
    gazetteer = Gazetteer.builtin("doubs")
    towns = np.array(gazetteer.names("town"), dtype=object)
    shares = 1 / np.arange(1, len(towns) + 1)
    chances = shares / shares.sum()
    first = np.datetime64(FIRST, "m")
    n_minutes = int((np.datetime64(LAST, "m") + 1440 - first).astype(np.int64))
    with path.open("wb") as file:
        for start in range(0, n_rows, CHUNK_ROWS):
            n = min(CHUNK_ROWS, n_rows - start)
            when = (first + rng.integers(0, n_minutes, n)).astype("datetime64[ms]")
            frame = pl.DataFrame(
                {
                    "ID": np.arange(start, start + n),
                    "SDate": when,
                    "Station": rng.integers(1, 60, n),
                    "Town": pl.Series(towns[rng.choice(len(towns), n, p=chances)], dtype=pl.String),
                    "latitude": rng.integers(465_000, 475_000, n) / 10_000,
                    "longitude": rng.integers(57_000, 71_000, n) / 10_000,
                }
            )
            frame.select(
                "ID",
                pl.col("SDate").dt.strftime("%Y/%m/%d %H:%M"),
                pl.format("CS {}", "Station").alias("Station"),
                "Town",
                pl.format("({}, {})", "latitude", "longitude").alias("Location"),
            ).write_csv(file, include_header=start == 0)


def compare(path: Path, n_rows: int, rounds: int) -> None:
    write_events(path, n_rows)
    size = path.stat().st_size
    works = {"bare polars scan + group_by": lambda: bare_scan(path), "tacit events.count()": lambda: ours(path)}
    bare, own = side_by_side(works, rounds=rounds, clock=time.perf_counter).values()
    expected, found = checksum(as_counts(bare.result)), checksum(own.result)
    print(f"{n_rows:,} rows, {size / 1e6:,.0f} MB, median of {rounds} rounds\n")
    rows = [_line(name, timing, n_rows) for name, timing in zip(works, (bare, own), strict=True)]
    print_table(["work", "seconds", "rows"], rows)
    times = ratio(own, bare)
    print(f"counts by day and region: {found}, {'equal' if found == expected else 'NOT EQUAL'}")
    print(f"ratio {times:.2f}, target at most {TARGET_RATIO}: {'met' if times <= TARGET_RATIO else 'MISSED'}\n")
    if found != expected:
        sys.exit(1)


def _line(name: str, timing: Timing, n_rows: int) -> list[str]:
    return [name, f"{timing.median:.2f}", per_second(n_rows, timing.median)]


def compare_memory(path: Path, sizes: list[int]) -> None:
    if not Path("/proc/self/status").exists():
        print("peak memory is measured on Linux only")
        return
    rows = []
    for n_rows in sizes:
        write_events(path, n_rows)
        command = [sys.executable, "-c", PEAK_MEMORY, str(path), FIRST, LAST]
        peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append([f"{n_rows:,}", f"{path.stat().st_size / 1e6:,.0f} MB", f"{peak / 1024:,.0f} MiB"])
    if rows:
        print_table(["rows", "file", "peak memory"], rows)


if __name__ == "__main__":
    main()
