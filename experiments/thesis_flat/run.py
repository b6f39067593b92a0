"""Measure the thesis' flat structures against the length of ranges: its Table 1 and Figures 8 to 12 and 26 to 30.

python -m experiments.thesis_flat.run
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.findings import Finding, run
from experiments.thesis_flat.figures import Results, findings_of
from experiments.thesis_structures import Series, read_series
from experiments.thesis_structures.lengths import TABLE_1_MEASURED
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    LOCAL_FLAT,
    METHODS,
    Case,
    Errors,
    all_workers,
    measured_errors,
    sizes_of,
    verdicts_of,
)


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """Errors of both flat structures for all lengths of Table 1, and what they say of the claims."""
    series = read_series()
    settings = params["run"] | (params["reduced"] if reduced else {})
    sizes, epsilons = tuple(settings["sizes"]), tuple(settings["epsilons"])
    cases = [
        Case(structure, method, n_days, epsilon)
        for structure in (CENTRAL_FLAT, LOCAL_FLAT)
        for method in METHODS
        for n_days in sizes
        for epsilon in epsilons
    ]
    asked = {case: TABLE_1_MEASURED[case.n_days] for case in cases}
    workers = 1 if reduced else all_workers()
    errors = measured_errors(asked, sizes_of(settings), series, settings["seed"], workers=workers)
    results = Results(errors, sizes, epsilons, f"{settings['seed']} ({series.name})")
    findings = findings_of(results)
    return figures_of(errors, results, series) | verdicts_of(findings), findings


def figures_of(errors: Errors, results: Results, series: Series) -> dict[str, float]:
    """Errors in units that hardly depend on the series (1/epsilon, or the root of the visits), and how fits fit."""
    figures = {}
    for case, by_length in errors.items():
        unit = math.sqrt(series.first(case.n_days).sum()) if case.is_local else 1 / case.epsilon
        for length in by_length:
            figures[f"{case.name}/{length}"] = by_length[length] / unit
    return figures | results.fits()


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
