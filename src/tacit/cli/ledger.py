"""tacit ledger: what was spent on which events, what remains, and how much may be."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.ledger_file import LedgerFile, default_ledger
from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, Randomization, SpendEntry
from tacit.rounding import epsilon_at_most


def ledger(
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
    ledger: LedgerFile = None,
) -> None:
    """Show every entry of the ledger and what remains of each budget, or declare a budget.

    Releases of the same events add up; those of other days do not, and the day that cost most counts. A data set
    without a declared budget is released once. What is spent cannot be taken back: a larger budget is a weaker promise.

    Example: [bold]tacit ledger --budget visits --epsilon 3 --delta 1e-6[/bold]
    """
    book = Ledger(ledger or default_ledger())
    if budget is not None:
        if delta is not None and epsilon is None:
            raise SettingError("delta belongs to an epsilon. Add --epsilon, or leave --delta out.")
        declared = book.set_budget(budget, epsilon=epsilon, rho=rho, delta=delta or 0.0)
        console.say(f"The budget of {budget} is now {declared}.")
        _say_budgets(book, [budget])
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


def _say_entries(entries: list[Randomization | SpendEntry]) -> None:
    console.table(
        ["When (UTC)", "Data set", "What", "Days", "Cost", "Unit"],
        [[entry.at[:16].replace("T", " "), entry.data_set, *_described(entry)] for entry in entries],
        left=4,
        title="What was spent",
    )


def _described(entry: Randomization | SpendEntry) -> tuple[str, str, str, str]:
    if isinstance(entry, Randomization):
        what = f"{console.counted(entry.n_events, 'report')} of plan {entry.plan_id}"
        return what, "", f"epsilon {epsilon_at_most(entry.epsilon)} a report", "event"
    state = "" if entry.is_finished else " (never finished)"
    days = "for ever" if entry.is_forever else f"{entry.first_day} to {entry.last_day}"
    return f"counts, {entry.release}{state}", days, str(entry.cost), str(entry.unit)


def _say_budgets(book: Ledger, names: list[str]) -> None:
    rows = []
    for name in names:
        left = book.remaining(name)
        budget = "none" if left.budget is None else f"{left.budget}{'' if left.is_declared else ' (its first release)'}"
        first = "the first release" if left.spent == Cost() else "nothing until a budget is declared"
        rows.append([name, budget, left.spent, first if left.room is None else left.room])
    console.table(
        ["Data set", "Budget", "Spent on the dearest day", "What would fit there"], rows, left=4, title="What remains"
    )
