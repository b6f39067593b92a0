"""Randomize and tally RAPPOR reports, beside multi-freq-ldpy, on one core. Run: make bench

The same work for both: from true cells to randomized reports to estimated shares. The peer works through fewer
reports (its time is linear in them) and rates are compared. Ours draws from the secure source, the peer from numba's
generator.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from measure import (
    Timing,
    checksum,
    coin_bytes,
    per_second,
    pin_to_one_core,
    print_machine,
    print_table,
    ratio,
    side_by_side,
)
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from numba import njit
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness import SecureRandomness, SeededRandomness
from tacit.randomness.bernoulli import CHUNK_WORDS, ROUNDS

N_CELLS = 17
OURS = 10_000_000
PEERS = 100_000
TARGET_RATIO = 300
MOST_STANDARD_ERRORS = 6.0  # 17 cells: exceeded by chance once in 30 million runs


def main() -> None:
    pin_to_one_core()
    print_machine("tacit", "multi-freq-ldpy", "numpy", "numba", "cryptography")
    cells = true_cells(OURS)
    keystream = keystream_speed()
    print(f"first use: kernels compiled or loaded in {first_use(cells):.1f} s")
    print(f"keystream: {keystream / 1e9:.1f} GB/s\n")
    for f in (0.5, 0.3):
        compare_end_to_end(f, cells, keystream)
    for f in (0.5, 0.3):
        check_twins(f, cells[:1_000_000])
    compare_stored_tally(cells)


def true_cells(n: int) -> NDArray[np.int32]:
    """Regions as uneven as real ones: the smallest has a twentieth of the largest."""
    shares = np.geomspace(1, 0.05, N_CELLS)
    return np.random.default_rng(2018).choice(N_CELLS, size=n, p=shares / shares.sum()).astype(np.int32)


def first_use(cells: NDArray[np.int32]) -> float:
    start = time.perf_counter()
    encoding = UnaryEncoding.rappor(f=0.3, n_cells=N_CELLS)
    tallied(encoding, encoding.randomize(cells, randomness=SecureRandomness()))
    return time.perf_counter() - start


def keystream_speed() -> float:
    """Bytes a second from the secure source, in the blocks in which coins ask for them."""
    source, block = SecureRandomness(), np.empty(CHUNK_WORDS * ROUNDS[0], np.uint64)
    timing = side_by_side({"fill": lambda: [source.fill(block) for _ in range(50)]})["fill"]
    return 50 * block.nbytes / min(timing.seconds)


def tallied(encoding: UnaryEncoding, reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    return encoding.statistics(reports, np.array([len(reports)]))[0]


def compare_end_to_end(f: float, cells: NDArray[np.int32], keystream: float) -> None:
    encoding = UnaryEncoding.rappor(f=f, n_cells=N_CELLS)
    p, q = float(encoding.p), float(encoding.q)
    values = cells[:PEERS].tolist()
    epsilon = 2 * math.log((1 - f / 2) / (f / 2))
    source = SecureRandomness()

    def ours() -> NDArray[np.float64]:
        counts = tallied(encoding, encoding.randomize(cells, randomness=source))
        return (counts - OURS * q) / (p - q) / OURS

    def peer() -> NDArray[np.float64]:
        reports = [UE_Client(value, N_CELLS, epsilon, False) for value in values]
        return UE_Aggregator_MI(reports, epsilon, False)

    peer_in_loop = peer_in_compiled_loop(cells[:PEERS].astype(np.int64), epsilon)
    timings = side_by_side({"tacit": ours, "peer": peer, "loop": peer_in_loop})
    worst = {
        name: standard_errors(timing.result, cells[:n], p, q)
        for (name, timing), n in zip(timings.items(), (OURS, PEERS, PEERS), strict=True)
    }
    assert max(worst.values()) < MOST_STANDARD_ERRORS, worst

    def row(title: str, name: str, n: int) -> list[str]:
        timing: Timing = timings[name]
        faster = ratio(timing, timings["tacit"], work_of_slow=n, work_of_fast=OURS)
        return [title, f"{n:,}", per_second(n, timing.median), f"{faster:,.0f}", f"{worst[name]:.1f} s.e."]

    rows = [
        row("tacit, secure randomness", "tacit", OURS),
        row("multi-freq-ldpy, called as its README does", "peer", PEERS),
        row("multi-freq-ldpy, its client in a compiled loop of ours", "loop", PEERS),
    ]
    print_table(
        [f"randomize + tally, k = {N_CELLS}, f = {f}", "reports", "rate", "tacit is × faster", "worst error"], rows
    )
    reached = ratio(timings["peer"], timings["tacit"], work_of_slow=PEERS, work_of_fast=OURS)
    print(f"target {TARGET_RATIO} ×: {'reached' if reached >= TARGET_RATIO else 'MISSED'}")
    needed = OURS * encoding.n_cells * coin_bytes(encoding.zeros)
    print(
        f"keystream needed: {needed / 1e6:.0f} MB, {needed / keystream * 1e3:.1f} ms of "
        f"{timings['tacit'].median * 1e3:.1f} ms: {needed / keystream / timings['tacit'].median:.0%} of the time\n"
    )


def peer_in_compiled_loop(values: NDArray[np.int64], epsilon: float) -> Callable[[], NDArray[np.float64]]:
    """The peer's own compiled client, spared the trip through Python for each report: not something it offers."""

    @njit
    def randomize(values: Any, n_cells: int, epsilon: float) -> Any:
        reports = np.empty((values.size, n_cells))
        for i in range(values.size):
            reports[i] = UE_Client(values[i], n_cells, epsilon, False)
        return reports

    p = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)

    def work() -> NDArray[np.float64]:
        counts = randomize(values, N_CELLS, epsilon).sum(axis=0)
        estimates: NDArray[np.float64] = (counts / values.size - (1 - p)) / (2 * p - 1)
        return estimates

    return work


def standard_errors(shares: NDArray[np.float64], cells: NDArray[np.int32], p: float, q: float) -> float:
    """The largest distance of an estimated share from the truth, in standard errors."""
    n, truth = len(cells), np.bincount(cells, minlength=N_CELLS) / len(cells)
    error = np.sqrt((q * (1 - q) + truth * (p * (1 - p) - q * (1 - q))) / n) / (p - q)
    return float(np.abs((shares - truth) / error).max())


def check_twins(f: float, cells: NDArray[np.int32]) -> None:
    """Compiled and plain kernels must give the same bytes from the same seed."""
    encoding = UnaryEncoding.rappor(f=f, n_cells=N_CELLS)
    sums = []
    for worth_loading in (0, 1 << 62):
        with patch.object(_kernels, "WORTH_LOADING", worth_loading):
            reports = encoding.randomize(cells, randomness=SeededRandomness(25))
            sums.append(checksum(reports, tallied(encoding, reports)))
    assert sums[0] == sums[1]
    print(f"f = {f}: {len(cells):,} seeded reports and their tally, compiled and plain: both sha256 {sums[0]}")


def compare_stored_tally(cells: NDArray[np.int32]) -> None:
    encoding = UnaryEncoding.rappor(f=0.3, n_cells=N_CELLS)
    reports = encoding.randomize(cells, randomness=SecureRandomness())
    copy = np.empty_like(reports)
    runs = np.full(len(reports) // 80, 80)
    timings = side_by_side(
        {
            "one": lambda: tallied(encoding, reports),
            "runs": lambda: encoding.statistics(reports, runs),
            "copy": lambda: np.copyto(copy, reports),
        }
    )
    assert (timings["one"].result == timings["runs"].result.sum(axis=0)).all()
    n, copying = len(reports), timings["copy"]
    share = {name: ratio(copying, timing) for name, timing in timings.items()}
    titles = {
        "one": "tally of all",
        "runs": f"tally of {len(runs):,} days of 80 reports",
        "copy": "np.copyto of the same bytes",
    }
    print()
    print_table(
        [f"{n:,} stored reports of {reports.shape[1]} bytes", "rate", "share of the copy's speed"],
        [[title, per_second(n, timings[name].median), f"{share[name]:.0%}"] for name, title in titles.items()],
    )
    reached = n / timings["one"].median >= 1e9 or share["one"] >= 0.25
    print(f"target 1 G reports/s or 25 % of the copy: {'reached' if reached else 'MISSED'}")


if __name__ == "__main__":
    main()
