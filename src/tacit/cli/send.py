"""tacit send: a station's events, randomized and recorded in the ledger, sent to a collector until they are counted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit._base.files import alone
from tacit.cli import console
from tacit.cli.ledger_file import LedgerFile, data_set_name, opened_ledger, say_ledger
from tacit.cli.options import AcceptLoss, DataSetName, SourceOptions, takes
from tacit.cli.randomize import bins_between
from tacit.cli.sources import open_source, say_bad_rows
from tacit.client.outbox import Intake, Outbox
from tacit.client.stations import Shipment
from tacit.collection.randomizing import ReadEvents, is_interrupted, randomize_events
from tacit.errors import AlreadyRandomized, FormatError, Remedy, SettingError
from tacit.events.badrows import check_loss
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger


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

    Token and periods are checked with the collector before anything is randomized. Stopped anywhere, the same call goes
    on: no event is randomized twice, and no report counts twice.

    Example: [bold]tacit send visits.csv --time date --place town --to https://counts.example/v1/surveys/visits[/bold]
    """
    outbox = Outbox(folder, to, token=token)
    lock = folder / "lock"
    lock.touch(mode=0o600)
    busy = SettingError(f"another tacit send is running with {folder}. Nothing was done. Run it again when that ends.")
    with alone(lock, busy=busy):
        plan = Plan.from_dict(outbox.fetch("plan"))
        intake = outbox.intake()
        if intake is not None:
            intake.check_sender(plan, is_simulation=False)
        shipment = Shipment(folder, plan, outbox)
        book, name = opened_ledger(ledger), data_set or data_set_name(source)
        if shipment.reports.exists() and not is_interrupted(book, name, plan):
            shipment.queue()
        shipment.queue_missing()
        if shipment.is_under_way:
            console.say("Going on with the reports of an earlier run that were not all counted.")
            _deliver(shipment, folder)
        plan.domain.check_tables()
        events = open_source(source, plan.domain)
        if events.options.fields_span_lines:
            raise SettingError(
                "a message cannot say that fields of its source may span lines. Nothing was randomized. Use tacit "
                "randomize, and hand the report file over."
            )
        try:
            with console.progress("Randomizing events") as report:
                done = randomize_events(
                    events,
                    plan,
                    shipment.reports,
                    ledger=book,
                    data_set=name,
                    only=bins_between(plan, first, last),
                    overwrite=False,
                    progress=report,
                    look=partial(_look, plan, intake, shipment, book, folder, is_accepted=accept_loss),
                )
        except _AllCounted:
            console.say("All of these events were randomized and sent earlier, and all were counted: nothing is left.")
            return
        console.say(f"Randomized {console.counted(done.n_reports, 'event')} under plan {plan.fingerprint}.")
        say_bad_rows(done.bad_rows)
        say_ledger(book)
        shipment.queue()
        _deliver(shipment, folder)


class _AllCounted(Exception):
    """These very events were randomized before, and all of their reports were counted."""


def _look(
    plan: Plan,
    intake: Intake | None,
    shipment: Shipment,
    book: Ledger,
    folder: Path,
    read: ReadEvents,
    *,
    is_accepted: bool,
) -> None:
    """Refuse, before anything is paid, what the ledger or the collector would refuse afterwards."""
    check_loss(read, is_accepted=is_accepted)
    if read.earlier is not None and shipment.has_counted(book.head_of(read.earlier)):
        raise _AllCounted
    if read.earlier is not None and (n_refused := shipment.n_refused(book.head_of(read.earlier))):
        raise FormatError(
            f"these events were randomized and sent earlier. Not counted: {console.counted(n_refused, 'message')} of "
            f"theirs. Nothing was randomized now. {_where(folder)}"
        )
    if isinstance(read.refusal, AlreadyRandomized) and read.refusal.remedy is Remedy.ACCEPT_AGAIN:
        raise AlreadyRandomized(read.refusal.problem, remedy=Remedy.SEND_NEW_DAYS)
    if intake is None or read.is_resumed or not read.n_events:
        return
    if read.first_bin is None or read.last_bin is None:
        intake.check_periods(None, 0, 0)
    else:
        intake.check_periods(plan.domain.time, read.first_bin, read.last_bin)


def _deliver(shipment: Shipment, folder: Path) -> None:
    """Send what waits; whatever is not counted is an error."""
    with console.progress("Sending reports") as report:
        done = shipment.deliver(report)
    for why, n in done.sent.refused.items():
        console.warn(f"{console.counted(n, 'message')} not counted. {why}")
    if done.sent.n_waiting:
        raise FormatError(
            f"not all could be delivered: {console.counted(done.sent.n_waiting, 'message')} waiting in {folder}. "
            f"{done.sent.held_up or 'Nobody answered.'} Run the same again: nothing is randomized or counted twice."
        )
    if done.n_refused:
        raise FormatError(
            f"{done.n_refused:,} of {console.counted(done.n_messages, 'message')} refused. Their events are randomized "
            f"and recorded all the same. {_where(folder)}"
        )
    console.say(f"Sent {console.counted(done.n_messages, 'message')}; all were counted.")


def _where(folder: Path) -> str:
    """Where messages lie that were refused, and how they are sent again."""
    return (
        f"What was refused lies in {folder / 'refused'}. If the collector takes it after all, move the messages to "
        f"{folder / 'waiting'}, and run the same again."
    )
