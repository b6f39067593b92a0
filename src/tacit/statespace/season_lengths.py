"""How a step of time comes round: by the week and by the year."""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit._base.arrays import IntArray, Times
from tacit._base.validation import check_one_of

_DAY: Final = 86_400
_OTHER: Final = {"week": (52, 52), "month": (12, 12), "year": (1, 1)}


def bins_per_day(step: str) -> int | None:
    """How many bins a day has, or None where a bin is longer."""
    if step in _OTHER:
        return None
    if step == "day":
        return 1
    return 24 if step == "hour" else 24 // int(step.split()[0])


def season_length(step: str, season: str = "week") -> int:
    """After how many bins the same weekday and hour comes again: in a week, or in the 52 weeks of a year.

    Steps of a week or longer have a year alone.

    >>> season_length("day"), season_length("day", "year"), season_length("6 hours"), season_length("month")
    (7, 364, 28, 12)
    """
    check_one_of(("week", "year"), season=season)
    per_day = bins_per_day(step)
    if per_day is None:
        return _OTHER[step][season == "year"]
    return per_day * (7 if season == "week" else 364)


def slots(starts: Times, step: str) -> IntArray:
    """The number of each bin's slot of its season: the weekday, Monday first, with the hour; or the month.

    >>> slots(np.array(["2018-01-01", "2018-01-07"], "datetime64[s]"), "day")
    array([0, 6])
    """
    if step in ("week", "year"):
        return np.zeros(len(starts), np.int64)
    if step == "month":
        return np.asarray(starts.astype("datetime64[M]").astype(np.int64) % 12, np.int64)
    seconds = starts.astype("datetime64[s]").astype(np.int64)
    weekday, clock = (seconds // _DAY + 3) % 7, seconds % _DAY
    per_day = bins_per_day(step) or 1
    return np.asarray(weekday * per_day + clock * per_day // _DAY, np.int64)


def n_slots(step: str) -> int:
    """How many slots there are."""
    return 1 if step in ("week", "year") else season_length(step)
