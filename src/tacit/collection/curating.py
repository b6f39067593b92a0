"""From events to noisy counts: what a trusted curator does, and how it survives being interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacit.collection.counting import CountedEvents, count_events
from tacit.counts.estimate import Estimate
from tacit.errors import PlanMismatch, SettingError
from tacit.events import Events
from tacit.events.reader import Progress
from tacit.mechanisms.central.paying import pay, price
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.plan import Plan
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Ledger, Spend

Look = Callable[[CountedEvents], None]

_UNRECORDED_KEY = bytes(32)


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
    key = _UNRECORDED_KEY if ledger is None else ledger.key
    counted = count_events(events, key=key, unit=plan.protected_unit, progress=progress)
    if look is not None:
        look(counted)
    return counted
