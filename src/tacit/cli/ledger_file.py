"""Which ledger a command writes to, and under which name it knows the events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import LEDGER, SourceOptions
from tacit.errors import SettingError

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        help="The ledger of what was spent (default: one per user, or TACIT_LEDGER).",
        metavar="FILE",
        rich_help_panel=LEDGER,
    ),
]


def data_set_name(source: SourceOptions) -> str:
    """The name by which the ledger knows events whose owner gave none: the file's."""
    if "://" in source.file:
        raise SettingError(
            "events from a database need a lasting name, by which the ledger knows them. Add: --data-set NAME"
        )
    return Path(source.file).stem


def default_ledger() -> Path:
    """One ledger per user, so that moving or renaming a file does not renew its budget."""
    if named := os.environ.get("TACIT_LEDGER"):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "tacit" / "ledger.sqlite"
