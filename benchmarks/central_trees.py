"""A fused tree over 2^20 leaves beside OpenDP's, and ten million ranges with intervals, on one core.

Run: python benchmarks/central_trees.py

The same work for both: from exact counts of the leaves to noise on every node of a tree of degree 16, drawn from a
secure source, to leaves that agree with all nodes. OpenDP does it as its documentation does, with b_ary_tree, Laplace
noise and consistent_b_ary_tree, at the same epsilon; it measures the root too. Both results are held against the truth
before a time is printed. Ranges are answered from running sums of the leaves, each with the interval of its own
distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from measure import per_second, pin_to_one_core, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise import TreeNoise
from tacit.domain import Hierarchy
from tacit.randomness import SecureRandomness

DEGREE, HEIGHT = 16, 5
N_LEAVES = DEGREE**HEIGHT
N_RANGES = 10_000_000
EPSILON = 1
LEVEL = 0.95
TARGET_TIMES, TARGET_SECONDS = 100, 5.0
N_SIGMA = 6

Ranges = tuple[NDArray[np.int64], NDArray[np.int64]]


def main() -> None:
    pin_to_one_core()
    print_machine("tacit", "opendp", "numpy", "numba", "cryptography")
    _kernels.WORTH_LOADING = 0  # compiled kernels alone  # type: ignore[misc]
    rng = np.random.default_rng(16)
    counts = rng.poisson(50, N_LEAVES)
    ranges = random_ranges(rng, N_RANGES)
    noise, leaves = release(counts)
    print_release(counts, (ranges[0][:100_000], ranges[1][:100_000]))
    print_ranges(noise, leaves, counts, ranges)


def print_release(counts: NDArray[np.int64], ranges: Ranges) -> None:
    timings = side_by_side({"tacit": lambda: release(counts)[1], "OpenDP": peer(counts)}, rounds=2)
    times = ratio(timings["OpenDP"], timings["tacit"])
    lines = []
    for name, timing in timings.items():
        error = range_error(np.asarray(timing.result), counts, ranges)
        lines.append([name, f"{timing.median:.3g} s", per_second(N_LEAVES, timing.median), f"{error:.1f}"])
    print_table([f"fused tree, {N_LEAVES:,} leaves, degree {DEGREE}", "time", "leaves", "error of a range"], lines)
    verdict = "reached" if times >= TARGET_TIMES else "MISSED"
    print(f"tacit is {times:,.0f} × faster; target {TARGET_TIMES} ×: {verdict}\n")


def print_ranges(noise: TreeNoise, leaves: NDArray[np.float64], counts: NDArray[np.int64], ranges: Ranges) -> None:
    def answers() -> tuple[NDArray[np.float64], ...]:
        first, stop = ranges
        sums = np.concatenate([[0.0], np.cumsum(leaves)])
        values = sums[stop] - sums[first]
        return values, *noise.range_intervals(values, first, stop, LEVEL)

    timing = side_by_side({"tacit": answers}, rounds=3)["tacit"]
    _, lower, upper = timing.result
    truth = np.concatenate([[0], np.cumsum(counts)])
    truth = truth[ranges[1]] - truth[ranges[0]]
    covered = float(np.mean((lower <= truth) & (truth <= upper)))
    # ranges share the few nodes near the root: shares of one release lie a point or two from the level
    if not abs(covered - LEVEL) < 0.08:
        raise SystemExit(f"{covered:.1%} of the intervals cover the truth instead of {LEVEL:.0%}")
    verdict = "reached" if timing.median < TARGET_SECONDS else "MISSED"
    rate = per_second(N_RANGES, timing.median)
    print_table(
        ["ranges with intervals", "time", "rate", "cover the truth", "target"],
        [[f"{N_RANGES:,}", f"{timing.median:.2f} s", rate, f"{covered:.1%}", f"{TARGET_SECONDS:g} s {verdict}"]],
    )


def release(counts: NDArray[np.int64]) -> tuple[TreeNoise, NDArray[np.float64]]:
    """Everything from the exact counts on: the tree, its sums, their noise, and the least-squares leaves."""
    tree = Hierarchy.of_fan_outs([DEGREE] * HEIGHT)
    distribution = DiscreteLaplace(Fraction(EPSILON, HEIGHT))
    noise = TreeNoise(tree, (None, *[distribution] * HEIGHT), (N_LEAVES, 1))
    nodes, source = tree.sum_leaves(counts), SecureRandomness()
    nodes[1:] += distribution.draw(tree.n_nodes - 1, randomness=source)
    nodes[0] = 0  # not measured
    return noise, noise.fusion.fuse(nodes)


def peer(counts: NDArray[np.int64]) -> Callable[[], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), size=N_LEAVES), dp.l1_distance(T=int)
    tree = dp.t.make_b_ary_tree(*space, leaf_count=N_LEAVES, branching_factor=DEGREE)
    noisy = tree >> dp.m.then_laplace(scale=float(HEIGHT + 1) / EPSILON)
    assert math.isclose(noisy.map(1), EPSILON, rel_tol=1e-9)
    measurement = noisy >> dp.t.make_consistent_b_ary_tree(branching_factor=DEGREE)
    listed = counts.tolist()
    return lambda: measurement(listed)


def random_ranges(rng: np.random.Generator, count: int) -> Ranges:
    first = rng.integers(0, N_LEAVES + 1, count)
    stop = (first + rng.integers(1, N_LEAVES + 1, count)) % (N_LEAVES + 1)  # another one
    return np.minimum(first, stop), np.maximum(first, stop)


def range_error(leaves: NDArray[np.float64], counts: NDArray[np.int64], ranges: Ranges) -> float:
    """The root mean squared error of ranges; stop if it is not that of a fused tree."""
    sums = np.concatenate([[0.0], np.cumsum(leaves - counts)])
    error = float(np.sqrt(np.mean((sums[ranges[1]] - sums[ranges[0]]) ** 2)))
    if not error < N_SIGMA * 40:  # flat counts err by 840
        raise SystemExit(f"ranges err by {error:.0f}: the leaves are not those of a fused tree")
    return error


if __name__ == "__main__":
    main()
