"""Measure how far below the paper's error post-processing gets at the same epsilon, and what each part contributes.

    python -m experiments.refinement.run

Leaves with 1 if smoothing misses a target, if a figure is far from expected.csv, or if intervals of smoothed counts
cover too little or too much.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experiments.findings import ROOT, Finding, Table, Verdict, write_findings
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.noise import LinearMap
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events.datasets import doubs
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import plan_for
from tacit.pages.laboratory import error_rates
from tacit.postprocess import clip_and_rescale, project, smooth
from tacit.publication.laboratory import reported
from tacit.randomness import SeededRandomness
from tacit.statespace.smoothed_noise import SmoothedNoise

HERE = Path(__file__).parent
PERIODS = ("year", "month", "day")
LEVELS = (0.80, 0.95)
F_OF_EPSILON = {0.40: 0.9, 0.81: 0.8, 1.69: 0.6, 2.20: 0.5, 4.39: 0.2, 5.89: 0.1}
TARGETS = {
    0.40: (0.40, 0.25, 0.32),
    0.81: (0.42, 0.27, 0.34),
    1.69: (0.46, 0.34, 0.42),
    2.20: (0.47, 0.38, 0.46),
    4.39: (0.42, 0.38, 0.45),
    5.89: (0.30, 0.30, 0.28),
}
SMOOTHED = "oracle + smoothing"


@dataclass(frozen=True)
class Line:
    """One method at one epsilon: its error rates, as shares of the paper's in the same run."""

    epsilon: float
    method: str
    shares: tuple[float, float, float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="a small size, in seconds")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / HERE.name, help="where its findings are left")
    chosen = parser.parse_args(arguments)
    params = tomllib.loads((HERE / "params.toml").read_text(encoding="utf-8"))
    settings = params["reduced" if chosen.reduced else "run"]
    data, seeds = (
        since(doubs.interventions(params["data"]["seed"]), settings["first_day"]),
        settings["randomness_seeds"],
    )
    lines, covered = measure(data, seeds, settings["epsilons"])
    write_result(chosen.out / "refinement.csv", lines)
    expected = read_expected(HERE / ("expected-reduced.csv" if chosen.reduced else "expected.csv"))
    n_missed = show(lines, expected, params["tolerance"]["relative"], has_targets=not chosen.reduced)
    n_uncovered = show_coverage(covered, params["coverage"])
    command = f"python -m experiments.{HERE.name}.run" + (" --reduced" if chosen.reduced else "")
    said = f"data {params['data']['seed']}; randomizations {seeds}"
    findings = [of_gains(lines, said), of_coverage(covered, params["coverage"], n_uncovered, said)]
    write_findings(chosen.out, experiment=HERE.name, command=command, findings=findings)
    print(f"\n{data}\nMean of {len(seeds)} randomizations. Written to {chosen.out}")
    print(f"{n_missed} figures miss their target or what is expected; {n_uncovered} coverages are outside.")
    # one randomization of two years says little of coverage
    return 1 if n_missed or (n_uncovered and not chosen.reduced) else 0


def since(data: doubs.DoubsInterventions, first_day: str) -> doubs.DoubsInterventions:
    start = int(np.searchsorted(data.days, np.datetime64(first_day)))
    return doubs.DoubsInterventions(data.seed, data.days[start:], data.ordinary[start:], data.storms[start:])


def of_gains(lines: Sequence[Line], seed: str) -> Finding:
    """What becomes of the claim that a third of the paper's error is enough."""
    smoothed = {line.epsilon: line for line in lines if line.method == SMOOTHED}
    holds = all(a <= b for line in smoothed.values() for a, b in zip(line.shares, TARGETS[line.epsilon], strict=True))
    shares = [share for line in smoothed.values() for share in line.shares]
    rows = tuple((f"{line.epsilon:.2f}", line.method, *(f"{share:.3f}" for share in line.shares)) for line in lines)
    return Finding(
        key="refinement-gain",
        source="refining, guide",
        title="A third of the paper's error at the same epsilon",
        claim="The best oracle and smoothing err 17 to 41 % as much as the paper's method at the same epsilon.",
        verdict=Verdict.HOLDS if holds else Verdict.FAILS,
        because=(
            f"Error rates by year, month and day are {min(shares):.0%} to {max(shares):.0%} of the paper's in the same "
            f"run, {'all below' if holds else 'not all below'} their targets. The smoother was tuned on these data."
        ),
        seed=seed,
        tables=(Table("Error rate as a share of the paper's method", ("ε", "method", *PERIODS), rows),),
    )


def of_coverage(
    covered: Mapping[float, NDArray[np.float64]], limits: Mapping[str, Any], n_outside: int, seed: str
) -> Finding:
    """What becomes of the claim that intervals cover what they say."""
    columns = tuple(f"{period} {level:.0%}" for period in PERIODS for level in LEVELS)
    rows = tuple(
        (f"{epsilon:.2f}", *(f"{share:.3f}" for share in found[:, :, 0].ravel())) for epsilon, found in covered.items()
    )
    asked = "; ".join(
        f"{low:.0%} to {high:.0%} for {level:.0%}" for level in LEVELS for low, high in [limits[f"{level:.2f}"]]
    )
    return Finding(
        key="refinement-coverage",
        source="refining, guide",
        title="What intervals of smoothed counts cover",
        claim="Intervals of smoothed counts cover what they say, on average over places and periods.",
        verdict=Verdict.FAILS if n_outside else Verdict.HOLDS,
        because=f"{n_outside} of {len(covered) * len(columns)} coverages lie outside of what is asked ({asked}).",
        seed=seed,
        tables=(Table("Coverage, counts spread over their unit", ("ε", *columns), rows),),
    )


def measure(
    data: doubs.DoubsInterventions, seeds: Sequence[int], epsilons: Sequence[float]
) -> tuple[list[Line], dict[float, NDArray[np.float64]]]:
    """Error rates of every method as shares of the paper's; and the coverage of smoothed counts by epsilon."""
    days = TimeAxis.between(str(data.days[0]), str(data.days[-1]), zone="Europe/Paris")
    domain = Domain(days, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    lines, covered = [], {}
    for epsilon in epsilons:
        f = F_OF_EPSILON[epsilon]
        exact = 2 * math.log((1 - f / 2) / (f / 2))
        rappor = plan_for(domain, f=f)
        oracle = plan_for(domain, mechanism=choose(len(domain.place.cells), exact).candidate.name, epsilon=exact)
        sums: dict[str, NDArray[np.float64]] = {}
        coverage = []
        for seed in seeds:
            randomness = SeededRandomness(seed)
            paper = reported(rappor, data.counts, randomness)
            ours = reported(oracle, data.counts, randomness)
            smoothed = smooth(ours)
            coverage.append(coverages(data.counts, smoothed))
            rates = {
                "paper: RAPPOR, clip and rescale": rates_of_each(data.counts, paper, clip_and_rescale),
                "oracle, clip and rescale": rates_of_each(data.counts, ours, clip_and_rescale),
                "oracle + projection": rates_of_each(data.counts, ours, project),
                "RAPPOR + smoothing": rates_of_sums(data.counts, smooth(paper)),
                SMOOTHED: rates_of_sums(data.counts, smoothed),
            }
            for method, rate in rates.items():
                sums[method] = sums.get(method, np.zeros(3)) + rate
        paper_rates = sums["paper: RAPPOR, clip and rescale"]
        for method, total in sums.items():
            year, month, day = (total / paper_rates).tolist()
            lines.append(Line(epsilon, method, (year, month, day)))
        covered[epsilon] = np.mean(coverage, axis=0)
    return lines, covered


def rates_of_each(
    counts: NDArray[np.int64], estimate: Estimate, refine: Callable[[Estimate], Estimate]
) -> NDArray[np.float64]:
    """Error rates by period where each period's counts are refined on their own, as the paper does."""
    return np.array([_rate(counts, estimate, refine(added_up(estimate, period)), period) for period in PERIODS])


def rates_of_sums(counts: NDArray[np.int64], refined: Estimate) -> NDArray[np.float64]:
    """Error rates by period of sums of refined days."""
    return np.array([_rate(counts, refined, added_up(refined, period), period) for period in PERIODS])


def _rate(counts: NDArray[np.int64], fine: Estimate, coarse: Estimate, period: str) -> float:
    return float(error_rates(ExactTally(true_sums(counts, fine, period)), coarse.values).mean())


def added_up(estimate: Estimate, period: str) -> Estimate:
    return estimate if period == "day" else estimate.coarsen(time=period)


def true_sums(counts: NDArray[np.int64], fine: Estimate, period: str) -> NDArray[np.int64]:
    if period == "day":
        return counts
    return fine.domain.coarsen(time=period)[1].sums(counts)


def coverages(counts: NDArray[np.int64], smoothed: Estimate) -> NDArray[np.float64]:
    """For every period and level the share of cells covered: with counts spread over their unit, and as they are.

    The first is what the level means for whole numbers (an end of the interval inside a count's unit covers a part of
    it); for it limits are not yet cut at 0. The second can only be larger, but for chance.
    """
    found = []
    for period in PERIODS:
        estimate, truth = added_up(smoothed, period), true_sums(counts, smoothed, period)
        is_open = truth.sum(axis=1) > 0  # of periods without any report there is nothing to say
        for level in LEVELS:
            lower, upper = uncut_limits(estimate, level)
            spread = np.clip(np.minimum(upper, truth + 0.5) - np.maximum(lower, truth - 0.5), 0.0, 1.0)
            lower, upper = estimate.noise.intervals(estimate.values, level)
            found.append((spread[is_open].mean(), ((lower <= truth) & (truth <= upper))[is_open].mean()))
    return np.array(found).reshape(len(PERIODS), len(LEVELS), 2)


def uncut_limits(estimate: Estimate, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    noise = estimate.noise
    if isinstance(noise, LinearMap) and isinstance(noise.base, SmoothedNoise):
        return noise.base.limits(estimate.values, level, noise.grouping)
    assert isinstance(noise, SmoothedNoise)
    return noise.limits(estimate.values, level)


def show(
    lines: Sequence[Line],
    expected: Mapping[tuple[float, str], Sequence[float]],
    tolerance: float,
    *,
    has_targets: bool = True,
) -> int:
    """Print the parts of the gain; count figures that miss a target or what is expected."""
    print("Error rates on the synthetic interventions, as shares of the paper's method in the same run.\n")
    print("eps   method                             year / month / day       expected             target")
    n_missed = 0
    for line in lines:
        known = expected.get((line.epsilon, line.method))
        target = TARGETS[line.epsilon] if has_targets and line.method == SMOOTHED else None
        # written so that NaN fails too
        pairs = [] if known is None else list(zip(line.shares, known, strict=True))
        is_near = bool(pairs) and all(abs(a / b - 1) <= tolerance for a, b in pairs)
        is_reached = target is None or all(a <= b for a, b in zip(line.shares, target, strict=True))
        n_missed += not (is_near and is_reached)
        verdict = "ok" if is_near and is_reached else "OUTSIDE" if is_reached else "MISSED"
        print(
            f"{line.epsilon:.2f}  {line.method:<32}  {_three(line.shares)}   {_three(known):<18}   "
            f"{_three(target):<18}  {verdict}"
        )
    return n_missed


def _three(shares: Sequence[float] | None) -> str:
    return "-" if shares is None else " / ".join(f"{share:.3f}" for share in shares)


def show_coverage(covered: Mapping[float, NDArray[np.float64]], limits: Mapping[str, Any]) -> int:
    print("\nCoverage of the intervals of smoothed counts: counts spread over their unit (as they are)\n")
    print("eps    " + "".join(f"{period} {level:.0%}".ljust(18) for period in PERIODS for level in LEVELS))
    n_outside = 0
    for epsilon, found in covered.items():
        cells = []
        for period, of_period in zip(PERIODS, found.tolist(), strict=True):
            slack = limits["years_may_exceed"] if period == "year" else 0.0
            for level, (spread, plain) in zip(LEVELS, of_period, strict=True):
                low, high = limits[f"{level:.2f}"]
                is_inside = low - slack <= spread <= high + slack
                n_outside += not is_inside
                cells.append(f"{spread:.3f} ({plain:.3f}){'' if is_inside else ' !'}".ljust(18))
        print(f"{epsilon:.2f}   {''.join(cells)}")
    return n_outside


def read_expected(path: Path) -> dict[tuple[float, str], tuple[float, ...]]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (float(line["epsilon"]), line["method"]): tuple(float(line[period]) for period in PERIODS)
            for line in csv.DictReader(file)
        }


def write_result(path: Path, lines: Sequence[Line]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["epsilon", "method", *PERIODS])
        writer.writerows([line.epsilon, line.method, *(f"{share:.4f}" for share in line.shares)] for line in lines)


if __name__ == "__main__":
    sys.exit(main())
