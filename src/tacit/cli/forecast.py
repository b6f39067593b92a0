"""tacit forecast: what to expect in every place, from a release alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from tacit.cli import console
from tacit.cli.forecast_options import KnowledgeOptions, Known, ModelOptions, ShowOptions, holiday_names, known_of
from tacit.cli.forecast_search import check_explained, check_tunable, importance_of, tuned
from tacit.cli.forecast_tables import interval_words, say_forecast
from tacit.cli.options import Force, Panel, seed_or_none, takes
from tacit.counts.series import Series
from tacit.errors import SettingError
from tacit.forecast import Forecast, Forecaster
from tacit.forecast.forecast import horizon_of
from tacit.forecast.forecaster import entry_named, settings_for
from tacit.forecast.model_files import SavedModel
from tacit.forecast.past import series_of
from tacit.forecast.tables import write_forecast
from tacit.release import Release

_USUAL_HORIZONS: Final = {"hour": "day", "day": "7", "week": "4", "month": "3", "year": "1"}


@takes(
    knowledge=Panel("What else is known", KnowledgeOptions),
    models=Panel("The model", ModelOptions),
    showing=ShowOptions,
)
def forecast(
    *,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release, made by: tacit release")],
    horizon: Annotated[
        str | None,
        typer.Option(help="How far: a number of periods, or day, week, month, year (default: 7 days or alike)."),
    ] = None,
    showing: ShowOptions,
    force: Force = False,
    knowledge: KnowledgeOptions,
    models: ModelOptions,
) -> None:
    """Forecast the number of events per place, with intervals, from a release and public tables alone.

    No raw data is used, so a forecast costs no privacy budget.

    Example: [bold]tacit forecast release.parquet --horizon 7 --country FR --page forecast.html[/bold]
    """
    showing.check()
    written = [path for path in (showing.out, showing.page, models.save) if path is not None]
    for path in written:
        console.check_new(path, force=force)
    console.check_apart(written, [path for path in (release, models.load) if path is not None])
    asked = Release.read(release)
    series = series_of(asked)
    n_bins = _horizon(horizon, series)
    if models.importance and models.load is None:
        check_explained(entry_named(models.model or "share"))
    if models.load is not None:
        forecaster, known = _loaded(models.load, asked, series, knowledge, n_bins, models)
    else:
        forecaster, known = _fitted(asked, series, knowledge, n_bins, models)
    with console.waiting("Looking ahead"):
        made = forecaster.predict(n_bins)
        holidays = holiday_names(known, made)
    _say(made, known, showing, holidays)
    mattered = importance_of(forecaster, known, seed=models.seed or 0) if models.importance else {}
    if models.save is not None:
        about = {"calendar": dict(known.calendar), "columns": known.columns}
        SavedModel.of(forecaster, known.series, plan=asked.plan.fingerprint, about=about).write(models.save)
        console.say(f"Wrote {models.save}: what was learned. Use it with: tacit forecast RELEASE --load {models.save}")
    _write(made, known, showing, holidays, mattered)


def _horizon(asked: str | None, series: Series) -> int:
    time = series.domain.time
    return horizon_of(_USUAL_HORIZONS.get(time.step, "7") if asked is None else asked, time)


def _fitted(
    release: Release, series: Series, knowledge: KnowledgeOptions, horizon: int, models: ModelOptions
) -> tuple[Forecaster, Known]:
    entry, seed = entry_named(models.model or "share"), seed_or_none(models.seed)
    if models.tune is not None:
        check_tunable(entry)
    known = known_of(release, series, knowledge, horizon)
    settings = settings_for(entry.name, **known.settings(seed))
    if (known.covariates is not None and not entry.uses_covariates) or (known.prior and "prior" not in settings):
        console.warn(f"The model {entry.word} makes no use of holidays, tables or populations.")
        known = known.without_covariates()
    forecaster = entry.make(**settings)
    if models.tune is not None:
        forecaster = tuned(forecaster, known, seconds=models.tune, seed=seed or 0)
    with console.waiting(f"Learning from {len(known.series):,} periods"):
        return forecaster.fit(known.series, known.covariates), known


def _loaded(
    path: Path, release: Release, series: Series, knowledge: KnowledgeOptions, horizon: int, models: ModelOptions
) -> tuple[Forecaster, Known]:
    own = {"--model": models.model, "--seed": models.seed, "--tune": models.tune, "--population": knowledge.population}
    given = [name for name, value in own.items() if value is not None]
    given += [f"--{name.replace('_', '-')}" for name in knowledge.calendar]
    if given:
        raise SettingError(
            f"a loaded model keeps its own settings and holidays. Leave out {_listed(given)}, or --load."
        )
    saved = SavedModel.read(path)
    known = known_of(release, series, knowledge, horizon, calendar=dict(saved.about.get("calendar", {})))
    newer = saved.n_newer(known.series, plan=release.plan.fingerprint)
    if known.columns != list(saved.about.get("columns", [])):
        raise SettingError(
            "a loaded model needs the tables it learned with, of the same columns. Give them again with --covariates."
        )
    word = entry_named(saved.forecaster.name).word
    grown = (
        f"the release has {console.counted(newer, 'period')} more than it learned from" if newer else "nothing is newer"
    )
    console.say(f"{path}: the model {word}, learned before; {grown}.")
    return saved.forecaster.updated(known.series, known.covariates), known


def _say(made: Forecast, known: Known, showing: ShowOptions, holidays: Mapping[str, str]) -> None:
    if made.is_simulation:
        console.warn("SIMULATION: this release was made with a known seed.")
    say_forecast(made, levels=showing.levels, quantile=showing.quantile, per_crew=showing.per_crew, holidays=holidays)
    console.say()
    console.say(interval_words(showing.levels))
    notes = (*made.notes, *(() if known.covariates is None else known.covariates.notes))
    for note in dict.fromkeys(notes):
        console.say(f"Note: {note.rstrip('.')}.")
    console.say(f"Made of {_listed(('the release', *known.public))}: no raw data, so no privacy budget is spent.")


def _write(
    made: Forecast, known: Known, showing: ShowOptions, holidays: Mapping[str, str], mattered: Mapping[str, float]
) -> None:
    if showing.out is not None:
        write_forecast(made, showing.out, levels=showing.levels, quantile=showing.quantile, per_crew=showing.per_crew)
        console.say(f"Wrote {showing.out}: {made.domain.shape[0] * (made.domain.shape[1] + 1):,} rows.")
    if showing.page is None:
        return
    from tacit.pages.forecast_page import make_forecast_page

    with console.waiting("Making the page"):
        make_forecast_page(
            made,
            known.release,
            showing.page,
            series=known.series,
            levels=(showing.levels[0], showing.levels[1]),
            quantile=showing.quantile,
            per_crew=showing.per_crew or 1.0,
            holidays=holidays,
            public=known.public,
            importance=mattered,
            polygons=showing.polygons,
            title=showing.title,
            synthetic=showing.synthetic,
        )
    console.say(f"Wrote {showing.page}. Open it in a browser; it needs no network.")


def _listed(items: Sequence[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
