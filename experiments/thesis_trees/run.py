"""Measure the thesis' hierarchies against epsilon, degree and flat counts: its Tables 2, 3 and Figures 13 to 31.

python -m experiments.thesis_trees.run
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments.findings import Finding, report, run
from experiments.thesis_structures import Series, read_series
from experiments.thesis_structures.measuring import (
    HIERARCHY,
    METHODS,
    TREE,
    Errors,
    Size,
    all_workers,
    measured_errors,
    sizes_of,
    verdicts_of,
)
from experiments.thesis_trees import agreement, comparisons, epsilons
from experiments.thesis_trees.results import Results, cases_of, lengths_of


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """Errors of all structures for the lengths of Tables 2 and 3, and what they say of the claims."""
    series = read_series()
    settings = params["run"] | (params["reduced"] if reduced else {})
    sizes = tuple(settings["sizes"])
    asked = {case: lengths_of(case.n_days) for case in cases_of(sizes, settings["epsilons"])}
    workers = 1 if reduced else all_workers()
    errors = measured_errors(asked, sizes_of(settings), series, settings["seed"], workers=workers)
    results = Results(errors, sizes, tuple(settings["epsilons"]), f"{settings['seed']} ({series.name})")
    size = Size(settings["agreement_structures"], settings["ranges"])
    beside = agreement.agreement_of(series, sizes, size, settings["seed"])
    figures = figures_of(errors, results, series) | beside.figures()
    if series.is_the_thesis_own:
        figures |= beside.measured
    findings = [*epsilons.findings_of(results), *comparisons.findings_of(results), *agreement.findings_of(beside)]
    return figures | verdicts_of(findings), findings


def figures_of(errors: Errors, results: Results, series: Series) -> dict[str, float]:
    """Errors in units that hardly depend on the series (1/epsilon, or the root of the visits), and powers of 1/ε."""
    figures = {}
    for case, by_length in errors.items():
        unit = math.sqrt(series.first(case.n_days).sum()) if case.is_local else 1 / case.epsilon
        figures |= {f"{case.name}/{length}": error / unit for length, error in by_length.items()}
    for structure in (TREE, HIERARCHY):
        for method in METHODS:
            power = median(epsilons.powers(results, structure, method))
            figures[f"{structure}/{method}/power of the inverse of epsilon"] = power
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Where the thesis' own series is at hand, its measured errors are compared too."""
    figures: dict[str, float] = {}

    def measured(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
        found, findings = measure(params, reduced=reduced)
        figures.update(found)
        return found, findings

    code = run(measured, Path(__file__).parent, arguments)
    printed = [one.figure for one in agreement.read_printed() if one.figure.name in figures]
    return max(code, report(figures, printed)) if printed else code


if __name__ == "__main__":
    sys.exit(main())
