"""tacit page: a release as one HTML file to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit._base.languages import ENGLISH
from tacit.cli import console
from tacit.cli.key import read_release
from tacit.cli.ledger_file import LedgerFile
from tacit.cli.options import (
    Force,
    Language,
    Noun,
    Panel,
    ReadingOptions,
    ReleaseFile,
    SignedBy,
    SourceOptions,
    Synthetic,
    Title,
    takes,
)
from tacit.cli.sources import looked_at, say_bad_rows
from tacit.counts.tally import ExactTally
from tacit.errors import DataError
from tacit.pages import make_page
from tacit.release import Release
from tacit.release.joining import stated_now


@takes(reading=Panel("Outlines of places, and the true events of --laboratory", ReadingOptions))
def page(
    *,
    release: ReleaseFile,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page (default: named like the release).", metavar="FILE")
    ] = None,
    title: Title = None,
    synthetic: Synthetic = None,
    noun: Noun = None,
    language: Language = ENGLISH,
    laboratory: Annotated[
        str | None,
        typer.Option(
            help="The true events, shown beside the private numbers and watermarked: never for publication. "
            "Read by the options --time, --place and so on.",
            metavar="FILE",
        ),
    ] = None,
    signed_by: SignedBy = None,
    ledger: LedgerFile = None,
    force: Force = False,
    reading: ReadingOptions,
) -> None:
    """Make one self-contained page of a release: map, time series, error and the privacy statement. Works offline.

    With [bold]--polygons[/bold] the map shows the places' outlines instead of tiles.

    Example: [bold]tacit page release.parquet --out release.html[/bold]
    """
    out = out or Path(f"{release.stem}.html")
    console.check_outputs([out], [release, Path(laboratory) if laboratory else None], force=force)
    shown = read_release(release, signed_by)
    if stated_now(shown, ledger) is not shown:
        console.warn(
            f"the ledger knows of more reports or releases of these events than {release} states. State them, and "
            f"make the page of that file: tacit ledger statement {release} --out NEW"
        )
    truth = None if laboratory is None else true_counts(SourceOptions.of(laboratory, reading), shown)
    with console.progress("Making the page"):
        make_page(
            shown,
            out,
            truth=truth,
            polygons=reading.polygons,
            title=title,
            synthetic=synthetic,
            noun=noun,
            language=language,
        )
    console.say(f"Wrote {out}. Open it in a browser; it needs no network.")
    if truth is not None:
        console.warn("LABORATORY: the page shows true numbers. Do not publish it.")


def true_counts(source: SourceOptions, release: Release) -> ExactTally:
    """Return the true events counted over a release's periods and places, for the laboratory."""
    events = looked_at(source, zone=release.domain.time.zone).open(release.domain)
    with console.progress("Reading the true events") as report:
        counts = events.count(progress=report)
    say_bad_rows(counts.bad_rows)
    if not counts.n_events:
        raise DataError(f"nothing in {source.shown} can be counted. Check --time, --place and the release's places.")
    return ExactTally(counts.counts)
