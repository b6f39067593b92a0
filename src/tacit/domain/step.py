"""The steps of a time axis, periods as people write them, and the endless bins of a step in a time zone.

Bins are counted on a *clock*, in seconds: the elapsed hour on the clock of instants (UTC), every other step
on the local wall clock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.domain.zone import Seconds, ZoneTable, datetime_of, seconds_of
from tacit.errors import SettingError

_SLOTS = (2, 3, 4, 6, 8, 12)  # hours that divide the day
STEPS = ("hour", *(f"{n} hours" for n in _SLOTS), "day", "week", "month", "year")

WIDTHS = {"hour": 3600, "day": 86400, "week": 7 * 86400} | {f"{n} hours": 3600 * n for n in _SLOTS}  # seconds
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
    slot = WIDTHS[step]
    return day + timedelta(seconds=(local - day).seconds // slot * slot)


def bins_from(start: int, step: str, clock: Seconds) -> NDArray[np.int64]:
    """Number the bins of times on the clock, bin 0 starting at ``start``; negative before it."""
    if step in _UNITS:
        # datetime64 counts whole months and years of the calendar itself
        unit = np.dtype(f"datetime64[{_UNITS[step]}]")
        first = np.int64(np.datetime64(start, "s").astype(unit).astype(np.int64))
        days = clock // WIDTHS["day"]
        earliest, latest = (int(days.min()), int(days.max())) if len(days) else (0, 0)
        if latest - earliest >= len(days):
            return days.astype("datetime64[D]").astype(unit).astype(np.int64) - first
        # the calendar takes ten times as long for a day as a list of all days does
        listed = np.arange(earliest, latest + 1).astype("datetime64[D]").astype(unit).astype(np.int64) - first
        return np.asarray(listed[days - earliest], np.int64)
    return (clock - start) // WIDTHS[step]


def edges_at(start: int, step: str, bins: NDArray[np.int64]) -> Seconds:
    """Return the moments on the clock at which bins start, bin 0 at ``start``."""
    if step in _UNITS:
        unit = np.dtype(f"datetime64[{_UNITS[step]}]")
        first = np.datetime64(start, "s").astype(unit).astype(np.int64)
        edges: Seconds = (first + bins).astype(unit).astype("datetime64[s]").astype(np.int64)
        return edges
    return start + WIDTHS[step] * bins


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
    slot, target = (order.get(step, WIDTHS.get(step, 0) // 3600) for step in (fine, coarse))
    if slot < target and fine != "week" and (target >= 24 or slot == 0 or target % slot == 0):
        return
    advice = "Start from days: they add up to weeks, months and years."
    if target < 24:
        advice = "Start from hours: they add up to slots of any length."
    raise SettingError(f"step must be made of whole bins of a {fine} axis; got step={coarse!r}. {advice}")


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
        unit, _ = np.datetime_data(when.dtype)
        if unit == "W":  # NumPy's weeks begin on Thursdays
            raise _refusal(when, setting)
        when = str(when) if unit in ("Y", "M", "D") else when.astype("datetime64[s]").item()
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


_DATED = {"day": "D"} | _UNITS
_LAST_SECOND = seconds_of(datetime(9998, 12, 31))  # the standard library knows no year after 9999


@dataclass(frozen=True, slots=True)
class Grid:
    """Bins counted on a clock: of instants for the elapsed hour, of the local wall for all other steps."""

    start: datetime
    step: str
    zone: str

    @property
    def is_elapsed(self) -> bool:
        """Whether the clock is that of instants."""
        return self.step == "hour"

    @property
    def origin(self) -> int:
        """The moment on the clock at which bin 0 starts."""
        local = np.array([seconds_of(self.start)])
        return int(self._table(local).to_utc(local)[0]) if self.is_elapsed else int(local[0])

    def bins(self, clock: Seconds) -> NDArray[np.int64]:
        """Number the bins of moments on the clock; negative before the start."""
        return bins_from(self.origin, self.step, clock)

    def edges(self, n_bins: int) -> Seconds:
        """Return the moments on the clock at which ``n_bins`` bins start and the last one ends."""
        return edges_at(self.origin, self.step, np.arange(n_bins + 1, dtype=np.int64))

    def edge(self, bin: int) -> int:
        """Return the moment on the clock at which a bin starts."""
        return int(edges_at(self.origin, self.step, np.array([bin], np.int64))[0])

    def clock_of_local(self, local: Seconds) -> Seconds:
        """Turn wall-clock seconds into moments on the clock."""
        table = self._table(local)
        return table.to_utc(local) if self.is_elapsed else self._moved_forward(local, table)

    def clock_of_utc(self, instants: Seconds) -> Seconds:
        """Turn instants into moments on the clock."""
        return instants if self.is_elapsed else self._table(instants).to_local(instants)

    def local_of(self, clock: Seconds) -> Seconds:
        """Turn moments on the clock into wall-clock seconds."""
        return self._table(clock).to_local(clock) if self.is_elapsed else clock

    def utc_of(self, clock: Seconds) -> Seconds:
        """Turn moments on the clock into instants."""
        return clock if self.is_elapsed else self._table(clock).to_utc(clock)

    def period(self, when: When, *, setting: str) -> tuple[int, int]:
        """Return where a period starts and ends on the clock, as :mod:`tacit.domain.step` reads it."""
        period = parse_period(when, setting=setting)
        low = self._moment(period.start)
        if period.end is not None:
            return low, self._moment(period.end)
        if self.is_elapsed:
            low -= (low - self.origin) % 3600
            return low, low + 3600
        step = self.step if self.step.endswith("hours") else "day"
        first = floor(datetime_of(low), step)
        low, high = edges_at(seconds_of(first), step, np.array([0, 1])).tolist()
        return low, high

    def names(self, lows: Seconds, highs: Seconds, is_part: Sequence[bool]) -> list[str]:
        """Name periods on the clock by their start, or, if only part of a bin, by both ends."""
        if self.step == "week":
            weeks = (datetime_of(low).isocalendar() for low in lows.tolist())
            names = [f"{year}-W{week:02d}" for year, week, _ in weeks]
        elif self.step in _DATED:
            names = lows.astype("datetime64[s]").astype(f"datetime64[{_DATED[self.step]}]").astype(str).tolist()
        else:
            names = self._times(lows)
        for number in np.flatnonzero(is_part):
            low, high = lows[number : number + 1], highs[number : number + 1]
            if self.step in ("week", *_DATED) and low[0] % 86400 == high[0] % 86400 == 0:
                first, last = (edge.astype("datetime64[s]").astype("datetime64[D]") for edge in (low, high - 1))
                names[number] = f"{first[0]}/{last[0]}"
            else:
                names[number] = "/".join(self._times(np.concatenate([low, high])))
        return names

    def check_representable(self, n_bins: int) -> None:
        """Refuse an end beyond the calendar."""
        years = {"year": 1, "month": 12}.get(self.step, 366 * 24)
        if n_bins > 9999 * years or not self.edge(n_bins) <= _LAST_SECOND:
            raise SettingError(
                f"n_bins must end the time axis before the year 9999; got n_bins={n_bins}. Give fewer bins."
            )

    def _times(self, clock: Seconds) -> list[str]:
        local = self.local_of(clock)
        offsets = (local - self.utc_of(clock)).tolist()
        texts = local.astype("datetime64[s]").astype("datetime64[m]").astype(str).tolist()
        return [text + _offset_text(offset) for text, offset in zip(texts, offsets, strict=True)]

    def _moment(self, when: datetime) -> int:
        if when.tzinfo is not None:
            offset = when.utcoffset()
            assert offset is not None
            instant = seconds_of(when.replace(tzinfo=None)) - int(offset.total_seconds())
            return int(self.clock_of_utc(np.array([instant]))[0])
        local = seconds_of(when)
        # the edges of wall-clock bins are wall-clock times, also where that hour was skipped
        return int(self.clock_of_local(np.array([local]))[0]) if self.is_elapsed else local

    def _moved_forward(self, local: Seconds, table: ZoneTable) -> Seconds:
        """Move skipped times forward, where that changes their bin."""
        gaps = np.array(table.skipped(), np.int64).reshape(-1, 2)
        lands = 2 * gaps[:, 1] - gaps[:, 0]
        matters = self.bins(gaps[:, 0]) != self.bins(lands - 1)
        for low, high in gaps[matters]:
            local = np.where((local >= low) & (local < high), local + (high - low), local)
        return local

    def _table(self, seconds: Seconds) -> ZoneTable:
        latest = min(max(int(seconds.max(initial=0)), 0), _LAST_SECOND)
        return ZoneTable.over(self.zone, self.start.year, datetime_of(latest).year)


def _offset_text(offset: int) -> str:
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    text = f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return f"{text}:{seconds:02d}" if seconds else text
