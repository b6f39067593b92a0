"""What an experiment found: figures beside those expected, and claims with a verdict each.

An experiment is a folder with ``README.md``, ``params.toml``, ``expected.csv`` and ``run.py``, whose ``measure`` gives
figures by name and findings; :func:`run` is all that its ``main`` needs::

    def main(arguments: Sequence[str] | None = None) -> int:
        return run(measure, Path(__file__).parent, arguments)

It leaves ``findings.json`` and all figures in ``out/NAME``; ``python -m experiments.reproduce`` makes one page of all
findings.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import altair as alt
import vl_convert

from tacit.pages.figures.charts import ON_PAGE

ROOT: Final = Path(__file__).parents[1]
FILE: Final = "findings.json"


class Verdict(StrEnum):
    """What becomes of a claim."""

    HOLDS = "holds"
    LARGER_EPSILON = "holds only at a larger epsilon"
    FAILS = "fails"
    ILLUSTRATION = "illustration"


class Shade(StrEnum):
    """Colours with one meaning all over the page, legible on light and on dark; tell lines apart by dashes too."""

    TRUTH = "var(--ink)"
    PUBLISHED = "var(--published)"  # the paper's way; the thesis' as coded
    CLAIMED = "var(--claimed)"  # the thesis' as claimed; the paper's without its leaks
    TACIT = "var(--accent)"
    OTHER = "var(--muted)"


@dataclass(frozen=True)
class Table:
    """Rows under named columns. Numbers are written with four digits; give a string where others are meant."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | int, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row must have {len(self.columns)} cells: {self.caption}")


@dataclass(frozen=True)
class Picture:
    """A chart as SVG text; its caption says what it shows to those who do not see it."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Finding:
    """A claim of a seed, what was measured, and what becomes of the claim."""

    key: str  # "thesis-figure-12"
    source: str  # "thesis, Figure 12"
    title: str
    claim: str  # in one sentence
    verdict: Verdict
    because: str  # one or two sentences with figures
    seed: str
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Findings:
    """Everything one experiment left, and the command that repeats it."""

    experiment: str
    command: str
    findings: tuple[Finding, ...]
    is_reduced: bool = False


@dataclass(frozen=True)
class Expected:
    """A figure kept in git, and how far a measured one may lie from it."""

    name: str  # "table2/2013/mean"
    expected: float
    absolute: float
    relative: float

    def is_met(self, measured: float) -> bool:
        # written so that NaN fails too
        return abs(measured - self.expected) <= self.absolute + self.relative * abs(self.expected)


Measure = Callable[..., tuple[Mapping[str, float], Sequence[Finding]]]


def run(measure: Measure, folder: Path, arguments: Sequence[str] | None = None) -> int:
    """Call ``measure(params, reduced=…)``, leave what it found, and compare its figures with those expected.

    The reduced size is compared with ``expected-reduced.csv``.
    """
    parser = argparse.ArgumentParser(description=f"Run the experiment {folder.name}; see its README.md.")
    parser.add_argument("--reduced", action="store_true", help="a small size, in seconds")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / folder.name, help="where its findings are left")
    chosen = parser.parse_args(arguments)
    params = tomllib.loads((folder / "params.toml").read_text(encoding="utf-8"))
    measured, findings = measure(params, reduced=chosen.reduced)
    command = f"python -m experiments.{folder.name}.run" + (" --reduced" if chosen.reduced else "")
    write_findings(chosen.out, experiment=folder.name, command=command, findings=findings)
    with (chosen.out / "figures.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("name", "measured"), *measured.items()])
    for finding in findings:
        print(f"{finding.source}: {finding.verdict}. {finding.because}")
    expected = read_expected(folder / ("expected-reduced.csv" if chosen.reduced else "expected.csv"))
    return report(measured, expected)


def write_findings(folder: Path, *, experiment: str, command: str, findings: Sequence[Finding]) -> None:
    """Leave ``findings.json`` in a folder; NaN is refused."""
    keys = [finding.key for finding in findings]
    if len(set(keys)) < len(keys):
        raise ValueError(f"every finding must have a key of its own; got {keys}")
    folder.mkdir(parents=True, exist_ok=True)
    content = {"experiment": experiment, "command": command, "findings": [asdict(finding) for finding in findings]}
    text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False, default=_plain)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read_findings(folder: Path) -> Findings:
    """What an experiment left in a folder."""
    content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    findings = tuple(
        Finding(
            **{name: finding[name] for name in ("key", "source", "title", "claim", "because", "seed")},
            verdict=Verdict(finding["verdict"]),
            tables=tuple(
                Table(table["caption"], tuple(table["columns"]), tuple(tuple(row) for row in table["rows"]))
                for table in finding["tables"]
            ),
            pictures=tuple(Picture(**picture) for picture in finding["pictures"]),
        )
        for finding in content["findings"]
    )
    command = content["command"]
    return Findings(content["experiment"], command, findings, is_reduced="--reduced" in command.split())


def read_expected(path: Path) -> tuple[Expected, ...]:
    """The figures kept in git: columns name, expected, absolute, relative; lines that begin with # are remarks."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return tuple(
            Expected(line["name"], *(float(line[column]) for column in ("expected", "absolute", "relative")))
            for line in csv.DictReader(lines)
        )


def outside(measured: Mapping[str, float], expected: Sequence[Expected]) -> list[str]:
    """The names of expected figures that are missing, NaN or farther away than their tolerance."""
    return [one.name for one in expected if not one.is_met(measured.get(one.name, math.nan))]


def report(measured: Mapping[str, float], expected: Sequence[Expected]) -> int:
    """Print what lies outside its tolerance; 1 if anything does, or if nothing was expected."""
    names = set(outside(measured, expected))
    for one in expected:
        if one.name in names:
            allowed = one.absolute + one.relative * abs(one.expected)
            found = measured.get(one.name, math.nan)
            print(f"OUTSIDE  {one.name}: measured {found:.6g}, expected {one.expected:.6g} ± {allowed:.3g}")
    print(f"{len(expected) - len(names)} of {len(expected)} expected figures came back.")
    return 1 if names or not expected else 0


def verdict_by_epsilon(holds_at: Mapping[float, bool]) -> Verdict:
    """The verdict on a claim that was tried at several epsilons.

    >>> verdict_by_epsilon({0.4: False, 2.2: True}).value
    'holds only at a larger epsilon'
    """
    if all(holds_at.values()):
        return Verdict.HOLDS
    largest = max(holds_at)
    return Verdict.LARGER_EPSILON if holds_at[largest] else Verdict.FAILS


def svg_of(chart: alt.TopLevelMixin) -> str:
    """A chart as SVG in the colours of the page, so that dark screens recolour it."""
    labels = {"labelColor": ON_PAGE.ink, "titleColor": ON_PAGE.muted, "labelFontSize": 12, "labelLimit": 320}
    # the headless renderer measures letters a little short: room for the longest labels
    room = {"padding": {"left": 20, "right": 16, "top": 5, "bottom": 5}}
    words = {
        "legend": labels | {"columnPadding": 36},
        "header": labels,
        "title": {"color": ON_PAGE.ink, "anchor": "start", "fontSize": 13},
    }
    svg: str = vl_convert.vegalite_to_svg(chart.configure(**ON_PAGE.config() | words | room).to_dict())
    return svg


def picture_of_docs(name: str, caption: str) -> Picture:
    """An illustration that stands in ``docs/images``."""
    return Picture(caption, (ROOT / "docs" / "images" / name).read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item()


__all__ = [
    "Expected",
    "Finding",
    "Findings",
    "Picture",
    "Shade",
    "Table",
    "Verdict",
    "outside",
    "picture_of_docs",
    "read_expected",
    "read_findings",
    "report",
    "run",
    "svg_of",
    "verdict_by_epsilon",
    "write_findings",
]
