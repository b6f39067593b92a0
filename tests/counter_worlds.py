"""Small counters for tests."""

from __future__ import annotations

import numpy as np

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.continual import Counter, CounterFiles
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend

PLACES = ["North", "South", "East, upper"]
DOMAIN = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(PLACES))


def counter(cost=None, *, seed=5, horizon=200, domain=DOMAIN, **settings) -> Counter:
    cost = Cost.pure(1.0) if cost is None else cost
    return Counter.start(Spend.simulation(cost, seed=seed), domain, horizon=horizon, **settings)


def counts(n_bins, n_places=3, seed=1):
    return np.random.default_rng(seed).integers(0, 100, (n_bins, n_places))


def files(folder, made=None, name="visits.counter") -> CounterFiles:
    made = counter() if made is None else made
    opened = CounterFiles(folder / name)
    opened.create(made, spend=Spend.simulation(made.stream.noise_model.cost, seed=5))
    return opened
