"""The command line: one thin file per command."""

from __future__ import annotations

import sys
from typing import NoReturn

from tacit.errors import MissingExtra


def main() -> None:
    """Run the command line; every failure is a sentence and an exit code, never a traceback."""
    try:
        from tacit.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        _refuse(f"the command line needs {missing.name}. Run: pip install 'tacit[desk]'")
    except MissingExtra as missing_extra:
        _refuse(str(missing_extra))
    except KeyboardInterrupt:
        sys.exit(130)
    run()


def _refuse(problem: str) -> NoReturn:
    """Leave with the exit code of a part that is not installed."""
    sys.stderr.write(f"Error: {problem}\n")
    sys.exit(MissingExtra.exit_code)
