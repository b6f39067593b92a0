"""The parts of a forecast's page as plain values for its template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.languages import gettext
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import ALL, PlaceAxis
from tacit.forecast.forecast import Forecast, crews_for
from tacit.forecast.tables import labelled, table_columns
from tacit.pages.embedding import csv_link
from tacit.pages.figures import ON_PAGE, first_shade, places_chart, shade_limits, short_names
from tacit.pages.figures.counts import Counts, rounded, starts_of
from tacit.pages.figures.forecasts import expected_counts, expected_in_all, fan_chart, fan_rows, part_of
from tacit.pages.figures.maps import Outlines
from tacit.pages.headline import events_of
from tacit.pages.sections import map_layout, without_rows
from tacit.pages.selection import MOST_CELLS, MOST_KINDS, MOST_PLACES
from tacit.pages.tables import rows_in_words
from tacit.pages.words import (
    ONE_DECIMAL_BELOW,
    ahead,
    expected,
    how_often,
    level_noun,
    moment,
    number,
    plural,
    sentence_case,
    short_moment,
    step_noun,
)
from tacit.release import Release

TABLE_BINS: Final = 14  # two weeks of columns fit on a sheet; more are cut, and the page says so
# what a reader may choose for crews; others are added when asked for
QUANTILES: Final = (0.5, 0.75, 0.8, 0.9, 0.95, 0.99)
# bins of the past beside the future: four days, six weeks, a year, three years; twice as many make the fan narrower
_PAST_BINS: Final = {"hour": 96, "day": 42, "week": 52, "month": 36, "year": 20}
_WHOLE: Final = "all"
_DIGITS: Final = 4  # more than are ever shown: what is rounded twice may end up elsewhere


@dataclass(frozen=True, slots=True, eq=False)
class Coming:
    """A forecast beside the release it was made of: what a page shows of both for one choice of kind.

    ``forecast`` is that of places, of all kinds together or of the group or kind that ``level`` and ``name`` say;
    ``n_views`` is how many choices there are. ``past`` are the refined counts of the same, bins x (all together, then
    places), NaN where there is none. ``kept`` are the numbers of the places shown, ``levels`` the two levels of the
    intervals, the narrower first; ``quantile`` is how sure crews are to be enough, and ``per_crew`` how many events one
    handles in a bin, none if nobody asked for crews. ``events`` is what readers call the events.
    """

    forecast: Forecast
    release: Release
    past: FloatArray
    kept: NDArray[np.int64]
    levels: tuple[float, float]
    quantile: float
    per_crew: float | None
    events: str
    level: str = ALL
    name: str = ""
    n_views: int = 1

    @property
    def places(self) -> PlaceAxis:
        """The places shown, as an axis of their own."""
        return self.forecast.domain.place.keep(self.kept)

    @property
    def step(self) -> str:
        return self.forecast.domain.time.step

    @property
    def n_bins(self) -> int:
        return self.forecast.domain.shape[0]

    @property
    def n_drawn(self) -> int:
        """The number of bins that can be chosen on the map: as many as a page can carry."""
        return max(min(self.n_bins, MOST_CELLS // (4 * self.n_views * max(len(self.kept), 1))), 1)

    @property
    def n_in_fan(self) -> int:
        """The number of bins that are drawn for every place."""
        return max(min(self.n_bins, 2 * MOST_CELLS // (self.n_views * (len(self.kept) + 1))), 1)

    @property
    def labels(self) -> list[str]:
        return self.forecast.domain.time.labels()

    @property
    def horizon(self) -> str:
        """The horizon in words: the next 7 days."""
        return ahead(self.n_bins, self.step)


def coming(
    forecast: Forecast,
    release: Release,
    series: Series,
    levels: tuple[float, float],
    quantile: float,
    per_crew: float | None,
    events: str,
) -> list[Coming]:
    """Choose what of a forecast a page shows, for each choice of kind: all kinds first; without kinds that alone."""
    found = forecast.by_kinds()
    by_level: dict[str, list[float]] = {}
    for level, _, part in found:
        by_level.setdefault(level, []).append(-float(part.total_sum.means[0]))
    least = {level: sorted(sizes)[:MOST_KINDS][-1] for level, sizes in by_level.items()}
    views = [view for view in found if -float(view[2].total_sum.means[0]) <= least[view[0]]]
    most_places = MOST_PLACES if len(views) == 1 else MOST_CELLS // (len(views) * TABLE_BINS)
    sizes = views[0][2].sums.means
    kept = np.sort(np.argsort(-sizes, kind="stable")[: min(MOST_PLACES, max(most_places, 1))])
    asked = (kept, levels, quantile, per_crew, events)
    return [
        Coming(part, release, _past(release, series, level, name), *asked, level, name, len(views))
        for level, name, part in views
    ]


def _past(release: Release, series: Series, level: str, name: str) -> FloatArray:
    """Return the refined counts of all places together and of each, of all kinds or one choice of them."""
    domain, observed = series.domain, series.observed[:, :-1]
    values = np.where(observed, release.refined.values, np.nan)
    if domain.kind is not None:
        added, grouping = domain.coarsen(kind=level)
        number = 0 if added.kind is None else added.kind.cells.index(name)
        values = grouping.sums(values)[:, number :: added.n_kinds]
    whole = values.sum(axis=1) if name else np.where(series.observed[:, -1], series.totals, np.nan)
    return np.column_stack([whole, values])


def headline(shown: Coming) -> list[dict[str, str]]:
    """Return the numbers to know first, each with a sentence."""
    forecast, labels = shown.forecast, shown.labels
    place, kind = forecast.domain.place, shown.release.domain.kind
    first = part_of(forecast.totals, slice(1))
    places = plural(level_noun(place.level))
    together = "" if place.is_all else gettext("All %(places)s together.", places=places)
    if kind is not None and not shown.name and place.is_all:
        together = gettext("All %(places)s together.", places=plural(level_noun(kind.level)))
    elif kind is not None and not shown.name:
        together = gettext(
            "All %(places)s and %(kinds)s together.", places=places, kinds=plural(level_noun(kind.level))
        )
    events = events_of(shown.events, shown.level, shown.name)
    name = gettext("%(events)s expected %(when)s", events=events, when=_on(labels[0]))
    items = [_figure(name, first, shown, together)]
    if shown.n_bins > 1:
        whole = CountDistribution(np.atleast_1d(forecast.total_sum.means), np.atleast_1d(forecast.total_sum.variances))
        items.append(_figure(gettext("in %(horizon)s", horizon=shown.horizon), whole, shown, together))
        top = int(np.argmax(forecast.totals.means))
        if top > 0 and forecast.totals.means[top] > 1.02 * np.median(forecast.totals.means):
            remark = gettext("The largest number expected for one %(place)s.", place=step_noun(shown.step))
            items.append(_figure(_on(labels[top]), part_of(forecast.totals, [top]), shown, remark))
    if place.n_cells > 1:
        busiest = int(np.argmax(forecast.counts.means[0]))
        where = gettext("in %(place)s", place=place.cells[busiest])
        remark = gettext("The largest number expected for one %(place)s.", place=level_noun(place.level))
        items.append(_figure(f"{where} {_on(labels[0])}", part_of(forecast.counts, (0, [busiest])), shown, remark))
    return items


def _figure(name: str, distribution: CountDistribution, shown: Coming, remark: str) -> dict[str, str]:
    spans = []
    for level in shown.levels:
        lower, upper = distribution.intervals(level)
        limits = {"often": how_often(level), "lower": number(lower[0]), "upper": number(upper[0])}
        spans.append(gettext("%(often)s between %(lower)s and %(upper)s", **limits))
    note = f"{remark} {sentence_case(', '.join(spans))}.".strip()
    return {"value": expected(float(distribution.means[0])), "name": name, "note": note}


def _on(label: str) -> str:
    day, _, time = label.partition("T")
    when = moment(label)
    if time:
        return gettext("from %(moment)s", moment=when)
    if "W" in day:
        return gettext("in %(week)s", week=when)
    return gettext("on %(day)s", day=when) if len(day.split("-")) == 3 else gettext("in %(period)s", period=when)


def maps(shown: Coming, drawing: Outlines | None) -> dict[str, Any]:
    """Return the map of one choice of kind: what :func:`map_periods` says, and where places stand."""
    found = map_periods(shown)
    return found | {"first": 1 if shown.n_bins > 1 else 0} | map_layout(shown.places, found["limits"], drawing)


def map_periods(shown: Coming) -> dict[str, Any]:
    """Return the numbers and shades of the map: one state for the whole horizon, one for each bin to choose."""
    narrow, wide = (
        [expected_counts(shown.forecast, level).first(shown.n_drawn), expected_in_all(shown.forecast, level)]
        for level in shown.levels
    )
    limits = {counts.step: shade_limits(_as_said(counts.of_places(shown.kept).values)) for counts in narrow}
    periods = [
        _state(counts, outer, bin, limits[counts.step], shown)
        for counts, outer in (
            zip(narrow[::-1], wide[::-1], strict=True) if shown.n_bins > 1 else [(narrow[0], wide[0])]
        )
        for bin in range(len(counts.periods))
    ]
    first_shades = {step: first_shade(found) for step, found in limits.items()}
    return {"periods": periods, "limits": limits, "first_shades": first_shades}


def _state(counts: Counts, outer: Counts, bin: int, limits: Sequence[int], shown: Coming) -> dict[str, Any]:
    kept = shown.kept
    shades = np.searchsorted(limits, _as_said(counts.values[bin, kept]), side="right") + first_shade(limits)
    return {
        "label": sentence_case(shown.horizon) if counts.step == _WHOLE else moment(counts.periods[bin]),
        "limits": counts.step,
        "shade": shades.tolist(),
        "expected": rounded(counts.values[bin, kept], _DIGITS).tolist(),
        "lower": [c.lower[bin, kept].round().tolist() for c in (counts, outer)],
        "upper": [c.upper[bin, kept].round().tolist() for c in (counts, outer)],
    }


def _as_said(values: FloatArray) -> FloatArray:
    """Return expected counts as :func:`expected` says them, so that 4.98, which reads 5.0, has the shade of 5.

    >>> _as_said(np.array([0.43, 4.98, 9.96, 24.4])).tolist()
    [0.4, 5.0, 10.0, 24.0]
    """
    return np.where(values < ONE_DECIMAL_BELOW, rounded(values, 1), rounded(values))


def past(shown: Coming) -> dict[str, Any]:
    """Return the last bins that were counted, as the release refined them: all together first, then each place."""
    time, n_times = shown.release.domain.time, len(shown.past)
    n_past = max(_PAST_BINS.get(shown.step, 42), 2 * shown.n_bins)
    n_past = max(min(n_past, n_times, MOST_CELLS // (shown.n_views * (len(shown.kept) + 1))), 1)
    part = slice(n_times - n_past, n_times)
    rows = rounded(shown.past[part][:, [0, *(shown.kept + 1)]].T, 1)
    return {
        "start": list(starts_of(time)[part]),
        "count": [[None if value != value else value for value in row] for row in rows.tolist()],
    }


def fan(shown: Coming) -> dict[str, Any]:
    """Return expected counts and limits as columns: all places together first, then each; outermost limits first."""
    counts, totals, n_bins = shown.forecast.counts, shown.forecast.totals, shown.n_in_fan
    distribution = CountDistribution(
        np.column_stack([totals.means, counts.means[:, shown.kept]])[:n_bins],
        np.column_stack([totals.variances, counts.variances[:, shown.kept]])[:n_bins],
    )
    content: dict[str, Any] = {
        "start": list(starts_of(shown.forecast.domain.time)[:n_bins]),
        "label": [moment(label) for label in shown.labels[:n_bins]],
        "expected": rounded(distribution.means.T, _DIGITS).tolist(),
    }
    for number_of, level in enumerate(reversed(shown.levels)):
        lower, upper = distribution.intervals(level)
        content |= {f"lower{number_of}": lower.T.tolist(), f"upper{number_of}": upper.T.tolist()}
    return content


def specs(shown: Coming) -> dict[str, Any]:
    """Return the charts as Vega-Lite; their rows are put in by the page's script."""
    counts = expected_in_all(shown.forecast, shown.levels[0]).of_places(shown.kept)
    charts = {
        "fan": fan_chart([], fan_rows(shown.forecast, shown.levels, None), palette=ON_PAGE),
        "places": places_chart(counts, 0, short_names(shown.places.cells), palette=ON_PAGE),
    }
    return {name: without_rows(chart, "past", "fan", "places", "picked") for name, chart in charts.items()}


def crews(shown: Coming) -> dict[str, Any] | None:
    """Return counts that are not exceeded with each probability on offer, and the crews for the one asked for.

    None where nobody asked for crews.
    """
    if shown.per_crew is None:
        return None
    n_bins = min(shown.n_bins, 24 if shown.step == "hour" else TABLE_BINS)
    forecast, kept = shown.forecast, shown.kept
    each, total = (part_of(one, slice(n_bins)) for one in (forecast.counts, forecast.totals))
    shares = sorted({*QUANTILES, shown.quantile})
    asked = {"quantile": shown.quantile, "per_crew": shown.per_crew}
    needed = crews_for(each, **asked)
    return {
        "heads": [short_moment(label) for label in shown.labels[:n_bins]],
        "shares": [
            {"value": f"{share:g}", "words": how_often(share), "asked": share == shown.quantile} for share in shares
        ],
        "counts": {
            f"{share:g}": [
                total.quantiles(share).astype(int).tolist(),
                *each.quantiles(share)[:, kept].T.astype(int).tolist(),
            ]
            for share in shares
        },
        "rows": [{"place": forecast.domain.place.cells[cell], "crews": needed[:, cell].tolist()} for cell in kept],
        "sum": needed[:, kept].sum(axis=1).tolist(),
        "shared": crews_for(total, **asked).tolist(),
        "is_cut": n_bins < shown.n_bins,
    }


def view_data(shown: Coming) -> dict[str, Any]:
    """Return all numbers of one choice of kind that the page's script draws."""
    needed = crews(shown)
    found: dict[str, Any] = {
        "name": shown.name,
        "maps": map_periods(shown),
        "past": past(shown),
        "fan": fan(shown),
        "crews": None if needed is None else needed["counts"],
    }
    return found if shown.n_views == 1 else found | {"headline": headline(shown)}


def kinds(views: Sequence[Coming]) -> dict[str, Any] | None:
    """Return what a page says of kinds: what may be chosen, by level, and what is expected of each, largest first."""
    axis = views[0].release.domain.kind
    if axis is None:
        return None
    levels: dict[str, list[dict[str, Any]]] = {}
    for number_of_view, view in enumerate(views):
        if view.name:
            levels.setdefault(level_noun(view.level), []).append({"view": number_of_view, "name": view.name})
    single = [n for n, view in enumerate(views) if view.name and view.level == axis.level]
    single.sort(key=lambda n: -float(views[n].forecast.total_sum.means[0]))
    return {
        "noun": level_noun(axis.level),
        "levels": levels,
        "n_kinds": axis.n_cells,
        "n_shown": len(single),
        "rows": [
            {"view": n, "name": views[n].name, "cells": _cells(distribution, views[n].levels[0])}
            for n in single
            for distribution in (_first_and_all(views[n].forecast),)
        ],
    }


def _first_and_all(forecast: Forecast) -> CountDistribution:
    """Return the first bin of all places together, and, where there are more, the whole horizon."""
    parts = [forecast.totals[:1], *([forecast.total_sum] if len(forecast.totals.means) > 1 else [])]
    return CountDistribution.joined(parts)


def table_link(forecast: Forecast, shown: Coming, synthetic: str | None) -> dict[str, str] | None:
    """Return a link to all numbers of the forecast, in the page itself; none if they are too many for one."""
    if shown.n_views * shown.n_bins * (shown.forecast.domain.place.n_cells + 1) > MOST_CELLS:
        return None
    table = table_columns(forecast, levels=shown.levels, quantile=shown.quantile)
    columns = labelled(forecast, table, *([f"Synthetic data: {synthetic}"] if synthetic else []))
    rows = list(zip(*columns.values(), strict=True))
    href = csv_link(tuple(columns), rows)
    return {"href": href, "file": "forecast.csv", "size": rows_in_words(len(rows))}


def matrix(shown: Coming) -> dict[str, Any]:
    """Return the table of places by bins that stands in the page, all places together last."""
    n_bins = min(shown.n_bins, TABLE_BINS)
    forecast, level = shown.forecast, shown.levels[0]
    cells, bins = forecast.domain.place.cells, slice(n_bins)
    rows = [(cells[cell], part_of(forecast.counts, (bins, cell))) for cell in shown.kept]
    together = gettext("All %(places)s together", places=plural(level_noun(forecast.domain.place.level)))
    if forecast.domain.place.is_all:  # one row, of what readers call the events
        rows, together = [], sentence_case(shown.events)
    rows.append((together, part_of(forecast.totals, bins)))
    return {
        "heads": [short_moment(label) for label in shown.labels[:n_bins]],
        "rows": [{"place": place, "cells": _cells(distribution, level)} for place, distribution in rows],
        "is_cut": n_bins < shown.n_bins,
    }


def _cells(distribution: CountDistribution, level: float) -> list[dict[str, str]]:
    lower, upper = distribution.intervals(level)
    return [
        {"value": expected(mean), "span": f"{number(low)}–{number(high)}"}
        for mean, low, high in zip(distribution.means.tolist(), lower.tolist(), upper.tolist(), strict=True)
    ]
