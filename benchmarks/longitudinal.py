"""Devices that report again and again, beside multi-freq-ldpy. Run: python benchmarks/longitudinal.py

The same work for both: from the true cells of a day to randomized reports to estimated shares, for devices with
epsilon_infinity 4 and epsilon_1 1. The peer is called as its documentation does, once for each value; its clients keep
no memo and draw both rounds again in every call, so ours is timed without a memo (``randomize``) and with one
(``FleetMemo``). Errors are computed from the probabilities that each side uses, and so is the epsilon_1 that these
really give; all shares must lie within 6 standard errors of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from measure import per_second, pin_to_one_core, print_machine, print_table, ratio, side_by_side
from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Aggregator_MI, L_LH_Client
from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Aggregator_MI, L_OSUE_Client
from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Aggregator_MI, L_SUE_Client
from numpy.typing import NDArray

from tacit.counts.oracle_distributions import mean_variance
from tacit.mechanisms.local.memo import FleetMemo, RepeatedRandomizer
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.randomness import SecureRandomness

INFINITY, ONCE = 4.0, 1.0
N_CELLS = 17
N_OURS, N_PEER, N_HASHED = 300_000, 10_000, 500  # the peer's time is linear in the reports
MOST_STANDARD_ERRORS = 6.0
Shares = NDArray[np.float64]


def true_cells(n: int) -> NDArray[np.int64]:
    shares = np.geomspace(1, 0.05, N_CELLS)
    return np.random.default_rng(2018).choice(N_CELLS, size=n, p=shares / shares.sum())


def ours(mechanism: RepeatedRandomizer, cells: NDArray[np.int64], *, remembers: bool) -> Callable[[], Shares]:
    source, n = SecureRandomness(), len(cells)
    fleet, devices = FleetMemo(mechanism), np.arange(n)
    p, q = float(mechanism.distribution.p), float(mechanism.distribution.q)

    def work() -> Shares:
        if remembers:
            reports = fleet.randomize(devices, cells, randomness=source)
        else:
            reports = mechanism.randomize(cells, randomness=source)
        return np.asarray((mechanism.statistics(reports, np.array([n]))[0] / n - q) / (p - q))

    return work


@dataclass(frozen=True)
class Pair:
    """A mechanism of ours beside the peer's: its client and aggregator, its true epsilon_1, variance and reports."""

    title: str
    mechanism: RepeatedRandomizer
    client: Callable[[int], object]
    shares: Callable[[list[Any]], Shares]
    epsilon_1: float
    variance: float
    n_reports: int

    def peer(self) -> Callable[[], Shares]:
        values = true_cells(self.n_reports).tolist()
        return lambda: self.shares([self.client(value) for value in values])


def hash_probabilities(optimal: bool) -> tuple[int, float, float]:
    """The peer's number of hash values, the epsilon_1 that its two rounds give, and its mean variance."""
    a, b, g = math.exp(INFINITY), math.exp(ONCE), 2
    if optimal:  # the optimum of Arcolezi2023 for its own second round
        root = math.sqrt(a**4 - 14 * a**2 - 12 * a**2 * b**2 + 12 * a * b + 12 * a**3 * b + 1)
        g = max(round((root - a**2 + 6 * a - 6 * b + 1) / (6 * (a - b))), 2)
    p1, q1 = a / (a + g - 1), 1 / (a + g - 1)
    p2 = (q1 - b * p1) / (-p1 * b + g * q1 * b - q1 * b - p1 * (g - 1) + q1)
    q2 = (1 - p2) / (g - 1)
    p, other, q = p1 * p2 + (g - 1) * q1 * q2, q1 * p2 + p1 * q2 + (g - 2) * q1 * q2, 1 / g
    return g, math.log(p / other), q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / N_CELLS


def pairs() -> Iterator[Pair]:
    epsilons = {"epsilon_infinity": INFINITY, "epsilon_1": ONCE, "n_cells": N_CELLS}
    for title, client, aggregate, optimized in (
        ("longitudinal RAPPOR (L-SUE)", L_SUE_Client, L_SUE_Aggregator_MI, False),
        ("L-OSUE", L_OSUE_Client, L_OSUE_Aggregator_MI, True),
    ):
        rappor = LongitudinalRappor.from_epsilons(**epsilons, optimized=optimized)
        yield Pair(
            title,
            rappor,
            partial(_called, client),
            partial(aggregate, eps_perm=INFINITY, eps_1=ONCE),
            ONCE,
            mean_variance(rappor.distribution),  # the same coins, but for rounding
            N_PEER,
        )
    for optimal in (False, True):
        hashing = LongitudinalHashing.from_epsilons(**epsilons, bits=None if optimal else 1)
        g, once, variance = hash_probabilities(optimal)
        yield Pair(
            f"LOLOHA, g = {hashing.n_values}, peer's {g}",
            hashing,
            partial(_called, L_LH_Client, optimal=optimal),
            partial(L_LH_Aggregator_MI, k=N_CELLS, eps_perm=INFINITY, eps_1=ONCE, optimal=optimal),
            once,
            variance,
            N_HASHED,
        )


def _called(client: Callable[..., object], value: int, **settings: object) -> object:
    return client(value, N_CELLS, INFINITY, ONCE, **settings)


def main() -> None:
    pin_to_one_core()
    print_machine("numpy", "numba", "cryptography", "multi-freq-ldpy")
    cells = true_cells(N_OURS)
    truth = np.bincount(cells, minlength=N_CELLS) / N_OURS
    rows = []
    for pair in pairs():
        mechanism, distribution = pair.mechanism, pair.mechanism.distribution
        timings = side_by_side(
            {
                "ours": ours(mechanism, cells, remembers=False),
                "memo": ours(mechanism, cells, remembers=True),
                "peer": pair.peer(),
            },
            rounds=3,
        )
        variances = [truth @ distribution.variances(np.eye(N_CELLS)[cell]) for cell in range(N_CELLS)]
        for name in ("ours", "memo"):
            errors = (timings[name].result - truth) / np.sqrt(np.array(variances) / N_OURS)
            assert np.abs(errors).max() < MOST_STANDARD_ERRORS, f"{pair.title}: shares are not the true ones"
        own, times = mean_variance(distribution), {"work_of_slow": pair.n_reports, "work_of_fast": N_OURS}
        rows.append(
            [
                pair.title,
                per_second(N_OURS, timings["ours"].median),
                per_second(N_OURS, timings["memo"].median),
                per_second(pair.n_reports, timings["peer"].median),
                f"{ratio(timings['peer'], timings['ours'], **times):,.0f}",
                f"{mechanism.epsilon_1:.3f}, {pair.epsilon_1:.3f}",
                f"{own:.3f}, {pair.variance:.3f}",
            ]
        )
    headings = ["randomize + tally, k = 17", "tacit", "with a memo", "peer", "× faster"]
    print_table([*headings, "ε₁ tacit, peer", "variance of a report tacit, peer"], rows)


if __name__ == "__main__":
    main()
