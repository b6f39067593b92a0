"""Rows that cannot be counted: how many, why, and where the first ones stand. Never what they hold.

Row numbers are those a spreadsheet shows: the line of column names is row 1, the first event row 2, blank
lines count, and where fields may span lines a row with such a field is one row. Parquet files and query results have no
line of column names but are numbered alike, so that one table has one numbering in every format. A frame's rows are
numbered from 0, as frames do, and messages say so.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BadRows, Remedy, SettingError

FIRST_ROWS_KEPT: Final = 20  # a choice: enough to find what is wrong, whatever the number of bad rows


OF_FRAME: Final = " of the frame, the first is 0"
"""What is said behind the row numbers of a frame."""


class Reason(Enum):
    """Why a row was set aside. A row has one reason: the first that applies, in this order."""

    RAGGED = "more or fewer fields than there are columns"
    BAD_QUOTES = "a quote that is not closed, or text after a closing quote"
    TOO_LONG = "more than 4 MB of text"
    UNREADABLE_TEXT = "text that does not fit the encoding"
    NO_DATE = "no date"
    UNREADABLE_DATE = "a date that cannot be read"
    OUTSIDE_TIME = "a date outside the time axis"
    NO_COUNT = "no count"
    BAD_COUNT = "a count that is not plainly a whole number of 0 or more"
    NO_PLACE = "no place"
    UNKNOWN_PLACE = "a place that is not known"
    AMBIGUOUS_PLACE = "a place name that several places share"
    OUTSIDE_PLACE = "a place known to lie outside"
    UNREADABLE_LOCATION = "coordinates that cannot be read"
    OUTSIDE_LOCATION = "coordinates outside every polygon"
    NO_KIND = "no kind"
    UNKNOWN_KIND = "a kind that is not known"
    AMBIGUOUS_KIND = "a name that several kinds share"
    OUTSIDE_KIND = "a kind known to be none of those counted"
    NO_USER = "no user"
    UNREADABLE_USER = "a user that is neither text nor a whole number"

    @property
    def code(self) -> int:
        """The number that stands for the reason in arrays; 0 means a good row."""
        return _CODES[self]


_CODES: Final = {reason: number for number, reason in enumerate(Reason, start=1)}
REASONS: Final = tuple(Reason)


@dataclass(frozen=True, slots=True)
class BadRowSummary:
    """The number of rows set aside for each reason, and the row numbers of the first twenty of each.

    ``rows_of`` is said behind row numbers that are not those of a file: :data:`OF_FRAME`.

    >>> summary = BadRowSummary({Reason.NO_DATE: 2}, {Reason.NO_DATE: (4, 9)})
    >>> summary.n_rows
    2
    >>> print(summary)
    2 rows with no date (rows 4, 9)
    """

    counts: Mapping[Reason, int] = field(default_factory=lambda: MappingProxyType({}))
    first_rows: Mapping[Reason, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    rows_of: str = ""

    @property
    def n_rows(self) -> int:
        """The number of rows set aside."""
        return sum(self.counts.values())

    def __bool__(self) -> bool:
        return bool(self.counts)

    def without(self, reason: Reason) -> BadRowSummary:
        """Return the same without the rows of one reason."""
        counts = {one: n_rows for one, n_rows in self.counts.items() if one != reason}
        return replace(self, counts=counts, first_rows={one: self.first_rows[one] for one in counts})

    def lines(self) -> list[str]:
        """Return one line for each reason, in a fixed order."""
        return [self._line(reason) for reason in REASONS if reason in self.counts]

    def __str__(self) -> str:
        return "; ".join(self.lines()) or "no bad rows"

    def _line(self, reason: Reason) -> str:
        count, rows = self.counts[reason], self.first_rows[reason]
        noun = "row" if count == 1 else "rows"
        places = ", ".join(str(row) for row in rows) + (", …" if count > len(rows) else "")
        return f"{count} {noun} with {reason.value} ({noun} {places}{self.rows_of})"


class BadRowLog:
    """Collects bad rows batch by batch, in memory that does not grow with their number.

    Logs of parts of a source add up: ``+`` is associative and commutative, and a new log is its zero.
    """

    def __init__(self) -> None:
        self._counts: dict[Reason, int] = {}
        self._first_rows: dict[Reason, list[int]] = {}

    def add(self, reason: Reason, rows: NDArray[np.int64]) -> None:
        """Note rows of one reason; batches come in row order."""
        if not len(rows):
            return
        self._counts[reason] = self._counts.get(reason, 0) + len(rows)
        kept = self._first_rows.setdefault(reason, [])
        kept.extend(int(row) for row in rows[: FIRST_ROWS_KEPT - len(kept)])

    def __add__(self, other: BadRowLog) -> BadRowLog:
        if not isinstance(other, BadRowLog):
            return NotImplemented
        total = BadRowLog()
        for reason in self._counts.keys() | other._counts.keys():
            total._counts[reason] = self._counts.get(reason, 0) + other._counts.get(reason, 0)
            kept = self._first_rows.get(reason, []) + other._first_rows.get(reason, [])
            total._first_rows[reason] = sorted(kept)[:FIRST_ROWS_KEPT]
        return total

    def after(self, n_rows: int) -> BadRowLog:
        """Return the log of the same rows where so many rows stand before them."""
        later = BadRowLog()
        later._counts = dict(self._counts)
        later._first_rows = {reason: [row + n_rows for row in kept] for reason, kept in self._first_rows.items()}
        return later

    def summary(self) -> BadRowSummary:
        """Return the rows noted so far, by reason."""
        rows = {reason: tuple(kept) for reason, kept in self._first_rows.items()}
        return BadRowSummary(MappingProxyType(dict(self._counts)), MappingProxyType(rows))


class BadRowFile:
    """A private file with every row that is set aside, by number and reason, never by what it holds."""

    def __init__(self, path: Path) -> None:
        check_list(path)
        self._file = os.fdopen(os.open(path, _REPLACED, 0o600), "w", encoding="utf-8", newline="")
        self._file.write(_HEAD)

    def add(self, bad: Mapping[Reason, NDArray[np.int64]], first_row: int) -> None:
        """Write the rows of a batch down in order; they are numbered within it."""
        rows = [(int(row), reason.value) for reason, some in bad.items() for row in some + first_row]
        csv.writer(self._file, lineterminator="\n").writerows(sorted(rows))

    def close(self) -> None:
        self._file.close()


def write_list(path: Path, listed: Sequence[tuple[Reason, NDArray[np.int64]]]) -> None:
    """Write all rows that were set aside, whose numbers are those of the file, in order."""
    of_reason = {reason: np.concatenate([rows for one, rows in listed if one == reason]) for reason, _ in listed}
    with closing(BadRowFile(path)) as file:
        file.add(of_reason, 0)


def check_list(path: Path) -> None:
    """Refuse a path at which something else lies than a list of bad rows."""
    if path.exists():
        with path.open("rb") as file:
            is_list = file.read(len(_HEAD)) == _HEAD.encode()
        if not is_list:
            raise SettingError(f"{path} exists already, and is no list of bad rows. Choose another name.")


_HEAD: Final = "row,reason\n"
_REPLACED: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def refuse_bad_rows(name: str, summary: BadRowSummary) -> None:
    """Raise under strict reading when any row was set aside.

    >>> refuse_bad_rows("events.csv", BadRowSummary({Reason.NO_DATE: 1}, {Reason.NO_DATE: (7,)}))
    Traceback (most recent call last):
    ...
    tacit.errors.BadRows: events.csv: 1 row cannot be counted: 1 row with no date (row 7). \
Correct it, or read without strict to set it aside.
    """
    if summary:
        noun, it = ("row", "it") if summary.n_rows == 1 else ("rows", "them")
        raise BadRows(
            f"{name}: {summary.n_rows} {noun} cannot be counted: {summary}. "
            f"Correct {it}, or read without strict to set {it} aside."
        )


MOST_LOST: Final = 0.01
"""The part of the rows that may fall out before somebody has to agree: a choice. A wrong column name loses all."""


class Account(Protocol):
    """What became of the rows of a source."""

    @property
    def n_rows(self) -> int:
        """The rows read, blank ones apart."""

    @property
    def n_left_out(self) -> int:
        """The rows that conditions left out."""

    @property
    def bad_rows(self) -> BadRowSummary:
        """The rows set aside."""


def share_lost(read: Account) -> float:
    """Return the part of the rows meant that cannot be counted; rows of other times are not meant."""
    n_outside = read.bad_rows.counts.get(Reason.OUTSIDE_TIME, 0)
    return (read.bad_rows.n_rows - n_outside) / max(read.n_rows - read.n_left_out - n_outside, 1)


def check_loss(read: Account, *, is_accepted: bool = False) -> None:
    """Refuse, before anything is paid, to count a source of which more than one row in a hundred falls out."""
    lost = share_lost(read)
    if lost > MOST_LOST and not is_accepted:
        raise BadRows(
            f"{lost:.1%} of the rows would fall out, more than {MOST_LOST:.0%}: {read.bad_rows}. Nothing was spent. "
            "Check the columns, the places and the dates.",
            remedy=Remedy.ACCEPT_LOSS,
        )
