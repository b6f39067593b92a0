"""Local wall-clock times and instants, for whole arrays at once.

The standard library knows the rules of every zone but answers for one time only. Here its answers are
turned into a small table of the moments at which the offset changes; an array is then converted with one
search in that table.

Two rules settle what a wall clock leaves ambiguous, both those of PEP 495 with ``fold=0``:

* a time that happens twice (the repeated hour in autumn) is its *first* occurrence;
* a time that never happens (the skipped hour in spring) is moved forward by what was skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError

Seconds = NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1)  # of POSIX time
# Beyond this year a zone only follows its two yearly rules, which lie months apart.
_LAST_YEAR_OF_SURPRISES = 2037
_FIRST_YEAR, _LAST_YEAR = 2, 9998  # one year less on either side than the standard library knows
# A file with 9999-12-31 for "no date" must not cost seconds; no clock is known that far ahead anyway.
_YEARS_FOLLOWED = 300


def zone_info(zone: str) -> tzinfo:
    """Return the zone of that name, or say what to do.

    >>> zone_info("Europe/Besancon")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: zone must be a time zone of the IANA database; got zone='Europe/Besancon'. \
Write it like 'Europe/Paris' or 'UTC'; if that is what you wrote, run: pip install tzdata
    """
    if not isinstance(zone, str):
        raise SettingError(f"zone must be a name like 'Europe/Paris'; got zone={zone!r}. Write it so.")
    if zone == "UTC":
        return UTC  # also where no database of zones is installed
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise SettingError(
            f"zone must be a time zone of the IANA database; got zone={zone!r}. "
            "Write it like 'Europe/Paris' or 'UTC'; if that is what you wrote, run: pip install tzdata"
        ) from None


@dataclass(frozen=True, slots=True, eq=False)
class ZoneTable:
    """The offsets of a zone over some years: ``offsets[i]`` holds from ``changes[i-1]`` to ``changes[i]``.

    All numbers are seconds; ``changes`` are instants since 1970 in UTC.
    """

    changes: Seconds
    offsets: Seconds

    @classmethod
    def over(cls, zone: str, first_year: int, last_year: int) -> ZoneTable:
        """Build the table for the years ``first_year`` to ``last_year``, and one more on either side.

        From 300 years after the first on, the offset no longer changes.
        """
        first = max(_FIRST_YEAR, first_year - 1)
        last = max(first, min(_LAST_YEAR, last_year + 1, first + _YEARS_FOLLOWED))
        return _table(zone, first, last)

    def to_utc(self, local: Seconds) -> Seconds:
        """Turn wall-clock seconds into instants by the two rules above.

        >>> table = ZoneTable.over("Europe/Paris", 2018, 2018)
        >>> when = np.array(["2018-10-28T02:30", "2018-03-25T02:30"], "datetime64[s]")
        >>> table.to_utc(when.astype(np.int64)).astype("datetime64[s]").astype("datetime64[m]")
        array(['2018-10-28T00:30', '2018-03-25T01:30'], dtype='datetime64[m]')
        """
        if not self.changes.size:
            return local - int(self.offsets[0])
        # The later of the two wall clocks: a repeated time is before it (first occurrence), and so is a
        # skipped one, which the old offset then moves forward.
        clocks = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        offsets: Seconds = self.offsets[np.searchsorted(clocks, local, side="right")]
        return local - offsets

    def to_local(self, instants: Seconds) -> Seconds:
        """Turn instants into wall-clock seconds."""
        if not self.changes.size:
            return instants + int(self.offsets[0])
        offsets: Seconds = self.offsets[np.searchsorted(self.changes, instants, side="right")]
        return instants + offsets

    def skipped(self) -> list[tuple[int, int]]:
        """List the wall-clock times that never happen, as half-open ranges of seconds."""
        gaps = zip(self.changes, self.offsets[:-1], self.offsets[1:], strict=True)
        return [(int(at + old), int(at + new)) for at, old, new in gaps if new > old]


@lru_cache(maxsize=64)
def _table(zone: str, first_year: int, last_year: int) -> ZoneTable:
    info = zone_info(zone)
    if info is UTC:
        return ZoneTable(np.empty(0, np.int64), np.zeros(1, np.int64))
    changes: list[int] = []
    offsets = [_offset(info, seconds_of(datetime(first_year, 1, 1)))]
    for year in range(first_year, last_year + 1):
        for at, offset in _changes_in(zone, year):
            changes.append(at)
            offsets.append(offset)
    return ZoneTable(np.array(changes, np.int64), np.array(offsets, np.int64))


@lru_cache(maxsize=16384)
def _changes_in(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    info = zone_info(zone)
    found: list[tuple[int, int]] = []
    samples = _samples(year)
    before = next(samples)
    old = _offset(info, before)
    for after in samples:
        new = _offset(info, after)
        if new != old:
            low, high = before, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(info, middle) == old else (low, middle)
            found.append((high, new))
        before, old = after, new
    return tuple(found)


def _samples(year: int) -> Iterator[int]:
    first, last = seconds_of(datetime(year, 1, 1)), seconds_of(datetime(year + 1, 1, 1))
    days = 1 if year <= _LAST_YEAR_OF_SURPRISES else 30
    yield from range(first, last, days * 86400)
    yield last


def _offset(info: tzinfo, instant: int) -> int:
    aware = datetime_of(instant).replace(tzinfo=UTC)
    offset = aware.astimezone(info).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def seconds_of(naive: datetime) -> int:
    """Return the seconds between 1970 and a naive time."""
    passed = naive - _EPOCH
    return passed.days * 86400 + passed.seconds


def datetime_of(seconds: int | np.int64) -> datetime:
    """Return the naive time so many seconds after 1970."""
    return _EPOCH + timedelta(seconds=int(seconds))
