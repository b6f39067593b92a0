"""The ledger a command writes to, the name under which it knows the events, and what it says of a file by now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from tacit.cli import console
from tacit.cli.options import LEDGER, SourceOptions, seed_or_none
from tacit.errors import FormatError, SettingError
from tacit.mechanisms import continual
from tacit.privacy.ledger import Ledger, Spend, SpendEntry, default_ledger
from tacit.release.files import is_release

Made = TypeVar("Made")
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        help="The ledger of what was spent (default: one per user, or TACIT_LEDGER).",
        metavar="FILE",
        rich_help_panel=LEDGER,
    ),
]


def data_set_name(source: SourceOptions) -> str:
    """Return the name by which the ledger knows events whose owner gave none: the file's."""
    if "://" in source.file:
        raise SettingError(
            "events from a database need a lasting name, by which the ledger knows them. Add: --data-set NAME"
        )
    return Path(source.file).stem


def opened_ledger(path: Path | None) -> Ledger:
    """Return the ledger at a path, or the user's own."""
    return Ledger(path or default_ledger())


def paying_ledger(path: Path | None, *, seed: int | None, dry_run: bool, budget: float | None) -> Ledger | None:
    """Return the ledger that pays for noise; none for a simulation, which costs nothing."""
    if seed_or_none(seed) is None:
        return opened_ledger(path)
    if dry_run or budget is not None:
        raise SettingError("a simulation costs nothing. Leave out --dry-run and --budget.")
    return None


def say_price(price: Spend, whose: str) -> None:
    """Say what a dry run found."""
    console.say(f"Dry run: this would cost {price.cost} per {whose}; nothing was spent.")
    console.say(f"What would remain of the budget of {price.data_set}: {price.what_remains}.")


def paid(
    doing: str,
    make: Callable[..., Made],
    price: Callable[..., Spend],
    whose: str,
    *,
    dry_run: bool,
    seed: int | None,
    **asked: Any,
) -> Made | None:
    """Return what is made of events and paid for; in a dry run say its price instead, and return None."""
    with console.progress(doing) as report:
        if not dry_run:
            return make(seed=seed, progress=report, **asked)
        found = price(progress=report, **asked)
    say_price(found, whose)
    return None


def is_counter(path: Path) -> bool:
    """Return whether a file is a counter or its history, and not a release; one that is not there is refused."""
    if not path.exists():
        raise FormatError(f"{path} is not there. Check the path.")
    return continual.default_history(path).exists() or not is_release(path)


def as_of_now(history: continual.History, ledger: Path | None, data_set: str | None) -> continual.History:
    """Return a history with what all entries promise by now; as it is where no ledger knows the counter.

    Whoever reads a public history has no ledger of it, and is told what the history says.
    """
    path = ledger or default_ledger()
    if history.stream.is_simulation or not path.exists():
        return history
    book, name = Ledger(path), _recorded_as(history.stream)
    is_known = any(isinstance(entry, SpendEntry) and entry.release == name for entry in book.history())
    return restated_by(book, history, data_set) if is_known or ledger is not None else history


def restated_by(book: Ledger, history: continual.History, data_set: str | None) -> continual.History:
    """Return a history with what the ledger that paid for it says of its events now, and the ledger's head."""
    book.verify(history.stream.ledger_heads)
    heads = history.stream.ledger_heads
    prior = book.others(_recorded_as(history.stream), data_set, heads=heads)
    return history.restated(prior, ledger_heads=tuple(sorted({*heads, *book.heads})))


def _recorded_as(stream: continual.Stream) -> str:
    return continual.release_name(stream.noise_model, stream.domain, stream.unit)


def published_history(path: Path) -> continual.History:
    """Return the history of a counter, by its own name or by that of the counter."""
    return (
        continual.CounterFiles(path).history()
        if continual.default_history(path).exists()
        else continual.History.read(path)
    )


def say_ledger(book: Ledger | None) -> None:
    """Say where the ledger lies that was written to, and whether it knows of what was spent before."""
    if book is None:
        return
    path = book.path.absolute()
    if book.is_new:
        console.warn(
            f"New ledger made at {path}: earlier spending is unknown. Back it up with its key, {path.name}.key."
        )
    else:
        console.say(f"Ledger: {path}")
