"""tacit ledger verify: whether a ledger is whole, and holds the heads of what was published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from tacit.cli import console
from tacit.cli.ledger_file import LedgerFile, default_ledger
from tacit.cli.remedies import in_shell
from tacit.collection.wire import ReportFile
from tacit.counts.tally import Tally
from tacit.errors import FormatError
from tacit.mechanisms.continual.history_file import read_history
from tacit.mechanisms.continual.state_file import read_state
from tacit.privacy.ledger import Ledger
from tacit.release import Release
from tacit.release.files import is_release

_LONGEST_MAGIC: Final = 8  # that of report files


def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Releases, report files, tallies, counters or their histories (default: the ledger alone).",
        ),
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Check that no entry of the ledger was changed, and that it paid for these files.

    Every file carries the head of the ledger that paid for it. A ledger without that head is older than the file, or
    another ledger: what was spent since is not in it.

    Example: [bold]tacit ledger verify visits.parquet visits.counter[/bold]
    """
    book = Ledger(ledger or default_ledger())
    book.verify(())
    found = {file: heads_of(file) for file in files or ()}
    refused = []
    for file, heads in found.items():
        try:
            book.verify(heads)
        except FormatError as problem:
            refused.append(file)
            console.warn(f"{file}: {in_shell(problem)}")
        else:
            held = "the ledger holds its head." if heads else "carries no head: a simulation, or older than heads are."
            console.say(f"{file}: {held}")
    if refused:
        raise FormatError(
            f"{book.path} does not hold the heads of {len(refused)} of {console.counted(len(found), 'file')}. Do not "
            "spend from it: use the ledger that paid for them, or restore the newest copy with its key."
        )
    console.say(f"Ledger: {book.path.absolute()}, whole, head {book.head or 'none before the next entry'}")


def heads_of(path: Path) -> tuple[str, ...]:
    """The heads that a file carries, whatever kind of file it is."""
    try:
        with path.open("rb") as file:
            magic = file.read(_LONGEST_MAGIC)
    except OSError:
        raise FormatError(f"{path} cannot be read. Check the path and its permissions.") from None
    if magic == b"TACITRPT":
        return ReportFile.open(path).provenance.ledger_heads
    if magic.startswith(b"PK"):
        return Tally.read(path).provenance.ledger_heads
    if magic.startswith(b"{"):
        saved = read_state(path)
        return (*saved.counter.stream.ledger_heads, *saved.ledger_heads)
    if is_release(path):
        return Release.read(path).unbiased.provenance.ledger_heads
    return read_history(path).stream.ledger_heads
