"""How far to look ahead: so many bins, or a day, a week, a month or a year of them."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tacit.domain import TimeAxis
from tacit.errors import Remedy, SettingError

MOST_BINS: Final = 9_000  # 24 years of days, a year of hours: tables and pages stay within memory
_PERIOD: Final = re.compile(r"(?:(\d+)\s+)?(hour|day|week|month|year)s?")


def horizon_of(asked: str | int, time: TimeAxis) -> int:
    """The number of bins after the end of an axis that were asked for: 7, or "week", "2 weeks", "month", "year".

    >>> horizon_of("month", TimeAxis.between("2018-01-01", "2018-01-31"))
    28
    >>> horizon_of("day", TimeAxis.between("2018-01-01", "2018-01-31", step="hour"))
    24
    """
    found = _number(asked) if str(asked).strip().isdigit() else _period(str(asked).strip(), time)
    if not 1 <= found <= MOST_BINS:
        nearer = "Look less far ahead." if found else Remedy.CHOOSE_HORIZON
        raise SettingError(f"horizon must be 1 to {MOST_BINS:,} periods; got horizon={asked}.", remedy=nearer)
    return found


def _number(asked: str | int) -> int:
    digits = str(asked).strip()
    return int(digits) if len(digits) < 10 else MOST_BINS + 1


def _period(asked: str, time: TimeAxis) -> int:
    known = _PERIOD.fullmatch(asked)
    if known is None:
        raise SettingError(
            f"horizon must be a number of periods, or day, week, month or year; got horizon={asked}.",
            remedy=Remedy.CHOOSE_HORIZON,
        )
    many, unit = int(known[1] or 1), known[2]
    last = time.n_bins or 0
    begins = time.without_end().starts(last + 1)[-1]
    if unit in ("month", "year"):
        months = many * (12 if unit == "year" else 1)
        month = begins.astype("datetime64[M]")
        ends = (month + months).astype("datetime64[s]") + (begins - month.astype("datetime64[s]"))
        ends = min(ends, (month + months + 1).astype("datetime64[s]"))  # there is no 31 February
    else:
        ends = begins + np.timedelta64(many * {"hour": 3600, "day": 86_400, "week": 604_800}[unit], "s")
    return _bins_until(asked, time, last, ends)


def _bins_until(asked: str, time: TimeAxis, last: int, ends: np.datetime64) -> int:
    """How many bins after the last begin before this time."""
    n_bins = 64
    while True:
        coming = time.without_end().starts(last + n_bins + 1)[last:]
        if coming[-1] >= ends:
            break
        if n_bins > MOST_BINS:
            return MOST_BINS + 1
        n_bins *= 4
    found = int(np.searchsorted(coming, ends, side="left"))
    if coming[found] > ends:
        raise SettingError(
            f"horizon must be whole periods, and each is a {time.step}; got horizon={asked}. Give a number of periods."
        )
    return found
