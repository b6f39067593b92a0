r"""Counts in which one person weighs at most so much, whatever the person did.

The rule: the events of one person in one window of time (a day, a week, a month, a year on the wall clock of the time
axis' zone, or all of them) are a *group*. A group's cells stand in an order that a keyed hash gives. From each cell at
most ``most_per_cell`` events are counted, in this order, until ``most`` are reached. A row that stands for several
events counts as far as the bounds allow.

What is counted of a group is a function of the multiset of its own events and of the key: neither the order of rows nor
other persons matter. So without one group the counts differ by at most ``most`` in all and ``most_per_cell`` in each
cell; without one event by at most one event less and one more (``docs/proofs/contribution-bound.md``). How a row is
read does not depend on other rows either (:mod:`tacit.events.source_description`).

Persons and windows are known by keyed hashes (:class:`PersonHash`): enough to tell two apart, not enough to know one.

Memory does not grow with the number of events: rows go to temporary files by their group (:mod:`tacit.events.spill`),
24 bytes each, with hashes, cells and counts, never a person, and are bounded file by file. The bounds form a matroid,
so what is counted of some rows, together with further rows, gives what is counted of all: a group larger than a file is
bounded piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.kernels import bounding_kernels
from tacit._base.validation import check_at_least, check_one_of
from tacit.domain.step import bins_from, floor
from tacit.errors import SettingError
from tacit.events.badrows import BadRowSummary
from tacit.events.columns import bytes_and_offsets
from tacit.events.spill import ROW_WORDS, Part, Rows, Spill
from tacit.privacy.unit import WINDOWS

if TYPE_CHECKING:
    from tacit.events.counts import CountKeeper
    from tacit.events.interpret import EventBatch


Hashes = NDArray[np.uint64]

MOST: Final = 1_000_000_000  # a bound beyond it bounds nothing, and 32 bits hold it
KEY_BYTES: Final = 32  # of AES-256
_ROWS_AT_ONCE: Final = 1 << 14  # whose columns lie in the processor's caches; four times as many take a third longer
_BLOCK: Final = 16  # bytes of a block of AES
_WORD: Final = 8  # bytes of a 64-bit word
_MASKS: Final = np.array([2 ** (8 * n_bytes) - 1 for n_bytes in range(_WORD + 1)], "<u8")
_UNITS_BITS: Final = np.uint64(32)  # the lower half of a word holds the number of events, the upper the cell
_UNITS: Final = np.uint64(2**32 - 1)
_EPOCH: Final = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ContributionBound:
    """The most events counted of one person in one window, and the most of these in one cell.

    ``most_per_cell`` is ``most`` where it is left out; without a ``window`` all events of a person are bounded
    together. The ``key`` decides which cells are counted of those who have more: the same events under the same key
    count the same. Guard it like the events.

    >>> ContributionBound(20, 5, "month", key=bytes(32))
    ContributionBound(most=20, most_per_cell=5, window='month')
    """

    most: int
    most_per_cell: int | None = None
    window: str | None = None
    key: bytes = field(kw_only=True, repr=False)

    def __post_init__(self) -> None:
        per_cell = self.most if self.most_per_cell is None else self.most_per_cell
        check_at_least(1, most=self.most, most_per_cell=per_cell)
        if self.most > MOST:
            raise SettingError(
                f"most must be at most {MOST}; got most={self.most}. "
                "Take the number of events that one person may plausibly have."
            )
        if self.window is not None:
            check_one_of(WINDOWS, window=self.window)
        if len(self.key) != KEY_BYTES:
            raise SettingError(f"key must have {KEY_BYTES} bytes; got {len(self.key)} bytes.")
        object.__setattr__(self, "most_per_cell", min(per_cell, self.most))

    @property
    def cell_bound(self) -> int:
        """The events that are counted of one person in one window and cell."""
        assert self.most_per_cell is not None
        return self.most_per_cell

    def windows(self, clock: NDArray[np.datetime64]) -> IntArray:
        """Return the number of the window that holds each wall-clock time, counted from 1970 on; 0 without windows."""
        seconds = clock.astype("datetime64[s]").astype(np.int64)
        if self.window is None:
            return np.zeros(len(seconds), np.int64)
        first = floor(_EPOCH, self.window) - _EPOCH
        return bins_from(first.days * 86_400, self.window, seconds)


class PersonHash:
    """A hash of 128 bits for each pair of a person and a window.

    It is the CBC-MAC with AES-256 of the person's length, the window and the person's bytes. The length comes first, so
    no message begins another and the MAC is a pseudorandom function: without the key a hash tells neither the person
    nor which windows are the same person's, and two pairs share one with a probability of 2^-128.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def hashes(self, persons: Any, windows: IntArray) -> Hashes:
        """Return two words for every row of a column of text or bytes."""
        starts = range(0, len(persons), _ROWS_AT_ONCE)
        return np.concatenate(
            [np.empty((0, 2), np.uint64)]
            + [self._hashes(persons[at : at + _ROWS_AT_ONCE], windows[at : at + _ROWS_AT_ONCE]) for at in starts]
        )

    def _hashes(self, persons: Any, windows: IntArray) -> Hashes:
        """Hash rows side by side, block by block."""
        data, offsets = bytes_and_offsets(persons)
        starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
        padded = np.concatenate([data[offsets[0] : offsets[-1]], np.zeros(_BLOCK + _WORD, np.uint8)])
        # the eight bytes from any position on, as one word
        words = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
        block = np.empty((len(starts), 2), "<u8")
        block[:, 0] = lengths.astype("<u4") | windows.astype("<i4").view("<u4").astype("<u8") << np.uint64(32)
        block[:, 1] = words[starts] & _kept(lengths)
        state = self._encrypted(block)
        done = _WORD
        while (n_open := np.count_nonzero(lengths > done)) > 0:
            # mostly all rows are as long as that, and none need be picked
            rows = slice(None) if n_open == len(lengths) else np.flatnonzero(lengths > done)
            start, left = starts[rows] + done, lengths[rows] - done
            block = state[rows]
            block[:, 0] ^= words[start] & _kept(left)
            block[:, 1] ^= words[start + _WORD] & _kept(left - _WORD)
            state[rows] = self._encrypted(block)
            done += _BLOCK
        return state.astype(np.uint64, copy=False)

    def _encrypted(self, blocks: Hashes) -> Hashes:
        # the cipher asks for room for a block more
        content = np.empty((len(blocks) + 1, 2), "<u8")
        self._cipher.encryptor().update_into(_bytes(blocks), _bytes(content))
        return content[:-1]


def _bytes(words: Hashes) -> memoryview:
    return words.view(np.uint8).reshape(-1).data


def _kept(left: IntArray) -> Hashes:
    """Return masks that blank the bytes behind the end of each person: they are the next one's."""
    return _MASKS[np.clip(left, 0, _WORD)]


class Contributed(Protocol):
    """The memory of what was counted of groups before, where counting goes on: private to a running counter."""

    def before(self, groups: Hashes) -> IntArray:
        """Return the number of events counted of each of these groups."""

    def add(self, groups: Hashes, counted: IntArray) -> None:
        """Note further events of each of these groups."""


class Sink(Protocol):
    """Where rows of persons go to be counted."""

    def add(self, hashes: Rows, words: NDArray[np.uint64], /) -> None:
        """Set rows down: two words of a hash and one more each."""

    def parts(self) -> Iterator[Part]:
        """Yield the rows, those of a person in a window together."""

    def close(self) -> None:
        """Forget the rows."""


class BoundedCount:
    """Takes batches, then counts what a bound allows, from a first time bin on.

    To be used with ``contextlib.closing``: its files are gone when it is left, however it is left.

    An engine sends the rows of a person in a window to one machine (``sink``), counts there, and adds up: ``+`` is for
    counts of parts that share no person in a window. A bounded count that is sent leaves its files behind.
    """

    def __init__(
        self,
        bound: ContributionBound,
        keeper: CountKeeper,
        contributed: Contributed | None = None,
        first_bin: int = 0,
    ) -> None:
        self.bound = bound
        self._keeper = keeper
        self._contributed = contributed
        self._first_bin = first_bin
        self.sink: Sink = Spill()
        self._n_events = self._n_within = 0
        self.n_rows_beyond = 0

    @property
    def keeper(self) -> CountKeeper:
        """The counts within the bound."""
        return self._keeper

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"sink": None}

    def __add__(self, other: BoundedCount) -> BoundedCount:
        total = copy(self)
        total._keeper = self._keeper + other._keeper
        total._n_events, total._n_within = self._n_events + other._n_events, self._n_within + other._n_within
        total.n_rows_beyond = self.n_rows_beyond + other.n_rows_beyond
        return total

    def after(self, n_rows: int) -> BoundedCount:
        """Return the same: no row number is kept."""
        return self

    @property
    def n_beyond(self) -> int:
        """The events beyond the bound."""
        return self._n_events - self._n_within

    def close(self) -> None:
        """Remove all files."""
        self.sink.close()

    def add(self, batch: EventBatch) -> None:
        """Set the rows of a batch down."""
        if self._first_bin:
            batch = batch.take(np.flatnonzero(batch.time_bin >= self._first_bin))
        assert batch.person is not None
        words = self._keeper.take_in(batch).view(np.uint64) << _UNITS_BITS
        if batch.count is None:
            self._n_events += len(batch)
            self.sink.add(batch.person, words | np.uint64(1))
            return
        # one more than the bound, so that a row cut by it is still seen to be
        units = np.minimum(batch.count, self.bound.cell_bound + 1).view(np.uint64)
        self._n_events += int(batch.count.sum())
        self.sink.add(batch.person[units > 0], (words | units)[units > 0])

    def count(self) -> None:
        """Count what the bound allows, one file after the other."""
        for part in self.sink.parts():
            self._count_part(part)

    def _count_part(self, part: Part) -> None:
        """Count a file; of a piece only the rows that may still count are kept for the next."""
        kept, within = np.empty((0, ROW_WORDS), np.uint64), np.empty(0, np.int64)
        for rows in part.rows():
            together = np.concatenate([kept[within > 0], rows]) if len(kept) else rows
            self.n_rows_beyond += int(np.count_nonzero(within == 0))
            kept, within = self._within(together)
        if not len(kept):
            return
        self._keeper.add_units(_cells(kept), within)
        self._n_within += int(within.sum())
        self.n_rows_beyond += int(np.count_nonzero(within < _units(kept)))
        if self._contributed is not None:
            starts = np.flatnonzero(_begins(kept))
            self._contributed.add(kept[starts, :2], np.add.reduceat(within, starts))

    def _within(self, rows: Rows) -> tuple[Rows, IntArray]:
        """Return the rows with groups together, and how many events of each are within the bound.

        Within a cell rows of few events come first, so that the number of rows that are cut does not depend on their
        order either.
        """
        rows, starts = grouped(rows)
        left = np.full(len(starts), self.bound.most)
        if self._contributed is not None:
            left = np.maximum(left - self._contributed.before(rows[starts, :2]), 0)
        within = np.empty(len(rows), np.int64)
        bounding_kernels(len(rows)).allow(rows, starts, left, self.bound.cell_bound, within)
        return rows, within


def _cells(rows: Rows) -> IntArray:
    return (rows[:, 2] >> _UNITS_BITS).view(np.int64)


def _units(rows: Rows) -> IntArray:
    return (rows[:, 2] & _UNITS).view(np.int64)


def grouped(rows: Rows) -> tuple[Rows, IntArray]:
    """Return the rows with those of a group together, in the order of its cells, and the first row of each group."""
    arranged = np.empty_like(rows)
    bounding_kernels(len(rows)).arrange(rows, arranged)
    return arranged, np.flatnonzero(_begins(arranged))


def _begins(rows: Rows) -> NDArray[np.bool_]:
    """Return which of the ordered rows are the first of a group."""
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:, 0] != rows[:-1, 0]) | (rows[1:, 1] != rows[:-1, 1])
    return is_first


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
