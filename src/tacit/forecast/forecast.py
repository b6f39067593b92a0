"""What a forecaster says: a distribution for every coming count, how far ahead, and how many crews that asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.validation import check_positive, check_share
from tacit.counts.count_distribution import CountDistribution
from tacit.domain import Domain, TimeAxis
from tacit.errors import Remedy, SettingError

DEFAULT_QUANTILE: Final = 0.9  # crews are enough on nine days in ten
MOST_BINS: Final = 9_000  # 24 years of days, a year of hours: tables and pages stay within memory
_PERIOD: Final = re.compile(r"(?:(\d+)\s+)?(hour|day|week|month|year)s?")
_SLACK: Final = 1e-9  # a quotient that is whole but for its last digits needs no crew more


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """Forecasts made at several origins: origin ``o`` knows the bins before ``o`` and speaks of bin ``o`` and on.

    ``counts`` are distributions of origins x horizon x places, ``totals`` of origins x horizon: all places together.
    """

    origins: IntArray
    counts: CountDistribution
    totals: CountDistribution


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected in the bins after a series: ``domain`` is those bins x places.

    ``counts`` are distributions of bins x places, ``totals`` of bins: all places together. ``sums`` and ``total_sum``
    are those of the whole horizon, in each place and in all. ``notes`` say what a reader must know of it.
    """

    domain: Domain
    counts: CountDistribution
    totals: CountDistribution
    sums: CountDistribution
    total_sum: CountDistribution
    forecaster: str
    origin: str = ""
    is_simulation: bool = False
    notes: tuple[str, ...] = ()


def crews_for(
    distribution: CountDistribution, *, quantile: float = DEFAULT_QUANTILE, per_crew: float = 1.0
) -> IntArray:
    """Return the least crews that are enough with probability ``quantile``, if one handles ``per_crew`` events a bin.

    Crews that may help each other need fewer: the crews for a sum are at most the sum of the crews, as a rule.

    >>> distribution = CountDistribution(np.array([0.0, 4.0, 24.0]), np.array([0.0, 4.0, 24.0]))
    >>> crews_for(distribution, quantile=0.9, per_crew=4).tolist()
    [0, 2, 8]
    """
    check_share(quantile=quantile)
    check_positive(per_crew=per_crew)
    return np.ceil(distribution.quantiles(quantile) / per_crew - _SLACK).astype(np.int64)


def horizon_of(asked: str | int, time: TimeAxis) -> int:
    """Return the number of bins after the end of an axis that were asked for: 7, or "week", "2 weeks", "month", "year".

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
    """Return how many bins after the last begin before this time."""
    n_bins = 64  # tried first, then four times as many: a choice that changes the time alone
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
