"""What the calendar says of the bins of a time axis, as numbers."""

from __future__ import annotations

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.domain import TimeAxis
from tacit.statespace.season_lengths import bins_per_day


def calendar_columns(time: TimeAxis, n_bins: int) -> dict[str, FloatArray]:
    """The paper's ten: year, month, day, weekday (Monday 0), day of the year, leap year, first and last days.

    On an axis of hours or slots of them there is the hour besides.
    """
    starts = time.without_end().starts(n_bins)
    days, months, years = (starts.astype(f"datetime64[{unit}]") for unit in "DMY")
    day_of_month, day_of_year = (days - months).astype(np.int64) + 1, (days - years).astype(np.int64) + 1
    length = ((years + 1).astype("datetime64[D]") - years.astype("datetime64[D]")).astype(np.int64)
    month_length = ((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64)
    columns = {
        "year": years.astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day": day_of_month,
        "weekday": (days.astype(np.int64) + 3) % 7,
        "day of year": day_of_year,
        "leap year": length == 366,
        "first of month": day_of_month == 1,
        "last of month": day_of_month == month_length,
        "first of year": day_of_year == 1,
        "last of year": day_of_year == length,
    }
    if (bins_per_day(time.step) or 1) > 1:
        columns["hour"] = (starts - days.astype("datetime64[s]")).astype(np.int64) // 3600
    return {name: np.asarray(column, np.float64) for name, column in columns.items()}
