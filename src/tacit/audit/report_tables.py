"""Reports of which nothing is known, as tables that can be looked at: numbers, bytes, words, or anything else.

The length of a report is a column of its own wherever reports may differ in it: a length gives values away too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError

Table = NDArray[Any]

_LENGTH_BYTES: Final = 4
_MOST_BYTES: Final = 1 << 12
_MOST_FIELDS: Final = 1 << 12


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
        """A row for each report."""
        rows = _listed(reports)
        if self._form is None:
            self._form = _form_of(rows)
        return self._form(rows)


def _listed(reports: Any) -> Any:
    """Reports as an array of numbers, or as a list of bytes or of words."""
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
            raise SettingError("reports must all be numbers, as many in each. Give words where some are not.")
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
    """Whether all fields can be read as numbers, some of which have digits after the point or hardly ever recur."""
    parts = [part for row in fields for part in row]
    if not parts or not all(map(_is_number, parts)):
        return False
    numbers = np.array([float(part) for part in parts])
    columns = [[row[at] for row in fields if at < len(row)] for at in range(max(map(len, fields)))]
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
