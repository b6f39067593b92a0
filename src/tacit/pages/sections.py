"""The parts of a page as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from tacit._base.languages import gettext, message, ngettext, retold
from tacit._base.rounding import at_most, epsilon_at_most, percent
from tacit._base.sentences import listed
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
from tacit.pages.figures.counts import hidden_word, rounded
from tacit.pages.figures.maps import Outlines
from tacit.pages.selection import MOST_CELLS, Selection, View, select
from tacit.pages.words import (
    counted,
    level_noun,
    number,
    period,
    plural,
    rough_at_least,
    rough_at_most,
    rounded_percent,
    sentence_case,
    span,
    step_name,
    step_noun,
)
from tacit.release import PrivacyStatement, Release

MOST_SMALL_CHARTS: Final = 24  # a choice: as many as fill two screens; of more the largest are drawn
_PUBLIC: Final = message("An exact number: how many reports came in is public.")
_LABELED_TILES: Final = 60  # a choice: more tiles are too small for numbers
_ERROR_STEPS: Final = ("day", "week", "month", "year")


def headline(selection: Selection, view: View) -> list[dict[str, str]]:
    """Return the numbers to know first about a choice of kind, each with a sentence."""
    release = selection.release
    place, kind = release.domain.place, release.domain.kind
    items = [_in_all(selection, view)] if release.unbiased.totals is not None or kind is not None else []
    periods = counted(release.domain.shape[0], step_noun(release.domain.time.step))
    note = gettext("Counted in each of %(periods)s.", periods=periods)
    if kind is not None:
        kinds = counted(kind.n_cells, level_noun(kind.level))
        note = gettext("Counted in each of %(periods)s, for each of %(kinds)s.", periods=periods, kinds=kinds)
    items.append({"value": number(place.n_cells), "name": plural(level_noun(place.level)), "note": note})
    if not view.whole.is_hidden.all():
        items.append(_busiest(selection, view))
    items.append(_protection(release.statement))
    return items


def _in_all(selection: Selection, view: View) -> dict[str, str]:
    """Return the number of events in all: the public number of reports, or an estimate of those of a kind."""
    release = selection.release
    when = f"{sentence_case(time_span(release))}{_lacking(release.rules.n_days_missing)}"
    if not view.name and release.unbiased.totals is not None:
        value, name = (
            number(int(release.unbiased.totals.sum())),
            gettext("%(events)s reported", events=selection.events),
        )
        return {"value": value, "name": name, "note": f"{when}. {gettext(_PUBLIC)}"}
    value, interval = in_words(view.total, 0, 0)
    sure = gettext(_PUBLIC) if view.total.is_exact else f"{sentence_case(interval)}."
    return {"value": value, "name": events_of(selection.events, view.level, view.name), "note": f"{when}. {sure}"}


def events_of(events: str, level: str, kind: str) -> str:
    """Return the events, of a kind where one is named."""
    if not kind:
        return events
    return gettext("%(events)s of %(level)s %(kind)s", events=events, level=level_noun(level), kind=kind)


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


def in_words(counts: Counts, bin: int, cell: int) -> tuple[str, str]:
    """Return a count as shown, as an interval where it is too uncertain for a number; and what is known of it."""
    if counts.is_hidden[bin, cell]:
        return "–", hidden_word(counts.status[bin, cell]) or ""
    lower, upper, level = number(counts.lower[bin, cell]), number(counts.upper[bin, cell]), percent(counts.level)
    if counts.is_exact:
        return number(counts.shown[bin, cell]), gettext("exact")
    if not counts.reliable[bin, cell]:
        return f"{lower}–{upper}", gettext("the %(level)s interval: too uncertain for one number", level=level)
    return number(counts.shown[bin, cell]), between(lower, upper, level)


def between(lower: str, upper: str, level: str) -> str:
    """Return the words for an interval."""
    return gettext("between %(lower)s and %(upper)s (%(level)s interval)", lower=lower, upper=upper, level=level)


def _busiest(selection: Selection, view: View) -> dict[str, str]:
    whole = view.whole
    top = int(np.argmax(np.where(whole.is_hidden[0], -np.inf, whole.values[0])))
    level, lower, upper = percent(whole.level), number(whole.lower[0, top]), number(whole.upper[0, top])
    sure = gettext("an exact, public number") if whole.is_exact else between(lower, upper, level)
    place, where = level_noun(selection.release.domain.place.level), gettext("in %(place)s", place=whole.places[top])
    if not whole.reliable[0, top]:
        note = gettext(
            "The %(level)s interval of the largest estimate: too uncertain for one number, and to tell which %(place)s "
            "is the busiest.",
            level=level,
            place=place,
        )
        return {"value": f"{lower}–{upper}", "name": where, "note": note}
    n_like = int(np.count_nonzero((whole.upper[0] >= whole.lower[0, top]) & ~whole.is_hidden[0]))
    if n_like > 1:
        note = ngettext(
            "%(place)s has the largest estimate, but %(n)s other interval overlaps its own.",
            "%(place)s has the largest estimate, but %(n)s other intervals overlap its own.",
            n_like - 1,
            n=number(n_like - 1),
            place=whole.places[top],
        )
        name = gettext("%(places)s may be the busiest", places=plural(place))
        return {"value": number(n_like), "name": name, "note": note}
    what = gettext("The busiest %(place)s", place=place)
    if view.name:
        what = gettext("%(what)s for %(kind)s", what=what, kind=view.name)
    return {"value": number(whole.shown[0, top]), "name": where, "note": f"{what}{gettext('; ')}{sure}."}


def _protection(statement: PrivacyStatement) -> dict[str, str]:
    epsilon = epsilon_at_most(statement.total_epsilon)
    if statement.is_simulation:
        note = (
            gettext("With secret noise, epsilon %(epsilon)s would have held.", epsilon=epsilon)
            if statement.is_central
            else gettext("With secret coins, epsilon %(epsilon)s would have held.", epsilon=epsilon)
        )
        return {"value": gettext("None"), "name": gettext("is the protection of a simulation"), "note": note}
    if statement.is_void:
        return {
            "value": gettext("None"),
            "name": gettext("is what is left of the protection"),
            "note": gettext("What some reports of these events hide, others show."),
        }
    secret = listed([gettext(name) for name in statement.guarantee.hidden])
    if statement.is_central:
        about = statement.about_what
        note = gettext(
            "What all that was published tells about %(about)s, at epsilon %(epsilon)s.", about=about, epsilon=epsilon
        )
    elif not statement.is_alone:
        note = gettext(
            "What all that was made of one %(unit)s tells about its %(hidden)s, at epsilon %(epsilon)s.",
            unit=gettext(statement.unit),
            hidden=secret,
            epsilon=epsilon,
        )
    elif statement.unit == "device":
        note = gettext(
            "What one report tells about the %(hidden)s of a device, at epsilon %(epsilon)s.",
            hidden=secret,
            epsilon=epsilon,
        )
    else:
        note = gettext(
            "What one report tells about the %(hidden)s of an event, at epsilon %(epsilon)s.",
            hidden=secret,
            epsilon=epsilon,
        )
    odds = gettext("%(odds)s to 1", odds=at_most(statement.odds))
    return {"value": odds, "name": gettext("is the most odds can change"), "note": note}


def lead(selection: Selection) -> str:
    """Return the sentence that says what was counted, and how."""
    release = selection.release
    place, step = level_noun(release.domain.place.level), step_noun(release.domain.time.step)
    what: dict[str, str] = {"events": sentence_case(selection.events), "place": place, "step": step}
    is_central = release.statement.is_central
    if release.domain.kind is None:
        if is_central:
            return gettext(
                "%(events)s per %(place)s and %(step)s, counted by a curator, with noise added before anything was "
                "published.",
                **what,
            )
        return gettext("%(events)s per %(place)s and %(step)s, counted from randomized reports.", **what)
    what["kind"] = level_noun(release.domain.kind.level)
    if is_central:
        return gettext(
            "%(events)s per %(place)s, %(kind)s and %(step)s, counted by a curator, with noise added before anything "
            "was published.",
            **what,
        )
    return gettext("%(events)s per %(place)s, %(kind)s and %(step)s, counted from randomized reports.", **what)


def price_of_privacy(statement: PrivacyStatement) -> str:
    """Return the sentence that says what a smaller epsilon means."""
    if statement.is_void:
        return gettext("Other reports of the same events leave nothing of the protection, whatever epsilon is.")
    if statement.is_central:
        return gettext(
            "Privacy is paid for with error. The smaller epsilon, the less the counts say about %(about)s, and the "
            "further a count may be from the truth.",
            about=statement.about_what,
        )
    return gettext(
        "Privacy is paid for with error. The smaller epsilon, the less a report says about its %(hidden)s, and the "
        "further a count may be from the truth.",
        hidden=listed([gettext(name) for name in statement.private]),
    )


def error_words(selection: Selection, errors: Sequence[Errors]) -> list[str]:
    """Return the standard errors of counts of each kind of period, in words."""
    release, found = selection.release, []
    place, kind = level_noun(release.domain.place.level), release.domain.kind
    for error in errors:
        sizes = rough_at_most(error.largest)
        if error.differ:
            sizes = gettext("%(first)s to %(last)s", first=rough_at_least(error.smallest), last=sizes)
        step = step_name(error.step)
        if kind is None:
            found.append(gettext("%(error)s for a %(place)s's %(step)s", error=sizes, place=place, step=step))
        else:
            found.append(
                gettext(
                    "%(error)s for one %(kind)s in a %(place)s's %(step)s",
                    error=sizes,
                    kind=level_noun(kind.level),
                    place=place,
                    step=step,
                )
            )
    return found


def maps(selection: Selection, drawing: Outlines | None) -> dict[str, Any]:
    """Return the map of all kinds, one state for every period a reader may choose."""
    found = map_periods(selection, selection.all_kinds)
    return found | {"first": selection.first_map} | map_layout(selection.places, found["limits"], drawing)


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
        numbers = rounded(values.T, n).astype(object)
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


def unsure_words(release: Release) -> str:
    """Say why a count is marked as too uncertain for one number."""
    rules = release.rules
    limit = rules.largest_relative_error
    share = gettext("a third") if limit is None else rounded_percent(limit)
    if not rules.grey:
        return gettext("its standard error is more than %(share)s of it", share=share)
    grey = gettext(" or ").join(retold(str(rule)) for rule in rules.grey)
    return gettext(
        "its standard error is more than %(share)s of it, or a rule greys it (%(rules)s)", share=share, rules=grey
    )


def time_span(release: Release) -> str:
    """Return the first and last period in as few words as are true."""
    axis = release.domain.time
    return span(axis.label(0), axis.label((axis.n_bins or 1) - 1))


def period_name(counts: Counts, bin: int, release: Release) -> str:
    """Return a period of the map in words; one that lacks days says so wherever it is named."""
    name = time_span(release) if counts.step == "all" else period(counts.periods[bin])
    is_whole = not counts.days_missing or not counts.is_partial[bin]
    return name if is_whole else f"{name}{_lacking(counts.days_missing[bin])}"


def _lacking(n_days: int) -> str:
    if not n_days:
        return ""
    return ngettext(" (%(n)s day without data)", " (%(n)s days without data)", n_days, n=number(n_days))


def default_title(release: Release) -> str:
    """Return a title where none is given."""
    name, place, when = sentence_case(release.plan.name), level_noun(release.domain.place.level), time_span(release)
    if release.domain.kind is None:
        return gettext("%(name)s by %(place)s, %(when)s", name=name, place=place, when=when)
    kind = level_noun(release.domain.kind.level)
    return gettext("%(name)s by %(place)s and %(kind)s, %(when)s", name=name, place=place, kind=kind, when=when)
