"""Which entries about the same events may follow which others.

A release for single events may follow anything, and so may reports that hide the same as those before. What makes a
promise is refused where no promise is left to make:

==================  =================================================================================================
reports             where reports before published what they hide, or hide what they publish; where one run counts rows
                    that the other leaves out because of what both hide; and after Gaussian noise, because reports state
                    no delta
user-day, person    after reports or releases for single events in the same window: these bound nothing for a person
person, no window   after a counter that bounds a person in shorter windows: it goes on for ever
==================  =================================================================================================

Entries count here that touch the same day; for the unit person those that touch any day of the same window. A run of
reports touches its days without a report too, when it is compared with another run. What all
cost together is said in :mod:`tacit.privacy.questions`. The guide ``docs/guides/who-is-protected.md`` has both as one
table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tacit.privacy.guarantee import COORDINATES
from tacit.privacy.unit import Unit

SELECTION: Final = ("rows", *COORDINATES)
"""The parts of what decides whether a row sends a report (:mod:`tacit.events.digest`)."""


class Refusal(Enum):
    """Why an entry may not follow those before it."""

    UNDOES = "what one run of reports hides, the other publishes"
    COUNTS_OTHERS = "one run of reports counts rows that the other leaves out because of what both hide"
    STATES_NO_DELTA = "reports state no delta"
    BOUNDS_NO_PERSON = "single events were protected before, which bounds nothing for a person"
    HAS_NO_END = "a counter bounds a person in shorter windows, and goes on for ever"


@dataclass(frozen=True, slots=True)
class Entered:
    """An entry as it is asked about: the unit of a release, or what reports hide, publish and count.

    ``selection`` has a digest for each part of what decides which rows are counted, in the order of
    :data:`SELECTION`; it is empty where that is not known.
    """

    unit: Unit | None = None
    hidden: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
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
        if count_others([new, *(one for one in others if one.unit is None)]):
            return Refusal.COUNTS_OTHERS
        return None if all(one.is_pure for one in others) else Refusal.STATES_NO_DELTA
    if not new.bounds_a_person:
        return None
    if not all(one.bounds_a_person for one in others):
        return Refusal.BOUNDS_NO_PERSON
    is_endless = any(one.is_counter and one.unit is not None and one.unit.window is not None for one in others)
    return Refusal.HAS_NO_END if is_endless and new.unit.window is None else None


def _undo_each_other(one: Entered, two: Entered) -> bool:
    return bool({*one.hidden} & {*two.published} or {*two.hidden} & {*one.published})


def count_others(runs: Iterable[Entered]) -> bool:
    """Return whether some of these runs of reports count rows that others leave out, or may do so."""
    found = list(runs)
    return len(found) > 1 and (not all(run.selection for run in found) or bool(differing(found)))


def differing(runs: Iterable[Entered]) -> tuple[str, ...]:
    """Return in which parts the selections of these runs differ, of those that an event's hidden values decide.

    Replacing what is hidden changes no coordinate that one of the runs publishes, so that lists of these do not matter.
    """
    found = [run for run in runs if run.selection]
    published = {axis for run in found for axis in run.published}
    parts = zip(SELECTION, zip(*(run.selection for run in found), strict=True), strict=False)
    return tuple(part for part, digests in parts if part not in published and len({*digests}) > 1)
