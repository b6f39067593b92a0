"""The screen of the command line: results go to standard output, progress and errors to standard error.

:data:`REMEDIES` says what to do about an error, in the commands and options of the shell.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.markup import escape

from tacit._base.files import check_writable
from tacit._base.languages import listed
from tacit._base.rounding import percent, whole
from tacit.errors import FileSetting, Remedy, SettingError, TacitError

if TYPE_CHECKING:  # numpy is loaded by commands that need it
    from tacit.counts.estimate import Answer
    from tacit.domain import Box, Domain

out: Final = Console(highlight=False, soft_wrap=True)
err: Final = Console(stderr=True, highlight=False, soft_wrap=True)

_QUIET_SECONDS: Final = 0.5  # a choice: what is done sooner needs no bar
_MOST_NAMED: Final = 3  # places or kinds in the words of an answer: they fit on a line; of more the number is said
_PIPED_WIDTH: Final = 160  # a file has no edge at which to break lines
Report = Callable[[int, int | None], None]


def say(text: str = "") -> None:
    """Print a line of the result."""
    out.print(escape(text))


def strong(text: str) -> None:
    """Print a line that stands out."""
    out.print(f"[bold]{escape(text)}[/bold]")


def warn(text: str) -> None:
    """Print what the user must not overlook, to standard error."""
    err.print(f"[bold yellow]{escape(text)}[/bold yellow]")


def note(text: str) -> None:
    """Print what is worth knowing about a result, to standard error, where it is in no program's way."""
    err.print(escape(text))


def is_attended() -> bool:
    """Return whether somebody is there to answer."""
    return sys.stdin.isatty() and out.is_terminal


def say_promises(promises: Iterable[str], *, is_alone: bool) -> None:
    """Say what may be relied on; as a warning where other entries about the same events are in the sum."""
    tell = say if is_alone else warn
    if not is_alone:
        tell("Other reports or releases of the same events count in:")
    for sentence in promises:
        tell(sentence)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2500, "row")
    ('1 row', '2,500 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say_estimate(found: Answer, about: str = "", *, noun: tuple[str, str] = ("event", "events")) -> None:
    """Say how many events there were, and how far off that may be; an estimate that no count can be needs a word."""
    number = round(found.shown)
    strong(f"{number:,} {noun[number != 1]}{about}, give or take {whole(found.standard_error)}")
    if number != round(found.value):
        side = "below" if found.value < number else "above"
        say(
            f"The estimate itself is {round(found.value):,}: it has no bias, so it may lie {side} what is possible. "
            "Shown is the nearest possible number; sums are of estimates."
        )


def table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1, title: str | None = None
) -> None:
    """Print a table; the first ``left`` columns are words, the others numbers."""
    from rich.table import Table

    grid = Table(title=title and escape(title), title_justify="left", show_edge=False, pad_edge=False)
    for position, heading in enumerate(headings):
        grid.add_column(escape(heading), justify="left" if position < left else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(str(cell)) for cell in row))
    if not out.is_terminal:
        out.width = max(out.width, _PIPED_WIDTH)
    out.print(grid)


@contextmanager
def progress(doing: str) -> Iterator[Report]:
    """Show a bar while something takes longer than half a second, and a line with its time when it is done.

    Where no terminal is attached only the line is printed.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    started = time.monotonic()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )
    task = bar.add_task(doing, total=None)

    def report(done: int, total: int | None) -> None:
        if err.is_terminal and not bar.live.is_started and time.monotonic() - started > _QUIET_SECONDS:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()
    seconds = time.monotonic() - started
    if seconds > _QUIET_SECONDS:
        err.print(f"[dim]{escape(doing)}: {seconds:.1f} s[/dim]")


@contextmanager
def waiting(doing: str) -> Iterator[Report]:
    """Show progress of something that may not tell how far it is."""
    with progress(doing) as report:
        begun = threading.Timer(_QUIET_SECONDS + 0.1, report, (0, None))
        begun.start()
        try:
            yield report
        finally:
            begun.cancel()
            begun.join()


class Stages:
    """One thing done after another, each with its bar; :meth:`end` takes the bar away, to ask or to print."""

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._report: Report | None = None

    def begin(self, doing: str) -> None:
        """Show what is done from now on."""
        self.end()
        self._report = self._shown.enter_context(waiting(doing))

    def report(self, done: int, total: int | None) -> None:
        """Show how far it is."""
        if self._report is not None:
            self._report(done, total)

    def end(self) -> None:
        """Say how long the last thing took."""
        self._report = None
        self._shown.close()


def fail(problem: BaseException, words: str) -> None:
    """Print a refusal, and what was noted on its way."""
    err.print(f"[bold red]Error:[/bold red] {escape(words)}")
    for note in getattr(problem, "__notes__", ()):
        err.print(escape(note))


def fail_unexpectedly(problem: BaseException) -> None:
    """Print where a fault of ours happened, and nothing that might hold a value of the data."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    place = f"{Path(frame.filename).name}, line {frame.lineno}"
    err.print(
        f"[bold red]Error:[/bold red] Tacit failed unexpectedly ({type(problem).__name__} in {escape(place)}). "
        "Please report this line. To see the details, which may hold values of your data, set TACIT_DEBUG=1."
    )
    if os.environ.get("TACIT_DEBUG"):
        err.print_exception()


def check_apart(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse to write two files to one path, or over a file that is needed, also if overwriting was asked for."""
    taken = {path.resolve() for path in read}
    for path in written:
        if path.resolve() in taken:
            raise SettingError(f"{path} would be overwritten, and is needed for something else. Choose another name.")
        taken.add(path.resolve())


def check_new(path: Path, *, force: bool) -> None:
    """Refuse a path that cannot be written, and to overwrite a file unless told to."""
    check_writable(path)
    if path.exists() and not force:
        raise SettingError(f"{path} exists already. Choose another name, or overwrite it with --force.")


def check_outputs(written: Iterable[Path | None], read: Iterable[Path | None], *, force: bool) -> None:
    """Refuse files that cannot be written, or that would overwrite each other or a file that is needed."""
    asked = [path for path in written if path is not None]
    check_apart(asked, [path for path in read if path is not None])
    for path in asked:
        check_new(path, force=force)


_NOUNS: Final = {"time": "period", "place": "place", "kind": "kind"}


def noun_of(axes: Sequence[str], several: str) -> str:
    """Return the noun for a cell along one axis, or the word for one along several.

    >>> noun_of(["time"], "public bin"), noun_of(["time", "kind"], "public bin")
    ('period', 'public bin')
    """
    return _NOUNS[axes[0]] if len(axes) == 1 else several


def size(grid: Sequence[int]) -> str:
    """Return the number of periods, of places and, where there are kinds, of kinds, in words.

    >>> size((365, 17)), size((1, 17, 4))
    ('365 periods x 17 places', '1 period x 17 places x 4 kinds')
    """
    return " x ".join(counted(number, noun) for number, noun in zip(grid, _NOUNS.values(), strict=False))


def box_words(domain: Domain, box: Box) -> str:
    """Return which periods, places and kinds a box has, by name where they are few."""
    label, n_kinds = domain.time.label, domain.n_kinds
    first, last = label(box.time[0]), label(box.time[-1])
    found = [first if first == last else f"{first} to {last}"]
    columns = {"place": {column // n_kinds for column in box.columns}, "kind": {one % n_kinds for one in box.columns}}
    for name, axis in (("place", domain.place), ("kind", domain.kind)):
        if axis is None or axis.is_all:
            continue
        cells = sorted(columns[name])
        if len(cells) == axis.n_cells > 1:
            found.append(f"all {counted(len(cells), name)}")
        elif len(cells) <= _MOST_NAMED:
            found.append(listed([axis.cells[cell] for cell in cells]))
        else:
            found.append(counted(len(cells), name))
    return "; ".join(found)


def say_interval(level: float, limits: tuple[float, float], what: str) -> None:
    """Say between which numbers the true one lies, and which periods, places and kinds it counts."""
    lower, upper = map(whole, limits)
    say(f"{percent(level)} interval: {lower} to {upper} ({what})")


REMEDIES: Final = {
    Remedy.ACCEPT_AGAIN: "Else keep to the new days (--from), or accept the sum with --again.",
    Remedy.ACCEPT_LOSS: "If it is right so, accept it: --accept-loss",
    Remedy.ALLOW_MORE: "Ask for less, keep to new days, or allow more: "
    "tacit ledger --budget {data_set} --epsilon EPSILON",
    Remedy.AUDIT_FEWER: "Make more, or audit with fewer: --runs",
    Remedy.CHANGE_BUDGET: "Leave the budget out, or change it first: "
    "tacit ledger --budget {data_set} --epsilon EPSILON",
    Remedy.CHOOSE_HISTORY: "Choose another name with --history.",
    Remedy.CHOOSE_HORIZON: "Give for example: --horizon 7, or --horizon month",
    Remedy.CHOOSE_STATE: "Choose another name with --out.",
    Remedy.COUNT_THE_SAME: "Use the reports you have, from which coarser counts come at no cost (tacit release --by, "
    "--place, --kind). Else keep to the new days (--from), or take the places, kinds, --where and reading options of "
    "the earlier run; --again does not help here.",
    Remedy.COUNT_INSTEAD: "Use tacit count, or make a plan with: tacit plan",
    Remedy.DECLARE_COPY: "Say first whether {data_set} and {other} are the same events: tacit ledger same {data_set} "
    "{other}; or, if they only look alike on such days: tacit ledger distinct {data_set} {other}",
    Remedy.DESCRIBE_AGAIN: "Describe it again with: tacit check --force, or name the right file.",
    Remedy.DESCRIBE_SOURCE: "Make one with: tacit check",
    Remedy.EXPECT_EVENTS: "Add: --expected-events 400000, say.",
    Remedy.FIT_AGAIN: "Else fit again without --load.",
    Remedy.GIVE_LAST_DAY: "Add the last day: --to 2018-12-31",
    Remedy.GIVE_NAMES: "Look at its first line: if it holds no column names, give them with --names.",
    Remedy.GIVE_SEPARATOR: "Look at its first line, and say what parts its columns: --separator CHAR",
    Remedy.GIVE_TABLE: "Name the table: --places FILE",
    Remedy.GIVE_TOKEN: "Give the survey's token to send reports: --token, or TACIT_TOKEN",
    Remedy.GO_ON_UNDER_ANOTHER: "Name the ledger that paid for it: --ledger FILE; or, if this one knows all that was "
    "spent on these events, go on with --other-ledger.",
    Remedy.HIDE_THE_SAME: "Use a plan that hides the same; --again does not help here.",
    Remedy.KEEP_SUPPRESSED: "Make it again without --suppress, or with --keep-suppressed.",
    Remedy.KEEP_TO_DESCRIPTION: "Leave it out, or describe the source again: tacit check … --force",
    Remedy.KEEP_TO_NEW_DAYS: "Keep to the new days (--from); --again does not help here.",
    Remedy.KEEP_TO_TAKEN: "Keep to those that are taken (--from, --until). A period that is closed stays closed: for "
    "older events its operator makes a new survey that takes them.",
    Remedy.LEAVE_OUT_REVISES: "Leave out --revises.",
    Remedy.LEAVE_OUT_TOWNS: "Leave --towns out.",
    Remedy.LEAVE_OUT_USERS: "Leave out --user, or start one with --unit user-day or person.",
    Remedy.LIST_PLACES: "Give a table with --places, or take the names in the events: --places-from-events",
    Remedy.MAKE_KEY: "Make one with: tacit key FILE",
    Remedy.MAKE_PLAN: "Make one with: tacit plan",
    Remedy.MAKE_PUBLICATION: "Make one with: tacit publish",
    Remedy.MAKE_RELEASE: "Make one with: tacit release",
    Remedy.MAKE_REPORTS: "Make one with: tacit randomize",
    Remedy.MAKE_TALLY: "Make one with: tacit tally",
    Remedy.NAME_DATA_SET: "Say which: --data-set NAME",
    Remedy.NAME_KINDS: "Add: --kind COLUMN",
    Remedy.NAME_PLACES_COLUMN: "Rename a column, or say which it is: --places-column {meaning}=COLUMN",
    Remedy.NAME_PLAN: "Name it with --plan FILE, or make one with: tacit plan",
    Remedy.NAME_USERS: "Add: --user COLUMN",
    Remedy.OVERWRITE: "Choose another name, or overwrite it with --force.",
    Remedy.PUBLISH_APART: "Else keep to days that are new, or publish these on their own, where the sum can be "
    "accepted: --folder FOLDER --from DATE --again",
    Remedy.PUBLISH_ELSEWHERE: "To publish otherwise, name another folder: --folder FOLDER",
    Remedy.RANDOMIZE_INSTEAD: "Use tacit randomize, or make a plan with: tacit plan --trust curator",
    Remedy.RELEASE_COARSER: "Release it again with --by or --place, or with --keep-suppressed.",
    Remedy.RELEASE_FROM_REPORTS: "Release it again, with --reports and --by or --place.",
    Remedy.SAVE_MODEL: "Make one with: tacit forecast --save",
    Remedy.SEND_NEW_DAYS: "Send the new days alone (--from): a survey refuses events that were randomized before.",
    Remedy.START_COUNTER: "Start one with: tacit counter start",
}


def in_shell(problem: TacitError, options: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the message of an error in the words of the shell.

    ``options`` are those of the command that was called, and its arguments, by the names that Python has for them. A
    message that begins with a setting, as ours do (``<setting> must be <rule>; got <setting>=<value>``), then begins
    with its option. An argument has no option to write, so what was given is told alone; so is a ``path``, which no
    option is called. What was not given is told so. What stands in a file keeps the name that it has there.

    >>> in_shell(SettingError("most_per_cell must be 1; got most_per_cell=0."), {"most_per_cell": "--most-per-cell"})
    '--most-per-cell must be 1; got --most-per-cell 0.'
    >>> swapped = SettingError("last must not be before first; got first=2018, last=2017.")
    >>> in_shell(swapped, {"first": "--from", "last": "--to"})
    '--to must not be before --from; got --from 2018, --to 2017.'
    >>> named = {"dataset": "DATASET", "country": "--country"}
    >>> in_shell(SettingError("dataset must be doubs; got dataset=paris, country=None, path=a.txt."), named)
    'DATASET must be doubs; got paris, no --country, a.txt.'
    """
    words = problem.said(
        lambda remedy, names: REMEDIES[remedy].format(**{name: quote(value) for name, value in names.items()})
    )
    if isinstance(problem, FileSetting):
        return words
    named = {f"n_{name.removeprefix('expected_')}": option for name, option in options.items()} | dict(options)
    for name, option in ({"path": "the file"} | named).items():
        # a word with an underscore is of Python wherever it stands; others may be plain English
        given = "|".join(rf"(?<={before} ){name}=" for before in ("[;,] got", ",", "for example"))
        plain = rf"^{name}(?= must )|(?<= before ){name}(?=; got )|{given}"
        where = rf"(?<![\w-]){name}(?![\w-])=?" if "_" in name else plain
        words = re.sub(rf"(?:{where})(None\b)?", partial(_put, option), words)
    return words


def _put(option: str, found: re.Match[str]) -> str:
    """Return what stands in the shell for a setting that was found in a message, with or without its value."""
    if found[1]:
        return f"no {option}"
    if "=" in found[0]:
        return f"{option} " if option.startswith("--") else ""
    return option
