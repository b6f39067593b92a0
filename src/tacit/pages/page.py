"""Pages: one HTML file each, complete in itself, that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._base.extras import require
from tacit._base.files import write_whole
from tacit._base.rounding import at_most, epsilon_at_most, percent, percent_at_most
from tacit._base.sentences import listed
from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.events.places import Polygons
from tacit.pages import sections, tables
from tacit.pages.answers import answers
from tacit.pages.embedding import chart_library, json_for_script, policy, resource
from tacit.pages.figures import LABORATORY, outlines, short_names
from tacit.pages.figures.charts import MOST_PLACES
from tacit.pages.laboratory import laboratory
from tacit.pages.selection import RECENT_DAYS, select
from tacit.pages.words import (
    counted,
    decimals,
    expected,
    number,
    plural,
    rough_at_least,
    rough_at_most,
    rounded_percent,
    step_noun,
)
from tacit.release import Release

if TYPE_CHECKING:
    from jinja2 import Environment


def make_page(
    release: Release,
    path: str | Path,
    *,
    truth: ExactTally | None = None,
    polygons: str | Path | Polygons | None = None,
    title: str | None = None,
    synthetic: str | None = None,
    noun: str = "event/events",
) -> Path:
    """Write a release as a page to read: headline, map, series, error against epsilon, statement and tables.

    ``polygons`` is a GeoJSON file whose features name the places; without it the map is made of
    tiles. ``synthetic`` says in a sentence what the data are where they are not real. ``noun`` is what readers call
    one and many of the events, "trip/trips"; the statement keeps its own words. ``truth`` is for the laboratory
    alone: the page then holds exact counts, and every sheet of it says that it is not for publication.
    """
    events = plural_of(noun)
    selection = select(release, events)
    drawing = None if polygons is None else outlines(polygons, selection.places)
    errors, found = sections.error_rows(selection)
    lab = None if truth is None else laboratory(selection, truth)
    maps = sections.maps(selection, drawing)
    data = {
        "places": list(selection.places.cells),
        "short": short_names(selection.places.cells),
        "level": percent(release.level),
        "unit": events,
        "charted": MOST_PLACES,
        "first": selection.first_map,
        "periods": sections.series_periods(selection),
        "views": [sections.view_data(selection, view) for view in selection.views],
        "measured": None if lab is not None else sections.measured_views(selection),
        "laboratory": None if lab is None else lab["data"],
        "specs": sections.specs(selection, errors, found) | ({} if lab is None else lab["specs"]),
    }
    asked, offered = answers(release), tables.tables(selection, synthetic)
    if asked is not None:
        asked["remarks"] = tables.remarks_of(selection, synthetic, "Estimates alone; the release has their intervals.")
    finest, listed_steps = f"by {release.domain.time.step}", [table["words"] for table in offered]
    scripts = [chart_library(), *map(resource, ("figures.js", "page.js"))]
    if asked is not None:
        scripts += map(resource, ("answers.js", "noise_oracle.js", "noise_tree.js", "noise_smoothed.js", "ask.js"))
    return write_page(
        path,
        "page.html",
        common_parts(release, title, synthetic, is_laboratory=lab is not None)
        | {
            "policy": policy(scripts),
            "scripts": scripts,
            "data": json_for_script(data),
            "answers": None if asked is None else json_for_script(asked),
            "asked": asked,
            "unasked": "its noise is of a kind that no script here knows, or it is too large for a page",
            "selection": selection,
            "events": events,
            "has_switch": data["measured"] is not None,
            "short": data["short"],
            "view": selection.all_kinds,
            "kinds": sections.kinds(selection),
            "headline": sections.headline(selection, selection.all_kinds),
            "maps": maps,
            "errors": errors,
            "choices": found,
            "choices_step": errors[sections.middle(errors)].step if sections.has_choices_chart(errors, found) else None,
            "tables": offered,
            "finest": None if asked is None or not asked["can_be_listed"] or finest in listed_steps else finest,
            "matrix": tables.matrix(selection),
            "laboratory": lab,
            "recent_days": RECENT_DAYS,
            "charted": MOST_PLACES,
            "unsure": sections.unsure_words(release),
        },
    )


def plural_of(noun: str) -> str:
    """Return the second of two words for one and for many, as people write them.

    >>> plural_of("trip/trips")
    'trips'
    """
    one, _, many = (part.strip() for part in noun.partition("/"))
    if not one or not many or "/" in many:
        raise SettingError(f"noun must be two words, for one and for many, such as trip/trips; got noun={noun!r}.")
    return many


def make_statement_page(
    release: Release, path: str | Path, *, title: str | None = None, synthetic: str | None = None
) -> Path:
    """Write the privacy statement of a release as a page of its own."""
    return write_page(path, "statement.html", common_parts(release, title, synthetic) | {"policy": policy([])})


def common_parts(
    release: Release, title: str | None, synthetic: str | None, *, is_laboratory: bool = False
) -> dict[str, Any]:
    """Return what every page of a release says: its title, its labels, where it comes from."""
    labels = {LABORATORY: is_laboratory, "SIMULATION – not private": release.is_simulation, "Synthetic data": synthetic}
    return {
        "stamps": [label for label, holds in labels.items() if holds],
        "title": title or sections.default_title(release),
        "synthetic": synthetic,
        "release": release,
        "statement": release.statement,
        "span": sections.time_span(release),
        "level": percent(release.level),
        "style": resource("page.css"),
        "place": release.domain.place.level,
        "places": plural(release.domain.place.level),
    }


def write_page(path: str | Path, template: str, context: Mapping[str, Any]) -> Path:
    """Fill a template, every value escaped, and let the file appear whole or not at all."""
    page = _templates().get_template(template).render(context)
    path = Path(path)
    write_whole(path, page.encode())
    return path


@cache
def _templates() -> Environment:
    """The templates, each read and compiled once."""
    jinja2 = require("jinja2", extra="pages")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "rough_at_least": rough_at_least,
        "rough_at_most": rough_at_most,
        "at_most": at_most,
        "epsilon_at_most": epsilon_at_most,
        "percent_at_most": percent_at_most,
        "percent": rounded_percent,
        "plural": plural,
        "listed": listed,
        "step_noun": step_noun,
        "expected": expected,
        "decimals": decimals,
    }
    environment.globals["counted"] = counted
    return environment
