"""tacit demo: the whole way on synthetic data, from events to a page."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import typer

from tacit._base.rounding import epsilon_at_most
from tacit.cli import console
from tacit.collection.randomizing import randomize_events
from tacit.collection.tallying import estimate_tally, tally_reports
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.events.datasets import doubs
from tacit.forecast.forecaster import DEFAULT, forecaster_named
from tacit.forecast.past import series_of
from tacit.mechanisms.registry import plan_for
from tacit.pages import make_page, make_statement_page
from tacit.pages.forecast_page import make_forecast_page
from tacit.privacy.ledger import Ledger
from tacit.release import Release

_COLUMNS: Final = EventColumns(time="SDate", place="Town")
_WRITTEN: Final = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
_DEFAULT_F: Final = 0.5  # the paper's: epsilon 2.2 for one report
_SYNTHETIC: Final = "Synthetic interventions, made by tacit simulate doubs: nobody's real data."
_SKETCHED: Final = (
    f"{_SYNTHETIC} Outlines of regions are sketches: cells around towns of GeoNames (CC BY 4.0, www.geonames.org), "
    "merged by region."
)


def demo(
    folder: Annotated[
        Path, typer.Option(help="Where to put everything; files of an earlier demo are replaced.")
    ] = Path("demo"),
    epsilon: Annotated[float | None, typer.Option(help="How much one report may give away (default: 2.2).")] = None,
) -> None:
    """Show the whole way on synthetic interventions: events, randomized reports, counts, a release, a page, a forecast.

    Nothing here is anybody's data. The truth is shown beside the private counts because it is synthetic.

    Example: [bold]tacit demo[/bold]
    """
    folder.mkdir(parents=True, exist_ok=True)
    events_file, plan_file = folder / doubs.DEFAULT_FILE_NAME, folder / "plan.toml"
    with console.progress("1/7 Simulating 13 years of interventions") as report:
        data = doubs.interventions()
        data.write(events_file, progress=report)
    console.say(f"1/7 {events_file}: {data.n_rows:,} SYNTHETIC interventions in {len(data.regions)} regions of Doubs.")

    place = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    domain = Domain(TimeAxis.between(str(data.days[0]), str(data.days[-1]), zone="Europe/Paris"), place)
    plan = plan_for(domain, epsilon=epsilon, f=_DEFAULT_F if epsilon is None else None, name="Interventions in Doubs")
    plan.write(plan_file)
    console.say(
        f"2/7 {plan_file}: one report per intervention hides its region, epsilon {epsilon_at_most(plan.epsilon)}."
    )

    reports_file = folder / "interventions.reports"
    with console.progress("3/7 Randomizing every intervention") as report:
        done = randomize_events(
            open_events(events_file, columns=_COLUMNS, domain=domain, options=_WRITTEN),
            plan,
            reports_file,
            ledger=_fresh_ledger(folder),
            data_set="synthetic interventions",
            progress=report,
        )
    console.say(
        f"3/7 {reports_file}: {done.n_reports:,} reports of {-(-plan.n_private // 8)} bytes, secure randomness."
    )

    with console.progress("4/7 Counting reports") as report:
        tally = tally_reports([reports_file], plan, progress=report)
    tally.write(folder / "interventions.tally")
    console.say(f"4/7 {folder / 'interventions.tally'}: what a collector keeps.")

    with console.waiting("5/7 Estimating and smoothing counts; the first time on a machine it is compiled"):
        release = Release.of(plan, estimate_tally(tally, plan))
        release.write(folder / "release.parquet")
        monthly = release.coarsen(time="month")
        monthly.write(folder / "release-by-month.csv")
        make_statement_page(release, folder / "statement.html", synthetic=_SYNTHETIC)
    console.say(
        f"5/7 {folder / 'release.parquet'}: smoothed counts by day and region with intervals, and the statement."
    )

    page_file = folder / "release.html"
    outlines = Path(str(resources.files("tacit.domain").joinpath("places", "doubs_outlines.geojson")))
    with console.progress("6/7 Making the page"):
        make_page(
            release,
            page_file,
            truth=ExactTally(data.counts),
            polygons=outlines,
            title="Interventions in Doubs, 2006 to 2018",
            synthetic=_SKETCHED,
        )
    year = release.answer(first="2018", last="2018", places=[place.cells[0]])
    console.say(f"6/7 For example, {place.cells[0]} in 2018: {year}. The truth was {_truth(data):,}.")
    forecast_file = folder / "forecast.html"
    with console.waiting("7/7 Forecasting the week after"):
        series = series_of(release)
        week = forecaster_named(DEFAULT).fit(series).predict(7)
        make_forecast_page(
            week,
            release,
            forecast_file,
            series=series,
            per_crew=1.0,
            polygons=outlines,
            title="Interventions in Doubs: the next 7 days",
            synthetic=_SKETCHED,
        )
    low, high = (round(float(limit[0])) for limit in week.totals.intervals(0.8))
    console.say(
        f"7/7 {forecast_file}: for {week.domain.time.label(0)}, {week.totals.means[0]:.0f} interventions are expected, "
        f"4 times in 5 between {low} and {high}. No raw data was needed."
    )
    console.say()
    console.strong(f"Open {page_file.resolve()} and {forecast_file.name} beside it in a browser.")
    # make demo calls the command by its path, and its folder is not on that of the shell
    program = "tacit" if shutil.which("tacit") else os.path.relpath(sys.argv[0])
    console.say(f"With holidays: {program} forecast {folder / 'release.parquet'} --country FR --academy Besançon")


def _fresh_ledger(folder: Path) -> Ledger:
    """Return a new ledger: the demo makes new data each time and may spend on them; real data never come here."""
    for old in folder.glob("ledger.sqlite*"):
        old.unlink()
    return Ledger(folder / "ledger.sqlite")


def _truth(data: doubs.DoubsInterventions) -> int:
    return int(data.counts[data.days.astype("datetime64[Y]") == data.days[-1].astype("datetime64[Y]"), 0].sum())
