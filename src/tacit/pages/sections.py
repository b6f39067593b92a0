"""The parts of a page as plain values for its template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tacit._base.rounding import at_most, epsilon_at_most, percent
from tacit.domain import PlaceAxis
from tacit.pages.embedding import csv_link
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
    tile_map,
)
from tacit.pages.figures.counts import HIDDEN_WORDS, rounded
from tacit.pages.figures.maps import Outlines
from tacit.pages.selection import MOST_CELLS, Selection
from tacit.pages.words import (
    column_width,
    counted,
    number,
    period,
    plural,
    rounded_percent,
    sentence_case,
    sheets,
    span,
    step_noun,
)
from tacit.release import PrivacyStatement, Release

_TABLE: Final = ("period", "place", "estimate", "standard_error", "lower", "upper", "reliable")
_LABELED_TILES: Final = 60  # a choice: more tiles are too small for numbers
_ERROR_STEPS: Final = ("day", "week", "month", "year")


def headline(selection: Selection) -> list[dict[str, str]]:
    """The numbers to know first, each with a sentence."""
    release = selection.release
    estimate, place = release.unbiased, release.domain.place
    n_times, n_places = release.domain.shape
    items = []
    if estimate.totals is not None:
        items.append(
            {
                "value": number(int(estimate.totals.sum())),
                "name": "events reported",
                "note": f"{sentence_case(time_span(release))}{_lacking(release.rules.n_days_missing)}. "
                "An exact number: how many reports came in is public.",
            }
        )
    items.append(
        {
            "value": number(n_places),
            "name": plural(place.level),
            "note": f"Counted in each of {counted(n_times, step_noun(release.domain.time.step))}.",
        }
    )
    if not selection.whole.is_hidden.all():
        items.append(_busiest(selection))
    items.append(_protection(release.statement))
    return items


def _busiest(selection: Selection) -> dict[str, str]:
    whole = selection.whole
    top = int(np.argmax(np.where(whole.is_hidden[0], -np.inf, whole.values[0])))
    limits = f"between {number(whole.lower[0, top])} and {number(whole.upper[0, top])}"
    certainty = "an exact, public number." if whole.is_exact else f"{limits} ({percent(whole.level)} interval)."
    level = selection.release.domain.place.level
    if not whole.reliable[0, top]:
        return {
            "value": f"{number(whole.lower[0, top])}–{number(whole.upper[0, top])}",
            "name": f"in {whole.places[top]}",
            "note": f"The {percent(whole.level)} interval of the largest estimate: too uncertain for one number, "
            f"and to tell which {level} is the busiest.",
        }
    return {
        "value": number(whole.shown[0, top]),
        "name": f"in {whole.places[top]}",
        "note": f"The busiest {level}; {certainty}",
    }


def _protection(statement: PrivacyStatement) -> dict[str, str]:
    epsilon = epsilon_at_most(statement.total_epsilon)
    if statement.is_simulation:
        return {
            "value": "None",
            "name": "is the protection of a simulation",
            "note": f"With secret {'noise' if statement.is_central else 'coins'}, epsilon {epsilon} would have held.",
        }
    if statement.is_void:
        return {
            "value": "None",
            "name": "is what is left of the protection",
            "note": "What some reports of these events hide, others publish.",
        }
    secret = " and ".join(statement.guarantee.hidden)
    if statement.is_central:
        return {
            "value": f"{at_most(statement.odds)} to 1",
            "name": "is the most odds can change",
            "note": f"What all that was published tells about {statement.about_what}, at epsilon {epsilon}.",
        }
    tells = f"What one report tells about an {statement.unit}'s {secret}"
    if not statement.is_alone:
        tells = f"What all that was made of one {statement.unit} tells about its {secret}"
    return {
        "value": f"{at_most(statement.odds)} to 1",
        "name": "is the most odds can change",
        "note": f"{tells}, at epsilon {epsilon}.",
    }


def maps(selection: Selection, drawing: Outlines | None) -> dict[str, Any]:
    """The map, one state for every period a reader may choose."""
    limits = {
        counts.step: shade_limits(counts.shown[counts.reliable])
        for counts in (selection.whole, selection.maps)
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
        for counts, bin in selection.map_periods
    ]
    return {"periods": periods, "first": selection.first_map} | map_layout(selection.places, limits, drawing)


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
        "is_labeled": axis.n_cells <= _LABELED_TILES,
        "drawing": drawing,
        "without_outline": 0 if drawing is None else axis.n_cells - len(drawing.paths),
    }


def _numbers(counts: Counts, period: int) -> dict[str, list[Any]]:
    columns = counts.places_columns(period)
    return {
        name: columns[name] for name in ("estimate", "lower", "upper", "reliable", "status", "word") if name in columns
    }


def series(counts: Counts) -> dict[str, Any]:
    """All places through time, as columns: what a page's script turns into rows."""
    digits = 1 if counts.values.size < MOST_CELLS / 4 else 0
    content: dict[str, Any] = counts.period_columns()
    content["period"] = [period(label) for label in counts.periods]
    content["exact"] = counts.is_exact
    for name, values, n in (
        ("estimate", counts.values, digits),
        ("lower", counts.lower, 0),
        ("upper", counts.upper, 0),
    ):
        numbers = rounded(values.T, n).astype(object)
        numbers[counts.is_hidden.T] = None
        content[name] = numbers.tolist()
    if counts.has_rules:
        content["status"] = counts.status.T.tolist()
    return content


def error_rows(selection: Selection) -> tuple[list[Errors], list[Choice]]:
    """Return the standard errors of places' counts, for each kind of period and for every epsilon."""
    release = selection.release
    drawn = [selection.recent, *reversed(list(selection.series.values()))]
    steps = [counts.step for counts in drawn if counts is not None and counts.step in _ERROR_STEPS]
    kinds = [errors for errors in (errors_by(release, step) for step in steps) if errors is not None]
    return kinds, choices(release, kinds)


def specs(selection: Selection, kinds: Sequence[Errors], found: Sequence[Choice]) -> dict[str, Any]:
    """The charts as Vega-Lite; their rows are put in by the page's script."""
    names = short_names(selection.whole.places)
    charts: dict[str, Any] = {"places": places_chart(selection.whole, 0, names, palette=ON_PAGE)}
    first = selection.first_series
    if first is not None:
        charts["totals"] = series_chart(selection.totals[first].last(1), 0, height=240, palette=ON_PAGE)
        charts["series"] = series_chart(selection.series[first].last(1), 0, height=240, palette=ON_PAGE)
    if selection.recent is not None:
        charts["recent"] = series_chart(selection.recent.last(1), 0, height=200, palette=ON_PAGE)
    if has_choices_chart(kinds, found):
        charts["choices"] = choices_chart(found, middle(kinds), palette=ON_PAGE)
    return {name: without_rows(chart) for name, chart in charts.items()}


def has_choices_chart(kinds: Sequence[Errors], found: Sequence[Choice]) -> bool:
    """Whether error against epsilon can be drawn: on a logarithmic scale no error is zero."""
    return bool(kinds) and all(choice.errors and min(choice.errors) > 0 for choice in found)


def without_rows(chart: Any, *names: str) -> dict[str, Any]:
    """A chart as Vega-Lite without the rows of these data sets: all but the few of error against epsilon, if none."""
    spec: dict[str, Any] = _without_rows(chart.to_dict(validate=False), names or ("series", "places", "picked"))
    return spec


def _without_rows(part: Any, names: Sequence[str]) -> Any:
    if isinstance(part, list):
        return [_without_rows(item, names) for item in part]
    if not isinstance(part, dict):
        return part
    if "values" in part and part.get("name") in names:
        return {"name": part["name"]}
    return {key: _without_rows(item, names) for key, item in part.items() if key != "$schema"}


def middle(kinds: Sequence[Errors]) -> int:
    """The kind of period error against epsilon is drawn for: months where there are any."""
    steps = [errors.step for errors in kinds]
    return steps.index("month") if "month" in steps else 0


def tables(selection: Selection, synthetic: str | None) -> list[dict[str, str]]:
    """Links to tables in the page itself, each with the statement at its head."""
    remarks = [
        "Made by Tacit. Lines that begin with # are not data.",
        f"All numbers here are {shown_words(selection.release)} counts of the release and about them; 'reliable' "
        "judges them, as in its table.",
    ]
    remarks += [f"Synthetic data: {synthetic}"] if synthetic else []
    remarks += selection.release.statement.text().splitlines()
    offered = {counts.step: counts for counts in (selection.whole, selection.maps) if counts is not None}
    offered |= {step: c for step, c in selection.series.items() if c.values.size <= MOST_CELLS / 4}
    return [
        {
            "href": csv_link(_table_head(counts), _table_rows(counts), remarks=remarks),
            "file": f"counts-{'in-all' if step == 'all' else 'by-' + step.replace(' ', '-')}.csv",
            "words": "in all" if step == "all" else f"by {step}",
            "size": counted(counts.values.size, "row"),
        }
        for step, counts in offered.items()
    ]


def _table_head(counts: Counts) -> tuple[str, ...]:
    """The columns of the table; those about rules only where there is something to say."""
    status = ("status",) if counts.has_rules else ()
    return (*_TABLE, *status, *(("days_missing",) if any(counts.days_missing) else ()))


def _table_rows(counts: Counts) -> Iterator[tuple[Any, ...]]:
    values, errors = rounded(counts.values, 1), rounded(counts.standard_errors, 1)
    is_hidden = counts.is_hidden
    for bin, label in enumerate(counts.periods):
        for cell, place in enumerate(counts.places):
            numbers: tuple[Any, ...] = (
                float(values[bin, cell]),
                float(errors[bin, cell]),
                round(float(counts.lower[bin, cell])),
                round(float(counts.upper[bin, cell])),
            )
            yield (
                label,
                place,
                *(("",) * len(numbers) if is_hidden[bin, cell] else numbers),
                "yes" if counts.reliable[bin, cell] else "no",
                *((counts.status[bin, cell],) if counts.has_rules else ()),
                *((counts.days_missing[bin],) if any(counts.days_missing) else ()),
            )


def matrix(selection: Selection) -> dict[str, Any]:
    """The table of places by periods that stands in the page."""
    columns = selection.map_periods
    heads = [period_name(counts, bin, selection.release) for counts, bin in columns]
    rows: list[dict[str, Any]] = [
        {
            "place": place,
            "cells": [
                {
                    "value": number(counts.values[bin, cell]),
                    "lower": number(counts.lower[bin, cell]),
                    "upper": number(counts.upper[bin, cell]),
                    "reliable": bool(counts.reliable[bin, cell]),
                    "exact": counts.is_exact,
                    "hidden": HIDDEN_WORDS.get(counts.status[bin, cell], ""),
                }
                for counts, bin in columns
            ],
        }
        for cell, place in enumerate(selection.whole.places)
    ]
    return {"periods": heads, "rows": rows, "sheets": sheets(_widths(heads, [row["cells"] for row in rows]))}


def _widths(heads: Sequence[str], rows: Sequence[Sequence[Mapping[str, Any]]]) -> list[float]:
    return [
        column_width(
            head,
            [cell["hidden"] or f"{cell['value']}*" for cell in cells],
            [limit for cell in cells if not cell["hidden"] for limit in (cell["lower"], cell["upper"])],
        )
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]


def shown_words(release: Release) -> str:
    """Which of a release's counts a page shows."""
    return "refined" if release.has_refined_intervals else "unbiased"


def unsure_words(release: Release) -> str:
    """Why a count is marked as too uncertain for one number."""
    rules = release.rules
    limit = rules.largest_relative_error
    share = "a third" if limit is None else rounded_percent(limit)
    also = f", or a rule greys it ({' or '.join(map(str, rules.grey))})" if rules.grey else ""
    return f"its standard error is more than {share} of it{also}"


def time_span(release: Release) -> str:
    """Return the first and last period in as few words as are true."""
    axis = release.domain.time
    return span(axis.label(0), axis.label((axis.n_bins or 1) - 1))


def period_name(counts: Counts, bin: int, release: Release) -> str:
    """A period of the map in words; one that lacks days says so wherever it is named."""
    name = time_span(release) if counts.step == "all" else period(counts.periods[bin])
    is_whole = not counts.days_missing or not counts.is_partial[bin]
    return name if is_whole else f"{name}{_lacking(counts.days_missing[bin])}"


def _lacking(n_days: int) -> str:
    return f" ({counted(n_days, 'day')} without data)" if n_days else ""


def default_title(release: Release) -> str:
    """A title where none is given."""
    return f"{sentence_case(release.plan.name)} by {release.domain.place.level}, {time_span(release)}"
