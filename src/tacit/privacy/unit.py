"""The unit of privacy: what may be added or removed without anyone noticing; and windows of whole days.

In a window a person's events are bounded, and a question is about one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tacit._base.languages import gettext, message, ngettext
from tacit._base.validation import check_at_least, check_one_of
from tacit.errors import FormatError, SettingError

WINDOWS: Final = ("day", "week", "month", "year")
"""Steps of whole days, because the ledger knows days; the shortest first."""
Window = str | None
"""One of :data:`WINDOWS`, or ``None`` for all days there are."""
Span = tuple[str, str]
"""A first and a last day, as ``2025-01-31``."""


class Overlap(NamedTuple):
    """The number of windows of an entry within the period that is asked about, and of those that reach beyond it."""

    n_within: int
    n_partly: int


WHOLE: Final = Overlap(1, 0)
"""One window of an entry and nothing else: also what stands for entries that have no windows."""


@lru_cache(maxsize=1 << 16)  # every day of some years in each window
def window_of(day: str, window: Window) -> str:
    """Return the name of the window that a day lies in; weeks begin on Monday.

    >>> [window_of("2025-12-31", window) for window in ("day", "week", "month", "year", None)]
    ['2025-12-31', '2026-W01', '2025-12', '2025', '']
    """
    if window is None or not day:  # an empty day stands for all days to come
        return ""
    if window == "week":
        year, week, _ = date.fromisoformat(day).isocalendar()
        return f"{year}-W{week:02d}"
    return day[: {"day": 10, "month": 7, "year": 4}[window]]


def overlaps(days: Iterable[str], own: Window, asked: Window) -> dict[str, Overlap]:
    """Return for each window asked about how the windows of an entry of these days lie to it.

    A window of the entry lies within the one asked about if all days of it that the entry covers do.

    >>> overlaps(["2025-01-30", "2025-01-31", "2025-02-01"], "week", "month")
    {'2025-01': Overlap(n_within=0, n_partly=1), '2025-02': Overlap(n_within=0, n_partly=1)}
    >>> overlaps(["2025-01-30", "2025-01-31", "2025-02-01"], "day", "month")
    {'2025-01': Overlap(n_within=2, n_partly=0), '2025-02': Overlap(n_within=1, n_partly=0)}
    """
    reached: dict[str, set[str]] = defaultdict(set)
    for day in days:
        reached[window_of(day, own)].add(window_of(day, asked))
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for names in reached.values():
        for name in names:
            found[name][len(names) > 1] += 1
    return {name: Overlap(*counted) for name, counted in sorted(found.items())}


_EVERY_CALENDAR: Final = ("2001-01-01", "2028-12-31")
"""In 28 years every day of the year falls on every weekday, with and without a leap day."""


@lru_cache(maxsize=1024)
def overlaps_of(span: Span | None, own: Window, asked: Window) -> tuple[Overlap, ...] | None:
    """Return how the windows of an entry of all days of a span may lie to a window that is asked about.

    The span ``None`` stands for an entry that goes on for ever. Then there is no largest number of windows in all days.

    >>> overlaps_of(("2025-01-01", "2025-12-31"), "day", "month")
    (Overlap(n_within=28, n_partly=0), Overlap(n_within=30, n_partly=0), Overlap(n_within=31, n_partly=0))
    >>> overlaps_of(None, "day", None)
    """
    if own == asked:
        return (WHOLE,)
    if span is None and asked is None:
        return None
    return tuple(sorted(set(overlaps(days_between(*(span or _EVERY_CALENDAR)), own, asked).values())))


def largest_overlap(own: Window, asked: Window) -> Overlap | None:
    """Return an overlap that no window asked about exceeds, for an entry that goes on for ever.

    >>> largest_overlap("week", "month")
    Overlap(n_within=4, n_partly=2)
    """
    found = overlaps_of(None, own, asked)
    return None if found is None else Overlap(*(max(one[part] for one in found) for part in (0, 1)))


def days_between(first: str, last: str) -> list[str]:
    """Return all days of a span, both ends included."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(start + timedelta(days=number)).isoformat() for number in range((end - start).days + 1)]


UNITS: Final = (message("event"), message("user-day"), message("person"), message("device"))
_LARGEST_MOST: Final = 1_000_000  # events of one person on one day: one every 86 milliseconds


@dataclass(frozen=True, slots=True)
class Unit:
    """One event, or all events of one person in a window, of which at most ``most`` are counted.

    Of these at most ``most_per_cell`` are counted in one cell; 0, the default, stands for ``most``. The ``window`` of a
    person is a step of whole days, or ``None`` for all that is released. A user-day is a person in the window day. A
    device is what sends randomized reports for years, from a memo of its permanent answers; a curator has none.

    >>> Unit("event").sensitivity, Unit.user_day(most=3).sensitivity
    (1, 3)
    >>> print(Unit.user_day(most=3).rule)
    Of one person's events on one day at most 3 are counted; the others are left out.
    >>> print(Unit.person(most=20, most_per_cell=5, window="month").rule)
    Of one person's events in one month at most 20 are counted, of these at most 5 in one cell; the others are left out.
    """

    name: str = "event"
    most: int = 1
    most_per_cell: int = 0
    window: str | None = None

    def __post_init__(self) -> None:
        check_one_of(UNITS, unit=self.name)
        check_at_least(1, most=self.most)
        check_at_least(0, most_per_cell=self.most_per_cell)
        if not self.is_of_a_person and self.most != 1:
            raise SettingError(
                f"most must be 1 for the unit {self.name}; got most={self.most}. "
                "To bound the events of a person, use the unit user-day or person."
            )
        if self.most > _LARGEST_MOST:
            raise SettingError(
                f"most must be at most {_LARGEST_MOST:,}; got most={self.most}. The noise grows with it: "
                "choose what most people stay below."
            )
        if self.most_per_cell > self.most:
            raise SettingError(
                f"most_per_cell must be at most most, {self.most}; got most_per_cell={self.most_per_cell}. "
                "Leave it out to bound all cells together."
            )
        if self.most_per_cell == 0:
            object.__setattr__(self, "most_per_cell", self.most)
        self._check_window()

    def _check_window(self) -> None:
        if self.name == "user-day" and self.window is None:
            object.__setattr__(self, "window", "day")
        allowed = {"user-day": ("day",), "person": (None, *WINDOWS[1:])}.get(self.name, (None,))
        if self.window in allowed:
            return
        if self.name == "person":
            advice = "Leave it out for all that is released; for single days use the unit user-day."
            raise SettingError(
                f"window must be one of {', '.join(WINDOWS[1:])}, or none; got window={self.window}. {advice}"
            )
        raise SettingError(
            f"window must be left out for the unit {self.name}; got window={self.window}. "
            "To protect a person for longer than a day, use the unit person."
        )

    @classmethod
    def user_day(cls, *, most: int, most_per_cell: int = 0) -> Unit:
        """Return the unit of all events of one person on one day, ``most`` of them at most."""
        return cls("user-day", most, most_per_cell)

    @classmethod
    def person(cls, *, most: int, most_per_cell: int = 0, window: str | None = None) -> Unit:
        """Return the unit of a person's events in a window, or in all that is released; ``most`` of them at most."""
        return cls("person", most, most_per_cell, window)

    @property
    def is_of_a_person(self) -> bool:
        """Whether a person's events are bounded, so that it must be known whose an event is."""
        return self.name in ("user-day", "person")

    @property
    def sensitivity(self) -> int:
        """The most that one unit changes the counts, summed over all cells."""
        return self.most

    def squared_sensitivity(self, n_cells: int = 1) -> int:
        """Return the largest sum of squares by which one unit changes sums over ``n_cells`` cells each.

        No such sum changes by more than C = min(most, most_per_cell * n_cells), all of them together by ``most``. The
        sum of squares is largest where as many as possible change by C, and one by the rest.

        >>> unit = Unit.person(most=20, most_per_cell=5)
        >>> [unit.squared_sensitivity(n) for n in (1, 2, 3, 4)]
        [100, 200, 250, 400]
        """
        check_at_least(1, n_cells=n_cells)
        largest = min(self.most, self.most_per_cell * n_cells)
        n_largest, rest = divmod(self.most, largest)
        return n_largest * largest**2 + rest**2

    @property
    def rule(self) -> str:
        """The sentence that says how much of a unit is counted."""
        if self.name == "event":
            return gettext("Every event is counted once, in one cell.")
        if self.name == "device":
            return gettext("Every device reports at most once in a period, from permanent answers that it draws once.")
        values = {"whose": gettext(_WHOSE[self.window]), "most": self.most, "per_cell": self.most_per_cell}
        if self.most_per_cell == self.most:
            return ngettext(
                "Of %(whose)s at most %(most)s is counted; the others are left out.",
                "Of %(whose)s at most %(most)s are counted; the others are left out.",
                self.most,
                **values,
            )
        return gettext(
            "Of %(whose)s at most %(most)s are counted, of these at most %(per_cell)s in one cell; the others are left "
            "out.",
            **values,
        )

    @property
    def protects(self) -> str:
        """The sentence that says what nobody can tell from a release, up to its epsilon."""
        return gettext(_PROTECTED[self.window] if self.is_of_a_person else _PROTECTED[self.name])

    @property
    def does_not_protect(self) -> str:
        """The sentence that says what the unit does not protect; a release must have it."""
        return gettext(_UNPROTECTED[self.window] if self.is_of_a_person else _UNPROTECTED[self.name])

    def __str__(self) -> str:
        if not self.is_of_a_person:
            return self.name
        when = f" in a {self.window}" if self.name == "person" and self.window else ""
        cell = f", {self.most_per_cell} in one cell" if self.most_per_cell < self.most else ""
        return f"{self.name} of at most {self.most} event{'s' if self.most > 1 else ''}{when}{cell}"

    @property
    def settings(self) -> dict[str, Any]:
        """The unit as the settings of a plan."""
        return {"unit": self.name, "most": self.most, "most_per_cell": self.most_per_cell, "window": self.window}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; what follows from name and most is left out, as files had it before persons."""
        cell = {"most_per_cell": self.most_per_cell} if self.most_per_cell < self.most else {}
        window = {"window": self.window} if self.name == "person" and self.window else {}
        return {"name": self.name, "most": self.most} | cell | window

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Unit:
        try:
            unit = cls(**content)
            if unit.to_dict() != dict(content):
                raise SettingError("written in another way")
            return unit
        except (SettingError, TypeError):
            raise FormatError(
                "a unit of privacy is damaged: it holds a name and most, of a person possibly most_per_cell and a "
                "window. Restore the file."
            ) from None


_WHOSE: Final[dict[str | None, str]] = {
    None: message("all events of one person"),
    "day": message("one person's events on one day"),
    "week": message("one person's events in one week"),
    "month": message("one person's events in one month"),
    "year": message("one person's events in one year"),
}
_PROTECTED: Final[dict[str | None, str]] = {
    "event": message("Whether any one event is in the data, and when and where it was."),
    "device": message("Which value any one device holds, also from whoever sees all of its reports."),
    None: message("Whether any one person is in the data at all, how many events they had, when and where."),
    "day": message("Whether any one person had events on any one day, how many, when in the day and where."),
    "week": message("Whether any one person had events in any one week, how many, when in the week and where."),
    "month": message("Whether any one person had events in any one month, how many, when in the month and where."),
    "year": message("Whether any one person had events in any one year, how many, when in the year and where."),
}
"""What nobody can tell, by the name of a unit, or by the window of a person."""
_UNPROTECTED: Final[dict[str | None, str]] = {
    "event": message(
        "A person with several events: what is known about all of them together grows with their number (ten events at "
        "epsilon 1 are protected as one at epsilon 10). Nor what many events have in common."
    ),
    "device": message(
        "A person with several devices, who is protected once for each. Nor when a device's value changes, and which "
        "reports are of one device. Nor what many devices have in common."
    ),
    None: message(
        "What other releases tell of the same people: every release of their events adds to it, also one of other "
        "days. Nor what many people have in common."
    ),
    "day": message(
        "A person's habits over many days: what is known about them together grows with the number of days (ten days "
        "at epsilon 1 are protected as one at epsilon 10). Nor what many people have in common."
    ),
    "week": message(
        "A person's habits over many weeks: what is known about them together grows with the number of weeks (ten "
        "weeks at epsilon 1 are protected as one at epsilon 10). Nor what many people have in common."
    ),
    "month": message(
        "A person's habits over many months: what is known about them together grows with the number of months (ten "
        "months at epsilon 1 are protected as one at epsilon 10). Nor what many people have in common."
    ),
    "year": message(
        "A person's habits over many years: what is known about them together grows with the number of years (ten "
        "years at epsilon 1 are protected as one at epsilon 10). Nor what many people have in common."
    ),
}
"""What is not protected, by the name of a unit, or by the window of a person."""
