"""Switch off one rule of smoothing and forecasting at a time, on worlds that the model was never tuned on.

    python -m experiments.ablations.run --seeds 20
    python -m experiments.ablations.run --worlds closures storms --rules "level shifts" --seeds 5 --more

Without seeds it measures two of the record again, and leaves with 1 if a figure lies outside its tolerance in
expected.csv. ``--seeds`` draws fresh ones, which are printed. Every measurement is written to
``out/ablations/runs.csv`` as soon as it is made; ``--more`` adds to that file, so that a run may be stopped and seeds
added later.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import secrets
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from experiments.ablations.rules import FIT, RULES, Rule, replaced, switched_off
from experiments.ablations.summary import COLUMNS, FULL, Run, by_world, figures, findings_of, printed
from experiments.ablations.worlds import EPSILONS, KINDS, World, draw
from experiments.findings import ROOT, read_expected, report, write_findings
from experiments.refinement.run import uncut_limits
from numpy.typing import NDArray

from tacit.counts.count_distribution import CountDistribution
from tacit.counts.estimate import Estimate
from tacit.counts.series import Series
from tacit.counts.tally import ExactTally
from tacit.domain import Grouping, sum_groups
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import plan_for
from tacit.postprocess import smooth
from tacit.privacy.spend import Spend
from tacit.publication.laboratory import reported
from tacit.randomness import SeededRandomness

FloatArray = NDArray[np.float64]
Scores = dict[str, tuple[float, float, float]]
"""By period: the mean absolute error, and what intervals of 80 and of 95 % cover."""

HERE: Final = Path(__file__).parent
HORIZON: Final = 7
TEST_DAYS: Final = 56  # at the end of every world; half as many make the errors of forecasts half as sure again
STRIDE: Final = 3  # days between origins: coprime to 7, so that origins fall on all weekdays


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", choices=list(KINDS), help="all if left out")
    parser.add_argument(
        "--rules", nargs="+", choices=[rule.name for rule in RULES], metavar="RULE", help="all if left out"
    )
    parser.add_argument("--seeds", type=int, help="so many fresh worlds of each kind (default: two of the record)")
    parser.add_argument("--seed", type=int, nargs="+", help="these seeds")
    parser.add_argument(
        "--epsilons", type=float, nargs=2, help="the smallest and the largest epsilon of reports (default: 0.2 and 5)"
    )
    parser.add_argument("--days", type=int, help="the length of longer worlds, with fewer places")
    parser.add_argument("--more", action="store_true", help="add to what earlier runs left in the folder")
    parser.add_argument("--renew", action="store_true", help="keep the runs of the folder as the record")
    parser.add_argument("--reduced", action="store_true", help="a small size, in seconds")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / HERE.name, help="where its findings are left")
    chosen = parser.parse_args(arguments)
    params = tomllib.loads((HERE / "params.toml").read_text(encoding="utf-8"))
    settings = params["reduced" if chosen.reduced else "run"]
    fresh = None if chosen.seeds is None else [secrets.randbits(31) for _ in range(chosen.seeds)]
    seeds = chosen.seed or (settings["seeds"] if fresh is None else fresh)
    kinds = chosen.worlds or settings.get("worlds", list(KINDS))
    names = chosen.rules or settings.get("rules", [rule.name for rule in RULES])
    rules = [rule for rule in RULES if rule.name in names]
    print(f"Seeds {' '.join(map(str, seeds))}", flush=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "runs.csv"
    is_new = not (chosen.more and path.is_file())
    with path.open("w" if is_new else "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        for seed in seeds:
            for kind in kinds:
                world = draw(
                    kind, seed, tiny=chosen.reduced, epsilons=tuple(chosen.epsilons or EPSILONS), days=chosen.days
                )
                print(world, flush=True)
                writer.writerows(one.row() for one in measured(world, rules))
                file.flush()
    if chosen.renew:
        renew(Run.read(path), named=settings["seeds"])
    is_other = seeds != settings["seeds"] or any(
        (chosen.worlds, chosen.rules, chosen.epsilons, chosen.days, chosen.more)
    )
    return summarized(chosen.out, params, is_reduced=chosen.reduced, is_other=is_other)


def renew(runs: Sequence[Run], *, named: Sequence[int]) -> None:
    """Keep these runs: by_world.csv has what all of them say, expected.csv the figures of the seeds that are named.

    The same seeds give the same worlds and noise. What another processor rounds otherwise may move a search, which ends
    within a quarter of a logarithm: a hundredth of a figure.
    """
    seeds = sorted({run.seed for run in runs})
    write_rows(HERE / "by_world.csv", by_world(runs), head=f"# {len(seeds)} seeds: {' '.join(map(str, seeds))}\n")
    expected = figures([run for run in runs if run.seed in named]).items()
    rows = [("name", "expected", "absolute", "relative"), *((name, f"{one:.4f}", 0.01, 0.01) for name, one in expected)]
    write_rows(HERE / "expected.csv", rows)


def summarized(out: Path, params: Mapping[str, Any], *, is_reduced: bool, is_other: bool) -> int:
    """Print what all runs of a folder say together, leave it there, and compare it with what is expected.

    Of other seeds, worlds or rules than usual nothing is expected.
    """
    runs = Run.read(out / "runs.csv")
    print(printed(runs, params["coverage"]))
    measured_figures = figures(runs)
    write_rows(out / "figures.csv", [("name", "measured"), *measured_figures.items()])
    write_rows(out / "by_world.csv", by_world(runs))
    command = f"python -m experiments.{HERE.name}.run" + (" --reduced" if is_reduced else "")
    write_findings(out, experiment=HERE.name, command=command, findings=findings_of(runs, params["coverage"]))
    if is_other:
        print("Other seeds, worlds or rules than those of expected.csv: nothing is compared with it.")
        return 0
    expected = read_expected(HERE / ("expected-reduced.csv" if is_reduced else "expected.csv"))
    return report(measured_figures, expected)


def write_rows(path: Path, rows: Sequence[Sequence[Any]], *, head: str = "") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(head)
        csv.writer(file, lineterminator="\n").writerows(rows)


def measured(world: World, rules: Sequence[Rule]) -> Iterator[Run]:
    """The scores of the full model, and of the model without each rule, for every use in which a rule can matter."""
    for use, score in uses_of(world).items():
        kept: dict[str, Any] = {}
        matter = [rule for rule in rules if use in rule.uses]
        for rule in (None, *matter) if matter else ():
            with replaced(FIT, remembering(kept, rule)), switched_off(rule):
                scores = score()
            for period, (error, cover_80, cover_95) in scores.items():
                name = FULL if rule is None else rule.name
                yield Run(use, world.kind, world.seed, name, period, error, cover_80, cover_95)


def remembering(kept: dict[str, Any], rule: Rule | None) -> Callable[[Any], Any]:
    """The fit of the full model is made once: a rule that does not touch it takes it again for the same arguments."""

    def instead(fit: Any) -> Any:
        def fitted(*arguments: Any) -> Any:
            if rule is not None and rule.is_of_fit:
                return fit(*arguments)
            key = digest(arguments)
            if key not in kept:
                kept[key] = fit(*arguments)
            return kept[key]

        return fitted

    return instead


def digest(value: Any) -> str:
    """A number for anything made of arrays, dataclasses and plain values: equal for equal things."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if is_dataclass(value):
        value = [getattr(value, part.name) for part in fields(value)]
    if isinstance(value, list | tuple):
        return hashlib.sha256("".join(map(digest, value)).encode()).hexdigest()
    return repr(value)


def uses_of(world: World) -> dict[str, Callable[[], Scores]]:
    """What is measured of a world: smoothed local counts, a curator's smoothed counts, and forecasts of local ones."""
    domain = world.domain
    mechanism = choose(domain.shape[1], world.local_epsilon).candidate.name
    plan = plan_for(domain, mechanism=mechanism, epsilon=world.local_epsilon)
    local = reported(plan, world.counts, SeededRandomness(world.seed))
    central_plan = central_plan_for(domain, epsilon=world.curator_epsilon)
    tree = central_mechanism_of(central_plan)
    spend = Spend.simulation(tree.cost, seed=world.seed)
    curated = tree.measure(ExactTally(world.counts), central_plan, spend=spend)
    missing = world.gaps if world.is_told else None
    return {
        "local": lambda: of_smoothed(world, smooth(local)),
        "curator": lambda: of_smoothed(world, smooth(curated, missing=world.gaps if world.gaps.any() else None)),
        "forecast": lambda: of_forecasts(world, Series.of(local, missing=missing)),
    }


def of_smoothed(world: World, smoothed: Estimate) -> Scores:
    """Return errors and coverage of days, months and totals of places.

    Periods of which no day was counted are left out: they are known to be 0, and an interval of no width covers no part
    of a count that is spread over its unit.
    """
    found: Scores = {}
    n_days = len(world.counts)
    for period in ("day", "month", "total"):
        if period == "day":
            estimate, groups = smoothed, np.arange(n_days)
        elif period == "month":
            groups = smoothed.domain.coarsen(time="month")[1].time
            estimate = smoothed.coarsen(time="month")
        else:
            estimate, groups = all_time(smoothed), np.zeros(n_days, np.int64)
        open_rows = np.bincount(groups, weights=~world.gaps) > 0
        truth = sum_groups(world.counts, groups, n_groups=len(open_rows), axis=0)[open_rows]
        covers = []
        for level in (0.80, 0.95):
            lower, upper = (limit[open_rows] for limit in uncut_limits(estimate, level))
            # a count is spread over its unit: an end of the interval inside of it covers a part
            covers.append(float(np.clip(np.minimum(upper, truth + 0.5) - np.maximum(lower, truth - 0.5), 0, 1).mean()))
        error = float(np.abs(estimate.values[open_rows] - truth).mean())
        found[period] = (error, covers[0], covers[1])
    return found


def all_time(estimate: Estimate) -> Estimate:
    """All days of each place together, as an estimate of a single bin."""
    n_days, n_places = estimate.domain.shape
    groups = np.zeros(n_days, np.int64)
    return replace(
        estimate,
        domain=replace(estimate.domain, time=estimate.domain.time.with_end(1)),
        values=estimate.values.sum(axis=0, keepdims=True),
        noise=estimate.noise.coarsen(Grouping.of_columns(groups, np.arange(n_places), (1, n_places))),
        totals=None,
    )


def of_forecasts(world: World, series: Series) -> Scores:
    """Errors and coverage up to a week ahead: of days and weeks of places, and of days of all places together."""
    first = len(world.counts) - TEST_DAYS
    forecaster = ShareForecaster().fit(series.until(first))
    origins = np.arange(first, len(world.counts) - HORIZON + 1, STRIDE)
    forecasts = forecaster.predict_from(series, origins, HORIZON)
    days = origins[:, None] + np.arange(HORIZON)
    truth, is_open = world.counts[days].astype(np.float64), ~world.gaps[days]
    found: Scores = {}
    if is_open.any():
        found["day"] = of_distribution(forecasts.counts, truth, is_open)
        found["total"] = of_distribution(forecasts.totals, truth.sum(axis=2), is_open)
    if is_open[0].all():
        week = forecaster.predict(HORIZON).sums
        found["week"] = of_distribution(week, truth[0].sum(axis=0), np.ones(len(week.means), bool))
    return found


def of_distribution(
    distribution: CountDistribution, counts: FloatArray, is_open: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """The mean absolute error and the coverage of both levels; days on which nothing was counted are left out."""
    cover_80, cover_95 = (float(distribution.coverage(counts, level)[is_open].mean()) for level in (0.80, 0.95))
    return float(np.abs(distribution.means - counts)[is_open].mean()), cover_80, cover_95


if __name__ == "__main__":
    sys.exit(main())
