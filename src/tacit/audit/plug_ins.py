"""Mechanisms that are somebody else's: a Python function, found by its name, or a command.

A command takes true values on its standard input, and writes what it sends or publishes to its output.

Reports of which nothing is known, as tables that can be looked at: numbers, bytes, words, or anything else.

The length of a report is a column of its own wherever reports may differ in it: a length gives values away too.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.errors import SettingError, TacitError

_MOST_SAID: Final = 300
"""Characters of another program's message that are repeated: a few lines of a screen."""


def plug_in_named(name: str) -> Any:
    """Return the object that ``package.module:name`` names, looked for in this folder too.

    >>> plug_in_named("math:exp")(0.0)
    1.0
    >>> plug_in_named("math:no_such_thing")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: function must name something in the module math; got no_such_thing. Check the spelling.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise SettingError(f"function must be written as package.module:name; got function={name}.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as problem:  # somebody else's code runs
        raise SettingError(f"the module {module} cannot be loaded: {_said(problem)}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SettingError(
                f"function must name something in the module {module}; got {attribute}. Check the spelling."
            )
        found = getattr(found, part)
    return found


def is_local_randomizer(found: Any) -> bool:
    """Return whether an object is a whole mechanism for devices, with an epsilon of its own."""
    return all(hasattr(found, name) for name in ("randomize", "epsilon", "n_cells", "report_bytes", "statistics"))


def guarded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the same function, whose failures are sentences."""
    if not callable(function):
        raise SettingError(f"{name} must be a function. Name one that takes values and gives reports.")

    def call(*given: Any) -> Any:
        try:
            return function(*given)
        except TacitError:
            raise
        except (Exception, SystemExit) as problem:  # somebody else's code runs, and its exit is no verdict of ours
            raise SettingError(f"{name} failed: {_said(problem)}") from None

    return call


def one_by_one(function: Callable[[Any], Any]) -> Callable[[NDArray[Any]], list[Any]]:
    """Return a function of one value as one of many."""
    return lambda values: [function(value) for value in values.tolist()]


def _said(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:_MOST_SAID]


_FOR_A_SHELL: Final = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<"})
_FIRST_PATIENCE: Final = 60.0
"""Seconds for the first batch, which is small."""


class Command:
    """Runs a command without a shell, once for every batch: a line in for each run, a line out for each.

    It has ``patience`` seconds for each batch; one that reads on after the end of its input would never leave.
    """

    def __init__(self, words: str, *, patience: float = 600.0) -> None:
        try:
            self._words: Final = shlex.split(words)
        except ValueError:
            raise SettingError("the command must have all its quotes closed. Write it as in a shell.") from None
        if not self._words:
            raise SettingError("the command must not be empty. Give the program and its options.")
        if any(word in _FOR_A_SHELL for word in self._words):
            inner = words.replace("'", "'\\''")
            raise SettingError(f"the command is run without a shell, which pipes need. Write: sh -c '{inner}'")
        self._patience: Final = patience
        self._has_answered = False

    def lines(self, given: Sequence[str]) -> list[str]:
        """Return what the command answers to these lines."""
        patience = self._patience if self._has_answered else min(self._patience, _FIRST_PATIENCE)
        try:
            ran = subprocess.run(
                self._words, input=("\n".join(given) + "\n").encode(), capture_output=True, timeout=patience
            )
        except OSError as problem:
            raise SettingError(f"the command cannot be run: {problem}. Check its name.") from None
        except subprocess.TimeoutExpired:
            raise SettingError(
                f"the command must answer {len(given):,} lines within {patience:g} seconds, and leave at the end of "
                "its input. It was stopped."
            ) from None
        if ran.returncode:
            said = (ran.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1][:_MOST_SAID]
            raise SettingError(f"the command left with code {ran.returncode}: {said}")
        # lines end at line feeds alone, whatever else a report may hold; bytes that are no text stay as they are
        answered = ran.stdout.decode("utf-8", errors="surrogateescape").removesuffix("\n").split("\n")
        answered = [line.removesuffix("\r") for line in answered] if ran.stdout else []
        if len(answered) != len(given):
            raise SettingError(
                f"the command must write a line for each line it reads; it read {len(given):,} and wrote "
                f"{len(answered):,}. Write one report a line, and nothing else."
            )
        self._has_answered = True
        return answered

    def randomize(self, values: NDArray[Any]) -> list[str]:
        """Return reports of true values, a line each."""
        return self.lines([str(value) for value in values.tolist()])

    def hex_reports(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """Return reports of true values, as packed bytes: each line is a report in hexadecimal digits."""
        answered = self.lines([str(value) for value in values.tolist()])
        try:
            rows = [bytes.fromhex(line) for line in answered]
        except ValueError:
            raise SettingError(
                "the command must write reports in hexadecimal digits, as the plan packs them."
            ) from None
        if len({len(row) for row in rows}) != 1:
            raise SettingError("the command must write reports of one length, as the plan packs them.")
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)

    def answers(self, tables: IntArray) -> FloatArray:
        """Published answers: a line of counts in, a line of numbers out, for each run."""
        answered = self.lines([" ".join(map(str, row)) for row in tables.tolist()])
        try:
            rows = [[float(part) for part in line.replace(",", " ").replace(";", " ").split()] for line in answered]
        except ValueError:
            raise SettingError("the command must write numbers, with blanks between them.") from None
        if len({len(row) for row in rows}) != 1 or not rows[0]:
            raise SettingError("the command must write the same number of numbers in every line, at least one.")
        return np.array(rows, np.float64)


Table = NDArray[Any]

_LENGTH_BYTES: Final = 4  # lengths up to 4 GiB
_MOST_BYTES: Final = 1 << 12  # of a report that are looked at
_MOST_FIELDS: Final = 1 << 12  # of a report that are looked at


class ReportTables:
    """Turns reports into tables of one form, which is settled by the first lot of them.

    >>> tables = ReportTables()
    >>> tables.of([b"a", b"bc"]).tolist()
    [[1, 0, 0, 0, 97, 0], [2, 0, 0, 0, 98, 99]]
    >>> tables.of([b"b"]).tolist()
    [[1, 0, 0, 0, 98, 0]]
    >>> ReportTables().of(["1 0.25", "1 0.5"]).tolist()
    [[6.0, 2.0, 1.0, 0.25], [5.0, 2.0, 1.0, 0.5]]
    """

    def __init__(self) -> None:
        self._form: Callable[[Any], Table] | None = None

    def of(self, reports: Any) -> Table:
        """Return a row for each report."""
        rows = _listed(reports)
        if self._form is None:
            self._form = _form_of(rows)
        return self._form(rows)


def _listed(reports: Any) -> Any:
    """Return reports as an array of numbers, or as a list of bytes or of words."""
    if not isinstance(reports, np.ndarray | list | tuple):
        reports = list(reports) if hasattr(reports, "__iter__") and not isinstance(reports, str | bytes) else [reports]
    if len(reports) and all(isinstance(report, bytes | bytearray) for report in reports):
        return [bytes(report) for report in reports]
    try:
        table = np.asarray(reports)
    except (ValueError, OverflowError):  # reports of different lengths
        return [repr(report) for report in reports]
    if table.dtype.kind in "biufcmM":
        return table
    return [report if isinstance(report, str) else repr(report) for report in reports]


def _form_of(rows: Any) -> Callable[[Any], Table]:
    if isinstance(rows, np.ndarray):
        return _Numbers(rows)
    return _Bytes(rows) if len(rows) and isinstance(rows[0], bytes) else _Words(rows)


class _Numbers:
    """Reports that are arrays already."""

    def __init__(self, rows: Table) -> None:
        self._shape, self._kind = rows.shape[1:], rows.dtype

    def __call__(self, rows: Any) -> Table:
        if not isinstance(rows, np.ndarray) or rows.shape[1:] != self._shape:
            raise SettingError("reports must all be numbers, the same number in each. Give words where some are not.")
        return rows.astype(np.result_type(rows, self._kind), copy=False)


class _Bytes:
    """Bytes: the length of each, then the bytes, up to the longest of the first lot."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self._width: Final = min(_MOST_BYTES, max((len(row) for row in rows), default=0))

    def __call__(self, rows: Any) -> Table:
        if isinstance(rows, np.ndarray) or not all(isinstance(row, bytes) for row in rows):
            raise SettingError("reports must all be bytes, as the first are. Give the same type for every value.")
        width = self._width
        joined = b"".join(len(row).to_bytes(_LENGTH_BYTES, "little") + row[:width].ljust(width, b"\0") for row in rows)
        return np.frombuffer(joined, np.uint8).reshape(len(rows), _LENGTH_BYTES + width)


class _Words:
    """Words: the number of characters and of fields, then the fields, up to the most of the first lot.

    Words of 0 and 1 are taken apart; fields that are numbers, and nearly all different, are read as numbers.
    """

    def __init__(self, rows: Sequence[str]) -> None:
        self._is_bits: Final = bool(rows) and len(rows[0]) > 1 and all(set(row) <= {"0", "1"} for row in rows)
        fields = [self._fields(row) for row in rows]
        self._width: Final = min(_MOST_FIELDS, max((len(parts) for parts in fields), default=0))
        self._is_numbers: Final = not self._is_bits and _are_numbers(fields)

    def __call__(self, rows: Any) -> Table:
        words = [str(row) for row in (rows.tolist() if isinstance(rows, np.ndarray) else rows)]
        fields = [self._fields(word) for word in words]
        width = self._width
        if self._is_numbers:
            table = np.full((len(words), 2 + width), np.nan)
            for row, (word, parts) in enumerate(zip(words, fields, strict=True)):
                table[row, 0], table[row, 1] = len(word), len(parts)
                table[row, 2 : 2 + len(parts[:width])] = [_number(part) for part in parts[:width]]
            return table
        blank = [""] * width
        return np.array(
            [
                [str(len(word)), str(len(parts)), *(parts + blank)[:width]]
                for word, parts in zip(words, fields, strict=True)
            ]
        )

    def _fields(self, row: str) -> list[str]:
        return list(row) if self._is_bits else row.replace(",", " ").replace(";", " ").split()


def _are_numbers(fields: Sequence[Sequence[str]]) -> bool:
    """Return whether all fields are numbers, some of which have digits after the point or hardly ever recur."""
    parts = [part for row in fields for part in row]
    if not parts or not all(map(_is_number, parts)):
        return False
    numbers = np.array([float(part) for part in parts])
    columns = [[row[at] for row in fields if at < len(row)] for at in range(max(map(len, fields)))]
    # more than half of at least 18 values differ: with fewer, codes would be taken for numbers by chance
    hardly_recur = any(len(set(column)) > len(column) // 2 > 8 for column in columns)
    return hardly_recur or bool((np.isfinite(numbers) & (numbers != np.rint(numbers))).any())


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _number(part: str) -> float:
    return float(part) if _is_number(part) else np.nan
