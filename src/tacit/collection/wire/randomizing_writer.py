"""From exact counts to a report file: reports are drawn block by block, sorted bin by bin and written as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import check_writable
from tacit.collection.wire.cell_counts import (
    BLOCK_REPORTS,
    CellCounter,
    CellCounts,
    block_keys,
    blocks_of,
    draw_reports,
    drawing_key,
    secret_key,
)
from tacit.collection.wire.reports import write_sorted
from tacit.collection.wire.spool import ROWS_IN_MEMORY, Spool, n_bins_allowed, sorting_order
from tacit.counts.provenance import Provenance
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.randomness import Randomness

Progress = Callable[[int, int | None], None]

_GATHERED_REPORTS: Final = 1 << 20
"""Reports of whole bins that are sorted together: sorting many small bins at a time spares calls, and a quarter of what
fits in memory stays nearer to the processor."""


class RandomizingWriter:
    """Randomizes events under a plan and writes their reports, sorted and labelled.

    Use as a context manager; leaving it by an exception leaves no file behind. Events are counted while they come in,
    in memory alone, and randomized when the block is left: whatever their order, one secret gives one file.

    What it does not promise: it keeps no ledger, and its secret is gone with the process. A run that is stopped cannot
    be taken up, and running again draws further reports of the same events. So a file that is there is not replaced
    unless ``overwrite`` says so. Real events belong in a ledger first:
    :func:`tacit.collection.randomizing.randomize_events` does that, and resumes. A device that must forget each value
    at once calls :meth:`tacit.collection.wire.MessageFormat.randomize`, with its memo where the mechanism remembers.
    """

    def __init__(
        self,
        path: str | Path,
        plan: Plan,
        *,
        randomness: Randomness,
        prior_epsilon: float = 0.0,
        overwrite: bool = False,
    ) -> None:
        self._path, self._overwrite = Path(path), overwrite
        self._plan = plan
        self._mechanism = mechanism_of(plan)  # a plan that cannot be honoured is refused before any event is counted
        check_forgets(plan)
        check_writable(self._path)
        if self._path.exists() and not overwrite:
            raise SettingError(
                f"{self._path} exists already, and further reports of the same events would give more of them away. "
                "If these are other events, choose another name, or replace the file with overwrite=True."
            )
        self._secret = secret_key(randomness)
        self._provenance = Provenance.of_reports(plan.fingerprint, randomness.is_simulation, prior_epsilon)
        self._counter = CellCounter(plan.n_private)

    def add(self, time_bins: NDArray[np.int64], columns: NDArray[np.integer]) -> None:
        """Count events, given as cells of the plan's domain; none is counted where one lies outside it."""
        times, places = _whole_cells("time_bins", time_bins), _whole_cells("columns", columns)
        if times.ndim != 1 or times.shape != places.shape:
            raise SettingError(
                f"time_bins and columns must be lists of one length, one entry an event; got {times.size} and "
                f"{places.size}. Give both for every event."
            )
        domain, public = self._plan.domain, self._plan.public
        n_bins, of = domain.time.n_bins, "the plan's periods"
        if n_bins is None:
            n_bins = n_bins_allowed(self._plan) // self._plan.public_per_period
            of = "the last period that a tally takes"
        _check_within(n_bins, of, "time" in public, time_bins=times)
        of = "the plan's places" if domain.kind is None else "the plan's places and kinds"
        _check_within(domain.n_columns, of, "place" in public, columns=places)
        self._counter.add(*self._plan.split(times, places))

    def __enter__(self) -> RandomizingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            counts = self._counter.counts()
            key = drawing_key(self._secret, self._plan.fingerprint, counts.digest())
            OneFile().write(
                self._path,
                self._mechanism,
                counts,
                key=key,
                provenance=self._provenance,
                overwrite=self._overwrite,
            )


_FIND: Final = {
    "time_bins": "Find the periods of dates with plan.domain.time.bins_of_local.",
    "columns": "Find places by name with plan.domain.place.match; with kinds, a column is place x n_kinds + kind.",
}
_ARE: Final = {"U": "texts", "f": "numbers with fractions", "b": "truth values", "M": "dates"}


def _whole_cells(name: str, given: object) -> NDArray[np.int64]:
    """Return cells as whole numbers; what is none is refused, and no value is named.

    >>> _whole_cells("columns", ["north"])
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: columns must be whole numbers, the cells of the plan's domain; got texts. \
Find places by name with plan.domain.place.match; with kinds, a column is place x n_kinds + kind.
    """
    cells = np.asarray(given)
    if cells.dtype == object:  # so pandas hands texts over, and whole numbers of a kind of its own
        cells = np.array(cells.tolist())
    if cells.size and cells.dtype.kind not in "iu":
        are = _ARE.get(cells.dtype.kind, "values of another kind")
        raise SettingError(f"{name} must be whole numbers, the cells of the plan's domain; got {are}. {_FIND[name]}")
    return cells.astype(np.int64, copy=False)  # what does not fit comes out negative, and is refused


def _check_within(end: int, of: str, is_public: bool, **named: NDArray[np.int64]) -> None:
    """Refuse cells that are none of the plan's; where one stands is said of public ones alone."""
    for name, cells in named.items():
        is_outside = (cells < 0) | (cells >= end)
        if is_outside.any():
            where = f", the first at position {int(np.argmax(is_outside))}" if is_public else ""
            raise SettingError(
                f"{name} must lie between 0 and {end - 1}, {of}; {np.count_nonzero(is_outside)} of {len(cells)} do "
                f"not{where}. Set aside events outside the domain first."
            )


def check_forgets(plan: Plan) -> None:
    """Refuse a plan of devices that remember: no report file is drawn from memos."""
    if plan.unit == "device":
        raise SettingError(
            "the plan is for devices that remember their permanent answers; here all coins would be drawn again for "
            "every event. Report from a DeviceMemo on each device, or make a plan with the unit event."
        )


Pieces = Callable[[LocalRandomizer, CellCounts, bytes, Path], Iterator[NDArray[np.uint8]]]
"""Draws a report for every event counted under a key and gives them sorted by bin and report, piece by piece. What does
not fit in memory may lie beside the output, enciphered."""


class Output(Protocol):
    """Where reports are written, and what draws them."""

    def check(self, path: Path) -> None:
        """Refuse a path that cannot be written, before anything is paid."""

    def write(
        self,
        path: Path,
        mechanism: LocalRandomizer,
        counts: CellCounts,
        *,
        key: bytes,
        provenance: Provenance,
        overwrite: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Draw a report for every event counted, and write them sorted. On return all is on the disk, whole.

        Without ``overwrite`` what is there already is refused unless it is the very same.
        """


class OneFile:
    """A file of all reports; ``pieces`` draws them somewhere else than here."""

    def __init__(self, pieces: Pieces | None = None) -> None:
        self._pieces = pieces or sorted_pieces

    def check(self, path: Path) -> None:
        """Refuse a path at which no file can be made."""
        check_writable(path)

    def write(
        self,
        path: Path,
        mechanism: LocalRandomizer,
        counts: CellCounts,
        *,
        key: bytes,
        provenance: Provenance,
        overwrite: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Draw a report for every event counted, and write them sorted. On return the file is on the disk, whole."""
        bins, run_lengths = counts.bins()
        drawn = self._pieces(mechanism, counts, key, path.parent)
        watched = _watched(drawn, counts.n_events, progress)
        write_sorted(path, provenance, mechanism.report_bytes, bins, run_lengths, watched, overwrite=overwrite)


def sorted_pieces(
    mechanism: LocalRandomizer, counts: CellCounts, key: bytes, beside: Path
) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports of one bin after the other, sorted; only a bin too large for memory goes through files."""
    drawn = _Drawn(mechanism, counts, key)
    for bins, run_lengths in gathered(*counts.bins()):
        n_reports = int(run_lengths.sum())
        if n_reports <= ROWS_IN_MEMORY:
            reports = np.concatenate(list(drawn.take(n_reports)))
            yield reports[sorting_order(np.repeat(bins, run_lengths), reports)]
            continue
        with Spool(beside, mechanism.report_bytes) as spool:
            for reports in drawn.take(n_reports):
                spool.add(np.repeat(bins, len(reports)), reports)
            yield from spool.sorted_reports()


def _watched(
    pieces: Iterator[NDArray[np.uint8]], n_reports: int, progress: Progress | None
) -> Iterator[NDArray[np.uint8]]:
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        if progress is not None:
            progress(done, n_reports)


def gathered(
    bins: NDArray[np.int64], run_lengths: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield bins in groups of so many reports, or a bin of more alone."""
    ends, start = np.cumsum(run_lengths), 0
    while start < len(bins):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _GATHERED_REPORTS, side="right")))
        yield bins[start:stop], run_lengths[start:stop]
        start = stop


class _Drawn:
    """Reports in the order of their numbers, each block drawn once."""

    def __init__(self, mechanism: LocalRandomizer, counts: CellCounts, key: bytes) -> None:
        self._mechanism, self._counts, self._key = mechanism, counts, key
        self._next = 0
        self._left = np.empty((0, mechanism.report_bytes), np.uint8)

    def take(self, n_reports: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the next so many reports, in pieces of at most a block."""
        while n_reports:
            if not len(self._left):
                numbers = range(self._next, min(self._next + BLOCK_REPORTS, self._counts.n_events))
                keys = block_keys(self._key, blocks_of(numbers))
                self._left, self._next = draw_reports(self._mechanism, keys, self._counts, numbers), numbers.stop
            taken, self._left = self._left[:n_reports], self._left[n_reports:]
            n_reports -= len(taken)
            yield taken
