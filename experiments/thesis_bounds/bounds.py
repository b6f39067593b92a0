"""Statements of the thesis that can be decided by listing all ranges: lengths, nodes, variances, levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from experiments.findings import Finding, Table, Verdict
from experiments.thesis_structures import as_claimed, as_coded
from experiments.thesis_structures.lengths import DEGREES
from experiments.thesis_structures.nodes import all_ranges, mean_nodes, nodes_of_ranges
from experiments.thesis_structures.structures import Floats, height_of

from tacit.mechanisms.planner import choose

Part = tuple[dict[str, float], Finding]
NO_SEED = "none: exact"
EPSILON = 1.0


def mean_length(sizes: Sequence[int]) -> Part:
    """All ranges counted, in fractions."""
    rows, wrong = [], 0.0
    for n_days in sizes:
        n_ranges = n_days * (n_days + 1) // 2
        mean = Fraction(sum(length * (n_days - length + 1) for length in range(1, n_days + 1)), n_ranges)
        wrong = max(wrong, float(abs(mean - Fraction(n_days + 2, 3))))
        rows.append((n_days, n_ranges, f"{float(mean):.3f}", f"{(n_days + 2) / 3:.3f}"))
    finding = Finding(
        "thesis-claim-mean-length",
        "thesis, section 7.1",
        "The mean length of a range",
        "The mean length of a range of N days is (N + 2)/3, so that flat counts have a mean variance of (N + 2)/3·V.",
        Verdict.HOLDS if wrong == 0 else Verdict.FAILS,
        f"Exact for all {len(rows)} domains, all ranges listed.",
        NO_SEED,
        (Table("Mean length of all ranges, in days", ("days N", "ranges", "listed", "(N + 2)/3"), tuple(rows)),),
    )
    return {"mean length/largest difference": wrong}, finding


def node_bound(n_days: int) -> Part:
    """Every range of the domain, for every degree."""
    first, stop = all_ranges(n_days)
    lengths = stop - first
    rows, tightest = [], 0.0
    for degree in DEGREES:
        nodes = nodes_of_ranges(n_days, degree, first, stop)
        bound = (degree - 1) * (2 * np.log(lengths) / math.log(degree) + 1)
        ratio = float(np.max(nodes / bound))
        tightest = max(tightest, ratio)
        rows.append((degree, len(nodes), int(nodes.max()), f"{ratio:.3f}", f"{float(np.mean(nodes / bound)):.3f}"))
    head = ("degree B", "ranges", "most nodes", "largest share of the bound", "mean share")
    finding = Finding(
        "thesis-claim-node-bound",
        "thesis, section 8.3",
        "How many nodes make up a range",
        "A range of length r is made of at most (B − 1)(2 log_B r + 1) nodes.",
        Verdict.HOLDS if tightest <= 1 + 1e-12 else Verdict.FAILS,
        f"No range of {n_days} days needs more than {tightest:.2f} times as many, in degrees 2, 3 and 4.",
        NO_SEED,
        (Table(f"All ranges of {n_days} days", head, tuple(rows)),),
    )
    return {"node bound/largest share": tightest}, finding


def variance_bound(n_days: int) -> Part:
    """The bound of section 8.3.1 with an oracle whose variance is the same on every level."""
    first, stop = all_ranges(n_days)
    lengths = stop - first
    rows, tightest = [], 0.0
    for degree in DEGREES:
        nodes = nodes_of_ranges(n_days, degree, first, stop)
        levels = np.array([height_of(length, degree) + 1 for length in range(n_days + 1)])[lengths]
        shares = nodes / ((2 * degree - 1) * levels)
        tightest = max(tightest, float(shares.max()))
        rows.append((degree, f"{shares.max():.3f}", f"{shares.mean():.3f}"))
    finding = Finding(
        "thesis-claim-variance-bound",
        "thesis, section 8.3.1",
        "The bound of the local hierarchy's variance",
        "The variance is at most (2B − 1)·V_F·Σ 1/p_l over ⌈log_B r⌉ + 1 levels.",
        Verdict.HOLDS if tightest <= 1 + 1e-12 else Verdict.FAILS,
        f"It holds for every range of {n_days} days, if every node has the same variance V_F/p_l; the largest share of "
        f"the bound that a range takes up is {tightest:.2f}. With the thesis' oracle the nodes have not (next).",
        NO_SEED,
        (Table(f"All ranges of {n_days} days", ("degree B", "largest share", "mean share"), tuple(rows)),),
    )
    return {"variance bound/largest share": tightest}, finding


def variance_of_keeping(keep: float, n_values: int) -> float:
    """The variance of a rare value's estimate, for each report."""
    named = (1 - keep) / n_values
    return named * (1 - named) / keep**2


def oracle_variance(sizes: Sequence[int]) -> Part:
    """Does the variance of a value depend on how many values there are?"""
    rows = []
    for n_values in (2, *sizes):
        coded, claimed = (
            variance_of_keeping(module.keeping(EPSILON, n_values), n_values) for module in (as_coded, as_claimed)
        )
        rows.append((n_values, coded, claimed, choose(n_values, EPSILON).candidate.variance(0.0)))
    growth = [row[-1] / row[0] for row in zip(*rows, strict=True)][1:]
    finding = Finding(
        "thesis-claim-oracle-variance",
        "thesis, section 8.3.1",
        "The variance of the frequency oracle",
        "The variance of the frequency oracle does not depend on the size of the domain.",
        Verdict.HOLDS if max(growth[:2]) < 1.5 else Verdict.FAILS,
        f"From 2 to {rows[-1][0]:,} values it grows {growth[0]:,.0f}-fold as coded and {growth[1]:,.0f}-fold as "
        f"claimed: hashing was left out, and without it this is randomized response. Of Tacit's oracle, "
        f"{growth[2]:.1f}-fold.",
        NO_SEED,
        (
            Table(
                "Variance of a rare value's estimate for each report, at a claimed ε of 1",
                ("values", "as coded", "as claimed", "Tacit"),
                tuple(rows),
            ),
        ),
    )
    names = ("as coded", "as claimed", "Tacit")
    return {f"growth of the oracle's variance/{n}": g for n, g in zip(names, growth, strict=True)}, finding


def level_sampling(sizes: Sequence[int]) -> Part:
    """The best shares of levels, for the sum of the fewest nodes, averaged over all ranges."""
    rows, figures = [], {}
    for n_days in sizes:
        for degree in DEGREES:
            used = _mean_used(n_days, degree)
            depths = range(1, len(used) + 1)
            keeps = [as_claimed.keeping(EPSILON, degree**depth) for depth in depths]
            response = [variance_of_keeping(keep, degree**d) for keep, d in zip(keeps, depths, strict=True)]
            excess = [_excess(used), _excess(used * np.array(response))]
            rows.append((n_days, degree, *(f"{one:.1%}" for one in excess)))
            figures[f"level sampling/{n_days}/degree {degree}/hashing"] = excess[0]
            figures[f"level sampling/{n_days}/degree {degree}/response"] = excess[1]
    oracles = ("hashing", "response")
    worst = [max(one for name, one in figures.items() if name.endswith(oracle)) for oracle in oracles]
    finding = Finding(
        "thesis-claim-level-sampling",
        "thesis, section 8.3.1",
        "How often each level is reported",
        "To minimise the variance every level is sampled with the same probability.",
        Verdict.HOLDS if max(worst) < 0.005 else Verdict.FAILS,
        f"That minimises the bound, but the error over all ranges is "
        f"up to {worst[0]:.0%} larger than with the best shares for an oracle of even variance, and {worst[1]:.0%} for "
        "the thesis' oracle, whose leaves err most. Tacit samples by the best shares and fuses the levels.",
        NO_SEED,
        (
            Table(
                "By how much uniform sampling errs more than the best shares (RMSE over all ranges, ε = 1)",
                ("days N", "degree B", "hashing (even variance)", "randomized response (as claimed)"),
                tuple(rows),
            ),
        ),
    )
    return figures, finding


def _mean_used(n_days: int, degree: int) -> Floats:
    """The mean number of nodes of each level below the root, over all ranges."""
    weights = np.arange(n_days, 0, -1) / (n_days * (n_days + 1) / 2)
    return mean_nodes(n_days, degree)[1:] @ weights


def _excess(weights: Floats) -> float:
    """How much larger the error is with equal shares than with shares in proportion to the roots of the weights."""
    return float(math.sqrt(len(weights) * weights.sum()) / np.sqrt(weights).sum() - 1)
