"""CSV files, plain or compressed with gzip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from tacit.errors import UnreadableFile
from tacit.events.csv_blocks import Block, cut_blocks
from tacit.events.csv_dialect import SAMPLE_BYTES, CsvDialect, looks_like_data, recognize
from tacit.events.csv_streams import (
    ByteStream,
    MacLineEnds,
    Plain,
    Transcoded,
    Unzipped,
    read_fully,
    skip_lines,
)
from tacit.events.csv_table import parse_block
from tacit.events.description import describe_csv
from tacit.events.mapping import ReadOptions
from tacit.events.sources import RawTable

_GZIP: Final = b"\x1f\x8b"
_MAX_BLOCK_BYTES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class CsvPiece:
    """A block, and what is needed to parse it."""

    block: Block
    dialect: CsvDialect
    positions: Sequence[int]
    done: int

    def load(self) -> RawTable:
        """Parse it."""
        return parse_block(self.block, self.dialect, self.positions)


class CsvSource:
    """A CSV file whose dialect is recognized, but for what the options say."""

    can_reread = True
    is_text = True

    def __init__(self, path: Path, *, wanted: Sequence[str], options: ReadOptions) -> None:
        self._path = path
        self.name = path.name
        self.total: int | None = path.stat().st_size
        with _opened(path) as (_, stream):
            sample, damage = read_fully(stream, SAMPLE_BYTES)
        if not sample and damage is not None:
            raise UnreadableFile(f"{self.name}: {damage}.")
        self.dialect = recognize(sample, name=self.name, wanted=wanted, options=options)
        self._block_bytes = min(options.batch_rows * self.dialect.bytes_per_row, _MAX_BLOCK_BYTES)

    @property
    def names(self) -> Sequence[str]:
        """The column names."""
        return self.dialect.names

    @property
    def names_may_be_values(self) -> bool:
        """Whether the column names look like an event."""
        return looks_like_data(self.dialect.names)

    @property
    def first_row(self) -> int:
        """The row number of the first record."""
        return self.dialect.first_row

    def described(self, *, western: bool | None) -> tuple[str, ...]:
        """CSV, its encoding and its separator."""
        return describe_csv(self.dialect, western=western)

    def pieces(self, positions: Sequence[int]) -> Iterator[CsvPiece]:
        """The file block by block."""
        with _opened(self._path) as (file, raw):
            stream = skip_lines(self._decoded(raw), self.dialect.n_head_lines)
            for block in cut_blocks(stream, separator=self.dialect.separator, block_bytes=self._block_bytes):
                yield CsvPiece(block, self.dialect, positions, file.tell())

    def _decoded(self, stream: ByteStream) -> ByteStream:
        dialect = self.dialect
        read_fully(stream, dialect.mark_bytes)
        if dialect.encoding is not None and dialect.encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            stream = Transcoded(stream, dialect.encoding)
        return MacLineEnds(stream) if dialect.is_mac else stream


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, ByteStream]]:
    with path.open("rb") as file:
        is_compressed = file.read(2) == _GZIP
        file.seek(0)
        yield file, Unzipped(file) if is_compressed else Plain(file)
