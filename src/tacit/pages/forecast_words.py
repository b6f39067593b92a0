"""Moments and expected numbers in plain words."""

from __future__ import annotations

from datetime import date
from typing import Final

from tacit._base.rounding import percent
from tacit.pages.words import counted, number, period, step_noun

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHARES: Final = {0.5: "1 time in 2", 0.75: "3 times in 4", 0.8: "4 times in 5", 0.9: "9 times in 10"}


def moment(label: str) -> str:
    """A bin of a time axis as people write it, days with their weekday.

    >>> moment("2019-01-01"), moment("2019-01"), moment("2019-01-01T05:00+01:00")
    ('Tuesday 1 January 2019', 'January 2019', 'Tuesday 1 January 2019, 05:00')
    """
    day, _, time = label.partition("T")
    if not _is_day(day):
        return period(label)
    words = f"{_weekday(day)} {period(day)}"
    return f"{words}, {time[:5]}" if time else words


def short_moment(label: str) -> str:
    """The same for the head of a column.

    >>> short_moment("2019-01-01"), short_moment("2019-01-01T05:00+01:00"), short_moment("2019-01")
    ('Tue 1 Jan', '05:00', 'Jan 2019')
    """
    day, _, time = label.partition("T")
    if time:
        return time[:5]
    if not _is_day(day):
        words = period(label).split()
        return " ".join(word[:3] if word.isalpha() and word[0].isupper() else word for word in words)
    number_of_day, month, _ = period(day).split()
    return f"{_weekday(day)[:3]} {number_of_day} {month[:3]}"


def ahead(n_bins: int, step: str) -> str:
    """How far a forecast reaches.

    >>> ahead(1, "day"), ahead(7, "day"), ahead(24, "hour")
    ('the next day', 'the next 7 days', 'the next 24 hours')
    """
    return f"the next {step_noun(step)}" if n_bins == 1 else f"the next {counted(n_bins, step_noun(step))}"


def expected(value: float) -> str:
    """An expected number, with a decimal where it is small.

    >>> expected(0.02), expected(0.43), expected(7.26), expected(24.4), expected(1234.5)
    ('under 0.1', '0.4', '7.3', '24', '1,234')
    """
    if 0 < value < 0.05:
        return "under 0.1"
    return f"{value:.1f}" if value < 9.95 else number(value)


def decimals(value: float, digits: int) -> str:
    """A number with so many decimals, and a dash where there is none.

    >>> decimals(1.7504, 3), decimals(float("nan"), 3), decimals(-0.25, 1)
    ('1.750', '–', '−0.2')
    """
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def how_often(share: float) -> str:
    """How often something holds.

    >>> how_often(0.8), how_often(0.95), how_often(0.975)
    ('4 times in 5', '19 times in 20', '97.5% of the time')
    """
    if share in _SHARES:
        return _SHARES[share]
    for n in (20, 100):
        if abs(share * n - round(share * n)) < 1e-9:
            return f"{round(share * n)} times in {n}"
    return f"{percent(share)} of the time"


def _is_day(text: str) -> bool:
    parts = text.split("-")
    return len(parts) == 3 and all(part.isdigit() for part in parts)


def _weekday(day: str) -> str:
    return _WEEKDAYS[date.fromisoformat(day).weekday()]
