"""What a CSV file does not say about itself: encoding, separator, where its rows begin.

Seen from the first megabyte. The encoding of the rest is checked block by block (:mod:`tacit.events.csv_table`).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.errors import UnreadableFile
from tacit.events.mapping import SEPARATORS, ReadOptions, fold_column

SAMPLE_BYTES: Final = 1 << 20
_RECORDS_TRIED: Final = 200
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKS_LIKE_DATA: Final = re.compile(r"\s*[-+(]?\s*[0-9].*", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a file is written.

    ``encoding`` is None where UTF-8 and Windows-1252 have to be told apart: ``is_western`` is then what the beginning
    of the file tells, None if it is plain ASCII. ``names`` has one entry per field of a row; the events begin after
    ``n_head_lines`` lines, with row number ``first_row``.
    """

    encoding: str | None
    is_western: bool | None
    mark_bytes: int
    separator: str
    is_mac: bool
    names: tuple[str, ...]
    n_head_lines: int
    first_row: int
    bytes_per_row: int


def recognize(sample: bytes, *, name: str, wanted: Sequence[str], options: ReadOptions) -> CsvDialect:
    """Recognize the dialect of a file from how it begins.

    ``wanted`` are the columns asked for: the separator that brings most of them to light is the right one.

    >>> recognize("Début;Ville\\n31/12/2018;Ornans\\n".encode("latin-1"), name="f.csv", wanted=["debut"],
    ...           options=ReadOptions()).names
    ('Début', 'Ville')
    """
    if not sample:
        raise UnreadableFile(f"{name} is empty. Export the events again, or name another file.")
    encoding, mark_bytes = _recognize_encoding(sample, name, options)
    is_western = False if encoding is not None else _recognize_western(sample)
    text = _decode(sample[mark_bytes:], encoding or "utf-8", is_western=is_western)
    if _CONTROL.search(text[:4096]) is not None:
        raise UnreadableFile(
            f"{name} is not a text table: it holds bytes that no text has. "
            "Export the events as CSV or Parquet; if it is text, give its encoding."
        )
    is_mac = "\n" not in text and "\r" in text
    if is_mac:
        text = text.replace("\r", "\n")
    hint = re.match(r"sep=([,;|:\t])\r?\n", text)  # a line that some spreadsheets write, read and do not show
    head = hint[0] if hint is not None else ""
    separator = options.separator or (hint[1] if hint is not None else _recognize_separator(text, wanted))
    lines = _lines(text[len(head) :])
    names, n_lines, n_records = _header(lines, separator, name)
    head += "".join(lines[:n_lines])
    body = lines[n_lines:]
    return CsvDialect(
        encoding=encoding,
        is_western=is_western,
        mark_bytes=mark_bytes,
        separator=separator,
        is_mac=is_mac,
        names=_with_trailing(names, _records(body[:_RECORDS_TRIED], separator)),
        n_head_lines=head.count("\n") + (not head.endswith("\n")),
        first_row=n_records + 1,
        bytes_per_row=max(1, sum(len(line) for line in body) // max(1, len(body))),
    )


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a line of column names is rather a first event: it must then not be repeated in a message.

    >>> looks_like_data(["1", "2018-03-04 05:06", "Ornans"]), looks_like_data(["ID", "SDate", "Town"])
    (True, False)
    """
    return any(_LOOKS_LIKE_DATA.fullmatch(name) is not None for name in names)


def decode_western(data: bytes) -> str:
    """Windows-1252, or Latin-1 where bytes occur that Windows-1252 leaves out."""
    view = np.frombuffer(data, np.uint8)
    if not ((view >= 0x80) & (view < 0xA0)).any():
        return data.decode("latin-1")  # the same without these bytes, and many times as fast
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


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


def looks_western(n_special: int, n_strays: int) -> bool:
    """Whether text is Windows-1252 rather than UTF-8 with damage, from the numbers of :func:`count_special`.

    Western text is UTF-8 by chance now and then (a capital É before a hard space), but seldom.
    """
    return n_strays > 2 * n_special


def _recognize_encoding(sample: bytes, name: str, options: ReadOptions) -> tuple[str | None, int]:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return encoding, len(mark)
    if options.encoding is not None:
        return options.encoding, 0
    if b"\0" in sample[:4096]:
        raise UnreadableFile(
            f"{name} holds NUL bytes: it is no CSV file, or UTF-16 without a mark. "
            "Export the events as CSV in UTF-8, or give the encoding (utf-16-le or utf-16-be)."
        )
    return None, 0


def _recognize_western(sample: bytes) -> bool | None:
    if sample.isascii():
        return None
    n_special, n_strays = count_special(_whole_lines(sample))
    return looks_western(n_special, n_strays) if n_special + n_strays else None


def _decode(sample: bytes, encoding: str, *, is_western: bool | None) -> str:
    if is_western:
        return decode_western(_whole_lines(sample))
    return codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)


def _whole_lines(sample: bytes) -> bytes:
    """The sample without a last line that may be cut in the middle of a character."""
    return sample[: sample.rfind(b"\n") + 1] or sample


def _recognize_separator(text: str, wanted: Sequence[str]) -> str:
    asked = {fold_column(name) for name in wanted}
    lines = _lines(text)[: _RECORDS_TRIED + 1]

    def score(separator: str) -> tuple[int, float, int]:
        records = [record for record in _records(lines, separator) if record]
        if not records:
            return (0, 0.0, 0)
        n_found = len(asked & {fold_column(field) for field in records[0]})
        n_fields = len(records[0])
        n_alike = sum(len(record) == n_fields for record in records)
        return (n_found, (n_alike / len(records)) if n_fields > 1 else 0.0, n_fields)

    return max(SEPARATORS, key=score)


def _lines(text: str) -> list[str]:
    # str.splitlines would also break at form feeds and the like
    return list(io.StringIO(text, newline=""))


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    records: list[list[str]] = []
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    with suppress(csv.Error):  # what was read until then is enough to judge by
        records.extend(reader)
    return records


def _header(lines: Sequence[str], separator: str, name: str) -> tuple[tuple[str, ...], int, int]:
    """The column names, and how many lines and records they and the blank lines before them take."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    names: list[str] = []
    n_records, is_damaged = 0, False
    try:
        while not any(field.strip() for field in names):
            names = next(reader)
            n_records += 1
    except StopIteration:
        pass
    except csv.Error:
        is_damaged = True
    if is_damaged:
        raise UnreadableFile(f"{name}, row {n_records + 1}: the line of column names is damaged. Export it again.")
    if not any(field.strip() for field in names):
        raise UnreadableFile(f"{name} holds no text but blank lines. Export the events again.")
    if any("\n" in field for field in names):
        raise UnreadableFile(
            f"{name}, row {n_records}: a quote in the line of column names is not closed, or spans lines. "
            "Write the column names on one line."
        )
    return tuple(field.strip() for field in names), reader.line_num, n_records


def _with_trailing(names: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Some exports end every row, but not the column names, with a separator."""
    rows = [row for row in rows if row]
    if rows and all(len(row) == len(names) + 1 and not row[-1] for row in rows):
        return (*names, "")
    return names
