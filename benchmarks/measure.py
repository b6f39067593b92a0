"""Timing shared by the benchmarks: several works side by side in one run, so that ratios mean something."""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tacit.randomness.bernoulli import COIN, ROUNDS


@dataclass(frozen=True, slots=True)
class Timing:
    """What one work took in each round, and what it gave in the last."""

    seconds: tuple[float, ...]
    result: Any

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def pin_to_one_core() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def side_by_side(
    works: Mapping[str, Callable[[], Any]], *, rounds: int = 7, clock: Callable[[], float] = time.process_time
) -> dict[str, Timing]:
    """Do all works once to warm up, then in turn, round by round: a slow minute of the machine hits all of them.

    The default clock counts processor time of this process, so that other programs on the machine do not count; for a
    work that uses several cores or waits for a disk, pass ``time.perf_counter``.
    """
    results = {name: work() for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, work in works.items():
                start = clock()
                results[name] = work()
                seconds[name].append(clock() - start)
    finally:
        gc.enable()
    return {name: Timing(tuple(seconds[name]), results[name]) for name in works}


def ratio(slow: Timing, fast: Timing, *, work_of_slow: float = 1, work_of_fast: float = 1) -> float:
    """How many times faster ``fast`` does the same amount of work: the median of the rounds' ratios."""
    return statistics.median(
        (a / work_of_slow) / (b / work_of_fast) for a, b in zip(slow.seconds, fast.seconds, strict=True)
    )


def coin_bytes(threshold: int) -> float:
    """What one of many coins needs: a bit for each digit of a round it takes part in, and a word after the last."""
    n_bytes, share = 0.0, 1.0
    for n_digits in ROUNDS:
        n_left = 64 - ((threshold & -threshold).bit_length() - 1)
        n_bytes += share * min(n_digits, n_left) / 8
        threshold, share = (threshold << n_digits) % COIN, share / 2**n_digits
        if not threshold:
            return n_bytes
    return n_bytes + 8 * share


def checksum(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def print_machine(*packages: str) -> None:
    """Print the processor and the versions that the figures belong to."""
    print(f"processor  {_processor()}, {os.cpu_count()} cores")
    print(f"system     {platform.system()} {platform.machine()}, Python {platform.python_version()}")
    print("packages   " + ", ".join(f"{name} {metadata.version(name)}" for name in packages) + "\n")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that reads well in a terminal and is Markdown too."""
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")
    print()


def per_second(amount: float, seconds: float) -> str:
    """Write a rate with three digits and its thousand: 283 M/s."""
    rate = amount / seconds
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{rate / factor:.3g} {letter}/s"
    return f"{rate:.3g} /s"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
