"""The numbers of persons with at most so many events: exact ranks, among which a bound is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from tacit._base.arrays import IntArray
from tacit.events.badrows import BadRowSummary
from tacit.events.contribution_bound import grouped
from tacit.events.interpret import EventBatch
from tacit.events.spill import ROW_WORDS, Part, Rows, Spill


@dataclass(frozen=True, slots=True)
class PersonCounts:
    """The number of persons (in a window each), and of those of at most so many events, for each number of a grid.

    They are exact and appear in no repr. ``bad_rows`` were set aside.
    """

    n_persons: int = field(repr=False)
    at_most: tuple[int, ...] = field(repr=False)
    bad_rows: BadRowSummary = field(default_factory=BadRowSummary, repr=False)


class PersonCounter:
    """Takes batches, then counts persons by their number of events, in flat memory.

    To be used with ``contextlib.closing``: its files are gone when it is left, however it is left.
    """

    def __init__(self, grid: Sequence[int]) -> None:
        self._grid = np.array(grid, np.int64)
        self._spill = Spill()

    def close(self) -> None:
        """Remove all files."""
        self._spill.close()

    def add(self, batch: EventBatch) -> None:
        """Set the rows of a batch down; a row without an event is nobody's."""
        assert batch.person is not None
        units = np.ones(len(batch), np.int64) if batch.count is None else batch.count
        # beyond the grid one more is as good as many
        words = np.minimum(units, self._grid[-1] + 1).astype(np.uint64)
        self._spill.add(batch.person[units > 0], words[units > 0])

    def counts(self) -> PersonCounts:
        """Count the persons, one file after the other."""
        at_most, n_persons = np.zeros(len(self._grid), np.int64), 0
        for part in self._spill.parts():
            with closing(part):
                events = self._events_of(part)
            n_persons += len(events)
            at_most += (events[:, None] <= self._grid).sum(axis=0)
        return PersonCounts(n_persons, tuple(at_most.tolist()))

    def _events_of(self, part: Part) -> IntArray:
        """Return the number of events of each person of a file, cut beyond the grid."""
        known: Rows = np.empty((0, ROW_WORDS), np.uint64)
        for rows in part.rows():
            together, starts = grouped(np.concatenate([known, rows]))
            known = together[starts]
            known[:, 2] = np.minimum(np.add.reduceat(together[:, 2], starts), np.uint64(self._grid[-1] + 1))
        return known[:, 2].astype(np.int64)
