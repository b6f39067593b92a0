"""tacit release: estimate counts and write what may be published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import Force, PlanFile
from tacit.pages import make_statement_page
from tacit.plan import Plan
from tacit.release import Release
from tacit.rounding import epsilon_at_most
from tacit.tally import Tally
from tacit.tallying import estimate_tally


def release(
    tally: Annotated[Path, typer.Argument(metavar="TALLY", help="A tally, made by: tacit tally")],
    plan: PlanFile = Path("plan.toml"),
    by: Annotated[
        str | None, typer.Option(help="Add up to: day, week, month or year (default: the plan's step).")
    ] = None,
    place: Annotated[
        str | None, typer.Option(help="Add up to: region or department (default: the plan's level).")
    ] = None,
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.", metavar="FILE")] = Path(
        "release.parquet"
    ),
    statement: Annotated[
        Path | None, typer.Option(help="Also write the privacy statement as a page of its own (.html).", metavar="FILE")
    ] = None,
    force: Force = False,
) -> None:
    """Write counts with intervals and the privacy statement, in one file that may be published.

    Example: [bold]tacit release events.tally --plan plan.toml --by month --out release.parquet[/bold]
    """
    for path in (out, *((statement,) if statement is not None else ())):
        console.check_new(path, force=force)
    agreed = Plan.read(plan)
    with console.progress("Estimating counts"):
        made = Release.of(agreed, estimate_tally(Tally.read(tally), agreed), by=by, place=place, level=level)
        made.write(out)
    n_times, n_places = made.domain.shape
    size = f"{console.counted(n_times, 'period')} x {console.counted(n_places, 'place')}"
    console.say(f"Wrote {out}: {size}, epsilon {epsilon_at_most(made.statement.total_epsilon)} per event.")
    if made.is_simulation:
        console.warn("SIMULATION: made with a known seed, this release protects nobody. Do not publish it.")
    if statement is not None:
        make_statement_page(made, statement)
        console.say(f"Wrote {statement}: the privacy statement.")
    console.say(f"Next: tacit query {out} --from DATE --to DATE --place NAME, or: tacit page {out}")
