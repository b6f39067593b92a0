"""tacit randomize: turn events into reports that may leave the house."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.engine import engine_of
from tacit.cli.ledger_file import LedgerFile, data_set_name, opened_ledger, say_ledger
from tacit.cli.options import (
    BEYOND,
    AcceptLoss,
    Again,
    DataSetName,
    EngineOptions,
    Force,
    PlanFile,
    PlanPlaces,
    SimulationSeed,
    SourceOptions,
    seed_or_none,
    takes,
)
from tacit.cli.sources import open_source, say_bad_rows
from tacit.collection.randomizing import randomize_events
from tacit.errors import SettingError
from tacit.events.badrows import check_loss
from tacit.plan import Plan
from tacit.privacy.guarantee import Guarantee


@takes(source=SourceOptions, beyond=BEYOND)
def randomize(
    source: SourceOptions,
    beyond: EngineOptions,
    plan: PlanFile = Path("plan.toml"),
    out: Annotated[Path, typer.Option(help="Where to write the reports.", metavar="FILE")] = Path("events.reports"),
    places: PlanPlaces = None,
    first: Annotated[
        str | None,
        typer.Option(
            "--from", help="Only events from this day on (the new days of a file that grows).", metavar="DATE"
        ),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", help="Only events up to this day, included.", metavar="DATE")
    ] = None,
    data_set: DataSetName = None,
    again: Again = False,
    accept_loss: AcceptLoss = False,
    ledger: LedgerFile = None,
    seed: SimulationSeed = None,
    force: Force = False,
    parts: Annotated[
        bool,
        typer.Option(
            "--parts",
            help="Let the tasks of Spark write report files into the folder --out, which all machines must find.",
            rich_help_panel=BEYOND.title,
        ),
    ] = False,
) -> None:
    """Randomize every event, and record that it was done.

    The ledger knows events by content and name: a second run on the same events is refused, because randomizing twice
    gives more away. With --again it is done, and every release states the sum.

    Example: [bold]tacit randomize interventions.csv --plan plan.toml[/bold]
    """
    book = opened_ledger(ledger) if seed_or_none(seed) is None else None
    console.check_apart([out], [Path(source.file), plan, *([] if book is None else [book.path])])
    agreed = agreed_plan(plan, places)
    agreed.domain.check_tables()
    engine = engine_of(beyond)
    if engine is None and parts:
        raise SettingError("--parts is for Spark, whose tasks write them. Add --engine spark, or leave it out.")
    output = None if engine is None else engine.output(in_parts=parts)
    events = open_source(source, agreed.domain, engine=engine)
    with console.progress("Randomizing events") as report:
        done = randomize_events(
            events,
            agreed,
            out,
            seed=seed,
            ledger=book,
            data_set=data_set or data_set_name(source),
            again=again,
            only=bins_between(agreed, first, last),
            overwrite=force,
            progress=report,
            look=partial(check_loss, is_accepted=accept_loss),
            output=output,
        )
    if done.is_resumed:
        console.say("A run that was interrupted was taken up: the same reports, at no further cost.")
    console.say(f"Wrote {out}: {console.counted(done.n_reports, 'report')} under plan {agreed.fingerprint}.")
    if book is None:
        console.warn("SIMULATION: the seed undoes the noise. These reports protect nobody; do not publish them.")
    else:
        own = Guarantee.of_reports(
            agreed.epsilon,
            agreed.private,
            tells_kinds=agreed.domain.kind is not None,
            spans_lines=events.options.fields_span_lines,
        )
        console.say_promises((done.prior + own).sentences(), is_alone=done.prior.is_of_nothing)
    say_bad_rows(done.bad_rows)
    say_ledger(book)
    console.say(f"Next: {shlex.join(['tacit', 'tally', str(out), '--plan', str(plan)])}")


def bins_between(plan: Plan, first: str | None, last: str | None) -> slice | None:
    """Return the bins of a plan from one day to another; without both, all of them."""
    if first is None and last is None:
        return None
    time = plan.domain.time
    if last is not None or time.n_bins is not None:
        return time.range(first, last)
    return slice(time.range(first, first).start, sys.maxsize)
