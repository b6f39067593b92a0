"""tacit bound: choose privately how many events of a person are counted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit._base.files import write_whole
from tacit._base.reading import MOST_DIGITS
from tacit.cli import console
from tacit.cli.domains import domain_of
from tacit.cli.ledger_file import LedgerFile, data_set_name, paid, paying_ledger, say_ledger
from tacit.cli.options import (
    DataSetName,
    DomainOptions,
    DryRun,
    Force,
    MostEpsilon,
    SimulationSeed,
    UserSourceOptions,
    takes,
)
from tacit.cli.sources import description_of, open_source, say_bad_rows
from tacit.collection.choosing import choose_bound, price_bound
from tacit.errors import SettingError
from tacit.events.contribution_bound import PersonCounts
from tacit.mechanisms.central.bound_choice import BoundChoice
from tacit.privacy.cost import Budget


@takes(source=UserSourceOptions, domain=DomainOptions)
def bound(
    source: UserSourceOptions,
    domain: DomainOptions,
    epsilon: Annotated[float, typer.Option(help="How much the choice may give away; smaller is safer.")],
    grid: Annotated[
        str, typer.Option(help="The bounds to choose from, ascending; public.", metavar="NUMBERS")
    ] = "1,2,5,10,20,50,100",
    quantile: Annotated[
        float, typer.Option(help="About such a share of the persons shall have no more events than the bound.")
    ] = 0.95,
    window: Annotated[
        str | None, typer.Option(help="The window of the bound: week, month or year (default: all that is released).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the bound and its statement as text.", metavar="FILE")
    ] = None,
    data_set: DataSetName = None,
    budget: MostEpsilon = None,
    dry_run: DryRun = False,
    ledger: LedgerFile = None,
    seed: SimulationSeed = None,
    force: Force = False,
) -> None:
    """Choose privately how many events of a person are counted, from a public grid.

    The bound for [bold]tacit plan --unit person --most[/bold] should leave most persons uncut, and how many events they
    have is private. The exponential mechanism looks at the events and draws a bound; the ledger is asked first.

    Example: [bold]tacit bound loans.csv --user Card --places libraries.csv --from 2014-01-02 --to 2019-06-30 --grid \
1,2,5,10,20,50 --epsilon 0.1[/bold]
    """
    if domain.first is None or domain.last is None:
        raise SettingError("the days that are looked at are public. Give the first and the last: --from, --to")
    choice = BoundChoice(_numbers(grid), quantile, epsilon, window)
    book = paying_ledger(ledger, seed=seed, dry_run=dry_run, budget=budget)
    console.check_outputs((out,), (Path(source.file), None if book is None else book.path), force=force)
    events = open_source(source, domain_of(domain, known=description_of(source)), with_user=True)
    name = data_set or data_set_name(source)
    chosen = paid(
        "Counting persons",
        partial(choose_bound, events, choice),
        partial(price_bound, events, choice),
        f"person in a {window}" if window else "person in all that is released",
        dry_run=dry_run,
        seed=seed,
        ledger=book,
        data_set=name,
        budget=None if budget is None else Budget(epsilon=budget),
        look=_show,
    )
    if chosen is None:
        return
    if out is not None:
        write_whole(out, "".join(f"{line}\n" for line in chosen.statement).encode())
    console.strong(f"Count at most {console.counted(chosen.most, 'event')} of a person.")
    for sentence in chosen.statement:
        console.say(sentence)
    if chosen.is_resumed:
        console.say("An interrupted run was taken up again: the same bound, at no further cost.")
    if book is not None:
        book.finish(chosen.spend)
        console.say(f"What remains of the budget of {chosen.spend.data_set}: {chosen.spend.what_remains}.")
    say_ledger(book)
    more = f" --window {window}" if window else ""
    console.say(f"Next: tacit plan --trust curator --unit person --most {chosen.most}{more}")


def _show(counted: PersonCounts) -> None:
    """Say what is exact about the events: for this screen alone, and before anything is paid."""
    if not counted.n_persons:
        console.warn("For your eyes only: no person was counted. The bound is drawn by chance alone.")
    say_bad_rows(counted.bad_rows)


def _numbers(grid: str) -> tuple[int, ...]:
    parts = [part.strip() for part in grid.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) <= MOST_DIGITS for part in parts):
        raise SettingError(f"grid must be whole numbers with commas; got {grid}. Write 1,2,5,10,20,50, say.")
    return tuple(map(int, parts))
