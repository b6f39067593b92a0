"""Periods as people write them: 2018, 2018-03, 2018-W10, 2018-03-04, 2018-03-04T05:00.

A date names its whole day, a month its whole month. A time names the bin of the axis that holds it, and
never more than its day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from tacit.errors import SettingError

When = str | date | datetime | np.datetime64

_DAY = timedelta(days=1)
_FORMS = "2018, 2018-03, 2018-W10, 2018-03-04 or 2018-03-04T05:00"
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_WEEK = re.compile(r"(\d{4})-?W(\d{2})")
# what is written well, be it in the calendar or not
_CALENDAR = {
    "month": re.compile(r"(\d{4}-\d{2})"),
    "week": re.compile(r"(\d{4}-?W\d{2})"),
    "day": re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?"),
}


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` up to, not including, ``end``; a single time has no ``end`` of its own."""

    start: datetime
    end: datetime | None


def parse_period(when: When, *, setting: str) -> Period:
    """Read a period; ``setting`` is the name the error gives it.

    >>> parse_period("2020-02", setting="first").end
    datetime.datetime(2020, 3, 1, 0, 0)
    >>> parse_period("Lent", setting="first")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: first must be written as 2018, 2018-03, 2018-W10, 2018-03-04 or 2018-03-04T05:00; \
got first='Lent'. Write it in one of these forms.
    """
    if isinstance(when, np.datetime64) and not np.isnat(when):
        unit = "D" if when.dtype == np.dtype("datetime64[D]") else "s"
        when = when.astype(f"datetime64[{unit}]").item()
    if isinstance(when, datetime):
        return Period(when, None)
    if isinstance(when, date):
        return _days(datetime(when.year, when.month, when.day), 1)
    try:
        if isinstance(when, str):
            return _parse_text(when.strip())
        raise ValueError
    except (ValueError, OverflowError):
        raise _refusal(when, setting) from None


def _refusal(when: object, setting: str) -> SettingError:
    """Tell a day that does not exist from what is no date at all."""
    parts = when.strip().split("/") if isinstance(when, str) else []
    for part in parts:
        for kind, form in _CALENDAR.items():
            found = form.fullmatch(part)
            if found is not None and found[1] >= "9999":
                return SettingError(
                    f"{setting} must be before the year 9999; got {setting}={when!r}. Take an earlier one."
                )
            if found is not None and not _exists(found[1]):
                return SettingError(
                    f"{setting} must be in the calendar; got {setting}={when!r}: this {kind} does not exist. "
                    f"Correct the {kind}."
                )
    return SettingError(
        f"{setting} must be written as {_FORMS}; got {setting}={when!r}. Write it in one of these forms."
    )


def _exists(text: str) -> bool:
    try:
        _parse_text(text)
    except (ValueError, OverflowError):
        return False
    return True


def _parse_text(text: str) -> Period:
    if "/" in text:
        # the label of a partial bin: two periods, both included
        first, last = (_parse_text(part) for part in text.split("/"))
        return Period(first.start, last.end or last.start)
    if _YEAR.fullmatch(text):
        year = int(text)
        return Period(datetime(year, 1, 1), datetime(year + 1, 1, 1))
    if found := _MONTH.fullmatch(text):
        year, month = int(found[1]), int(found[2])
        return Period(datetime(year, month, 1), datetime(year + month // 12, month % 12 + 1, 1))
    if found := _WEEK.fullmatch(text):
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
        return _days(datetime(monday.year, monday.month, monday.day), 7)
    if len(text) == 10:
        day = date.fromisoformat(text)
        return _days(datetime(day.year, day.month, day.day), 1)
    if "-" not in text[:5]:
        raise ValueError("20180304 is not among the forms")
    return Period(datetime.fromisoformat(text), None)


def _days(start: datetime, count: int) -> Period:
    return Period(start, start + count * _DAY)
