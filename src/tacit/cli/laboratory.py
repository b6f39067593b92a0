"""tacit laboratory: the paper's evaluation on events of one's own. Nothing is spent, and nothing is for publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit._base.languages import ENGLISH
from tacit.cli import console
from tacit.cli.domains import domain_of, zone_of
from tacit.cli.options import DomainOptions, Force, Language, SourceOptions, Title, takes
from tacit.cli.sources import check_there, description_of, looked_at, say_bad_rows
from tacit.counts.tally import ExactTally
from tacit.errors import DataError, SettingError
from tacit.pages.evaluation import Evaluation, make_evaluation_page


@takes(source=SourceOptions, domain=DomainOptions)
def laboratory(
    *,
    source: SourceOptions,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilons to try, with commas (default: 0.5,1,2,4).", metavar="NUMBERS")
    ] = None,
    f: Annotated[
        str | None,
        typer.Option("--f", help="The paper's f instead, with commas: 0.1,0.3,0.5,0.7,0.9.", metavar="NUMBERS"),
    ] = None,
    test_from: Annotated[
        str | None,
        typer.Option(
            help="The first day to forecast (default: the last year, or the last fifth of less than three years).",
            metavar="DATE",
        ),
    ] = None,
    day: Annotated[
        list[str] | None,
        typer.Option(
            help="A day to show place by place, true against forecast; may be repeated (default: the last).",
            metavar="DATE",
        ),
    ] = None,
    paper_model: Annotated[
        bool, typer.Option("--paper-model", help="Add the paper's XGBoost, with and without its ratio filter: slower.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where to write the page.", metavar="FILE")] = Path("laboratory.html"),
    title: Title = None,
    language: Language = ENGLISH,
    seed: Annotated[int, typer.Option(help="The seed of the simulated reports.")] = 1,
    force: Force = False,
    domain: DomainOptions,
) -> None:
    """Show what private counts and forecasts of your events would be off by, at several epsilons.

    The evaluation of the paper on your own data: error rates by year, month and day, and forecasts one day ahead. It
    compares with exact counts and is [bold]not for publication[/bold]. Reports are simulated; nothing is spent.

    Example: [bold]tacit laboratory trips.csv --time started_at --place station --places stations.csv --zone UTC[/bold]
    """
    from tacit.publication.laboratory import EPSILONS, epsilon_of, evaluate

    console.check_outputs([out], [Path(source.file)], force=force)
    if epsilon is not None and f is not None:
        raise SettingError("--f and --epsilon say the same in two ways. Leave one out.")
    epsilons = EPSILONS if epsilon is None else _numbers(epsilon, "--epsilon")
    if f is not None:
        given = _numbers(f, "--f")
        if not all(0 < one < 1 for one in given):
            raise SettingError(f"--f must be shares between 0 and 1; got {f}. Write 0.1,0.5,0.9, say.")
        epsilons = tuple(map(epsilon_of, given))
    check_there(source)
    known = description_of(source)
    settings = looked_at(source, zone=zone_of(domain.zone, known))
    counted_over = domain_of(domain, settings, known=known)
    with console.progress("Reading events") as report:
        counts = settings.open(counted_over).count(progress=report)
    say_bad_rows(counts.bad_rows)
    if not counts.n_events:
        raise DataError(
            f"nothing in {source.shown} can be counted. Check --time, --place, the table of places, the dates."
        )
    with console.progress(f"Simulating reports with {console.counted(len(epsilons), 'epsilon')}") as report:
        found = evaluate(
            counted_over,
            ExactTally(counts.counts),
            epsilons=epsilons,
            seed=seed,
            first_test_day=test_from,
            days=day or (),
            with_paper_model=paper_model,
            progress=report,
        )
    _say(found)
    with console.waiting("Making the page"):
        make_evaluation_page(found, out, title=title, language=language)
    console.say(f"Wrote {out}. Open it in a browser; it needs no network.")
    console.warn("LABORATORY: the page was made of true numbers. Do not publish it.")


def _numbers(given: str, option: str) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in given.split(","))
    except ValueError:
        raise SettingError(f"{option} must be numbers with commas; got {given}. Write 0.5,1,2, say.") from None


def _say(found: Evaluation) -> None:
    for remark in found.remarks():
        console.warn(remark)
    console.table(
        ["Epsilon", "Method", "Year", "Month", "Day"],
        [[row[name] for name in ("epsilon", "method", "year", "month", "day")] for row in found.rate_rows()],
        title="Error rate of counts: mean difference of shares",
    )
    console.table(
        ["Learned from", "Model", "MAE", "RMSE"],
        [
            [f"epsilon {row['epsilon']}" if row["epsilon"] else "raw counts"]
            + [row[name] for name in ("model", "mae", "rmse")]
            for row in found.score_rows()
        ],
        title=f"Forecasts of the next day, from {found.first_test_day} on",
    )
