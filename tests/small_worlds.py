"""Small domains, plans and tallies that many tests need."""

from __future__ import annotations

import numpy as np

from tacit.collection.tallying import estimate_tally
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.privacy.following import SELECTION
from tacit.randomness import SeededRandomness

DOUBS = ("--places", "doubs", "--zone", "Europe/Paris")
"""Options for tests of commands that must name places and a time zone; those given after them win."""


def days_and_places(n_days: int, n_places: int) -> Domain:
    last = np.datetime64("2018-01-01") + n_days - 1
    return Domain(TimeAxis.between("2018-01-01", str(last)), PlaceAxis.of([f"place {i}" for i in range(n_places)]))


def simulated(
    counts: np.ndarray, *, f: float = 0.5, epsilon: float | None = None, seed: int = 1, domain: Domain | None = None
) -> tuple[Plan, Tally]:
    """A plan over days and places, and the tally of simulated reports of these true counts."""
    n_days, n_places = counts.shape
    axes = domain or days_and_places(n_days, n_places)
    plan = plan_for(axes, f=f) if epsilon is None else plan_for(axes, epsilon=epsilon)
    mechanism = mechanism_of(plan)
    cells = np.repeat(np.tile(np.arange(n_places), n_days), counts.ravel())
    reports = mechanism.randomize(cells, randomness=SeededRandomness(seed))
    per_day = counts.sum(axis=1)
    statistics = mechanism.statistics(reports, per_day)
    return plan, Tally(Provenance(plan.fingerprint, is_simulation=True), statistics, per_day)


def simulated_estimate(counts: np.ndarray, **settings) -> tuple[Plan, Estimate]:
    plan, tally = simulated(counts, **settings)
    return plan, estimate_tally(tally, plan)


KINDS = Gazetteer.from_text(
    "kind,group\nfire,danger\nflood,danger\nfall,help\n", levels=("kind", "group"), name="kinds"
)
"""Three kinds of events in two groups."""


def days_places_and_kinds(n_days: int, n_places: int) -> Domain:
    domain = days_and_places(n_days, n_places)
    return Domain(domain.time, domain.place, KindAxis.from_gazetteer(KINDS))


def reported(plan: Plan, counts: np.ndarray, seed: int) -> Tally:
    """The tally of simulated reports of these true counts, time x columns, whatever of them is private."""
    times, columns = (part.ravel() for part in np.indices(counts.shape))
    public, hidden = plan.split(np.repeat(times, counts.ravel()), np.repeat(columns, counts.ravel()))
    order, device = np.argsort(public, kind="stable"), mechanism_of(plan)
    reports = device.randomize(hidden[order], randomness=SeededRandomness(seed))
    in_bins = np.bincount(public, minlength=plan.n_public)
    return Tally(Provenance(plan.fingerprint, is_simulation=True), device.statistics(reports, in_bins), in_bins)


EVERY_ROW = dict.fromkeys(SELECTION, "any")
"""What a ledger is told of reports that count every row."""
