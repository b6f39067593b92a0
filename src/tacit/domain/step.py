"""The steps of a time axis, and the arithmetic of their bins.

Bins are counted on a *clock*, in seconds: the elapsed hour on the clock of instants (UTC), every other step
on the local wall clock.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
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
