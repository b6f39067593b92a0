"""Reports that hide the place and the kind, beside multi-freq-ldpy. Run: python benchmarks/multidimensional.py

The same work for all: from the true place and kind of every event to randomized reports to the estimated shares of
places and of kinds, at the same true epsilon for a change of both. The peer's SPL, SMP and RS+FD take the better of two
oracles for each coordinate (its ``ADP``) and are called as its documentation does, once for each event. RS+RFD is not
in the package; it is written here after the paper, with randomized response and the true shares as its prior, which is
the best there is. RS+FD and RS+RFD have the true epsilon in their oracle: that is what a change of both coordinates
tells (docs/proofs/sampled-tables.md). The peer clips negative shares and rescales them, so the same is done to ours. An
error is the number of reports times the sum of the squared errors of all shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from measure import per_second, pin_to_one_core, print_machine, print_table, ratio, side_by_side
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_ADP_Aggregator_MI, RSpFD_ADP_Client
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_ADP_Aggregator_MI, SMP_ADP_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_ADP_Aggregator_MI, SPL_ADP_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from numpy.typing import NDArray

from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.randomness import SecureRandomness

SIZES = [17, 6]
EPSILONS = (1.0, 2.0, 4.0)
N_OURS, N_PEER, N_REPEATS = 300_000, 10_000, 40
MARGINALS, ALL = {"place": 1.0, "kind": 1.0}, {"place": 1.0, "kind": 1.0, "joint": 1.0}
Shares = list[NDArray[np.float64]]
Work = Callable[[NDArray[np.int64]], Shares]


def true_events(n: int, seed: int) -> NDArray[np.int64]:
    """Places and kinds of events; which kind is likely depends on the place."""
    places, kinds = np.geomspace(1, 0.05, SIZES[0]), np.array([0.5, 0.2, 0.12, 0.1, 0.05, 0.03])
    joint = np.outer(places, kinds) * np.random.default_rng(1).gamma(3, 1 / 3, SIZES)
    cells = np.random.default_rng(seed).choice(joint.size, size=n, p=(joint / joint.sum()).ravel())
    return np.column_stack([cells // SIZES[1], cells % SIZES[1]])


def shares_of(events: NDArray[np.int64]) -> Shares:
    return [np.bincount(events[:, axis], minlength=size) / len(events) for axis, size in enumerate(SIZES)]


def clipped(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.clip(shares, 0, None)
    return positive / positive.sum()


def ours(mechanism: str, epsilon: float, asked: dict[str, float] | None) -> Work:
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-01-01"),
        PlaceAxis.of([f"place {number}" for number in range(SIZES[0])]),
        KindAxis.of([f"kind {number}" for number in range(SIZES[1])]),
    )
    plan = plan_for(domain, epsilon=epsilon, mechanism=mechanism, private=("place", "kind"), asked=asked)
    device, source = mechanism_of(plan), SecureRandomness()

    def work(events: NDArray[np.int64]) -> Shares:
        n = np.array([len(events)])
        reports = device.randomize(events[:, 0] * SIZES[1] + events[:, 1], randomness=source)
        made = estimate_tally(Tally(Provenance(plan.fingerprint), device.statistics(reports, n), n), plan)
        table = made.values.reshape(SIZES) / len(events)
        return [clipped(table.sum(axis=1)), clipped(table.sum(axis=0))]

    return work


def peer(client: Callable[..., object], aggregate: Callable[..., object], epsilon: float) -> Work:
    def work(events: NDArray[np.int64]) -> Shares:
        reports = [client(event, SIZES, len(SIZES), epsilon) for event in events.tolist()]
        return [np.asarray(one, np.float64) for one in aggregate(reports, SIZES, len(SIZES), epsilon)]  # type: ignore[attr-defined]

    return work


def realistic_fake_data(epsilon: float, priors: Shares) -> Work:
    """RS+RFD with randomized response of this true epsilon, by the peer's client."""
    random, d = np.random.default_rng(), len(SIZES)

    def work(events: NDArray[np.int64]) -> Shares:
        reports = np.column_stack(
            [random.choice(size, size=len(events), p=prior) for size, prior in zip(SIZES, priors, strict=True)]
        )
        for event, report in zip(events.tolist(), reports, strict=True):
            axis = random.integers(d)
            report[axis] = GRR_Client(event[axis], SIZES[axis], epsilon)
        found = []
        for seen, size, prior in zip(shares_of(reports), SIZES, priors, strict=True):
            q = 1 / (math.exp(epsilon) + size - 1)
            found.append(clipped((d * seen - (d - 1) * prior - q) / (q * math.exp(epsilon) - q)))
        return found

    return work


def error(work: Work) -> float:
    """The mean over several sets of events."""
    total = 0.0
    for seed in range(N_REPEATS):
        events = true_events(N_PEER, seed)
        pairs = zip(work(events), shares_of(events), strict=True)
        total += N_PEER * sum(float(((made - true) ** 2).sum()) for made, true in pairs)
    return total / N_REPEATS


def main() -> None:
    pin_to_one_core()
    print_machine("numpy", "numba", "cryptography", "multi-freq-ldpy")
    few, many = true_events(N_PEER, 0), true_events(N_OURS, 0)
    priors = shares_of(true_events(1_000_000, 99))
    for epsilon in EPSILONS:
        claimed = math.log((math.exp(epsilon) - 1) / len(SIZES) + 1)  # amplified, it is the true one
        works: dict[str, Work] = {
            "tacit, sampled tables for both sums": ours("sampled tables", epsilon, MARGINALS),
            "tacit, sampled tables, joint cells too": ours("sampled tables", epsilon, ALL),
            "tacit, subsets of joint cells": ours("subset", epsilon, None),
            "multi-freq-ldpy, SMP": peer(SMP_ADP_Client, SMP_ADP_Aggregator_MI, epsilon),
            "multi-freq-ldpy, SPL": peer(SPL_ADP_Client, SPL_ADP_Aggregator_MI, epsilon),
            "multi-freq-ldpy, RS+FD": peer(RSpFD_ADP_Client, RSpFD_ADP_Aggregator_MI, claimed),
            "RS+RFD after the paper": realistic_fake_data(epsilon, priors),
        }
        best, *others = works
        errors = {name: error(work) for name, work in works.items()}
        sizes = {name: many if name.startswith("tacit") else few for name in works}
        timings = side_by_side({name: lambda w=work, e=sizes[name]: w(e) for name, work in works.items()}, rounds=3)
        rows = []
        for name in works:
            times = ratio(timings[name], timings[best], work_of_slow=len(sizes[name]), work_of_fast=len(many))
            rows.append(
                [
                    name,
                    f"{errors[name]:.3g}",
                    f"{errors[name] / errors[best]:.2f}",
                    per_second(len(sizes[name]), timings[name].median),
                    f"{times:.0f}" if times > 2 else f"{times:.1f}",
                ]
            )
        title = f"17 places x 6 kinds, epsilon {epsilon:g}"
        print_table([title, "error", "x ours", "rate", "tacit is x faster"], rows)
        least = min(errors[name] for name in others if "tacit" not in name)
        print(f"the least of the others errs {least / errors[best]:.2f} times as much in squares\n")


if __name__ == "__main__":
    main()
