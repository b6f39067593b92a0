"""The ledger: a durable record of what was spent on which data set by which release.

Randomizing the same events twice adds up, and so do two releases of their counts. The ledger therefore knows events by
their content, day by day, and by the name their owner declares, so that renaming, reordering or converting a file does
not make it new. It spends before any noise is drawn, and refuses rather than overspends. It holds keyed digests, never
events; the key is in the ledger itself, so guard the file like the events.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tacit._validate import check_positive
from tacit.errors import AlreadyRandomized, AlreadyReleased, BudgetExhausted, DataError, SettingError
from tacit.privacy.budget import Budget, Room
from tacit.privacy.cost import Cost
from tacit.privacy.ledger_file import LedgerFile
from tacit.privacy.ledger_links import Past, Touched, touched
from tacit.privacy.spend import Spend, sealed
from tacit.randomness.source import KeyedRandomness
from tacit.rounding import epsilon_at_most

__all__ = ["Ledger", "Randomization", "Remaining", "Spend", "SpendEntry"]

_SPEND_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Randomization:
    """One entry: events that were turned into reports, at a price."""

    data_set: str
    plan_id: str
    epsilon: float
    prior_epsilon: float
    n_events: int
    at: str

    @property
    def total_epsilon(self) -> float:
        """What all randomizations of these events add up to, this one included."""
        return self.epsilon + self.prior_epsilon


@dataclass(frozen=True, slots=True)
class SpendEntry:
    """One entry: a release of counts with noise, at a price."""

    identifier: str
    data_set: str
    release: str
    cost: Cost
    first_day: str | None
    last_day: str | None
    n_days: int
    is_finished: bool
    at: str


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a data set may still cost: the budgets that bind it, what is spent, and what would fit."""

    data_set: str
    budget: Budget | None
    is_declared: bool
    spent: Cost
    room: Room | None


class Ledger:
    """The record in one SQLite file; safe to use from several processes at once.

    The file is made by the first entry: looking at a ledger and dry runs leave nothing behind.
    """

    def __init__(self, path: str | Path) -> None:
        self._file: Final = LedgerFile(path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def key(self) -> bytes:
        """The key of the digests by which events are known."""
        return self._file.key

    def spend(
        self,
        *,
        data_set: str,
        release: str,
        cost: Cost,
        days: Mapping[str, bytes] | None,
        budget: Budget | Cost | None = None,
        dry_run: bool = False,
    ) -> Spend:
        """Write down the price of a release before its noise is drawn, or refuse what the budget does not hold.

        ``release`` names everything that decides the numbers but the events (a plan's fingerprint). ``days`` holds a
        keyed digest of the events of every day the release covers, empty for a day without events; ``None`` is the
        whole data set for ever. Releases that touch the same day add up, those of other days do not; the day that
        cost most counts. ``budget`` declares the budget of a data set that has none; without any the first release is
        all there may be. A dry run returns the same, writes nothing and draws no noise.
        """
        _check_names(data_set=data_set, release=release)
        if cost == Cost():
            raise SettingError("a release must cost something. Give Cost.pure(epsilon) or Cost.zcdp(rho).")
        key, identifier = os.urandom(_SPEND_KEY_BYTES), os.urandom(8).hex()
        with self._changing(dry_run=dry_run) as connection:
            pasts = touched(connection, data_set, days)
            costs = Past.of(connection, pasts)
            budgets = _agreed_budgets(connection, data_set, pasts, cost, _as_budget(budget))
            for past in pasts:
                before = costs.costs(past)
                for name in past.names & budgets.keys():
                    if not budgets[name].admits([*before, cost]):
                        raise _exhausted(connection, name, budgets[name], before, cost, data_set, release)
            spend = sealed(
                identifier=identifier,
                data_set=data_set,
                release=release,
                cost=cost,
                prior=Cost.parallel(*(Cost.sum(costs.costs(past)) for past in pasts)),
                prior_local_epsilon=max((costs.local_epsilon(past) for past in pasts), default=0.0),
                what_remains=str(_room(pasts, costs, budgets, [cost])),
                source=None if dry_run else KeyedRandomness(key),
            )
            _write(connection, spend, days, key)
        return spend

    def finish(self, spend: Spend) -> None:
        """Wipe the key of a spend whose release is written: its noise can never be drawn again."""
        if spend.is_simulation:
            return
        if spend.is_dry_run:
            raise SettingError("a dry run has nothing to finish. Spend for real first.")
        with self._file.transaction() as connection:
            row = connection.execute("SELECT id FROM spend WHERE identifier = ?", (spend.identifier,)).fetchone()
            if row is None:
                raise SettingError(f"{self.path} holds no spend {spend.identifier}. Finish it in its own ledger.")
            connection.execute("DELETE FROM spend_key WHERE spend = ?", row)
            connection.execute("UPDATE spend SET finished_at = coalesce(finished_at, ?) WHERE id = ?", (_now(), *row))

    def resume(
        self,
        identifier: str | None = None,
        *,
        days: Mapping[str, bytes] | None,
        data_set: str | None = None,
        release: str | None = None,
        cost: Cost | None = None,
    ) -> Spend:
        """Take up a spend whose release was never written, with the same randomness and at no further cost.

        It is found by its identifier, or by its data set and release. Only the same events may meet the same noise:
        other ``days`` are refused, and so is another ``cost`` if one is given.
        """
        with self._file.snapshot() as connection:
            row = _found(connection, identifier, data_set, release, days)
            key = connection.execute("SELECT key FROM spend_key WHERE spend = ?", (row["id"],)).fetchone()
        found = Cost(row["epsilon"], row["rho"])
        if key is None:
            raise AlreadyReleased(
                f"release {row['release']} of {row['data_set']} was finished at {row['finished_at']}: its key is "
                "wiped and its noise cannot be drawn again. Use the release that was written, or spend anew."
            )
        if cost is not None and cost != found:
            raise SettingError(
                f"release {row['release']} of {row['data_set']} was paid with {found}, not {cost}. "
                "Resume it with the settings it had; other noise needs a new spend."
            )
        return sealed(
            identifier=row["identifier"],
            data_set=row["data_set"],
            release=row["release"],
            cost=found,
            prior=Cost(row["prior_epsilon"], row["prior_rho"]),
            prior_local_epsilon=row["prior_local_epsilon"],
            what_remains="",
            source=KeyedRandomness(key[0]),
        )

    def set_budget(
        self,
        data_set: str,
        budget: Budget | Cost | None = None,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float = 0.0,
    ) -> Budget:
        """Declare the most that all releases of the same events of this data set may cost together."""
        _check_names(data_set=data_set)
        if (budget is None) + (epsilon is None) + (rho is None) != 2:
            raise SettingError("a budget is either epsilon (with or without delta) or rho. Give exactly one.")
        declared: Budget
        if isinstance(budget, Budget):
            declared = budget
        elif isinstance(budget, Cost):
            declared = Budget.of(budget, delta=delta)
        else:
            declared = Budget(epsilon or 0.0, rho or 0.0, delta)
        with self._file.transaction() as connection:
            _declare(connection, data_set, declared, is_declared=True)
        return declared

    def remaining(self, data_set: str, days: Mapping[str, bytes] | None = None) -> Remaining:
        """What is spent on these days (on any day, if none are given), and what would fit."""
        with self._file.snapshot() as connection:
            pasts = touched(connection, data_set, days)
            costs = Past.of(connection, pasts)
            known = _budgets(connection)
        binding = {name: known[name] for past in pasts for name in past.names & known.keys()}
        own = known.get(data_set) or next(iter(binding.values()), None)
        return Remaining(
            data_set,
            own and own[0],
            bool(own and own[1]),
            Cost.parallel(*(Cost.sum(costs.costs(past)) for past in pasts)),
            _room(pasts, costs, {name: budget for name, (budget, _) in binding.items()}) if binding else None,
        )

    def record_randomization(
        self,
        *,
        data_set: str,
        plan_id: str,
        private: tuple[str, ...],
        epsilon: float,
        days: Mapping[str, bytes],
        n_events: int,
        again: bool = False,
    ) -> Randomization:
        """Record a randomization before its noise is drawn, or refuse one of events that were randomized already.

        ``days`` holds a keyed digest of each day's events. A day counts as known when the same data set had events on
        it before, or any data set had the very same events, directly or through another entry. With ``again`` the
        repetition is allowed and the sum of the epsilons is recorded and returned; but not if another coordinate was
        ``private`` before, because what one run hides the other makes public, and no sum of epsilons covers that.
        """
        check_positive(epsilon=epsilon)
        with self._file.transaction() as connection:
            pasts = [past for past in touched(connection, data_set, days) if past.is_known]
            costs = Past.of(connection, pasts)
            prior = max((costs.local_epsilon(past) for past in pasts), default=0.0)
            n_known = sum(past.n_days for past in pasts)
            hidden = _hidden(connection, pasts)
            if hidden - {_words(private)}:
                raise AlreadyRandomized(
                    f"these events were randomized before with their {' or '.join(sorted(hidden))} hidden and all else "
                    f"public. Hiding their {_words(private)} now would make the two runs undo each other's protection. "
                    "Use a plan that hides the same; --again does not help here."
                )
            if n_known and not again:
                raise AlreadyRandomized(
                    f"{n_known} of {len(days)} days of these events were randomized before, at epsilon "
                    f"{epsilon_at_most(prior)} in all. Doing it again would raise that to "
                    f"{epsilon_at_most(prior + epsilon)}. Use the reports you have, keep to the new days (--from), "
                    "or accept the sum with --again."
                )
            entry = Randomization(data_set, plan_id, epsilon, prior, n_events, _now())
            cursor = connection.execute(
                "INSERT INTO randomization (at, data_set, plan, private, epsilon, prior_epsilon, n_events) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (entry.at, data_set, plan_id, _words(private), epsilon, prior, n_events),
            )
            connection.executemany(
                "INSERT INTO day VALUES (?, ?, ?)",
                ((cursor.lastrowid, day, digest) for day, digest in days.items()),
            )
        return entry

    def history(self) -> list[Randomization | SpendEntry]:
        """All entries, oldest first."""
        with self._file.snapshot() as connection:
            randomizations = [
                Randomization(*row)
                for row in connection.execute(
                    "SELECT data_set, plan, epsilon, prior_epsilon, n_events, at FROM randomization ORDER BY id"
                )
            ]
            spends = [
                SpendEntry(row[0], row[1], row[2], Cost(row[3], row[4]), row[5], row[6], row[7], bool(row[8]), row[9])
                for row in connection.execute(
                    "SELECT identifier, data_set, release, epsilon, rho, min(day), max(day), count(day), "
                    "finished_at IS NOT NULL, at FROM spend LEFT JOIN spend_day ON spend = id GROUP BY id ORDER BY id"
                )
            ]
        return sorted([*randomizations, *spends], key=lambda entry: entry.at)

    def _changing(self, *, dry_run: bool) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.snapshot() if dry_run else self._file.transaction()


def _now() -> str:
    return datetime.now(UTC).isoformat("T", "seconds")


def _words(private: tuple[str, ...]) -> str:
    return " and ".join(private)


def _check_names(**names: str) -> None:
    for setting, name in names.items():
        if not (isinstance(name, str) and name.strip()):
            raise SettingError(f"{setting} must be a name that lasts; got {setting}={name!r}.")


def _as_budget(budget: Budget | Cost | None) -> Budget | None:
    return Budget.of(budget) if isinstance(budget, Cost) else budget


def _budgets(connection: sqlite3.Connection) -> dict[str, tuple[Budget, bool]]:
    """The budget of each data set and whether it was declared; the last word counts."""
    return {
        name: (Budget(epsilon, rho, delta), bool(is_declared))
        for name, epsilon, rho, delta, is_declared in connection.execute(
            "SELECT data_set, epsilon, rho, delta, is_declared FROM budget ORDER BY id"
        )
    }


def _declare(connection: sqlite3.Connection, data_set: str, budget: Budget, *, is_declared: bool) -> None:
    connection.execute(
        "INSERT INTO budget (at, data_set, epsilon, rho, delta, is_declared) VALUES (?, ?, ?, ?, ?, ?)",
        (_now(), data_set, budget.epsilon, budget.rho, budget.delta, is_declared),
    )


def _agreed_budgets(
    connection: sqlite3.Connection, data_set: str, pasts: Iterable[Touched], cost: Cost, given: Budget | None
) -> dict[str, Budget]:
    """The budgets that bind a release; written down if it brings the first one."""
    known = _budgets(connection)
    own = known.get(data_set)
    if given is not None and (own is None or not own[1]):
        _declare(connection, data_set, given, is_declared=True)
        known[data_set] = given, True
    elif given is not None and own is not None and own[0] != given:
        raise SettingError(
            f"the budget of {data_set} is {own[0]}, not {given}. Leave the budget out, or change it first: "
            f"tacit ledger --budget {data_set}"
        )
    if not any(past.names & known.keys() for past in pasts):
        _declare(connection, data_set, Budget.of(cost), is_declared=False)
        known[data_set] = Budget.of(cost), False
    return {name: budget for name, (budget, _) in known.items()}


def _room(pasts: Iterable[Touched], costs: Past, budgets: Mapping[str, Budget], more: Iterable[Cost] = ()) -> Room:
    """What fits into every budget on every day."""
    rooms = [budgets[name].room([*costs.costs(past), *more]) for past in pasts for name in past.names & budgets.keys()]
    return Room(min(room.epsilon for room in rooms), min(room.rho for room in rooms))


def _exhausted(
    connection: sqlite3.Connection,
    name: str,
    budget: Budget,
    before: list[Cost],
    cost: Cost,
    data_set: str,
    release: str,
) -> BudgetExhausted:
    unfinished = connection.execute(
        "SELECT count(*) FROM spend JOIN spend_key ON spend = id WHERE data_set = ? AND release = ?",
        (data_set, release),
    ).fetchone()[0]
    called = f"{name}, which these events are known as too," if name != data_set else name
    room = budget.room(before)
    return BudgetExhausted(
        f"the budget of {called} is {budget}; {budget.spent(before)} of it is spent, and this release would cost "
        f"{cost} more. Nothing was spent. What would fit: {room}. "
        + ("This very release was paid before and never finished: resume it, at no cost. " if unfinished else "")
        + f"Ask for less, keep to new days, or allow more: tacit ledger --budget {name}"
    )


def _write(connection: sqlite3.Connection, spend: Spend, days: Mapping[str, bytes] | None, key: bytes) -> None:
    number = connection.execute(
        "INSERT INTO spend (identifier, at, data_set, release, epsilon, rho, prior_epsilon, prior_rho, "
        "prior_local_epsilon, is_forever) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            spend.identifier,
            _now(),
            spend.data_set,
            spend.release,
            spend.cost.epsilon,
            spend.cost.rho,
            spend.prior.epsilon,
            spend.prior.rho,
            spend.prior_local_epsilon,
            days is None,
        ),
    ).lastrowid
    connection.execute("INSERT INTO spend_key VALUES (?, ?)", (number, key))
    connection.executemany(
        "INSERT INTO spend_day VALUES (?, ?, ?)", ((number, day, digest) for day, digest in (days or {}).items())
    )


def _found(
    connection: sqlite3.Connection,
    identifier: str | None,
    data_set: str | None,
    release: str | None,
    days: Mapping[str, bytes] | None,
) -> sqlite3.Row:
    """The spend to resume: of those that fit the names the one of the same days, unfinished before finished."""
    connection.row_factory = sqlite3.Row
    if identifier is None and (data_set is None or release is None):
        raise SettingError("a spend is resumed by its identifier, or by its data set and release. Give these.")
    rows: list[sqlite3.Row] = connection.execute(
        "SELECT * FROM spend WHERE identifier = coalesce(:identifier, identifier) "
        "AND data_set = coalesce(:data_set, data_set) AND release = coalesce(:release, release) "
        "ORDER BY finished_at IS NOT NULL, id",
        {"identifier": identifier, "data_set": data_set, "release": release},
    ).fetchall()
    if not rows:
        raise SettingError("the ledger holds no such spend. Check the data set and the release, or spend anew.")
    for row in rows:
        paid = dict(
            tuple(pair)
            for pair in connection.execute("SELECT day, digest FROM spend_day WHERE spend = ?", (row["id"],))
        )
        if bool(row["is_forever"]) == (days is None) and paid == dict(days or {}):
            return row
    raise DataError(
        f"release {rows[0]['release']} of {rows[0]['data_set']} was paid for other events than these. The same noise "
        "on other events would give them away. Bring the events as they were, or spend anew."
    )


def _hidden(connection: sqlite3.Connection, pasts: Iterable[Touched]) -> set[str]:
    """The coordinates that were private in earlier randomizations."""
    numbers = {number for past in pasts for number in past.randomizations}
    return {
        private for number, private in connection.execute("SELECT id, private FROM randomization") if number in numbers
    }
