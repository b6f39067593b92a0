"""One pass over a source: tables in order, rows numbered, damage reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Generic, TypeVar

from tacit._extras import require
from tacit.errors import DataError, UnreadableFile
from tacit.events.pipeline import in_order
from tacit.events.sources import Piece, RawTable, Source

Progress = Callable[[int, int | None], None]
Made = TypeVar("Made")


class Reading(Generic[Made]):
    """A pass that makes something of each table; ``make`` runs in several threads and sees nothing but its table."""

    def __init__(self, source: Source, positions: Sequence[int], make: Callable[[RawTable], Made]) -> None:
        self._source = source
        self._positions = positions
        self._make = make
        self._row = source.first_row
        self.n_rows = 0

    def run(self, progress: Progress | None = None) -> Iterator[tuple[int, Made]]:
        """Yield the row number of each table's first record, and what was made of the table."""
        with closing(in_order(self._work, self._source.pieces(self._positions))) as results:
            for piece, table, made in results:
                if made is None:
                    raise UnreadableFile(f"{self._source.name}, row {self._row + table.n_records}: {table.damage}.")
                yield self._row, made
                self._row += table.n_records
                self.n_rows += table.n_records - table.n_blank
                if progress is not None:
                    progress(piece.done, self._source.total)

    def _work(self, piece: Piece) -> tuple[Piece, RawTable, Made | None]:
        table = piece.load()
        return piece, table, None if table.damage is not None else self._make_safely(table)

    def _make_safely(self, table: RawTable) -> Made:
        pa = require("pyarrow", extra="events")
        try:
            return self._make(table)
        except pa.ArrowException:
            pass  # its text may quote a value
        raise DataError(
            f"{self._source.name}: a column is of a kind that cannot be read as dates, text or numbers. "
            "Convert it to one of these."
        )
