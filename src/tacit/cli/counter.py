"""tacit counter: a running count that is published after every period, for ever, at one price."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from tacit.central.continual import Candidate, Counter, CounterFiles, History, Stream, compare
from tacit.central.continual.files import default_history
from tacit.central.continual.history_file import read_history
from tacit.cli import console
from tacit.cli.counter_words import periods, say_answer, say_laws, say_started
from tacit.cli.ledger_file import LedgerFile, default_ledger
from tacit.cli.options import (
    DomainOptions,
    Force,
    ReadingOptions,
    SourceOptions,
    UserSourceOptions,
    seed_or_none,
    takes,
)
from tacit.cli.sources import domain_of, open_source, say_bad_rows
from tacit.domain import Box, Domain
from tacit.errors import BadRows, DataError, SettingError
from tacit.events import Reason
from tacit.privacy.budget import Budget
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, SpendEntry
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit
from tacit.release import Release
from tacit.rounding import percent, whole

app = typer.Typer(
    name="counter",
    help="Publish a running count after every period, at one price for ever.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

CounterFile = Annotated[Path, typer.Argument(metavar="COUNTER", help="The counter's private state.")]
HistoryFile = Annotated[
    Path | None, typer.Option(help="The public history (default: beside the counter, .history.csv).", metavar="FILE")
]
Asked = Annotated[
    Path, typer.Argument(metavar="HISTORY", help="The public history of a counter, or the counter itself.")
]
Level = Annotated[float, typer.Option(help="The level of the intervals.")]


@app.command(no_args_is_help=True)
@takes(domain=DomainOptions)
def start(
    domain: DomainOptions,
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
    unit: Annotated[str, typer.Option(help="What is protected: event, or user-day with --most.")] = "event",
    most: Annotated[int, typer.Option(help="Of a person's events on a day, so many are counted.")] = 1,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead",
            help="Draw noise ahead. Only if events surely do not react to what is published: halves the error.",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Where to keep the counter: private.", metavar="FILE")] = Path(
        "visits.counter"
    ),
    history: HistoryFile = None,
    data_set: Annotated[str | None, typer.Option(help="A lasting name for these events (default: the file's).")] = None,
    budget: Annotated[
        float | None, typer.Option(help="The most epsilon all releases of these events may cost (default: this one).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost and how much it would err; spend nothing.")
    ] = False,
    ledger: LedgerFile = None,
    seed: Annotated[int | None, typer.Option(help="A SIMULATION with known randomness: protects nobody.")] = None,
) -> None:
    """Start a counter: pay once, then add the counts of every period as it ends.

    Two files are made. The counter holds true sums and the key of its noise: guard it like the events. The history is
    for everyone. Without --to or --horizon the counter never ends.

    Example: [bold]tacit counter start --places branches.csv --level branch --from 2025-01-01 --epsilon 1 --out \
visits.counter[/bold]
    """
    what, protected = domain_of(domain), Unit(unit, most)
    horizon = what.time.n_bins if horizon is None else horizon
    best = _compared(_costs(epsilon, delta, rho), horizon, reacts=not ahead, most=protected.sensitivity)
    cost = best[0].law.cost
    if dry_run and seed_or_none(seed) is not None:
        raise SettingError("a simulation costs nothing. Leave out --dry-run.")
    name = data_set or out.stem
    release = _release_name(best[0], what)
    book = Ledger(ledger or default_ledger()) if seed is None else None
    allowed = None if budget is None else Budget(epsilon=budget, delta=delta or 0.0)
    if dry_run:
        assert book is not None
        price = book.spend(data_set=name, release=release, cost=cost, days=None, budget=allowed, dry_run=True)
        console.say(f"Dry run: this would cost {price.cost} per {protected}; nothing was spent.")
        console.say(f"What would remain of the budget of {name}: {price.what_remains}.")
        say_laws(best, horizon)
        return
    files = CounterFiles(out, history)
    unfinished = _unfinished(book, name, release)
    _check_new(files, unfinished)
    if book is None:
        spend = Spend.simulation(cost, seed=seed or 0)
    elif unfinished is not None:
        spend = book.resume(unfinished, days=None, cost=cost)
    else:
        spend = book.spend(data_set=name, release=release, cost=cost, days=None, budget=allowed)
    made = Counter.start(spend, what, horizon=horizon, unit=protected, law=best[0].law)
    files.create(made, spend=spend.identifier)
    if book is not None:
        book.finish(spend)
    say_started(made.stream, files, spend)
    say_laws(best, horizon)
    console.say(f"Next: tacit counter add {out} EVENTS --date {what.time.label(0)} --time COLUMN --place COLUMN")


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
            help="The counts of a period, one for each place: 12,5,0. Repeat for the next.", metavar="NUMBERS"
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column that tells users apart, where user-days are protected.")
    ] = None,
    history: HistoryFile = None,
) -> None:
    """Count the next period, or several, and publish the running totals.

    Every period is counted once, in its turn: one that is counted already is refused. An interruption loses nothing:
    give the same command again, and what was not finished is finished.

    Example: [bold]tacit counter add visits.counter visits.csv --date 2025-03-04 --time Date --place Branch[/bold]
    """
    files = CounterFiles(counter, history)
    stream = files.stream()
    if (events is None) == (counts is None):
        raise SettingError("the counts come from events or from --counts. Give one of the two.")
    time = stream.domain.time
    first = time.range(date, date).start
    files.check_turn(first)
    rows: NDArray[np.int64] | list[list[int]]
    if counts is not None:
        rows = _numbers(counts, stream)
        if last is not None and time.range(date, last).stop - first != len(rows):
            raise SettingError(
                f"--counts were given for {console.counted(len(rows), 'period')}; {date} to {last} has another number. "
                "Give one for each, with zeros where nothing happened."
            )
    else:
        assert events is not None
        rows = _counted(events, reading, user, stream, range(first, time.range(date, last or date).stop))
    files.add(rows, first=first)
    published = files.history()
    console.say(f"Published {periods(stream, first, first + len(rows))} in {files.history_path}.")
    say_answer(published, Box(range(published.n_bins), tuple(range(stream.n_places))), 0.95, "so far")


@app.command(no_args_is_help=True)
def answer(
    history: Asked,
    first: Annotated[str | None, typer.Option("--from", help="The first day, month or year.", metavar="DATE")] = None,
    last: Annotated[str | None, typer.Option("--to", help="The last one, included.", metavar="DATE")] = None,
    place: Annotated[
        list[str] | None, typer.Option(help="A place; may be repeated (default: all).", metavar="NAME")
    ] = None,
    level: Level = 0.95,
) -> None:
    """Answer how many events there were in any past range, with an interval for the true number.

    The same question always has the same answer, and parts add up to the whole.

    Example: [bold]tacit counter answer visits.history.csv --from 2025-01 --to 2025-02 --place Centre[/bold]
    """
    asked = _history(history)
    say_answer(asked, asked.domain.box(first, last, place or None), level, "")


@app.command(no_args_is_help=True)
def release(
    history: Asked,
    by: Annotated[
        str | None, typer.Option(help="Add up to: week, month or year (default: the counter's step).")
    ] = None,
    place: Annotated[str | None, typer.Option(help="Add up to a coarser level of places.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Where noise is Gaussian, the delta at which epsilon is stated: 1e-6, say.")
    ] = None,
    level: Level = 0.95,
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.", metavar="FILE")] = Path(
        "release.parquet"
    ),
    force: Force = False,
) -> None:
    """Write the counts of all periods so far as a release, which costs nothing further.

    Example: [bold]tacit counter release visits.history.csv --by month --out visits.parquet[/bold]
    """
    console.check_new(out, force=force)
    asked = _history(history)
    made = Release.of(
        asked.plan(delta=delta or 0.0), asked.estimate(delta=delta or 0.0), by=by, place=place, level=level
    )
    made.write(out)
    if made.is_simulation:
        console.warn("SIMULATION: made with a known seed, this release protects nobody. Do not publish it.")
    n_times, n_places = made.domain.shape
    console.say(f"Wrote {out}: {console.counted(n_times, 'period')} x {console.counted(n_places, 'place')}.")
    console.say(f"Next: tacit query {out} --from DATE --to DATE --place NAME, or: tacit page {out}")


@app.command(no_args_is_help=True)
def show(history: Asked, level: Level = 0.95) -> None:
    """Show what a counter promises, and the running total of every place.

    Example: [bold]tacit counter show visits.history.csv[/bold]
    """
    asked = _history(history)
    stream = asked.stream
    if stream.is_simulation:
        console.warn("SIMULATION: this counter was made with a known seed.")
    console.say(f"Counter {stream.identity}: {stream.law.kind}, {stream.law.cost} per {stream.unit}, for ever.")
    if not stream.law.is_causal:
        console.say("Its noise was drawn ahead: it protects events that do not react to what is published.")
    console.say(f"Protects: {stream.unit.protects}")
    console.say(f"Does not protect: {stream.unit.does_not_protect}")
    if not asked.n_bins:
        console.say("Nothing was counted yet.")
        return
    console.say(f"Counted: {periods(stream, 0, asked.n_bins)}.")
    boxes = [Box(range(asked.n_bins), (place,)) for place in range(stream.n_places)]
    found = [asked.answer_box(box, level=level) for box in boxes]
    console.table(
        ["Place", "Total", "Give or take", f"{percent(level)} interval"],
        [
            [name, whole(one.value), whole(one.standard_error), f"{whole(one.lower)} to {whole(one.upper)}"]
            for name, one in zip(stream.domain.place.cells, found, strict=True)
        ],
    )


def _costs(epsilon: float | None, delta: float | None, rho: float | None) -> list[Cost]:
    """What may be spent: an epsilon with a delta allows Gaussian noise, and Laplace noise too."""
    if (epsilon is None) == (rho is None):
        raise SettingError("a counter costs an epsilon or a rho. Give one of --epsilon and --rho.")
    if rho is not None:
        if delta is not None:
            raise SettingError("delta belongs to an epsilon. Leave it out with --rho.")
        return [Cost.zcdp(rho)]
    assert epsilon is not None
    return [Cost.pure(epsilon), *([] if delta is None else [Cost.approximate(epsilon, delta)])]


def _compared(costs: list[Cost], horizon: int | None, *, reacts: bool, most: int) -> list[Candidate]:
    found = [one for cost in costs for one in compare(cost, horizon, reacts=reacts, most=most)]
    return sorted(found, key=lambda one: one.mean)


def _release_name(best: Candidate, domain: Domain) -> str:
    """What the ledger knows the counter by: all that decides its numbers but the events."""
    content = json.dumps([best.law.to_dict(), domain.to_dict(with_gazetteer=False)], sort_keys=True)
    return f"counter {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _unfinished(book: Ledger | None, name: str, release: str) -> str | None:
    """The ledger's name for what was paid when a start was interrupted."""
    entries = [] if book is None else [entry for entry in book.history() if isinstance(entry, SpendEntry)]
    for entry in entries:
        if (entry.data_set, entry.release, entry.is_finished) == (name, release, False):
            return entry.identifier
    return None


def _check_new(files: CounterFiles, unfinished: str | None) -> None:
    """Refuse names that are taken, before anything is spent; what an interrupted start left is taken up."""
    if files.state_path.exists():
        if unfinished is None or files.spend != unfinished:
            raise SettingError(f"{files.state_path} is a counter already. Choose another name with --out.")
    elif files.history_path.exists():
        raise SettingError(f"{files.history_path} exists already. Choose another name with --history.")
    for path in (files.state_path, files.history_path):
        console.check_new(path, force=True)


def _numbers(counts: list[str], stream: Stream) -> list[list[int]]:
    try:
        rows = [[int(part) for part in row.split(",")] for row in counts]
    except ValueError:
        raise DataError("--counts must be whole numbers with commas, such as 12,5,0. Nothing was counted.") from None
    if any(len(row) != stream.n_places for row in rows):
        raise DataError(
            f"--counts must have a number for each of {console.counted(stream.n_places, 'place')}, in the order of the "
            "history's columns. Nothing was counted."
        )
    return rows


def _counted(events: str, reading: ReadingOptions, user: str | None, stream: Stream, bins: range) -> NDArray[np.int64]:
    """The exact counts of these bins: for the counter alone."""
    if (user is None) == (stream.unit.name == "user-day"):
        raise SettingError(
            "a counter of user-days needs the column of users. Add: --user COLUMN"
            if user is None
            else "this counter protects single events. Leave out --user, or start one with --unit user-day."
        )
    source: Any = SourceOptions.of(events, reading)
    if user is not None:
        own = {field.name: getattr(source, field.name) for field in fields(source)}
        source = UserSourceOptions(**own, user=user)
    with console.progress("Counting events") as report:
        found = open_source(source, stream.domain.with_end(bins.stop)).count(
            progress=report, most_per_user_day=None if user is None else stream.unit.most
        )
    wrong = [reason for reason in (Reason.NO_COUNT, Reason.BAD_COUNT) if reason in found.bad_rows.counts]
    if wrong:  # where a row is many events, setting it aside would lose a day
        raise BadRows(f"{found.bad_rows}. Nothing was counted. Correct the counts, or leave rows out with --where.")
    say_bad_rows(found.bad_rows)
    return found.counts[bins.start : bins.stop]


def _history(path: Path) -> History:
    return CounterFiles(path).history() if default_history(path).exists() else read_history(path)
