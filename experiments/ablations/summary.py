"""What measurements of many worlds say of a rule: by how much errors grow without it, and what becomes of coverage."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from experiments.findings import Finding, Table, Verdict
from numpy.typing import NDArray
from scipy.stats import t as student

FULL: Final = "full model"
COLUMNS: Final = ("use", "world", "seed", "rule", "period", "error", "cover 80", "cover 95")
LEVELS: Final = (0.80, 0.95)
SMALL: Final = 0.005
"""What a rule must gain in some kind of world to stay: half a percent of error, or half a point of coverage."""
_SURE: Final = 0.95
_LARGEST_RATIO: Final = 1e3  # an error that has no bound without a rule counts as so many times the full model's


@dataclass(frozen=True)
class Run:
    """One world, without one rule: its error and its coverage in one period."""

    use: str
    world: str
    seed: int
    rule: str
    period: str
    error: float
    cover_80: float
    cover_95: float

    def row(self) -> tuple[str | int | float, ...]:
        return tuple(f"{part:.6g}" if isinstance(part, float) else part for part in astuple(self))

    @classmethod
    def read(cls, path: Path) -> list[Run]:
        """All measurements of a file; of one that was made twice, the last."""
        with path.open(encoding="utf-8", newline="") as file:
            lines = {tuple(line[:5]): line for line in list(csv.reader(file))[1:]}.values()
        return [cls(*line[:2], int(line[2]), *line[3:5], *map(float, line[5:])) for line in lines]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Limits:
    """The mean over worlds of what is lost without a rule, with one-sided 95 % limits below and above."""

    mean: float
    lower: float
    upper: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Limits:
        """By Student's t; of one world nothing is known but its value."""
        n, mean = len(values), float(np.mean(values))
        if n < 2:
            return cls(mean, -np.inf, np.inf, n)
        margin = float(student.ppf(_SURE, n - 1)) * float(np.std(values, ddof=1)) / n**0.5
        return cls(mean, mean - margin, mean + margin, n)


@dataclass(frozen=True)
class Loss:
    """What a use loses without a rule, in one kind of world and period.

    ``error`` is of the relative growth of errors, ``cover`` of how much farther from its level coverage is (the larger
    loss of the two levels); ``covers`` are the coverages without the rule.
    """

    use: str
    rule: str
    world: str
    period: str
    error: Limits
    cover: Limits
    covers: tuple[float, float]

    @property
    def is_small(self) -> bool:
        return self.error.upper < SMALL and self.cover.upper < SMALL

    @property
    def is_sure(self) -> bool:
        """Whether the rule is known to gain at least that much here."""
        return any(one.mean >= SMALL and one.lower > 0 for one in (self.error, self.cover))


def losses(runs: Sequence[Run], *, by_world: bool = True) -> list[Loss]:
    """What is lost without each rule; without ``by_world`` all worlds are taken together."""
    full = {(run.use, run.world, run.seed, run.period): run for run in runs if run.rule == FULL}
    pairs: dict[tuple[str, str, str, str], list[tuple[Run, Run]]] = {}
    for run in runs:
        if run.rule != FULL:
            key = (run.use, run.rule, run.world if by_world else "all", run.period)
            pairs.setdefault(key, []).append((run, full[run.use, run.world, run.seed, run.period]))
    return [_loss(*key, found) for key, found in pairs.items()]


def _loss(use: str, rule: str, world: str, period: str, pairs: Sequence[tuple[Run, Run]]) -> Loss:
    ratios = [max(off.error, 1e-12) / max(on.error, 1e-12) for off, on in pairs]
    logs = Limits.of([np.log(min(ratio, _LARGEST_RATIO)) for ratio in ratios])
    growth = Limits(*(float(np.expm1(part)) for part in (logs.mean, logs.lower, logs.upper)), logs.n)
    without, full = _covers(off for off, _ in pairs), _covers(on for _, on in pairs)
    farther = np.abs(without.mean(axis=0) - LEVELS) - np.abs(full.mean(axis=0) - LEVELS)
    of_levels = []
    for which, mean in enumerate(farther.tolist()):
        moved = Limits.of((without - full)[:, which].tolist())
        margin = moved.upper - moved.mean
        of_levels.append(Limits(mean, mean - margin, mean + margin, moved.n))
    mean_80, mean_95 = without.mean(axis=0).tolist()
    return Loss(use, rule, world, period, growth, max(of_levels, key=lambda one: one.mean), (mean_80, mean_95))


def _covers(runs: Iterable[Run]) -> NDArray[np.float64]:
    return np.array([(run.cover_80, run.cover_95) for run in runs])


def verdicts(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    """By use and rule: *goes* if it gains little in every world, *stays* if it gains more in one, *open* between."""
    found: dict[tuple[str, str], list[Loss]] = {}
    for loss in losses(runs):
        found.setdefault((loss.use, loss.rule), []).append(loss)
    return {
        key: "goes" if all(one.is_small for one in some) else "stays" if any(one.is_sure for one in some) else "open"
        for key, some in found.items()
    }


def coverages(runs: Sequence[Run], *, by_world: bool = True) -> dict[tuple[str, str, str], tuple[float, float, int]]:
    """By use, world and period: what 80 and 95 % intervals of the full model cover, and in how many worlds."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.rule == FULL:
            found.setdefault((run.use, run.world if by_world else "all", run.period), []).append(run)
    return {key: (*_covers(some).mean(axis=0).tolist(), len(some)) for key, some in found.items()}  # type: ignore[misc]


def figures(runs: Sequence[Run]) -> dict[str, float]:
    """Return what expected.csv has: over all worlds, the error without each rule and the full model's coverage."""
    over_all = losses(runs, by_world=False)
    found = {f"{one.use}/{one.rule}/{one.period}": 1 + one.error.mean for one in over_all}
    for (use, _, period), covered in coverages(runs, by_world=False).items():
        found |= {f"{use}/{FULL}/{period} {level:.0%}": one for level, one in zip(LEVELS, covered[:2], strict=True)}
    return found


def tables(runs: Sequence[Run], limits: Mapping[str, Sequence[float]]) -> tuple[Table, Table]:
    """Return what is lost without each rule, and what the full model covers, marked where that is outside."""
    said, rows = verdicts(runs), []
    of_rules: dict[tuple[str, str], list[Loss]] = {}
    for loss in losses(runs):
        of_rules.setdefault((loss.use, loss.rule), []).append(loss)
    for key, some in of_rules.items():
        error, cover = max(some, key=lambda one: one.error.mean), max(some, key=lambda one: one.cover.mean)
        grown = f"{error.error.mean:+.2%} ({error.error.upper:+.2%}) {error.world}, {error.period}"
        farther = f"{cover.cover.mean:+.2%} ({cover.cover.upper:+.2%}) {cover.world}, {cover.period}"
        rows.append((*key, grown, farther, said[key]))
    covered = [
        (*key, *(marked(one, limits[f"{100 * level:.0f}"]) for one, level in zip(found[:2], LEVELS, strict=True)))
        for by_world in (False, True)
        for key, found in coverages(runs, by_world=by_world).items()
    ]
    columns = ("use", "rule", "error grows by", "coverage is farther from its level by", "verdict")
    return (
        Table("The most that is lost without a rule (upper 95 % limit), and where", columns, tuple(rows)),
        Table(
            "Coverage of the full model; ! is outside of what is asked",
            ("use", "world", "period", "80 %", "95 %"),
            tuple(covered),
        ),
    )


def by_world(runs: Sequence[Run]) -> list[tuple[str | int, ...]]:
    """Return for every use, rule, kind of world and period the error relative to the full model, and both coverages."""
    rows: list[tuple[str | int, ...]] = [("use", "rule", "world", "period", "n", "error", "upper", "80 %", "95 %")]
    for (use, world, period), (cover_80, cover_95, n) in coverages(runs).items():
        rows.append((use, FULL, world, period, n, "1.0000", "1.0000", f"{cover_80:.4f}", f"{cover_95:.4f}"))
    for one in losses(runs):
        ratios = (f"{1 + part:.4f}" for part in (one.error.mean, one.error.upper))
        covers = (f"{cover:.4f}" for cover in one.covers)
        rows.append((one.use, one.rule, one.world, one.period, one.error.n, *ratios, *covers))
    return rows


def marked(share: float, limits: Sequence[float]) -> str:
    return f"{share:.3f}" + ("" if limits[0] <= share <= limits[1] else " !")


def printed(runs: Sequence[Run], limits: Mapping[str, Sequence[float]]) -> str:
    """Both tables as text."""
    parts = []
    for table in tables(runs, limits):
        rows = [table.columns, *(tuple(map(str, row)) for row in table.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        parts.append("\n".join([table.caption, "", *lines, ""]))
    seeds = sorted({run.seed for run in runs})
    return "\n".join([*parts, f"{len(seeds)} seeds of each kind: {' '.join(map(str, seeds))}"])


def findings_of(runs: Sequence[Run], limits: Mapping[str, Sequence[float]]) -> list[Finding]:
    """Whether every rule earns its place, and whether intervals cover what they say."""
    lost, covered = tables(runs, limits)
    of_rules: dict[str, set[str]] = {}
    for (_, rule), verdict in verdicts(runs).items():
        of_rules.setdefault(rule, set()).add(verdict)
    idle = [rule for rule, some in of_rules.items() if some == {"goes"}]
    outside = [
        f"{use}, {period}"
        for use, world, period, *cells in covered.rows
        if world == "all" and any("!" in str(cell) for cell in cells)
    ]
    drawn = sorted({run.seed for run in runs})
    seeds = f"{len(drawn)} fresh seeds: {' '.join(map(str, drawn))}"
    return [
        Finding(
            key="ablations-rules",
            source="Tacit, ablations",
            title="What smoothing and forecasting lose without each rule",
            claim="Every rule gains half a percent of error or half a point of coverage in some world.",
            verdict=Verdict.FAILS if idle else Verdict.HOLDS,
            because=f"Rules that gain less in every world: {', '.join(idle) or 'none'}.",
            seed=seeds,
            tables=(lost,),
        ),
        Finding(
            key="ablations-coverage",
            source="Tacit, ablations",
            title="What intervals cover in worlds that the model was never tuned on",
            claim="Over all worlds, 80 % intervals cover 77 to 85 % and 95 % intervals 93 to 97.5 %.",
            verdict=Verdict.FAILS if outside else Verdict.HOLDS,
            because=f"Outside: {'; '.join(outside) or 'none'}.",
            seed=seeds,
            tables=(covered,),
        ),
    ]
