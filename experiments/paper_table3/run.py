"""Measure the paper's Table 3 again: the error rate of one-time RAPPOR by year, month and day.

    python experiments/paper_table3/run.py

Leaves with 1 if a mean lies outside the tolerance of params.toml around the printed figures in expected.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.datasets import doubs
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis, sum_groups
from tacit.evaluate import error_rates
from tacit.mechanisms import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.postprocess import clip_and_rescale
from tacit.provenance import Provenance
from tacit.randomness import Randomness, SeededRandomness
from tacit.tally import ExactTally, Tally
from tacit.tallying import estimate_tally

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Figures:
    """A line of Table 3: the error rates of all periods of one length, summed up."""

    f: float
    epsilon: float
    period: str
    n_periods: int
    er_mean: float
    er_std: float
    er_min: float
    er_max: float


@dataclass(frozen=True)
class Tolerance:
    """How far a measured mean may lie from the printed one."""

    relative: float
    standard_errors: float

    def around(self, printed: Figures) -> float:
        standard_error = printed.er_std / math.sqrt(printed.n_periods)
        return max(self.relative * printed.er_mean, self.standard_errors * standard_error)

    def is_met(self, measured: Figures, printed: Figures) -> bool:
        # written so that NaN fails too
        return abs(measured.er_mean - printed.er_mean) <= self.around(printed)


def read_expected(path: Path) -> list[Figures]:
    """The printed figures."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Figures(
                float(line["f"]),
                float(line["epsilon"]),
                line["period"],
                int(line["n_periods"]),
                *(float(line[name]) for name in ("er_mean", "er_std", "er_min", "er_max")),
            )
            for line in csv.DictReader(file)
        ]


def measure(expected: Sequence[Figures], data: doubs.DoubsInterventions, seeds: Sequence[int]) -> list[Figures]:
    """Randomize all interventions once for each seed and f, and average each line's figures over the seeds."""
    days = TimeAxis.between(str(data.days[0]), str(data.days[-1]), zone="Europe/Paris")
    domain = Domain(days, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    plans = {f: plan_for(domain, f=f) for f in dict.fromkeys(line.f for line in expected)}
    sums = np.zeros((len(expected), 4))
    for seed in seeds:
        randomness = SeededRandomness(seed)
        tallies = {f: simulated_tally(plan, data.counts, randomness) for f, plan in plans.items()}
        for row, line in enumerate(expected):
            rates = rates_by_period(tallies[line.f], plans[line.f], data.counts, line.period)
            sums[row] += rates.mean(), rates.std(ddof=1), rates.min(), rates.max()
    means = (sums / len(seeds)).tolist()
    return [
        Figures(line.f, line.epsilon, line.period, line.n_periods, *mean)
        for line, mean in zip(expected, means, strict=True)
    ]


def simulated_tally(plan: Plan, counts: NDArray[np.int64], randomness: Randomness) -> Tally:
    """One report for every intervention, counted by day."""
    mechanism = mechanism_of(plan)
    n_days, n_regions = counts.shape
    regions = np.repeat(np.tile(np.arange(n_regions), n_days), counts.ravel())
    reports = mechanism.randomize(regions, randomness=randomness)
    per_day = counts.sum(axis=1)
    provenance = Provenance(plan.fingerprint, is_simulation=randomness.is_simulation)
    return Tally(provenance, mechanism.statistics(reports, per_day), per_day)


def rates_by_period(tally: Tally, plan: Plan, counts: NDArray[np.int64], period: str) -> NDArray[np.float64]:
    """The paper's procedure: estimate, clip at zero, divide by the sum, compare densities."""
    estimate = estimate_tally(tally, plan)
    domain, bins, _ = estimate.domain.coarsen(time=period)
    truth = ExactTally(sum_groups(counts, bins, n_groups=domain.shape[0], axis=0))
    return error_rates(truth, clip_and_rescale(estimate.coarsen(time=period)).values)


def show(measured: Sequence[Figures], expected: Sequence[Figures], tolerance: Tolerance) -> None:
    """Print both tables side by side, with a verdict for each mean."""
    print("Table 3 of the paper (printed) and one-time RAPPOR on the synthetic interventions (measured).\n")
    print("                 ER mean                              ER std            ER min            ER max")
    print("eps   period   measured   printed  ratio  allowed    meas./printed     meas./printed     meas./printed")
    for ours, paper in zip(measured, expected, strict=True):
        ratio, allowed = ours.er_mean / paper.er_mean, tolerance.around(paper) / paper.er_mean
        others = "  ".join(
            f"{getattr(ours, name):.5f}/{getattr(paper, name):.5f}" for name in ("er_std", "er_min", "er_max")
        )
        verdict = "ok" if tolerance.is_met(ours, paper) else "OUTSIDE"
        print(
            f"{paper.epsilon:.2f}  {paper.period:<6}  {ours.er_mean:.6f}  {paper.er_mean:.6f}  {ratio:.3f}"
            f"  ±{allowed:6.1%}   {others}   {verdict}"
        )


def write_result(path: Path, measured: Sequence[Figures]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Figures)])
        writer.writerows(astuple(line) for line in measured)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--params", type=Path, default=HERE / "params.toml")
    parser.add_argument("--expected", type=Path, default=HERE / "expected.csv")
    parser.add_argument("--result", type=Path, default=HERE.parents[1] / "out" / "paper_table3.csv")
    chosen = parser.parse_args(arguments)
    params = tomllib.loads(chosen.params.read_text(encoding="utf-8"))
    expected, tolerance = read_expected(chosen.expected), Tolerance(**params["tolerance"])
    data, seeds = doubs.interventions(params["data"]["seed"]), params["run"]["randomness_seeds"]
    measured = measure(expected, data, seeds)
    show(measured, expected, tolerance)
    write_result(chosen.result, measured)
    outside = sum(not tolerance.is_met(*pair) for pair in zip(measured, expected, strict=True))
    print(f"\n{data}\nMean of {len(seeds)} randomizations; {outside} of {len(expected)} means outside the tolerance.")
    print(f"Written to {chosen.result}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
