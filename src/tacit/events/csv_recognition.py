"""What a CSV file does not say about itself, guessed from it: encoding, separator, where its rows begin.

For proposals to a curator (:mod:`tacit.events.proposal`) and for public tables only: events are read as their
description says, never as they look.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tacit.errors import UnreadableFile
from tacit.events.csv_source import fields_of
from tacit.events.csv_streams import ByteStream, Plain, Unzipped, read_fully
from tacit.events.mapping import SEPARATORS, ReadOptions, fold_column
from tacit.events.sources import format_of

_SAMPLE_BYTES: Final = 1 << 20
# enough to see how rows are separated
_RECORDS_TRIED: Final = 200
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")


def recognize_csv(path: Path, *, wanted: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Fill in what the options leave open about a CSV file, from how it looks.

    ``wanted`` are the columns asked for: the separator that brings most of them to light is the right one.
    """
    kind = options.format or format_of(path)
    with path.open("rb") as file:
        stream: ByteStream = Unzipped(file) if kind == "csv.gz" else Plain(file)
        sample, damage = read_fully(stream, _SAMPLE_BYTES)
        if damage is not None and not sample:
            raise UnreadableFile(f"{path.name}: {damage}.")
        if not sample:
            raise UnreadableFile(f"{path.name} is empty. Export the events again, or name another file.")
        encoding = options.encoding or _recognize_encoding(sample, stream, path.name, options)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample).removeprefix("\ufeff")
    if _CONTROL.search(text[:4096]) is not None:
        raise UnreadableFile(
            f"{path.name} is not a text table: it holds bytes that no text has. "
            "Export the events as CSV or Parquet; if it is text, give its encoding."
        )
    found = replace(options, format=kind, encoding=encoding)
    if options.names is not None:
        separator = options.separator or _recognize_separator(text, (), n_fields=len(options.names))
        return replace(found, separator=separator)
    hint = re.match(r"sep=([,;|:\t])(\r\n|\r|\n)", text)  # a line that some spreadsheets write, read and do not show
    body = text[len(hint[0]) :] if hint is not None else text
    separator = options.separator or (hint[1] if hint is not None else _recognize_separator(body, wanted))
    lines = _lines(body)
    n_blank = next((n for n, line in enumerate(lines) if line.strip("\r\n\t ;,|")), None)
    if n_blank is None:
        raise UnreadableFile(f"{path.name} holds no text but blank lines. Export the events again.")
    names = fields_of(lines[n_blank].encode(), separator, options.quote)
    if names is None:
        raise UnreadableFile(
            f"{path.name}, row {n_blank + 1}: a quote in the line of column names is not closed, or spans lines. "
            "Write the column names on one line."
        )
    return replace(
        found,
        separator=separator,
        header_lines=n_blank + 1 + (hint is not None),
        names=_with_trailing(names, _records(lines[n_blank + 1 : n_blank + 1 + _RECORDS_TRIED], separator)),
    )


def count_special(data: bytes) -> tuple[int, int]:
    """How many characters beyond ASCII are UTF-8, and how many bytes beyond ASCII belong to none of them.

    >>> count_special("Besançon".encode()), count_special("Besançon".encode("cp1252"))
    ((1, 0), (0, 1))
    """
    view = np.frombuffer(data + b"\0\0\0", np.uint8)
    special = np.flatnonzero(view >= 0x80)
    lead = view[special]
    follows = [(view[special + step] & 0xC0) == 0x80 for step in (1, 2, 3)]
    n_bytes = np.zeros(len(special), np.int64)
    n_bytes[(lead >= 0xC2) & (lead < 0xE0) & follows[0]] = 2
    n_bytes[(lead >= 0xE0) & (lead < 0xF0) & follows[0] & follows[1]] = 3
    n_bytes[(lead >= 0xF0) & (lead < 0xF5) & follows[0] & follows[1] & follows[2]] = 4
    return int(np.count_nonzero(n_bytes)), len(special) - int(n_bytes.sum())


def _recognize_encoding(sample: bytes, rest: ByteStream, name: str, options: ReadOptions) -> str:
    """By its mark, or UTF-8 unless most of what is not ASCII in the whole file is none."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return "utf-8-sig" if encoding == "utf-8" and not options.header_lines else encoding
    if b"\0" in sample[:4096]:
        raise UnreadableFile(
            f"{name} holds NUL bytes: it is no CSV file, or UTF-16 without a mark. "
            "Export the events as CSV in UTF-8, or give the encoding (utf-16-le or utf-16-be)."
        )
    n_special = n_strays = 0
    while sample:
        if not sample.isascii():
            found, strays = count_special(sample)
            n_special, n_strays = n_special + found, n_strays + strays
        sample, _ = read_fully(rest, _SAMPLE_BYTES)
    # Western text is UTF-8 by chance now and then (a capital É before a hard space), but seldom
    return "cp1252" if n_strays > 2 * n_special else "utf-8"


def _recognize_separator(text: str, wanted: Sequence[str], *, n_fields: int | None = None) -> str:
    asked = {fold_column(name) for name in wanted}
    lines = _lines(text)[: _RECORDS_TRIED + 1]

    def score(separator: str) -> tuple[int, float, int]:
        records = [record for record in _records(lines, separator) if record]
        if not records:
            return (0, 0.0, 0)
        n_found = len(asked & {fold_column(field) for field in records[0]})
        width = len(records[0]) if n_fields is None else n_fields
        n_alike = sum(len(record) == width for record in records)
        return (n_found, (n_alike / len(records)) if width > 1 else 0.0, width)

    return max(SEPARATORS, key=score)


def _lines(text: str) -> list[str]:
    # str.splitlines would also break at form feeds and the like
    return list(io.StringIO(text, newline=None))


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    records: list[list[str]] = []
    for line in lines:
        with suppress(csv.Error):  # the others are enough to judge by
            records.extend(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True))
    return records


def _with_trailing(names: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Some exports end every row, but not the column names, with a separator."""
    rows = [row for row in rows if row]
    if rows and all(len(row) == len(names) + 1 and not row[-1] for row in rows):
        return (*names, "")
    return names
