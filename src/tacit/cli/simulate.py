"""tacit simulate: synthetic data to try everything on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit._validate import check_one_of
from tacit.cli import console
from tacit.cli.options import Force
from tacit.datasets import doubs


def simulate(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="doubs: interventions of a fire service, 2006 to 2018.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.", metavar="FILE")] = Path(
        doubs.DEFAULT_FILE_NAME
    ),
    seed: Annotated[
        int, typer.Option(help="Another seed gives another world; published figures use 25.")
    ] = doubs.DEFAULT_SEED,
    force: Force = False,
) -> None:
    """Make synthetic events: nobody's data, with the shape of the real ones.

    Example: [bold]tacit simulate doubs --out interventions.csv[/bold]
    """
    check_one_of(("doubs",), dataset=dataset)
    console.check_new(out, force=force)
    with console.progress("Simulating interventions") as report:
        data = doubs.interventions(seed)
        data.write(out, progress=report)
    console.say(f"Wrote {out}: {data.n_rows:,} SYNTHETIC interventions, {data.days[0]} to {data.days[-1]}.")
    console.say(f"Next: tacit check {out} --time SDate --place Town")
