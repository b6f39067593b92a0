"""What is promised to persons, against the exact loss of all neighbours in worlds of three days and two places.

The days lie in two weeks and two months that do not begin together. All entries of all units and windows follow each
other. What one person adds to the counts is listed for every multiset of at most three events; what others add
cancels. For counts that lie d apart, Laplace noise loses epsilon times d over the bound, Gaussian noise rho times the
sum of squares over its largest value.
"""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from tacit.privacy.cost import Cost
from tacit.privacy.following import Entered, Refusal, refusal
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.file import create
from tacit.privacy.ledger.past import Past, others_than
from tacit.privacy.questions import LONGER, PERSON_DAY, PRESENCE, REPLACEMENT, person_in
from tacit.privacy.unit import Unit, window_of

DAYS = ("2025-05-31", "2025-06-01", "2025-06-02")  # Saturday; Sunday and Monday of the next month
CELLS = list(itertools.product(DAYS, ("north", "south")))
TABLES = [np.array(counts) for counts in itertools.product(range(4), repeat=6) if sum(counts) <= 3]
NUMBERS = {tuple(table): number for number, table in enumerate(TABLES)}
PERSONS = {PERSON_DAY: "day"} | LONGER
ORDERS = ([0, 1, 2, 3, 4, 5], [5, 2, 1, 4, 3, 0])
"""In which cells are taken under two keys."""
UNITS = [
    Unit(),
    Unit.user_day(most=1),
    Unit.user_day(most=2, most_per_cell=1),
    *(Unit.person(most=1, window=window) for window in ("week", "month", None)),
    Unit.person(most=2, most_per_cell=1, window="month"),
    Unit.person(most=2, window="year"),
]
COVERED = (DAYS, DAYS[:1], DAYS[1:])


@dataclass(frozen=True)
class Release:
    unit: Unit
    days: tuple[str, ...] = DAYS
    cost: Cost = Cost(epsilon=1.0)  # noqa: RUF009
    is_tree: bool = False

    @property
    def own(self) -> Guarantee:
        return Guarantee.of_release(self.cost, self.unit, days=(self.days[0], self.days[-1]), asked=LONGER)


@cache
def counted(unit: Unit, days: tuple[str, ...], order: int) -> np.ndarray:
    """What is counted of one person's events in each cell, for every table; all events where nothing is bounded."""
    covered = np.array([day in days for day, _ in CELLS])
    if not unit.is_of_a_person:
        return np.array(TABLES) * covered
    found = np.zeros((len(TABLES), len(CELLS)), int)
    windows = [window_of(day, unit.window) for day, _ in CELLS]
    for number, table in enumerate(TABLES):
        for window in {*windows}:
            left = unit.most
            for cell in ORDERS[order]:
                if windows[cell] == window and covered[cell]:
                    found[number, cell] = min(left, table[cell], unit.most_per_cell)
                    left -= found[number, cell]
    return found


def loss(release: Release, change: np.ndarray) -> np.ndarray:
    """The exact loss for changes of the counts: of a table, or of a tree whose root takes half of the budget."""
    unit, size = release.unit, np.abs(change).sum(axis=1)
    squares = (change**2).sum(axis=1) / unit.squared_sensitivity()
    if release.is_tree:
        root = change.sum(axis=1)
        size = (size + np.abs(root)) / 2
        squares = (squares + root**2 / unit.squared_sensitivity(len(CELLS))) / 2
    return release.cost.epsilon * size / unit.most + release.cost.rho * squares


@cache
def neighbours(question: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of tables that differ by an event on a day, or by all of a person's in a window of that name."""
    pairs = []
    for table in TABLES:
        if question == PRESENCE:
            for cell in np.flatnonzero([count > 0 and CELLS[at][0] == name for at, count in enumerate(table)]):
                less = table.copy()
                less[cell] -= 1
                pairs.append((NUMBERS[tuple(table)], NUMBERS[tuple(less)]))
        else:
            gone = [window_of(day, PERSONS[question]) == name for day, _ in CELLS]
            pairs.append((NUMBERS[tuple(table)], NUMBERS[tuple(np.where(gone, 0, table))]))
    return tuple(np.array(pairs).T)


def largest_loss(question: str, name: str, entries) -> float:
    one, two = neighbours(question, name)
    if question != PRESENCE and any(
        not entry.unit.is_of_a_person and name in {window_of(day, PERSONS[question]) for day in entry.days}
        for entry in entries
    ):
        return np.inf  # of any number of events
    found = 0.0
    for order in range(len(ORDERS)):
        sums = np.zeros(len(one))
        for entry in entries:
            counts = counted(entry.unit, entry.days, order)
            sums += loss(entry, counts[one] - counts[two])
        found = max(found, float(sums.max()))
    return found


def names_of(question: str, days) -> set[str]:
    return {*days} if question == PRESENCE else {window_of(day, PERSONS[question]) for day in days}


@pytest.fixture(scope="module")
def ledger():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create(connection, bytes(32))
    yield connection
    connection.close()


def entered(ledger, entries) -> Past:
    """The ledger with these entries alone."""
    ledger.execute("DELETE FROM spend")
    ledger.execute("DELETE FROM spend_day")
    for number, entry in enumerate(entries, 1):
        unit, cost = entry.unit, entry.cost
        ledger.execute(
            "INSERT INTO spend (id, identifier, at, data_set, release, epsilon, rho, prior_epsilon, prior_rho, "
            "prior_local_epsilon, input, is_forever, unit, most, most_per_cell, window) "
            "VALUES (?, ?, '', 'visits', '', ?, ?, 0, 0, 0, x'', 0, ?, ?, ?, ?)",
            (number, str(number), cost.epsilon, cost.rho, unit.name, unit.most, unit.most_per_cell, unit.window or ""),
        )
        ledger.executemany("INSERT INTO spend_day VALUES (?, ?, x'')", [(number, day) for day in entry.days])
    return Past.of(ledger)


def check(promised: Guarantee, days, entries) -> None:
    for question in (PRESENCE, PERSON_DAY, *promised.asked):
        cost = promised.of_question(question)
        if cost is not None:
            for name in names_of(question, days):
                found = largest_loss(question, name, entries)
                assert cost.epsilon + cost.rho >= found * (1 - 1e-12), f"{question} {name} is promised too cheaply"


PURE = [Release(unit, days) for unit in UNITS for days in COVERED]


def noisy(entries, noise: str):
    if noise == "Laplace":
        return entries
    return [Release(one.unit, one.days, Cost(rho=1.0), is_tree=noise == "Gaussian tree") for one in entries]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["Laplace", "Gaussian", "Gaussian tree"])
@pytest.mark.parametrize("first", UNITS, ids=str)
def test_no_two_entries_are_promised_less_loss_than_there_is(ledger, first, noise):
    pairs = itertools.combinations_with_replacement(PURE, 2)
    for one, two in (pair for pair in pairs if pair[0].unit == first):
        entries = noisy([one, two], noise)
        past = entered(ledger, entries)
        check(past.guarantee(past.touched(ledger, "visits", None)), DAYS, entries)
        for number, entry in enumerate(entries, 1):
            others = others_than(ledger, (True, number))
            own = Guarantee.of_release(entry.cost, entry.unit, days=(entry.days[0], entry.days[-1]), asked=others.asked)
            check(others + own, entry.days, entries)


@pytest.mark.slow
def test_no_three_entries_are_promised_less_loss_than_there_is(ledger):
    some = [Release(unit) for unit in UNITS if unit.most == 1] + [Release(Unit.person(most=1, window="week"), DAYS[1:])]
    for entries in itertools.combinations_with_replacement(some, 3):
        past = entered(ledger, entries)
        check(past.guarantee(past.touched(ledger, "visits", None)), DAYS, entries)


TIMES = {
    ("user-day", PRESENCE): 2,
    ("user-day", PERSON_DAY): 1,
    ("user-day", "person-week"): 2,
    ("user-day", "person-month"): 2,
    ("user-day", "person-year"): 3,
    ("user-day", "person"): 3,
    ("week", PRESENCE): 2,
    ("week", PERSON_DAY): 2,
    ("week", "person-week"): 1,
    ("week", "person-month"): 3,  # a week that lies within, and a part of one
    ("week", "person-year"): 2,
    ("week", "person"): 2,
    ("month", PERSON_DAY): 2,
    ("month", "person-week"): 3,
    ("month", "person-month"): 1,
    ("month", "person"): 2,
    ("all", PRESENCE): 2,
    ("all", PERSON_DAY): 2,
    ("all", "person-month"): 2,
    ("all", "person"): 1,
}
"""How many times its price a release of one event of each person costs: what is stated, and what is reached."""


@pytest.mark.parametrize(("unit", "question"), TIMES)
def test_what_is_stated_of_one_entry_is_reached(unit, question):
    window = None if unit == "all" else unit
    release = Release(Unit.user_day(most=1) if unit == "user-day" else Unit.person(most=1, window=window))
    assert release.own.of_question(question) == Cost.pure(TIMES[unit, question])
    assert max(largest_loss(question, name, [release]) for name in names_of(question, DAYS)) == TIMES[unit, question]


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_replaced_event_costs_two_changes_of_one_event(unit):
    """It leaves one person's events and comes to another's: two changes that cancel nowhere."""
    for cost in (Cost.pure(1.0), Cost.zcdp(1.0)):
        release, changes = Release(unit, cost=cost), []
        for order in range(len(ORDERS)):
            counts, pairs = counted(unit, DAYS, order), [neighbours(PRESENCE, day) for day in DAYS]
            changes.append(np.concatenate([counts[one] - counts[two] for one, two in pairs]))
        found = np.unique(np.concatenate(changes), axis=0)
        both = (found[:, None, :] - found[None, :, :]).reshape(-1, len(CELLS))
        stated = release.own.of_question(REPLACEMENT)
        assert stated.epsilon + stated.rho >= loss(release, both).max() * (1 - 1e-12)


def test_what_may_follow_is_what_leaves_a_promise_to_make(ledger):
    for one, two in itertools.product(PURE, PURE):
        if not two.unit.is_of_a_person:
            assert refusal(Entered(two.unit), [Entered(one.unit)]) is None
            continue
        question = person_in(two.unit.window)
        meet = names_of(question, one.days) & names_of(question, two.days)
        found = refusal(Entered(two.unit), [Entered(one.unit)] if meet else [])
        worst = max(largest_loss(question, name, [one, two]) for name in names_of(question, two.days))
        assert (found == Refusal.BOUNDS_NO_PERSON) == np.isinf(worst)
