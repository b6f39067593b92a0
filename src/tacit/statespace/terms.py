"""The regressors of totals: weekday and hour, the year, a trend, special days, and what else is known of each bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from tacit._base.arrays import FloatArray, Times
from tacit.domain import TimeAxis
from tacit.statespace.covariates import Covariates

DAYS_A_YEAR: Final = 365.25
_DAY: Final = 86_400
_YEAR_WAVES: Final = 3
_DAY_WAVES: Final = 4
_RARE: Final = 0.1
_FEWEST_NUMBERS: Final = 24

USUAL_SIZES: Final = {
    "weekday": 0.15,
    "clock": 0.5,
    "year": 0.1,
    "trend": 0.05,
    "flag": 0.1,
    "number": 0.1,
    "special": 0.2,
    "length": 0.02,
}
CHANGING: Final = ("weekday", "clock", "year")


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
    """Which regressors a model of totals has; ``specials`` are days of the year ("07-14") with effects of their own."""

    columns: tuple[Column, ...] = ()
    specials: tuple[str, ...] = ()

    @classmethod
    def learned(cls, covariates: Covariates | None, n_times: int) -> Self:
        """The terms of covariates, of which the first ``n_times`` bins may be looked at."""
        columns = []
        rows = {} if covariates is None else covariates.rows(0, n_times)
        of_all = {name: _of_all(column) for name, column in rows.items()}
        around = 1 if covariates is None else _bins_a_day(covariates.time.step)
        for name, column in of_all.items():
            known = column[np.isfinite(column)]
            if not len(known) or known.min() == known.max():
                continue  # what never changes tells nothing
            is_flag = bool(np.isin(known, (0.0, 1.0)).all())
            if not is_flag and len(known) < _FEWEST_NUMBERS:
                continue  # a handful says neither where a number is usual nor how far it may go
            centre, scale = (0.0, 1.0) if is_flag else (float(known.mean()), float(known.std()))
            is_alone = is_flag and bool(known.mean() < _RARE) and not _has_neighbours(name, of_all, around)
            columns.append(Column(name, centre, scale, is_flag, is_alone))
        return cls(tuple(columns))

    def kinds(self, step: str) -> tuple[str, ...]:
        """What each term belongs to, as in :data:`USUAL_SIZES`."""
        found = [kind for kind, part in _calendar(_EXAMPLE, step, 0) for _ in range(part.shape[1])]
        for column in self.columns:
            found += ["flag"] * (3 if column.is_alone else 1) if column.is_flag else ["number"] * 2
        return (*found, *("special" for _ in self.specials))

    def rows(self, time: TimeAxis, covariates: Covariates | None, first: int, stop: int) -> FloatArray:
        """The regressors of the bins from ``first`` up to ``stop``; what is unknown of one has no effect."""
        starts = time.without_end().starts(stop + 1)
        parts = [part for _, part in _calendar(starts[first:], time.step, starts[0])]
        if covariates is not None and self.columns:
            around = _bins_a_day(time.step)
            known = covariates.rows(0, stop + around)
            parts += [self._of_column(column, known[column.name], first, stop, around) for column in self.columns]
        days = starts[first:-1].astype("datetime64[D]").astype(str)
        if self.specials:
            of_year = np.array([day[5:] for day in days])
            parts.append(np.stack([of_year == special for special in self.specials], axis=1).astype(np.float64))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def _of_column(self, column: Column, values: FloatArray, first: int, stop: int, around: int) -> FloatArray:
        level = np.nan_to_num((_of_all(values) - column.centre) / column.scale, nan=0.0)
        if not column.is_flag:
            level = np.clip(level[first:stop], -4.0, 4.0)
            return np.stack([level, np.square(level) - 1], axis=1)
        if not column.is_alone:
            return level[first:stop, None]
        padded = np.concatenate([np.zeros(around), level])
        shifts = (around, 2 * around, 0)  # the day itself, the day before a flag, the day after it
        return np.stack([padded[first + shift : stop + shift] for shift in shifts], axis=1)

    def to_dict(self) -> dict[str, Any]:
        columns = [[c.name, c.centre, c.scale, c.is_flag, c.is_alone] for c in self.columns]
        return {"columns": columns, "specials": list(self.specials)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        return cls(tuple(Column(*column) for column in content["columns"]), tuple(content["specials"]))


def _of_all(column: FloatArray) -> FloatArray:
    """One number for each bin: the mean over places of what is known."""
    if column.ndim == 1:
        return column
    is_known = np.isfinite(column)
    n_known = is_known.sum(axis=1)
    sums = np.where(is_known, column, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, n_known, out=np.full(len(column), np.nan), where=n_known > 0), np.float64)


def _has_neighbours(name: str, columns: Mapping[str, FloatArray], around: int) -> bool:
    """Whether other columns flag most of the days before or after those that one flags."""
    flags = np.nan_to_num(columns[name]) == 1
    for shift in (-around, around):
        beside = np.roll(flags, shift)
        for other, column in columns.items():
            if other != name and np.mean(np.nan_to_num(column)[beside] == 1) > 0.5 and column[~beside].mean() < _RARE:
                return True
    return False


def _bins_a_day(step: str) -> int:
    if step == "hour":
        return 24
    return 24 // int(step.split()[0]) if step.endswith("hours") else 1


_EXAMPLE: Final = np.array(["2018-01-01", "2018-02-01"], "datetime64[s]")


def _calendar(edges: Times, step: str, origin: Any) -> list[tuple[str, FloatArray]]:
    """Terms of the calendar for bins with these edges."""
    seconds = edges.astype("datetime64[s]").astype(np.int64).astype(np.float64)
    begin = np.float64(np.datetime64(origin, "s").astype(np.int64))
    lengths = np.diff(seconds) / _DAY
    days = seconds[:-1] / _DAY
    middles = days + lengths / 2
    parts: list[tuple[str, FloatArray]] = [("trend", ((days - begin / _DAY) / DAYS_A_YEAR)[:, None])]
    per_day = _bins_a_day(step) if step not in ("week", "month", "year") else 0
    if per_day:
        weekday = (np.floor(days).astype(np.int64) + 3) % 7
        parts.append(("weekday", _contrasts(7)[weekday]))
    if per_day > 1:
        of_day = _waves(middles, min(_DAY_WAVES, per_day // 2))
        is_weekend = np.where(weekday >= 5, 1.0, -0.4)
        parts += [("clock", of_day), ("clock", is_weekend[:, None] * of_day[:, :4])]
    if step != "year":
        parts.append(("year", _waves(middles / DAYS_A_YEAR, 2 if step == "month" else _YEAR_WAVES)))
    if step == "month":
        parts.append(("length", np.log(lengths * 12 / DAYS_A_YEAR)[:, None]))
    return parts


def _waves(turns: FloatArray, n_waves: int) -> FloatArray:
    angles = 2 * np.pi * turns[:, None] * np.arange(1, n_waves + 1)
    return np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(turns), 2 * n_waves)


def _contrasts(n: int) -> FloatArray:
    """Rows that tell n classes apart; each column adds up to 0, all have the same length."""
    vectors = np.linalg.qr((np.eye(n) - 1 / n)[:, : n - 1])[0]
    return np.asarray(vectors * np.sqrt(n / (n - 1)), np.float64)
