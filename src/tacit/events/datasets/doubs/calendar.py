"""The days from 2006 to 2018, what is special about them, and the paper's Table 2."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.events.datasets._draws import Integers

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class YearFigures:
    """One line of the paper's Table 2: interventions per day in a year.

    ``deviation`` divides by the number of days less one.
    """

    year: int
    total: int
    mean: float
    deviation: float
    maximum: int
    minimum: int


# as printed: year, total, mean, standard deviation, maximum and minimum
PAPER_TABLE_2: Final = (
    YearFigures(2006, 17_333, 47, 20, 131, 17),
    YearFigures(2007, 19_277, 53, 16, 116, 23),
    YearFigures(2008, 18_021, 49, 14, 117, 26),
    YearFigures(2009, 28_669, 79, 38, 257, 22),
    YearFigures(2010, 29_604, 81, 26, 328, 42),
    YearFigures(2011, 33_645, 92, 39, 403, 48),
    YearFigures(2012, 29_079, 79, 16, 143, 52),
    YearFigures(2013, 29_760, 82, 14, 145, 47),
    YearFigures(2014, 30_641, 84, 14, 164, 54),
    YearFigures(2015, 33_518, 92, 17, 154, 57),
    YearFigures(2016, 34_436, 94, 28, 556, 60),
    YearFigures(2017, 37_553, 102, 16, 165, 61),
    YearFigures(2018, 40_510, 111, 21, 265, 73),
)


@dataclass(frozen=True)
class Calendar:
    """Consecutive days and their place in the year, the week and the list of public holidays."""

    days: NDArray[np.datetime64]

    @classmethod
    def of_years(cls, first: int, last: int) -> Calendar:
        return cls(np.arange(f"{first}-01-01", f"{last + 1}-01-01", dtype="datetime64[D]"))

    @property
    def n_days(self) -> int:
        return len(self.days)

    @cached_property
    def year(self) -> Integers:
        return self.days.astype("datetime64[Y]").astype(np.int64) + 1970

    @cached_property
    def month(self) -> Integers:
        return self.days.astype("datetime64[M]").astype(np.int64) % 12 + 1

    @cached_property
    def day_of_month(self) -> Integers:
        since_first: Integers = (self.days - self.days.astype("datetime64[M]")).astype(np.int64)
        return since_first + 1

    @cached_property
    def day_of_year(self) -> Integers:
        since_first: Integers = (self.days - self.days.astype("datetime64[Y]")).astype(np.int64)
        return since_first + 1

    @cached_property
    def weekday(self) -> Integers:
        """The weekday of every day, 0 for Monday."""
        return (self.days.astype(np.int64) + 3) % 7

    @cached_property
    def is_public_holiday(self) -> Booleans:
        years = range(int(self.year[0]), int(self.year[-1]) + 1)
        holidays = [day for year in years for day in public_holidays(year)]
        return np.isin(self.days, np.array(holidays, dtype="datetime64[D]"))

    @cached_property
    def is_clock_forward(self) -> Booleans:
        """Whether the hour from 02:00 to 03:00 does not exist: the last Sunday of March."""
        is_forward: Booleans = (self.month == 3) & (self.weekday == 6) & (self.day_of_month > 24)
        return is_forward

    def is_date(self, month: int, day: int) -> Booleans:
        is_date: Booleans = (self.month == month) & (self.day_of_month == day)
        return is_date

    def where(self, year: int) -> slice:
        """Return the days of one year."""
        inside = np.flatnonzero(self.year == year)
        return slice(int(inside[0]), int(inside[-1]) + 1)


def public_holidays(year: int) -> tuple[dt.date, ...]:
    """Return the eleven public holidays of France, from the calendar alone.

    >>> [day.isoformat() for day in public_holidays(2018) if day.month == 5]
    ['2018-05-01', '2018-05-08', '2018-05-10', '2018-05-21']
    """
    fixed = ((1, 1), (5, 1), (5, 8), (7, 14), (8, 15), (11, 1), (11, 11), (12, 25))
    easter_monday, ascension, whit_monday = 1, 39, 50
    movable = (easter(year) + dt.timedelta(n) for n in (easter_monday, ascension, whit_monday))
    # a set: Ascension fell on the 1st of May in 2008
    return tuple(sorted({dt.date(year, month, day) for month, day in fixed} | set(movable)))


def easter(year: int) -> dt.date:
    """Return Easter Sunday of the Gregorian calendar. Reference: Meeus1991, chapter 8.

    >>> easter(2008).isoformat()
    '2008-03-23'
    """
    golden = year % 19
    century, of_century = divmod(year, 100)
    leap_centuries, rest = divmod(century, 4)
    moon = (19 * golden + century - leap_centuries - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * rest + 2 * (of_century // 4) - moon - of_century % 4) % 7
    month, day = divmod(moon + sunday - 7 * ((golden + 11 * moon + 22 * sunday) // 451) + 114, 31)
    return dt.date(year, month, day + 1)
