"""Audit mechanisms with known faults, and our own: bounds on epsilon, and false refutations.

python -m experiments.audits.run
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.audits.faults import audited
from experiments.audits.ours import NEAR, bounds, most_refutations, refutations, reports_needed, rounded_up
from experiments.findings import Finding, Table, Verdict, run


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """Refute what is broken, bound what is not, and count what is refuted by bad luck."""
    settings = params["run"] | (params["reduced"] if reduced else {})
    parts = [_faults(settings), _bounds(settings), _refutations(settings)]
    return {name: figure for found, _ in parts for name, figure in found.items()}, [finding for _, finding in parts]


def _faults(settings: Mapping[str, Any]) -> tuple[dict[str, float], Finding]:
    found = audited(settings["seed"], settings["reports"], settings["confidence"])
    rows = tuple(
        (
            fault.said,
            f"{fault.claimed:g}",
            "∞" if math.isinf(fault.true) else f"{fault.true:.3f}",
            audit.bound_text,
            f"{audit.n_runs:,}",
            str(audit.verdict),
        )
        for fault, audit in found
    )
    n_refuted = sum(audit.is_refuted for _, audit in found)
    figures = {f"fault/{fault.key}": audit.lower_bound for fault, audit in found}
    finding = Finding(
        key="audit-faults",
        source="thesis, audits",
        title="What audits find in broken mechanisms",
        claim="The thesis' oracle and counter give the epsilon they claim.",
        verdict=Verdict.FAILS if n_refuted == len(found) else Verdict.HOLDS,
        because=f"{n_refuted} of {len(found)} broken mechanisms are refuted, the thesis' own four among them.",
        seed=str(settings["seed"]),
        tables=(
            Table(
                f"Claims refuted at {settings['confidence']:.0%} confidence",
                ("mechanism", "claimed ε", "true ε", "found at least", "runs", "verdict"),
                rows,
            ),
        ),
    )
    return figures | {"faults/refuted": float(n_refuted)}, finding


def _bounds(settings: Mapping[str, Any]) -> tuple[dict[str, float], Finding]:
    found = bounds(settings)
    epsilons = settings["epsilons"]
    names = list(dict.fromkeys(name for name, _ in found))
    ratios = {key: audit.lower_bound / audit.claimed for key, audit in found.items()}
    rows = tuple((name, *(f"{ratios[name, epsilon]:.3f}" for epsilon in epsilons)) for name in names)
    needed = tuple(
        (name, *(rounded_up(reports_needed(found[name, epsilon], surely=0.975)) for epsilon in epsilons))
        for name in names
    )
    least = min(epsilons)
    enough = [key for key, ratio in ratios.items() if ratio >= NEAR]
    finding = Finding(
        key="audit-bounds",
        source="audits, local randomizers",
        title="How near the bounds come",
        claim=f"On right randomizers the bound found is at least {NEAR} of epsilon at a million reports.",
        verdict=Verdict.HOLDS if all(key in enough or key[1] == least for key in found) else Verdict.FAILS,
        because=(
            f"{len(enough)} of {len(found)} bounds are at least {NEAR} of epsilon, the least of all is "
            f"{min(ratios.values()):.3f}" + _luck(least, len(found) - len(enough))
        ),
        seed=str(settings["seed"]),
        tables=(
            Table(
                f"Bound over epsilon, {settings['reports']:,} reports, {settings['cells']} cells, "
                f"{settings['confidence']:.0%} confidence",
                ("mechanism", *(f"ε {epsilon:g}" for epsilon in epsilons)),
                rows,
            ),
            Table(
                f"Reports for a bound of {NEAR} of epsilon, in 39 of 40 audits",
                ("mechanism", *(f"ε {epsilon:g}" for epsilon in epsilons)),
                needed,
            ),
        ),
    )
    return {f"bound/{name}/{epsilon:g}": ratio for (name, epsilon), ratio in ratios.items()}, finding


def _luck(epsilon: float, n_below: int) -> str:
    if not n_below:
        return "."
    return f"; at {epsilon:g} luck decides, and the second table says how many reports leave it no say."


def _refutations(settings: Mapping[str, Any]) -> tuple[dict[str, float], Finding]:
    found, most = refutations(settings), most_refutations(settings)
    n_within = sum(number <= most for number in found.values())
    finding = Finding(
        key="audit-refutations",
        source="audits, false refutations",
        title="How often a right mechanism is refuted",
        claim="Refutations of our own mechanisms stay within the binomial bound of the stated error rate.",
        verdict=Verdict.HOLDS if n_within == len(found) else Verdict.FAILS,
        because=(
            f"At an error rate of {settings['error']:.0%}, {settings['audits']:,} audits may refute up to {most}; "
            f"the most that was seen is {max(found.values())}."
        ),
        seed=str(settings["seed"]),
        tables=(
            Table(
                f"False refutations in {settings['audits']:,} audits of {settings['audited_reports']:,} runs each",
                ("mechanism", "refuted", "limit"),
                tuple((name, number, most) for name, number in found.items()),
            ),
        ),
    )
    figures = {f"refutations/{name}": float(number) for name, number in found.items()}
    return figures | {"refutations/within": float(n_within)}, finding


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
