"""Windows of whole days: those in which a person's events are bounded, and those that a question is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

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
