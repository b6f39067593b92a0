"""tacit page: a release as one HTML file to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import Force
from tacit.errors import SettingError
from tacit.events import EventColumns, open_events
from tacit.pages import make_page
from tacit.release import Release
from tacit.tally import ExactTally


def page(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release, made by: tacit release")],
    out: Annotated[Path, typer.Option(help="Where to write the page.", metavar="FILE")] = Path("release.html"),
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    polygons: Annotated[
        Path | None, typer.Option(help="GeoJSON polygons of the places, for the map.", metavar="GEOJSON")
    ] = None,
    laboratory: Annotated[
        Path | None,
        typer.Option(
            help="The true events, shown beside the private numbers and watermarked: never for publication.",
            metavar="FILE",
        ),
    ] = None,
    time: Annotated[str | None, typer.Option(help="With --laboratory: the column of dates.", metavar="COLUMN")] = None,
    place: Annotated[
        str | None, typer.Option(help="With --laboratory: the column of places.", metavar="COLUMN")
    ] = None,
    force: Force = False,
) -> None:
    """Make one self-contained page of a release: map, time series, error and the privacy statement. Works offline.

    Example: [bold]tacit page release.parquet --out release.html[/bold]
    """
    console.check_new(out, force=force)
    shown = Release.read(release)
    truth = None
    if laboratory is not None:
        if time is None or place is None:
            raise SettingError("the laboratory needs --time and --place, the columns of the true events. Name both.")
        events = open_events(laboratory, columns=EventColumns(time=time, place=place), domain=shown.domain)
        with console.progress("Reading the true events") as report:
            truth = ExactTally(events.count(progress=report).counts)
    with console.progress("Making the page"):
        make_page(shown, out, truth=truth, polygons=polygons, title=title)
    console.say(f"Wrote {out}. Open it in a browser; it needs no network.")
    if truth is not None:
        console.warn("LABORATORY: the page shows true numbers. Do not publish it.")
