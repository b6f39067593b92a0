"""Every error Tacit raises on purpose.

::

    TacitError
    ├── SettingError            a setting breaks its rule; change the setting
    │   ├── MissingExtra        an optional part is not installed; install it
    │   ├── FileSetting         a setting of a file breaks its rule; change it in the file
    │   └── NotDescribed        text, and nothing says how it is written; describe the source
    ├── DataError               the events cannot be used as they are; row numbers and counts, never values
    │   ├── UnreadableFile      missing, empty, damaged or of an unknown kind
    │   ├── MissingColumn       a named column is not there
    │   ├── AmbiguousDate       day first or month first? say so
    │   └── BadRows             rows that would be set aside, under strict reading
    ├── PlanError               a plan is damaged, or its thresholds do not give its epsilon
    │   └── PlanMismatch        two things made under different plans were put together
    ├── FormatError             a file of our own is damaged or newer than this version
    │   └── DamagedMessage      bytes of a message were changed or lost on its way; send it again
    ├── AlreadyRandomized       the same events would be randomized again
    ├── AlreadyReleased         a finished release would draw its noise again
    ├── BudgetExhausted         a release costs more than its data set's budget still holds
    ├── UndeclaredCopy          the same events are known under another name; say whether they are the same
    ├── NoInterval              a biased step has no honest interval
    └── NotShown                a count that a release does not show: suppressed, or without data

Each message ends with what to do. Where that is a function in Python and an option in the shell, the error carries it
as a :class:`Remedy`, and each front puts it into its own words. ``exit_code`` is what the command line leaves with.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, unique


@unique
class Remedy(Enum):
    """A remedy for an error, in Python's words; those of the shell are in ``tacit.cli.console``.

    The names in braces are filled in from what the error is told besides its problem.
    """

    ACCEPT_AGAIN = "Else keep to the new days, or accept the sum with again=True."
    ACCEPT_LOSS = "If it is right so, accept it with accept_loss=True."
    ALLOW_MORE = "Ask for less, keep to new days, or allow more with Ledger.set_budget({data_set!r}, ...)."
    AUDIT_FEWER = "Make more, or audit with fewer n_runs."
    CHANGE_BUDGET = "Leave the budget out, or change it first with Ledger.set_budget({data_set!r}, ...)."
    CHOOSE_HISTORY = "Choose another history for the CounterFiles."
    CHOOSE_HORIZON = "Give for example 7, or 'month'."
    CHOOSE_STATE = "Choose another state for the CounterFiles."
    COUNT_THE_SAME = (
        "Use the reports you have, from which coarser counts come at no cost. Else keep to the new days, or take "
        " the places, kinds, conditions and reading options of the earlier run; again=True does not help here."
    )
    COUNT_INSTEAD = "Use central_mechanism_of, or make a plan with plan_for."
    DECLARE_COPY = (
        "Say first whether {data_set} and {other} are the same events: Ledger.declare_same({data_set!r}, {other!r}); "
        "or, if they only look alike on such days: Ledger.declare_distinct({data_set!r}, {other!r})"
    )
    DESCRIBE_AGAIN = "Describe it again with tacit.events.propose_source, or name the right file."
    DESCRIBE_SOURCE = "Propose a description with tacit.events.propose_source."
    EXPECT_EVENTS = "Give expected_events=400_000, say."
    FIT_AGAIN = "Else fit a new forecaster."
    GIVE_LAST_DAY = "Give the last day: TimeAxis.between(first, last)."
    GIVE_NAMES = "Look at its first line: if it holds no column names, give them with ReadOptions(names=...)."
    GIVE_SEPARATOR = "Look at its first line, and say what parts its columns: ReadOptions(separator=...)."
    GIVE_TABLE = "Give the table: gazetteer=Gazetteer.read(path)."
    GIVE_TOKEN = "Give the survey's token to send reports: token=..."
    GO_ON_UNDER_ANOTHER = (
        "Name the ledger that paid for it with ledger=..., or, if this one knows all that was spent on these events, "
        "go on with other_ledger=True."
    )
    HIDE_THE_SAME = "Use a plan that hides the same; again=True does not help here."
    KEEP_SUPPRESSED = "Make it again with Rules.parse(..., keep_suppressed=True)."
    KEEP_TO_DESCRIPTION = "Leave it out, or describe the source again with tacit.events.propose_source."
    KEEP_TO_NEW_DAYS = "Keep to the new days; again=True does not help here."
    KEEP_TO_TAKEN = "Keep to those that are taken. A period that is closed stays closed."
    LEAVE_OUT_REVISES = "Leave out revises."
    LEAVE_OUT_TOWNS = "Leave towns out."
    LEAVE_OUT_USERS = "Leave user out of the EventColumns, or start a counter with the unit user-day or person."
    LIST_PLACES = "To see what names there are: tacit.events.names_in(events, column=...)."
    MAKE_KEY = "Make one with SigningKey.create."
    MAKE_PLAN = "Make one with plan_for or central_plan_for."
    MAKE_PUBLICATION = "Make one with tacit.publish."
    MAKE_RELEASE = "Make one with Release.of and its write."
    MAKE_REPORTS = "Make one with randomize_events."
    MAKE_TALLY = "Make one with tally_reports and its write."
    NAME_DATA_SET = "Say which: data_set=..."
    NAME_KINDS = "Name it: EventColumns(kind=...)."
    NAME_PLACES_COLUMN = "Rename a column, or say which it is: Gazetteer.read(path, columns={{{meaning!r}: 'COLUMN'}})"
    NAME_PLAN = "Name the plan's file, or make a plan with plan_for or central_plan_for."
    NAME_USERS = "Name it: EventColumns(user=...)."
    OVERWRITE = "Choose another name, or overwrite it with overwrite=True."
    PUBLISH_APART = (
        "Else keep to days that are new, or publish these on their own, where the sum can be accepted: name another "
        "folder, with again=True."
    )
    PUBLISH_ELSEWHERE = "To publish otherwise, name another folder."
    RANDOMIZE_INSTEAD = "Use mechanism_of, or make a plan with central_plan_for."
    RELEASE_COARSER = "Release it again with Release.of(..., by=..., place=...), or with keep_suppressed in its rules."
    RELEASE_FROM_REPORTS = "Release the reports again with by=... or place=..."
    SAVE_MODEL = "Make one with SavedModel and its write."
    SEND_NEW_DAYS = "Send the new days alone: a survey refuses events that were randomized before."
    START_COUNTER = "Start one with tacit.mechanisms.continual.start_counter."


class TacitError(Exception):
    """Something Tacit refuses to do, with a sentence that says what to do instead.

    >>> str(SettingError("there are two columns.", remedy=Remedy.NAME_PLACES_COLUMN, meaning="town"))
    "there are two columns. Rename a column, or say which it is: Gazetteer.read(path, columns={'town': 'COLUMN'})"
    """

    exit_code = 1

    def __init__(self, problem: str, *, remedy: Remedy | str = "", **names: str) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.names = problem, remedy, names

    def __str__(self) -> str:
        return self.said(lambda remedy, names: remedy.value.format(**names))

    def said(self, words: Callable[[Remedy, dict[str, str]], str]) -> str:
        """Return the whole message, with what to do in the ``words`` of a front."""
        remedy = words(self.remedy, self.names) if isinstance(self.remedy, Remedy) else self.remedy
        return f"{self.problem} {remedy}".rstrip()

    def about(self, problem: str, kind: type[TacitError] | None = None) -> TacitError:
        """Return an error with the same remedy about a problem that is put otherwise."""
        return (kind or type(self))(problem, remedy=self.remedy, **self.names)


class SettingError(TacitError, ValueError):
    """A setting breaks its rule."""

    exit_code = 2


class MissingExtra(SettingError, ImportError):
    """An optional part is not installed."""


class FileSetting(SettingError):
    """A setting that stands in a file breaks its rule. It is named as it stands there, never as an option."""


class NotDescribed(SettingError):
    """A source holds text, and nothing public says how it is written."""


class DataError(TacitError):
    """The events cannot be used as they are."""

    exit_code = 3


class UnreadableFile(DataError):
    """The file is missing, empty, damaged or of an unknown kind."""


class MissingColumn(DataError):
    """A named column is not in the data."""


class AmbiguousDate(DataError):
    """Dates can be read in two ways."""


class BadRows(DataError):
    """Some rows cannot be counted, and strict reading was asked for."""


class PlanError(TacitError):
    """A plan is damaged, or its thresholds do not give its epsilon."""

    exit_code = 4


class PlanMismatch(PlanError):
    """Two things made under different plans were put together."""


class FormatError(TacitError):
    """A file of our own is damaged, or newer than this version can read."""

    exit_code = 4


class DamagedMessage(FormatError):
    """Bytes of a message were changed or lost on its way."""


class AlreadyRandomized(TacitError):
    """The same events would be randomized a second time."""

    exit_code = 5


class AlreadyReleased(TacitError):
    """A release that is finished would draw its noise a second time."""

    exit_code = 5


class BudgetExhausted(TacitError):
    """A release costs more than what is left of the budget; ask for less, for new days, or declare a larger one."""

    exit_code = 5


class UndeclaredCopy(TacitError):
    """The same events are known under another name, and nobody said whether the two names are of the same events."""

    exit_code = 5


class NoInterval(TacitError):
    """A biased step has no honest interval."""


class NotShown(TacitError):
    """A count that a release does not show was asked for: its rules suppress it, or there are no data."""
