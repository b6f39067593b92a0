"""tacit counter release: what a counter published so far, as a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.ledger_file import LedgerFile, default_ledger
from tacit.cli.options import LEDGER, Force, Panel, RuleOptions, takes
from tacit.cli.release import say_rules
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.continual import CounterFiles, History, Stream
from tacit.mechanisms.continual.files import default_history
from tacit.mechanisms.continual.history import read_history
from tacit.mechanisms.continual.recording import release_name
from tacit.pages import make_statement_page
from tacit.postprocess.refinements import OF_A_COUNTER, refinement_named
from tacit.privacy.ledger import Ledger, SpendEntry
from tacit.release import Release
from tacit.release.files import check_ending, is_release

Asked = Annotated[
    Path, typer.Argument(metavar="HISTORY", help="The public history of a counter, or the counter itself.")
]
DataSetName = Annotated[
    str | None,
    typer.Option(
        help="The name of these events, where the ledger holds several counters of this kind.", rich_help_panel=LEDGER
    ),
]
Level = Annotated[float, typer.Option(help="The level of the intervals.")]


@takes(rules=Panel("What is shown of the counts", RuleOptions))
def release(
    rules: RuleOptions,
    history: Asked,
    by: Annotated[
        str | None, typer.Option(help="Add up to: week, month or year (default: the counter's step).")
    ] = None,
    place: Annotated[str | None, typer.Option(help="Add up to a coarser level of places.")] = None,
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
    out: Annotated[Path, typer.Option(help="Where to write: .parquet or .csv.", metavar="FILE")] = Path(
        "release.parquet"
    ),
    statement: Annotated[
        Path | None, typer.Option(help="Also write the privacy statement as a page of its own (.html).", metavar="FILE")
    ] = None,
    data_set: DataSetName = None,
    ledger: LedgerFile = None,
    force: Force = False,
) -> None:
    """Write the counts of all periods so far as a release, which costs nothing further.

    Example: [bold]tacit counter release visits.history.csv --by month --out visits.parquet[/bold]
    """
    written = [path for path in (out, statement) if path is not None]
    console.check_apart(written, [history])
    for path in written:
        console.check_new(path, force=force)
    check_ending(out)
    agreed_rules = rules.rules()
    _check_refinement(refine)
    asked = as_of_now(published_history(history), ledger, data_set)
    made = Release.of(
        asked.plan(delta=delta or 0.0),
        asked.estimate(delta=delta or 0.0),
        by=by,
        place=place,
        level=level,
        refine=refine,
        rules=agreed_rules,
    )
    made.write(out)
    if made.is_simulation:
        console.warn("SIMULATION: made with a known seed, this release protects nobody. Do not publish it.")
    else:
        console.say_promises(made.statement.promises, is_alone=made.statement.is_alone)
    n_times, n_places = made.domain.shape
    console.say(f"Wrote {out}: {console.counted(n_times, 'period')} x {console.counted(n_places, 'place')}.")
    say_rules(made)
    if agreed_rules.suppress:
        console.say("The counter's history, which is public, has them all the same: suppressing is for readers' sake.")
    if statement is not None:
        make_statement_page(made, statement)
        console.say(f"Wrote {statement}: the privacy statement.")
    console.say(f"Next: tacit query {out} --from DATE --to DATE --place NAME, or: tacit page {out}")


def is_counter(path: Path) -> bool:
    """Whether a file is a counter or its history, and not a release; one that is not there is refused."""
    if not path.exists():
        raise FormatError(f"{path} is not there. Check the path.")
    return default_history(path).exists() or not is_release(path)


def as_of_now(history: History, ledger: Path | None, data_set: str | None) -> History:
    """A history with what all entries about its events promise by now; as it is where no ledger knows the counter.

    Whoever reads a public history has no ledger of it, and is told what the history says.
    """
    path = ledger or default_ledger()
    if history.stream.is_simulation or not path.exists():
        return history
    book, name = Ledger(path), _recorded_as(history.stream)
    is_known = any(isinstance(entry, SpendEntry) and entry.release == name for entry in book.history())
    return restated_by(book, history, data_set) if is_known or ledger is not None else history


def restated_by(book: Ledger, history: History, data_set: str | None) -> History:
    """A history with what a ledger, which must have paid for it, says of its events now, and that ledger's head."""
    book.verify(history.stream.ledger_heads)
    heads = history.stream.ledger_heads
    prior = book.others(_recorded_as(history.stream), data_set, heads=heads)
    return history.restated(prior, ledger_heads=tuple(sorted({*heads, *book.heads})))


def _recorded_as(stream: Stream) -> str:
    return release_name(stream.noise_model, stream.domain, stream.unit)


def published_history(path: Path) -> History:
    """The history of a counter, by its own name or by that of the counter."""
    return CounterFiles(path).history() if default_history(path).exists() else read_history(path)


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
