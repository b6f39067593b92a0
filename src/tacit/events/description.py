"""How a source was read, in a few words for the curator's screen."""

from __future__ import annotations

import codecs
from typing import Final

from tacit.events.csv_dialect import CsvDialect
from tacit.events.date_format import DateForm
from tacit.events.mapping import EventColumns, ReadOptions

_ENCODINGS: Final = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}
# signs that would be lost in a list
_SEPARATORS: Final = {",": "comma", "\t": "tab", " ": "space"}
_DECIMALS: Final = {None: "decimal point or comma", ".": "decimal point", ",": "decimal comma"}


def describe_csv(dialect: CsvDialect, *, western: bool | None) -> tuple[str, ...]:
    """A CSV file, its encoding and its separator."""
    separator = f"separator {_SEPARATORS.get(dialect.separator, dialect.separator)}"
    return ("CSV", _encoding(dialect, dialect.is_western if western is None else western), separator)


def describe_numbers(columns: EventColumns, options: ReadOptions) -> tuple[str, ...]:
    """The decimal sign, where numbers are read at all."""
    has_numbers = columns.count is not None or columns.has_coordinates
    return (_DECIMALS[options.decimal],) if has_numbers else ()


def describe_dates(form: DateForm, options: ReadOptions, *, has_dates: bool) -> tuple[str, ...]:
    """The order of written dates, if one was given or found."""
    if form.pattern is not None:
        return (f"dates as {options.date_format}",)
    if form.order is not None:
        return (str(form.order),)
    # dates that could be read although no order was needed
    return ("year first",) if has_dates else ()


def _encoding(dialect: CsvDialect, western: bool | None) -> str:
    if dialect.encoding is not None:
        name = codecs.lookup(dialect.encoding).name
        return _ENCODINGS.get(name, name.upper())
    if western is None:
        return "ASCII"
    return "Windows-1252" if western else "UTF-8"
