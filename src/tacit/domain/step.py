"""The steps of a time axis, and the arithmetic of their bins.

Bins are counted on a *clock*, in seconds: the elapsed hour on the clock of instants (UTC), every other step
on the local wall clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError

Seconds = NDArray[np.int64]

_SLOTS = (2, 3, 4, 6, 8, 12)
STEPS = ("hour", *(f"{n} hours" for n in _SLOTS), "day", "week", "month", "year")
EPOCH = datetime(1970, 1, 1)

_WIDTHS = {"hour": 3600, "day": 86400, "week": 7 * 86400} | {f"{n} hours": 3600 * n for n in _SLOTS}
_UNITS: dict[str, Literal["M", "Y"]] = {"month": "M", "year": "Y"}


def parse_step(step: str) -> str:
    """Return the step as it is spelled in :data:`STEPS`.

    >>> parse_step("6h"), parse_step("Days"), parse_step("24 hours")
    ('6 hours', 'day', 'day')
    """
    if isinstance(step, str):
        text = " ".join(step.lower().split())
        if found := re.fullmatch(r"(\d+) ?(h|hour|hours)", text):
            n = int(found[1])
            text = {1: "hour", 24: "day"}.get(n, f"{n} hours")
        elif text.endswith("s") and text[:-1] in STEPS:
            text = text[:-1]
        if text in STEPS:
            return text
    raise SettingError(
        f"step must be one of {', '.join(STEPS)}; got step={step!r}. Slots of several hours must divide the day evenly."
    )


def floor(local: datetime, step: str) -> datetime:
    """Return the start of the bin of this step that holds a wall-clock time."""
    if step == "year":
        return datetime(local.year, 1, 1)
    if step == "month":
        return datetime(local.year, local.month, 1)
    day = datetime(local.year, local.month, local.day)
    if step == "week":
        return day - timedelta(days=day.weekday())
    slot = _WIDTHS[step]
    return day + timedelta(seconds=(local - day).seconds // slot * slot)


def bins_from(start: int, step: str, clock: Seconds) -> NDArray[np.int64]:
    """Number the bins of times on the clock, bin 0 starting at ``start``; negative before it."""
    if step in _UNITS:
        # datetime64 counts whole months and years of the calendar itself
        unit = np.dtype(f"datetime64[{_UNITS[step]}]")
        first = np.int64(np.datetime64(start, "s").astype(unit).astype(np.int64))
        counted: NDArray[np.int64] = clock.astype("datetime64[s]").astype(unit).astype(np.int64)
        return counted - first
    return (clock - start) // _WIDTHS[step]


def edges_at(start: int, step: str, bins: NDArray[np.int64]) -> Seconds:
    """Return the moments on the clock at which bins start, bin 0 at ``start``."""
    if step in _UNITS:
        unit = np.dtype(f"datetime64[{_UNITS[step]}]")
        first = np.datetime64(start, "s").astype(unit).astype(np.int64)
        edges: Seconds = (first + bins).astype(unit).astype("datetime64[s]").astype(np.int64)
        return edges
    return start + _WIDTHS[step] * bins


def check_coarsens(fine: str, coarse: str) -> None:
    """Refuse a coarser step whose bins are not made of whole bins of the finer one.

    >>> check_coarsens("week", "month")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: step must be made of whole bins of a week axis; got step='month'. \
Start from days: they add up to weeks, months and years.
    """
    if fine == coarse:
        return
    order = {"hour": 0, "day": 24, "week": 25, "month": 26, "year": 27}
    slot, target = (order.get(step, _WIDTHS.get(step, 0) // 3600) for step in (fine, coarse))
    if slot < target and fine != "week" and (target >= 24 or slot == 0 or target % slot == 0):
        return
    advice = "Start from days: they add up to weeks, months and years."
    if target < 24:
        advice = "Start from hours: they add up to slots of any length."
    raise SettingError(f"step must be made of whole bins of a {fine} axis; got step={coarse!r}. {advice}")


def seconds_of(naive: datetime) -> int:
    """Return the seconds between 1970 and a naive time."""
    passed = naive - EPOCH
    return passed.days * 86400 + passed.seconds


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
