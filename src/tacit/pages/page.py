"""Pages: one HTML file each, complete in itself, that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tacit._base.extras import require
from tacit._base.files import write_whole
from tacit._base.languages import (
    ENGLISH,
    elided,
    figures,
    gettext,
    in_its_language,
    listed,
    message,
    ngettext,
    retold,
    speaking,
    spoken,
    translated,
    translated_by_number,
)
from tacit._base.rounding import at_most, epsilon_at_most, percent, percent_at_most
from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.events.places import Polygons
from tacit.pages import headline, sections, tables
from tacit.pages.answers import answers, with_limits
from tacit.pages.embedding import chart_library, json_for_script, messages_of, policy, resource
from tacit.pages.figures import LABORATORY, chart_labels, outlines, points, short_names
from tacit.pages.figures.charts import MOST_PLACES
from tacit.pages.laboratory import laboratory
from tacit.pages.selection import RECENT_DAYS, select
from tacit.pages.words import (
    chart_locale,
    counted,
    decimals,
    expected,
    level_noun,
    number,
    period,
    plural,
    rough_at_most,
    rounded_percent,
    sentence_case,
    step_name,
)
from tacit.release import Release

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_NAMES_SHOWN: Final = 5  # of places far outside a map: a line of them


@in_its_language
def make_page(
    release: Release,
    path: str | Path,
    *,
    truth: ExactTally | None = None,
    polygons: str | Path | Polygons | None = None,
    title: str | None = None,
    synthetic: str | None = None,
    noun: str | None = None,
    language: str = ENGLISH,
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write a release as a page to read: headline, map, series, error against epsilon, statement and tables.

    ``polygons`` is a GeoJSON file whose features name the places; without it the map is made of points where the
    table of places has latitudes and longitudes, else of tiles. ``synthetic`` says in a sentence what the data are
    where they are not real. ``noun`` is what readers call one and many of the events, "trip/trips"; the statement keeps
    its own words. ``language`` is English ("en") or French ("fr"); names and nouns of yours stay as they are. ``truth``
    is for the laboratory alone: the page then holds exact counts, and every sheet of it says that it is not for
    publication. ``links`` are words and the addresses that they lead to, shown below the headline.
    """
    events = plural_of(noun)
    selection = select(release, events)
    drawing = points(selection.places) if polygons is None else outlines(polygons, selection.places)
    errors, found = sections.error_rows(selection)
    lab = None if truth is None else laboratory(selection, truth)
    maps = sections.maps(selection, drawing)
    data = {
        "places": list(selection.places.cells),
        "labels": chart_labels(selection.places.cells),
        "level": percent(release.level),
        "unit": events,
        "charted": MOST_PLACES,
        "first": 0,  # the whole time, for which the question above the map stands too
        "periods": sections.series_periods(selection),
        "steps": {step: step_name(step) for step in selection.all_kinds.series},
        "views": [sections.view_data(selection, view) for view in selection.views],
        "measured": None if lab is not None else sections.measured_views(selection),
        "laboratory": None if lab is None else lab["data"],
        "specs": sections.specs(selection, errors, found) | ({} if lab is None else lab["specs"]),
    }
    asked, offered = answers(release), tables.tables(selection, synthetic)
    finest, listed_steps = release.domain.time.step, [table["step"] for table in offered]
    has_finest = asked is not None and asked["can_be_listed"] and finest not in listed_steps
    if asked is not None and has_finest:
        asked = with_limits(asked, release)
        asked["columns"] = tables.columns_about(selection, synthetic)
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
            "lead": headline.lead(selection),
            "links": links or {},
            "price_of_privacy": headline.price_of_privacy(release.statement),
            "error_words": headline.error_words(selection, errors),
            "selection": selection,
            "events": events,
            "has_switch": data["measured"] is not None,
            "short": short_names(selection.places.cells),
            "view": selection.all_kinds,
            "kinds": sections.kinds(selection),
            "headline": headline.headline(selection, selection.all_kinds),
            "maps": maps,
            "errors": errors,
            "choices": found,
            "choices_step": errors[sections.middle(errors)].step if sections.has_choices_chart(errors, found) else None,
            "tables": offered,
            "finest": finest if has_finest else None,
            "matrix": tables.matrix(selection),
            "laboratory": lab,
            "recent_days": RECENT_DAYS,
            "charted": MOST_PLACES,
            "unsure": headline.unsure_words(release),
        },
    )


def page_style() -> str:
    """Return the styles of all pages; the mark behind what is true stands in them, in the page's language."""
    return resource("page.css").replace(quote(LABORATORY, safe=" "), quote(gettext(LABORATORY), safe=" "))


def plural_of(noun: str | None) -> str:
    """Return the second of two words for one and for many, as people write them; without any "events".

    >>> plural_of("trip/trips"), plural_of(None)
    ('trips', 'events')
    """
    if noun is None:
        return gettext("events")
    one, _, many = (part.strip() for part in noun.partition("/"))
    if not one or not many or "/" in many:
        raise SettingError(f"noun must be two words, for one and for many, such as trip/trips; got noun={noun!r}.")
    return many


@in_its_language
def make_statement_page(
    release: Release,
    path: str | Path,
    *,
    title: str | None = None,
    synthetic: str | None = None,
    language: str = ENGLISH,
) -> Path:
    """Write the privacy statement of a release as a page of its own; one in French holds the English text, too."""
    return write_page(path, "statement.html", common_parts(release, title, synthetic) | {"policy": policy([])})


def common_parts(
    release: Release, title: str | None, synthetic: str | None, *, is_laboratory: bool = False
) -> dict[str, Any]:
    """Return what every page of a release says: its title, its labels, where it comes from."""
    labels = {
        LABORATORY: is_laboratory,
        message("SIMULATION – not private"): release.is_simulation,
        message("Synthetic data"): synthetic,
    }
    with speaking(ENGLISH):
        english = release.statement.paragraphs()
    return {
        "stamps": [gettext(label) for label, holds in labels.items() if holds],
        "title": title or headline.default_title(release),
        "synthetic": synthetic,
        "release": release,
        "statement": release.statement,
        "english_paragraphs": english,
        "span": headline.time_span(release),
        "level": percent(release.level),
        "style": page_style(),
        "is_placed": not release.domain.place.is_all,
        "place": level_noun(release.domain.place.level),
        "places": plural(level_noun(release.domain.place.level)),
    }


def _few_names(names: Sequence[str], numbers: Sequence[int]) -> str:
    """Return these names, or the first of many and how many more there are."""
    shown = [names[one] for one in numbers[:_NAMES_SHOWN]]
    more = len(numbers) - len(shown)
    return listed([*shown, ngettext("%(n)s more", "%(n)s more", more, n=number(more))] if more else shown)


def write_page(path: str | Path, template: str, context: Mapping[str, Any]) -> Path:
    """Fill a template, every value escaped, and let the file appear whole or not at all."""
    page = _templates().get_template(template).render(context, language=spoken())
    path = Path(path)
    write_whole(path, page.encode())
    return path


def filled(template: str, context: Mapping[str, Any]) -> str:
    """Return a template of another room as text, filled as those of this room are."""
    return _compiled(template).render(context, language=spoken())


@cache
def _compiled(template: str) -> Template:
    return _templates().from_string(template)


def _said(sentence: str, /, **values: object) -> str:
    """Say a sentence of a template, its values escaped."""
    return _escaped(elided(translated(sentence), values), values)


def _said_by_number(one: str, many: str, number: float, /, **values: object) -> str:
    """Say the form of a template's sentence that fits a number."""
    return _escaped(elided(translated_by_number(one, many, number), values), {"num": number} | values)


def _escaped(sentence: str, values: Mapping[str, object]) -> str:
    said: str = require("markupsafe", extra="pages").Markup(sentence) % values
    return said


@cache
def _templates() -> Environment:
    """Return the templates, each read and compiled once."""
    jinja2 = require("jinja2", extra="pages")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    # of the extension, which has no types. It would fill in values itself; what stands before them depends on them
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.globals |= {"gettext": _said, "ngettext": _said_by_number}
    environment.filters |= {
        "level_noun": level_noun,
        "number": number,
        "rough_at_most": rough_at_most,
        "at_most": at_most,
        "epsilon_at_most": epsilon_at_most,
        "percent_at_most": percent_at_most,
        "percent": rounded_percent,
        "plural": plural,
        "listed": listed,
        "step_name": step_name,
        "figures": figures,
        "gettext": gettext,
        "retold": retold,
        "period": period,
        "sentence_case": sentence_case,
        "expected": expected,
        "decimals": decimals,
    }
    environment.globals |= {
        "counted": counted,
        "far_names": _few_names,
        "messages": messages_of,
        "chart_locale": lambda: json_for_script(chart_locale()),
    }
    return environment
