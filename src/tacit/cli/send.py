"""tacit send: randomize a station's events and send the reports to a collector."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.ledger_file import LedgerFile, data_set_name, opened_ledger, say_ledger
from tacit.cli.options import AcceptLoss, DataSetName, SourceOptions, takes
from tacit.cli.randomize import bins_between
from tacit.cli.sources import open_source, say_bad_rows
from tacit.client.outbox import Outbox
from tacit.client.stations import queue_reports
from tacit.collection.randomizing import is_interrupted, randomize_events
from tacit.errors import FormatError
from tacit.events.badrows import check_loss
from tacit.plan import Plan


@takes(source=SourceOptions)
def send(
    source: SourceOptions,
    to: Annotated[
        str,
        typer.Option(
            "--to", help="The survey's address, such as https://counts.example/v1/surveys/visits.", metavar="URL"
        ),
    ],
    token: Annotated[
        str | None, typer.Option(help="The token to send reports.", envvar="TACIT_TOKEN", metavar="TOKEN")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where reports wait until they are counted.", metavar="FOLDER")] = Path(
        "outbox"
    ),
    first: Annotated[str | None, typer.Option("--from", help="Only events from this day on.", metavar="DATE")] = None,
    last: Annotated[
        str | None, typer.Option("--until", help="Only events up to this day, included.", metavar="DATE")
    ] = None,
    data_set: DataSetName = None,
    accept_loss: AcceptLoss = False,
    ledger: LedgerFile = None,
) -> None:
    """Randomize every event under a survey's plan, record it, and send the reports until they are counted.

    Stopped anywhere, the same call goes on: no event is randomized twice, and no report counts twice.

    Example: [bold]tacit send visits.csv --time date --place town --to https://counts.example/v1/surveys/visits[/bold]
    """
    outbox = Outbox(folder, to, token=token)
    plan = Plan.from_dict(outbox.fetch("plan"))
    reports = folder / f"{plan.fingerprint}.reports"
    book = opened_ledger(ledger)
    name = data_set or data_set_name(source)
    if reports.exists() and not is_interrupted(book, name, plan):
        console.say("Going on with the reports of an earlier run that were not all counted.")
    else:
        plan.domain.check_tables()
        events = open_source(source, plan.domain)
        with console.progress("Randomizing events") as report:
            done = randomize_events(
                events,
                plan,
                reports,
                ledger=book,
                data_set=name,
                only=bins_between(plan, first, last),
                overwrite=False,
                progress=report,
                look=partial(check_loss, is_accepted=accept_loss),
            )
        console.say(f"Randomized {console.counted(done.n_reports, 'event')} under plan {plan.fingerprint}.")
        say_bad_rows(done.bad_rows)
        say_ledger(book)
    n_messages = queue_reports(reports, plan, outbox)
    with console.progress("Sending reports") as report:
        sent = outbox.send(progress=report)
    for why, n in sent.refused.items():
        console.warn(f"{console.counted(n, 'message')} refused. {why}")
    if sent.n_waiting:
        raise FormatError(
            f"{console.counted(sent.n_waiting, 'message')} could not be delivered and waits in {folder}. Run the same "
            "again: nothing is randomized or counted twice."
        )
    reports.unlink()
    if n_refused := sum(sent.refused.values()):
        raise FormatError(
            f"{n_refused:,} of {console.counted(n_messages, 'message')} refused. Their events are randomized and "
            f"recorded all the same, and their reports lie in {folder / 'refused'}."
        )
    console.say(f"Sent {console.counted(n_messages, 'message')}; all were counted.")
