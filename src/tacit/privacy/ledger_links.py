"""Which entries of the ledger touched the same events, day by day.

A day of a data set is known again by the data set's name and by the digest of the day's events. Links are followed: a
copy under another name, and what was later done under that name, belong together. A release of a whole data set for
ever (a continual counter) has no days of its own and touches every day its name is linked to.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.directed import float_above
from tacit.privacy.unit import Unit

EVERY_DAY: Final = ""  # stands for the days to come in what a release for ever touches


@dataclass(frozen=True, slots=True)
class Touched:
    """What was done before to the events of one or more days: numbers of entries, and the names they went by."""

    randomizations: frozenset[int]
    spends: frozenset[int]
    names: frozenset[str]
    n_days: int

    @property
    def is_known(self) -> bool:
        return bool(self.randomizations or self.spends)


def touched(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes] | None) -> list[Touched]:
    """What was done before to these days; days with the same past are given once.

    ``None`` stands for every day that the data set has and will have.
    """
    forever: dict[str, list[int]] = defaultdict(list)
    for number, name in connection.execute("SELECT id, data_set FROM spend WHERE is_forever"):
        forever[name].append(number)
    if days is None:
        days = dict.fromkeys([*_days_of(connection, data_set), EVERY_DAY], b"")
    rows: dict[str, list[_Row]] = defaultdict(list)
    for day, is_spend, number, name, digest in _rows_on(connection, days):
        rows[day].append((is_spend, number, name, digest))
    found: dict[tuple[frozenset[int], frozenset[int], frozenset[str]], int] = defaultdict(int)
    for day, digest in days.items():
        randomizations, spends, names = _linked(rows[day], data_set, digest)
        spends |= {number for name in names if name in forever for number in forever[name]}
        found[frozenset(randomizations), frozenset(spends), frozenset(names)] += 1
    return [Touched(*past, n_days) for past, n_days in found.items()]


_Row = tuple[bool, int, str, bytes]  # whether it is a spend, its number, the name, the digest


def _linked(rows: list[_Row], data_set: str, digest: bytes) -> tuple[set[int], set[int], set[str]]:
    """The entries of one day that belong together with this name or these events."""
    names, digests = {data_set}, {digest} - {b""}  # a day without events looks like any other such day
    n_known = -1
    while n_known < len(names) + len(digests):
        n_known = len(names) + len(digests)
        for _, _, name, content in rows:
            if name in names or content in digests:
                names.add(name)
                if content:
                    digests.add(content)
    linked = [(is_spend, number) for is_spend, number, name, _ in rows if name in names]
    return {n for is_spend, n in linked if not is_spend}, {n for is_spend, n in linked if is_spend}, names


_ON_DAYS: Final = """
SELECT w.day, 0, r.id, r.data_set, d.digest FROM wanted AS w
    JOIN day AS d ON d.day = w.day JOIN randomization AS r ON r.id = d.randomization
UNION ALL
SELECT w.day, 1, s.id, s.data_set, d.digest FROM wanted AS w
    JOIN spend_day AS d ON d.day = w.day JOIN spend AS s ON s.id = d.spend
"""


def _rows_on(connection: sqlite3.Connection, days: Iterable[str]) -> list[tuple[str, bool, int, str, bytes]]:
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (day TEXT PRIMARY KEY)")
    connection.execute("DELETE FROM wanted")
    connection.executemany("INSERT INTO wanted VALUES (?)", ((day,) for day in days))
    return connection.execute(_ON_DAYS).fetchall()


def _days_of(connection: sqlite3.Connection, data_set: str) -> list[str]:
    return [
        day
        for (day,) in connection.execute(
            "SELECT d.day FROM day AS d JOIN randomization AS r ON r.id = d.randomization WHERE r.data_set = :name "
            "UNION SELECT d.day FROM spend_day AS d JOIN spend AS s ON s.id = d.spend WHERE s.data_set = :name",
            {"name": data_set},
        )
    ]


@dataclass(frozen=True, slots=True)
class Past:
    """What the ledger's entries cost, by their numbers."""

    randomizations: dict[int, float]
    spends: dict[int, Cost]

    @classmethod
    def of(cls, connection: sqlite3.Connection, pasts: Iterable[Touched]) -> Past:
        local, central = set[int](), set[int]()
        for past in pasts:
            local |= past.randomizations
            central |= past.spends
        price = lru_cache(maxsize=None)(Cost)  # most releases cost the same
        return cls(
            {n: epsilon for n, epsilon in connection.execute("SELECT id, epsilon FROM randomization") if n in local},
            {
                n: price(*parts)
                for n, *parts in connection.execute("SELECT id, epsilon, rho FROM spend")
                if n in central
            },
        )

    def costs(self, past: Touched) -> list[Cost]:
        """The price of each entry; a local randomization counts with its epsilon in full."""
        local = [Cost(epsilon=self.randomizations[number]) for number in past.randomizations]
        return local + [self.spends[number] for number in past.spends]

    def local_epsilon(self, past: Touched) -> float:
        return float_above(sum((Fraction(self.randomizations[number]) for number in past.randomizations), Fraction()))

    def replacing_epsilon(self, past: Touched) -> float:
        """What is known about replacing an event: its reports, and twice what adding or removing one cost."""
        local = sum((Fraction(self.randomizations[number]) for number in past.randomizations), Fraction())
        return float_above(local + 2 * Fraction(self.central_cost(past).epsilon))

    def central_cost(self, past: Touched) -> Cost:
        return Cost.sum(self.spends[number] for number in past.spends)


def check_unit(connection: sqlite3.Connection, pasts: Iterable[Touched], unit: Unit) -> None:
    """Refuse a price for a person's day where earlier prices are for single events.

    The other way round they add up: an event is part of a person's day, so that what bounds the day bounds the event.
    """
    if unit.name == "event":
        return
    for_events = {number for (number,) in connection.execute("SELECT id FROM spend WHERE unit = 'event'")}
    n_days = sum(past.n_days for past in pasts if past.randomizations or past.spends & for_events)
    if n_days:
        raise SettingError(
            f"on {n_days} of these days releases before protected single events only. They bound nothing for all of a "
            f"person's events on a day, so that no sum with this release is a promise for the {unit}. Nothing was "
            "spent. Keep to the unit event, or use other days."
        )
