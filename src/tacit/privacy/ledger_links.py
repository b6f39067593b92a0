"""Which entries of the ledger touched the same events, day by day.

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
from dataclasses import dataclass
from shlex import quote
from typing import Final

from tacit.errors import SettingError, UndeclaredCopy
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Unit

EVERY_DAY: Final = ""  # stands for the days to come in what a release for ever touches

Entry = tuple[bool, int]
"""One entry of the ledger: whether it is a spend, and its number."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done before to the events of one or more days: the entries, and the names they went by."""

    entries: frozenset[Entry]
    names: frozenset[str]
    n_days: int

    @property
    def is_known(self) -> bool:
        return bool(self.entries)


def touched(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes] | None) -> list[Touched]:
    """Return what was done before to these days under the declared names; days with the same past are given once.

    ``None`` stands for every day that the data set has and will have.
    """
    names = declared_names(connection, data_set)
    marks = ", ".join("?" * len(names))
    forever = {
        (True, number)
        for (number,) in connection.execute(
            f"SELECT id FROM spend WHERE is_forever AND data_set IN ({marks})", sorted(names)
        )
    }
    rows: dict[str, set[Entry]] = defaultdict(set)
    for day, is_spend, number, name, _ in _rows_on(connection, days):
        if name in names:
            rows[day].add((bool(is_spend), number))
    found: dict[frozenset[Entry], int] = defaultdict(int)
    for day in (*rows, EVERY_DAY) if days is None else days:
        found[frozenset(rows.get(day, set()) | forever)] += 1
    return [Touched(entries, names, n_days) for entries, n_days in found.items()]


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
        pair = f"{quote(data_set)} {quote(name)}"
        raise UndeclaredCopy(
            f"on {len(found)} of {len(days or ())} days these are the very events that are known as {name}. Nothing "
            f"was spent. Say first whether {data_set} and {name} are the same events: tacit ledger same {pair}; or, if "
            f"they only look alike on such days: tacit ledger distinct {pair}"
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
        local = connection.execute("SELECT id, epsilon, private FROM randomization")
        central = connection.execute("SELECT id, epsilon, rho, unit, most, is_forever FROM spend")
        return cls(
            {
                (False, number): Guarantee.of_reports(epsilon, tuple(private.split(" and ")))
                for number, epsilon, private in local
            }
            | {
                (True, number): Guarantee.of_release(Cost(epsilon, rho), Unit(*unit), is_counter=bool(is_forever))
                for number, epsilon, rho, *unit, is_forever in central
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
