"""What the ledger promises, against the exact privacy loss of all neighbours in worlds of two days, places and people.

Tables of at most three events are listed, with all that one step makes of them. The loss of a pair of tables is added
up over the entries. For counts that lie d apart, discrete Laplace noise loses exactly epsilon d over the sensitivity.
Reports lose their epsilon where one event's hidden part differs, and everything where a public one does.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import pytest

from small_worlds import EVERY_ROW
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import PERSON_DAY, PRESENCE, REPLACEMENT, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

DAYS = ("2025-01-01", "2025-01-02")
Event = tuple[str, str, str]  # day, place, person
Table = tuple[Event, ...]
EVENTS: list[Event] = list(itertools.product(DAYS, ("north", "south"), ("ana", "ben")))
PAIRS: list[Table] = [rows for n in range(3) for rows in itertools.product(EVENTS, repeat=n)]
# more rows matter to bounds on a person's day alone
TRIPLES: list[Table] = list(itertools.product(EVENTS[:4], repeat=3))


@dataclass(frozen=True)
class Release:
    """A curator's release of some days; ``most`` 0 is the unit event."""

    days: tuple[str, ...]
    epsilon: float = 1.0
    most: int = 0

    @property
    def unit(self) -> Unit:
        return Unit.user_day(most=self.most) if self.most else Unit()

    def counts(self, table: Table) -> Counter[tuple[str, str]]:
        taken: Counter[tuple[str, str]] = Counter()
        counted: Counter[tuple[str, str]] = Counter()
        for day, place, person in table:
            taken[day, person] += 1
            if day in self.days and (not self.most or taken[day, person] <= self.most):
                counted[day, place] += 1
        return counted

    def loss(self, table: Table, other: Table) -> float:
        one, two = self.counts(table), self.counts(other)
        distance = sum(abs(one[cell] - two[cell]) for cell in {*one, *two})
        return self.epsilon * distance / self.unit.sensitivity

    def enter(self, ledger: Ledger, table: Table, name: str) -> None:
        ledger.spend(
            data_set="events",
            release=name,
            cost=Cost.pure(self.epsilon),
            days=dict.fromkeys(self.days, b""),
            unit=self.unit,
        )

    def own(self) -> Guarantee:
        return Guarantee.of_release(Cost.pure(self.epsilon), self.unit)

    def covered(self, table: Table) -> tuple[str, ...]:
        return self.days


@dataclass(frozen=True)
class Reports:
    """One report for every event of some days; ``is_long`` has one public period for all of them."""

    days: tuple[str, ...]
    epsilon: float = 2.0
    hides: str = "place"
    is_long: bool = False

    def public(self, event: Event) -> str:
        day, place, _ = event
        return place if self.hides == "time" else "all" if self.is_long else day

    def loss(self, table: Table, other: Table) -> float:
        one, two = ([event for event in some if event[0] in self.days] for some in (table, other))
        if Counter(map(self.public, one)) != Counter(map(self.public, two)):
            return math.inf
        hidden = 0 if self.hides == "time" else 1
        values = [Counter((self.public(event), event[hidden]) for event in some) for some in (one, two)]
        return self.epsilon * (values[0] - values[1]).total()

    def covered(self, table: Table) -> tuple[str, ...]:
        """The days of public periods with a report."""
        found = {event[0] for event in table if event[0] in self.days}
        return self.days if self.hides == "time" or (self.is_long and found) else tuple(sorted(found))

    def enter(self, ledger: Ledger, table: Table, name: str) -> None:
        days = self.covered(table)
        ledger.record_randomization(
            data_set="events",
            plan_id=name,
            private=(self.hides,),
            epsilon=self.epsilon,
            days=dict.fromkeys(days, b""),
            silent=[day for day in self.days if day not in days],
            n_events=len(table),
            selection=EVERY_ROW | {"time": str(self.days)},
            again=True,
        )

    def own(self) -> Guarantee:
        return Guarantee.of_reports(self.epsilon, (self.hides,))


def neighbours(table: Table, days: tuple[str, ...]) -> list[tuple[str, Table]]:
    """All tables that one step leads to, among events of some days, with the question that asks for it."""
    found = []
    for at, event in enumerate(table):
        if event[0] in days:
            found.append((PRESENCE, table[:at] + table[at + 1 :]))
            changed = ((*table[:at], new, *table[at + 1 :]) for new in EVENTS if new[0] in days)
            found += [(REPLACEMENT, new) for new in changed]
    for event in EVENTS:
        if event[0] in days and len(table) < 3:
            found += [(PRESENCE, (*table[:at], event, *table[at:])) for at in range(len(table) + 1)]
    for day, person in itertools.product(days, ("ana", "ben")):
        found.append((PERSON_DAY, tuple(event for event in table if (event[0], event[2]) != (day, person))))
    return found


def largest_losses(entries, days, tables) -> dict[str, float]:
    """The largest loss for each question; replacement keeps what reports publish, else nothing is promised."""
    reports = [entry for entry in entries if isinstance(entry, Reports)]
    largest = dict.fromkeys((PRESENCE, REPLACEMENT, PERSON_DAY), 0.0)
    for table in tables:
        for question, other in neighbours(table, days):
            loss = sum(entry.loss(table, other) for entry in entries)
            if question == REPLACEMENT and any(math.isinf(one.loss(table, other)) for one in reports):
                continue
            largest[question] = max(largest[question], loss)
    return largest


FIRST, SECOND = DAYS[:1], DAYS[1:]
WORLDS = {
    "a release": [Release(DAYS)],
    "two releases of both days": [Release(DAYS), Release(DAYS, 0.5)],
    "two releases of one day each": [Release(FIRST, 5.0), Release(SECOND)],
    "releases that overlap on one day": [Release(DAYS), Release(SECOND, 3.0)],
    "user-days, one event each": [Release(DAYS, most=1)],
    "user-days, two events each": [Release(DAYS, most=2)],
    "user-days twice": [Release(DAYS, most=1), Release(FIRST, 2.0, most=2)],
    "user-days, then events": [Release(DAYS, most=1), Release(DAYS)],
    "reports": [Reports(DAYS)],
    "reports, then a release": [Reports(DAYS), Release(DAYS)],
    "reports of one day, then a release": [Reports(FIRST), Release(DAYS)],
    "reports, then a release of one day": [Reports(DAYS), Release(SECOND)],
    "a release, then reports": [Release(DAYS), Reports(DAYS)],
    "user-days, then reports": [Release(DAYS, most=1), Reports(DAYS)],
    "reports of a long period, then a release": [Reports(DAYS, is_long=True), Release(FIRST, 3.0)],
    "reports of two steps": [Reports(DAYS), Reports(DAYS, 1.0, is_long=True)],
    "reports that hide the time, then a release": [Reports(DAYS, hides="time"), Release(DAYS)],
    "reports of one day each": [Reports(FIRST), Reports(SECOND, 1.0)],
    "reports that hide the time, then a release of one day": [Reports(DAYS, hides="time"), Release(FIRST)],
}
TIGHT = {
    "a release": (1, 2, math.inf),
    "two releases of both days": (1.5, 3, math.inf),
    "two releases of one day each": (5, 10, math.inf),
    "user-days, one event each": (2, 4, 1),
    "user-days, then events": (3, 6, math.inf),
    "reports": (math.inf, 2, math.inf),
    "reports, then a release": (math.inf, 4, math.inf),
    "reports of two steps": (math.inf, 3, math.inf),
    "reports that hide the time, then a release": (math.inf, 4, math.inf),
}
"""Where three events are enough to reach what is promised: for presence, replacement and a person's day."""


def patterns(entries) -> dict[tuple[tuple[str, ...], ...], list[Table]]:
    """The tables by the days that the reports of each entry cover, on which what the ledger holds depends."""
    found: dict[tuple[tuple[str, ...], ...], list[Table]] = {}
    bounded = any(isinstance(entry, Release) and entry.most for entry in entries)
    for table in PAIRS + TRIPLES if bounded else PAIRS:
        found.setdefault(tuple(entry.covered(table) for entry in entries), []).append(table)
    return found


@pytest.mark.parametrize("world", WORLDS)
def test_no_statement_promises_less_loss_than_there_is(world, tmp_path):
    entries = WORLDS[world]
    reached = dict.fromkeys((PRESENCE, REPLACEMENT, PERSON_DAY), 0.0)
    stated = dict.fromkeys(reached, 0.0)
    for number, (covered, tables) in enumerate(patterns(entries).items()):
        ledger = Ledger(tmp_path / f"{number}.sqlite")
        ledger.set_budget("events", epsilon=30.0)
        for at, entry in enumerate(entries):
            entry.enter(ledger, tables[0], f"entry {at}")
        statements = [
            (days, ledger.others(f"entry {at}") + entry.own())
            for at, (entry, days) in enumerate(zip(entries, covered, strict=True))
            if days
        ]
        statements.append((DAYS, ledger.remaining("events").guarantee))
        for days, promised in statements:
            for question, loss in largest_losses(entries, days, tables).items():
                cost = promised.of_question(question)
                assert cost is None or cost.epsilon >= loss, f"{question} on {days} is promised too cheaply"
                reached[question] = max(reached[question], loss)
                stated[question] = max(stated[question], math.inf if cost is None else cost.epsilon)
    if world in TIGHT:
        assert tuple(stated.values()) == TIGHT[world]
        assert all(reached[question] == cost for question, cost in stated.items() if cost < math.inf)
