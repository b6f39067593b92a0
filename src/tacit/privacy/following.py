"""Which entries about the same events may follow which others.

A release for single events may follow anything, and so may reports that hide the same as those before. What makes a
promise is refused where no promise is left to make:

==================  =================================================================================================
reports             where reports before published what they hide, or hide what they publish; and after Gaussian noise,
                    because reports state no delta
user-day, person    after reports or releases for single events in the same window: these bound nothing for a person
person, no window   after a counter that bounds a person in shorter windows: it goes on for ever
==================  =================================================================================================

Entries count here that touch the same day; for the unit person those that touch any day of the same window. What all
cost together is said in :mod:`tacit.privacy.questions`. The guide ``docs/guides/who-is-protected.md`` has both as one
table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tacit.privacy.unit import Unit


class Refusal(Enum):
    """Why an entry may not follow those before it."""

    UNDOES = "what one run of reports hides, the other publishes"
    STATES_NO_DELTA = "reports state no delta"
    BOUNDS_NO_PERSON = "single events were protected before, which bounds nothing for a person"
    HAS_NO_END = "a counter bounds a person in shorter windows, and goes on for ever"


@dataclass(frozen=True, slots=True)
class Entered:
    """An entry as it is asked about: the unit of a release, or what reports hide and publish."""

    unit: Unit | None = None
    hidden: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    is_pure: bool = True
    is_counter: bool = False

    @property
    def bounds_a_person(self) -> bool:
        """Whether it limits what one person adds."""
        return self.unit is not None and self.unit.is_of_a_person


def refusal(new: Entered, before: Iterable[Entered]) -> Refusal | None:
    """Return why an entry may not follow others about the same events, or ``None`` if it may.

    >>> refusal(Entered(Unit.person(most=3)), [Entered(Unit())])
    <Refusal.BOUNDS_NO_PERSON: 'single events were protected before, which bounds nothing for a person'>
    >>> refusal(Entered(Unit()), [Entered(Unit.person(most=3))])
    """
    others = list(before)
    if new.unit is None:
        if any(one.unit is None and _undo_each_other(new, one) for one in others):
            return Refusal.UNDOES
        return None if all(one.is_pure for one in others) else Refusal.STATES_NO_DELTA
    if not new.bounds_a_person:
        return None
    if not all(one.bounds_a_person for one in others):
        return Refusal.BOUNDS_NO_PERSON
    is_endless = any(one.is_counter and one.unit is not None and one.unit.window is not None for one in others)
    return Refusal.HAS_NO_END if is_endless and new.unit.window is None else None


def _undo_each_other(one: Entered, two: Entered) -> bool:
    return bool({*one.hidden} & {*two.published} or {*two.hidden} & {*one.published})
