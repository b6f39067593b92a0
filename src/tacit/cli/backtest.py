"""tacit backtest: which forecaster would have done best, against private counts or, in the laboratory, the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from tacit._base.languages import ENGLISH
from tacit._base.validation import check_at_least
from tacit.cli import console
from tacit.cli.forecast_options import MODELS, KnowledgeOptions, horizon_after, known_of
from tacit.cli.options import (
    Force,
    Language,
    ModelSeed,
    Panel,
    ReadingOptions,
    ReleaseFile,
    SourceOptions,
    seed_or_none,
    takes,
)
from tacit.cli.page import true_counts
from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.forecast.backtest import Leaderboard, Mean, Score
from tacit.forecast.backtest import backtest as rolled
from tacit.forecast.forecaster import entry_named, settings_for
from tacit.forecast.past import series_of
from tacit.pages.words import decimals
from tacit.release import Release

_MOST_ORIGINS: Final = 52  # a year of weeks; twice as many take twice the time and narrow scores by a third
_USUAL_MODELS: Final = ("share", "weekday-mean", "seasonal-naive")


@takes(
    knowledge=Panel("What else is known", KnowledgeOptions),
    reading=Panel("The true events of --laboratory", ReadingOptions),
)
def backtest(
    *,
    release: ReleaseFile,
    horizon: Annotated[
        str | None,
        typer.Option(help="How far: a number of periods, or day, week, month, year (default: as forecast looks)."),
    ] = None,
    origins: Annotated[
        int | None,
        typer.Option(
            help="From how many points of the past; the last one's horizon ends with the release (default: 52, or what "
            "fits into its second half).",
            metavar="N",
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(help="Periods between them (default: the horizon). 8 days mix weekdays; 7 do not.", metavar="N"),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=f"A model, of {MODELS}; may be repeated (default: {', '.join(_USUAL_MODELS)}).", metavar="NAME"
        ),
    ] = None,
    refit_every: Annotated[
        int | None,
        typer.Option(help="Learn again after so many origins (default: once, before the first).", metavar="N"),
    ] = None,
    laboratory: Annotated[
        str | None,
        typer.Option(
            help="The true events: compare forecasts with them, watermarked and never for publication. Read by the "
            "options --time, --place and so on.",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the leaderboard (.csv), and beside it every forecast by period and place (-forecasts.csv).",
            metavar="FILE",
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Make a page of it (.html).", metavar="FILE")] = None,
    language: Language = ENGLISH,
    seed: ModelSeed = None,
    force: Force = False,
    knowledge: KnowledgeOptions,
    reading: ReadingOptions,
) -> None:
    """Compare forecasters on the past of a release: what they would have said, and what came.

    Against private counts, whose known noise is taken off the score; no raw data is needed.

    Example: [bold]tacit backtest release.parquet --horizon 7 --origins 52 --model share --model weekday-mean[/bold]
    """
    if out is not None and out.suffix != ".csv":
        raise SettingError(f"a leaderboard is written as .csv; got path={out}.")
    forecasts = None if out is None else out.with_name(f"{out.stem}-forecasts.csv")
    console.check_outputs((out, forecasts, page), [release], force=force)
    given = {"origins": origins, "refit_every": refit_every, "every": every}
    check_at_least(1, **{name: value for name, value in given.items() if value is not None})
    entries = {entry.name: entry for entry in map(entry_named, model or _USUAL_MODELS)}
    asked = Release.read(release)
    series = series_of(asked)
    n_bins = horizon_after(series, horizon)
    known = known_of(asked, series, knowledge, n_bins)
    truth = None if laboratory is None else _truth(SourceOptions.of(laboratory, reading), asked, len(known.series))
    settings = known.settings(seed_or_none(seed))
    with console.progress(f"Asking {console.counted(len(entries), 'model')} about the past") as report:
        board = rolled(
            {name: entry.make(**settings_for(name, **settings)) for name, entry in entries.items()},
            known.series,
            origins=_usual_origins(len(known.series), every or n_bins) if origins is None else origins,
            horizon=n_bins,
            every=every,
            covariates=known.covariates,
            truth=truth,
            refit_every=refit_every,
            progress=report,
        )
    _say(board)
    if out is not None and forecasts is not None:
        board.write(out)
        board.write_forecasts(forecasts)
        console.say(f"Wrote {out}: the leaderboard, and {forecasts}: every forecast beside what came.")
    if page is not None:
        from tacit.pages.forecast_page import make_backtest_page

        with console.waiting("Making the page"):
            make_backtest_page(board, asked, page, has_covariates=known.covariates is not None, language=language)
        console.say(f"Wrote {page}. Open it in a browser; it needs no network.")


def _usual_origins(n_times: int, every: int) -> int:
    """Return the number of origins that leaves half of the bins to learn from."""
    return min(_MOST_ORIGINS, max(n_times // 2 // every, 1))


def _truth(source: SourceOptions, release: Release, n_times: int) -> ExactTally:
    return ExactTally(true_counts(source, release).reveal()[:n_times])


def _say(board: Leaderboard) -> None:
    for remark in board.remarks():
        (console.warn if remark.startswith(("LABORATORY", "SIMULATION")) else console.say)(remark)
    is_exact = board.best.mae is not None
    errors = ["MAE"] if is_exact else []
    headings = [
        "Model",
        *errors,
        "RMSE",
        "MSE behind best",
        "in 80%",
        "in 95%",
        "Width 80%",
        "Total",
        "Total in 80%",
        "Total in 95%",
    ]
    console.table(headings, [_row(score, board.best) for score in board.scores])
    if not is_exact:
        console.say(
            "Whether counts lie in their intervals is checked with noise in both: the more of it, the less that finds."
        )


def _row(score: Score, best: Score) -> list[str]:
    total = score.total_rmse if score.total_mae is None else score.total_mae.value
    return [
        score.name,
        *([] if score.mae is None else [_sure(score.mae)]),
        decimals(score.rmse, 2) if score.is_told else f"under {decimals(score.rmse_at_most, 2)}",
        _sure(score.behind) if not score.is_least else "best" if best.is_told else "–",
        *(f"{decimals(100 * mean.value, 1)}%" for mean in score.coverages),
        decimals(score.widths[0], 1),
        decimals(total, 1),
        *(f"{decimals(100 * mean.value, 1)}%" for mean in score.total_coverages),
    ]


def _sure(mean: Mean) -> str:
    return f"{decimals(mean.value, 2)} ± {decimals(mean.error, 2)}"
