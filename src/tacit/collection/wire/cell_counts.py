"""Exact counts of every cell of (public bin, private cell): all that the reports of some events depend on.

Events of one cell are exchangeable: whichever of them comes first, their reports have the same distribution. So
reports are drawn from these counts and not from rows, and no order of rows matters. Event number j is the j-th in the
order (public bin, private cell, ordinal within the cell), from 0.

Reports are drawn from the counts and a secret of 32 bytes, in blocks of 65,536 events, with these keys:

* the digest of the counts is the SHA-256 of the text *tacit cell counts 1*, then of 8-byte numbers: the number k of
  private cells, how many cells hold events, these cells ascending (public bin times k + private cell), their counts;
* the drawing key is the HMAC-SHA-256, under the secret, of the text *tacit reports 1*, the plan's fingerprint (16
  bytes) and the digest of the counts;
* the key of block b is the HMAC-SHA-256, under the drawing key, of the text *tacit block 1* and b in 8 bytes;
* the words of a block are the AES-256-CTR keystream of its key from counter 0 on, in 8-byte words; the mechanism takes
  them in its order.

All numbers are little-endian. Of seeded randomness the secret is the first four words of the seed's own keystream.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError, PlanMismatch, SettingError
from tacit.mechanisms.local.randomizer import LocalRandomizer, checked_cells
from tacit.randomness import Randomness
from tacit.randomness.source import KeyedRandomness

Numbers = NDArray[np.int64]
Cells = NDArray[np.integer[Any]]

MOST_CELLS: Final = 1 << 27
"""Cells with events that are held at a time, 2 GiB of them: every hour of 13 years at 1,000 places."""
MOST_IN_A_CELL: Final = 1 << 34
"""The most a cell counts, more than may be randomized at a time: MOST_CELLS such cells add up within 64 bits."""
_FEWEST_PENDING: Final = 1 << 18  # so many cells, 4 MiB, are added before they are merged: few merges, little memory
_DENSE_SPAN: Final = 8  # up to so many cells an event an array of all of them is faster than sorting the events


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts:
    """The number of events in each cell. The counts are exact and appear in no repr.

    ``cells`` are public bin x ``n_private`` + private cell, ascending, and only those that hold events. A cell of more
    than :data:`MOST_IN_A_CELL` events counts as that, so that no sum overflows. ``+`` is associative and commutative,
    so that parts of a data set may be counted anywhere.

    >>> counts = CellCounts.of(3, np.array([1, 0, 1]), np.array([0, 2, 0]))
    >>> counts, counts.n_events, (counts + counts).n_events
    (CellCounts(n_private=3, values withheld), 3, 6)
    >>> [part.tolist() for part in counts.events(0, 3)]
    [[0, 1, 1], [2, 0, 0]]
    """

    n_private: int
    cells: Numbers
    counts: Numbers
    _ends: Numbers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", np.cumsum(self.counts))

    def __repr__(self) -> str:
        return f"CellCounts(n_private={self.n_private}, values withheld)"

    @classmethod
    def none(cls, n_private: int) -> CellCounts:
        """Return the counts of no event at all: the zero of ``+``."""
        return cls(n_private, np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, n_private: int, public: Numbers, private: Cells, counts: Numbers | None = None) -> CellCounts:
        """Count events given by their public bins and private cells, each once or as often as ``counts`` says."""
        if not len(public):
            return cls.none(n_private)
        private = checked_cells(private, n_private)
        farthest = np.iinfo(np.int64).max // n_private - 1  # cells beyond are not numbered with 64 bits
        if not 0 <= public.min() <= public.max() <= farthest:
            raise SettingError(f"public bins must lie between 0 and {farthest}. Use plan.split to get them.")
        return cls(n_private, *_summed(public * n_private + private, counts))

    @property
    def n_events(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __add__(self, other: CellCounts) -> CellCounts:
        if self.n_private != other.n_private:
            raise PlanMismatch(
                f"counts of {self.n_private} and of {other.n_private} private cells do not add. "
                "Count both under one plan."
            )
        return _merged(self.n_private, [self, other])

    def digest(self) -> bytes:
        """Return a digest of the counts: equal for equal counts alone, whatever the order they were counted in."""
        digest = hashlib.sha256(b"tacit cell counts 1")
        for part in (np.array([self.n_private, len(self.cells)]), self.cells, self.counts):
            digest.update(np.ascontiguousarray(part, "<i8").data)
        return digest.digest()

    def bins(self) -> tuple[Numbers, Numbers]:
        """Return the public bins that hold events, ascending, and the number of events in each."""
        if not len(self.cells):
            return self.cells, self.counts
        public = self.cells // self.n_private
        starts = np.flatnonzero(np.diff(public, prepend=-1))
        return public[starts], np.add.reduceat(self.counts, starts)

    def events(self, start: int, stop: int) -> tuple[Numbers, Numbers]:
        """Return public bins and private cells of the events ``start`` up to ``stop``, one entry an event."""
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right")
        ends = np.minimum(self._ends[first : last + 1], stop)
        public, private = np.divmod(self.cells[first : last + 1], self.n_private)
        lengths = np.diff(ends, prepend=start)
        return np.repeat(public, lengths), np.repeat(private, lengths)

    def between(self, start: int, stop: int) -> CellCounts:
        """Return the counts of the events numbered from ``start`` up to ``stop``."""
        ends = np.clip(self._ends, start, max(start, stop))
        counts: Numbers = np.diff(ends, prepend=start)
        return CellCounts(self.n_private, self.cells[counts > 0], counts[counts > 0])


class CellCounter:
    """Adds events up. Its memory grows with the cells that hold events, not with the events."""

    def __init__(self, n_private: int) -> None:
        self._n_private = n_private
        self._merged = CellCounts.none(n_private)
        self._pending: list[CellCounts] = []

    def add(self, public: Numbers, private: Cells, counts: Numbers | None = None) -> None:
        """Count events, each once or as often as ``counts`` says."""
        self._pending.append(CellCounts.of(self._n_private, public, private, counts))
        if sum(len(part.cells) for part in self._pending) > max(_FEWEST_PENDING, len(self._merged.cells)):
            self.counts()

    def __add__(self, other: CellCounter) -> CellCounter:
        total = CellCounter(self._n_private)
        total._merged = self.counts() + other.counts()
        return total

    def counts(self) -> CellCounts:
        """Return all that was added."""
        self._merged = _merged(self._n_private, [self._merged, *self._pending])
        self._pending = []
        if len(self._merged.cells) > MOST_CELLS:
            raise DataError(
                f"more than {MOST_CELLS:,} cells hold events, too many to randomize at a time. "
                "Split the events by days, or take a coarser step or coarser places."
            )
        return self._merged


def _merged(n_private: int, parts: list[CellCounts]) -> CellCounts:
    parts = [part for part in parts if len(part.cells)]
    if len(parts) < 2:
        return parts[0] if parts else CellCounts.none(n_private)
    cells, counts = (np.concatenate(arrays) for arrays in zip(*((p.cells, p.counts) for p in parts), strict=True))
    return CellCounts(n_private, *_by_sorting(cells, counts))


def _summed(cells: Numbers, counts: Numbers | None) -> tuple[Numbers, Numbers]:
    """Return the cells that hold events, ascending, and how many each holds."""
    least, span = int(cells.min()), int(np.ptp(cells)) + 1
    if span > _DENSE_SPAN * len(cells):
        return _by_sorting(cells, np.ones(len(cells), np.int64) if counts is None else counts)
    if counts is None:
        sums = np.bincount(cells - least, minlength=span)
    else:
        sums = np.zeros(span, np.int64)
        np.add.at(sums, cells - least, np.minimum(counts, MOST_IN_A_CELL))
    found = np.flatnonzero(sums)
    return found + least, np.minimum(sums[found], MOST_IN_A_CELL)


def _by_sorting(cells: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    sums = np.minimum(np.add.reduceat(np.minimum(counts[order], MOST_IN_A_CELL), starts), MOST_IN_A_CELL)
    held = sums > 0  # a row may count no event
    return cells[starts][held], sums[held]


BLOCK_REPORTS: Final = 1 << 16
"""Reports of a block. Halved, the fastest mechanisms draw at two thirds to three quarters of the rate, because of keys
and calls; doubled, an engine that cuts between public bins draws more for nothing at every cut. Sorting, not drawing,
takes the time at this size. It is part of what a key gives: it stays."""

_DRAWING: Final = b"tacit reports 1"
_BLOCK: Final = b"tacit block 1"


def secret_key(randomness: Randomness) -> bytes:
    """Return 32 bytes for :func:`drawing_key`, where no ledger keeps them; with a seed they follow from it."""
    return randomness.words(4).astype("<u8").tobytes()


def drawing_key(secret: bytes, plan_id: str, counts_digest: bytes) -> bytes:
    """Return the key of all reports of the counts of this digest under this plan."""
    return hmac.digest(secret, _DRAWING + bytes.fromhex(plan_id) + counts_digest, hashlib.sha256)


def block_keys(key: bytes, blocks: range) -> dict[int, bytes]:
    """Return the keys of some blocks: all that must be known to draw these and no others."""
    return {block: hmac.digest(key, _BLOCK + block.to_bytes(8, "little"), hashlib.sha256) for block in blocks}


def blocks_of(reports: range) -> range:
    """Return the blocks that hold some of these reports.

    >>> blocks_of(range(65_535, 65_537)), blocks_of(range(0))
    (range(0, 2), range(0, 0))
    """
    return range(reports.start // BLOCK_REPORTS, -(-reports.stop // BLOCK_REPORTS)) if reports else range(0)


def draw_reports(
    mechanism: LocalRandomizer, keys: Mapping[int, bytes], counts: CellCounts, reports: range, *, first: int = 0
) -> NDArray[np.uint8]:
    """Return these reports in the order (public bin, cell, ordinal), which tells the cells: sort them.

    ``keys`` must hold those of ``blocks_of(reports)``. A block that is cut by the range is drawn whole. ``counts`` may
    be those of some blocks only, from the first event of one, which has the number ``first``, to the last of another.
    """
    drawn = [np.empty((0, mechanism.report_bytes), np.uint8)]
    for block in blocks_of(reports):
        start = block * BLOCK_REPORTS
        stop = min(start + BLOCK_REPORTS, first + counts.n_events)
        _, private = counts.events(start - first, stop - first)
        made = mechanism.randomize(private, randomness=KeyedRandomness(keys[block]))
        drawn.append(made[max(0, reports.start - start) : reports.stop - start])
    return np.concatenate(drawn)
