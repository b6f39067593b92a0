"""The calendar of a time axis as numbers: how its bins come round, and regressors of weekday, hour and time of year.

Smoothing and forecasting take their calendar regressors from here: shares of places by :func:`seasons`, totals by
:class:`tacit.statespace.covariates.Terms`, trees by :func:`calendar_columns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray, Times
from tacit._base.validation import check_one_of
from tacit.domain import TimeAxis

SECONDS_A_DAY: Final = 86_400  # of a day without a change of clocks
DAYS_A_YEAR: Final = 365.25  # with leap years
_LONGER: Final = {"week": 52, "month": 12, "year": 1}
"""Steps longer than a day, and how many of them a year has."""
_HARMONICS: Final = 2
"""Of the day and of the year in shares: a share has few events to tell a finer shape from. One harmonic misses a second
rise in the year; four cost as many coefficients again."""


def bins_per_day(step: str) -> int | None:
    """Return how many bins a day has, or None where a bin is longer."""
    if step in _LONGER:
        return None
    if step == "day":
        return 1
    return 24 if step == "hour" else 24 // int(step.split()[0])


def bin_days(time: TimeAxis) -> float:
    """Return the usual length of a bin in days; of a month, by the twelve from the start of the axis."""
    starts = time.without_end().starts(13).astype("datetime64[s]").astype(np.int64)
    return float(np.median(np.diff(starts))) / SECONDS_A_DAY


def season_length(step: str, season: str = "week") -> int:
    """Return after how many bins the same weekday and hour comes again: in a week, or in the 52 weeks of a year.

    Steps of a week or longer have a year alone.

    >>> season_length("day"), season_length("day", "year"), season_length("6 hours"), season_length("month")
    (7, 364, 28, 12)
    """
    check_one_of(("week", "year"), season=season)
    per_day = bins_per_day(step)
    if per_day is None:
        return _LONGER[step]
    return per_day * (7 if season == "week" else 364)


def slots(time: TimeAxis, n_bins: int) -> IntArray:
    """Return the number of each bin's slot of its season: the weekday, Monday first, with the hour; or the month.

    >>> slots(TimeAxis.between("2018-01-01", "2018-01-02"), 7)
    array([0, 1, 2, 3, 4, 5, 6])
    """
    starts, step = time.without_end().starts(n_bins), time.step
    if step in ("week", "year"):
        return np.zeros(len(starts), np.int64)
    if step == "month":
        return np.asarray(starts.astype("datetime64[M]").astype(np.int64) % 12, np.int64)
    seconds = starts.astype("datetime64[s]").astype(np.int64)
    per_day = bins_per_day(step) or 1
    of_day = seconds % SECONDS_A_DAY * per_day // SECONDS_A_DAY
    return np.asarray(weekdays(starts) * per_day + of_day, np.int64)


def n_slots(step: str) -> int:
    """Return how many slots a season has."""
    return 1 if step in ("week", "year") else season_length(step)


def weekdays(starts: Times) -> IntArray:
    """Return the weekday of each time, Monday 0."""
    # 1 January 1970 was a Thursday
    return np.asarray((starts.astype("datetime64[D]").astype(np.int64) + 3) % 7, np.int64)


def calendar_columns(time: TimeAxis, n_bins: int) -> dict[str, FloatArray]:
    """Return the paper's ten: year, month, day, weekday, day of the year, leap year, first and last days.

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
        "weekday": weekdays(starts),
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


def calendar_blocks(edges: Times, step: str, *, of_day: int, of_year: int) -> dict[str, FloatArray]:
    """Return the regressors of the bins between edges, by kind: weekday, clock and year.

    There are six contrasts of weekdays where bins are days or shorter, so many harmonics ``of_day`` where they are
    shorter, and ``of_year`` where they are no longer than a month. Regressors of one kind have the same mean square.
    """
    days = edges.astype("datetime64[s]").astype(np.int64) / SECONDS_A_DAY
    centres = (days[1:] + days[:-1]) / 2
    per_day = bins_per_day(step)
    blocks = {}
    if per_day is not None:
        blocks["weekday"] = _contrasts(7)[weekdays(edges[:-1])]
        if per_day > 1:
            blocks["clock"] = _harmonics(centres, min(of_day, per_day // 2))
    if step != "year":
        blocks["year"] = _harmonics(centres / DAYS_A_YEAR, of_year)
    return blocks


@dataclass(frozen=True, slots=True)
class Seasons:
    """Calendar regressors of shares: a row for every bin, the kind of each column, and the length of a bin in days."""

    basis: FloatArray
    kinds: tuple[str, ...]
    step_days: float

    def until(self, n_times: int) -> Seasons:
        return Seasons(np.ascontiguousarray(self.basis[:n_times]), self.kinds, self.step_days)

    def mean_drift(self, in_a_year: float) -> float:
        """Return the variance of the mean level around the first, of a random walk with this deviation in a year."""
        return in_a_year**2 * self.step_days * len(self.basis) / DAYS_A_YEAR / 3


def seasons(time: TimeAxis) -> Seasons:
    """Return the regressors of the bins of an axis: kind ``weekday``, and ``season`` for those of hour and year."""
    n_bins = len(time.starts())
    blocks = calendar_blocks(time.without_end().starts(n_bins + 1), time.step, of_day=_HARMONICS, of_year=_HARMONICS)
    kinds = [kind if kind == "weekday" else "season" for kind, block in blocks.items() for _ in range(block.shape[1])]
    basis = np.concatenate([np.zeros((n_bins, 0)), *blocks.values()], axis=1)
    return Seasons(np.ascontiguousarray(basis), tuple(kinds), bin_days(time))


def _harmonics(turns: FloatArray, n_harmonics: int) -> FloatArray:
    angles = 2 * np.pi * turns[:, None] * np.arange(1, n_harmonics + 1)
    return np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(turns), 2 * n_harmonics)


def _contrasts(n: int) -> FloatArray:
    """Return rows that tell n classes apart; each column adds up to 0, all have the same length."""
    vectors = np.linalg.qr((np.eye(n) - 1 / n)[:, : n - 1])[0]
    return np.asarray(vectors * np.sqrt(n / (n - 1)), np.float64)
