"""Bins ahead that stand out: public holidays, unusual numbers, a fair chance of a busy one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.languages import figures, gettext, message
from tacit._base.rounding import whole
from tacit.counts.series import Series
from tacit.forecast.forecast import Forecast
from tacit.statespace.calendar import season_length, weekdays

UNUSUAL: Final = 0.15
"""How far from its usual number a bin must be expected, in parts of it: the usual difference of weekdays."""
BUSY_SHARE: Final = 0.05
"""A busy bin is one of the busiest so many of the last year."""
BUSY_CHANCE: Final = 0.15
"""The chance of a busy bin from which it is worth a word: three times the usual one."""
_WEEKDAYS: Final = (
    *(message("Mondays"), message("Tuesdays"), message("Wednesdays"), message("Thursdays"), message("Fridays")),
    *(message("Saturdays"), message("Sundays")),
)
_STEPS: Final = {"hour": message("hour"), "day": message("day"), "week": message("week"), "month": message("month")}
_PERIOD: Final = message("period")
_RECENT_WEEKS: Final = 8  # two months: the season is about the same
_FEWEST_BINS: Final = 60  # of which the busiest twentieth is three


@dataclass(frozen=True, slots=True)
class Notable:
    """A bin of a forecast, by number, and why it stands out, in sentences."""

    bin: int
    reasons: tuple[str, ...]


def notable_bins(forecast: Forecast, series: Series, holidays: Mapping[str, str] | None = None) -> list[Notable]:
    """Return bins of a forecast that stand out from the series it was made of; ``holidays`` are names by ISO date.

    Only the total of all places is looked at, which is known better than any single place.
    """
    reasons: list[list[str]] = [[] for _ in range(forecast.domain.shape[0])]
    for bin, name in _holidays(forecast, holidays or {}).items():
        reasons[bin].append(gettext("Public holiday: %(name)s.", name=name))
    for bin, words in _unusual(forecast, series).items():
        reasons[bin].append(words)
    for bin, words in _busy(forecast, series).items():
        reasons[bin].append(words)
    return [Notable(bin, tuple(why)) for bin, why in enumerate(reasons) if why]


def _holidays(forecast: Forecast, names: Mapping[str, str]) -> dict[int, str]:
    """Return the first bin of each holiday, where bins are no longer than a day."""
    time = forecast.domain.time
    if time.step in ("week", "month", "year"):
        return {}
    days = [str(start)[:10] for start in time.starts()]
    return {days.index(day): name for day, name in names.items() if day in days}


def _unusual(forecast: Forecast, series: Series) -> dict[int, str]:
    """Return days whose expected total is far from that of the same weekday in the last weeks."""
    if forecast.domain.time.step != "day":
        return {}
    coming, past = weekdays(forecast.domain.time.starts()), weekdays(series.domain.time.starts())
    found = {}
    for bin, weekday in enumerate(coming.tolist()):
        same = np.flatnonzero((past == weekday) & series.observed[:, -1])[-_RECENT_WEEKS:]
        usual = float(series.totals[same].mean()) if len(same) >= _RECENT_WEEKS // 2 else 0.0
        # noise of the totals themselves is no reason to be astonished
        doubt = float(np.sqrt(series.total_variances[same].sum())) / max(len(same), 1)
        gap = float(forecast.totals.means[bin]) - usual
        if usual > 0 and abs(gap) > UNUSUAL * usual + 2 * doubt:
            than = {
                "share": figures(f"{100 * abs(gap) / usual:.0f}%"),
                "weekdays": gettext(_WEEKDAYS[weekday]),
                "n": len(same),
            }
            found[bin] = (
                gettext("%(share)s more expected than on %(weekdays)s of the last %(n)s weeks.", **than)
                if gap > 0
                else gettext("%(share)s fewer expected than on %(weekdays)s of the last %(n)s weeks.", **than)
            )
    return found


def _busy(forecast: Forecast, series: Series) -> dict[int, str]:
    """Return bins with a fair chance of a total that only few bins of the last year had."""
    step = series.domain.time.step
    recent = np.flatnonzero(series.observed[:, -1])[-season_length(step, "year") :]
    if len(recent) < _FEWEST_BINS:
        return {}
    limit = float(np.ceil(np.quantile(series.totals[recent], 1 - BUSY_SHARE)))
    chances = 1.0 - forecast.totals.below(np.full(len(forecast.totals.means), limit))
    one = gettext(_STEPS.get(step, _PERIOD))
    return {
        bin: gettext(
            "A busy %(step)s may come: %(chance)s chance of %(limit)s or more in all, as one %(step)s in %(n)s had "
            "lately.",
            step=one,
            chance=figures(f"{100 * chance:.0f}%"),
            limit=whole(limit),
            n=round(1 / BUSY_SHARE),
        )
        for bin, chance in enumerate(chances.tolist())
        if chance >= BUSY_CHANCE
    }
