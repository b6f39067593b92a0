"""tacit summary: exact figures per year, and what published aggregates would give away."""

from __future__ import annotations

from tacit.cli import console
from tacit.cli.domains import domain_of, zone_of
from tacit.cli.options import DomainOptions, SourceOptions, takes
from tacit.cli.sources import check_kinds_are_counted, check_there, description_of, looked_at, say_bad_rows
from tacit.errors import DataError
from tacit.events import summarize


@takes(source=SourceOptions, domain=DomainOptions)
def summary(source: SourceOptions, domain: DomainOptions) -> None:
    """Show events per day in each year, and how many week and month cells hold a single event.

    A cell with one event points at one person: the disclosure found in published weekly and monthly aggregates.
    The figures are exact and [bold]not for publication[/bold].

    Example: [bold]tacit summary trips.csv --time started_at --place station --places stations.csv --zone UTC[/bold]
    """
    check_there(source)
    known = description_of(source)
    settings = looked_at(source, zone=zone_of(domain.zone, known), with_kinds=domain.kinds is not None)
    counted_over = domain_of(domain, settings, known=known, level="town")
    check_kinds_are_counted(source, counted_over)
    events = settings.open(counted_over)
    with console.progress("Reading events") as report:
        counts = events.count(progress=report)
    if not counts.n_events:
        say_bad_rows(counts.bad_rows)
        raise DataError(
            f"nothing in {source.shown} can be counted. Check --time, --place, the table of places, the dates."
        )
    found = summarize(counts)
    console.table(
        ["Year", "Total", "Average", "Std. dev.", "Max.", "Min."],
        [
            [
                y.year,
                f"{y.total:,}",
                f"{y.mean:.1f}",
                f"{y.std:.1f}" if y.n_days > 1 else "-",
                f"{y.max:,}",
                f"{y.min:,}",
            ]
            for y in found.years
        ],
        title="Events per day, exact: NOT FOR PUBLICATION",
    )
    console.say()
    if found.kinds:
        console.table(
            ["Kind", "Total", "Average per day", "Max."],
            [[k.kind, f"{k.total:,}", f"{k.mean:.1f}", f"{k.max:,}"] for k in found.kinds],
            title="Events of each kind, exact: NOT FOR PUBLICATION",
        )
        console.say()
    place = found.place_level if not found.kinds else f"{found.place_level} x kind"
    console.say(
        f"Cells with a single event: {found.n_single_weeks:,} of the {found.n_occupied_weeks:,} {place} x week cells "
        f"that hold any, and {found.n_single_months:,} of the {found.n_occupied_months:,} {place} x month cells."
    )
    say_bad_rows(counts.bad_rows)
