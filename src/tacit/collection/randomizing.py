"""From events to report files: what a station does with its back catalogue, and how it survives being interrupted.

The steps are: count every cell exactly; pay, which also lays down a secret in the ledger; draw the reports from the
counts and the secret; see the file on the disk; wipe the secret. Whoever is stopped between any two of them runs the
same again. Before the price is paid nothing has happened. After it the ledger holds the unfinished entry of these very
events and counts, and its secret gives the same reports, so that no event is reported twice. Other counts have another
digest: the unfinished entry is not theirs, and their events are refused as known, or paid again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.collection.curating import digest_key, refusal_of
from tacit.collection.wire.cell_counts import CellCounter, CellCounts, drawing_key, secret_key
from tacit.collection.wire.randomizing_writer import OneFile, Output, check_forgets
from tacit.counts.provenance import Provenance
from tacit.errors import DataError, Remedy, SettingError, TacitError
from tacit.events import BadRowSummary, DayDigest, EventBatch, Events
from tacit.mechanisms.continual.files import days_of_bins
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, Randomization
from tacit.randomness import SeededRandomness

Progress = Callable[[int, int | None], None]
_MOST_EVENTS = 10_000_000_000  # reports of 5 bytes would fill 50 GB; more is taken for a slip in a column of counts


@dataclass(frozen=True, slots=True)
class Randomized:
    """The result of a run; ``is_resumed`` if a run that was interrupted was taken up."""

    n_reports: int
    prior: Guarantee
    bad_rows: BadRowSummary
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """What was read before anything is paid: exact figures, for whoever holds the events.

    ``first_bin`` and ``last_bin`` are the first and the last period with an event, -1 for none, and ``n_busy`` the
    number of periods with one, where the time is public. ``refusal`` is what the ledger will say when it is asked to
    pay; none if it will. ``earlier`` is its entry of these very events whose reports are written, if there is one.
    ``is_resumed`` says that the price is paid already.
    """

    n_events: int
    n_rows: int
    n_left_out: int
    bad_rows: BadRowSummary
    first_bin: int | None = None
    last_bin: int | None = None
    n_busy: int | None = None
    refusal: TacitError | None = None
    earlier: Randomization | None = None
    is_resumed: bool = False


def randomize_events(
    events: Events,
    plan: Plan,
    path: str | Path,
    *,
    ledger: Ledger | None,
    data_set: str,
    seed: int | None = None,
    again: bool = False,
    only: slice | None = None,
    overwrite: bool = True,
    progress: Progress | None = None,
    look: Callable[[ReadEvents], None] | None = None,
    output: Output | None = None,
) -> Randomized:
    """Write one report for every event, after the ledger has agreed to pay for them.

    The events are read once, to count every cell and to know them by content; reports are drawn from the counts. The
    same call after an interruption goes on with the same reports, at no further cost. ``only`` keeps to some time bins
    (the new days of a file that grows). A ``seed`` instead of a ledger makes a simulation: real noise is always
    recorded. Without ``overwrite`` a file that is there is refused, unless it is what an interrupted run wrote.
    ``look`` is shown what was read before anything is paid, and may refuse by raising. ``output`` draws and
    writes the reports somewhere else, by the same keys.
    """
    if events.columns.user is not None:
        raise SettingError(
            f"user must be left out where reports are made; got user={events.columns.user!r}. "
            "A report protects one event, not all of a user's."
        )
    check_forgets(plan)
    if (ledger is None) == (seed is None):
        raise SettingError("real reports must be recorded, and a simulation must not be. Give a ledger, or a seed.")
    path = Path(path)
    mechanism = mechanism_of(plan)  # a plan that cannot be honoured is refused before anything is spent
    output = output or OneFile()
    output.check(path)
    if not (overwrite or (ledger is not None and is_interrupted(ledger, data_set, plan))):
        _check_free(path)
    counts, days = _counted(events, plan, digest_key(ledger), only, progress)
    _check_size(events, counts.n_events)
    digest = counts.digest()
    # a day of which the reports say nothing stays silent, whatever rows without a kind it has: statements are public
    days = {day: days.get(day, b"") for day in _covered(plan, counts, only)}
    selection = events.selection(only)

    def write(secret: bytes, label: Provenance) -> None:
        key = drawing_key(secret, plan.fingerprint, digest)
        label = replace(label, fields_span_lines=events.options.fields_span_lines)
        output.write(path, mechanism, counts, key=key, provenance=label, overwrite=overwrite, progress=progress)

    asked: dict[str, Any] = {
        "data_set": data_set,
        "plan_id": plan.fingerprint,
        "days": days,
        "selection": selection,
        "counts_digest": digest,
    }
    price: dict[str, Any] = {
        "private": plan.private,
        "epsilon": plan.epsilon,
        "n_events": counts.n_events,
        "silent": tuple(_silent(plan, days, only)),
        "again": again,
        "spans_lines": events.options.fields_span_lines,
        "tells_kinds": plan.domain.kind is not None,
        "zone": plan.domain.time.zone,
    }
    paid = None if ledger is None else ledger.same_randomization(**asked)
    if look is not None:
        refusal = earlier = None
        if ledger is not None and paid is None:
            refusal = refusal_of(partial(ledger.record_randomization, **asked, **price, dry_run=True))
            earlier = None if refusal is None else ledger.same_randomization(**asked, is_finished=True)
        found = _read(events, counts, plan)
        look(replace(found, refusal=refusal, earlier=earlier, is_resumed=paid is not None))
    if ledger is None:
        assert seed is not None
        write(secret_key(SeededRandomness(seed)), Provenance(plan.fingerprint, is_simulation=True))
        return Randomized(counts.n_events, Guarantee(), events.bad_rows)
    is_resumed = paid is not None
    if paid is None:
        if not overwrite:
            _check_free(path)
        paid = ledger.record_randomization(**asked, **price)
    try:
        prior, heads = ledger.prior_of(paid), (ledger.head_of(paid),)
        write(ledger.report_secret(paid), Provenance(plan.fingerprint, prior=prior, ledger_heads=heads))
        ledger.finish_randomization(paid)
    except BaseException as problem:
        problem.add_note(
            "The ledger has recorded these events as randomized. Run the same again: it goes on with the same reports, "
            "at no further cost."
        )
        raise
    return Randomized(counts.n_events, prior, events.bad_rows, is_resumed)


def _read(events: Events, counts: CellCounts, plan: Plan) -> ReadEvents:
    """Return what was read, with the periods that have events where these are public."""
    found = ReadEvents(counts.n_events, events.n_rows, events.n_left_out, events.bad_rows)
    if "time" in plan.private:
        return found
    periods = np.unique(counts.cells // (counts.n_private * plan.public_per_period))
    ends = (int(periods[0]), int(periods[-1])) if len(periods) else (-1, -1)
    return replace(found, first_bin=ends[0], last_bin=ends[1], n_busy=len(periods))


class PlanCounts:
    """The exact counts of a plan's cells, as events come in. Counts of parts of a source add up."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._counter = CellCounter(plan.n_private)

    def add(self, batch: EventBatch) -> None:
        """Count events."""
        self._counter.add(*self.plan.split(batch.time_bin, batch.column), batch.count)

    def __add__(self, other: PlanCounts) -> PlanCounts:
        total = PlanCounts(self.plan)
        total._counter = self._counter + other._counter
        return total

    def after(self, n_rows: int) -> PlanCounts:
        """Return the same: no row number is kept."""
        return self

    def counts(self) -> CellCounts:
        """All that was added."""
        return self._counter.counts()


def _counted(
    events: Events, plan: Plan, key: bytes, only: slice | None, progress: Progress | None
) -> tuple[CellCounts, dict[str, bytes]]:
    """Return the exact count of every cell, and each day's digest for the ledger: in one pass."""
    digest = DayDigest(key, events.domain)
    counted = events.total(PlanCounts(plan), progress=progress, digest=digest, only=only)
    return counted.counts(), digest.digests()


def _covered(plan: Plan, counts: CellCounts, only: slice | None) -> Iterator[str]:
    """Yield the days of which the reports speak in public: those of every public period that has a report.

    Within a period the days with events are private; where the time is private, so are all days of the run.
    """
    time = plan.domain.time
    if "time" not in plan.private:
        periods = np.unique(counts.cells // (counts.n_private * plan.public_per_period)).tolist()
    else:
        periods = list(range(*(only or slice(None)).indices(time.n_bins or 0)))
    if periods:
        named = days_of_bins(time, range(periods[0], periods[-1] + 1))
        for period in periods:
            yield from named[period - periods[0]]


def _silent(plan: Plan, days: Mapping[str, bytes], only: slice | None) -> Iterator[str]:
    """Yield the days of the run without a report, which is public too; days after tomorrow are to come."""
    time = plan.domain.time
    if "time" in plan.private:
        return
    bins = only or slice(0, time.n_bins)
    tomorrow = np.datetime64(datetime.now(UTC).date()) + 1  # which it is in some time zones
    first = np.datetime64(days_of_bins(time, range(bins.start, bins.start + 1))[0][0])
    is_endless = bins.stop is None or bins.stop == sys.maxsize
    last = tomorrow if is_endless else np.datetime64(days_of_bins(time, range(bins.stop - 1, bins.stop))[0][-1])
    yield from (day for day in np.arange(first, min(last, tomorrow) + 1).astype(str).tolist() if day not in days)


def _check_size(events: Events, n_events: int) -> None:
    """Refuse too many events. Their number is public, as is that there are none: a file without reports says so."""
    if n_events > _MOST_EVENTS:
        raise DataError(
            f"{events.name}: the counts add up to more than {_MOST_EVENTS:,} events, too many to randomize at a time. "
            "Nothing was spent. Check the column of counts, or split the file."
        )


def is_interrupted(ledger: Ledger, data_set: str, plan: Plan) -> bool:
    """Return whether a run under this plan was interrupted, whatever the events: the file there may be its own."""
    return any(
        isinstance(entry, Randomization)
        and not entry.is_finished
        and (entry.data_set, entry.plan_id) == (data_set, plan.fingerprint)
        for entry in ledger.history()
    )


def _check_free(path: Path) -> None:
    if path.exists():
        raise SettingError(f"{path} exists already.", remedy=Remedy.OVERWRITE)
