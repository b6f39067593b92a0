"""Faults planted in our own code: how often the audit made for each refutes it, and how often right code is refuted.

python -m experiments.audits.planted          # 10 audits of each fault, at the default settings
python -m experiments.audits.planted --right  # 300 small audits of each kind, of right code, at an error rate of 5 %
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from tacit.audit import Audit, audit_dependence, audit_memo, audit_nodes, audit_shared_coins
from tacit.audit.correlated_reports import Fleet
from tacit.audit.curators import nodes_of_counter, nodes_of_plan, releases_of_plan
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace, NodeDistribution
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.central.tree import NoisyTree
from tacit.mechanisms.continual import Counter
from tacit.mechanisms.local.memo import FleetMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.randomness import SecureRandomness

SHARE = 1 - 0.01 / 6  # what each of six audits of a plan has of a confidence of 99 %
SOURCE = SecureRandomness()
RAPPOR = LongitudinalRappor.from_epsilon(epsilon=1.0, n_cells=17)
LATER = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
RESPONSE = RandomizedResponse.from_epsilon(epsilon=1.0, n_cells=17)


def year(**claim: Any) -> Plan:
    days = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["one", "other", "third"]))
    return central_plan_for(days, **claim)


def counter(cost: Cost) -> Any:
    days = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["one"]))
    return Counter.start(Spend.simulation(cost, seed=1), days, horizon=365).stream


@contextmanager
def replaced(owner: type, name: str, other: Any) -> Iterator[None]:
    right = getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, right)


@contextmanager
def scale_times(share: Fraction) -> Iterator[None]:
    """Noise of every node with this share of its scale."""
    gaussian, laplace = DiscreteGaussian.draw, DiscreteLaplace.draw

    with (
        replaced(DiscreteGaussian, "draw", lambda self, n, **r: gaussian(self.scaled(1 / share**2), n, **r)),
        replaced(DiscreteLaplace, "draw", lambda self, n, **r: laplace(self.scaled(1 / share), n, **r)),
    ):
        yield


@contextmanager
def noise_of_the_first_place() -> Iterator[None]:
    right = NoisyTree.noisy_nodes

    def shared(self: NoisyTree, counts: Any, plan: Plan, *, spend: Spend) -> Any:
        noisy = right(self, counts, plan, spend=spend)
        exact = self.hierarchy.sum_leaves(counts.reveal())
        return exact + (noisy - exact)[:, :1]

    with replaced(NoisyTree, "noisy_nodes", shared):
        yield


def nodes(subject: Any, n_runs: int | None = None, confidence: float = SHARE) -> Audit:
    made = nodes_of_plan(subject) if isinstance(subject, Plan) else nodes_of_counter(subject)
    return audit_nodes(made, n_runs=n_runs, confidence=confidence)


def dependence(plan: Plan, n_runs: int = 2_000, confidence: float = SHARE) -> Audit:
    whole = releases_of_plan(plan)
    claim: dict[str, Any] = {"rho": plan.rho} if plan.rho else {"epsilon": plan.epsilon}
    return audit_dependence(whole.build, counts=whole.n_bins, n_runs=n_runs, confidence=confidence, **claim)


def shared_coins(n_reports: int = 40_000, confidence: float = 0.995, *, is_one: bool = False) -> Audit:
    def randomize(cells: Any) -> Any:
        if not is_one:
            return RESPONSE.randomize(cells, randomness=SOURCE)
        keep = RESPONSE.randomize(np.zeros(1, np.int64), randomness=SOURCE)[0, 0] == 0  # one coin for the whole call
        lies = (cells + 1 + SOURCE.words(len(cells)) % 16) % 17
        return np.where(keep, cells, lies).astype(np.uint8)[:, None]

    return audit_shared_coins(
        randomize, epsilon=1.0, values=17, randomizer=RESPONSE, n_reports=n_reports, confidence=confidence
    )


def coin_of_neighbours(n_together: int) -> Audit:
    """Audit randomized response of words whose coin serves so many neighbours; each report alone is right."""
    rng = np.random.default_rng()

    def randomize(values: Any) -> list[str]:
        keep = np.repeat(rng.random(-(-len(values) // n_together)) < 0.7, n_together)[: len(values)]  # epsilon 2.08
        return [value if kept else rng.choice(["a", "b", "c"]) for value, kept in zip(values, keep, strict=True)]

    return audit_shared_coins(randomize, epsilon=2.2, values=["a", "b", "c"], confidence=1 - 0.01 / 3)


def redraws(rappor: LongitudinalRappor, count: int) -> Fleet:
    return lambda cells: rappor.randomize(cells, randomness=SOURCE)


def forgets(rappor: LongitudinalRappor, count: int) -> Fleet:
    held: dict[str, Any] = {"cells": None}

    def reports(cells: Any) -> Any:
        if not np.array_equal(held["cells"], cells):
            held.update(cells=cells, memo=FleetMemo(rappor))
        return held["memo"].randomize(np.arange(count), cells, randomness=SOURCE)

    return reports


def one_mask(rappor: LongitudinalRappor, count: int) -> Fleet:
    without, zeros = LongitudinalRappor(rappor.n_cells, 0, rappor.ones, rappor.zeros), np.zeros(count, np.int64)
    zero, mask = (one.permanent_bits(zeros, randomness=SOURCE) for one in (without, rappor))

    def reports(cells: Any) -> Any:
        true = without.permanent_bits(cells, randomness=SOURCE)
        return rappor.instantaneous(true ^ zero ^ mask, randomness=SOURCE)

    return reports


MEMOS = {"draws again at every report": redraws, "forgets": forgets, "one mask for all values": one_mask}


def memo(rappor: LongitudinalRappor, fault: Callable[[LongitudinalRappor, int], Fleet]) -> Audit:
    return audit_memo(rappor, devices=partial(fault, rappor), confidence=0.9975)  # one of four audits of a plan


def few_answers(distribution: NodeDistribution, **claim: Any) -> Audit:
    """Audit 16 answers with noise of one of our distributions, each its own."""

    def build(tables: Any) -> Any:
        return tables + distribution.draw(tables.size, randomness=SOURCE).reshape(tables.shape)

    return audit_dependence(build, counts=16, n_runs=400, confidence=0.95, **claim)


def counted(said: str, n_audits: int, audit: Callable[[], Audit]) -> int:
    start = time.process_time()
    found = [audit() for _ in range(n_audits)]
    n_refuted = sum(one.is_refuted for one in found)
    seconds = (time.process_time() - start) / n_audits
    print(f"| {said} | {found[0].name} | {n_refuted} of {n_audits} | {seconds:.1f} |", flush=True)
    return n_refuted


def faults(n_audits: int) -> None:
    tenth = Fraction(9, 10)
    subjects = {
        "flat table, Laplace, ε 1": year(epsilon=1.0, mechanism="flat"),
        "flat table, Laplace, ε 0.1": year(epsilon=0.1, mechanism="flat"),
        "flat table, Gaussian, ε 1 at δ 1e-6": year(epsilon=1.0, delta=1e-6, mechanism="flat"),
        "tree, Laplace, ε 1": year(epsilon=1.0),
        "tree, Gaussian, ρ 0.5": year(rho=0.5, delta=1e-6),
        "counter, Laplace, ε 1": counter(Cost.pure(1.0)),
        "counter, Gaussian, ρ 0.5": counter(Cost.zcdp(0.5)),
    }
    for name, subject in subjects.items():
        with scale_times(tenth):
            counted(f"noise a tenth too small: {name}", n_audits, lambda subject=subject: nodes(subject))
    with scale_times(Fraction(99, 100)):
        counted("noise a hundredth too small: tree, Laplace, ε 1", n_audits, lambda: nodes(year(epsilon=1.0)))
    for name in ("flat table, Laplace, ε 1", "flat table, Gaussian, ε 1 at δ 1e-6", "tree, Laplace, ε 1"):
        with noise_of_the_first_place():
            counted(f"places share noise: {name}", n_audits, lambda name=name: dependence(subjects[name]))
    counted("one coin for a batch: randomized response, ε 1", n_audits, lambda: shared_coins(is_one=True))
    for n_together in (2, 3, 8, 64):
        counted(
            f"one coin for {n_together} neighbours: words, ε 2.2",
            n_audits,
            lambda n_together=n_together: coin_of_neighbours(n_together),
        )
    for rappor in (RAPPOR, LATER):
        for name, fault in MEMOS.items():
            said = f"memo {name}: epsilon_infinity {rappor.epsilon_infinity:g}"
            counted(said, n_audits, lambda rappor=rappor, fault=fault: memo(rappor, fault))


def right(n_audits: int) -> bool:
    flat, gaussian = year(epsilon=1.0, mechanism="flat"), year(rho=0.1, delta=1e-6, mechanism="flat")
    kinds: dict[str, Callable[[], Audit]] = {
        "nodes, Laplace": lambda: nodes(flat, 2_000, 0.95),
        "nodes, Gaussian": lambda: nodes(gaussian, 2_000, 0.95),
        "nodes of a counter, Gaussian": lambda: nodes(counter(Cost.zcdp(0.1)), 1_000, 0.95),
        "dependence, Laplace": lambda: few_answers(DiscreteLaplace(Fraction(1)), epsilon=1.0),
        "dependence, Gaussian": lambda: few_answers(DiscreteGaussian(Fraction(5)), rho=0.1),  # 1 / (2 rho)
        "shared coins": lambda: shared_coins(1_000, 0.95),
        "memo": lambda: audit_memo(RAPPOR, n_devices=200, times=4, confidence=0.95),
    }
    most = int(stats.binom.isf(1e-4, n_audits, 0.05))
    print(f"up to {most} of {n_audits} are allowed")
    n_refuted = [counted(name, n_audits, audit) for name, audit in kinds.items()]
    return max(n_refuted) <= most


if __name__ == "__main__":
    if "--right" in sys.argv:
        sys.exit(0 if right(300) else 1)
    faults(10)
