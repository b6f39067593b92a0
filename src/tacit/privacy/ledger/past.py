"""The promises of each entry of the ledger and of several together, and what a budget counts of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tacit._base.languages import listed
from tacit.errors import AlreadyRandomized, Remedy, SettingError, TacitError
from tacit.privacy.cost import Cost
from tacit.privacy.following import SELECTION, Entered, Refusal, count_others, differing, refusal
from tacit.privacy.guarantee import COORDINATES, Guarantee, price
from tacit.privacy.ledger.entries import Entry, days_of, unit_of
from tacit.privacy.ledger.touched import NEW, OTHER_CLOCKS, Bounds, Touched, declared_names, touched
from tacit.privacy.questions import LONGER, PERSON_DAY, person_in
from tacit.privacy.unit import Overlap, Unit

_NOTHING: Final = Cost()
_PURE, _ZCDP = Cost.pure(1.0), Cost.zcdp(1.0)


@dataclass(frozen=True, slots=True)
class Priced:
    """One entry: a release at a cost for each unit, or reports, which have none.

    ``guarantee`` is what it promises about single events, and about a person's day where it has no unit. ``selection``
    decides which rows reports count, as :class:`~tacit.privacy.following.Entered` has it.
    """

    data_set: str
    guarantee: Guarantee
    cost: Cost = _NOTHING
    unit: Unit | None = None
    is_counter: bool = False
    selection: tuple[str, ...] = ()

    @classmethod
    def of_release(
        cls, data_set: str, cost: Cost, unit: Unit, *, is_counter: bool, spans_lines: bool = False
    ) -> Priced:
        guarantee = Guarantee.of_release(cost, unit, is_counter=is_counter, spans_lines=spans_lines)
        return cls(data_set, replace(guarantee, persons=()), cost, unit, is_counter)

    @property
    def bounds_a_person(self) -> bool:
        """Whether it limits what one person adds."""
        return self.unit is not None and self.unit.is_of_a_person

    @property
    def entered(self) -> Entered:
        """The entry as it is asked what may follow it."""
        if self.unit is not None:
            return Entered(self.unit, is_pure=self.cost.is_pure, is_counter=self.is_counter)
        axes = COORDINATES if self.guarantee.tells_kinds else COORDINATES[:2]
        hidden = self.guarantee.hidden
        published = tuple(axis for axis in axes if axis not in hidden)
        return Entered(hidden=hidden, published=published, selection=self.selection)

    def of_person(self, question: str, overlap: Overlap | None) -> Cost | None:
        """Return what it costs for a question about a person; ``None`` where it bounds nothing."""
        if self.unit is None:
            return None
        return price(self.cost, question, self.unit, is_counter=self.is_counter, overlap=overlap)

    def on_a_day(self, overlap: Overlap | None) -> Guarantee:
        """Return what it promises about the events of a day, and about a person on it."""
        return replace(self.guarantee, person_day=self.of_person(PERSON_DAY, overlap))

    def of_one_event(self, together: Guarantee) -> Cost:
        """Return what a budget counts of it, given what all entries promise together about single events.

        At least its own price, so that nothing which is added later makes an entry cheaper.
        """
        cost = self.guarantee.replacement if together.has_reports else self.guarantee.presence
        return Cost.parallel(cost or _NOTHING, self.cost)


@dataclass(frozen=True, slots=True)
class Bill:
    """The prices that a budget adds up: for a person in one window, or for single events of the same days."""

    past: Touched
    is_of_persons: bool
    prices: tuple[Cost, ...]
    has_reports: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """All entries of the ledger, and possibly one that is about to be made."""

    entries: Mapping[Entry, Priced]

    @classmethod
    def of(cls, connection: sqlite3.Connection, new: Priced | None = None) -> Past:
        found = {OTHER_CLOCKS: Priced("", Guarantee(person_day=None))} | ({} if new is None else {NEW: new})
        try:
            return cls(found | dict(_entries(connection)))
        except (TacitError, ValueError, TypeError, LookupError):  # of a row that no ledger writes
            raise sqlite3.DatabaseError("a row is damaged") from None

    @property
    def has_new(self) -> bool:
        """Whether one entry is about to be made."""
        return NEW in self.entries

    def touched(
        self,
        connection: sqlite3.Connection,
        data_set: str,
        days: Mapping[str, bytes] | None,
        *,
        zone: str = "",
    ) -> list[Touched]:
        """Return which entries touched these days, and the windows of persons around them; the new one too."""
        names = declared_names(connection, data_set)
        new = list(days or ()) if self.has_new else []
        return touched(connection, names, days, self._bounds(names, days is None), zone=zone, new=new)

    def _bounds(self, names: frozenset[str], is_forever: bool) -> Bounds:
        own = {entry: priced for entry, priced in self.entries.items() if priced.data_set in names}
        units = {entry: priced.unit for entry, priced in own.items() if priced.unit is not None}
        questions = {person_in(unit.window) for unit in units.values() if unit.is_of_a_person}
        endless = {entry for entry, priced in own.items() if priced.is_counter and (entry != NEW or is_forever)}
        return Bounds(
            windows={entry: unit.window for entry, unit in units.items() if unit.is_of_a_person},
            forever=frozenset(endless),
            asked=tuple(question for question in LONGER if question in questions),
        )

    def guarantee(self, pasts: Iterable[Touched], but: Entry | None = None) -> Guarantee:
        """Return what all entries promise together to every event of these days, and to persons around them.

        What one of them costs may be left out; what is left is then promised beside it. Other reports that had none on
        days of these add nothing to what these publish themselves.
        """
        every = list(pasts)
        undo = any(self._count_others(past) for past in every if past.is_of_days)
        if but is not None:
            every = [past.without(but, and_silent=not but[0]) for past in every]
        events = Guarantee.parallel(self._on_a_day(past) for past in every if past.is_of_days)
        if undo:
            events = replace(events, replacement=None, hidden=())
        asked = {past.question for past in every if not past.is_of_days}
        persons = (
            (question, _largest(self._of_person(past) for past in every if past.question == question))
            for question in LONGER
            if question in asked
        )
        return replace(events, persons=tuple(persons))

    def _count_others(self, past: Touched) -> bool:
        """Return whether some reports show by being there what others hide."""
        runs = {abs(number): self.entries[is_spend, number] for (is_spend, number), _ in past.entries if not is_spend}
        return count_others(run.entered for run in runs.values())

    def _on_a_day(self, past: Touched) -> Guarantee:
        return Guarantee.sum(self.entries[entry].on_a_day(overlap) for entry, overlap in past.entries)

    def _of_person(self, past: Touched) -> Cost | None:
        costs = [self.entries[entry].of_person(past.question, overlap) for entry, overlap in past.entries]
        known = [cost for cost in costs if cost is not None]
        return Cost.sum(known) if len(known) == len(costs) else None

    def bills(self, pasts: Iterable[Touched]) -> Iterator[Bill]:
        """Return what budgets count, over these days and around them.

        Of entries that bound a person, what they cost in the longest window that is asked about. On days with other
        entries all of them count for single events, each at no less than its own price.
        """
        every = list(pasts)
        left = {day for past in every for day in past.days}
        for question in reversed((PERSON_DAY, *LONGER)):
            for past in (one for one in every if one.question == question and one.days & left):
                prices = self._prices_of_persons(past)
                if prices is not None:
                    left -= past.days
                    yield Bill(past, True, prices)
        for past in every:
            if past.is_of_days and not all(self.entries[entry].bounds_a_person for entry, _ in past.entries):
                yield Bill(past, False, self._prices_of_events(past), self._on_a_day(past).has_reports)

    def before(self, bill: Bill) -> tuple[Cost, ...]:
        """Return what the same bill was before the new entry."""
        past = bill.past.without(NEW)
        return (self._prices_of_persons(past) or ()) if bill.is_of_persons else self._prices_of_events(past)

    def times_its_cost(self, bill: Bill) -> Cost:
        """Return how many times its own cost the new release costs in a bill of persons: for pure epsilon, for zCDP."""
        new, overlap = self.entries[NEW], dict(bill.past.entries)[NEW]
        one, other = (replace(new, cost=cost).of_person(bill.past.question, overlap) for cost in (_PURE, _ZCDP))
        assert one is not None
        assert other is not None
        return Cost(one.epsilon, other.rho)

    def _prices_of_persons(self, past: Touched) -> tuple[Cost, ...] | None:
        """Return what entries that bound a person cost in a window; ``None`` where one of them has no end."""
        entries = [(self.entries[entry], overlap) for entry, overlap in past.entries]
        costs = [entry.of_person(past.question, overlap) for entry, overlap in entries if entry.bounds_a_person]
        known = tuple(cost for cost in costs if cost is not None)
        return known if len(known) == len(costs) else None

    def _prices_of_events(self, past: Touched) -> tuple[Cost, ...]:
        together = self._on_a_day(past)
        return tuple(self.entries[entry].of_one_event(together) for entry, _ in past.entries)


def _entries(connection: sqlite3.Connection) -> Iterator[tuple[Entry, Priced]]:
    """Give all entries that a ledger has, with their prices."""
    local = connection.execute(
        "SELECT id, data_set, epsilon, private, spans_lines, tells_kinds, selection FROM randomization"
    ).fetchall()
    central = connection.execute(
        "SELECT id, data_set, epsilon, rho, is_forever, spans_lines, unit, most, most_per_cell, window FROM spend"
    )
    for number, data_set, epsilon, private, spans, tells, selection in local:
        selected = tuple(json.loads(selection)[part] for part in SELECTION) if selection else ()
        hidden = tuple(private.split(" and "))
        own = Guarantee.of_reports(epsilon, hidden, tells_kinds=bool(tells), spans_lines=bool(spans))
        yield (False, number), Priced(data_set, own, selection=selected)
        # one event more on a day without reports would have been one report more; none there was replaced
        silent = replace(own, replacement=_NOTHING, spans_lines=False)
        yield (False, -number), Priced(data_set, silent, selection=selected)
    for number, data_set, epsilon, rho, is_forever, spans, *unit in central:
        cost = Cost(epsilon, rho)
        yield (
            (True, number),
            Priced.of_release(data_set, cost, unit_of(*unit), is_counter=bool(is_forever), spans_lines=bool(spans)),
        )


def _largest(costs: Iterable[Cost | None]) -> Cost | None:
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return Cost.parallel(*known) if len(known) == len(found) else None


def others_than(connection: sqlite3.Connection, entry: Entry) -> Guarantee:
    """Return what all entries but this one promise about its events, and about persons around them."""
    past = Past.of(connection)
    return past.guarantee(past.touched(connection, *days_of(connection, entry)), but=entry)


def check_may_follow(past: Past, pasts: Iterable[Touched], entry: Entry = NEW) -> None:
    """Refuse an entry that may not follow those that touch the same days, or the same window of a person.

    A counter that goes on is asked about its new days alone.
    """
    new, n_days, found = past.entries[entry], 0, []
    is_longer = entry == NEW and new.unit is not None and new.unit.is_of_a_person
    question = person_in(new.unit.window) if is_longer and new.unit is not None else PERSON_DAY
    for one in (one for one in pasts if one.question == question):
        # that clocks differ matters to persons alone
        others = [
            past.entries[other]
            for other, _ in one.entries
            if other != entry and (other != OTHER_CLOCKS or new.bounds_a_person)
        ]
        reason = refusal(new.entered, (other.entered for other in others))
        if reason is not None:
            n_days += one.n_days
            found.append((reason, others))
    if found:
        raise _refused(new, *found[0], n_days)


def _refused(new: Priced, reason: Refusal, others: Iterable[Priced], n_days: int) -> TacitError:
    """Return the words of a refusal."""
    if new.unit is None:
        return _refused_reports(new, reason, others)
    when = {"day": f"on {n_days} of these days", None: "before this"}.get(
        new.unit.window, f"in the {new.unit.window}s of {n_days} of these days"
    )
    if reason == Refusal.HAS_NO_END:
        return SettingError(
            f"a counter of the same events bounds what a person adds in shorter windows, for ever: no sum is a promise "
            f"for the {new.unit}. Nothing was spent. Protect persons in a window, or use another data set."
        )
    which = "on a day" if new.unit.window == "day" else f"in a {new.unit.window}" if new.unit.window else ""
    return SettingError(
        f"{when} releases {'' if new.unit.window is None else 'before '}protected single events only. They bound "
        f"nothing for all of a person's events{f' {which}' if which else ''}, so that no sum with this release is a "
        f"promise for the {new.unit}. Nothing was spent. Keep to the unit event"
        f"{', or use other days' if new.unit.window else ''}."
    )


def _refused_reports(new: Priced, reason: Refusal, others: Iterable[Priced]) -> TacitError:
    if reason == Refusal.STATES_NO_DELTA:
        return AlreadyRandomized(
            "counts of these events were released with Gaussian noise before. That has no epsilon without a delta, and "
            "reports can state none.",
            remedy=Remedy.KEEP_TO_NEW_DAYS,
        )
    if reason == Refusal.COUNTS_OTHERS:
        return _counts_others(new, [other for other in others if other.unit is None])
    hidden = sorted({listed(other.guarantee.hidden) for other in others if other.unit is None})
    return AlreadyRandomized(
        f"these events were randomized before with their {' or '.join(hidden)} hidden and all else public. Hiding "
        f"their {listed(new.guarantee.hidden)} now would make the two runs undo each other's protection.",
        remedy=Remedy.HIDE_THE_SAME,
    )


_OTHER_PARTS: Final = {
    "rows": "other conditions or ways to read a row",
    "time": "other days",
    "place": "other places",
    "kind": "other kinds of events",
}


def _counts_others(new: Priced, others: Iterable[Priced]) -> TacitError:
    """Return the words for runs of reports that count other rows, or of which nobody knows which they count."""
    runs = [new, *others]
    parts = differing(run.entered for run in runs)
    how = f"with {listed([_OTHER_PARTS[part] for part in parts])}" if parts else "by a version that did not note which"
    return AlreadyRandomized(
        f"a run of reports about the same days counted events {how}. Of an event that only one of the runs counts "
        f"everybody would see that, and so something of its {listed(new.guarantee.hidden)}. Nothing was spent.",
        remedy=Remedy.COUNT_THE_SAME,
    )
