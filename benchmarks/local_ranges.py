"""How much ranges of private days err: every visit reports once, on one level of a tree, at epsilon 1.

    python benchmarks/local_ranges.py              # 6 draws of each series
    python benchmarks/local_ranges.py --draws 20

2048 days of 1,000 visits each on average, smooth (a weekly and a yearly cycle) or with bursts of a few days. Every
visit is randomized, tallied and fused as in a release; "shrunk" are its biased, refined values. The error is the root
of the mean square over all 2,098,176 ranges of days and over the draws. It can be told because the truth is drawn here.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np
from measure import print_machine, print_table
from numpy.typing import NDArray

from tacit.counts.noise.sampled import level_variances
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.tree_design import mean_range_variance
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.postprocess.shrinkage import shrink
from tacit.randomness import SeededRandomness

N_DAYS, PER_DAY, EPSILON = 2048, 1000, 1.0
TARGETS = {("smooth", "unbiased"): 12_500, ("smooth", "shrunk"): 7_000}
TARGETS |= {("bursty", "unbiased"): 13_000, ("bursty", "shrunk"): 11_500}

Counts = NDArray[np.int64]


def smooth(rng: np.random.Generator) -> Counts:
    """Visits of a library: weekdays, seasons, 12 % of chance a day, and now and then a day when it is closed."""
    day = np.arange(N_DAYS)
    rates = np.array([1.12, 1.12, 1.08, 1.06, 1.0, 0.95, 0.67])[day % 7]
    rates = rates * (1 + 0.15 * np.cos(2 * np.pi * (day / 365.25 - 0.1))) * np.exp(rng.normal(0, 0.12, N_DAYS))
    rates[rng.random(N_DAYS) < 0.015] *= 0.05
    return rng.poisson(rates / rates.mean() * PER_DAY)


def bursty(rng: np.random.Generator) -> Counts:
    """Even days but for bursts of 1 to 7 days, 8 to 40 times as high."""
    rates = np.ones(N_DAYS)
    for _ in range(N_DAYS // 60):
        first = rng.integers(0, N_DAYS)
        rates[first : first + rng.integers(1, 8)] *= rng.uniform(8, 40)
    return rng.poisson(rates / rates.mean() * PER_DAY)


def range_error(estimated: NDArray[np.float64], true: Counts) -> float:
    """The mean square error over all ranges."""
    running = np.concatenate(([0.0], np.cumsum(estimated - true)))
    n = len(running)
    # the mean of (b - a)**2 over all pairs of running totals
    return float(2 * (n * (running**2).sum() - running.sum() ** 2) / (n * (n - 1)))


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors of ranges of private days.")
    parser.add_argument("--draws", type=int, default=6)
    draws = parser.parse_args().draws
    print_machine("tacit", "numpy")
    domain = Domain(TimeAxis.between("2013-01-01", None).with_end(N_DAYS), PlaceAxis.of(["library"]))
    plan = plan_for(domain, epsilon=EPSILON, mechanism="hierarchical", private=("time",))
    mechanism = mechanism_of(plan)
    assert isinstance(mechanism, HierarchicalHistogram)
    variances = level_variances([oracle.distribution for oracle in mechanism.oracles], mechanism.chances)
    predicted = math.sqrt(N_DAYS * PER_DAY * mean_range_variance(mechanism.hierarchy, variances))
    print(f"{N_DAYS} days, {PER_DAY:,} visits a day, epsilon {EPSILON:g}; levels {mechanism.hierarchy.level_sizes},")
    print(f"reports of {mechanism.report_bytes} bytes. Predicted for even days: {predicted:,.0f}.\n")
    squares: dict[tuple[str, str], list[float]] = {}
    started = time.perf_counter()
    for name, series in (("smooth", smooth), ("bursty", bursty)):
        for draw in range(draws):
            true = series(np.random.default_rng(draw))
            cells = np.repeat(np.arange(N_DAYS), true)
            reports = mechanism.randomize(cells, randomness=SeededRandomness(draw))
            run = np.array([len(reports)])
            tally = Tally(Provenance(plan.fingerprint, is_simulation=True), mechanism.statistics(reports, run), run)
            unbiased = mechanism.estimate(tally, plan, domain)
            shrunk = shrink(unbiased)
            for kind, estimate in (("unbiased", unbiased), ("shrunk", shrunk)):
                squares.setdefault((name, kind), []).append(range_error(estimate.values[:, 0], true))
    rows, missed = [], 0
    for (name, kind), drawn in squares.items():
        error, least, largest = (math.sqrt(value) for value in (np.mean(drawn), min(drawn), max(drawn)))
        target = TARGETS[name, kind]
        missed += error > target
        rows.append([f"{name}, {kind}", f"{error:,.0f}", f"{least:,.0f} to {largest:,.0f}", f"{target:,}"])
    print_table(["series, values", "RMSE", "of single draws", "target, at most"], rows)
    print(f"{draws} draws of each series in {time.perf_counter() - started:.0f} s; targets missed: {missed}.")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
