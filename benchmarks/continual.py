"""How fast a counter runs: bins a second, in one process on one core, for each noise model.

    python benchmarks/continual.py [--bins 200000] [--places 17]

``batch`` counts many bins in one call and publishes all their totals; ``single`` calls ``step`` for each bin, as a
service does that publishes every minute; ``disk`` is ``CounterFiles.add`` in batches, state and history written and
seen on the disk; ``disk, one by one`` does that for every bin, and tells how fast the disk is.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.counts.continual_noise import ContinualNoise
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.continual import Counter, CounterFiles
from tacit.mechanisms.continual.picker import compare
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend

SINGLE_BINS = 3_000
DISK_BINS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bins", type=int, default=200_000)
    parser.add_argument("--places", type=int, default=17)
    given = parser.parse_args()
    counts = np.random.default_rng(1).integers(0, 100, (given.bins, given.places))
    domain = Domain(
        TimeAxis.between("2018-01-01", None, step="hour"), PlaceAxis.of([f"p{n}" for n in range(given.places)])
    )
    print(f"{given.bins:,} bins, {given.places} places; bins a second")
    print(f"{'noise model':32} {'batch':>12} {'single':>9} {'disk':>9} {'disk, one by one':>17}")
    slowest = float("inf")
    for noise_model in noise_models(given.bins):
        counter = Counter.start(Spend.simulation(noise_model.cost, seed=1), domain, noise_model=noise_model)
        at_once = batch(counter, counts)
        slowest = min(slowest, at_once)
        print(f"{noise_model.kind:32} {at_once:12,.0f} {single(counter, counts):9,.0f} ", end="", flush=True)
        print(f"{disk(counter, counts):9,.0f} {disk(counter, counts[:DISK_BINS], size=1):17,.0f}", flush=True)
    print(
        f"Target: 100,000 bins a second in a batch, for every noise model; {'reached' if slowest >= 1e5 else 'MISSED'}."
    )


def noise_models(n_bins: int) -> list[ContinualNoise]:
    """The best of each kind."""
    found = [one.noise_model for one in compare(Cost.pure(1.0), n_bins, reacts=False)]
    found += [one.noise_model for one in compare(Cost.pure(1.0))]
    for horizon in (n_bins, None):
        found += [
            one.noise_model for one in compare(Cost.zcdp(0.5), horizon) if one.noise_model.kind == "buffered root"
        ]
    return found


def batch(counter: Counter, counts: np.ndarray) -> float:
    for _ in range(2):  # compiles what is compiled
        counter.steps(counter.begin(), counts)
    started = time.perf_counter()
    counter.steps(counter.begin(), counts)
    return len(counts) / (time.perf_counter() - started)


def single(counter: Counter, counts: np.ndarray) -> float:
    state, _ = counter.step(counter.begin(), counts[0])
    started = time.perf_counter()
    for row in counts[1:SINGLE_BINS]:
        state, _ = counter.step(state, row)
    return (SINGLE_BINS - 1) / (time.perf_counter() - started)


def disk(counter: Counter, counts: np.ndarray, size: int = 4096) -> float:
    with tempfile.TemporaryDirectory() as folder:
        files = CounterFiles(Path(folder) / "benchmark.counter")
        files.create(counter, spend=Spend.simulation(counter.stream.noise_model.cost, seed=1))
        started = time.perf_counter()
        for first in range(0, len(counts), size):
            files.add(counts[first : first + size])
        return len(counts) / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
