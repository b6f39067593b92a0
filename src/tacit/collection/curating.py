"""From events to noisy counts: what a trusted curator does, once or period by period, and how it survives being
interrupted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, TimeAxis
from tacit.domain.step import When
from tacit.errors import PlanMismatch, Remedy, SettingError, TacitError
from tacit.events import BadRowSummary, ContributionBound, DayDigest, EventCounts, Events, TableNotes
from tacit.events.passes import Progress
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.mechanisms.central.tree import LARGEST_TOTAL, check_counts, input_digest_of
from tacit.mechanisms.continual.files import CounterFiles
from tacit.plan import Plan
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.ledger import Ledger, Spend
from tacit.privacy.unit import Unit

EVENT: Final = Unit("event")
_KEY_BYTES: Final = 32  # as long as the ledger's own key


def digest_key(ledger: Ledger | None) -> bytes:
    """Return the key of the digests by which a ledger knows events; zeros for a simulation, which it never sees."""
    return bytes(_KEY_BYTES) if ledger is None else ledger.key


def key_of(ledger: Ledger | None, seed: int | None) -> bytes:
    """Return the ledger's key, or the one that takes its place in a simulation; there must be a ledger or a seed."""
    if (ledger is None) == (seed is None):
        raise SettingError("real noise must be recorded, and a simulation must not be. Give a ledger, or a seed.")
    return digest_key(ledger) if seed is None else simulated_key(seed)


def simulated_key(seed: int) -> bytes:
    """Return the key that takes the place of a ledger's in a simulation."""
    return hashlib.blake2b(str(seed).encode(), digest_size=_KEY_BYTES, person=b"simulated key").digest()


def bound_of(unit: Unit, key: bytes, data_set: str) -> ContributionBound | None:
    """Return the bound on what a unit adds; none for single events.

    Which events of a person are counted follows from the ledger's key and the name of the data set: the same events
    give the same counts again, after a crash and in every release of them.
    """
    if not unit.is_of_a_person:
        return None
    derived = hashlib.blake2b(data_set.encode(), key=key, digest_size=_KEY_BYTES, person=b"bounding").digest()
    return ContributionBound(unit.most, unit.most_per_cell, unit.window, key=derived)


@dataclass(frozen=True, slots=True, eq=False)
class CountedEvents:
    """Exact counts, the keyed digest of each day for the ledger, and what became of the rows.

    All of it is for the curator: the mechanism sees the tally, the ledger the days, the screen the rest. ``n_events``
    were counted; ``n_beyond`` more, in ``n_rows_beyond`` rows, lay beyond the bound on a person. ``n_full_cells``
    cells held more events than are counted in one. ``table`` tells of repeated rows and of periods without a row, in a
    table of counts. ``refusal`` is what the ledger will say when it is asked to pay; none if it will, or was not asked.
    """

    domain: Domain
    tally: ExactTally
    days: Mapping[str, bytes] = field(repr=False)
    n_events: int = field(repr=False)
    n_beyond: int = field(repr=False)
    n_rows_beyond: int = field(repr=False)
    n_full_cells: int = field(repr=False)
    n_rows: int
    n_left_out: int
    bad_rows: BadRowSummary
    table: TableNotes | None = field(repr=False)
    refusal: TacitError | None = field(default=None, repr=False)

    @property
    def last_bin(self) -> int:
        """The last period with an event, -1 for none."""
        return int(self._busy.max(initial=-1))

    @property
    def n_busy(self) -> int:
        """The number of periods with an event."""
        return len(self._busy)

    @property
    def _busy(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.tally.reveal().sum(axis=1))


def count_events(
    events: Events, *, key: bytes, data_set: str = "", unit: Unit = EVENT, progress: Progress | None = None
) -> CountedEvents:
    """Count the events of every cell in one pass, with the digests by which the ledger knows them.

    ``key`` is the ledger's; the digests are those of randomization, so that either knows what the other did. Where
    persons are protected, so many events of each are counted as the unit allows (:func:`bound_of`); the column of
    users must then be named, and only then: to name users and protect events would promise more than is kept. The time
    axis must have an end, for the data may not decide which cells are published.

    Nothing is refused because of what rows hold (unless strict reading was asked for): a row that cannot be counted is
    set aside by itself, no row at all counts as zeros, and a cell counts at most ``2**53 // n_cells`` events, so that
    all cells together are exact as floats. Whether a release exists tells nothing, then, of any row.

    >>> import pyarrow as pa
    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> from tacit.events import EventColumns, ReadOptions, open_events
    >>> table = pa.table({"day": ["2018-01-01", "2018-01-02"], "town": ["South", "South"]})
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["North", "South"]))
    >>> columns, written = EventColumns(time="day", place="town"), ReadOptions(date_format="year-first")
    >>> events = open_events(table, columns=columns, domain=domain, options=written)
    >>> counted = count_events(events, key=bytes(32))
    >>> counted.tally, list(counted.days)
    (ExactTally(2 x 2 cells, values withheld), ['2018-01-01', '2018-01-02'])
    """
    if events.domain.time.n_bins is None:
        raise SettingError(
            "the time axis must have an end where exact counts are released; got none. "
            "Give the last day: the data must not tell where the counts end."
        )
    bound = bound_of(unit, key, data_set)
    if bound is None and events.columns.user is not None:
        raise SettingError(
            f"user must be left out where single events are protected; got user={events.columns.user!r}. "
            "Leave it out, or protect the unit user-day or person."
        )
    digest = DayDigest(key, events.domain)
    counts = events.count(progress=progress, digest=digest, bound=bound)
    most_in_a_cell = LARGEST_TOTAL // counts.domain.n_cells
    tally = ExactTally(np.minimum(counts.counts, most_in_a_cell))
    return CountedEvents(
        domain=counts.domain,
        tally=tally,
        days=digest.digests(),
        n_events=int(tally.reveal().sum()),
        n_full_cells=int(np.count_nonzero(counts.counts > most_in_a_cell)),
        n_beyond=counts.n_beyond,
        n_rows_beyond=counts.n_rows_beyond,
        n_rows=counts.n_rows,
        n_left_out=counts.n_left_out,
        bad_rows=counts.bad_rows,
        table=counts.table,
    )


Look = Callable[[CountedEvents], None]


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """The noisy counts of a plan's domain, what was paid for them, and what the curator alone may know of the rows.

    Write the release, then tell the ledger with ``Ledger.finish(curated.spend)``: only then is the noise's key wiped.
    Until then the same call on the same events takes up where it was interrupted, with the same noise and no cost.
    """

    estimate: Estimate
    counted: CountedEvents
    spend: Spend
    is_resumed: bool = False


def curate_events(
    events: Events,
    plan: Plan,
    *,
    ledger: Ledger | None,
    data_set: str,
    budget: Budget | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> Curated:
    """Count events, pay, and add noise, in this order. A ``seed`` instead of a ledger makes a simulation.

    ``look`` is shown what was counted, and what the ledger would refuse, before anything is paid; it may refuse by
    raising.
    """
    key = key_of(ledger, seed)
    counted = _counted(events, plan, key, data_set, progress)
    mechanism = central_mechanism_of(plan)
    check_counts(counted.tally, plan.domain)
    digest = input_digest_of(counted.tally)
    asked: dict[str, Any] = {"release": plan.fingerprint, "cost": mechanism.cost, "data_set": data_set}
    to_pay = partial(pay, events, counted.days, **asked, unit=plan.protected_unit, input_digest=digest, ledger=ledger)
    if look is not None:
        refusal = None
        days = days_of(events.domain.time, counted.days)
        if ledger is not None and not ledger.can_resume(**asked, days=days, input_digest=digest):
            refusal = refusal_of(partial(to_pay, budget=budget, dry_run=True))
        look(replace(counted, refusal=refusal))
    spend, is_resumed = to_pay(budget=budget, seed=seed)
    made = mechanism.measure(counted.tally, plan, spend=spend)
    label = replace(made.provenance, fields_span_lines=events.options.fields_span_lines)
    return Curated(replace(made, provenance=label), counted, spend, is_resumed)


def price_events(
    events: Events,
    plan: Plan,
    *,
    ledger: Ledger,
    data_set: str,
    budget: Budget | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> Spend:
    """Return the spend that :func:`curate_events` would make: a dry run that writes nothing and draws nothing."""
    counted = _counted(events, plan, digest_key(ledger), data_set, progress)
    if look is not None:
        look(counted)
    spend, _ = pay(
        events,
        counted.days,
        release=plan.fingerprint,
        cost=central_mechanism_of(plan).cost,
        unit=plan.protected_unit,
        ledger=ledger,
        data_set=data_set,
        budget=budget,
        dry_run=True,
    )
    return spend


def pay(
    events: Events,
    days: Mapping[str, bytes],
    *,
    release: str,
    cost: Cost,
    unit: Unit,
    ledger: Ledger | None,
    data_set: str,
    budget: Budget | None,
    input_digest: bytes = b"",
    seed: int | None = None,
    dry_run: bool = False,
) -> tuple[Spend, bool]:
    """Return the right to draw noise for what was counted, and whether it is that of an interrupted run.

    ``days`` are the digests of the events, ``input_digest`` that of the numbers. Without a ledger the ``seed`` makes a
    simulation. A dry run is a price: it writes nothing and draws nothing.
    """
    if ledger is None:
        assert seed is not None
        return Spend.simulation(cost, seed=seed), False
    asked: dict[str, Any] = {
        "data_set": data_set,
        "release": release,
        "cost": cost,
        "days": days_of(events.domain.time, days),
        "budget": budget,
        "unit": unit,
        "input_digest": input_digest,
        "spans_lines": events.options.fields_span_lines,
        "zone": events.domain.time.zone,
    }
    return (ledger.spend(**asked, dry_run=True), False) if dry_run else ledger.resume_or_spend(**asked)


def add_events(
    files: CounterFiles,
    open_over: Callable[[Domain], Events],
    *,
    first: When,
    last: When | None = None,
    progress: Progress | None = None,
    look: Callable[[EventCounts], None] | None = None,
) -> EventCounts:
    """Count the next periods of a counter, ``first`` to ``last``, publish their totals, and return the exact counts.

    ``open_over`` opens the events over the domain that it is given, in which the time ends with the last of these
    periods. A period that is not the next in turn is refused before it is called. The ledger that the counter was paid
    from notes the events. After an interruption the same call finishes what was not finished. ``look`` is shown what
    was counted before anything is published, and may refuse by raising.
    """
    stream = files.stream()
    asked = stream.domain.time.range(first, last or first)
    files.check_turn(asked.start)
    events = open_over(stream.domain.with_end(asked.stop))
    is_by_user = stream.unit.is_of_a_person
    if is_by_user and events.columns.user is None:
        raise SettingError(
            f"a counter that protects the {stream.unit.name} needs the column of users.", remedy=Remedy.NAME_USERS
        )
    if not is_by_user and events.columns.user is not None:
        raise SettingError("this counter protects single events.", remedy=Remedy.LEAVE_OUT_USERS)
    if events.options.fields_span_lines:
        raise SettingError(
            "fields_span_lines must be false for a counter, whose promise was stated when it was started; got true. "
            "Export the events without line ends in fields, and describe the source again. Nothing was counted."
        )
    digest = DayDigest(digest_key(files.ledger), events.domain)
    bound, contributions = bound_of(stream.unit, files.bounding_key, ""), files.contributions()
    counts = events.count(
        progress=progress, digest=digest, bound=bound, contributed=contributions, first_bin=asked.start
    )
    if look is not None:
        look(counts)
    rows = counts.counts[asked.start : asked.stop]
    files.add(rows, first=asked.start, days=digest.digests(), contributions=contributions)
    return counts


def days_of(axis: TimeAxis, days: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return every day of a time axis with the digest of its events: a day without events is published too."""
    edges = axis.with_end((axis.n_bins or 0) + 1).starts()
    last = (edges[-1] - np.timedelta64(1, "s")).astype("datetime64[D]")
    every = np.arange(edges[0].astype("datetime64[D]"), last + 1).astype(str).tolist()
    return dict.fromkeys(every, b"") | dict(days)


def _counted(events: Events, plan: Plan, key: bytes, data_set: str, progress: Progress | None) -> CountedEvents:
    if events.domain != plan.domain:
        raise PlanMismatch("the events were read over another domain than the plan's. Read them with plan.domain.")
    return count_events(events, key=key, data_set=data_set, unit=plan.protected_unit, progress=progress)


def refusal_of(ask: Callable[[], object]) -> TacitError | None:
    """Ask, and return how that was refused; none if it was not."""
    try:
        ask()
    except TacitError as refused:
        return refused
    return None
