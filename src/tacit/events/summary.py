"""The curator's summary: the paper's Table 2 for any events, and how much published aggregates would disclose.

Everything here is exact, and for the curator's screen only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.domain.product import sum_groups
from tacit.errors import SettingError
from tacit.events.counts import EventCounts


@dataclass(frozen=True, slots=True)
class YearSummary:
    """Events of one year: their total, and mean, standard deviation (n - 1), maximum and minimum per day."""

    year: int
    n_days: int
    total: int
    mean: float
    std: float
    max: int
    min: int


@dataclass(frozen=True, slots=True)
class EventSummary:
    """Years, and the number of (place, week) and (place, month) cells that hold a single event.

    A published table with such a cell tells that the event happened, when and where, and often to whom.
    """

    years: tuple[YearSummary, ...]
    place_level: str
    n_single_weeks: int
    n_occupied_weeks: int
    n_single_months: int
    n_occupied_months: int


def summarize(counts: EventCounts) -> EventSummary:
    """Summarize counts over days or hours; days of the axis without an event count as zero.

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> from tacit.events.badrows import BadRowSummary
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-04"), PlaceAxis.of(["North", "South"]))
    >>> table = np.array([[1, 0], [2, 2], [0, 0], [3, 0]])
    >>> summary = summarize(EventCounts(domain, table, 8, 8, 0, BadRowSummary()))
    >>> summary.years[0].total, summary.years[0].mean, summary.years[0].max, summary.years[0].min
    (8, 2.0, 4, 0)
    """
    time = counts.domain.time
    if time.step not in ("day", "hour") and not time.step.endswith("hours"):
        raise SettingError(
            f"step must be a day or shorter to summarize days; got step={time.step!r}. Count the events by day."
        )
    days, day_of_bin = time.coarsen("day")
    table = sum_groups(counts.counts, day_of_bin, n_groups=days.n_bins)
    years = days.starts().astype("datetime64[Y]").astype(np.int64) + 1970
    per_day = table.sum(axis=1)
    single_weeks, occupied_weeks = _singles(table, days.coarsen("week")[1])
    single_months, occupied_months = _singles(table, days.coarsen("month")[1])
    return EventSummary(
        years=tuple(_year(int(year), per_day[years == year]) for year in np.unique(years)),
        place_level=counts.domain.place.level,
        n_single_weeks=single_weeks,
        n_occupied_weeks=occupied_weeks,
        n_single_months=single_months,
        n_occupied_months=occupied_months,
    )


def _year(year: int, per_day: NDArray[np.int64]) -> YearSummary:
    return YearSummary(
        year=year,
        n_days=len(per_day),
        total=int(per_day.sum()),
        mean=float(per_day.mean()),
        std=float(per_day.std(ddof=1)) if len(per_day) > 1 else float("nan"),
        max=int(per_day.max()),
        min=int(per_day.min()),
    )


def _singles(table: NDArray[np.int64], groups: NDArray[np.int64]) -> tuple[int, int]:
    sums = sum_groups(table, groups)
    return int(np.count_nonzero(sums == 1)), int(np.count_nonzero(sums))
