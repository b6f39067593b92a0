"""tacit simulate: synthetic data to try everything on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit._base.validation import check_one_of
from tacit.cli import console
from tacit.cli.options import Force
from tacit.events.datasets import doubs, library


def simulate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="doubs: interventions of a fire service, 2006 to 2018. library: daily visits to five libraries.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write: .csv, or .parquet for doubs.", metavar="FILE")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Another seed gives another world; published figures use the default.")
    ] = None,
    force: Force = False,
) -> None:
    """Make synthetic events: nobody's data, with the shape of the real ones.

    Example: [bold]tacit simulate doubs --out interventions.csv[/bold]
    """
    check_one_of(("doubs", "library"), dataset=dataset)
    if dataset == "doubs":
        _doubs(out or Path(doubs.DEFAULT_FILE_NAME), doubs.DEFAULT_SEED if seed is None else seed, force)
    else:
        _library(out or Path(library.DEFAULT_FILE_NAME), library.DEFAULT_SEED if seed is None else seed, force)


def _doubs(out: Path, seed: int, force: bool) -> None:
    console.check_new(out, force=force)
    with console.progress("Simulating interventions") as report:
        data = doubs.interventions(seed)
        data.write(out, progress=report)
    console.say(f"Wrote {out}: {data.n_rows:,} SYNTHETIC interventions, {data.days[0]} to {data.days[-1]}.")
    console.say(f"Next: tacit check {out} --time SDate --place Town --places doubs --zone Europe/Paris")
    console.say("For kinds of events, add: --kinds doubs")


def _library(out: Path, seed: int, force: bool) -> None:
    places = out.with_name("libraries.csv")
    for path in (out, places):
        console.check_new(path, force=force)
    with console.progress("Simulating visits"):
        data = library.visits(seed)
        data.write(out, places)
    first, last = data.days[0], data.days[-1]
    console.say(f"Wrote {out}: {int(data.counts.sum()):,} SYNTHETIC visits, {first} to {last}.")
    console.say(f"Wrote {places}: the table of {len(data.libraries)} libraries, for plans.")
    console.say(
        f"Next: tacit plan --trust curator --places {places} --level library --from {first} --to {last} --epsilon 1"
    )
