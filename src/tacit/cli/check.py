"""tacit check: read events, say what is wrong with them, and describe how they are written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.domains import agreed_plan, domain_of, say_kinds, zone_of
from tacit.cli.engine import engine_of
from tacit.cli.options import BEYOND, DomainOptions, EngineOptions, UserSourceOptions, takes
from tacit.cli.sources import (
    Settings,
    check_there,
    columns_far_away,
    columns_of,
    description_of,
    description_path,
    named_source,
    options_of,
    proposed,
    refuse_dates,
    say_bad_rows,
    say_beyond,
    say_table_notes,
    settings_of,
)
from tacit.collection.curating import bound_of
from tacit.errors import DataError, SettingError
from tacit.events import DateFinding, EventCounts, Reason, SourceDescription, propose_columns


@takes(source=UserSourceOptions, domain=DomainOptions, beyond=BEYOND)
def check(
    source: UserSourceOptions,
    domain: DomainOptions,
    beyond: EngineOptions,
    plan: Annotated[
        str | None, typer.Option(help="Check against this plan's periods and places.", metavar="PLAN")
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Say that the description is true of the source whatever its rows hold, and public; write it.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Describe the source again, and replace its description.")] = (
        False
    ),
) -> None:
    """Read events, report what can be counted, and describe how they are written.

    The description is proposed from how the file looks, for you to correct and confirm: it must be true whatever rows
    the source holds, now or later. Rows are read as it says, each by itself, and those that do not fit are set aside.
    It is written beside the file, where randomize, count, bound and counter find it.

    With FILE alone it lists the columns, and proposes which hold the time, the place and the kind.

    Rows are named by number and reason, never by what they hold. What is shown here is exact: for your screen only.

    Example: [bold]tacit check trips.csv --time started_at --place station --places stations.csv --zone UTC[/bold]
    """
    agreed = None if plan is None else agreed_plan(plan)
    path = description_path(source)
    known = None if force or path is None or not path.is_file() else description_of(source)
    engine = engine_of(beyond)
    # what only Spark finds (a folder, an address, a table) is described by the options alone: no row comes here
    is_far = engine is not None and not Path(source.file).is_file()
    if not is_far:
        check_there(source)
    if known is None and source.time is None:
        _say_columns(source, columns_far_away(source, engine) if is_far and engine is not None else None)
        return
    zone = zone_of(domain.zone, known) if agreed is None else agreed.domain.time.zone
    if known is None:
        with_kinds = domain.kinds is not None if agreed is None else agreed.domain.kind is not None
        if is_far:
            named: object = source.file
            described = SourceDescription.of("frame", columns_of(source), options_of(source), zone=zone)
        else:
            named = named_source(source)
            described = describe(source, zone, with_kinds=with_kinds)
        settings = Settings(named, columns_of(source, described), described.options(options_of(source)))
    else:
        described, settings = known, settings_of(source, with_user=True, engine=engine)
    counted_over = domain_of(domain, settings, known=known) if agreed is None else agreed.domain
    bound = None
    if agreed is not None and settings.columns.user is not None:
        bound = bound_of(agreed.protected_unit, bytes(32), "")  # how much is cut does not depend on the key
    with console.progress("Reading events") as report:
        counts = settings.open(counted_over, engine).count(progress=report, bound=bound)
    _say_counts(counts)
    if not counts.n_events:
        raise DataError(
            f"nothing in {source.shown} can be counted. Check --time, --place, the table of places, the dates"
            + (", --kind and the kinds." if counted_over.kind is not None else ".")
        )
    console.say(f"How {source.shown} is written:")
    for sentence in described.sentences():
        console.say(f"  {sentence}")
    if known is None:
        again = "If it is true, confirm it by giving the same command with: --confirm"
        confirm_description(source, described, confirm=confirm, otherwise=again)
    else:
        console.say(f"So says {description_path(source)}, which was confirmed before.")


def _say_columns(source: UserSourceOptions, names_far_away: Sequence[str] | None) -> None:
    """List the columns and, of a source on this machine, what they seem to hold, with the command that comes next."""
    names, found = names_far_away, dict[str, str]()
    if names is None:
        names, found = propose_columns(named_source(source), options=options_of(source))
    console.say(f"{source.shown} has {console.counted(len(names), 'column')}: {', '.join(names)}.")
    if roles := [f"{role} seems to be {name}" for role, name in found.items()]:
        console.say(f"By their names and first rows, {', '.join(roles)}. Only you know.")
    words = [word for role in ("time", "place") for word in (f"--{role}", found.get(role, "COLUMN"))]
    query = [] if source.query is None else ["--query", source.query]
    if names_far_away is not None:
        words += ["--engine", "spark"]
    console.say(f"Next: {shlex.join(['tacit', 'check', source.shown, *query, *words])} --places TABLE --zone ZONE")


def describe(source: UserSourceOptions, zone: str, *, with_kinds: bool) -> SourceDescription:
    """Return the proposed description; the order of dates is asked for, never proposed."""
    proposal = proposed(source, zone=zone, with_kinds=with_kinds)
    if proposal.description.date_format is not None or proposal.dates is None:
        return proposal.description
    _say_dates(proposal.dates)
    if not proposal.dates.needs_order or not console.is_attended():
        refuse_dates(source)
    order = ""
    while order not in ("day-first", "month-first"):
        order = typer.prompt("How does the source write its dates? day-first or month-first").strip()
    return replace(proposal.description, date_format=order)


def confirm_description(
    source: UserSourceOptions, described: SourceDescription, *, confirm: bool, otherwise: str
) -> None:
    """Write the description if it is confirmed, by option or by answer; ``otherwise`` says how else it can be."""
    console.say("This must be true whatever rows the source holds: rows that do not fit are set aside. It is public.")
    if not confirm and console.is_attended():
        confirm = typer.confirm("Is it true, and may everyone know it?")
    if not confirm:
        console.say(f"Nothing was written. {otherwise}")
        return
    path = description_path(source)
    if path is None:
        raise SettingError(
            "the description of a database or an address has no place of its own. Say where to keep it: "
            "--source events.source.toml"
        )
    console.check_outputs([path], [Path(source.file)], force=True)
    described.write(path)
    console.say(f"Wrote {path}: publish, randomize, count, bound and counter read the source as it says.")


def _say_dates(dates: DateFinding) -> None:
    if dates.needs_order:
        console.say(
            f"Of the dates, for your eyes only: {dates.n_day_first:,} can only be day first, {dates.n_month_first:,} "
            f"only month first, {dates.n_either:,} either, {dates.n_year_first:,} begin with the year."
        )


def _say_counts(counts: EventCounts) -> None:
    console.strong("Exact figures, not for publication")
    console.say(f"{console.counted(counts.n_rows, 'row')} read, {console.counted(counts.n_events, 'event')} counted.")
    time = counts.domain.time
    if time.n_bins:
        periods = console.counted(time.n_bins, "period")
        console.say(
            f"{periods} of one {time.step}, {time.label(0)} to {time.label(time.n_bins - 1)}, "
            f"and {console.counted(counts.domain.place.n_cells, 'place')}"
            + (
                f" with {console.counted(counts.domain.n_kinds, 'kind')} each."
                if counts.domain.kind is not None
                else "."
            )
        )
    say_kinds(counts.domain)
    say_beyond(counts.n_beyond, counts.n_rows_beyond)
    say_bad_rows(counts.bad_rows)
    say_table_notes(counts.table)
    if Reason.BAD_QUOTES in counts.bad_rows.counts:
        console.say(
            "If fields of this source may hold line ends, its description must say so: write fields_span_lines = true "
            "in it. If quotes mean nothing in it: quote = ''"
        )
