"""CSV files, plain or compressed with gzip, read as they are said to be written, a block at a time.

A file becomes a stream of bytes in UTF-8, whatever it is packed or written in. Libraries quote the bytes they fail on;
here a failure becomes a :class:`StreamDamage` that only says what to do.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.errors import NotDescribed, Remedy, UnreadableFile
from tacit.events.columns import bytes_and_offsets, is_utf8
from tacit.events.csv_blocks import (
    MAX_ROW_BYTES,
    UNFIT,
    UNFIT_HANDLER,
    Block,
    ByteStream,
    RegularRows,
    StreamDamage,
    cut_blocks,
    cut_lines,
    last_line_end,
    marked,
    read_fully,
    regular_rows,
    row_at,
)
from tacit.events.mapping import ReadOptions
from tacit.events.sources import RawTable, first_bytes, format_of

# about a row of most tables; it sets how much is read at a time, not what is read
_BYTES_PER_ROW: Final = 64
_MAX_BLOCK_BYTES: Final = 1 << 26  # 64 MiB in each of a few threads; halved, half the memory
_MARK: Final = codecs.BOM_UTF8
_MARKS: Final = re.compile(rb"(^|[\r\n])(?:" + _MARK + rb")+")

UNPARSABLE: Final = "the rows from here on cannot be told apart. Give the separator, or export the file again"


@dataclass(frozen=True, slots=True)
class CsvPiece:
    """A block, and what is needed to parse it."""

    block: Block
    layout: CsvLayout
    positions: Sequence[int]
    done: int

    def load(self) -> RawTable:
        """Parse it."""
        return parse_block(self.block, self.layout, self.positions)


class CsvSource:
    """A CSV file. What is not in the options is not looked for in the rows."""

    can_reread = True

    def __init__(self, path: Path, options: ReadOptions) -> None:
        first_bytes(path)  # refuses a file that cannot be opened
        self._path = path
        self.name = path.name
        if options.encoding is None or options.separator is None:
            raise NotDescribed(
                f"{self.name} holds text, and nothing says how it is written. Give encoding, separator and "
                "date_format, or a description of the source: propose_source makes one to be confirmed."
            )
        self._options = options
        self._encoding, self._separator = options.encoding, options.separator
        self._is_compressed = (options.format or format_of(path)) == "csv.gz"
        self.total: int | None = path.stat().st_size
        self.names: Sequence[str] = self._read_names()
        self._layout = CsvLayout(len(self.names), options.separator, options.quote, options.fields_span_lines)
        self._block_bytes = min(options.batch_rows * _BYTES_PER_ROW, _MAX_BLOCK_BYTES)

    @property
    def has_public_names(self) -> bool:
        """Whether the names were given, not taken from the file."""
        return self._options.names is not None

    @property
    def first_row(self) -> int:
        """The row number of the first record."""
        return self._options.header_lines + 1

    def kind(self, position: int) -> Any | None:
        """Return text as the kind of every column."""
        return None

    def pieces(self, positions: Sequence[int]) -> Iterator[CsvPiece]:
        """Yield the file block by block."""
        with self._opened() as (file, stream):
            _, rows = take_lines(stream, self._options.header_lines)
            if self._layout.fields_span_lines and self._layout.quote:
                blocks = cut_blocks(LineFeeds(rows), separator=self._separator, block_bytes=self._block_bytes)
            else:
                blocks = cut_lines(rows, block_bytes=self._block_bytes)
            for block in blocks:
                yield CsvPiece(block, self._layout, positions, file.tell())

    def _read_names(self) -> tuple[str, ...]:
        """Return the column names that were given, if the file holds the same; else those of the file."""
        n_lines, given, damage = self._options.header_lines, self._options.names, None
        lines: list[bytes] = []
        try:
            with self._opened() as (_, stream):
                lines, _ = take_lines(stream, n_lines)
        except StreamDamage as problem:
            damage = str(problem)
        if damage is not None:
            raise UnreadableFile(f"{self.name}: {damage}.")
        if not n_lines:
            assert given is not None
            return given
        found = fields_of(lines[-1], self._separator, self._options.quote) if len(lines) == n_lines else None
        if given is None and found is None:
            raise UnreadableFile(
                f"{self.name} has no column names in line {n_lines}: it is empty, blank, or a quote in it is open. "
                "Write them there, each on the same line, or export the events again."
            )
        if given is not None and given not in (found, (*(found or ()), "")):
            raise UnreadableFile(
                f"{self.name} does not have the column names in line {n_lines} that its description gives.",
                remedy=Remedy.DESCRIBE_AGAIN,
            )
        return given or found or ()

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, ByteStream]]:
        """Open the file, and its text in UTF-8 without a mark."""
        with self._path.open("rb") as file:
            stream: ByteStream = Unzipped(file) if self._is_compressed else Plain(file)
            name = codecs.lookup(self._encoding).name
            if name not in ("utf-8", "utf-8-sig"):
                stream = Transcoded(stream, self._encoding)
            # before an event nothing is skipped that might be its own, unless the encoding says that a mark is there
            if self._options.header_lines or name == "utf-8-sig":
                stream = _Unmarked(stream)
            yield file, stream


def fields_of(line: bytes, separator: str, quote: str) -> tuple[str, ...] | None:
    """Return the fields of a line of column names, None if there are none or a quote is not closed.

    >>> fields_of(b'ID, "Town"\\r\\n', ",", '"'), fields_of(b'ID,"Town', ",", '"')
    (('ID', 'Town'), None)
    """
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    records = [text.split(separator)]
    if quote:
        try:
            records = list(csv.reader([text], delimiter=separator, strict=True, skipinitialspace=True))
        except csv.Error:
            return None
    names = tuple(field.strip() for field in records[0]) if records else ()
    return names if any(names) else None


class _Unmarked:
    """A stream without the mark that may stand at its beginning."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._is_begun = False

    def read(self, size: int, /) -> bytes:
        """Return about ``size`` bytes."""
        if self._is_begun:
            return self._stream.read(size)
        self._is_begun = True
        start, damage = read_fully(self._stream, max(size, len(_MARK)))
        if damage is not None and not start:
            raise StreamDamage(damage)
        return start.removeprefix(_MARK) or self._stream.read(size)


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """The form of a file's rows: the number of fields, what is between them and what may enclose them."""

    n_fields: int
    separator: str
    quote: str = '"'
    fields_span_lines: bool = False


def parse_block(block: Block, layout: CsvLayout, positions: Sequence[int]) -> RawTable:
    """Parse a block; what stands in the way of all that follows is returned as damage, with its row.

    Rows whose text in the columns asked for does not fit the encoding are set aside, each by itself.
    """
    if block.damage is not None:
        return RawTable((), row_at(block.data, len(block.data)), damage=block.damage)
    is_ascii = block.data.isascii()
    # the parser is given nothing but UTF-8: what it would do with a row that is none might depend on others
    rows = RegularRows(block.data if is_ascii or is_utf8(block.data) else marked(block.data))
    if not layout.fields_span_lines:
        rows = regular_rows(rows.data, separator=layout.separator, quote=layout.quote)
    if not is_ascii and _MARK in rows.data:
        # the parser drops a mark from the first row of a block; which row that is depends on the rows before it
        rows = replace(rows, data=_MARKS.sub(rb"\1", rows.data))
    parsed = _parse(rows.data, layout, positions)
    if parsed is None:
        return RawTable((), 0, damage=UNPARSABLE)
    columns, ragged = parsed
    left_out = rows.left_out
    n_records = len(columns[0]) + len(ragged) + len(left_out)
    there = np.delete(np.arange(n_records), left_out) if len(left_out) else np.arange(n_records)
    table = RawTable(
        columns,
        n_records,
        row=np.delete(there, ragged) if len(ragged) else there,
        ragged=there[ragged],
        misquoted=rows.misquoted,
        too_long=rows.too_long,
    )
    table = _without_blank_rows(table, rows.data, layout)
    return table if is_ascii else _without_unreadable_rows(table, rows.data)


def _parse(
    data: bytes, layout: CsvLayout, positions: Sequence[int]
) -> tuple[tuple[Any, ...], NDArray[np.int64]] | None:
    pa, pa_csv = require("pyarrow", extra="events"), require("pyarrow.csv", extra="events")
    ragged: list[int] = []
    if not data:
        return tuple(pa.array([], pa.string()) for _ in positions), np.empty(0, np.int64)

    def set_aside(row: Any) -> str:
        ragged.append(row.number - 1)
        return "skip"

    fields = [str(position) for position in range(layout.n_fields)]
    chosen = list(dict.fromkeys(str(position) for position in positions))
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            # one block and one thread, without which rows have no numbers; blocks run side by side instead
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=fields),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.separator,
                quote_char=layout.quote or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=set_aside,
            ),
            # every column is text: a type that is inferred would depend on all rows
            convert_options=pa_csv.ConvertOptions(
                include_columns=chosen,
                column_types={name: pa.string() for name in chosen},
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowException:
        return None
    columns = {name: _one_array(pa, table.column(name)) for name in chosen}
    return tuple(columns[str(position)] for position in positions), np.array(ragged, np.int64)


def _one_array(pa: Any, column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.array([], column.type)])


def _without_blank_rows(table: RawTable, data: bytes, layout: CsvLayout) -> RawTable:
    """Leave out rows in which every field is blank: the ends of many a spreadsheet, no events."""
    pa = require("pyarrow", extra="events")
    if not _all_blank(table.columns).any():
        return table
    whole = _parse(data, layout, range(layout.n_fields))
    kept = np.flatnonzero(~_all_blank(whole[0])) if whole is not None else np.arange(len(table.columns[0]))
    row = table.records()
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        n_blank=len(row) - len(kept),
    )


def _without_unreadable_rows(table: RawTable, data: bytes) -> RawTable:
    """Set aside rows whose text in one of the columns does not fit the encoding."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    if UNFIT.encode() not in data:
        return table
    is_good = np.ones(len(table.columns[0]), np.bool_)
    for column in table.columns:
        is_good &= ~pc.match_substring(column, UNFIT).to_numpy(zero_copy_only=False)
    if is_good.all():
        return table
    row, kept = table.records(), np.flatnonzero(is_good)
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        unreadable=row[~is_good],
    )


def _all_blank(columns: Sequence[Any]) -> NDArray[np.bool_]:
    is_blank = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        is_blank &= np.diff(bytes_and_offsets(column)[1]) == 0
        if not is_blank.any():
            break
    return is_blank


CUT_OFF: Final = "the compressed file is damaged or cut off here. Copy or download it again"
UNREADABLE: Final = "the file cannot be read further. Copy it again, or check the disk"
NOT_IN_ENCODING: Final = "the text does not begin as its encoding asks. Give the encoding that it is written in"
# lines before the first event: column names, and what a program writes above them
_MAX_HEAD_BYTES: Final = 1 << 22
# no encoding needs more bytes than this for a character that has one byte in UTF-8
_MOST_BYTES: Final = 4


class Plain:
    """A file as it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes."""
        try:
            return self._file.read(size)
        except OSError:
            pass
        raise StreamDamage(UNREADABLE)


class Unzipped:
    """A file compressed with gzip."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=file, mode="rb")
        self._is_damaged = False

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes."""
        if not self._is_damaged:
            try:
                # read1 hands out what is good before the damage
                return self._file.read1(size)
            except (EOFError, OSError, zlib.error):
                self._is_damaged = True
        raise StreamDamage(CUT_OFF)


class Transcoded:
    """A stream in another encoding, row by row: a mark stands for what does not fit it.

    An encoding of one byte a character, and UTF-16 and UTF-32, know no state that could outlive a line end. Any other
    is decoded line by line.
    """

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._by_line = not (is_one_byte(encoding) or codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")))
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=UNFIT_HANDLER)
        self._carry = bytearray()
        self._is_done = False

    def read(self, size: int, /) -> bytes:
        """Return about ``size`` bytes."""
        data = b""
        while not data and not self._is_done:
            part = self._stream.read(size)
            self._is_done = not part
            data = self._lines(part) if self._by_line else self._decoded(part)
        return data

    def _decoded(self, part: bytes) -> bytes:
        try:
            return self._decoder.decode(part, final=not part).encode()
        except UnicodeError:  # a byte order mark that is missing is not a character that does not fit
            pass
        raise StreamDamage(NOT_IN_ENCODING)

    def _lines(self, part: bytes) -> bytes:
        was_return = self._carry.endswith(b"\r")
        self._carry += part
        if part and not was_return and b"\n" not in part and b"\r" not in part:
            # of a line that is too long only so much is kept that it is seen to be; a return may be half of a line end
            del self._carry[_MOST_BYTES * MAX_ROW_BYTES + 1 :]
            return b""
        end = len(self._carry) if not part else last_line_end(self._carry)
        whole = bytes(self._carry[:end])
        del self._carry[:end]
        return b"".join(marked(line, self._encoding) for line in whole.splitlines(keepends=True))


def is_one_byte(encoding: str) -> bool:
    """Return whether every byte of an encoding is one character, or none, whatever stands before it.

    >>> is_one_byte("cp1252"), is_one_byte("utf-8"), is_one_byte("shift_jis")
    (True, False, False)
    """
    name = codecs.lookup(encoding).name.replace("-", "_")
    if name in ("ascii", "iso8859_1"):
        return True
    return hasattr(importlib.import_module(f"encodings.{name}"), "decoding_table")


class LineFeeds:
    """A stream whose lines end as on any system, given with line feeds."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._carry = b""

    def read(self, size: int, /) -> bytes:
        """Return about ``size`` bytes."""
        part = self._stream.read(size)
        data = self._carry + part
        self._carry = b"\r" if part and data.endswith(b"\r") else b""
        data = data[: len(data) - len(self._carry)]
        if part and not data:
            return self.read(size)
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class _Rejoined:
    """A stream of which a part was read too much."""

    def __init__(self, start: bytes, stream: ByteStream) -> None:
        self._start = start
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes."""
        if self._start:
            part, self._start = self._start[:size], self._start[size:]
            return part
        return self._stream.read(size)


def take_lines(stream: ByteStream, count: int) -> tuple[list[bytes], ByteStream]:
    """Return the first ``count`` lines of a stream, and the stream after them.

    >>> import io
    >>> lines, rest = take_lines(io.BytesIO(b"SDate,Town\\r\\n2018-01-01,Ornans\\n"), 1)
    >>> lines, rest.read(10)
    ([b'SDate,Town\\r\\n'], b'2018-01-01')
    """
    start, lines = b"", list[bytes]()
    # one more line than asked for, so that a carriage return is not half of a line end
    while count and len(lines) <= count and len(start) <= _MAX_HEAD_BYTES:
        part = stream.read(1 << 16)
        if not part:
            break
        start += part
        lines = start.splitlines(keepends=True)
    lines = lines[:count]
    return lines, _Rejoined(start[sum(len(line) for line in lines) :], stream)
