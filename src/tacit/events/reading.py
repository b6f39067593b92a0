"""One pass over a source: tables in order, rows numbered, the order of dates settled, damage reported."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.errors import DataError, UnreadableFile
from tacit.events.date_format import DateForm
from tacit.events.date_order import OrderKeeper, find_proofs
from tacit.events.dates import GOOD, UNDECIDED, ReadDates, read_dates
from tacit.events.pipeline import in_order
from tacit.events.sources import Piece, RawTable, Source

Progress = Callable[[int, int | None], None]

# a stream that cannot be read twice is read ahead this far in search of a date that tells the order
_ROWS_HELD: Final = 2_000_000
# so many bytes that are no UTF-8 are borne until enough of the file is read to judge by
_STRAYS_BORNE: Final = 1000

MIXED_ENCODING: Final = (
    "the text is in another encoding than rows before it. Save the whole file in one encoding, or give the encoding"
)
NOT_UTF8: Final = (
    "the text is not UTF-8, and too little of the file is. Save the whole file in one encoding, or give the encoding"
)


class Dated(Protocol):
    """What is made of a table, as far as a pass must know: its dates, and the record each stands in."""

    @property
    def dates(self) -> ReadDates:
        """The dates, good and bad."""

    @property
    def record(self) -> NDArray[np.int64]:
        """The record of each date."""


Made = TypeVar("Made", bound=Dated)


class Reading(Generic[Made]):
    """A pass that makes something of each table; ``make`` runs in several threads."""

    def __init__(
        self,
        source: Source,
        positions: Sequence[int],
        make: Callable[[RawTable, DateForm], Made],
        *,
        date_format: str | None,
    ) -> None:
        """The column of dates is the first of ``positions``."""
        self._source = source
        self._positions = positions
        self._make = make
        self._orders = OrderKeeper(date_format, source.name)
        self._row = source.first_row
        self._unreadable_at: int | None = None
        self._n_special = self._n_strays = 0
        self.western: bool | None = None
        self.has_dates = False
        self.n_rows = 0

    @property
    def form(self) -> DateForm:
        """The form in which dates are read, as far as it is settled."""
        return self._orders.form

    def run(self, progress: Progress | None = None) -> Iterator[tuple[int, Made]]:
        """Yield the row number of each table's first record, and what was made of the table."""
        with closing(in_order(self._work, self._source.pieces(self._positions))) as results:
            held: deque[tuple[Piece, RawTable, Made | None]] = deque()
            while (step := held.popleft() if held else next(results, None)) is not None:
                piece, loaded, premade = step
                table, made = self._checked(loaded, premade, self._row)
                if (made.dates.state == UNDECIDED).any():
                    if self._orders.form.order is None:
                        self._settle_order(table, made, held, results)
                    made = self._make_safely(table, self._orders.form)
                yield self._row, made
                self._row += table.n_records
                self.n_rows += table.n_records - table.n_blank
                if progress is not None:
                    progress(piece.done, self._source.total)
        self._refuse_strays(borne=0)

    def _work(self, piece: Piece) -> tuple[Piece, RawTable, Made | None]:
        table = piece.load()
        return piece, table, self._made(table)

    def _made(self, table: RawTable) -> Made | None:
        return None if table.damage is not None else self._make_safely(table, self._orders.form)

    def _make_safely(self, table: RawTable, form: DateForm) -> Made:
        pa = require("pyarrow", extra="events")
        try:
            return self._make(table, form)
        except pa.ArrowException:
            pass  # its text may quote a value
        raise DataError(
            f"{self._source.name}: a column is of a kind that cannot be read as dates, text or numbers. "
            "Convert it to one of these."
        )

    def _checked(self, table: RawTable, made: Made | None, row: int) -> tuple[RawTable, Made]:
        """Refuse damage and contradictions, and note what the text and the dates prove."""
        if table.western and table.as_utf8 is not None and self.western is False:
            # Western taken for itself, damaged in a file that is UTF-8
            table = table.as_utf8()
            made = self._made(table)
        if made is None:
            raise self._damage(table, row)
        if table.western is not None:
            if self.western not in (None, table.western):
                raise UnreadableFile(f"{self._source.name}, row {row + table.western_at}: {MIXED_ENCODING}.")
            self.western = table.western
            self._note_strays(table, row)
        self.has_dates = self.has_dates or bool((made.dates.state == GOOD).any())
        self._orders.note(find_proofs(made.dates, made.record + row))
        return table, made

    def _note_strays(self, table: RawTable, row: int) -> None:
        self._n_special += table.n_special
        self._n_strays += table.n_strays
        if len(table.unreadable) and self._unreadable_at is None:
            self._unreadable_at = row + int(table.unreadable[0])
        self._refuse_strays(borne=_STRAYS_BORNE)

    def _refuse_strays(self, *, borne: int) -> None:
        """Rows that are no UTF-8 are set aside as long as most of what is not ASCII is UTF-8."""
        if self._unreadable_at is not None and self._n_strays >= self._n_special + borne:
            raise UnreadableFile(f"{self._source.name}, row {self._unreadable_at}: {NOT_UTF8}.")

    def _settle_order(
        self,
        table: RawTable,
        made: Made,
        held: deque[tuple[Piece, RawTable, Made | None]],
        results: Iterator[tuple[Piece, RawTable, Made | None]],
    ) -> None:
        if self._source.can_reread:
            self._scan_for_order()
        else:
            start = row = self._row + table.n_records
            while self._orders.form.order is None and row < start + _ROWS_HELD:
                step = next(results, None)
                if step is None:
                    break
                held.append(step)
                self._checked(step[1], step[2], row)
                row += step[1].n_records
        if self._orders.form.order is None:
            first = int(made.record[np.argmax(made.dates.state == UNDECIDED)])
            self._orders.refuse_undecided(self._row + first)

    def _scan_for_order(self) -> None:
        """Read the dates alone, from the beginning, until one tells."""

        def work(piece: Piece) -> tuple[RawTable, ReadDates | None]:
            table = piece.load()
            if table.damage is not None:
                return table, None
            return table, read_dates(table.columns[0], self._orders.form, source=self._source.name)

        row = self._source.first_row
        with closing(in_order(work, self._source.pieces(self._positions[:1]))) as results:
            for table, dates in results:
                if dates is None:
                    raise self._damage(table, row)
                self._orders.note(find_proofs(dates, table.records() + row))
                if self._orders.form.order is not None:
                    return
                row += table.n_records

    def _damage(self, table: RawTable, row: int) -> UnreadableFile:
        return UnreadableFile(f"{self._source.name}, row {row + table.n_records}: {table.damage}.")
