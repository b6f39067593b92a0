"""CSV files, plain or compressed with gzip, read as they are said to be written."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from tacit.errors import NotDescribed, UnreadableFile
from tacit.events.csv_lines import Block, cut_lines
from tacit.events.csv_spanning import cut_blocks
from tacit.events.csv_streams import (
    ByteStream,
    LineFeeds,
    Plain,
    StreamDamage,
    Transcoded,
    Unzipped,
    read_fully,
    take_lines,
)
from tacit.events.csv_table import CsvLayout, parse_block
from tacit.events.mapping import ReadOptions
from tacit.events.sources import RawTable, first_bytes, format_of

# about a row of most tables; it sets how much is read at a time, not what is read
_BYTES_PER_ROW: Final = 64
_MAX_BLOCK_BYTES: Final = 1 << 26
_MARK: Final = codecs.BOM_UTF8


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
        """Text, in every column."""
        return None

    def pieces(self, positions: Sequence[int]) -> Iterator[CsvPiece]:
        """The file block by block."""
        with self._opened() as (file, stream):
            _, rows = take_lines(stream, self._options.header_lines)
            if self._layout.fields_span_lines and self._layout.quote:
                blocks = cut_blocks(LineFeeds(rows), separator=self._separator, block_bytes=self._block_bytes)
            else:
                blocks = cut_lines(rows, block_bytes=self._block_bytes)
            for block in blocks:
                yield CsvPiece(block, self._layout, positions, file.tell())

    def _read_names(self) -> tuple[str, ...]:
        """The column names that were given, if the file holds the same; else those of the file."""
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
                f"{self.name} does not have the column names in line {n_lines} that its description gives. "
                "Describe it again with: tacit check, or name the right file."
            )
        return given or found or ()

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, ByteStream]]:
        """The file, and its text in UTF-8 without a mark."""
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
    """The fields of a line of column names, None if there are none or a quote is not closed.

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
        """About ``size`` bytes."""
        if self._is_begun:
            return self._stream.read(size)
        self._is_begun = True
        start, damage = read_fully(self._stream, max(size, len(_MARK)))
        if damage is not None and not start:
            raise StreamDamage(damage)
        return start.removeprefix(_MARK) or self._stream.read(size)
