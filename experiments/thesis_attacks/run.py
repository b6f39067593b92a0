"""Try what the thesis left as future work: attacks on its structures, and where flat local errors start to fall.

python -m experiments.thesis_attacks.run
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.findings import Finding, run
from experiments.thesis_attacks.attacks import bits_found, days_by_averaging, days_from_counter, days_from_true_answers
from experiments.thesis_attacks.local_peak import peak
from experiments.thesis_attacks.words import (
    averaging_finding,
    bits_finding,
    counter_finding,
    peak_finding,
    true_finding,
)
from experiments.thesis_structures import as_coded, read_series


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    """What every attack gives back, and what that says."""
    chosen = params["run"] | (params["reduced"] if reduced else {})
    series = read_series()
    label = f"{chosen['seed']} ({series.name})"
    streams = iter(np.random.default_rng(chosen["seed"]).spawn(5))
    true = days_from_true_answers(series.counts, chosen["answers"], next(streams))
    epsilon = chosen["counter_epsilon"]
    counter = as_coded.continual_tree(series.counts, epsilon, 2, n_structures=1, generator=next(streams))
    found = days_from_counter(counter)
    n_exact = int(np.count_nonzero(np.rint(found) == series.counts))
    largest_error = float(np.nanmax(np.abs(found - series.counts)))
    short = series.counts[: chosen["averaging_days"]]
    averaged = days_by_averaging(short, chosen["averaging_epsilon"], chosen["times"], next(streams))
    bits = bits_found(
        chosen["bits"],
        chosen["epsilons"],
        n_ranges=chosen["ranges"],
        n_worlds=chosen["worlds"],
        generator=next(streams),
    )
    generator = next(streams)
    peaks = [
        peak(
            chosen["peak_days"],
            chosen["peak_visits"],
            one,
            individuals,
            chosen["domain"],
            n_structures=chosen["structures"],
            generator=generator,
        )
        for one in chosen["peak_epsilons"]
        for individuals in chosen["individuals"]
    ]
    figures = {f"true answers/{n}": days / len(series.counts) for n, days in true.items()}
    figures |= {"counter/days": float(n_exact), "counter/largest error": largest_error}
    figures |= {f"averaging/{n}": share for n, share in averaged.items()}
    figures |= {f"bits/{name}/{one:g}": share for name, by in bits.items() for one, share in by.items()}
    for one in peaks:
        ratio = math.exp(np.mean(np.log(np.array(one.measured) / one.exact)))
        figures[f"peak/{one.epsilon:g}/{one.individuals:g}/measured over exact"] = ratio
        figures[f"peak/{one.epsilon:g}/{one.individuals:g}/at"] = one.at
    return figures, [
        true_finding(true, len(series.counts), label),
        counter_finding(n_exact, len(series.counts), epsilon, largest_error, label),
        averaging_finding(averaged, len(short), chosen["averaging_epsilon"], label),
        bits_finding(bits, chosen["bits"], chosen["ranges"], label),
        peak_finding(peaks, chosen["peak_days"], chosen["peak_visits"], label),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
