"""Options that the commands that forecast share: what a model may know besides the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer

from tacit._base.languages import ENGLISH, stored
from tacit._base.validation import check_positive, check_share
from tacit.cli import console
from tacit.cli.domains import populations
from tacit.cli.options import Language, ModelSeed, Noun, PlacesColumns, Synthetic, Title, confidence
from tacit.counts.series import Series
from tacit.domain.horizon import horizon_of
from tacit.errors import MissingColumn, SettingError
from tacit.forecast import Covariates, Forecast
from tacit.forecast.forecast import DEFAULT_QUANTILE
from tacit.forecast.forecaster import FORECASTERS
from tacit.forecast.tables import check_ending, levels_of
from tacit.pages.words import plural
from tacit.release import Release

MODELS: Final = ", ".join(entry.word for entry in FORECASTERS.values())
_USUAL_LEVELS: Final = (80.0, 95.0)  # percent, as on the page
_USUAL_HORIZONS: Final = {"hour": "day", "day": "7", "week": "4", "month": "3", "year": "1"}
_BEYOND: Final = 31
"""Bins beyond the horizon of which is known, too: a model may look at the days around a day."""
_CALENDAR: Final = ("country", "subdivision", "academy", "school_zone")


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions:
    """The options that say what is known besides the counts: holidays, the user's tables, populations."""

    country: Annotated[
        str | None, typer.Option(help="Public holidays of this country: FR, DE, CH and so on.", metavar="CODE")
    ] = None
    subdivision: Annotated[
        str | None, typer.Option(help="A part of the country with holidays of its own, such as BY.", metavar="CODE")
    ] = None
    academy: Annotated[
        str | None, typer.Option(help="French school holidays of this académie, such as Besançon.", metavar="NAME")
    ] = None
    school_zone: Annotated[
        str | None,
        typer.Option(help="The same by zone: A, or 'B until 2015-08-31, A' where it changed.", metavar="ZONE"),
    ] = None
    covariates: Annotated[
        list[Path] | None,
        typer.Option(
            help="A table with a column of dates and columns of numbers: weather, traffic; may be repeated.",
            metavar="FILE",
        ),
    ] = None
    covariates_date: Annotated[str, typer.Option(help="Its column of dates.", metavar="COLUMN")] = "date"
    covariates_place: Annotated[
        str | None, typer.Option(help="Its column of places, where numbers differ between them.", metavar="COLUMN")
    ] = None
    population: Annotated[
        str | None,
        typer.Option(
            help="Let shares of places start from their populations: 'builtin' for the release's own table of places, "
            "or a CSV. Helps at small epsilon.",
            metavar="TABLE",
        ),
    ] = None
    places_column: PlacesColumns = None

    @property
    def calendar(self) -> dict[str, str]:
        """The choices of a calendar that were made."""
        return {name: getattr(self, name) for name in _CALENDAR if getattr(self, name) is not None}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options that say which model learns, or is taken from a file."""

    model: Annotated[str | None, typer.Option(help=f"One of {MODELS} (default: share).", metavar="NAME")] = None
    save: Annotated[Path | None, typer.Option(help="Save what was learned.", metavar="MODEL")] = None
    load: Annotated[Path | None, typer.Option(help="Use a saved model and learn nothing: quick.", metavar="MODEL")] = (
        None
    )
    tune: Annotated[
        float | None,
        typer.Option(
            help="Search for better settings and features of --model boosting, for so long.", metavar="SECONDS"
        ),
    ] = None
    importance: Annotated[bool, typer.Option("--importance", help="Show what mattered most to --model boosting.")] = (
        False
    )
    seed: ModelSeed = None


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options that say what is shown of a forecast, and where it is written."""

    usual: ClassVar = ("out", "page", "level", "quantile", "per_crew")
    others: ClassVar = "The page"

    out: Annotated[Path | None, typer.Option(help="Write all numbers: .parquet or .csv.", metavar="FILE")] = None
    page: Annotated[Path | None, typer.Option(help="Make a page to look at (.html).", metavar="FILE")] = None
    level: Annotated[
        list[float] | None, confidence("How sure the intervals are; may be repeated (default: 80 and 95).")
    ] = None
    quantile: Annotated[float, typer.Option(help="How sure crews must be to be enough: 0.9 is 9 times in 10.")] = (
        DEFAULT_QUANTILE
    )
    per_crew: Annotated[
        float | None,
        typer.Option(help="Events one crew handles in a period: crews are printed, and stand on the page."),
    ] = None
    polygons: Annotated[
        Path | None, typer.Option(help="Outlines of places (GeoJSON) for the page's map.", metavar="GEOJSON")
    ] = None
    title: Title = None
    noun: Noun = None
    synthetic: Synthetic = None
    language: Language = ENGLISH

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the intervals as shares, the smallest first."""
        return levels_of(self.level or _USUAL_LEVELS)

    def check(self) -> None:
        """Refuse what cannot be shown before anything is computed."""
        levels = self.levels
        if self.page is not None and len(levels) != 2:
            raise SettingError(
                "a page draws two intervals. Give two, such as --confidence 80 --confidence 95, or none."
            )
        if self.out is not None:
            check_ending(self.out)
        check_share(quantile=self.quantile)
        check_positive(per_crew=1.0 if self.per_crew is None else self.per_crew)


@dataclass(frozen=True)
class Known:
    """A release read for a forecast: the series, and what else a model may know.

    ``public`` names the latter in words, ``calendar`` how its holidays were chosen.
    """

    release: Release
    series: Series
    covariates: Covariates | None
    prior: Mapping[str, float] | None
    calendar: Mapping[str, str] = field(default_factory=dict)
    public: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of what is known of each period."""
        return [] if self.covariates is None else list(self.covariates.names)

    def without_covariates(self) -> Known:
        """Return what is known, for a model that has no use for covariates."""
        return replace(self, covariates=None, public=())

    def settings(self, seed: int | None) -> dict[str, Any]:
        """Return settings that some models have."""
        return {"prior": self.prior, "seed": seed}


def horizon_after(series: Series, asked: str | None) -> int:
    """Return how many bins to look ahead; where nobody says it, what is usual for their length: 7 days, 3 months."""
    time = series.domain.time
    return horizon_of(_USUAL_HORIZONS.get(time.step, "7") if asked is None else asked, time)


def known_of(
    release: Release,
    series: Series,
    options: KnowledgeOptions,
    horizon: int,
    calendar: Mapping[str, str] | None = None,
) -> Known:
    """Read what the options name beside the series of a release; ``calendar`` is that of a saved model."""
    horizon += _BEYOND
    chosen = dict(options.calendar if calendar is None else calendar)
    parts: list[Covariates] = []
    public = []
    if chosen:
        parts.append(_calendar(series, chosen, horizon))
        country = chosen.get("country", "FR").upper()
        if {"academy", "school_zone"} & chosen.keys():
            public.append(stored("public holidays and school holidays of %(country)s", country=country))
        else:
            public.append(stored("public holidays of %(country)s", country=country))
    for path in options.covariates or ():
        with console.waiting(f"Reading {path.name}"):
            parts.append(_table(path, series, options, horizon))
        public.append(stored("the table %(name)s", name=path.name))
    prior = populations(options.population, options.places_column, series.domain.place)
    if prior is not None:
        public.append(stored("populations of %(places)s", places=plural(series.domain.place.level)))
    return Known(release, series, parts[0].joined(*parts[1:]) if parts else None, prior, chosen, tuple(public))


def holiday_names(known: Known, forecast: Forecast) -> dict[str, str]:
    """Return names of the public holidays ahead, by ISO date."""
    if not known.calendar:
        return {}
    from tacit.forecast.holidays import public_holidays

    chosen = known.calendar
    return public_holidays(
        forecast.domain.time, country=chosen.get("country", "FR"), subdivision=chosen.get("subdivision")
    )


def _calendar(series: Series, chosen: Mapping[str, str], horizon: int) -> Covariates:
    from tacit.forecast.holidays import calendar_covariates

    return calendar_covariates(
        series.domain.time,
        country=chosen.get("country", "FR"),
        subdivision=chosen.get("subdivision"),
        academy=chosen.get("academy"),
        zones=chosen.get("school_zone"),
        horizon=horizon,
    )


def _table(path: Path, series: Series, options: KnowledgeOptions, horizon: int) -> Covariates:
    from tacit.forecast.covariate_table import read_covariates

    try:
        return read_covariates(
            path, series.domain, date=options.covariates_date, place=options.covariates_place, horizon=horizon
        )
    except MissingColumn as problem:
        name = "Name it: --covariates-date COLUMN, or --covariates-place COLUMN"
        raise MissingColumn(console.in_shell(problem), remedy=name) from None
