"""tacit check: read events and say what is wrong with them, nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import DomainOptions, SourceOptions, takes
from tacit.cli.sources import domain_of, open_source, say_bad_rows, say_table_notes
from tacit.errors import DataError
from tacit.plan import Plan


@takes(source=SourceOptions, domain=DomainOptions)
def check(
    source: SourceOptions,
    domain: DomainOptions,
    plan: Annotated[
        str | None, typer.Option(help="Check against this plan's periods and places.", metavar="PLAN")
    ] = None,
) -> None:
    """Read events and report what can be counted and what cannot. Writes nothing.

    Rows are named by number and reason, never by what they hold. What is shown here is exact: for your screen only.

    Example: [bold]tacit check interventions.csv --time SDate --place Town[/bold]
    """
    counted_over = Plan.read(plan).domain if plan is not None else domain_of(domain, source)
    events = open_source(source, counted_over)
    with console.progress("Reading events") as report:
        counts = events.count(progress=report)
    console.strong("Exact figures, not for publication")
    console.say(f"{console.counted(counts.n_rows, 'row')} read, {console.counted(counts.n_events, 'event')} counted.")
    console.say(f"Read as {events.described}.")
    time = counts.domain.time
    if time.n_bins:
        periods = console.counted(time.n_bins, "period")
        console.say(
            f"{periods} of one {time.step}, {time.label(0)} to {time.label(time.n_bins - 1)}, "
            f"and {console.counted(counts.domain.place.n_cells, 'place')}."
        )
    say_bad_rows(counts.bad_rows)
    say_table_notes(counts.table)
    if not counts.n_events:
        raise DataError(
            f"nothing in {source.file} can be counted. Check --time, --place, the table of places, the dates."
        )
