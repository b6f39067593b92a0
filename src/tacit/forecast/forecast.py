"""What a forecaster says: a distribution for every coming count, how far ahead, how many crews, what stands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.languages import figures, gettext, message
from tacit._base.rounding import whole
from tacit._base.validation import check_positive, check_share
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import ALL, Domain, sum_groups
from tacit.statespace.covariates import season_length, weekdays

DEFAULT_QUANTILE: Final = 0.9  # crews are enough on nine days in ten
_LEAST: Final = 1e-12  # guards divisions: of a total of next to nothing, and of a column that is next to all of it
_SLACK: Final = 1e-9  # a quotient that is whole but for its last digits needs no crew more
UNUSUAL: Final = 0.15
"""How far from its usual number a bin must be expected, in parts of it: the usual difference of weekdays."""
BUSY_SHARE: Final = 0.05
"""A busy bin is one of the busiest so many of the last year."""
BUSY_CHANCE: Final = 0.15
"""The chance of a busy bin from which it is worth a word: three times the usual one."""
_MORE: Final = message("%(share)s more expected than on %(weekdays)s of the last %(n)s weeks.")
_FEWER: Final = message("%(share)s fewer expected than on %(weekdays)s of the last %(n)s weeks.")
_BUSY: Final = message(
    "A busy %(step)s may come: %(chance)s chance of %(limit)s or more in all, as one %(step)s in %(n)s had lately."
)
_WEEKDAYS: Final = (
    *(message("Mondays"), message("Tuesdays"), message("Wednesdays"), message("Thursdays"), message("Fridays")),
    *(message("Saturdays"), message("Sundays")),
)
_STEPS: Final = {"hour": message("hour"), "day": message("day"), "week": message("week"), "month": message("month")}
_OTHER_STEP: Final = message("period")
_RECENT_WEEKS: Final = 8  # two months: the season is about the same
_FEWEST_BINS: Final = 60  # of which the busiest twentieth is three


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """Forecasts made at several origins: origin ``o`` knows the bins before ``o`` and speaks of bin ``o`` and on.

    ``each`` are distributions of origins x horizon x (places and, last, all together).
    """

    origins: IntArray
    each: CountDistribution

    @property
    def counts(self) -> CountDistribution:
        return self.each[..., :-1]

    @property
    def totals(self) -> CountDistribution:
        return self.each[..., -1]


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected in the bins after a series: ``domain`` is those bins x places, or places and kinds.

    ``counts`` are distributions of bins x columns, ``totals`` of bins: all columns together. ``sums`` and ``total_sum``
    are those of the whole horizon, in each column and in all. ``notes`` say what a reader must know of it.
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

    def coarsen(self, *, place: str | None = None, kind: str | None = None) -> Forecast:
        """Return the forecast of sums of places or kinds, by the distributions of :func:`summed`."""
        domain, grouping = self.domain.coarsen(place=place, kind=kind)
        if domain == self.domain:
            return self
        counts = summed(self.counts, self.totals, grouping.columns, domain.n_columns)
        sums = summed(self.sums, self.total_sum[0], grouping.columns, domain.n_columns)
        return replace(self, domain=domain, counts=counts, sums=sums)

    def by_kinds(self) -> list[tuple[str, str, Forecast]]:
        """Return level, name and forecast of all kinds together, of each group of them and of each kind.

        Each forecast is one of places without kinds; its totals are those of the group or kind. Of all kinds the level
        is "all" and the name is empty, and without kinds there is nothing else.
        """
        axis = self.domain.kind
        if axis is None:
            return [(ALL, "", self)]
        found = [(ALL, "", self.coarsen(kind=ALL))]
        for level in (*axis.groups, axis.level):
            of_level, in_all = self.coarsen(kind=level), self.coarsen(place=ALL, kind=level)
            assert of_level.domain.kind is not None
            for number, name in enumerate(of_level.domain.kind.cells):
                some = slice(number, None, of_level.domain.n_kinds)
                parts: dict[str, Any] = {"counts": of_level.counts[:, some], "totals": in_all.counts[:, number]}
                parts |= {"sums": of_level.sums[some], "total_sum": in_all.sums[[number]]}
                found.append((level, name, replace(self, domain=replace(self.domain, kind=None), **parts)))
        return found


def summed(each: CountDistribution, total: CountDistribution, groups: IntArray, n_groups: int) -> CountDistribution:
    r"""Return distributions of sums of columns (the last axis), from those of each column and of all together.

    A column is a share s of the total, and so is a sum G of columns. With the relative variance
    :math:`\rho = (V - M) / M^2` of the total beyond chance, and what a column's share adds to it,
    :math:`r = v - \mu - \rho \mu^2`, sums have

    .. math:: \operatorname{Var} = \mu_G + \rho \mu_G^2 + (1 - s_G) \sum_{c \in G} \frac{r_c}{1 - s_c}.

    This is exact where shares are those of independent parts, each of a variance in proportion to its mean (as in a
    Dirichlet distribution), for a single column, and for all of them, whose shares add up to 1 without any variance.

    >>> one = CountDistribution(np.array([2.0, 3.0, 5.0]), np.array([3.0, 5.0, 9.0]))
    >>> summed(one, CountDistribution(np.array(10.0), np.array(15.0)), np.zeros(3, int), 1).variances.tolist()
    [15.0]
    """
    means, of_all = each.means, total.means[..., None]
    relative = np.maximum(total.variances[..., None] - of_all, 0.0) / np.maximum(np.square(of_all), _LEAST)
    of_shares = np.maximum(each.variances - means - relative * np.square(means), 0.0)
    others = np.maximum(1 - means / np.maximum(of_all, _LEAST), _LEAST)
    sums, apart = (sum_groups(part, groups, n_groups=n_groups, axis=-1) for part in (means, of_shares / others))
    rest = np.maximum(1 - sums / np.maximum(of_all, _LEAST), 0.0)
    return CountDistribution(sums, sums + relative * np.square(sums) + rest * apart)


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


def notable_bins(
    forecast: Forecast, series: Series, holidays: Mapping[str, str] | None = None
) -> dict[int, tuple[str, ...]]:
    """Return why bins of a forecast, by number, stand out from the series it was made of, in sentences.

    Only the total of all places is looked at, which is known better than any single place. ``holidays`` are names by
    ISO date.
    """
    time, named, of_holidays = forecast.domain.time, holidays or {}, dict[int, str]()
    if time.step not in ("week", "month", "year"):  # of a holiday's bins the first
        days = [str(start)[:10] for start in time.starts()]
        of_day = {day: gettext("Public holiday: %(name)s.", name=name) for day, name in named.items()}
        of_holidays = {days.index(day): words for day, words in of_day.items() if day in days}
    reasons = of_holidays, _unusual(forecast, series), _busy(forecast, series)
    bins = sorted(set().union(*reasons))
    return {bin: tuple(words[bin] for words in reasons if bin in words) for bin in bins}


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
            share, days = figures(f"{100 * abs(gap) / usual:.0f}%"), gettext(_WEEKDAYS[weekday])
            found[bin] = gettext(_MORE if gap > 0 else _FEWER, share=share, weekdays=days, n=len(same))
    return found


def _busy(forecast: Forecast, series: Series) -> dict[int, str]:
    """Return bins with a fair chance of a total that only few bins of the last year had."""
    step = series.domain.time.step
    recent = np.flatnonzero(series.observed[:, -1])[-season_length(step, "year") :]
    if len(recent) < _FEWEST_BINS:
        return {}
    limit = float(np.ceil(np.quantile(series.totals[recent], 1 - BUSY_SHARE)))
    chances = 1.0 - forecast.totals.below(np.full(len(forecast.totals.means), limit))
    one, found = gettext(_STEPS.get(step, _OTHER_STEP)), enumerate(chances.tolist())
    words = partial(gettext, _BUSY, step=one, limit=whole(limit), n=round(1 / BUSY_SHARE))
    return {bin: words(chance=figures(f"{100 * chance:.0f}%")) for bin, chance in found if chance >= BUSY_CHANCE}
