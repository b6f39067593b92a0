"""Counts of days and places, and what becomes of them when every event sends one report.

The synthetic interventions come with the package. Where the environment names a folder in ``TACIT_DATA``, calls of
Montgomery County and incidents of Dublin's fire brigade are read from it; they are for the laboratory alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.collection.tallying import estimate_tally
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events.datasets import doubs
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.pages.laboratory import error_rates
from tacit.plan import Plan
from tacit.randomness import Randomness

PERIODS: Final = ("year", "month", "day")


@dataclass(frozen=True)
class World:
    """True counts of days by places."""

    name: str
    domain: Domain
    counts: NDArray[np.int64]

    @property
    def days(self) -> NDArray[np.datetime64]:
        return np.array(self.domain.time.labels(), "datetime64[D]")

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self.domain.place.cells)

    def since(self, first_day: str) -> World:
        """The same places from a day on."""
        start = int(np.searchsorted(self.days, np.datetime64(first_day)))
        days = TimeAxis.between(str(self.days[start]), str(self.days[-1]), zone=self.domain.time.zone)
        return World(self.name, Domain(days, self.domain.place), self.counts[start:])

    def first_places(self, n_places: int) -> World:
        """The events of the first places alone."""
        place = PlaceAxis.of(self.places[:n_places])
        return World(self.name, Domain(self.domain.time, place), self.counts[:, :n_places])

    def published(self, f: float, randomness: Randomness) -> Estimate:
        """One-time RAPPOR, as the paper has it."""
        return reported(plan_for(self.domain, f=f), self.counts, randomness)

    def corrected(self, f: float, randomness: Randomness) -> Estimate:
        """The randomizer of least error at the same epsilon."""
        epsilon = epsilon_of(f)
        mechanism = choose(len(self.places), epsilon).candidate.name
        return reported(plan_for(self.domain, mechanism=mechanism, epsilon=epsilon), self.counts, randomness)

    def sums(self, period: str) -> NDArray[np.int64]:
        """True counts by period."""
        if period == "day":
            return self.counts
        return self.domain.coarsen(time=period)[1].sums(self.counts)

    def rates_of_each(
        self, estimate: Estimate, period: str, refine: Callable[[Estimate], Estimate]
    ) -> NDArray[np.float64]:
        """The error rates of periods whose counts are refined each on their own, as the paper does."""
        return error_rates(ExactTally(self.sums(period)), refine(added_up(estimate, period)).values)

    def rates_of_sums(self, refined: Estimate, period: str) -> NDArray[np.float64]:
        """The error rates of periods that are sums of refined days."""
        return error_rates(ExactTally(self.sums(period)), added_up(refined, period).values)


def epsilon_of(f: float) -> float:
    """The paper's equation 5.

    >>> [round(epsilon_of(f), 2) for f in (0.1, 0.5, 0.9)]
    [5.89, 2.2, 0.4]
    """
    return 2 * math.log((1 - f / 2) / (f / 2))


def added_up(estimate: Estimate, period: str) -> Estimate:
    return estimate if period == "day" else estimate.coarsen(time=period)


def reported(plan: Plan, counts: NDArray[np.int64], randomness: Randomness) -> Estimate:
    """One report for every event, counted by day, and what they say."""
    mechanism = mechanism_of(plan)
    n_days, n_places = counts.shape
    places = np.repeat(np.tile(np.arange(n_places), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = mechanism.statistics(mechanism.randomize(places, randomness=randomness), per_day)
    provenance = Provenance(plan.fingerprint, is_simulation=randomness.is_simulation)
    return estimate_tally(Tally(provenance, statistics, per_day), plan)


def doubs_world(seed: int) -> World:
    """The synthetic interventions of the fire brigade of Doubs."""
    data = doubs.interventions(seed)
    days = TimeAxis.between(str(data.days[0]), str(data.days[-1]), zone="Europe/Paris")
    place = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    return World("synthetic Doubs", Domain(days, place), data.counts)


def real_worlds() -> tuple[World, ...]:
    """Those whose files lie in the folder ``TACIT_DATA``."""
    folder = os.environ.get("TACIT_DATA")
    files = {
        "Montgomery County, 68 townships": ("montgomery911_2015_2016.parquet", "America/New_York"),
        "Dublin, 14 fire stations": ("dublin_fire_2020_2022.parquet", "Europe/Dublin"),
    }
    if not folder:
        return ()
    paths = {name: (Path(folder) / file, zone) for name, (file, zone) in files.items()}
    return tuple(_read(name, path, zone) for name, (path, zone) in paths.items() if path.is_file())


def _read(name: str, path: Path, zone: str) -> World:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["timestamp", "place"]).drop_null()
    days = table["timestamp"].to_numpy().astype("datetime64[D]")
    names, places = np.unique(table["place"].to_numpy().astype(str), return_inverse=True)
    counts = np.zeros(((days.max() - days.min()).astype(int) + 1, len(names)), np.int64)
    np.add.at(counts, ((days - days.min()).astype(int), places), 1)
    axis = TimeAxis.between(str(days.min()), str(days.max()), zone=zone)
    return World(name, Domain(axis, PlaceAxis.of(names.tolist())), counts)
