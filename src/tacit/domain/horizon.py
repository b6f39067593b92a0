"""How far ahead to look, as people write it, in bins after the end of a time axis."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tacit.domain.step import WIDTHS
from tacit.domain.time import TimeAxis
from tacit.errors import Remedy, SettingError

MOST_BINS: Final = 9_000  # 24 years of days, a year of hours: tables and pages stay within memory
_PERIOD: Final = re.compile(r"(?:(\d+)\s+)?(hour|day|week|month|year)s?")
_DIGITS: Final = 9  # of a number that are read: with more it is too far anyway, and might overflow


def horizon_of(asked: str | int, time: TimeAxis) -> int:
    """Return the number of bins after the end of an axis that were asked for: 7, or "week", "2 weeks", "month", "year".

    >>> horizon_of("month", TimeAxis.between("2018-01-01", "2018-01-31"))
    28
    >>> horizon_of("day", TimeAxis.between("2018-01-01", "2018-01-31", step="hour"))
    24
    """
    words = str(asked).strip()
    found = int(words[:_DIGITS]) if words.isdecimal() else _period(words, time)
    if not 1 <= found <= MOST_BINS:
        nearer = "Look less far ahead." if found else Remedy.CHOOSE_HORIZON
        raise SettingError(f"horizon must be 1 to {MOST_BINS:,} periods; got horizon={asked}.", remedy=nearer)
    return found


def _period(asked: str, time: TimeAxis) -> int:
    """Return how many bins after the last begin before the end of a period."""
    known = _PERIOD.fullmatch(asked)
    if known is None:
        raise SettingError(
            f"horizon must be a number of periods, or day, week, month or year; got horizon={asked}.",
            remedy=Remedy.CHOOSE_HORIZON,
        )
    many, unit = int((known[1] or "1")[:_DIGITS]), known[2]
    last = time.n_bins or 0
    coming = time.without_end().starts(last + MOST_BINS + 2)[last:]
    begins = coming[0]
    if unit in ("month", "year"):
        months = many * (12 if unit == "year" else 1)
        month = begins.astype("datetime64[M]")
        ends = (month + months).astype("datetime64[s]") + (begins - month.astype("datetime64[s]"))
        ends = min(ends, (month + months + 1).astype("datetime64[s]"))  # there is no 31 February
    else:
        ends = begins + np.timedelta64(many * WIDTHS[unit], "s")
    found = int(np.searchsorted(coming, ends, side="left"))
    if found > MOST_BINS:
        return found
    if coming[found] > ends:
        raise SettingError(
            f"horizon must be whole periods, and each is a {time.step}; got horizon={asked}. Give a number of periods."
        )
    return found
