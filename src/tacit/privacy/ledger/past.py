"""What was done before to the same events, day by day: which entries, what they promise together, what budgets admit.

A data set is known by its declared name, and by the other names that its owner declared to be of the same events.
Public statements follow these names alone: whether two data sets have equal content is exact data. Equal content under
another name is found too, by the digests of days. It is told to whoever spends, who has to say whether the two names
are of the same events before anything is spent. A release of a whole data set for ever (a continual counter) has no
days of its own and touches every day of its names.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from tacit._base.rounding import float_above
from tacit.errors import AlreadyRandomized, BudgetExhausted, Remedy, SettingError, UndeclaredCopy
from tacit.privacy.budget import Budget, Room
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.entries import NO_REPORT, Entry, days_of, now
from tacit.privacy.unit import Unit

EVERY_DAY: Final = ""  # stands for the days to come in what a release for ever touches
_OTHER_CLOCKS: Final[Entry] = (True, 0)
"""Stands among entries whose days are those of several time zones: a person's day is then none of them."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done before to the events of one or more days: the entries, and the names they went by."""

    entries: frozenset[Entry]
    names: frozenset[str]
    n_days: int

    @property
    def is_known(self) -> bool:
        """Whether something was made of events of these days."""
        return any(number > 0 for _, number in self.entries)

    @property
    def is_released(self) -> bool:
        """Whether a curator's release is among the entries."""
        return any(is_spend for is_spend, _ in self.entries)


def touched(
    connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes] | None, zone: str = ""
) -> list[Touched]:
    """Return what was done before to these days under the declared names; days with the same past are given once.

    ``None`` stands for every day that the data set has and will have. Days of several time zones overlap, so that then
    all entries count on every day.
    """
    names = declared_names(connection, data_set)
    if len({*zones_of(connection, names), zone} - {""}) > 1:
        every = {entry for past in touched_alike(connection, names, None) for entry in past.entries}
        return [Touched(frozenset(every | {_OTHER_CLOCKS}), names, 1 if days is None else len(days))]
    return touched_alike(connection, names, days)


def touched_alike(
    connection: sqlite3.Connection, names: frozenset[str], days: Mapping[str, bytes] | None
) -> list[Touched]:
    """Return the same for entries whose days are those of one time zone."""
    marks = ", ".join("?" * len(names))
    forever = {
        (True, number)
        for (number,) in connection.execute(
            f"SELECT id FROM spend WHERE is_forever AND data_set IN ({marks})", sorted(names)
        )
    }
    rows: dict[str, set[Entry]] = defaultdict(set)
    for day, is_spend, number, name, digest in _rows_on(connection, days):
        if name in names:
            rows[day].add((bool(is_spend), -number if digest == NO_REPORT else number))
    found: dict[frozenset[Entry], int] = defaultdict(int)
    for day in (*rows, EVERY_DAY) if days is None else days:
        found[frozenset(rows.get(day, set()) | forever)] += 1
    return [Touched(entries, names, n_days) for entries, n_days in found.items()]


def zones_of(connection: sqlite3.Connection, names: Iterable[str]) -> set[str]:
    """Return the time zones of all entries under these names; empty for entries that tell none."""
    wanted = frozenset(names)
    rows = connection.execute("SELECT data_set, zone FROM randomization UNION SELECT data_set, zone FROM spend")
    return {zone for name, zone in rows if name in wanted}


def check_zone(connection: sqlite3.Connection, data_set: str, zone: str) -> None:
    """Refuse days of another time zone than before: an event near midnight would lie on two days that never add up."""
    before = sorted(zones_of(connection, [data_set]) - {zone, ""})
    if zone and before:
        raise SettingError(
            f"zone must be that of what was made of {data_set} before, {before[0]}; got zone={zone}. Days of two "
            "zones overlap, and what was spent on them could not be added up. Nothing was spent. Plan with that zone."
        )


def declared_names(connection: sqlite3.Connection, data_set: str) -> frozenset[str]:
    """Return all names that were declared to be of the same events as this one, itself included."""
    pairs = [pair for pair, is_same in declarations(connection).items() if is_same]
    names, n_known = {data_set}, 0
    while n_known < len(names):
        n_known = len(names)
        for pair in pairs:
            if pair & names:
                names |= pair
    return frozenset(names)


def declare_names(connection: sqlite3.Connection, data_set: str, other: str, *, is_same: bool) -> None:
    """Write down whether two names are of the same events; that they are cannot be taken back."""
    if not is_same and other in declared_names(connection, data_set):
        raise SettingError(
            f"{data_set} and {other} were declared the same events, and releases have stated their sum. That "
            "cannot be taken back."
        )
    connection.execute(
        "INSERT INTO declaration (at, data_set, other, is_same) VALUES (?, ?, ?, ?)",
        (now(), data_set, other, is_same),
    )


def declarations(connection: sqlite3.Connection) -> dict[frozenset[str], bool]:
    """Return for each pair of names whether they were declared to be of the same events; the last word counts."""
    rows = connection.execute("SELECT data_set, other, is_same FROM declaration ORDER BY id")
    return {frozenset((first, second)): bool(is_same) for first, second, is_same in rows}


def check_declared(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes] | None) -> None:
    """Refuse days whose very events are known under a name of which nobody said whether it is of the same events.

    Whether there is such a name depends on exact data. Only whoever spends sees this refusal, before anything is spent.
    """
    names = declared_names(connection, data_set)
    said = declarations(connection)
    shared: dict[str, set[str]] = defaultdict(set)
    for day, _, _, name, digest in _rows_on(connection, days) if days is not None else ():
        is_said = name in names or any(frozenset((name, own)) in said for own in names)
        if not is_said and digest and days is not None and digest == days[day]:
            shared[name].add(day)
    if shared:
        name, found = max(shared.items(), key=lambda item: (len(item[1]), item[0]))
        raise UndeclaredCopy(
            f"on {len(found)} of {len(days or ())} days these are the very events that are known as {name}. Nothing "
            "was spent.",
            remedy=Remedy.DECLARE_COPY,
            data_set=data_set,
            other=name,
        )


_ON_DAYS: Final = """
SELECT d.day, 0, r.id, r.data_set, d.digest FROM day AS d JOIN randomization AS r ON r.id = d.randomization {local}
UNION ALL
SELECT d.day, 1, s.id, s.data_set, d.digest FROM spend_day AS d JOIN spend AS s ON s.id = d.spend {central}
"""
_WANTED: Final = "JOIN wanted AS w ON w.day = d.day"


def _rows_on(connection: sqlite3.Connection, days: Iterable[str] | None) -> list[tuple[str, int, int, str, bytes]]:
    """Return day, whether it is a spend, number, name and digest of all entries on these days; ``None`` for all."""
    if days is None:
        return connection.execute(_ON_DAYS.format(local="", central="")).fetchall()
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (day TEXT PRIMARY KEY)")
    connection.execute("DELETE FROM wanted")
    connection.executemany("INSERT INTO wanted VALUES (?)", ((day,) for day in days))
    return connection.execute(_ON_DAYS.format(local=_WANTED, central=_WANTED)).fetchall()


@dataclass(frozen=True, slots=True)
class Past:
    """What each entry of the ledger promises on its own."""

    entries: dict[Entry, Guarantee]

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Past:
        local = connection.execute("SELECT id, epsilon, private, spans_lines FROM randomization").fetchall()
        central = connection.execute("SELECT id, epsilon, rho, unit, most, is_forever, spans_lines FROM spend")
        return cls(
            {
                (False, number): Guarantee.of_reports(epsilon, tuple(private.split(" and ")), spans_lines=bool(spans))
                for number, epsilon, private, spans in local
            }
            | {_OTHER_CLOCKS: Guarantee(Cost(), Cost(), None)}
            # one event more on a day without reports would have been one report more; none there was replaced
            | {
                (False, -number): Guarantee(None, Cost(), None, tuple(private.split(" and ")))
                for number, _, private, _ in local
            }
            | {
                (True, number): Guarantee.of_release(
                    Cost(epsilon, rho), Unit(*unit), is_counter=bool(is_forever), spans_lines=bool(spans)
                )
                for number, epsilon, rho, *unit, is_forever, spans in central
            }
        )

    def guarantees(self, past: Touched, *, without: Entry | None = None) -> list[Guarantee]:
        """Return what each entry promises on its own."""
        return [self.entries[entry] for entry in past.entries if entry != without]

    def guarantee(self, pasts: Iterable[Touched], *, without: Entry | None = None) -> Guarantee:
        """Return what all entries promise together to every event of these days."""
        return Guarantee.parallel(Guarantee.sum(self.guarantees(past, without=without)) for past in pasts)

    def prices(self, past: Touched, *more: Guarantee) -> list[Cost]:
        """Return what a budget counts of each entry, and of those to come."""
        entries = [*self.guarantees(past), *more]
        together = Guarantee.sum(entries)
        return [entry.price_among(together) for entry in entries]


def others_than(connection: sqlite3.Connection, entry: Entry) -> Guarantee:
    """Return what all entries but this one promise about its events.

    Other reports of the same data set that had none on days of these add nothing to what these publish themselves.
    """
    is_spend, _ = entry
    pasts = touched(connection, *days_of(connection, entry))
    if not is_spend:
        pasts = [replace(past, entries=frozenset(one for one in past.entries if one[1] > 0)) for past in pasts]
    return Past.of(connection).guarantee(pasts, without=entry)


def check_hidden(past_costs: Past, pasts: Iterable[Touched], private: tuple[str, ...]) -> None:
    """Refuse to hide other coordinates of events that were randomized before."""
    entries = [entry for past in pasts for entry in past_costs.guarantees(past) if entry.has_reports]
    hidden, now_hidden = {" and ".join(entry.hidden) for entry in entries}, " and ".join(private)
    if hidden - {now_hidden}:
        raise AlreadyRandomized(
            f"these events were randomized before with their {' or '.join(sorted(hidden))} hidden and all else "
            f"public. Hiding their {now_hidden} now would make the two runs undo each other's protection.",
            remedy=Remedy.HIDE_THE_SAME,
        )


def check_unit(past_guarantees: Past, pasts: Iterable[Touched], unit: Unit) -> None:
    """Refuse a price for a person's day where earlier entries protect single events only.

    The other way round is possible: what bounds a person's day bounds an event of it, and the day is promised no more.
    """
    if unit.name == "event":
        return
    n_days = sum(past.n_days for past in pasts if past_guarantees.guarantee([past]).person_day is None)
    if n_days:
        raise SettingError(
            f"on {n_days} of these days releases before protected single events only. They bound nothing for all of a "
            f"person's events on a day, so that no sum with this release is a promise for the {unit}. Nothing was "
            "spent. Keep to the unit event, or use other days."
        )


Budgets = dict[str, tuple[Budget, bool]]  # by data set: the budget, and whether it was declared


def budgets(connection: sqlite3.Connection) -> Budgets:
    """The budget of each data set and whether it was declared; the last word counts."""
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
    """The budgets by name, the one that this release brings among them.

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
    why = "" if is_declared else ", the price of a first release, because none was declared"
    cost = _difference(past_costs.prices(past, *added), before)
    more = f", and this would cost {cost} more" if added else ": they are paid under more than one name"
    return BudgetExhausted(
        f"the budget of {called} is {budget}{why}; {budget.spent(before)} is spent on these events{more}. "
        f"Nothing was spent now. What would fit: {room}."
        + (
            " This very release was paid before and never finished: resume it, at no cost."
            if unfinished and added
            else ""
        ),
        remedy=Remedy.ALLOW_MORE,
        data_set=name,
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
