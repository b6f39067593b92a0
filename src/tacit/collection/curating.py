"""From events to noisy counts: what a trusted curator does, once or period by period, and how it survives being
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacit.collection.counting import CountedEvents, count_events, digest_key
from tacit.counts.estimate import Estimate
from tacit.domain import Domain
from tacit.errors import PlanMismatch, Remedy, SettingError
from tacit.events import DayDigest, EventCounts, Events
from tacit.events.reader import Progress
from tacit.mechanisms.central.table import central_mechanism_of, pay, price
from tacit.mechanisms.continual.files import CounterFiles
from tacit.plan import Plan
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Ledger, Spend

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

    ``look`` is shown what was counted before anything is paid, and may refuse by raising.
    """
    if (ledger is None) == (seed is None):
        raise SettingError("real noise must be recorded, and a simulation must not be. Give a ledger, or a seed.")
    counted = _counted(events, plan, ledger, progress, look)
    mechanism = central_mechanism_of(plan)
    is_resumed = False
    if ledger is None:
        assert seed is not None
        spend = Spend.simulation(mechanism.cost, seed=seed)
    else:
        days = days_of(plan, counted.days)
        spans = events.options.fields_span_lines
        spend, is_resumed = pay(ledger, plan, counted.tally, days, data_set=data_set, budget=budget, spans_lines=spans)
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
    """What :func:`curate_events` would cost and leave: a dry run that writes nothing and draws nothing."""
    counted = _counted(events, plan, ledger, progress, look)
    spans, days = events.options.fields_span_lines, days_of(plan, counted.days)
    return price(ledger, plan, days, data_set=data_set, budget=budget, spans_lines=spans)


def add_events(
    files: CounterFiles,
    open_over: Callable[[Domain], Events],
    *,
    first: str,
    last: str | None = None,
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
    is_by_user = stream.unit.name == "user-day"
    if is_by_user and events.columns.user is None:
        raise SettingError("a counter of user-days needs the column of users.", remedy=Remedy.NAME_USERS)
    if not is_by_user and events.columns.user is not None:
        raise SettingError("this counter protects single events.", remedy=Remedy.LEAVE_OUT_USERS)
    if events.options.fields_span_lines:
        raise SettingError(
            "fields_span_lines must be false for a counter, whose promise was stated when it was started; got true. "
            "Export the events without line ends in fields, and describe the source again. Nothing was counted."
        )
    digest = DayDigest(digest_key(files.ledger), events.domain)
    counts = events.count(progress=progress, digest=digest, most_per_user_day=stream.unit.most if is_by_user else None)
    if look is not None:
        look(counts)
    files.add(counts.counts[asked.start : asked.stop], first=asked.start, days=digest.digests())
    return counts


def days_of(plan: Plan, days: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every day of the plan's time axis with the digest of its events: a day without events is published too."""
    axis = plan.domain.time
    edges = axis.with_end((axis.n_bins or 0) + 1).starts()
    last = (edges[-1] - np.timedelta64(1, "s")).astype("datetime64[D]")
    every = np.arange(edges[0].astype("datetime64[D]"), last + 1).astype(str).tolist()
    return dict.fromkeys(every, b"") | dict(days)


def _counted(
    events: Events, plan: Plan, ledger: Ledger | None, progress: Progress | None, look: Look | None
) -> CountedEvents:
    if events.domain != plan.domain:
        raise PlanMismatch("the events were read over another domain than the plan's. Read them with plan.domain.")
    counted = count_events(events, key=digest_key(ledger), unit=plan.protected_unit, progress=progress)
    if look is not None:
        look(counted)
    return counted
