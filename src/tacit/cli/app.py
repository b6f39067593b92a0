"""The ``tacit`` command."""

from __future__ import annotations

import signal
import sys

import typer

from tacit import __version__
from tacit.cli import (
    audit,
    backtest,
    check,
    console,
    count,
    counter,
    demo,
    forecast,
    ledger,
    page,
    plan,
    query,
    randomize,
    release,
    simulate,
    summary,
    synthetic,
    tally,
)
from tacit.errors import TacitError

app = typer.Typer(
    name="tacit",
    help="Count events over time and place without telling on anyone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first look: [bold]tacit demo[/bold]. "
    "Your own events: check, plan, randomize, tally, release, page, forecast.",
)

for module in (
    demo,
    simulate,
    check,
    summary,
    plan,
    randomize,
    tally,
    release,
    count,
    query,
    page,
    forecast,
    backtest,
    synthetic,
    audit,
):
    name = module.__name__.rsplit(".", 1)[-1]
    app.command(name, no_args_is_help=module is not demo)(getattr(module, name))
app.add_typer(counter.app)
app.add_typer(ledger.app)


@app.callback(invoke_without_command=True)
def top(version: bool = typer.Option(False, "--version", help="Show the version and leave.")) -> None:
    if version:
        console.say(f"tacit {__version__}")
        raise typer.Exit


class Stopped(BaseException):
    """Ctrl-C; not a KeyboardInterrupt, which typer would swallow without a word."""


def _stop(*_: object) -> None:
    raise Stopped


def run() -> None:
    """Run the command line and leave with an exit code: 0 done, 1 to 5 refused (see tacit.errors), 70 our fault."""
    code = 0
    signal.signal(signal.SIGINT, _stop)
    try:
        app()  # leaves by SystemExit, also for a mistake in the words of the command
    except TacitError as problem:
        console.fail(problem)
        code = problem.exit_code
    except Stopped as problem:
        console.fail(problem, "stopped. Files that were not finished were not left behind.")
        code = 130
    except OSError as problem:
        what = problem.strerror or type(problem).__name__
        where = f" {problem.filename}" if problem.filename else ""
        console.fail(problem, f"the system refused{where}: {what}. Check the path, its permissions and the disk.")
        code = 1
    except Exception as problem:
        console.fail_unexpectedly(problem)
        code = 70
    sys.exit(code)
