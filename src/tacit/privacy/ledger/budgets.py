"""Budgets: the most that all releases of the same events may cost together, what fits, and the words of a refusal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from fractions import Fraction

from tacit._base.rounding import float_above, rounded_down
from tacit.errors import BudgetExhausted, Remedy, SettingError
from tacit.privacy.cost import Budget, Cost, Room
from tacit.privacy.ledger.entries import now
from tacit.privacy.ledger.past import Bill, Past
from tacit.privacy.ledger.touched import NEW, Touched

Budgets = dict[str, tuple[Budget, bool]]  # by data set: the budget, and whether it was declared


def budgets(connection: sqlite3.Connection) -> Budgets:
    """Return the budget of each data set and whether it was declared; the last word counts."""
    return {
        name: (Budget(epsilon, rho, delta), bool(is_declared))
        for name, epsilon, rho, delta, is_declared in connection.execute(
            "SELECT data_set, epsilon, rho, delta, is_declared FROM budget ORDER BY id"
        )
    }


def declare_budget(connection: sqlite3.Connection, data_set: str, budget: Budget, *, is_declared: bool) -> None:
    """Write a budget down; those before it stay on record."""
    connection.execute(
        "INSERT INTO budget (at, data_set, epsilon, rho, delta, is_declared) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), data_set, budget.epsilon, budget.rho, budget.delta, is_declared),
    )


def agreed_budgets(
    connection: sqlite3.Connection, data_set: str, pasts: Iterable[Touched], cost: Cost, given: Budget | None
) -> Budgets:
    """Return the budgets by name, the one that this release brings among them.

    A budget given with a release is taken if none was declared before. If there is none at all the release itself is
    the budget, so that a second one must be allowed in words.
    """
    known = budgets(connection)
    own = known.get(data_set)
    if given is not None:
        if own is None or not own[1]:
            declare_budget(connection, data_set, given, is_declared=True)
            known[data_set] = given, True
        elif own[0] != given:
            raise SettingError(
                f"the budget of {data_set} is {own[0]}, not {given}.",
                remedy=Remedy.CHANGE_BUDGET,
                data_set=data_set,
            )
    if not any(past.names & known.keys() for past in pasts):
        declare_budget(connection, data_set, Budget.of(cost), is_declared=False)
        known[data_set] = Budget.of(cost), False
    return known


def check_admitted(
    connection: sqlite3.Connection,
    past: Past,
    pasts: Iterable[Touched],
    binding: Budgets,
    *,
    data_set: str,
    release: str,
) -> None:
    """Refuse what exceeds the budget of some name its events go by, on some day or in some window of a person."""
    dearest: dict[str, Bill] = {}
    for bill in past.bills(pasts):
        for name in bill.past.names & binding.keys():
            if not binding[name][0].admits(bill.prices):
                dearest[name] = max(dearest.get(name, bill), bill, key=lambda one: _sums(one.prices))
    if dearest:
        name, *others = sorted(dearest)
        also = "".join(
            f" The budget of {other} is {budget}, and {budget.spent(dearest[other].prices)} would be needed there."
            for other in others
            for budget, _ in [binding[other]]
        )
        raise _exhausted(connection, name, binding[name], past, dearest[name], data_set, release, also)


def room_in(past: Past, pasts: Iterable[Touched], binding: Budgets) -> Room | None:
    """Return what fits into every budget on every day and in every window; None if no budget binds.

    A release of single events counts twice where there are reports of the same events.
    """
    rooms = []
    for bill in past.bills(pasts):
        for name in bill.past.names & binding.keys():
            room = binding[name][0].room(bill.prices)
            times = 2 if bill.has_reports else 1
            rooms.append(Room(room.epsilon / times, room.rho / times))
    return Room(min(room.epsilon for room in rooms), min(room.rho for room in rooms)) if rooms else None


def _exhausted(
    connection: sqlite3.Connection,
    name: str,
    binding: tuple[Budget, bool],
    past: Past,
    bill: Bill,
    data_set: str,
    release: str,
    also: str,
) -> BudgetExhausted:
    before = past.before(bill)
    fits = _fitting(past, bill, room_in(past, [bill.past.without(NEW)], {name: binding}))
    unfinished = connection.execute(
        "SELECT count(*) FROM spend JOIN spend_key ON spend = id WHERE data_set = ? AND release = ?",
        (data_set, release),
    ).fetchone()[0]
    budget, is_declared = binding
    called = f"{name}, as which these events are known too," if name != data_set else name
    why = "" if is_declared else ", the price of a first release, because none was declared"
    more = (
        f", and this would cost {_difference(bill.prices, before)} more"
        if past.has_new
        else ": they are paid under more than one name"
    )
    return BudgetExhausted(
        f"the budget of {called} is {budget}{why}; {budget.spent(before)} is spent on these events{more}. "
        f"Nothing was spent now. What would fit: {fits}. A budget of {budget.spent(bill.prices)} would be needed.{also}"
        + (
            " This release was paid before and never finished: resumed with the events as they were then, it costs "
            "nothing."
            if unfinished and past.has_new
            else ""
        ),
        remedy=Remedy.ALLOW_MORE,
        data_set=name,
    )


def _fitting(past: Past, bill: Bill, room: Room | None) -> str:
    """Say what would fit; where a person holds several units of the release, for a person and for a unit."""
    if room is None or not (past.has_new and bill.is_of_persons):
        return str(room)
    times, unit = past.times_its_cost(bill), past.entries[NEW].unit
    own = Room(rounded_down(room.epsilon / times.epsilon), rounded_down(room.rho / times.rho))
    return str(room) if own == room else f"{room} for a person, which is {own} for a release per {unit}"


def _difference(after: Iterable[Cost], before: Iterable[Cost]) -> Cost:
    """Return what an entry adds to a budget; reports make the releases before them count twice."""
    return Cost(*(float_above(one - other) for one, other in zip(_sums(after), _sums(before), strict=True)))


def _sums(costs: Iterable[Cost]) -> tuple[Fraction, Fraction]:
    """Return the exact sums of epsilon and of rho."""
    costs = tuple(costs)
    return sum((Fraction(cost.epsilon) for cost in costs), Fraction()), sum(
        (Fraction(cost.rho) for cost in costs), Fraction()
    )
