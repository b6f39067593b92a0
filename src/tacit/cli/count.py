"""tacit count: a trusted curator counts events and publishes the counts with noise."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit import pages
from tacit._base.languages import ENGLISH
from tacit._base.validation import check_one_of, check_share
from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.engine import engine_of
from tacit.cli.key import say_signed
from tacit.cli.ledger_file import LedgerFile, data_set_name, paid, paying_ledger, say_ledger
from tacit.cli.options import (
    BEYOND,
    AcceptLoss,
    DataSetName,
    DryRun,
    EngineOptions,
    Force,
    Language,
    Level,
    MostEpsilon,
    Panel,
    PlanFile,
    PlanPlaces,
    RuleOptions,
    SignWith,
    SimulationSeed,
    StatementOut,
    UserSourceOptions,
    takes,
)
from tacit.cli.release import say_next, say_protection, say_rules, warn_of_contradictions
from tacit.cli.sources import open_source, say_bad_rows, say_beyond, say_table_notes
from tacit.collection.curating import CountedEvents, Curated, curate_events, price_events
from tacit.errors import BadRows, SettingError
from tacit.events.badrows import check_loss
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.postprocess.refinements import OF_A_CURATOR
from tacit.privacy.cost import Budget
from tacit.release import Release
from tacit.release.exports import key_for
from tacit.release.versions import check_replaceable


@takes(source=UserSourceOptions, rules=Panel("What is shown of the counts", RuleOptions), beyond=BEYOND)
def count(
    source: UserSourceOptions,
    rules: RuleOptions,
    beyond: EngineOptions,
    plan: PlanFile = Path("plan.toml"),
    out: Annotated[Path, typer.Option(help="Where to write (.parquet).", metavar="FILE")] = Path("release.parquet"),
    by: Annotated[
        str | None, typer.Option(help="Add up to: week, month or year, at no further cost (default: the plan's step).")
    ] = None,
    level: Level = 0.95,
    refine: Annotated[
        str | None,
        typer.Option(help=f"How to make the column to look at: {', '.join(OF_A_CURATOR)} (default: coherent)."),
    ] = None,
    places: PlanPlaces = None,
    data_set: DataSetName = None,
    budget: MostEpsilon = None,
    dry_run: DryRun = False,
    statement: StatementOut = None,
    language: Language = ENGLISH,
    sign_with: SignWith = None,
    revises: Annotated[
        Path | None,
        typer.Option(
            help="The release that this one replaces, because data were late or corrected; it is paid for again.",
            metavar="RELEASE",
        ),
    ] = None,
    accept_loss: AcceptLoss = False,
    ledger: LedgerFile = None,
    seed: SimulationSeed = None,
    force: Force = False,
) -> None:
    """Count events exactly, add noise, and write what may be published.

    For a plan made with [bold]tacit plan --trust curator[/bold]. The ledger is asked first: it knows events by content
    and name, and refuses a release that the budget does not hold. A run that was interrupted is taken up again, with
    the same noise and at no further cost.

    Example: [bold]tacit count visits.csv --plan plan.toml --out visits.parquet[/bold]
    """
    book = paying_ledger(ledger, seed=seed, dry_run=dry_run, budget=budget)
    read = (Path(source.file), plan, revises, None if book is None else book.path)
    console.check_outputs((out, statement), read, force=force)
    if out.suffix != ".parquet":
        raise SettingError(
            f"what is paid for must be a file that Tacit reads again, .parquet; got --out {out}. Write others from it: "
            "tacit release FILE.parquet --out FILE.csv"
        )
    key = key_for(out, sign_with)
    check_share(level=level)
    if refine is not None:
        check_one_of(OF_A_CURATOR, refine=refine)
    agreed_rules = rules.rules()
    agreed = agreed_plan(plan, places)
    agreed.domain.check_tables()
    central_mechanism_of(agreed)  # a plan for devices is refused before the events are read
    former = None if revises is None else Release.read(revises)
    if former is not None:  # refused before anything is spent
        check_replaceable(former, agreed, is_simulation=seed is not None)
        if book is not None:
            book.verify(former.unbiased.provenance.ledger_heads)
    if agreed.domain.time.n_bins is not None:
        agreed_rules.check_within(agreed.domain.time)
    if by is not None:
        agreed.domain.time.coarsen(by)  # refused before anything is spent
    is_of_a_person = agreed.protected_unit.is_of_a_person
    events = open_source(source, agreed.domain, with_user=is_of_a_person, engine=engine_of(beyond))
    name = data_set or data_set_name(source)
    done = paid(
        "Counting events",
        partial(curate_events, events, agreed),
        partial(price_events, events, agreed),
        str(agreed.protected_unit),
        dry_run=dry_run,
        seed=seed,
        ledger=book,
        data_set=name,
        budget=None if budget is None else Budget(epsilon=budget, delta=agreed.delta),
        look=partial(_show, is_strict=source.strict, accept_loss=accept_loss),
    )
    if done is None:
        return
    made = Release.of(agreed, done.estimate, by=by, level=level, refine=refine, rules=agreed_rules, revises=former)
    made.write(out, sign_with=key)
    if statement is not None:
        pages.make_statement_page(made, statement, language=language)
    if book is not None:
        book.finish(done.spend)
    _say(made, done, out)
    say_signed(key)
    say_ledger(book)
    say_next(made, out, statement)


def _say(made: Release, done: Curated, out: Path) -> None:
    console.say(f"Wrote {out}: {console.size(made.domain.grid)}.")
    if made.version.number > 1:
        console.say(f"Version {made.version.number}: counting again drew new noise and was paid for again.")
    say_rules(made)
    warn_of_contradictions(made)
    if done.is_resumed:
        console.say("An interrupted run was taken up again: the same noise, at no further cost.")
    say_protection(made)
    if not made.is_simulation and done.spend.what_remains:
        console.say(f"What remains of the budget of {done.spend.data_set}: {done.spend.what_remains}.")


def _show(counted: CountedEvents, *, is_strict: bool, accept_loss: bool) -> None:
    """Say what is exact about the events, for this screen alone, and refuse what is odd; before anything is paid."""
    if not counted.n_events:
        console.warn("For your eyes only: no event was counted. What is published is noise on zeros.")
    if counted.n_full_cells:
        console.warn(
            f"For your eyes only: {console.counted(counted.n_full_cells, 'cell')} held more events than are counted in "
            "one. Check the column of counts."
        )
    say_beyond(counted.n_beyond, counted.n_rows_beyond)
    say_table_notes(counted.table)
    say_bad_rows(counted.bad_rows)
    if is_strict and counted.table is not None and counted.table.lines():
        raise BadRows("the table has what the notes above say. Nothing was spent. Correct it, or leave out --strict.")
    check_loss(counted, is_accepted=accept_loss)
