"""tacit ledger: what was spent on which events, what remains, and how much may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from tacit import pages
from tacit._base.languages import ENGLISH
from tacit._base.rounding import epsilon_at_most
from tacit.cli import console
from tacit.cli.app import new_group
from tacit.cli.ledger_file import (
    LedgerFile,
    is_counter,
    opened_ledger,
    published_history,
    restated_by,
    say_ledger,
)
from tacit.cli.options import Force, Language, SignWith
from tacit.collection.wire import ReportFile
from tacit.counts.tally import Tally
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.continual.files import SavedState
from tacit.mechanisms.continual.history import History
from tacit.privacy.accounting import Releases
from tacit.privacy.accounting import compose as compose_releases
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import USUAL_DELTA
from tacit.privacy.ledger import Ledger, Randomization, SpendEntry
from tacit.release import Release
from tacit.release.exports import check_ending, key_for
from tacit.release.files import is_release
from tacit.release.joining import restated

app = new_group("ledger")
DataSet = Annotated[str, typer.Argument(metavar="NAME", help="The name of a data set.")]


_LONGEST_MAGIC: Final = 8  # that of report files


@app.command()
def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Releases, report files, tallies, counters or their histories (default: the ledger alone).",
        ),
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Check that no entry of the ledger was changed, and that it paid for these files.

    Every file carries the head of the ledger that paid for it. A ledger without that head is older than the file, or
    another ledger: what was spent since is not in it.

    Example: [bold]tacit ledger verify visits.parquet visits.counter[/bold]
    """
    book = opened_ledger(ledger)
    book.verify(())
    found = {file: heads_of(file) for file in files or ()}
    refused = []
    for file, heads in found.items():
        try:
            book.verify(heads)
        except FormatError as problem:
            refused.append(file)
            console.warn(f"{file}: {console.in_shell(problem)}")
        else:
            held = "the ledger holds its head." if heads else "carries no head: a simulation, or older than heads are."
            console.say(f"{file}: {held}")
    if refused:
        raise FormatError(
            f"{book.path} does not hold the heads of {len(refused)} of {console.counted(len(found), 'file')}. Do not "
            "spend from it: use the ledger that paid for them, or restore the newest copy with its key."
        )
    console.say(f"Ledger: {book.path.absolute()}, whole, head {book.head or 'none before the next entry'}")


def heads_of(path: Path) -> tuple[str, ...]:
    """Return the heads that a file of any kind carries."""
    try:
        with path.open("rb") as file:
            magic = file.read(_LONGEST_MAGIC)
    except OSError:
        raise FormatError(f"{path} cannot be read. Check the path and its permissions.") from None
    if magic == b"TACITRPT":
        return ReportFile.open(path).provenance.ledger_heads
    if magic.startswith(b"PK"):
        return Tally.read(path).provenance.ledger_heads
    if magic.startswith(b"{"):
        saved = SavedState.read(path)
        return (*saved.counter.stream.ledger_heads, *saved.ledger_heads)
    if is_release(path):
        return Release.read(path).unbiased.provenance.ledger_heads
    return History.read(path).stream.ledger_heads


@app.callback(invoke_without_command=True)
def ledger(
    context: typer.Context,
    budget: Annotated[
        str | None, typer.Option(help="Declare the budget of this data set; give --epsilon or --rho.", metavar="NAME")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The most epsilon that all releases of the same events may cost together.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The delta of that epsilon; needed where Gaussian noise is used.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The most rho of zCDP, instead of epsilon.")] = None,
    compose: Annotated[
        str | None,
        typer.Option(
            help="Spend nothing, and say what releases of the same events would come to: 100x0.1,rho=0.02, say.",
            metavar="COSTS",
        ),
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Show every entry of the ledger and what remains of each budget, or declare a budget.

    Releases of the same events add up; those of other days do not, and the day that cost most counts. A data set
    without a declared budget is released once. What is spent cannot be taken back: a larger budget is a weaker promise.

    Example: [bold]tacit ledger --budget visits --epsilon 3 --delta 1e-6[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    if compose is not None:
        if (budget, epsilon, rho) != (None, None, None):
            raise SettingError("--compose adds up costs without a budget. Leave --budget, --epsilon and --rho out.")
        _say_composed(compose, delta or 0.0)
        return
    book = opened_ledger(ledger)
    if budget is not None:
        if delta is not None and epsilon is None:
            raise SettingError("delta belongs to an epsilon. Add --epsilon, or leave --delta out.")
        declared = book.set_budget(budget, epsilon=epsilon, rho=rho, delta=delta or 0.0)
        console.say(f"The budget of {budget} is now {declared}.")
        _say_budgets(book, [budget])
        say_ledger(book)
        return
    if (epsilon, delta, rho) != (None, None, None):
        raise SettingError("a budget belongs to a data set. Add: --budget NAME")
    entries = book.history()
    if not entries and not book.data_sets():
        console.say(f"Nothing was spent yet: {book.path} has no entries.")
        return
    _say_entries(entries)
    console.say()
    _say_budgets(book, book.data_sets())
    console.say()
    console.say(f"Ledger: {book.path.absolute()}, head {book.head or 'none before the next entry'}")


@app.command(no_args_is_help=True)
def same(data_set: DataSet, other: DataSet, ledger: LedgerFile = None) -> None:
    """Declare that two names are of the same events: what is spent under one counts under the other, from now on.

    It cannot be taken back. Statements that were published before are issued again with: tacit ledger statement

    Example: [bold]tacit ledger same visits visits-2025[/bold]
    """
    book = opened_ledger(ledger)
    _say_new_names(book, data_set, other)
    book.declare_same(data_set, other)
    console.say(f"{data_set} and {other} are the same events from now on: what they cost is added up.")
    console.say_promises(book.remaining(data_set).guarantee.sentences(), is_alone=True)


@app.command(no_args_is_help=True)
def distinct(data_set: DataSet, other: DataSet, ledger: LedgerFile = None) -> None:
    """Declare that two names are of different events, although some of their days look alike.

    Days with one or two events often look alike. The promise of both data sets rests on this word of yours.

    Example: [bold]tacit ledger distinct north-visits south-visits[/bold]
    """
    book = opened_ledger(ledger)
    _say_new_names(book, data_set, other)
    book.declare_distinct(data_set, other)
    console.say(f"{data_set} and {other} are different events: what they cost is not added up.")


def _say_new_names(book: Ledger, *names: str) -> None:
    """Say which names have no entry yet: a slip of the pen cannot be taken back."""
    for name in sorted(set(names) - set(book.data_sets())):
        console.say(f"Nothing was spent under the name {name} so far.")


@app.command()
def statement(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A published release, or a counter's history (default: all names)."),
    ] = None,
    data_set: Annotated[
        str | None, typer.Option(help="The data set, where several have releases under the same plan.", metavar="NAME")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Where noise is Gaussian, the delta at which epsilon is stated: 1e-6, say.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the statement (.html), or the release with it (.parquet); default: beside FILE.",
            metavar="FILE",
        ),
    ] = None,
    language: Language = ENGLISH,
    sign_with: SignWith = None,
    ledger: LedgerFile = None,
    force: Force = False,
) -> None:
    """Issue the statement of what was published again, as the ledger stands now.

    Later reports and releases of the same events add up. A counter's history is never rewritten: the new statement
    stands beside it. Without FILE, what is promised is said for every data set.

    Example: [bold]tacit ledger statement visits.parquet --out visits-statement.html[/bold]
    """
    book = opened_ledger(ledger)
    if file is None:
        for name in [data_set] if data_set is not None else book.data_sets():
            console.strong(name)
            console.say_promises(book.remaining(name).guarantee.sentences(delta or 0.0), is_alone=True)
        return
    target = out or file.with_name(f"{file.stem}.statement.html")
    console.check_outputs([target], [file, book.path], force=force)
    key = None if target.suffix == ".html" else key_for(target, sign_with)
    made = _restated(file, book, data_set, delta)
    if target.suffix == ".html":
        pages.make_statement_page(made, target, language=language)
    else:
        check_ending(target)
        if is_counter(file):
            raise SettingError("a counter's history is never written again. Write its statement: --out FILE.html")
        made.write(target, sign_with=key)
    console.say_promises(made.statement.promises, is_alone=made.statement.is_alone)
    console.say(f"Wrote {target}: publish it beside {file}.")


def _restated(file: Path, book: Ledger, data_set: str | None, delta: float | None) -> Release:
    """Return what was published, with the statement that holds now."""
    if is_counter(file):
        history = restated_by(book, published_history(file), data_set)
        at = delta or (USUAL_DELTA if history.stream.noise_model.cost.rho else 0.0)
        return Release.of(history.plan(delta=at), history.estimate(delta=at), refine="raw")
    release = Release.read(file)
    heads = release.unbiased.provenance.ledger_heads
    if release.plan.is_central:  # reports may come from several ledgers
        book.verify(heads)
    return restated(release, book, data_set)


def _say_composed(text: str, delta: float) -> None:
    """Say the least epsilon that is known to hold for these releases together, and what other ways give."""
    composed = compose_releases(map(Releases.parse, text.split(",")), delta=delta)
    at = f" at delta {delta:g}" if delta else ""
    console.say(f"Together: epsilon {epsilon_at_most(composed.epsilon)}{at}, by {composed.method}.")
    others = sorted(composed.others.items(), key=lambda one: one[1])
    if others:
        console.say(f"By {', by '.join(f'{method} {epsilon_at_most(epsilon)}' for method, epsilon in others)}.")


def _say_entries(entries: list[Randomization | SpendEntry]) -> None:
    console.table(
        ["When (UTC)", "Data set", "What", "Days", "Cost", "Unit"],
        [[entry.at[:16].replace("T", " "), entry.data_set, *_described(entry)] for entry in entries],
        left=4,
        title="What was spent",
    )


def _described(entry: Randomization | SpendEntry) -> tuple[str, str, str, str]:
    state = "" if entry.is_finished else " (never finished)"
    if isinstance(entry, Randomization):
        # none where reports come one by one: their number is in their tally
        how_many = console.counted(entry.n_events, "report") if entry.n_events else "reports"
        what = f"{how_many} of plan {entry.plan_id}{state}"
        return what, "", f"epsilon {epsilon_at_most(entry.epsilon)} a report", "event"
    days = "for ever" if entry.is_forever else f"{entry.first_day} to {entry.last_day}"
    return f"counts, {entry.release}{state}", days, str(entry.cost), str(entry.unit)


def _say_budgets(book: Ledger, names: list[str]) -> None:
    rows = []
    for name in names:
        left = book.remaining(name)
        budget = "none" if left.budget is None else f"{left.budget}{'' if left.is_declared else ' (its first release)'}"
        room = str(left.room or "none there; other days may have room")
        if left.room is None:
            room = "for a first release" if left.spent == Cost() else "none until a budget is declared"
        rows.append([name, budget, left.spent, room])
    console.table(
        ["Data set", "Budget", "Spent on the dearest day or window", "Room that is left"],
        rows,
        left=4,
        title="What remains",
    )
