"""Exact counts of every cell: the curator's, never to be published as they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import Domain
from tacit.errors import DataError
from tacit.events.badrows import BadRowSummary
from tacit.events.interpret import EventBatch
from tacit.events.table_notes import TableNotes

# 2 GiB of counts: days in 10,000 towns for 70 years, or a date far in the future on an axis without end
_MAX_CELLS: Final = 1 << 28
_FIRST_BINS: Final = 64
MOST_IN_A_CELL: Final = 1 << 53
"""What a cell counts up to, for whole numbers beyond it are not exact as floats; halved, half as many are counted."""
# rows of 10^12 events each, added to a full cell, still fit into 64 bits: 2^22 * 10^12 + 2^53 < 2^63
_ROWS_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class EventCounts:
    """How many events each cell holds, and what became of every row.

    ``domain`` is the domain that was asked for, given an end (at the last event) if it had none; ``counts`` has its
    shape. ``n_rows`` is ``n_counted`` plus ``n_left_out`` (by ``where``) plus ``bad_rows.n_rows``. Where users' days
    are bounded, ``n_beyond`` events lay beyond the bound and were not counted, in ``n_rows_beyond`` of the
    ``n_counted`` rows. ``table`` tells what is odd about a table of counts, where a column gives them and no other
    tells users apart. The counts are exact and appear in no repr.
    """

    domain: Domain
    counts: NDArray[np.int64] = field(repr=False)
    n_rows: int
    n_counted: int
    n_left_out: int
    bad_rows: BadRowSummary
    n_beyond: int = 0
    n_rows_beyond: int = 0
    table: TableNotes | None = None

    @property
    def n_events(self) -> int:
        """The events in all cells; ``n_counted`` unless a column gives counts or users' days are bounded."""
        return int(self.counts.sum())


class CountKeeper:
    """Adds batches up; grows with the last bin where the time axis has no end."""

    def __init__(self, domain: Domain, source: str) -> None:
        self._domain = domain
        self._source = source
        self._n_places = domain.place.n_cells
        self._is_endless = domain.time.n_bins is None
        n_bins = _FIRST_BINS if domain.time.n_bins is None else domain.time.n_bins
        if n_bins * self._n_places > _MAX_CELLS:
            raise DataError(
                f"the domain has {n_bins * self._n_places} cells, more than can be counted at a time. "
                "Take a coarser step, coarser places or a shorter time."
            )
        self._counts = np.zeros(n_bins * self._n_places, np.int64)
        self._n_bins_used = 0
        self._n_counted = 0

    def add(self, batch: EventBatch) -> None:
        """Count a batch."""
        self.add_units(self.take_in(batch), 1 if batch.count is None else batch.count)

    def take_in(self, batch: EventBatch) -> NDArray[np.int64]:
        """Make room for a batch and return the cell of every row, for :meth:`add_units`."""
        if self._is_endless and len(batch):
            self._make_room(batch)
        self._n_counted += len(batch)
        return batch.time_bin * self._n_places + batch.place

    def add_units(self, cells: NDArray[np.int64], units: int | NDArray[np.int64]) -> None:
        """Add so many events to each of the cells; a cell that is full stays as it is.

        What a cell holds is the smaller of the sum and :data:`MOST_IN_A_CELL`, in any order of the rows: one event more
        or less changes it by at most one, and no row can make the sum overflow.
        """
        if isinstance(units, int):
            np.add.at(self._counts, cells, units)
            return
        for start in range(0, len(cells), _ROWS_AT_ONCE):
            some = cells[start : start + _ROWS_AT_ONCE]
            np.add.at(self._counts, some, units[start : start + _ROWS_AT_ONCE])
            self._counts[some] = np.minimum(self._counts[some], MOST_IN_A_CELL)

    def finish(self, *, n_rows: int, n_left_out: int, bad_rows: BadRowSummary) -> EventCounts:
        """The counts, cut after the last event where the axis has no end."""
        domain, counts = self._domain, self._counts.reshape(-1, self._n_places)
        if self._is_endless:
            n_bins = max(1, self._n_bins_used)
            domain, counts = replace(domain, time=domain.time.with_end(n_bins)), counts[:n_bins].copy()
        return EventCounts(domain, counts, n_rows, self._n_counted, n_left_out, bad_rows)

    def _make_room(self, batch: EventBatch) -> None:
        last = int(batch.time_bin.max())
        self._n_bins_used = max(self._n_bins_used, last + 1)
        n_cells = self._n_bins_used * self._n_places
        if n_cells > _MAX_CELLS:
            row = int(batch.row[np.argmax(batch.time_bin)])
            raise DataError(
                f"{self._source}: the date in row {row} lies so far in the future that its cells cannot be held. "
                "Correct it, or give the time axis an end: later dates are then set aside."
            )
        if n_cells > len(self._counts):
            grown = np.zeros(min(max(n_cells, 2 * len(self._counts)), _MAX_CELLS), np.int64)
            grown = grown[: len(grown) // self._n_places * self._n_places]
            grown[: len(self._counts)] = self._counts
            self._counts = grown
