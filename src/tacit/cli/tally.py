"""tacit tally: count reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import Force, PlanFile
from tacit.cli.sources import agreed_plan
from tacit.collection.poisoning import tally_and_watch

_ALARMS_SHOWN = 5  # a choice: of the others the number is said


def tally(
    reports: Annotated[list[Path], typer.Argument(metavar="REPORTS...", help="Report files, made by: tacit randomize")],
    plan: PlanFile = Path("plan.toml"),
    out: Annotated[Path, typer.Option(help="Where to write the tally.", metavar="FILE")] = Path("events.tally"),
    force: Force = False,
) -> None:
    """Count the reports of one or more files. Every file is checked before the first is counted.

    Example: [bold]tacit tally north.reports south.reports --plan plan.toml[/bold]
    """
    console.check_new(out, force=force)
    with console.progress("Counting reports") as report:
        agreed = agreed_plan(plan)
        total, alarms = tally_and_watch(reports, agreed, progress=report)
    total.write(out)
    public = console.noun_of(agreed.public, "public bin")
    console.say(
        f"Wrote {out}: {console.counted(total.n_reports, 'report')} in {console.counted(len(total.reports), public)}."
    )
    for alarm in alarms[:_ALARMS_SHOWN]:
        console.warn(f"Suspicious reports: {alarm}")
    if len(alarms) > _ALARMS_SHOWN:
        console.warn(f"... and {len(alarms) - _ALARMS_SHOWN:,} more. Honest reports would rarely show one.")
    console.say(f"Next: tacit release {out} --plan {plan} --by month")
