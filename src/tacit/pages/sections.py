"""The parts of a page as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tacit.domain import PlaceAxis
from tacit.pages.figures import (
    ON_PAGE,
    Choice,
    Counts,
    Errors,
    choices,
    choices_chart,
    errors_by,
    first_shade,
    places_chart,
    series_chart,
    shade_limits,
    shades,
    short_names,
    small_chart,
    tile_map,
)
from tacit.pages.figures.charts import MOST_PLACES
from tacit.pages.figures.counts import rounded, tenths
from tacit.pages.figures.maps import Outlines
from tacit.pages.headline import headline, in_words, period_name
from tacit.pages.selection import MOST_CELLS, Selection, View, select
from tacit.pages.words import level_noun, period

MOST_SMALL_CHARTS: Final = 24  # a choice: as many as fill two screens; of more the largest are drawn
_LABELED_TILES: Final = 60  # a choice: more tiles are too small for numbers
_ERROR_STEPS: Final = ("day", "week", "month", "year")


def kinds(selection: Selection) -> dict[str, Any] | None:
    """Return what a page says of kinds: what may be chosen, by level, and small charts, the largest kinds first."""
    axis = selection.release.domain.kind
    if axis is None:
        return None
    levels: dict[str, list[dict[str, Any]]] = {}
    for number_of_view, view in enumerate(selection.views):
        if view.name:
            levels.setdefault(level_noun(view.level), []).append({"view": number_of_view, "name": view.name})
    largest = selection.single_kinds
    return {
        "noun": level_noun(axis.level),
        "levels": levels,
        "charts": [
            {"view": n, "name": selection.views[n].name}
            | dict(zip(("value", "note"), in_words(selection.views[n].total, 0, 0), strict=True))
            for n in largest[:MOST_SMALL_CHARTS]
        ],
        "n_kinds": axis.n_cells,
        "n_shown": len(largest),
    }


def maps(selection: Selection, drawing: Outlines | None) -> dict[str, Any]:
    """Return the map of all kinds, one state for every period a reader may choose."""
    found = map_periods(selection, selection.all_kinds)
    return found | {"first": 0} | map_layout(selection.places, found["limits"], drawing)


def map_periods(selection: Selection, view: View) -> dict[str, Any]:
    """Return the numbers and shades of every period on the map, for a choice of kind."""
    limits = {
        counts.step: shade_limits(counts.shown[counts.reliable])
        for counts in (view.whole, view.maps)
        if counts is not None
    }
    periods = [
        {
            "label": period_name(counts, bin, selection.release),
            "exact": counts.is_exact,
            "limits": counts.step,
            "shade": shades(counts, bin, limits[counts.step]),
        }
        | _numbers(counts, bin)
        for counts, bin in view.map_periods
    ]
    first_shades = {step: first_shade(found) for step, found in limits.items()}
    return {"periods": periods, "limits": limits, "first_shades": first_shades}


def map_layout(axis: PlaceAxis, limits: Mapping[str, Sequence[int]], drawing: Outlines | None) -> dict[str, Any]:
    """Return what all periods of a map share: its shades, by kind of period, and where places stand."""
    layout = tile_map(axis)
    return {
        "limits": limits,
        "first_shades": {step: first_shade(found) for step, found in limits.items()},
        "n_columns": layout.n_columns,
        "tiles": [{"column": column + 1, "row": row + 1} for column, row in layout.tiles],
        # the Tab key goes along the rows of the map
        "order": sorted(range(axis.n_cells), key=lambda n: layout.tiles[n][::-1]),
        "is_labeled": axis.n_cells <= _LABELED_TILES and not (drawing is not None and drawing.are_points),
        "drawing": drawing,
        "without_outline": 0 if drawing is None else axis.n_cells - len(drawing.paths),
    }


def _numbers(counts: Counts, period: int) -> dict[str, list[Any]]:
    columns = counts.places_columns(period)
    return {
        name: columns[name] for name in ("estimate", "lower", "upper", "reliable", "status", "word") if name in columns
    }


def view_data(selection: Selection, view: View) -> dict[str, Any]:
    """Return all numbers of one choice of kind that a page's script draws; names of periods stand beside all views."""
    n_views = len(selection.views)
    found = {
        "name": view.name,
        "maps": map_periods(selection, view),
        "series": {step: series(counts, n_views) for step, counts in view.series.items()},
        "totals": {step: series(counts, n_views) for step, counts in view.totals.items()},
        "recent": None if view.recent is None else series(view.recent, n_views),
    }
    return (
        found if n_views == 1 else found | {"headline": headline(selection, view), "total": in_words(view.total, 0, 0)}
    )


def measured_views(selection: Selection) -> list[dict[str, Any]] | None:
    """Return the views of the measured counts, to switch to; None where a page has one number only.

    Rules suppress the same counts of both, judged by what is recommended.
    """
    release = selection.release
    if not release.has_refined_intervals:
        return None
    measured = replace(release, refined=release.unbiased, refinement="raw")
    other = select(measured, selection.events, like=selection)
    return [view_data(other, view) for view in other.views]


def series_periods(selection: Selection) -> dict[str, dict[str, Any]]:
    """Return the periods of all time series, by step; those of the last days as ``recent``."""
    view = selection.all_kinds
    drawn = dict(view.series) | ({} if view.recent is None else {"recent": view.recent})
    return {
        name: counts.period_columns() | {"period": [period(label) for label in counts.periods]}
        for name, counts in drawn.items()
    }


def series(counts: Counts, n_views: int = 1) -> dict[str, Any]:
    """Return all places through time, as columns: what a page's script turns into rows. Exact counts have no limits."""
    digits = 1 if counts.values.size * n_views < MOST_CELLS / 4 else 0
    content: dict[str, Any] = {"exact": counts.is_exact}
    limits = () if counts.is_exact else (("lower", counts.lower, 0), ("upper", counts.upper, 0))
    for name, values, n in (("estimate", counts.values, digits), *limits):
        numbers = (tenths(values.T) if n else rounded(values.T)).astype(object)
        numbers[counts.is_hidden.T] = None
        content[name] = numbers.tolist()
    if counts.has_rules:
        content["status"] = counts.status.T.tolist()
    return content


def error_rows(selection: Selection) -> tuple[list[Errors], list[Choice]]:
    """Return the standard errors of places' counts, for each kind of period and for every epsilon."""
    release = selection.release
    view = selection.all_kinds
    drawn = [view.recent, *reversed(list(view.series.values()))]
    steps = [counts.step for counts in drawn if counts is not None and counts.step in _ERROR_STEPS]
    rows = [errors for errors in (errors_by(release, step) for step in steps) if errors is not None]
    return rows, choices(release, rows)


def specs(selection: Selection, errors: Sequence[Errors], found: Sequence[Choice]) -> dict[str, Any]:
    """Return the charts as Vega-Lite; their rows are put in by the page's script."""
    view, first = selection.all_kinds, selection.first_series
    names = short_names(view.whole.places)
    charts: dict[str, Any] = {}
    if len(names) <= MOST_PLACES:  # of more there is a list
        charts["places"] = places_chart(view.whole, 0, names, palette=ON_PAGE)
    if first is not None:
        # one chart serves all kinds: it has a band if any of them has one
        of_totals, of_places = (
            next((counts for counts in drawn if not counts.is_exact), drawn[0]).last(1)
            for drawn in (
                [one.totals[first] for one in selection.views],
                [one.series[first] for one in selection.views],
            )
        )
        charts["totals"] = series_chart(of_totals, 0, height=240, palette=ON_PAGE)
        charts["series"] = series_chart(of_places, 0, height=240, palette=ON_PAGE)
        if selection.single_kinds:
            charts["kinds"] = small_chart(of_totals, palette=ON_PAGE)
    if view.recent is not None:
        charts["recent"] = series_chart(view.recent.last(1), 0, height=200, palette=ON_PAGE)
    if has_choices_chart(errors, found):
        charts["choices"] = choices_chart(found, middle(errors), palette=ON_PAGE)
    return {name: without_rows(chart) for name, chart in charts.items()}


def has_choices_chart(errors: Sequence[Errors], found: Sequence[Choice]) -> bool:
    """Return whether error against epsilon can be drawn: on a logarithmic scale no error is zero."""
    return bool(errors) and all(choice.errors and min(choice.errors) > 0 for choice in found)


def without_rows(chart: Any, *names: str) -> dict[str, Any]:
    """Return a chart as Vega-Lite without the rows of these data sets; if none, all but error against epsilon."""
    spec: dict[str, Any] = _without_rows(chart.to_dict(validate=False), names or ("series", "places", "picked", "top"))
    return spec


def _without_rows(part: Any, names: Sequence[str]) -> Any:
    if isinstance(part, list):
        return [_without_rows(item, names) for item in part]
    if not isinstance(part, dict):
        return part
    if "values" in part and part.get("name") in names:
        return {"name": part["name"]}
    return {key: _without_rows(item, names) for key, item in part.items() if key != "$schema"}


def middle(errors: Sequence[Errors]) -> int:
    """Return the kind of period error against epsilon is drawn for: months where there are any."""
    steps = [one.step for one in errors]
    return steps.index("month") if "month" in steps else 0
