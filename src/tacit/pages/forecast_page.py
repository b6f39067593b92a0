"""Pages of forecasts.

A forecast has crews, a map of the expected load, the fan of what may come, and what stands out. A backtest says which
forecaster did best, by how much, and how far ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tacit._base.languages import ENGLISH, figures, gettext, in_its_language, message
from tacit.counts.series import Series
from tacit.errors import PlanMismatch, SettingError
from tacit.events.places import Polygons
from tacit.forecast.backtest import Leaderboard
from tacit.forecast.forecast import DEFAULT_QUANTILE, Forecast, notable_bins
from tacit.forecast.forecaster import FORECASTERS
from tacit.forecast.past import series_of
from tacit.pages import forecast_sections as sections
from tacit.pages.embedding import chart_library, csv_link, json_for_script, policy, resource
from tacit.pages.figures import LABORATORY, ON_PAGE, chart_labels, outlines, points, short_names
from tacit.pages.figures.charts import MOST_PLACES
from tacit.pages.figures.forecasts import FEW_BINS, leaderboard_chart, leads_chart
from tacit.pages.page import common_parts, plural_of, write_page
from tacit.pages.sections import without_rows
from tacit.pages.tables import rows_in_words
from tacit.pages.words import ahead, how_often, level_noun, moment, rounded_percent, sentence_case, step_noun
from tacit.release import Release

_MOST_NOTABLE: Final = 20  # a choice: of further remarks the number is said
_MOST_IMPORTANT: Final = 12  # a choice: what follows matters little
_OWN_MODEL: Final = message("a model of one's own")
LEVELS: Final = (0.80, 0.95)  # the usual ones of forecasts; wider ones hold more often and say less


@in_its_language
def make_forecast_page(
    forecast: Forecast,
    release: Release,
    path: str | Path,
    *,
    series: Series | None = None,
    levels: tuple[float, float] = LEVELS,
    quantile: float = DEFAULT_QUANTILE,
    per_crew: float | None = None,
    holidays: Mapping[str, str] | None = None,
    public: Sequence[str] = (),
    importance: Mapping[str, float] | None = None,
    polygons: str | Path | Polygons | None = None,
    title: str | None = None,
    noun: str | None = None,
    synthetic: str | None = None,
    language: str = ENGLISH,
) -> Path:
    """Write a forecast as one HTML file, complete in itself, beside what its release says of the past.

    ``series`` is that past where it is at hand (:func:`series_of` the release); else it is made again.
    ``per_crew``, how many events one crew handles in a period, asks for a table of crews, which begins with it and
    with ``quantile``; a reader may choose others. ``holidays`` are names by ISO date, ``public`` names what else the
    forecast was made of, ``importance`` what mattered for it. ``noun`` is what readers call one and many of the events,
    "trip/trips".
    """
    if forecast.origin and forecast.origin != release.checksum:
        raise PlanMismatch("the forecast was made of another release. Pass the release it was made of.")
    if not 0 < levels[0] < levels[1] < 1:
        raise SettingError(f"levels must be two shares, the smaller first; got levels={levels}. Give (0.8, 0.95).")
    past = series_of(release) if series is None else series
    events = plural_of(noun)
    views = sections.coming(forecast, release, past, levels, quantile, per_crew, events)
    shown = views[0]
    maps = sections.maps(shown, points(shown.places) if polygons is None else outlines(polygons, shown.places))
    often = [how_often(level) for level in levels]
    data = {
        "places": list(shown.places.cells),
        "labels": chart_labels(shown.places.cells),
        "often": often,
        "events": events,
        "charted": MOST_PLACES,
        "first": maps["first"],
        "views": [sections.view_data(view) for view in views],
        "specs": sections.specs(shown),
    }
    found = notable_bins(forecast, past, holidays)
    entry = FORECASTERS.get(forecast.forecaster)
    scripts = [chart_library(), resource("figures.js"), resource("forecast.js")]
    context = common_parts(release, title or _title(shown), synthetic)
    return write_page(
        path,
        "forecast.html",
        context
        | {
            "style": context["style"] + resource("forecast.css"),
            "policy": policy(scripts),
            "scripts": scripts,
            "data": json_for_script(data),
            "shown": shown,
            "forecast": forecast,
            "step": step_noun(shown.step),
            "short": short_names(shown.places.cells),
            "charted": MOST_PLACES,
            "headline": sections.headline(shown),
            "maps": maps,
            "crews": sections.crews(shown),
            "kinds": sections.kinds(views),
            "often": often,
            "events": events,
            "is_few": shown.n_bins <= FEW_BINS,
            "notable": [
                {"label": moment(shown.labels[bin]), "reasons": reasons}
                for bin, reasons in list(found.items())[:_MOST_NOTABLE]
            ],
            "n_more_notable": max(len(found) - _MOST_NOTABLE, 0),
            "public": list(public),
            "model_sentence": gettext(_OWN_MODEL if entry is None else entry.sentence),
            "importance": _importance(importance or {}),
            "table": sections.table_link(forecast, shown, synthetic),
            "matrix": sections.matrix(shown),
        },
    )


def _title(shown: sections.Coming) -> str:
    return gettext("%(heading)s: %(text)s", heading=sentence_case(shown.release.plan.name), text=shown.horizon)


def _importance(found: Mapping[str, float]) -> list[dict[str, str]]:
    largest = sorted(found.items(), key=lambda item: -item[1])[:_MOST_IMPORTANT]
    most = max((value for _, value in largest), default=0.0)
    if most <= 0:
        return []
    return [
        {"name": name, "value": figures(f"{value:.3g}"), "width": f"{100 * max(value, 0.0) / most:.0f}"}
        for name, value in largest
    ]


@in_its_language
def make_backtest_page(
    board: Leaderboard,
    release: Release,
    path: str | Path,
    *,
    has_covariates: bool = False,
    title: str | None = None,
    synthetic: str | None = None,
    language: str = ENGLISH,
) -> Path:
    """Write a leaderboard as one HTML file; where the truth was looked at, every sheet says so."""
    step, title = step_noun(release.domain.time.step), title or gettext("Backtest: %(name)s", name=release.plan.name)
    has_leads = board.horizon > 1 and board.is_mixed
    charts: dict[str, Any] = {"models": leaderboard_chart(board, palette=ON_PAGE)}
    if has_leads:
        charts["leads"] = leads_chart(board, palette=ON_PAGE)
    # these charts keep their rows: there are few, and none is exchanged
    data = {"specs": {name: without_rows(chart, "none") for name, chart in charts.items()}}
    scripts = [chart_library(), resource("figures.js"), resource("backtest.js")]
    columns = board.columns()
    rows = list(zip(*columns.values(), strict=True))
    return write_page(
        path,
        "backtest.html",
        common_parts(
            release,
            title or gettext("Backtest: %(name)s", name=release.plan.name),
            synthetic,
            is_laboratory=board.is_laboratory,
        )
        | {
            "policy": policy(scripts),
            "scripts": scripts,
            "data": json_for_script(data),
            "board": board,
            "mark": gettext(LABORATORY),
            "step": step,
            "kind": None if release.domain.kind is None else level_noun(release.domain.kind.level),
            "ahead": ahead(board.horizon, release.domain.time.step),
            "first": moment(board.first),
            "last": moment(board.last),
            "is_exact": board.best.mae is not None,
            "has_leads": has_leads,
            "has_covariates": has_covariates,
            "noise_share": rounded_percent(board.noise_share),
            "table": {
                "href": csv_link(tuple(columns), rows),
                "file": "backtest.csv",
                "size": rows_in_words(len(rows)),
            },
        },
    )
