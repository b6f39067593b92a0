"""Check the thesis' statements about lengths, nodes and levels: its bounds, its rule, its Figure 19.

python -m experiments.thesis_bounds.run
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.findings import Finding, run
from experiments.thesis_bounds.bounds import level_sampling, mean_length, node_bound, oracle_variance, variance_bound
from experiments.thesis_bounds.crossings import Crossings, rule
from experiments.thesis_structures.measuring import verdicts_of


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """Enumerate what can be enumerated, and compare."""
    settings = params["run"] | (params["reduced"] if reduced else {})
    sizes, n_days = tuple(settings["sizes"]), settings["enumerated_days"]
    crossings = Crossings.of(sizes, settings["structures"], settings["seed"])
    parts = [
        mean_length(sizes),
        node_bound(n_days),
        variance_bound(n_days),
        oracle_variance(sizes),
        level_sampling(sizes),
        rule(crossings, str(settings["seed"])),
    ]
    figures = {name: figure for found, _ in parts for name, figure in found.items()}
    findings = [finding for _, finding in parts]
    return figures | verdicts_of(findings), findings


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
