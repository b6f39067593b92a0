"""Repeat the thesis' sanity checks: its Figures 6 and 7, and what the whole domain and three nodes give away.

python -m experiments.thesis_sanity.run
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.findings import Finding, run
from experiments.thesis_sanity.checks import (
    Asked,
    averaging,
    degree_five,
    distributions,
    level_means,
    presence,
    recovered_nodes,
    true_epsilons,
    whole_domain,
)
from experiments.thesis_structures import read_series
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    HIERARCHY,
    LOCAL_FLAT,
    METHODS,
    TREE,
    Case,
    verdicts_of,
)


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """Make many structures of each kind, ask all of them the same range, and look at what they say."""
    series = read_series()
    settings = params["run"] | (params["reduced"] if reduced else {})
    counts = series.first(settings["n_days"])
    first, length, epsilon = settings["first_day"] - 1, settings["length"], settings["epsilon"]
    kinds = {CENTRAL_FLAT: None, TREE: settings["degree"], LOCAL_FLAT: None, HIERARCHY: settings["degree"]}
    made = {
        case: case.made(counts, settings["structures"], settings["seed"])
        for structure, degree in kinds.items()
        for method in METHODS
        for case in [Case(structure, method, len(counts), epsilon, degree)]
    }
    asked = Asked(made, counts, first, first + length, f"{settings['seed']} ({series.name})", settings["seed"])
    findings = [
        distributions(asked, "6", (CENTRAL_FLAT, TREE)),
        distributions(asked, "7", (LOCAL_FLAT, HIERARCHY)),
        averaging(asked),
        level_means(asked),
        whole_domain(asked),
        presence(asked),
        true_epsilons(asked),
        recovered_nodes(asked),
        degree_five(asked),
    ]
    return figures_of(asked) | verdicts_of(findings), findings


def figures_of(asked: Asked) -> dict[str, float]:
    """The spread of answers in units that hardly depend on the series, and what must be exact."""
    figures = {}
    for case in asked.made:
        answers = asked.answers(case)
        unit = float(np.sqrt(asked.counts.sum())) if case.is_local else 1 / case.epsilon
        name = f"{case.structure}/{case.method}"
        figures[f"{name}/spread"] = float(answers.std(ddof=1)) / unit
        figures[f"{name}/bias in standard errors"] = asked.bias(case)
    figures["whole domain/as coded/largest error"] = asked.whole_domain_error(LOCAL_FLAT)
    figures["three nodes/as coded/largest error"] = asked.largest_error_of_three_nodes()
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
