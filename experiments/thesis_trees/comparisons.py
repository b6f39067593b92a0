"""Flat counts against hierarchies, and devices against a curator: the thesis' Tables 2, 3 and Figures 20 to 25, 31."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from experiments.findings import Finding, Picture, Table, Verdict
from experiments.thesis_structures.charts import Axes
from experiments.thesis_structures.lengths import TABLE_2_MEASURED, TABLE_2_PRINTED, TABLE_3
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    CLAIMED,
    CODED,
    HIERARCHY,
    LOCAL_FLAT,
    METHODS,
    TACIT,
    TREE,
    verdict_of,
)
from experiments.thesis_trees.epsilons import EPSILON_TICKS
from experiments.thesis_trees.results import (
    Line,
    Panel,
    Results,
    epsilon_picture,
    error_table,
    long_panels,
    share,
    short_panels,
)

ALWAYS = 0.95  # of the cases: a few ties are chance


def findings_of(results: Results) -> list[Finding]:
    shown, long = results.short_and_shown(), results.long_and_shown()
    return [
        table_2(results),
        table_3(results),
        flat_wins(results, "20", short_panels(shown, CENTRAL_FLAT, TREE)),
        flat_wins(results, "21", short_panels(shown, LOCAL_FLAT, HIERARCHY)),
        hierarchy_wins(results, "22", long_panels(long, CENTRAL_FLAT, TREE)),
        hierarchy_wins(results, "23", long_panels(long, LOCAL_FLAT, HIERARCHY)),
        local_loses(results, "24", [Panel(n, (Line(CENTRAL_FLAT, r), Line(LOCAL_FLAT, r))) for n, r in _long(long)]),
        local_loses(results, "25", [Panel(n, (Line(TREE, r, 2), Line(HIERARCHY, r, 2))) for n, r in _long(long)]),
        flat_wins(results, "31", short_panels(results.sizes, CENTRAL_FLAT, TREE)),
    ]


def _long(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return [(n_days, TABLE_2_MEASURED[2][n_days]) for n_days in sizes]


def share_won(results: Results, panels: Sequence[Panel], method: str) -> float:
    """For which share of cases the first line of a panel errs less than each of the others."""
    return share(
        [
            results.error(first.structure, method, panel.n_days, epsilon, first.length, first.degree)
            < results.error(other.structure, method, panel.n_days, epsilon, other.length, other.degree)
            for panel in panels
            for first, *others in [panel.lines]
            for other in others
            for epsilon in results.epsilons
        ]
    )


def table_2(results: Results) -> Finding:
    rows = [
        (degree, n_days, TABLE_2_PRINTED[degree][n_days], measured)
        for degree, by_size in TABLE_2_MEASURED.items()
        for n_days, measured in by_size.items()
    ]
    same = sum(printed == measured for _, _, printed, measured in rows)
    return Finding(
        "thesis-table-2",
        "thesis, Table 2",
        "Lengths from which on hierarchies should beat flat counts",
        "The lengths printed are those that were measured.",
        Verdict.HOLDS if same == len(rows) else Verdict.FAILS,
        f"{same} of {len(rows)} lengths were measured as printed; 256 days and degree 2, possible only on the whole "
        "range by the table, were asked ranges of 44 days. Figures here use the lengths measured.",
        results.seed,
        (Table("Lengths in days", ("degree B", "days N", "printed", "measured"), tuple(rows)),),
    )


def table_3(results: Results) -> Finding:
    panels = short_panels(results.sizes, CENTRAL_FLAT, TREE)
    won = {method: share_won(results, panels, method) for method in METHODS}
    locally = {m: share_won(results, short_panels(results.sizes, LOCAL_FLAT, HIERARCHY), m) for m in METHODS}
    return Finding(
        "thesis-table-3",
        "thesis, Table 3",
        "Lengths for which flat counts should beat hierarchies",
        "On ranges of these lengths flat counts err less than hierarchies, in both models.",
        verdict_of(
            coded=min(won[CODED], locally[CODED]) >= ALWAYS, claimed=min(won[CLAIMED], locally[CLAIMED]) >= ALWAYS
        ),
        f"A curator's do in {won[CLAIMED]:.0%} of cases as claimed ({won[CODED]:.0%} as coded, {won[TACIT]:.0%} by "
        f"Tacit), devices' in {locally[CLAIMED]:.0%} ({locally[CODED]:.0%}, {locally[TACIT]:.0%}).",
        results.seed,
        (Table("Lengths in days, printed and measured", ("days N", "length r"), tuple(TABLE_3.items())),),
    )


def flat_wins(results: Results, number: str, panels: Sequence[Panel]) -> Finding:
    won = {method: share_won(results, panels, method) for method in METHODS}
    flat, tree = panels[0].lines[0].structure, panels[0].lines[-1].structure
    who = "a curator" if flat == CENTRAL_FLAT else "devices"
    smallest = share_won(results, panels[:1], CODED)
    because = (
        f"It does in {won[CODED]:.0%} of cases as coded, {won[CLAIMED]:.0%} as claimed and {won[TACIT]:.0%} by Tacit."
    )
    if flat == LOCAL_FLAT:
        because += (
            f" As coded it does for {panels[0].n_days} days ({smallest:.0%}) and hardly beyond, as the thesis found: "
            "an oracle whose error grows with N is worst where all N days are its values."
        )
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        f"Short ranges: {flat} against {tree}",
        f"On short ranges the flat counts of {who} err less than a hierarchy.",
        verdict_of(coded=won[CODED] >= ALWAYS, claimed=won[CLAIMED] >= ALWAYS),
        because,
        results.seed,
        (error_table(results, panels, "RMSE in visits for ranges of Table 3's lengths"),),
        (_picture(results, panels, f"RMSE against epsilon: {flat} and {tree}, degrees 2, 3 and 4"),),
    )


def hierarchy_wins(results: Results, number: str, panels: Sequence[Panel]) -> Finding:
    won = {method: 1 - share_won(results, panels, method) for method in METHODS}
    flat, tree = panels[0].lines[0].structure, panels[0].lines[-1].structure
    who = "a curator" if flat == CENTRAL_FLAT else "devices"
    note = ""
    if flat == CENTRAL_FLAT:
        note = " As claimed every level takes noise of scale levels/ε, and Table 2's lengths are too short for that."
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        f"Long ranges: {tree} against {flat}",
        f"On long ranges a hierarchy of {who} errs less than flat counts.",
        verdict_of(coded=won[CODED] >= 0.75, claimed=won[CLAIMED] >= 0.75),
        f"It does in {won[CODED]:.0%} of cases as coded, {won[CLAIMED]:.0%} as claimed and {won[TACIT]:.0%} by Tacit "
        f"(same degree).{note}",
        results.seed,
        (error_table(results, panels, "RMSE in visits for the lengths really measured"),),
        (
            _picture(
                results, panels, f"RMSE against epsilon: {flat} and {tree} on long ranges, a column for each degree"
            ),
        ),
    )


def local_loses(results: Results, number: str, panels: Sequence[Panel]) -> Finding:
    won = {method: share_won(results, panels, method) for method in METHODS}
    central, local = panels[0].lines
    ratios = {method: median(_ratios(results, panels, method)) for method in METHODS}
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        f"{central.structure} against {local.structure}",
        "The error is larger in the local model.",
        verdict_of(coded=won[CODED] >= ALWAYS, claimed=won[CLAIMED] >= ALWAYS),
        f"In {won[CLAIMED]:.0%} of cases, by a factor of {ratios[CODED]:,.0f} as coded, {ratios[CLAIMED]:,.0f} as "
        f"claimed and {ratios[TACIT]:,.0f} by Tacit (medians over domains and ε).",
        results.seed,
        (error_table(results, panels, "RMSE in visits for degree 2's lengths of Table 2 as measured"),),
        (_picture(results, panels, f"RMSE against epsilon: {central.structure} and {local.structure}"),),
    )


def _ratios(results: Results, panels: Sequence[Panel], method: str) -> list[float]:
    return [
        results.error(local.structure, method, panel.n_days, epsilon, local.length, local.degree)
        / results.error(central.structure, method, panel.n_days, epsilon, central.length, central.degree)
        for panel in panels
        for central, local in [panel.lines]
        for epsilon in results.epsilons
    ]


def _picture(results: Results, panels: Sequence[Panel], caption: str) -> Picture:
    return epsilon_picture(results, panels, caption, Axes("ε", dashes="", x_values=EPSILON_TICKS))
