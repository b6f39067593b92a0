"""The promises about events, and to whom, after everything that was done to them.

One ledger entry is either reports, randomized event by event, or a curator's release with noise on the counts. What
each costs for a question about events or persons is said in :mod:`tacit.privacy.questions`; here costs of entries about
the same events are added up, and said in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from tacit._base.languages import figures, gettext, listed, message
from tacit._base.rounding import epsilon_at_most, float_above
from tacit.errors import FormatError, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.questions import (
    LONGER,
    NOTHING,
    PERSON_DAY,
    PRESENCE,
    REPLACEMENT,
    person_in,
    times,
    window_asked,
)
from tacit.privacy.unit import WHOLE, Overlap, Span, Unit, overlaps_of

COORDINATES: Final = (message("time"), message("place"), message("kind"))
USUAL_DELTA: Final = 1e-6
"""The delta of a stated epsilon where Gaussian noise is in the sum and the plan names none: one in a million, the
field's usual choice. Half or twice of it changes the stated epsilon by about 2.5 %."""

_NOTHING: Final = Cost()
_IF_QUOTES_CLOSE: Final = message(
    "All this holds only as long as no row leaves a quote open: fields of a source of these events may span lines."
)
Persons = tuple[tuple[str, Cost | None], ...]
"""Costs for questions about a person in more than a day, the shortest window first."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The costs of entries about the same events together, for each question; ``None`` where nothing is promised.

    ``hidden`` names the coordinates of an event that replacement may change: those that no report publishes. Where
    there is none, replacement is promised nothing. The kind is among them only if some reports ``tells_kinds`` apart:
    a plan without kinds neither publishes nor hides it. ``spans_lines`` tells that an entry was read from a source
    whose fields may span lines. ``persons`` has the questions that were asked about a person in more than a day. The
    default is what holds for events of which nothing was ever made.

    >>> reports, counts = Guarantee.of_reports(3.0, ("place",)), Guarantee.of_release(Cost.pure(1.0), Unit())
    >>> both = Guarantee.sum([reports, counts])
    >>> both.presence, both.replacement, both.hidden
    (None, Cost(epsilon=5.0, rho=0.0), ('place',))
    """

    presence: Cost | None = _NOTHING
    replacement: Cost | None = _NOTHING
    person_day: Cost | None = _NOTHING
    hidden: tuple[str, ...] = COORDINATES[:2]
    spans_lines: bool = False
    persons: Persons = ()
    tells_kinds: bool = False

    @classmethod
    def of_reports(
        cls, epsilon: float, private: tuple[str, ...], *, tells_kinds: bool = False, spans_lines: bool = False
    ) -> Guarantee:
        """Return what one randomization of each event promises; ``private`` names what its reports hide."""
        tells_kinds = tells_kinds or "kind" in private
        return cls(None, Cost(epsilon=epsilon), None, private, spans_lines, tells_kinds=tells_kinds)

    @classmethod
    def of_release(
        cls,
        cost: Cost,
        unit: Unit,
        *,
        is_counter: bool = False,
        spans_lines: bool = False,
        days: Span | None = None,
        asked: Iterable[str] = (),
    ) -> Guarantee:
        """Return what a curator's release at this cost for each unit promises.

        Beside its own window, ``asked`` are other questions about persons. What it costs for these depends on the
        ``days`` that it covers; without any it is taken to go on for ever.
        """
        own = (person_in(unit.window),) if unit.is_of_a_person else ()

        def of_person(question: str) -> Cost | None:
            found = overlaps_of(days, unit.window, window_asked(question)) if own else None
            costs = (price(cost, question, unit, is_counter=is_counter, overlap=one) for one in found or (None,))
            return _largest(costs)

        return cls(
            presence=price(cost, PRESENCE, unit, is_counter=is_counter),
            replacement=price(cost, REPLACEMENT, unit, is_counter=is_counter),
            person_day=of_person(PERSON_DAY),
            spans_lines=spans_lines,
            persons=tuple((question, of_person(question)) for question in LONGER if question in {*asked, *own}),
        )

    @classmethod
    def of_a_sum(cls, cost: Cost, *, is_local: bool) -> Guarantee:
        """Return what may be promised where a file of an earlier version tells one sum of prices and no more.

        Beside reports it was the price of replacement. Beside a release it may have held reports, so that nothing is
        promised of presence, and replacement costs twice (of zCDP four times) the sum at most.
        """
        if cost == _NOTHING:
            return cls()
        return cls(None, cost if is_local else _times(cost, Fraction(2), Fraction(4)), None)

    @classmethod
    def sum(cls, entries: Iterable[Guarantee]) -> Guarantee:
        """Return what all entries promise together, about the same events; exact sums, rounded up once."""
        counted = Counter(entries)  # many releases of one price are quickly added
        hidden = _common(counted)
        return cls(
            presence=_sum(counted, PRESENCE),
            replacement=_sum(counted, REPLACEMENT) if hidden else None,
            person_day=_sum(counted, PERSON_DAY),
            hidden=hidden,
            spans_lines=any(entry.spans_lines for entry in counted),
            persons=tuple((question, _sum(counted, question)) for question in _asked(counted)),
            tells_kinds=any(entry.tells_kinds for entry in counted),
        )

    @classmethod
    def parallel(cls, parts: Iterable[Guarantee]) -> Guarantee:
        """Return what holds for every event, where each of the parts holds for events that the others do not touch."""
        different = set(parts)
        hidden = _common(different)
        return cls(
            presence=_largest(part.presence for part in different),
            replacement=_largest(part.replacement for part in different) if hidden else None,
            person_day=_largest(part.person_day for part in different),
            hidden=hidden,
            spans_lines=any(part.spans_lines for part in different),
            persons=tuple(
                (question, _largest(part.of_question(question) for part in different)) for question in _asked(different)
            ),
            tells_kinds=any(part.tells_kinds for part in different),
        )

    def __add__(self, other: Guarantee) -> Guarantee:
        return Guarantee.sum([self, other])

    @property
    def is_of_nothing(self) -> bool:
        """Whether no entry stands behind it."""
        return replace(self, persons=()) == Guarantee() and all(cost == _NOTHING for _, cost in self.persons)

    @property
    def is_pure(self) -> bool:
        """Whether no part of it needs a delta."""
        costs = (self.presence, self.replacement, self.person_day, *(cost for _, cost in self.persons))
        return all(cost is None or cost.is_pure for cost in costs)

    @property
    def has_reports(self) -> bool:
        """Whether reports of the events exist, one by one."""
        return self.presence is None

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions that were asked about a person in more than a day."""
        return tuple(question for question, _ in self.persons)

    def of_question(self, question: str) -> Cost | None:
        """Return the cost for one question; ``None`` where nothing is promised.

        What nobody asked of a person is not known, and promised of events alone of which nothing was made.
        """
        if question in LONGER:
            return dict(self.persons).get(question, _NOTHING if self.is_of_nothing else None)
        return {PRESENCE: self.presence, REPLACEMENT: self.replacement, PERSON_DAY: self.person_day}[question]

    def strongest(self, unit: Unit | None) -> tuple[str, Cost | None]:
        """Return the strongest promise that still holds for a release of this unit, and its cost.

        The unit ``None`` stands for reports. Where no promise is left, there is no cost.
        """
        if unit is not None:
            for question in (*self._of_persons(unit), PRESENCE):
                cost = self.of_question(question)
                if cost is not None:
                    return question, cost
        return (NOTHING, None) if self.replacement is None else (REPLACEMENT, self.replacement)

    def _of_persons(self, unit: Unit) -> tuple[str, ...]:
        """Return the questions about persons that a unit answers, the longest first."""
        if not unit.is_of_a_person:
            return ()
        ordered, own = (PERSON_DAY, *LONGER), person_in(unit.window)
        shorter = ordered[: ordered.index(own)]
        return (own, *(question for question in reversed(shorter) if question in (PERSON_DAY, *self.asked)))

    def sentences(self, delta: float = 0.0) -> tuple[str, ...]:
        """Return the promise in plain words, one sentence for each question, always in the same order.

        >>> for sentence in Guarantee.of_reports(3.0, ("place",)).sentences():
        ...     print(sentence)
        One event added or removed: not protected. Its reports are counted in public.
        One event's place replaced by any other: epsilon 3. What its reports publish is not protected.
        All events of one person on one day added or removed: not protected. Reports protect single events.
        """
        said = [
            (
                gettext("One event added or removed"),
                gettext("not protected. Its reports are counted in public.")
                if self.presence is None
                else f"{in_words(self.presence, delta)}.",
            )
        ]
        if self.replacement is None:
            shown = gettext("not protected. What some of its reports hide, others show.")
            said.append((gettext("One event replaced by any other"), shown))
        elif self.has_reports:
            price = in_words(self.replacement, delta)
            published = gettext("What its reports publish is not protected.")
            said.append((gettext("One event's %(replaced)s", replaced=self.replaced), f"{price}. {published}"))
        else:
            # an event of a day that is not covered may have cost more
            what = gettext("One event replaced by any other on the days covered")
            said.append((what, f"{in_words(self.replacement, delta)}."))
        for question, cost in ((PERSON_DAY, self.person_day), *self.persons):
            unprotected = gettext("not protected. %(why)s", why=self._why_no_person)
            said.append((added_or_removed(question), unprotected if cost is None else f"{in_words(cost, delta)}."))
        sentences = (gettext("%(heading)s: %(text)s", heading=heading, text=text) for heading, text in said)
        return (*sentences, *((gettext(_IF_QUOTES_CLOSE),) if self.spans_lines else ()))

    @property
    def replaced(self) -> str:
        """What of an event may be replaced by what, beside reports.

        Of which days a run is, is public, and a statement may be of runs of several days.
        """
        hidden = listed([gettext(name) for name in self.hidden])
        if "time" in self.hidden:
            return gettext("%(hidden)s replaced by any other on the days of its run", hidden=hidden)
        return gettext("%(hidden)s replaced by any other", hidden=hidden)

    @property
    def _why_no_person(self) -> str:
        if self.has_reports:
            return gettext("Reports protect single events.")
        if self.person_day is None:
            return gettext("Some releases protect single events only.")
        # on other days: single events, reports, or a counter that bounds a person in shorter windows only
        return gettext("Some reports or releases do not bound what a person adds in that time.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; what is about persons and kinds is left out where nothing of it was asked."""
        costs = {"presence": self.presence, "replacement": self.replacement, "person_day": self.person_day}
        content = _costs_to_dict(costs) | {"hidden": list(self.hidden), "spans_lines": self.spans_lines}
        if self.persons:
            content["persons"] = _costs_to_dict(dict(self.persons))
        return content | ({"tells_kinds": True} if self.tells_kinds else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Guarantee:
        try:
            whole: dict[str, Any] = {"persons": {}, "tells_kinds": False} | dict(content)
            hidden, flags = tuple(whole["hidden"]), (whole["spans_lines"], whole["tells_kinds"])
            presence, replacement, person_day = (_cost_of(whole[name]) for name in _COSTS)
            persons = {
                question: _cost_of(whole["persons"][question]) for question in LONGER if question in whole["persons"]
            }
            if set(whole) != {*_COSTS, "hidden", "spans_lines", "persons", "tells_kinds"}:
                raise SettingError("unknown parts")
            if len(persons) < len(whole["persons"]) or {*map(type, flags)} != {bool}:
                raise SettingError("unknown parts")
            if hidden not in _HIDDEN[flags[1]] or (replacement is None) != (hidden == ()):
                raise SettingError("hidden")
            spans_lines, tells_kinds = flags
            return cls(presence, replacement, person_day, hidden, spans_lines, tuple(persons.items()), tells_kinds)
        except (KeyError, TypeError, SettingError):
            raise FormatError("what was promised about the events before is damaged. Restore the file.") from None


def _subsets(coordinates: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    sizes = range(len(coordinates) + 1)
    return frozenset(names for size in sizes for names in combinations(coordinates, size))


_HIDDEN: Final = {False: _subsets(COORDINATES[:2]), True: _subsets(COORDINATES)}
"""The coordinates that may be hidden, without kinds and with them."""
_COSTS: Final = ("presence", "replacement", "person_day")


def _costs_to_dict(costs: Mapping[str, Cost | None]) -> dict[str, Any]:
    return {name: None if cost is None else cost.to_dict() for name, cost in costs.items()}


def _cost_of(content: Any) -> Cost | None:
    return None if content is None else Cost.from_dict(content)


def added_or_removed(question: str) -> str:
    """Return what is added or removed by a question about a person.

    >>> added_or_removed("person-month"), added_or_removed("person")
    ('All events of one person in one month added or removed', 'All events of one person on any days added or removed')
    """
    return gettext(_OF_PERSONS[question])


_OF_PERSONS: Final = {
    PERSON_DAY: message("All events of one person on one day added or removed"),
    person_in("week"): message("All events of one person in one week added or removed"),
    person_in("month"): message("All events of one person in one month added or removed"),
    person_in("year"): message("All events of one person in one year added or removed"),
    person_in(None): message("All events of one person on any days added or removed"),
}


def price(cost: Cost, question: str, unit: Unit, *, is_counter: bool, overlap: Overlap | None = WHOLE) -> Cost | None:
    """Return what a release at a cost for each unit costs for a question; ``None`` where it bounds nothing."""
    found = times(question, unit, is_counter=is_counter, overlap=overlap)
    return None if found is None else _times(cost, *found)


def in_words(cost: Cost, delta: float) -> str:
    """Return a cost as an epsilon, at a delta where it has a zCDP part."""
    if cost.is_pure:
        return gettext("epsilon %(epsilon)s", epsilon=epsilon_at_most(cost.epsilon))
    at = delta or USUAL_DELTA
    epsilon = epsilon_at_most(cost.epsilon_at(at))
    return gettext("epsilon %(epsilon)s at delta %(delta)s", epsilon=epsilon, delta=figures(f"{at:g}"))


def _times(cost: Cost, epsilon: Fraction, rho: Fraction) -> Cost:
    return Cost(float_above(epsilon * Fraction(cost.epsilon)), float_above(rho * Fraction(cost.rho)))


def _sum(counted: Mapping[Guarantee, int], question: str) -> Cost | None:
    costs = [(entry.of_question(question), times) for entry, times in counted.items()]
    parts = [(cost, times) for cost, times in costs if cost is not None]
    if len(parts) < len(costs):
        return None
    return Cost(
        float_above(sum((times * Fraction(cost.epsilon) for cost, times in parts), Fraction())),
        float_above(sum((times * Fraction(cost.rho) for cost, times in parts), Fraction())),
    )


def _largest(costs: Iterable[Cost | None]) -> Cost | None:
    found = list(costs)
    return None if None in found else Cost.parallel(*(cost for cost in found if cost is not None))


def _common(entries: Iterable[Guarantee]) -> tuple[str, ...]:
    """Return what all entries leave hidden; a plan without kinds publishes none."""
    found = list(entries)
    if not any(entry.tells_kinds for entry in found):
        return tuple(name for name in COORDINATES[:2] if all(name in entry.hidden for entry in found))
    hidden = [{*entry.hidden, *(() if entry.tells_kinds else ("kind",))} for entry in found]
    return tuple(name for name in COORDINATES if all(name in names for names in hidden))


def _asked(entries: Iterable[Guarantee]) -> list[str]:
    asked = {question for entry in entries for question in entry.asked}
    return [question for question in LONGER if question in asked]


_NAME: Final = "ledger_heads"
_FORM: Final = re.compile("[0-9a-f]{32}")  # as ledger.chain.head_of writes them


def heads_to_dict(heads: tuple[str, ...]) -> dict[str, Any]:
    """Return the part of a document that holds heads; empty without any, so that its checksum stays what it was."""
    return {_NAME: list(heads)} if heads else {}


def heads_from_dict(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the heads in a document, or a TypeError for what are none."""
    heads = content.get(_NAME, [])
    if not isinstance(heads, list) or not all(isinstance(head, str) and _FORM.fullmatch(head) for head in heads):
        raise TypeError(_NAME)
    return tuple(sorted(set(heads)))
