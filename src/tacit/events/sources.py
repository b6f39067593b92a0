"""Sources of events, all seen alike: column names, then pieces of a table in row order.

A source hands out *pieces* that are cheap to make; :meth:`Piece.load` does the work and may run in another thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.reading import kind_of_file
from tacit._base.validation import kind_of
from tacit.errors import SettingError, UnreadableFile
from tacit.events.badrows import OF_FRAME, Reason
from tacit.events.mapping import ReadOptions

FIRST_ROW: Final = 2  # row 1 is that of the column names, be they written or not
FIRST_ROW_OF_FRAME: Final = 0  # as pandas, polars and Arrow count; no file has a row 0


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class RawTable:
    """Columns of some consecutive rows, as Arrow arrays, in the order they were asked for.

    ``row`` gives each row's place among the ``n_records`` records (those set aside and blank lines included), or
    is None where they are the same; ``ragged``, ``misquoted``, ``too_long`` and ``unreadable`` records were set aside,
    ``n_blank`` rows were blank. ``damage`` is what stands in the way after the last record.
    """

    columns: tuple[Any, ...]
    n_records: int
    row: NDArray[np.int64] | None = None
    ragged: NDArray[np.int64] = field(default_factory=_none)
    misquoted: NDArray[np.int64] = field(default_factory=_none)
    too_long: NDArray[np.int64] = field(default_factory=_none)
    unreadable: NDArray[np.int64] = field(default_factory=_none)
    n_blank: int = 0
    damage: str | None = None

    def records(self) -> NDArray[np.int64]:
        """Return the record in which each row stands."""
        return np.arange(self.n_records) if self.row is None else self.row

    def set_aside(self) -> dict[Reason, NDArray[np.int64]]:
        """Return the records that could not be taken, by reason."""
        return {
            Reason.RAGGED: self.ragged,
            Reason.BAD_QUOTES: self.misquoted,
            Reason.TOO_LONG: self.too_long,
            Reason.UNREADABLE_TEXT: self.unreadable,
        }


class Piece(Protocol):
    """A part of a source that is ready to be read."""

    @property
    def done(self) -> int:
        """The part of the source that is read once this piece is: bytes, or rows where there are none."""

    def load(self) -> RawTable:
        """Read it."""


class Source(Protocol):
    """A table of events."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def can_reread(self) -> bool:
        """Whether :meth:`pieces` may be called again."""

    @property
    def total(self) -> int | None:
        """The size of the whole in the unit of :attr:`Piece.done`, if known."""

    @property
    def names(self) -> Sequence[str]:
        """The column names."""

    @property
    def first_row(self) -> int:
        """The row number of the first record."""

    @property
    def has_public_names(self) -> bool:
        """Whether the column names surely are names; else they may be a first event, which no message may repeat."""

    def kind(self, position: int) -> Any | None:
        """Return the Arrow type of a column, None where only its values tell."""

    def pieces(self, positions: Sequence[int]) -> Iterator[Piece]:
        """Return the columns at these positions, piece by piece."""


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """The result of a query, through a SQLAlchemy URL such as ``sqlite:///events.db``.

    The transaction is never committed. The URL, which may hold a password, appears in no message.
    """

    url: str = field(repr=False)
    query: str


def open_source(source: object, *, options: ReadOptions) -> Source:
    """Open a path, a query or any object with the Arrow capsule protocol, as the options say that it is written."""
    from tacit.events.csv_source import CsvSource
    from tacit.events.spreadsheet import SheetSource
    from tacit.events.tables import ArrowSource, ParquetSource, SqlSource

    if isinstance(source, SqlQuery):
        return SqlSource(source, options)
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowSource(source, options)
    path = path_of(source)
    kind = options.format or format_of(path)
    readers: dict[str, Callable[[Path, ReadOptions], Source]] = {"parquet": ParquetSource, "xlsx": SheetSource}
    return readers.get(kind, CsvSource)(path, options)


def rows_of(source: Source) -> str:
    """Return what is said behind a source's row numbers: nothing of a file, how they count of a frame."""
    return OF_FRAME if source.first_row == FIRST_ROW_OF_FRAME else ""


def path_of(source: object) -> Path:
    """Return the path that a source is, or a refusal of what is no source."""
    if isinstance(source, (str, Path)):
        return Path(source)
    raise SettingError(
        "source must be a path, a SqlQuery or a frame with the Arrow capsule protocol; "
        f"got {kind_of(source)}. "
        "Collect a lazy frame first; pass a path as str or Path."
    )


def format_of(path: Path) -> str:
    """Return the format of a file whose owner did not say, by its first bytes; refuses what is no table."""
    from tacit.events.spreadsheet import is_spreadsheet

    start = first_bytes(path)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04") and is_spreadsheet(path):
        return "xlsx"
    _refuse_other_kinds(path, start)
    return "csv.gz" if start.startswith(b"\x1f\x8b") else "csv"


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file; refuse one that is not there or cannot be opened."""
    problem = None
    try:
        with path.open("rb") as file:
            return file.read(8)
    except FileNotFoundError:
        problem = "does not exist. Check the name and the folder"
    except IsADirectoryError:
        problem = "is a folder. Name a file in it"
    except OSError:
        problem = "cannot be opened. Check that you may read it"
    raise UnreadableFile(f"{path.name or path} {problem}.")


_KINDS: Final = (
    (b"PK\x03\x04", "an archive", "Unpack it; save a spreadsheet of another kind as XLSX or CSV (File, Save as)"),
    (b"\xd0\xcf\x11\xe0", "an old or locked spreadsheet", "Save it as XLSX or CSV, without a password (File, Save as)"),
    (b"SQLite f", "a SQLite database", "Pass a SqlQuery with a sqlite:/// URL and a query"),
    (b"%PDF", "a PDF document", "Export the events as CSV"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "Unpack it, or compress it with gzip"),
    (b"BZh", "a bzip2 archive", "Unpack it, or compress it with gzip"),
    (b"\xfd7zXZ", "an xz archive", "Unpack it, or compress it with gzip"),
)


def _refuse_other_kinds(path: Path, start: bytes) -> None:
    if (ours := kind_of_file(path)) is not None and not start.startswith(b"SQLite f"):
        raise UnreadableFile(f"{path.name} is {ours}, not a file of events. Name the file of the events.")
    for mark, kind, remedy in _KINDS:
        if start.startswith(mark):
            raise UnreadableFile(f"{path.name} is {kind}, not a CSV, XLSX or Parquet file. {remedy}.")
    if path.suffix.lower() in (".parquet", ".pq"):
        raise UnreadableFile(f"{path.name} is not a Parquet file, or it is damaged. Write or copy it again.")
