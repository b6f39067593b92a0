"""Faults of a collector under load, with a recount after each: what is acknowledged counts once.

    python benchmarks/collector_faults.py                 # all of them; needs the environment of the tests
    python benchmarks/collector_faults.py killed cut      # some
    python benchmarks/collector_faults.py --size 0.1      # a tenth of the faults and messages

Prints a row of a table for each trial: how often the fault came, how many messages were sent, how often one was sent
again, and whether the tally is the sum of all messages. Ends with 1 if one is not. A full disk of its own needs root.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import collector_faults as faults  # noqa: E402
from postgres_server import Server, running  # noqa: E402

Make = Callable[[Server, Path, Callable[[int], int]], faults.Trial]


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'collector.sqlite'}"


def on_small_disk(server: Server, folder: Path, n: Callable[[int], int]) -> faults.Trial:
    with faults.small_disk(16 << 20) as (disk, full):
        return faults.filled(sqlite(disk), disk, n_times=n(10), n_messages=n(2000), n_reports=300, full=full)


TRIALS: dict[str, tuple[str, Make]] = {
    "killed": (
        "killed (`kill -9`), SQLite",
        lambda server, folder, n: faults.killed(sqlite(folder), folder, n_kills=n(50), n_messages=n(20_000)),
    ),
    "killed-postgres": (
        "killed (`kill -9`), PostgreSQL",
        lambda server, folder, n: faults.killed(
            faults.new_database(server), folder, n_kills=n(50), n_messages=n(20_000)
        ),
    ),
    "cut": (
        "two collectors on one PostgreSQL, connections of senders and to the database cut",
        lambda server, folder, n: faults.cut(
            server, faults.new_database(server), folder, n_cuts=n(100), n_messages=n(5000)
        ),
    ),
    "stopped": (
        "PostgreSQL stopped and started, crashed by turns",
        lambda server, folder, n: faults.stopped(
            server, faults.new_database(server), folder, n_stops=n(20), n_messages=n(5000)
        ),
    ),
    "full": ("disk full (a disk of 16 MB), SQLite", on_small_disk),
    "full-postgres": (
        "disk full (a limit on files), PostgreSQL",
        lambda server, folder, n: faults.filled(
            faults.growing_database(server), folder, n_times=1, n_messages=n(1000), n_reports=10_000,
            full=faults.limited(4 << 20, server),
        ),
    ),
    "turned": (
        "two collectors whose clocks jump by days, SQLite",
        lambda server, folder, n: faults.turned(sqlite(folder), folder, n_jumps=n(500)),
    ),
    "turned-postgres": (
        "two collectors whose clocks jump by days, PostgreSQL",
        lambda server, folder, n: faults.turned(faults.new_database(server), folder, n_jumps=n(500)),
    ),
}  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("trials", nargs="*", choices=[[], *TRIALS], help="which ones; all if left out")
    options.add_argument("--size", type=float, default=1.0, help="so many times as many faults and messages")
    given = options.parse_args()
    print(
        "| fault | times | messages | sent again or refused | refused | each counted once |\n|---|---|---|---|---|---|"
    )
    all_right = True
    with running(is_durable=True) as server:
        for name in given.trials or TRIALS:
            if name == "full" and os.geteuid():
                continue
            words, make = TRIALS[name]
            with tempfile.TemporaryDirectory() as folder:
                trial = make(server, Path(folder), lambda n: max(1, round(n * given.size)))
            all_right &= trial.is_right
            print(
                f"| {words} | {trial.n_faults} | {trial.n_messages:,} | {trial.n_again:,} | {trial.n_refused:,} | "
                f"{'yes' if trial.is_right else 'NO'} |",
                flush=True,
            )
    if not all_right:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
