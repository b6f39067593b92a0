"""The budgets in the ledger: which of them bind a release, what fits, and how a release is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction

from tacit.errors import BudgetExhausted, SettingError
from tacit.privacy.budget import Budget, Room
from tacit.privacy.cost import Cost
from tacit.privacy.directed import float_above
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger_links import Past, Touched

Budgets = dict[str, tuple[Budget, bool]]  # by data set: the budget, and whether it was declared


def now() -> str:
    return datetime.now(UTC).isoformat("T", "seconds")


def budgets(connection: sqlite3.Connection) -> Budgets:
    """The budget of each data set and whether it was declared; the last word counts."""
    return {
        name: (Budget(epsilon, rho, delta), bool(is_declared))
        for name, epsilon, rho, delta, is_declared in connection.execute(
            "SELECT data_set, epsilon, rho, delta, is_declared FROM budget ORDER BY id"
        )
    }


def declare(connection: sqlite3.Connection, data_set: str, budget: Budget, *, is_declared: bool) -> None:
    """Write a budget down; those before it stay on record."""
    connection.execute(
        "INSERT INTO budget (at, data_set, epsilon, rho, delta, is_declared) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), data_set, budget.epsilon, budget.rho, budget.delta, is_declared),
    )


def agreed_budgets(
    connection: sqlite3.Connection, data_set: str, pasts: Iterable[Touched], cost: Cost, given: Budget | None
) -> Budgets:
    """The budgets by name, the one that this release brings among them.

    A budget given with a release is taken if none was declared before. If there is none at all the release itself is
    the budget, so that a second one must be allowed in words.
    """
    known = budgets(connection)
    own = known.get(data_set)
    if given is not None:
        if own is None or not own[1]:
            declare(connection, data_set, given, is_declared=True)
            known[data_set] = given, True
        elif own[0] != given:
            raise SettingError(
                f"the budget of {data_set} is {own[0]}, not {given}. Leave the budget out, or change it first: "
                f"tacit ledger --budget {data_set} --epsilon EPSILON"
            )
    if not any(past.names & known.keys() for past in pasts):
        declare(connection, data_set, Budget.of(cost), is_declared=False)
        known[data_set] = Budget.of(cost), False
    return known


def check_admitted(
    connection: sqlite3.Connection,
    pasts: Iterable[Touched],
    past_costs: Past,
    binding: Budgets,
    more: Guarantee | None,
    *,
    data_set: str,
    release: str,
) -> None:
    """Refuse a release that on some day exceeds the budget of some name its events go by; ``more`` is what it adds."""
    added = () if more is None else (more,)
    for past in pasts:
        for name in sorted(past.names & binding.keys()):
            if not binding[name][0].admits(past_costs.prices(past, *added)):
                raise _exhausted(connection, name, binding[name], past_costs, past, added, data_set, release)


def room_in(
    pasts: Iterable[Touched], past_costs: Past, binding: Budgets, more: Iterable[Guarantee] = ()
) -> Room | None:
    """What fits into every budget on every day; nothing to say if no budget binds.

    A release of single events counts twice where there are reports of the same events.
    """
    added, rooms = tuple(more), []
    for past in pasts:
        times = 2 if past_costs.guarantee([past]).has_reports else 1
        for name in past.names & binding.keys():
            room = binding[name][0].room(past_costs.prices(past, *added))
            rooms.append(Room(room.epsilon / times, room.rho / times))
    return Room(min(room.epsilon for room in rooms), min(room.rho for room in rooms)) if rooms else None


def _exhausted(
    connection: sqlite3.Connection,
    name: str,
    binding: tuple[Budget, bool],
    past_costs: Past,
    past: Touched,
    added: tuple[Guarantee, ...],
    data_set: str,
    release: str,
) -> BudgetExhausted:
    before = past_costs.prices(past)
    room = room_in([past], past_costs, {name: binding})
    unfinished = connection.execute(
        "SELECT count(*) FROM spend JOIN spend_key ON spend = id WHERE data_set = ? AND release = ?",
        (data_set, release),
    ).fetchone()[0]
    budget, is_declared = binding
    called = f"{name}, as which these events are known too," if name != data_set else name
    why = "" if is_declared else " (its first release, since none was declared)"
    cost = _difference(past_costs.prices(past, *added), before)
    more = f", and this would cost {cost} more" if added else ": they are paid under more than one name"
    return BudgetExhausted(
        f"the budget of {called} is {budget}{why}; {budget.spent(before)} is spent on these events{more}. "
        f"Nothing was spent now. What would fit: {room}. "
        + (
            "This very release was paid before and never finished: resume it, at no cost. "
            if unfinished and added
            else ""
        )
        + f"Ask for less, keep to new days, or allow more: tacit ledger --budget {name} --epsilon EPSILON"
    )


def _difference(after: list[Cost], before: list[Cost]) -> Cost:
    """Return what a release adds to a budget; reports make the releases before them count twice."""
    exact = {part: sum((Fraction(getattr(cost, part)) for cost in after), Fraction()) for part in ("epsilon", "rho")}
    return Cost(
        *(
            float_above(total - sum((Fraction(getattr(cost, part)) for cost in before), Fraction()))
            for part, total in exact.items()
        )
    )
