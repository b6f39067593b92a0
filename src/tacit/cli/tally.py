"""tacit tally: count reports."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.engine import engine_of
from tacit.cli.options import BEYOND, EngineOptions, Force, PlanFile, takes
from tacit.collection.poisoning import Watched, tallies_and_runs, tally_and_watch
from tacit.errors import FormatError

if TYPE_CHECKING:
    from tacit.engines.spark import SparkEngine

_PART: Final = re.compile(r"\d+-of-(\d+)\.reports")  # as tasks name them
_ALARMS_SHOWN = 5  # a choice: of the others the number is said


@takes(beyond=BEYOND)
def tally(
    beyond: EngineOptions,
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS...", help="Report files, or folders of them, made by: tacit randomize"),
    ],
    plan: PlanFile = Path("plan.toml"),
    out: Annotated[Path, typer.Option(help="Where to write the tally.", metavar="FILE")] = Path("events.tally"),
    force: Force = False,
) -> None:
    """Count the reports of one or more files. Every file is checked before the first is counted.

    Example: [bold]tacit tally north.reports south.reports --plan plan.toml[/bold]
    """
    console.check_new(out, force=force)
    engine = engine_of(beyond)
    with console.progress("Counting reports") as report:
        agreed = agreed_plan(plan)
        total, alarms = tally_and_watch(_files(reports), agreed, progress=report, tallies=_tallies(engine))
    total.write(out)
    public = console.noun_of(agreed.public, "public bin")
    console.say(
        f"Wrote {out}: {console.counted(total.n_reports, 'report')} in {console.counted(len(total.reports), public)}."
    )
    if total.provenance.is_simulation:
        console.warn("SIMULATION: the reports were made with a known seed. They protect nobody.")
    for alarm in alarms[:_ALARMS_SHOWN]:
        console.warn(f"Suspicious reports: {alarm}")
    if len(alarms) > _ALARMS_SHOWN:
        console.warn(f"... and {len(alarms) - _ALARMS_SHOWN:,} more. Honest reports would rarely show one.")
    console.say(f"Next: {shlex.join(['tacit', 'release', str(out), '--plan', str(plan)])} --by month")


def _files(named: list[Path]) -> list[Path]:
    """Return the files that are named, and in place of a folder its report files."""
    found = []
    for path in named:
        files = sorted(path.glob("*.reports")) if path.is_dir() else [path]
        if not files:
            raise FormatError(f"{path} has no report files (*.reports). Name a file, or the folder of a finished run.")
        parts = Counter(int(part[1]) for file in files if path.is_dir() and (part := _PART.fullmatch(file.name)))
        for of, n_parts in parts.items():
            if n_parts != of:
                raise FormatError(f"{path} has {n_parts:,} of the {of:,} parts of a run. Copy the others there too.")
        found += files
    return found


def _tallies(engine: SparkEngine | None) -> Watched:
    if engine is None:
        return tallies_and_runs
    from tacit.engines.tallying import tallies_and_runs as by_spark

    return partial(by_spark, engine.session)
