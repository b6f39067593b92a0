"""The unit of privacy: what may be added or removed without anyone noticing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tacit._base.validation import check_at_least, check_one_of
from tacit.errors import FormatError, SettingError

UNITS: Final = ("event", "user-day")
_LARGEST_MOST: Final = 1_000_000  # events of one person on one day: one every 86 milliseconds


@dataclass(frozen=True, slots=True)
class Unit:
    """One event, or all events of one person on one day of which at most ``most`` are counted.

    >>> Unit("event").sensitivity, Unit.user_day(most=3).sensitivity
    (1, 3)
    >>> print(Unit.user_day(most=3).rule)
    Of one person's events on one day at most 3 are counted; the others are left out.
    """

    name: str = "event"
    most: int = 1

    def __post_init__(self) -> None:
        check_one_of(UNITS, unit=self.name)
        check_at_least(1, most=self.most)
        if self.name == "event" and self.most != 1:
            raise SettingError(
                f"most must be 1 for the unit event; got most={self.most}. "
                "To bound the events of a person on a day, use the unit user-day."
            )
        if self.most > _LARGEST_MOST:
            raise SettingError(
                f"most must be at most {_LARGEST_MOST:,}; got most={self.most}. The noise grows with it: "
                "choose what most people stay below."
            )

    @classmethod
    def user_day(cls, *, most: int) -> Unit:
        """All events of one person on one day, ``most`` of them at most."""
        return cls("user-day", most)

    @property
    def sensitivity(self) -> int:
        """How much one unit changes the counts at most, summed over all cells; also if it all falls in one cell."""
        return self.most

    @property
    def rule(self) -> str:
        """How much of a unit is counted."""
        if self.name == "event":
            return "Every event is counted once, in one cell."
        events = "1 is" if self.most == 1 else f"{self.most} are"
        others = "the others are left out."
        return f"Of one person's events on one day at most {events} counted; {others}"

    @property
    def protects(self) -> str:
        """What nobody can tell from a release, up to its epsilon."""
        if self.name == "event":
            return "Whether any one event is in the data, and when and where it was."
        return "Whether any one person had events on any one day, how many, when in the day and where."

    @property
    def does_not_protect(self) -> str:
        """What the unit leaves open; a release must say so."""
        if self.name == "event":
            return (
                "A person with several events: what is known about all of them together grows with their number "
                "(ten events at epsilon 1 are protected as one at epsilon 10). Nor what many events have in common."
            )
        return (
            "A person's habits over many days: what is known about them together grows with the number of days "
            "(ten days at epsilon 1 are protected as one at epsilon 10). Nor what many people have in common."
        )

    def __str__(self) -> str:
        return "event" if self.name == "event" else f"user-day of at most {self.most} events"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "most": self.most}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Unit:
        try:
            if set(content) != {"name", "most"}:
                raise SettingError("unknown parts")
            return cls(content["name"], content["most"])
        except (SettingError, TypeError):
            raise FormatError("a unit of privacy is damaged: it holds a name and most. Restore the file.") from None
