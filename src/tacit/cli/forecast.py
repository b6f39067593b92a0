"""tacit forecast: what to expect per place and kind, from a release alone; tables readable on eighty columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from tacit._base.languages import listed
from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.cli.forecast_options import (
    KnowledgeOptions,
    Known,
    ModelOptions,
    ShowOptions,
    holiday_names,
    horizon_after,
    known_of,
)
from tacit.cli.key import read_release
from tacit.cli.options import Force, Panel, ReleaseFile, SignedBy, seed_or_none, takes
from tacit.counts.series import Series
from tacit.domain import ALL
from tacit.errors import SettingError
from tacit.forecast import CountDistribution, Forecast, Forecaster
from tacit.forecast.forecast import crews_for
from tacit.forecast.forecaster import Entry, entry_named, settings_for
from tacit.forecast.model_files import SavedModel
from tacit.forecast.past import series_of
from tacit.forecast.tables import write_forecast
from tacit.pages.figures import short_names
from tacit.pages.figures.forecasts import part_of
from tacit.pages.words import ahead, counted, expected, how_often, moment, plural, short_moment, step_noun
from tacit.release import Release


@takes(
    knowledge=Panel("What else is known", KnowledgeOptions),
    models=Panel("The model", ModelOptions),
    showing=ShowOptions,
)
def forecast(
    *,
    release: ReleaseFile,
    horizon: Annotated[
        str | None,
        typer.Option(
            help="How far: a number of periods, or day, week, month, year (default: 7 days, 3 months or alike)."
        ),
    ] = None,
    showing: ShowOptions,
    signed_by: SignedBy = None,
    force: Force = False,
    knowledge: KnowledgeOptions,
    models: ModelOptions,
) -> None:
    """Forecast the number of events per place, with intervals, from a release and public tables alone.

    No raw data is used, so a forecast costs no privacy budget.

    Example: [bold]tacit forecast release.parquet --horizon 7 --country FR --page forecast.html[/bold]
    """
    showing.check()
    console.check_outputs((showing.out, showing.page, models.save), (release, models.load), force=force)
    asked = read_release(release, signed_by)
    series = series_of(asked)
    n_bins = horizon_after(series, horizon)
    if models.importance and models.load is None:
        _check_boosting(entry_named(models.model or "share"), "tells what mattered", "does not")
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
        SavedModel(forecaster, known.series, plan=asked.plan.fingerprint, about=about).write(models.save)
        console.say(f"Wrote {models.save}: what was learned. Use it with: tacit forecast RELEASE --load {models.save}")
    _write(made, known, showing, holidays, mattered)


def _fitted(
    release: Release, series: Series, knowledge: KnowledgeOptions, horizon: int, models: ModelOptions
) -> tuple[Forecaster, Known]:
    entry, seed = entry_named(models.model or "share"), seed_or_none(models.seed)
    if models.tune is not None:
        _check_boosting(entry, "can be tuned", "needs none")
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
        raise SettingError(f"a loaded model keeps its own settings and holidays. Leave out {listed(given)}, or --load.")
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
    console.say(f"Made of {listed(['the release', *known.public])}: no raw data, so no privacy budget is spent.")


def _write(
    made: Forecast, known: Known, showing: ShowOptions, holidays: Mapping[str, str], mattered: Mapping[str, float]
) -> None:
    if showing.out is not None:
        asked = {"levels": showing.levels, "quantile": showing.quantile, "per_crew": showing.per_crew}
        console.say(f"Wrote {showing.out}: {write_forecast(made, showing.out, **asked):,} rows.")
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
            per_crew=showing.per_crew,
            holidays=holidays,
            public=known.public,
            importance=mattered,
            polygons=showing.polygons,
            title=showing.title,
            noun=showing.noun,
            synthetic=showing.synthetic,
            language=showing.language,
        )
    console.say(f"Wrote {showing.page}. Open it in a browser; it needs no network.")


_MOST_TRIALS: Final = 10_000  # never reached: the time given ends the search
_SHOWN: Final = 12  # a choice: what follows matters little


def _check_boosting(entry: Entry, can: str, cannot: str) -> None:
    """Refuse to ask another model for what only boosted trees have."""
    if entry.name != "boosting":
        raise SettingError(f"only the model boosting {can}; {entry.word} {cannot}. Add: --model boosting")


def tuned(forecaster: Forecaster, known: Known, *, seconds: float, seed: int) -> Forecaster:
    """Return the forecaster with the best settings that were found in the time given."""
    from tacit.forecast.boosting import BoostingForecaster
    from tacit.forecast.tuning import tune

    assert isinstance(forecaster, BoostingForecaster)
    with console.progress("Searching for better settings") as report:
        found = tune(
            known.series,
            known.covariates,
            forecaster=forecaster,
            n_trials=_MOST_TRIALS,
            seconds=seconds,
            seed=seed,
            progress=lambda trials, share: report(round(100 * share), 100),
        )
    tried = f"Tried {console.counted(len(found.trials), 'setting')}"
    if found.chosen is found.trials[0]:
        console.say(f"{tried}: none was clearly better than the usual one, which is kept.")
    else:
        console.say(f"{tried}: the one chosen loses {found.chosen.advantage:.4f} ± {found.chosen.error:.4f} less.")
    return found.forecaster


def importance_of(forecaster: Forecaster, known: Known, *, seed: int) -> dict[str, float]:
    """Print what mattered most to a forecaster, and return it: how much worse it is without."""
    from tacit.forecast.boosting import BoostingForecaster
    from tacit.forecast.tuning import feature_importance

    _check_boosting(entry_named(forecaster.name), "tells what mattered", "does not")
    assert isinstance(forecaster, BoostingForecaster)
    if not any(forecaster.gains().values()):
        console.say("What mattered most: nothing. No tree did better than the level that trees start from.")
        return {}
    with console.waiting("Asking what mattered"):
        found = feature_importance(forecaster, known.series, known.covariates, seed=seed)
    rows = [[one.feature, f"{100 * one.gain:.0f}%", f"{one.loss:.4f} ± {one.loss_error:.4f}"] for one in found[:_SHOWN]]
    console.say()
    console.table(["What it was told", "Part of all gain", "Lost without it"], rows, title="What mattered most")
    return {one.feature: one.loss for one in found}


_MOST_COLUMNS: Final = 30  # rows of a screen; --out writes all
_MOST_BINS: Final = 31  # a month of days


def say_forecast(
    forecast: Forecast,
    *,
    levels: Sequence[float],
    quantile: float,
    per_crew: float | None,
    holidays: Mapping[str, str],
) -> None:
    """Print what is expected of every place and of every kind in the next bin, and of all together in every bin."""
    place, kind = forecast.domain.place, forecast.domain.kind
    title = f"Expected {moment(forecast.domain.time.label(0))}"
    if forecast.domain.shape[0] > 1:
        title += f", and in {ahead(forecast.domain.shape[0], forecast.domain.time.step)} together"
    say = partial(_say_columns, levels=levels, quantile=quantile, per_crew=per_crew)
    if kind is None:
        say(forecast, short_names(place.cells), place.level, title)
    else:
        of_places = forecast.coarsen(kind=ALL)
        say(of_places, short_names(place.cells), place.level, f"{title}: all {plural(kind.level)}")
        for level in (*kind.groups, kind.level):
            console.say()
            of_kinds = forecast.coarsen(place=ALL, kind=level)
            names = kind.coarsen(level)[0].cells
            say(of_kinds, names, level, f"{title}: all {plural(place.level)}")
        console.say(f"--out writes every {place.level} and {kind.level}.")
    if forecast.domain.shape[0] > 1:
        console.say()
        _say_bins(forecast, levels, holidays)


def _say_columns(
    forecast: Forecast,
    names: Sequence[str],
    level: str,
    title: str,
    *,
    levels: Sequence[float],
    quantile: float,
    per_crew: float | None,
) -> None:
    n_bins, n_columns = forecast.domain.shape
    shown = np.argsort(-forecast.sums.means, kind="stable")[:_MOST_COLUMNS]
    shown = np.sort(shown) if n_columns <= _MOST_COLUMNS else shown
    first = part_of(forecast.counts, 0)
    table = [[names[cell], *_cells(part_of(first, slice(cell, cell + 1)), levels)] for cell in shown]
    table.append([f"All {plural(level)}", *_cells(part_of(forecast.totals, slice(0, 1)), levels)])
    last = CountDistribution(
        np.append(first.means[shown], forecast.totals.means[0]),
        np.append(first.variances[shown], forecast.totals.variances[0]),
    )
    if per_crew is None:
        heading, numbers = f"At most, {_odds(quantile)}", last.quantiles(quantile)
    else:
        crews = crews_for(last, quantile=quantile, per_crew=per_crew)
        heading, numbers = f"Crews, {_odds(quantile)}", crews.astype(np.float64)
    headings = [level.capitalize(), "Expected", *(percent(one) for one in levels), heading]
    for row, number in zip(table, numbers.tolist(), strict=True):
        row.append(whole(number))
    if n_bins > 1:
        headings.append(counted(n_bins, step_noun(forecast.domain.time.step)).partition(" of ")[0])
        sums = [*forecast.sums.means[shown], float(np.ravel(forecast.total_sum.means)[0])]
        for row, total in zip(table, sums, strict=True):
            row.append(expected(float(total)))
    console.table(headings, table, title=title)
    if n_columns > len(shown):
        console.say(f"The {len(shown)} busiest of {n_columns:,} {plural(level)}; --out writes all of them.")


def _say_bins(forecast: Forecast, levels: Sequence[float], holidays: Mapping[str, str]) -> None:
    labels = forecast.domain.time.labels()
    rows = []
    for bin, label in enumerate(labels[:_MOST_BINS]):
        words = moment(label) if "T" in label else short_moment(label)
        rows.append(
            [words, *_cells(part_of(forecast.totals, slice(bin, bin + 1)), levels), holidays.get(label[:10], "")]
        )
    together = CountDistribution(np.ravel(forecast.total_sum.means), np.ravel(forecast.total_sum.variances))
    rows.append([f"{ahead(len(labels), forecast.domain.time.step)}".capitalize(), *_cells(together, levels), ""])
    headings = ["", "Expected", *(percent(level) for level in levels), "Holiday"]
    if not any(row[-1] for row in rows):
        rows, headings = [row[:-1] for row in rows], headings[:-1]
    axes = [axis.level for axis in (forecast.domain.place, forecast.domain.kind) if axis is not None]
    console.table(headings, rows, title=f"All {' and '.join(map(plural, axes))} together")
    if len(labels) > _MOST_BINS:
        console.say(f"The first {_MOST_BINS} of {len(labels):,} periods; --out writes all of them.")


def interval_words(levels: Sequence[float]) -> str:
    """Return a line that says what the intervals mean."""
    parts = [f"{how_often(level)} within the {percent(level)} interval" for level in levels]
    return f"The number will lie {', '.join(parts)}, if the future resembles the past."


def _odds(quantile: float) -> str:
    return how_often(quantile).replace(" times in ", " in ").replace(" time in ", " in ").replace(" of the time", "")


def _cells(distribution: CountDistribution, levels: Sequence[float]) -> list[str]:
    """Return the mean of a distribution and its interval at every level, as text."""
    spans = [distribution.intervals(level) for level in levels]
    return [expected(float(distribution.means[0])), *(f"{whole(lower[0])}–{whole(upper[0])}" for lower, upper in spans)]
