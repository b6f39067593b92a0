"""Every error Tacit raises on purpose.

::

    TacitError
    ├── SettingError            a setting breaks its rule; change the setting
    │   ├── MissingExtra        an optional part is not installed; install it
    │   └── NotDescribed        text, and nothing says how it is written; describe the source
    ├── DataError               the events cannot be used as they are; row numbers and counts, never values
    │   ├── UnreadableFile      missing, empty, damaged or of an unknown kind
    │   ├── MissingColumn       a named column is not there
    │   ├── AmbiguousDate       day first or month first? say so
    │   └── BadRows             rows that would be set aside, under strict reading
    ├── PlanError               a plan is damaged, or its thresholds do not give its epsilon
    │   └── PlanMismatch        two things made under different plans were put together
    ├── FormatError             a file of our own is damaged or newer than this version
    ├── AlreadyRandomized       the same events would be randomized again
    ├── AlreadyReleased         a finished release would draw its noise again
    ├── BudgetExhausted         a release costs more than its data set's budget still holds
    ├── UndeclaredCopy          the same events are known under another name; say whether they are the same
    ├── NoInterval              a biased step has no honest interval
    └── NotShown                a count that a release does not show: suppressed, or without data

Each message ends with what to do. ``exit_code`` is what the command line leaves with.
"""

from __future__ import annotations


class TacitError(Exception):
    """Something Tacit refuses to do, with a sentence that says what to do instead."""

    exit_code = 1


class SettingError(TacitError, ValueError):
    """A setting breaks its rule."""

    exit_code = 2


class MissingExtra(SettingError, ImportError):
    """An optional part is not installed."""


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
