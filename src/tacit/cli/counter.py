"""tacit counter: a running count that is published after every period, for ever, at one price."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit import pages
from tacit._base.languages import ENGLISH
from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.cli.app import new_group
from tacit.cli.domains import domain_of, moved_table
from tacit.cli.key import say_signed
from tacit.cli.ledger_file import LedgerFile, as_of_now, opened_ledger, published_history, say_ledger
from tacit.cli.options import (
    LEDGER,
    DataSetName,
    DomainOptions,
    FirstPeriod,
    Force,
    KindLevel,
    KindNames,
    Language,
    LastPeriod,
    Level,
    MostEpsilon,
    Panel,
    PlaceNames,
    ReadingOptions,
    ReleaseOut,
    RuleOptions,
    SignWith,
    SimulationSeed,
    StatementOut,
    UnitOptions,
    UserSourceOptions,
    seed_or_none,
    takes,
)
from tacit.cli.release import say_next, say_protection, say_rules
from tacit.cli.sources import open_source, say_bad_rows, say_beyond
from tacit.collection.curating import add_events
from tacit.domain import Box, Domain
from tacit.errors import SettingError
from tacit.events import EventCounts
from tacit.mechanisms.continual import Candidate, CounterFiles, History, Stream, compare, start_counter
from tacit.mechanisms.continual.counter import check_startable
from tacit.mechanisms.continual.starting import is_left_behind, release_name
from tacit.postprocess.refinements import OF_A_COUNTER, refinement_named
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit
from tacit.release import Release
from tacit.release.exports import check_ending, key_for

app = new_group("counter", no_args_is_help=True)

CounterFile = Annotated[Path, typer.Argument(metavar="COUNTER", help="The counter's private state.")]
HistoryFile = Annotated[
    Path, typer.Argument(metavar="HISTORY", help="The public history of a counter, or the counter itself.")
]
CounterDataSet = Annotated[
    str | None,
    typer.Option(
        help="The name of these events, where the ledger holds several counters of this kind.", rich_help_panel=LEDGER
    ),
]
HistoryOut = Annotated[
    Path | None, typer.Option(help="The public history (default: beside the counter, .history.csv).", metavar="FILE")
]


@app.command(no_args_is_help=True)
@takes(domain=DomainOptions, whose=UnitOptions)
def start(
    domain: DomainOptions,
    whose: UnitOptions,
    epsilon: Annotated[
        float | None, typer.Option(help="How much all that is ever published may give away; smaller is safer.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The chance of a broken promise, such as 1e-6; allows Gaussian noise.")
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="The budget as zero-concentrated privacy, instead of epsilon.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="The number of periods, if it is known: it makes the noise smaller.")
    ] = None,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead",
            help="Draw noise ahead. Only if events surely do not react to what is published: halves the squared error.",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Where to keep the counter: private.", metavar="FILE")] = Path(
        "visits.counter"
    ),
    history: HistoryOut = None,
    data_set: DataSetName = None,
    budget: MostEpsilon = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what it would cost and how much it would err; spend nothing.", rich_help_panel=LEDGER
        ),
    ] = False,
    ledger: LedgerFile = None,
    seed: SimulationSeed = None,
) -> None:
    """Start a counter: pay once, then add the counts of every period as it ends.

    Two files are made. The counter holds true sums and the key of its noise: guard it like the events. The history is
    for everyone. Without --to or --horizon the counter never ends.

    Example: [bold]tacit counter start --places branches.csv --zone UTC --from 2025-01-01 --epsilon 1 --out \
visits.counter[/bold]
    """
    what, protected = domain_of(domain), whose.protected()
    horizon = what.time.n_bins if horizon is None else horizon
    if dry_run and seed_or_none(seed) is not None:
        raise SettingError("a simulation costs nothing. Leave out --dry-run.")
    name = data_set or out.stem
    book = opened_ledger(ledger) if seed is None else None
    best = _compared(_costs(epsilon, delta, rho), horizon, reacts=not ahead, unit=protected)
    noise_model = best[0].noise_model
    check_startable(noise_model, what, protected)
    files = CounterFiles(out, history, ledger=book)
    for path in (files.state_path, files.history_path):
        console.check_new(path, force=True)
    allowed = None if budget is None else Budget(epsilon=budget, delta=delta or 0.0)
    if dry_run:
        assert book is not None
        release = release_name(noise_model, what, protected)
        is_left_behind(files, name, release)  # refuses files that are there
        price = book.spend(
            data_set=name,
            release=release,
            cost=noise_model.cost,
            days=None,
            budget=allowed,
            unit=protected,
            zone=what.time.zone,
            dry_run=True,
        )
        console.say(f"Dry run: this would cost {price.cost} per {protected}; nothing was spent.")
        console.say(f"What would remain of the budget of {name}: {price.what_remains}.")
        say_noise_models(best, horizon)
        return
    stream, spend = start_counter(files, noise_model, what, data_set=name, unit=protected, budget=allowed, seed=seed)
    say_started(stream, files, spend)
    say_ledger(book)
    say_noise_models(best, horizon)
    console.say(f"Next: tacit counter add {out} EVENTS --date {what.time.label(0)}")


@app.command(no_args_is_help=True)
@takes(reading=ReadingOptions)
def add(
    reading: ReadingOptions,
    counter: CounterFile,
    date: Annotated[
        str, typer.Option(help="The period to be counted, or the first of several: the next in turn.", metavar="DATE")
    ],
    events: Annotated[
        str | None, typer.Argument(metavar="EVENTS", help="Events: a file or a database address; or give --counts.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", help="The last of several periods, included.", metavar="DATE")
    ] = None,
    counts: Annotated[
        list[str] | None,
        typer.Option(
            help="The counts of a period, one for each place (and kind): 12,5,0. Repeat for the next.",
            metavar="NUMBERS",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column that tells persons apart, where user-days or persons are protected.")
    ] = None,
    places: Annotated[
        str | None, typer.Option(help="The table of places, for a counter that carries none.", metavar="TABLE")
    ] = None,
    history: HistoryOut = None,
    ledger: LedgerFile = None,
) -> None:
    """Count the next period, or several, and publish the running totals.

    Every period is counted once, in its turn: one that is counted already is refused. The ledger that the counter was
    paid from notes what is counted, so that it knows the events under any name. An interruption loses nothing: give
    the same command again, and what was not finished is finished.

    Example: [bold]tacit counter add visits.counter visits.csv --date 2025-03-04[/bold]
    """
    stream = CounterFiles(counter, history).stream()
    book = None if stream.is_simulation else opened_ledger(ledger)
    files = CounterFiles(counter, history, ledger=book)
    if (events is None) == (counts is None):
        raise SettingError("the counts come from events or from --counts. Give one of the two.")
    if counts is not None and stream.unit.is_of_a_person:
        raise SettingError(
            "bare numbers cannot be bounded by person, which this counter promises. Give the events with "
            "--user, or start a counter that protects single events."
        )
    time = stream.domain.time
    asked = time.range(date, last or date)
    n_bins = asked.stop - asked.start
    if counts is not None:
        files.check_turn(asked.start)
        rows = _numbers(counts, stream)
        if last is not None and n_bins != len(rows):
            raise SettingError(
                f"--counts were given for {console.counted(len(rows), 'period')}; {date} to {last} has another number. "
                "Give one for each, with zeros where nothing happened."
            )
        n_bins = len(rows)
        files.add(rows, first=asked.start)
    else:
        assert events is not None
        source = UserSourceOptions.of(events, reading, user=user)
        with console.progress("Counting events") as report:
            add_events(
                files,
                lambda domain: open_source(source, _with_table(domain, places), with_user=stream.unit.is_of_a_person),
                first=date,
                last=last,
                progress=report,
                look=_show,
            )
    say_ledger(book)
    published = files.history()
    console.say(f"Published {periods(stream, asked.start, asked.start + n_bins)} in {files.history_path}.")
    say_answer(published, Box(range(published.n_bins), tuple(range(stream.n_columns))), 0.95, "so far")


def _show(found: EventCounts) -> None:
    say_beyond(found.n_beyond, found.n_rows_beyond)
    say_bad_rows(found.bad_rows)


@app.command(no_args_is_help=True)
def answer(
    history: HistoryFile,
    first: FirstPeriod = None,
    last: LastPeriod = None,
    place: PlaceNames = None,
    kind: KindNames = None,
    level: Level = 0.95,
) -> None:
    """Answer how many events there were in any past range, with an interval for the true number.

    The same question always has the same answer, and parts add up to the whole.

    Example: [bold]tacit counter answer visits.history.csv --from 2025-01 --to 2025-02 --place Centre[/bold]
    """
    asked = published_history(history)
    say_answer(asked, asked.domain.box(first, last, place or None, kind or None), level, "")


@app.command(no_args_is_help=True)
@takes(rules=Panel("What is shown of the counts", RuleOptions))
def release(
    rules: RuleOptions,
    history: HistoryFile,
    by: Annotated[
        str | None, typer.Option(help="Add up to: week, month or year (default: the counter's step).")
    ] = None,
    place: Annotated[str | None, typer.Option(help="Add up to a coarser level of places.")] = None,
    kind: KindLevel = None,
    delta: Annotated[
        float | None, typer.Option(help="Where noise is Gaussian, the delta at which epsilon is stated: 1e-6, say.")
    ] = None,
    level: Level = 0.95,
    refine: Annotated[
        str | None,
        typer.Option(
            help=f"How to make the column to look at: {', '.join(OF_A_COUNTER)} (default: coherent). Smoothing is for "
            "noise that differs from period to period, which a counter's does not."
        ),
    ] = None,
    out: ReleaseOut = Path("release.parquet"),
    statement: StatementOut = None,
    language: Language = ENGLISH,
    sign_with: SignWith = None,
    data_set: CounterDataSet = None,
    ledger: LedgerFile = None,
    force: Force = False,
) -> None:
    """Write the counts of all periods so far as a release, which costs nothing further.

    Example: [bold]tacit counter release visits.history.csv --by month --out visits.parquet[/bold]
    """
    console.check_outputs((out, statement), [history], force=force)
    check_ending(out)
    key = key_for(out, sign_with)
    agreed_rules = rules.rules()
    _check_refinement(refine)
    asked = as_of_now(published_history(history), ledger, data_set)
    made = Release.of(
        asked.plan(delta=delta or 0.0),
        asked.estimate(delta=delta or 0.0),
        by=by,
        place=place,
        kind=kind,
        level=level,
        refine=refine,
        rules=agreed_rules,
    )
    made.write(out, sign_with=key)
    say_protection(made)
    console.say(f"Wrote {out}: {console.size(made.domain.grid)}.")
    say_signed(key)
    say_rules(made)
    if agreed_rules.suppress:
        console.say("The counter's history, which is public, has them all the same: suppressing is for readers' sake.")
    if statement is not None:
        pages.make_statement_page(made, statement, language=language)
    say_next(made, out, statement)


@app.command(no_args_is_help=True)
def show(history: HistoryFile, level: Level = 0.95, data_set: CounterDataSet = None, ledger: LedgerFile = None) -> None:
    """Show what a counter promises, and the running total of every place, or of every kind in every place.

    Example: [bold]tacit counter show visits.history.csv[/bold]
    """
    asked = published_history(history)
    stream = asked.stream
    if stream.is_simulation:
        console.warn("SIMULATION: this counter was made with a known seed.")
    console.say(
        f"Counter {stream.identity}: {stream.noise_model.kind}, {stream.noise_model.cost} per {stream.unit}, for ever."
    )
    if not stream.noise_model.is_causal:
        console.say("Its noise was drawn ahead: it protects events that do not react to what is published.")
    if not stream.is_simulation:
        known = as_of_now(asked, ledger, data_set).stream
        console.say_promises(known.guarantee.sentences(), is_alone=known.prior.is_of_nothing)
    console.say(f"Does not protect: {stream.unit.does_not_protect}")
    if not asked.n_bins:
        console.say("Nothing was counted yet.")
        return
    console.say(f"Counted: {periods(stream, 0, asked.n_bins)}.")
    boxes = [Box(range(asked.n_bins), (column,)) for column in range(stream.n_columns)]
    found = [asked.answer_box(box, level=level) for box in boxes]
    console.table(
        [
            "Place" if stream.domain.kind is None else "Place and kind",
            "Total",
            "Give or take",
            f"{percent(level)} interval",
        ],
        [
            [name, whole(one.shown), whole(one.standard_error), f"{whole(one.lower)} to {whole(one.upper)}"]
            for name, one in zip(stream.domain.columns, found, strict=True)
        ],
    )


def _costs(epsilon: float | None, delta: float | None, rho: float | None) -> list[Cost]:
    """Return the costs to choose from: an epsilon with a delta allows Gaussian noise, and Laplace noise too."""
    if (epsilon is None) == (rho is None):
        raise SettingError("a counter costs an epsilon or a rho. Give one of --epsilon and --rho.")
    if rho is not None:
        if delta is not None:
            raise SettingError("delta belongs to an epsilon. Leave it out with --rho.")
        return [Cost.zcdp(rho)]
    assert epsilon is not None
    return [Cost.pure(epsilon), *([] if delta is None else [Cost.approximate(epsilon, delta)])]


def _compared(costs: list[Cost], horizon: int | None, *, reacts: bool, unit: Unit) -> list[Candidate]:
    bounds = {"most": unit.sensitivity, "most_per_cell": unit.most_per_cell}
    found = [one for cost in costs for one in compare(cost, horizon, reacts=reacts, **bounds)]
    return sorted(found, key=lambda one: one.mean)


def _numbers(counts: list[str], stream: Stream) -> list[list[int]]:
    """Return the numbers as typed. What no count can be is a slip of the pen: a setting is refused, not data."""
    try:
        rows = [[int(part) for part in row.split(",")] for row in counts]
    except ValueError:
        rows = [[-1]]
    if any(number < 0 for row in rows for number in row):
        raise SettingError(
            "--counts must be whole numbers of 0 or more with commas, such as 12,5,0. Nothing was counted."
        )
    if any(len(row) != stream.n_columns for row in rows):
        noun = "place" if stream.domain.kind is None else "column"
        raise SettingError(
            f"--counts must have a number for each of {console.counted(stream.n_columns, noun)}, in the order of the "
            "history's columns. Nothing was counted."
        )
    return rows


def _with_table(domain: Domain, places: str | None) -> Domain:
    """Return the domain with the table that knows the names of its places; refused where none is at hand."""
    if places is not None:
        domain = Domain.from_dict(domain.to_dict(), gazetteer=moved_table(places))
    domain.check_tables()
    return domain


def periods(stream: Stream, first: int, stop: int) -> str:
    """Return the names of the first and last period, and how many there are."""
    label = stream.domain.time.label
    named = label(first) if stop == first + 1 else f"{label(first)} to {label(stop - 1)}"
    return f"{named} ({console.counted(stop - first, 'period')})"


def say_answer(history: History, box: Box, level: float, when: str) -> None:
    found = history.answer_box(box, level=level)
    if found.is_simulation:
        console.warn("SIMULATION: this counter was made with a known seed.")
    console.say_estimate(found, when and f" {when}")
    console.say_interval(level, (found.lower, found.upper), console.box_words(history.domain, box))


def say_started(stream: Stream, files: CounterFiles, spend: Spend | None) -> None:
    console.say(f"Wrote {files.state_path}: the counter. It holds true sums: guard it like the events.")
    console.say(f"Wrote {files.history_path}: the history, for everyone.")
    console.say(f"All that is ever published costs {stream.noise_model.cost} per {stream.unit}.")
    if stream.is_simulation:
        console.warn("SIMULATION: the seed undoes the noise. This counter protects nobody; do not publish it.")
    else:
        console.say_promises(stream.guarantee.sentences(), is_alone=stream.prior.is_of_nothing)
    if spend is not None and spend.what_remains:
        console.say(f"What remains of the budget of {spend.data_set}: {spend.what_remains}.")
    if not stream.noise_model.is_causal:
        console.warn(
            "The noise is drawn ahead: this protects events only if they do not react to what is published. People "
            "who look at the counts and stay away are such a reaction."
        )


def say_noise_models(found: list[Candidate], horizon: int | None) -> None:
    """Return a table of the errors of a running total: of the noise model that was picked, and of the others."""
    until = "the first 2,048 periods" if horizon is None else console.counted(horizon, "period")
    console.table(
        ["Mechanism", "Noise", "Error of a total, on average", "At most"],
        [
            [
                one.noise_model.kind,
                "Gaussian" if one.noise_model.cost.rho else "Laplace",
                whole(one.mean**0.5),
                whole(one.largest**0.5),
            ]
            for one in found
        ],
        left=2,
        title=f"Predicted over {until}; the first was picked",
    )


def _check_refinement(refine: str | None) -> None:
    """Refuse what would not be true of a counter, before anything is read."""
    if refine is None or refine in OF_A_COUNTER:
        return
    refinement_named(refine)
    why = (
        "smoothing takes the noise of every period for its own, and a counter's is correlated from one to the next"
        if refine == "smooth"
        else "that needs a public number of reports, which a counter has not"
    )
    raise SettingError(f"refine must be one of {', '.join(OF_A_COUNTER)} for a counter; got refine={refine}: {why}.")
