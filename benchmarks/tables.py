"""A curator's tables by place, by kind and of both, beside the least error there is and beside private-pgm (mbi).

Run: python benchmarks/tables.py

First the sum of the variances of all cells asked for, as a multiple of the least that any Gaussian measurement of
marginals can have under the same rho (the optimum of ResidualPlanner, in closed form). Then mbi on the very same noisy
tables: 17 places and 6 kinds, rho 0.1, dense and sparse counts, with our shares of rho and with equal ones, as its
examples have them. mbi's estimate has no negative count and no interval; ours is shown as each refinement makes it:
``raw`` is unbiased, with intervals, ``coherent`` what a curator's release shows by default. Errors are the sum of the
squared errors of all cells of the three tables, on average over as many draws of noise. Last months of a year and days
of a quarter, each with tables of its own: errors of a period, and of the sum of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from measure import pin_to_one_core, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.layout import Sizes
from tacit.mechanisms.central.marginals import MarginalTables, best_shares, least_error
from tacit.mechanisms.central.table import central_plan_for
from tacit.plan import Plan
from tacit.postprocess.refinements import refinement_named
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its speed
    jax.config.update("jax_enable_x64", True)
    from mbi import Domain as PeerDomain
    from mbi import estimation, marginal_loss

ASKED = {
    "by place, by kind, joint": {"place": 1.0, "kind": 1.0, "joint": 1.0},
    "and the total": {"total": 1.0, "place": 1.0, "kind": 1.0, "joint": 1.0},
    "joint": {"joint": 1.0},
    "by place, by kind, total": {"total": 1.0, "place": 1.0, "kind": 1.0},
    "by place, by kind": {"place": 1.0, "kind": 1.0},
}
SHAPES: tuple[Sizes, ...] = ((1, 2, 2), (1, 3, 2), (1, 17, 6), (1, 50, 3), (1, 100, 40))
SIZES, RHO, N_DRAWS = (1, 17, 6), 0.1, 40
PERIODS = {"month": (12, "2018-12-31"), "day": (90, "2018-03-31")}
N_SERIES = 5  # draws of noise for all periods: mbi estimates each period alone
REFINED = ("raw", "clip", "coherent", "likelihood")
NAMES: tuple[tuple[str, ...], ...] = ((), ("place",), ("kind",), ("place", "kind"))
N_EVENTS = (100_000, 2_000, 300)
Table = NDArray[np.float64]


def beside_the_bound() -> None:
    rows = []
    for title, asked in ASKED.items():
        row = [title]
        for sizes in SHAPES:
            noise = MarginalTables(sizes, best_shares(sizes, is_pure=False, asked=asked), Cost.zcdp(0.005)).noise
            boxes = {"total": sizes[1:], "place": (1, sizes[2]), "kind": (sizes[1], 1), "joint": (1, 1)}
            n_all = sizes[1] * sizes[2]
            error = sum(
                weight * n_all / (boxes[name][0] * boxes[name][1]) * noise.box_moments(*boxes[name])[0]
                for name, weight in asked.items()
            )
            row.append(f"{error / least_error(sizes, 0.005, asked=asked):.4f}")
        rows.append(row)
    print_table(["error / least error, asked", *(f"{places} x {kinds}" for _, places, kinds in SHAPES)], rows)


def true_counts(n_events: int, n_bins: int = 1) -> NDArray[np.int64]:
    places, kinds = np.geomspace(1, 0.05, SIZES[1]), np.array([0.5, 0.2, 0.12, 0.1, 0.05, 0.03])
    joint = np.outer(places, kinds) * np.random.default_rng(1).gamma(3, 1 / 3, SIZES[1:])
    return np.random.default_rng(2).multinomial(n_events, (joint / joint.sum()).ravel(), size=n_bins)


def by_peer(tables: MarginalTables, nodes: NDArray[np.int64]) -> Table:
    edges = np.cumsum([0, *tables.level_sizes])
    measured = [
        marginal_loss.LinearMeasurement(
            nodes[edges[level] : edges[level + 1]].ravel().astype(float), NAMES[level], stddev=one.variance**0.5
        )
        for level, one in enumerate(tables.distributions)
        if one is not None
    ]
    model = estimation.MirrorDescent().estimate(PeerDomain(["place", "kind"], SIZES[1:]), measured)
    return np.asarray(model.project(("place", "kind")).datavector(), np.float64)


def error(made: Table, counts: NDArray[np.int64]) -> float:
    """The squared errors of the joint table and both marginals, of all time bins together."""
    off = (made.reshape(counts.shape) - counts).reshape(-1, *SIZES[1:])
    return float((off**2).sum() + (off.sum(axis=1) ** 2).sum() + (off.sum(axis=2) ** 2).sum())


def plan_over(last: str, step: str) -> Plan:
    domain = Domain(
        TimeAxis.between("2018-01-01", last, step),
        PlaceAxis.of([f"place {number}" for number in range(SIZES[1])]),
        KindAxis.of([f"kind {number}" for number in range(SIZES[2])]),
    )
    return central_plan_for(domain, rho=RHO, delta=1e-6, mechanism="tables")


def found_by_all(plan: Plan, tables: MarginalTables, counts: NDArray[np.int64], seed: int) -> dict[str, Table]:
    """The counts of every refinement and of mbi, from the same noise."""
    spend = Spend.simulation(tables.cost, seed=seed)
    made = tables.measure(ExactTally(counts), plan, spend=spend)
    nodes = tables.noisy_nodes(ExactTally(counts), plan, spend=spend)
    found = {f"tacit, {name}": refinement_named(name).refine(made).values for name in REFINED}
    found["mbi"] = np.array([by_peer(tables, of_bin) for of_bin in nodes.T])
    return found


def beside_mbi() -> None:
    plan = plan_over("2018-01-01", "day")
    for n_events in N_EVENTS:
        counts = true_counts(n_events)
        rows, ours = [], 0.0
        for title, shares in (("our shares", best_shares(SIZES, is_pure=False)), ("equal shares", (0, 1, 1, 1))):
            tables = MarginalTables(SIZES, shares, Cost.zcdp(RHO))
            draws = [found_by_all(plan, tables, counts, seed) for seed in range(N_DRAWS)]
            errors = {name: np.mean([error(draw[name], counts) for draw in draws]) for name in draws[0]}
            ours = ours or errors["tacit, coherent"]
            rows += [[f"{name}, {title}", f"{err:,.0f}", f"{err / ours:.3f}"] for name, err in errors.items()]
        print_table([f"{n_events:,} events, rho {RHO}", "error", "x coherent, our shares"], rows)
        _say_speed(plan, counts)


def over_time(step: str, n_bins: int, last: str) -> None:
    plan, sizes = plan_over(last, step), (n_bins, *SIZES[1:])
    tables = MarginalTables(sizes, best_shares(sizes, is_pure=False), Cost.zcdp(RHO))
    for n_events in N_EVENTS:
        counts = true_counts(n_events, n_bins)
        draws = [found_by_all(plan, tables, counts, seed) for seed in range(N_SERIES)]
        rows = []
        for name in draws[0]:
            one = np.mean([error(draw[name], counts) / n_bins for draw in draws])
            all_time = np.mean([error(draw[name].sum(axis=0), counts.sum(axis=0)) for draw in draws])
            rows.append([f"{name}, our shares", f"{one:,.0f}", f"{all_time:,.0f}"])
        print_table([f"{n_events:,} events a {step}, rho {RHO}", f"error of a {step}", f"of all {n_bins}"], rows)


def _say_speed(plan: Plan, counts: NDArray[np.int64]) -> None:
    tables = MarginalTables(SIZES, best_shares(SIZES, is_pure=False), Cost.zcdp(RHO))
    spend = Spend.simulation(tables.cost, seed=1)
    nodes = tables.noisy_nodes(ExactTally(counts), plan, spend=spend)
    made: Estimate = tables.measure(ExactTally(counts), plan, spend=spend)
    works: dict[str, Callable[[], Any]] = {
        "unbiased": lambda: tables.noise.fit(nodes.astype(np.float64)),
        "coherent": lambda: refinement_named("coherent").refine(made),
        "mbi": lambda: by_peer(tables, nodes),
    }
    timings = side_by_side(works, rounds=5)
    said = ", ".join(f"{name} {ratio(timings['mbi'], timings[name]):,.2g} x" for name in ("unbiased", "coherent"))
    print(f"faster than mbi, from noisy tables to counts: {said}\n")


def main() -> None:
    pin_to_one_core()
    print_machine("numpy", "mbi", "jax")
    beside_the_bound()
    beside_mbi()
    for step, (n_bins, last) in PERIODS.items():
        over_time(step, n_bins, last)


if __name__ == "__main__":
    main()
