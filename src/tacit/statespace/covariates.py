"""The calendar and covariates of time bins (holidays, weather, traffic) as numbers, and the regressors made of them.

Smoothing and forecasting take their regressors from here: shares of places by :func:`seasons`, totals by
:class:`Terms`, trees by :func:`calendar_columns` and :class:`Covariates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray, IntArray, Times
from tacit._base.validation import check_one_of
from tacit.domain import Domain, TimeAxis
from tacit.errors import SettingError
from tacit.statespace.settings import SETTINGS

SECONDS_A_DAY: Final = 86_400  # of a day without a change of clocks
DAYS_A_YEAR: Final = 365.25  # with leap years
_LONGER: Final = {"week": 52, "month": 12, "year": 1}
"""Steps longer than a day, and how many of them a year has."""
_EXAMPLE: Final = np.array(["2018-01-01", "2018-02-01"], "datetime64[s]")  # edges of a bin, to number its regressors


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


def calendar_blocks(edges: Times, step: str, *, of_totals: bool) -> list[tuple[str, FloatArray]]:
    """Return the regressors of the bins between edges, by kind: weekday, clock and year.

    There are six contrasts of weekdays where bins are days or shorter, harmonics of the day where they are shorter, and
    of the year where they are no longer than a month. Regressors of one kind have the same mean square. Those of totals
    have finer harmonics, hours of days off, and the length of a month.
    """
    waves = SETTINGS.totals.day_harmonics, SETTINGS.totals.year_harmonics
    # months tell no finer shape of the year either way
    of_day, of_year = waves if of_totals and step != "month" else (SETTINGS.harmonics, SETTINGS.harmonics)
    days = edges.astype("datetime64[s]").astype(np.int64) / SECONDS_A_DAY
    centres, of_week, per_day = (days[1:] + days[:-1]) / 2, weekdays(edges[:-1]), bins_per_day(step) or 0
    clock = _harmonics(centres, min(of_day, per_day // 2))
    blocks = (
        (per_day > 0, "weekday", _contrasts(7)[of_week]),
        (per_day > 1, "clock", clock),
        (step != "year", "year", _harmonics(centres / DAYS_A_YEAR, of_year)),
        # days off have hours of their own; the factor adds up to 0 over a week
        (of_totals and per_day > 1, "clock", np.where(of_week >= 5, 1.0, -0.4)[:, None] * clock[:, :4]),
        (of_totals and step == "month", "length", np.log(np.diff(days) * 12 / DAYS_A_YEAR)[:, None]),
    )
    return [(kind, block) for is_there, kind, block in blocks if is_there]


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
    blocks = calendar_blocks(time.without_end().starts(n_bins + 1), time.step, of_totals=False)
    kinds = [kind if kind == "weekday" else "season" for kind, block in blocks for _ in block.T]
    basis = np.concatenate([np.zeros((n_bins, 0)), *(block for _, block in blocks)], axis=1)
    return Seasons(np.ascontiguousarray(basis), tuple(kinds), bin_days(time))


def _harmonics(turns: FloatArray, n_harmonics: int) -> FloatArray:
    angles = 2 * np.pi * turns[:, None] * np.arange(1, n_harmonics + 1)
    return np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(turns), 2 * n_harmonics)


def _contrasts(n: int) -> FloatArray:
    """Return rows that tell n classes apart; each column adds up to 0, all have the same length."""
    vectors = np.linalg.qr((np.eye(n) - 1 / n)[:, : n - 1])[0]
    return np.asarray(vectors * np.sqrt(n / (n - 1)), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """Named numbers for the bins of a time axis, past and future; NaN where one is missing.

    The axis starts where the series' does and goes on as far as values are known: what a forecast needs beyond it is
    unknown. ``columns`` have a number for each bin (bins,) or for each bin and place (bins, places), the same for all
    kinds of events. ``notes`` say what a reader of a forecast must know of them.
    """

    time: TimeAxis
    columns: Mapping[str, FloatArray]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def check_starts_with(self, domain: Domain) -> None:
        """Refuse a series that starts elsewhere, or has other places."""
        ours, theirs = (f"{axis.step}s from {axis.start} in {axis.zone}" for axis in (self.time, domain.time))
        if ours != theirs:
            raise SettingError(
                f"covariates must have the time axis of the series, {theirs}; got {ours}. "
                "Make them for the axis of the series."
            )
        for name, column in self.columns.items():
            if column.ndim == 2 and column.shape[1] != domain.place.n_cells:
                raise SettingError(
                    f"a covariate by place must have the {domain.place.n_cells} places of the series; "
                    f"got {column.shape[1]} for {name}."
                )

    def joined(self, *others: Covariates) -> Covariates:
        """Return all columns together; the axis reaches as far as the longest of them."""
        columns, notes, longest = dict(self.columns), self.notes, self.time
        for other in others:
            if other.time.without_end() != longest.without_end():
                raise SettingError("covariates must have the same time axis to be joined. Make them for one series.")
            twice = [name for name in other.columns if name in columns]
            if twice:
                raise SettingError(f"covariates must have different names; got {', '.join(twice)} twice. Rename one.")
            columns |= other.columns
            notes += other.notes
            longest = other.time if (other.time.n_bins or 0) > (longest.n_bins or 0) else longest
        return Covariates(longest, columns, notes)

    def rows(self, first: int, stop: int) -> dict[str, FloatArray]:
        """Return the columns from bin ``first`` up to ``stop``, NaN where the table ends before."""
        found = {}
        for name, column in self.columns.items():
            part = column[first:stop]
            short = stop - first - len(part)
            found[name] = np.concatenate([part, np.full((short, *column.shape[1:]), np.nan)]) if short > 0 else part
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data and arrays, without the axis but for its length."""
        return {"columns": dict(self.columns), "n_bins": self.time.n_bins, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], time: TimeAxis) -> Self:
        """Return the covariates of :meth:`to_dict`, on an axis that starts with this one."""
        columns = {str(name): np.asarray(column, np.float64) for name, column in content["columns"].items()}
        axis = time.without_end().with_end(int(content["n_bins"]))
        return cls(axis, columns, tuple(map(str, content["notes"])))


@dataclass(frozen=True, slots=True)
class Column:
    """A covariate as a regressor: flags (0 or 1) as they are, numbers centred and scaled by what was learned from.

    Rare flags, holidays say, also act on the bins of the day before and the day after, unless other columns flag those.
    """

    name: str
    centre: float
    scale: float
    is_flag: bool
    is_alone: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """The regressors of a model of totals; ``specials`` are days of the year ("07-14") with effects of their own."""

    columns: tuple[Column, ...] = ()
    specials: tuple[str, ...] = ()

    @classmethod
    def learned(cls, covariates: Covariates | None, n_times: int) -> Self:
        """Return the terms of covariates, of which the first ``n_times`` bins may be looked at."""
        if covariates is None:
            return cls()
        columns, around = [], bins_per_day(covariates.time.step) or 1
        of_all = {name: known_means(column) for name, column in covariates.rows(0, n_times).items()}
        for name, column in of_all.items():
            known = column[np.isfinite(column)]
            if not len(known) or known.min() == known.max():
                continue  # what never changes tells nothing
            is_flag = bool(np.isin(known, (0.0, 1.0)).all())
            if not is_flag and len(known) < SETTINGS.totals.fewest_numbers:
                continue
            centre, scale = (0.0, 1.0) if is_flag else (float(known.mean()), float(known.std()))
            is_rare = is_flag and bool(known.mean() < SETTINGS.totals.rare_flag)
            is_alone = is_rare and not _has_neighbours(name, of_all, around)
            columns.append(Column(name, centre, scale, is_flag, is_alone))
        return cls(tuple(columns))

    def kinds(self, step: str) -> tuple[str, ...]:
        """Return the kind of each term, as ``<kind>_sd`` of :class:`tacit.statespace.settings.TotalSettings`."""
        found = [kind for kind, block in calendar_blocks(_EXAMPLE, step, of_totals=True) for _ in block.T]
        for column in self.columns:
            found += ["flag"] * (3 if column.is_alone else 1) if column.is_flag else ["number"] * 2
        return (*found, *("special" for _ in self.specials))

    def rows(self, time: TimeAxis, covariates: Covariates | None, first: int, stop: int) -> FloatArray:
        """Return the regressors of the bins from ``first`` up to ``stop``; what is unknown of one has no effect."""
        starts = time.without_end().starts(stop + 1)
        blocks = calendar_blocks(starts[first:], time.step, of_totals=True)
        parts = [np.zeros((stop - first, 0)), *(block for _, block in blocks)]
        if covariates is not None and self.columns:
            around = bins_per_day(time.step) or 1
            known = covariates.rows(0, stop + around)
            parts += [self._of_column(column, known[column.name], first, stop, around) for column in self.columns]
        if self.specials:
            of_year = np.array([day[5:] for day in starts[first:-1].astype("datetime64[D]").astype(str)])
            parts.append((of_year[:, None] == np.array(self.specials)).astype(np.float64))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def _of_column(self, column: Column, values: FloatArray, first: int, stop: int, around: int) -> FloatArray:
        level = np.nan_to_num((known_means(values) - column.centre) / column.scale, nan=0.0)
        if not column.is_flag:
            level = np.clip(level[first:stop], -4.0, 4.0)  # a number beyond was never seen, and its effect is a guess
            return np.stack([level, np.square(level) - 1], axis=1)
        if not column.is_alone:
            return level[first:stop, None]
        padded = np.concatenate([np.zeros(around), level])
        shifts = (around, 2 * around, 0)  # the day itself, the day before a flag, the day after it
        return np.stack([padded[first + shift : stop + shift] for shift in shifts], axis=1)


def known_means(column: FloatArray) -> FloatArray:
    """Return one number for each bin: the mean over places, the last axis if there are several, of what is known."""
    if column.ndim == 1:
        return column
    is_known = np.isfinite(column)
    n_known, sums = is_known.sum(axis=-1), np.where(is_known, column, 0.0).sum(axis=-1)
    return np.asarray(np.divide(sums, n_known, out=np.full(sums.shape, np.nan), where=n_known > 0), np.float64)


def _has_neighbours(name: str, columns: Mapping[str, FloatArray], around: int) -> bool:
    """Return whether other columns flag most of the days before or after those that one flags."""
    flags = np.nan_to_num(columns[name]) == 1
    days_beside = np.roll(flags, -around), np.roll(flags, around)
    others = (column for other, column in columns.items() if other != name)
    return any(
        np.mean(np.nan_to_num(column)[beside] == 1) > 0.5 and column[~beside].mean() < SETTINGS.totals.rare_flag
        for column in others
        for beside in days_beside
    )
