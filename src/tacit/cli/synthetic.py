"""tacit synthetic: rows for programs that need rows, drawn from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import Force, ReleaseFile
from tacit.release import Release
from tacit.release.synthetic import SyntheticRows


def synthetic(
    release: ReleaseFile,
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.", metavar="FILE")] = Path(
        "synthetic-rows.csv"
    ),
    towns: Annotated[
        str, typer.Option(help="Also draw a town within each place: none, even, or by population.")
    ] = "none",
    seed: Annotated[int | None, typer.Option(help="Draw the same rows again; protects as well as any other.")] = None,
    force: Force = False,
) -> None:
    """Draw synthetic events from a release: as many as its public numbers and refined counts say.

    No row is an event. The rows cost no budget: the release is all they are made of, and its statement is theirs.

    Example: [bold]tacit synthetic release.parquet --towns population --out rows.csv[/bold]
    """
    console.check_new(out, force=force)
    read = Release.read(release)
    with console.progress("Drawing rows"):
        made = SyntheticRows.of(read, towns=towns, seed=seed)
        made.write(out)
    console.say(f"Wrote {out}: {console.counted(made.n_rows, 'SYNTHETIC row')}. No row is an event.")
    if read.is_simulation:
        console.warn("SIMULATION: the release was made with a known seed and protects nobody. Do not publish the rows.")
