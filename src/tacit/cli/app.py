"""The ``tacit`` command: a list of commands, each loaded when it is called."""

from __future__ import annotations

import signal
import sys
from functools import cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from tacit import __version__
from tacit.cli import console
from tacit.errors import TacitError

_HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}

COMMANDS: Final = {
    "demo": "Show the whole way on synthetic interventions: events, randomized reports, counts, a release, a page, "
    "a forecast.",
    "publish": "Publish the counts of events: plan, release, page, statement and forecast, in one folder.",
    "simulate": "Make synthetic events: nobody's data, with the shape of the real ones.",
    "check": "Read events, report what can be counted, and describe how they are written.",
    "summary": "Show events per day in each year, and how many week and month cells hold a single event.",
    "bound": "Choose privately how many events of a person are counted, from a public grid.",
    "plan": "Write a plan: the public agreement on what is counted and how privately.",
    "randomize": "Randomize every event, and record that it was done.",
    "tally": "Count the reports of one or more files. Every file is checked before the first is counted.",
    "release": "Write counts with intervals and the privacy statement, in one file that may be published.",
    "count": "Count events exactly, add noise, and write what may be published.",
    "key": "Make a key to sign releases with: a private file, and the public key beside it.",
    "query": "Answer how many events there were, with an interval for the true number.",
    "page": "Make one self-contained page of a release: map, time series, error and the privacy statement. "
    "Works offline.",
    "forecast": "Forecast the number of events per place, with intervals, from a release and public tables alone.",
    "backtest": "Compare forecasters on the past of a release: what they would have said, and what came.",
    "laboratory": "Show what private counts and forecasts of your events would be off by, at several epsilons.",
    "synthetic": "Draw synthetic events from a release: as many as its public numbers and refined counts say.",
    "audit": "Bound from below what a mechanism gives away, and refute its claim where the bound is larger.",
    "counter": "Publish a running count after every period, at one price for ever.",
    "serve": "Collect randomized reports over the network, count each once, and answer questions about them.",
    "collector": "Surveys, tokens and backups of a collector, beside the server or while none runs.",
    "send": "Randomize every event under a survey's plan, record it, and send the reports until they are counted.",
    "ledger": "What was spent on which data set, what remains, what is promised, and budgets.",
}
"""Every command with its line of help, in the order of the help. The module of a command has its name."""


def new_group(name: str, **settings: Any) -> typer.Typer:
    """Return an empty group of commands, with its line of help."""
    return typer.Typer(
        name=name,
        help=COMMANDS[name],
        add_completion=False,
        rich_markup_mode="rich",
        context_settings=_HELP_OPTIONS,
        **settings,
    )


@cache
def load_command(name: str) -> Any:
    """Return a command, or a group of commands, from its module ``tacit.cli.<name>``; made once."""
    module = import_module(f"tacit.cli.{name}")
    group: typer.Typer | None = getattr(module, "app", None)
    if group is None:
        group = new_group(name)
        group.command(name, no_args_is_help=name not in ("demo", "serve"))(getattr(module, name))
    return _with_joined_lines(typer.main.get_command(group))


def _with_joined_lines(command: Any) -> Any:
    """Return a command whose paragraphs of help are single lines: typer would end lines where the source does."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for one in getattr(command, "commands", {}).values():
        _with_joined_lines(one)
    return command


class LazyGroup(TyperGroup):
    """A group that lists its commands by :data:`COMMANDS` and loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, line in COMMANDS.items():
            self.add_command(TyperCommand(name, help=line), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else load_command(name), rest


app = typer.Typer(
    name="tacit",
    cls=LazyGroup,
    help="Count events over time and place without telling on anyone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=_HELP_OPTIONS,
    epilog="A first look: [bold]tacit demo[/bold]. Your own events: [bold]tacit publish EVENTS[/bold].",
)


@app.callback(invoke_without_command=True)
def top(version: bool = typer.Option(False, "--version", help="Show the version and leave.")) -> None:
    if version:
        console.say(f"tacit {__version__}")
        raise typer.Exit


class Stopped(BaseException):
    """Ctrl-C, or a request to terminate; not a KeyboardInterrupt, which typer would swallow without a word."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number  # as shells have it


def _stop(number: int, frame: object) -> None:
    raise Stopped(number)


def called_options() -> dict[str, str]:
    """Return the options and arguments of the command that was called, by their names in Python."""
    command = None
    for word in sys.argv[1:3]:
        if command is None and word in COMMANDS:
            command = load_command(word)
        elif command is not None:
            command = getattr(command, "commands", {}).get(word, command)
    named = {one.name: _written(one) for one in getattr(command, "params", ())}
    return {name: words for name, words in named.items() if name is not None and words is not None}


def _written(parameter: Any) -> str | None:
    """Return how the help writes a parameter: an option by its long name, an argument by what stands for it."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper()).strip("[].")
    return next((name for name in parameter.opts if name.startswith("--")), None)


def run() -> None:
    """Run the command line and leave with an exit code: 0 done, 1 to 5 refused (see tacit.errors), 70 our fault."""
    code = 0
    for one in (signal.SIGINT, signal.SIGTERM):  # by you, and by whatever schedules jobs
        signal.signal(one, _stop)
    try:
        app()  # leaves by SystemExit, also for a mistake in the words of the command
    except TacitError as problem:
        console.fail(problem, console.in_shell(problem, called_options()))
        code = problem.exit_code
    except Stopped as problem:
        console.fail(problem, "stopped. Files that were not finished were not left behind.")
        code = problem.exit_code
    except OSError as problem:
        what = problem.strerror or type(problem).__name__
        where = f" {problem.filename}" if problem.filename else ""
        console.fail(problem, f"the system refused{where}: {what}. Check the path, its permissions and the disk.")
        code = 1
    except Exception as problem:
        console.fail_unexpectedly(problem)
        code = 70
    sys.exit(code)
