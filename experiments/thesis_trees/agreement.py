"""Whether the structures as coded err as much as the thesis measured with its code."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from experiments.findings import Expected, Finding, Table, Verdict
from experiments.thesis_structures import Series
from experiments.thesis_structures.measuring import CODED, HIERARCHY, Case, Size, root_mean_square_errors

FILE = Path(__file__).parent / "thesis-measured.csv"
NEARLY_ALL = 0.98


@dataclass(frozen=True)
class Printed:
    """An error that the thesis measured, and the case that gives it."""

    figure: Expected
    case: Case
    length: int
    stated_epsilon: float

    @property
    def is_rerun(self) -> bool:
        return self.case.epsilon != self.stated_epsilon


def read_printed(path: Path = FILE) -> list[Printed]:
    """The thesis' measured errors, each with the claimed epsilon at which it comes back."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [_printed(line) for line in lines]


def _printed(line: dict[str, str]) -> Printed:
    figure = Expected(line["name"], *(float(line[column]) for column in ("expected", "absolute", "relative")))
    _, n_days, epsilon, length, kind = line["name"].removesuffix(" (asked again)").split("/")
    structure, _, degree = kind.partition(" of degree ")
    case = Case(structure, CODED, int(n_days), float(line["run_at"]), int(degree) if degree else None)
    return Printed(figure, case, int(length), float(epsilon))


@dataclass(frozen=True)
class Agreement:
    """Measured errors beside those printed; for figures that were run at another epsilon, also at the one stated."""

    printed: tuple[Printed, ...]
    measured: dict[str, float]
    at_stated: dict[str, float]
    series: Series
    seed: int

    def ratio(self, structure: str, *, at_stated: bool = False, only_rerun: bool | None = None) -> float:
        """Measured over printed, the geometric mean."""
        chosen = self.at_stated if at_stated else self.measured
        return geometric_mean(
            chosen[one.figure.name] / one.figure.expected
            for one in self.printed
            if one.case.structure == structure and one.figure.name in chosen and only_rerun in (None, one.is_rerun)
        )

    def figures(self) -> dict[str, float]:
        structures = dict.fromkeys(one.case.structure for one in self.printed)
        ratios = {f"measured over printed/{name}": self.ratio(name) for name in structures}
        return ratios | {"measured over printed/local hierarchy at 0.2": self.ratio(HIERARCHY, at_stated=True)}


def agreement_of(series: Series, sizes: Sequence[int], size: Size, seed: int) -> Agreement:
    """Ask the structures as coded the thesis' questions again, more of them than it made."""
    printed = tuple(one for one in read_printed() if one.case.n_days in sizes)
    measured, at_stated = {}, {}
    for one in printed:
        (measured[one.figure.name],) = root_mean_square_errors(one.case, [one.length], size, series, seed)
        if one.is_rerun:
            stated = Case(one.case.structure, CODED, one.case.n_days, one.stated_epsilon, one.case.degree)
            (at_stated[one.figure.name],) = root_mean_square_errors(stated, [one.length], size, series, seed)
    return Agreement(printed, measured, at_stated, series, seed)


def findings_of(agreement: Agreement) -> list[Finding]:
    structures = list(dict.fromkeys(one.case.structure for one in agreement.printed))
    ratios = {name: agreement.ratio(name) for name in structures}
    met = sum(one.figure.is_met(agreement.measured[one.figure.name]) for one in agreement.printed)
    own = "the thesis' own series" if agreement.series.is_the_thesis_own else "a synthetic series of its size"
    rows = tuple(
        (
            one.case.n_days,
            one.length,
            one.figure.name.removesuffix(" (asked again)").rpartition("/")[2],
            f"{one.stated_epsilon:g}",
            f"{one.case.epsilon:g}",
            one.figure.expected,
            agreement.measured[one.figure.name],
            f"{agreement.measured[one.figure.name] / one.figure.expected:.2f}",
        )
        for one in agreement.printed
    )
    head = ("days N", "length r", "structure", "ε printed", "ε run", "thesis", "as coded", "ratio")
    seed = f"{agreement.seed} ({agreement.series.name})"
    at_stated = agreement.ratio(HIERARCHY, at_stated=True)
    at_rerun = agreement.ratio(HIERARCHY, only_rerun=True)
    return [
        Finding(
            "thesis-measured-errors",
            "thesis, results of sections 10.6 and 14.3.3",
            "The thesis' own measured errors beside the structures as coded",
            "The errors that the thesis measured come back from its structures, faults included.",
            Verdict.HOLDS if met >= NEARLY_ALL * len(rows) else Verdict.FAILS,
            f"On {own}, measured over printed: "
            + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
            + f" (geometric means); {met} of {len(rows)} figures lie within four standard deviations.",
            seed,
            (Table("RMSE in visits, 2,500 ranges a figure in the thesis", head, rows),),
        ),
        Finding(
            "thesis-hierarchy-smallest-epsilon",
            "thesis, Figures 16 to 18, 21, 23 and 25",
            "The smallest ε of the local hierarchy",
            "The errors shown for the local hierarchy at ε = 0.2 were measured at 0.2.",
            Verdict.HOLDS if abs(at_stated - 1) <= abs(at_rerun - 1) else Verdict.FAILS,
            f"As coded at 0.2 the hierarchy errs {at_stated:.3f} times as much as printed, at 0.3 {at_rerun:.3f} times "
            "(geometric means): the run behind that column was at 0.3.",
            seed,
        ),
    ]
