"""From events to report files: what a station does with its back catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit._files import check_writable
from tacit.errors import DataError, SettingError
from tacit.events import BadRowSummary, DayDigest, EventBatch, Events
from tacit.mechanisms import mechanism_of
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.randomness import Randomness
from tacit.wire import RandomizingWriter

Progress = Callable[[int, int | None], None]
_UNRECORDED_KEY = bytes(32)
_PIECE_EVENTS = 1 << 20
_MOST_EVENTS = 10_000_000_000


@dataclass(frozen=True, slots=True)
class Randomized:
    """What became of the events."""

    n_reports: int
    prior_epsilon: float
    bad_rows: BadRowSummary


def randomize_events(
    events: Events,
    plan: Plan,
    path: str | Path,
    *,
    randomness: Randomness,
    ledger: Ledger | None,
    data_set: str,
    again: bool = False,
    only: slice | None = None,
    progress: Progress | None = None,
) -> Randomized:
    """Write one report for every event, after the ledger has agreed to pay for them.

    The events are read twice: first to know them by content, so that the ledger can refuse before any noise is
    drawn; then to randomize. Should they change in between, nothing is written. ``only`` keeps to some time bins
    (the new days of a file that grows). Without a ledger the randomness must be simulated: real noise is always
    recorded.
    """
    if events.columns.user is not None:
        raise SettingError(
            f"user must be left out where reports are made; got user={events.columns.user!r}. "
            "A report protects one event, not all of a user's."
        )
    if ledger is None and not randomness.is_simulation:
        raise SettingError("real reports must be recorded. Give a ledger.")
    mechanism_of(plan)  # a plan that cannot be honoured is refused before anything is spent
    check_writable(Path(path))
    key = _UNRECORDED_KEY if ledger is None else ledger.key
    digest, n_events = DayDigest(key, events.domain), 0
    for batch in _within(events, only, progress):
        digest.update(batch)
        n_events += len(batch) if batch.count is None else int(batch.count.sum())
    _check_size(events, n_events)
    days = digest.digests()
    prior = 0.0
    if ledger is not None:
        prior = ledger.record_randomization(
            data_set=data_set,
            plan_id=plan.fingerprint,
            private=plan.private,
            epsilon=plan.epsilon,
            days=days,
            n_events=n_events,
            again=again,
        ).prior_epsilon
    heads = () if ledger is None else (ledger.head,)
    digest_again = DayDigest(key, events.domain)
    try:
        with RandomizingWriter(path, plan, randomness=randomness, prior_epsilon=prior, ledger_heads=heads) as writer:
            for batch in _within(events, only, progress):
                digest_again.update(batch)
                for times, places in _pieces(batch):
                    writer.add(times, places)
            if digest_again.digests() != days:
                raise DataError(f"{events.name} changed while it was read. Nothing was written.")
    except BaseException as problem:
        if ledger is not None:
            problem.add_note("The ledger has recorded these events as randomized already: run again with --again.")
        raise
    return Randomized(n_events, prior, events.bad_rows)


def _within(events: Events, only: slice | None, progress: Progress | None) -> Iterator[EventBatch]:
    """The events of the chosen bins."""
    for batch in events.batches(progress=progress):
        if only is None:
            yield batch
        else:
            yield batch.take(np.flatnonzero((batch.time_bin >= only.start) & (batch.time_bin < only.stop)))


def _check_size(events: Events, n_events: int) -> None:
    """Refuse too many events. Their number is public, as is that there are none: a file without reports says so."""
    if n_events > _MOST_EVENTS:
        raise DataError(
            f"{events.name}: the counts add up to more than {_MOST_EVENTS:,} events, too many to randomize at a time. "
            "Nothing was spent. Check the column of counts, or split the file."
        )


def _pieces(batch: EventBatch) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """One entry an event, in pieces of bounded size however large the counts of the rows."""
    time, place = batch.time_bin, batch.place.astype(np.int64)
    if batch.count is None:
        yield time, place
        return
    ends = np.cumsum(batch.count)
    for start in range(0, int(ends[-1]) if len(ends) else 0, _PIECE_EVENTS):
        row = np.searchsorted(ends, np.arange(start, min(start + _PIECE_EVENTS, int(ends[-1]))), side="right")
        yield time[row], place[row]
