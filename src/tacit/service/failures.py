"""Failures of the store: their causes in words, when they are told, and whether the store can write again.

A cause is one of a few words that we choose; what the database says is told to nobody, because it may quote a value.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Final

TOLD_EVERY: Final = 60.0
"""Seconds between two lines about the same cause. Half of it doubles a log that nobody reads twice."""
PROBED_AFTER: Final = 10.0
"""Seconds without a failure after which one write may be tried. With half of it a full disk is tried twice as often;
with twice of it a collector without senders is called sick for longer than it is."""


@unique
class Cause(Enum):
    """Why a store failed. The value is what logs and answers say."""

    DISK_FULL = "disk full"
    DISK = "disk error"
    LOCKED = "database locked"
    READ_ONLY = "database read-only"
    NO_CONNECTION = "no connection"
    OTHER = "another failure"


# the last byte of a result code of SQLite: sqlite.org/rescode.html
_OF_SQLITE: Final = {
    5: Cause.LOCKED,
    6: Cause.LOCKED,
    8: Cause.READ_ONLY,
    10: Cause.DISK,
    13: Cause.DISK_FULL,
    14: Cause.NO_CONNECTION,
}
_OF_STATEMENTS: Final = ("IntegrityError", "DataError", "ProgrammingError")
"""Errors of single statements: they say nothing of whether the store can write."""
# how a code of PostgreSQL begins: "PostgreSQL Error Codes" in its manual
_OF_POSTGRESQL: Final = {
    "53100": Cause.DISK_FULL,
    "53300": Cause.NO_CONNECTION,
    "58030": Cause.DISK,
    "55P03": Cause.LOCKED,
    "40P01": Cause.LOCKED,
    "25006": Cause.READ_ONLY,
    "08": Cause.NO_CONNECTION,
    "28": Cause.NO_CONNECTION,
    "57P": Cause.NO_CONNECTION,
}


def cause_of(problem: BaseException) -> Cause:
    """Return the cause of an error of SQLAlchemy or of a driver.

    >>> cause_of(TimeoutError())
    <Cause.NO_CONNECTION: 'no connection'>
    >>> cause_of(ValueError())
    <Cause.OTHER: 'another failure'>
    """
    original = getattr(problem, "orig", None) or problem
    number = getattr(original, "sqlite_errorcode", None)
    if number is not None:
        return _OF_SQLITE.get(number & 0xFF, Cause.OTHER)
    state = getattr(original, "sqlstate", None)
    if state is not None:
        return next((cause for start, cause in _OF_POSTGRESQL.items() if state.startswith(start)), Cause.OTHER)
    # without a code nobody answered: a server that is gone, or a pool in which no connection was free in time
    is_lost = type(original).__name__ in ("OperationalError", "InterfaceError", "TimeoutError", "ConnectionTimeout")
    return Cause.NO_CONNECTION if is_lost else Cause.OTHER


def _tell_nobody(cause: Cause, problem: BaseException) -> None:
    pass


@dataclass(slots=True)
class Failures:
    """What went wrong with one store in this process, as far as it matters now."""

    tell: Callable[[Cause, BaseException], None] = _tell_nobody
    """Called at the first failure of a cause, and then once a minute at most."""
    clock: Callable[[], float] = time.monotonic
    _told: dict[Cause, float] = field(default_factory=dict)
    _of_writing: Cause | None = None
    _failed_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, problem: BaseException, *, is_write: bool) -> Cause:
        """Note a failure, and return its cause."""
        cause, now = cause_of(problem), self.clock()
        is_write = is_write and type(getattr(problem, "orig", None) or problem).__name__ not in _OF_STATEMENTS
        with self._lock:
            if is_write:
                self._of_writing, self._failed_at = cause, now
            is_new = cause not in self._told or now - self._told[cause] >= TOLD_EVERY
            if is_new:
                self._told[cause] = now
        if is_new:
            self.tell(cause, problem)
        return cause

    def wrote(self) -> None:
        """Note that rows were written."""
        self._of_writing = None

    @property
    def of_writing(self) -> Cause | None:
        """Why the last write failed, if none succeeded since."""
        return self._of_writing

    def may_probe(self) -> bool:
        """Return whether a write may be tried now, and note that it is: one asker tries, and others wait for it."""
        with self._lock:
            is_due = self._of_writing is not None and self.clock() - self._failed_at >= PROBED_AFTER
            if is_due:
                self._failed_at = self.clock()
            return is_due
