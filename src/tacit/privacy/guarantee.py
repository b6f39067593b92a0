"""What may be promised about events, and to whom, after everything that was done to them.

One ledger entry is either reports, randomized event by event, or a curator's release with noise on the counts. Four
questions may be asked of all entries about the same events together:

=================  ==================================================================================================
presence           Is one event among the data, or not? Reports are counted in public, so once there are reports
                   nothing hides it.
replacement        Was it this event or another, which agrees with it in all that reports publish? Reports cost what
                   they state, and a release counts twice: one event leaves, and another comes.
other replacement  Was it this event or one that differs in what reports publish? As replacement without reports;
                   nothing hides it once there are some.
person-day         Are all events of one person on one day among the data, or not? Only releases of the unit
                   ``user-day`` bound that.
=================  ==================================================================================================

The theorem and its proof stand in ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from tacit._base.rounding import epsilon_at_most, float_above
from tacit.errors import FormatError, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit

COORDINATES: Final = ("time", "place")
USUAL_DELTA: Final = 1e-6
"""The delta of a stated epsilon where Gaussian noise is in the sum and the plan names none: one in a million, the
field's usual choice. Half or twice of it changes the stated epsilon by about 2.5 %."""

_NOTHING: Final = Cost()
PRESENCE, REPLACEMENT, PERSON_DAY, NOTHING = "presence", "replacement", "person-day", "nothing"
_IF_QUOTES_CLOSE: Final = (
    "All this holds only as long as no row leaves a quote open: fields of a source of these events may span lines."
)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What entries about the same events cost together, for each question; ``None`` where nothing is promised.

    ``hidden`` names the coordinates of an event that replacement may change: those that no report publishes. Where
    there is none, replacement is promised nothing. ``spans_lines`` tells that an entry was read from a source whose
    fields may span lines. The default is what holds for events of which nothing was ever made.

    >>> reports, counts = Guarantee.of_reports(3.0, ("place",)), Guarantee.of_release(Cost.pure(1.0), Unit())
    >>> both = Guarantee.sum([reports, counts])
    >>> both.presence, both.replacement, both.hidden
    (None, Cost(epsilon=5.0, rho=0.0), ('place',))
    """

    presence: Cost | None = _NOTHING
    replacement: Cost | None = _NOTHING
    person_day: Cost | None = _NOTHING
    hidden: tuple[str, ...] = COORDINATES
    spans_lines: bool = False

    @classmethod
    def of_reports(cls, epsilon: float, private: tuple[str, ...], *, spans_lines: bool = False) -> Guarantee:
        """Return what one randomization of each event promises; ``private`` names what its reports hide."""
        return cls(None, Cost(epsilon=epsilon), None, private, spans_lines)

    @classmethod
    def of_release(cls, cost: Cost, unit: Unit, *, is_counter: bool = False, spans_lines: bool = False) -> Guarantee:
        """Return what a curator's release at this cost for each unit promises."""
        return replace(_of_release(cost, unit, is_counter), spans_lines=spans_lines)

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
        )

    def __add__(self, other: Guarantee) -> Guarantee:
        return Guarantee.sum([self, other])

    @property
    def is_of_nothing(self) -> bool:
        """Whether no entry stands behind it."""
        return self == Guarantee()

    @property
    def is_pure(self) -> bool:
        """Whether no part of it needs a delta."""
        return all(cost is None or cost.is_pure for cost in (self.presence, self.replacement, self.person_day))

    @property
    def has_reports(self) -> bool:
        """Whether reports of the events exist, one by one."""
        return self.presence is None

    def of_question(self, question: str) -> Cost | None:
        """Return the cost for one question; ``None`` where nothing is promised."""
        costs = {PRESENCE: self.presence, REPLACEMENT: self.replacement, PERSON_DAY: self.person_day}
        return costs[question]

    def strongest(self, unit: Unit | None) -> tuple[str, Cost | None]:
        """Return the strongest promise that still holds for a release of this unit, and its cost.

        The unit ``None`` stands for reports. Where no promise is left, there is no cost.
        """
        if unit is not None and unit.name == "user-day" and self.person_day is not None:
            return PERSON_DAY, self.person_day
        if unit is not None and self.presence is not None:
            return PRESENCE, self.presence
        return (NOTHING, None) if self.replacement is None else (REPLACEMENT, self.replacement)

    def price_among(self, together: Guarantee) -> Cost:
        """Return what a budget counts of this entry, given what it promises together with all others.

        At least its own price, so that nothing which is added later makes an entry cheaper.
        """
        if together.person_day is not None:
            return self.person_day or _NOTHING
        of_one_event = self.replacement if together.has_reports else self.presence
        return Cost.parallel(of_one_event or _NOTHING, self.person_day or _NOTHING)

    def sentences(self, delta: float = 0.0) -> tuple[str, ...]:
        """Return the promise in plain words, one sentence for each question, always in the same order.

        >>> for sentence in Guarantee.of_reports(3.0, ("place",)).sentences():
        ...     print(sentence)
        One event added or removed: not protected. Its reports are counted in public.
        One event's place replaced by any other: epsilon 3. What its reports publish is not protected.
        All events of one person on one day added or removed: not protected. Reports protect single events.
        """
        after = "Reports protect single events." if self.has_reports else "Some releases protect single events only."
        presence = (
            "not protected. Its reports are counted in public."
            if self.presence is None
            else f"{in_words(self.presence, delta)}."
        )
        if self.replacement is None:
            replaced = "One event replaced by any other: not protected. What some of its reports hide, others publish."
        elif self.has_reports:
            replaced = (
                f"One event's {' and '.join(self.hidden)} replaced by any other: {in_words(self.replacement, delta)}. "
                "What its reports publish is not protected."
            )
        else:
            # an event of a day that is not covered may have cost more
            replaced = f"One event replaced by any other on the days covered: {in_words(self.replacement, delta)}."
        person = f"not protected. {after}" if self.person_day is None else f"{in_words(self.person_day, delta)}."
        return (
            f"One event added or removed: {presence}",
            replaced,
            f"All events of one person on one day added or removed: {person}",
            *((_IF_QUOTES_CLOSE,) if self.spans_lines else ()),
        )

    def to_dict(self) -> dict[str, Any]:
        costs = {"presence": self.presence, "replacement": self.replacement, "person_day": self.person_day}
        return {name: None if cost is None else cost.to_dict() for name, cost in costs.items()} | {
            "hidden": list(self.hidden),
            "spans_lines": self.spans_lines,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Guarantee:
        try:
            hidden, spans_lines = tuple(content["hidden"]), content["spans_lines"]
            presence, replacement, person_day = (
                None if content[name] is None else Cost.from_dict(content[name]) for name in _COSTS
            )
            if set(content) != {*_COSTS, "hidden", "spans_lines"} or type(spans_lines) is not bool:
                raise SettingError("unknown parts")
            if hidden not in _HIDDEN or (replacement is None) != (hidden == ()):
                raise SettingError("hidden")
            return cls(presence, replacement, person_day, hidden, spans_lines)
        except (KeyError, TypeError, SettingError):
            raise FormatError("what was promised about the events before is damaged. Restore the file.") from None


_HIDDEN: Final = (COORDINATES, ("time",), ("place",), ())
_COSTS: Final = ("presence", "replacement", "person_day")


def in_words(cost: Cost, delta: float) -> str:
    """Return a cost as an epsilon, at a delta where it has a zCDP part."""
    if cost.is_pure:
        return f"epsilon {epsilon_at_most(cost.epsilon)}"
    at = delta or USUAL_DELTA
    return f"epsilon {epsilon_at_most(cost.epsilon_at(at))} at delta {at:g}"


@lru_cache(maxsize=1024)  # ledgers hold many entries of few prices
def _of_release(cost: Cost, unit: Unit, is_counter: bool) -> Guarantee:
    if unit.name == "event":
        # Two changes of one count each. Laplace costs add. The squared distance of two columns of a strategy with
        # weights of one sign is at most the sum of their squares, else at most twice that; a counter's may have both.
        return Guarantee(cost, _times(cost, Fraction(2), Fraction(4 if is_counter else 2)), None)
    # One event of a person more or less lets at most one other out or in: two counts of the day's ``most`` change.
    one_event = Fraction(2, unit.most)
    return Guarantee(
        presence=_times(cost, one_event, one_event),
        replacement=_times(cost, 2 * one_event, 4 * one_event),  # two such changes, whose distances add
        person_day=cost,
    )


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
    found = [set(entry.hidden) for entry in entries]
    return tuple(name for name in COORDINATES if all(name in hidden for hidden in found))


_NAME: Final = "ledger_heads"
_FORM: Final = re.compile("[0-9a-f]{32}")  # as ledger.chain.head_of writes them


def heads_to_dict(heads: tuple[str, ...]) -> dict[str, Any]:
    """The part of a document that holds heads; empty without any, so that its checksum stays what it was."""
    return {_NAME: list(heads)} if heads else {}


def heads_from_dict(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The heads in a document, or a TypeError for what are none."""
    heads = content.get(_NAME, [])
    if not isinstance(heads, list) or not all(isinstance(head, str) and _FORM.fullmatch(head) for head in heads):
        raise TypeError(_NAME)
    return tuple(sorted(set(heads)))
