"""What stands in the ledger: randomizations, spends, and what remains."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.privacy.budget import Budget, Room
from tacit.privacy.cost import Cost
from tacit.privacy.directed import float_above
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Unit


@dataclass(frozen=True, slots=True)
class Randomization:
    """One entry: events that were turned into reports, at a price.

    Until it ``is_finished`` the ledger keeps the secret its reports are drawn from. ``number`` is the ledger's own.
    """

    data_set: str
    plan_id: str
    epsilon: float
    prior_epsilon: float
    n_events: int
    at: str
    is_finished: bool = True
    number: int = field(default=0, repr=False)

    @property
    def total_epsilon(self) -> float:
        """What all randomizations of these events add up to, this one included."""
        return float_above(Fraction(self.epsilon) + Fraction(self.prior_epsilon))


@dataclass(frozen=True, slots=True)
class SpendEntry:
    """One entry: a release of counts with noise, at a price.

    One that ``is_forever`` is of the whole data set; its days are those it was seen to receive.
    """

    identifier: str
    data_set: str
    release: str
    cost: Cost
    first_day: str | None
    last_day: str | None
    n_days: int
    is_forever: bool
    is_finished: bool
    at: str
    unit: Unit


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a data set may still cost: the budgets that bind it, what is spent, what is promised, what would fit."""

    data_set: str
    budget: Budget | None
    is_declared: bool
    spent: Cost
    guarantee: Guarantee
    room: Room | None


def randomizations(connection: sqlite3.Connection) -> list[Randomization]:
    """All randomizations, oldest first."""
    rows = connection.execute(
        "SELECT data_set, plan, epsilon, prior_epsilon, n_events, at, key IS NULL, id "
        "FROM randomization LEFT JOIN randomization_key ON randomization = id ORDER BY id"
    )
    return [
        Randomization(data_set, plan, epsilon, prior, n_events, at, is_finished=bool(is_finished), number=number)
        for data_set, plan, epsilon, prior, n_events, at, is_finished, number in rows
    ]


def spends(connection: sqlite3.Connection) -> list[SpendEntry]:
    """All spends, oldest first."""
    rows = connection.execute(
        "SELECT identifier, data_set, release, epsilon, rho, min(day), max(day), count(DISTINCT day), "
        "is_forever, finished_at IS NOT NULL, at, unit, most "
        "FROM spend LEFT JOIN spend_day ON spend = id GROUP BY id ORDER BY id"
    )
    return [
        SpendEntry(
            identifier,
            data_set,
            release,
            Cost(epsilon, rho),
            first_day=first,
            last_day=last,
            n_days=n_days,
            is_forever=bool(forever),
            is_finished=bool(finished),
            at=at,
            unit=Unit(unit, most),
        )
        for identifier, data_set, release, epsilon, rho, first, last, n_days, forever, finished, at, unit, most in rows
    ]
