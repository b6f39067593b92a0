"""Worlds that the model was never tuned on: counts of days and places, drawn from one seed.

Every world has a rate for each day and place,

    rate = (events a day) x (size) x (week) x (year) x (what is particular to the place) x (what its kind does),

and all factors multiply. The model adds its parts, so no world follows the model. Sizes, amplitudes and times are drawn
again for each seed: 3 to 300 places and 5 to 5,000 events a day, evenly on a log scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import Domain, PlaceAxis, TimeAxis

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_CELLS: Final = 3_000
"""Days x places of most worlds: a fit then takes about half a second. Twice as many take twice as long."""
LONG_CELLS: Final = 30_000
"""Days x places of worlds of a chosen length: a fit takes seconds. Twice as many take twice as long."""
FEWEST_DAYS: Final = 150
"""Worlds of many places have so many days: with half as many, forecasts would have next to no past."""
EPSILONS: Final = (0.2, 5.0)
"""The smallest and the largest epsilon of reports: from noise that hides all but totals to next to none."""


@dataclass(frozen=True)
class World:
    """True counts of days by places, the days on which nothing was counted, and the epsilons of this world."""

    kind: str
    seed: int
    first_day: str
    counts: NDArray[np.int64]
    gaps: BoolArray
    is_told: bool  # whether a forecaster is told which days were not counted
    local_epsilon: float
    curator_epsilon: float

    @property
    def domain(self) -> Domain:
        n_days, n_places = self.counts.shape
        last = np.datetime64(self.first_day) + n_days - 1
        return Domain(TimeAxis.between(self.first_day, str(last)), PlaceAxis.of([f"p{i}" for i in range(n_places)]))

    def __str__(self) -> str:
        n_days, n_places = self.counts.shape
        per_day = self.counts[~self.gaps].sum(axis=1).mean()
        return f"{self.kind} (seed {self.seed}): {n_days} days, {n_places} places, {per_day:,.0f} events a day"


@dataclass
class Sketch:
    """A world while it is drawn: rates of days by places, which its kind changes."""

    rng: np.random.Generator
    first_day: np.datetime64
    rates: FloatArray
    gaps: BoolArray
    is_regular: bool = False

    @property
    def n_days(self) -> int:
        return len(self.rates)

    @property
    def days(self) -> NDArray[np.datetime64]:
        return self.first_day + np.arange(self.n_days)

    def some_places(self, least: float, most: float) -> NDArray[np.int64]:
        """A part of the places, at least one."""
        n_places = self.rates.shape[1]
        many = max(int(n_places * self.rng.uniform(least, most)), 1)
        return self.rng.choice(n_places, many, replace=False)

    def day(self, least: float = 0.1, most: float = 0.9) -> int:
        """A day of the middle of the series."""
        return int(self.n_days * self.rng.uniform(least, most))


def closures(sketch: Sketch) -> None:
    """A fifth to half of the places close on a day, for good or for some weeks."""
    for place in sketch.some_places(0.2, 0.5):
        first = sketch.day()
        last = sketch.n_days if sketch.rng.random() < 0.5 else first + sketch.rng.integers(14, 120)
        sketch.rates[first:last, place] = 0.0


def openings(sketch: Sketch) -> None:
    """A fifth to half of the places open on a day, half of them at once and half over some weeks."""
    for place in sketch.some_places(0.2, 0.5):
        first = sketch.day()
        weeks = sketch.rng.integers(7, 60) if sketch.rng.random() < 0.5 else 1
        sketch.rates[:, place] *= np.clip((np.arange(sketch.n_days) - first + 1) / weeks, 0.0, 1.0)


def growth(sketch: Sketch) -> None:
    """All places together double or halve and more in the time of the series, and each place goes its own way."""
    turns = np.linspace(0.0, 1.0, sketch.n_days)[:, None]
    whole = sketch.rng.choice([-1.0, 1.0]) * sketch.rng.uniform(0.4, 1.4)
    own = sketch.rng.normal(0, 0.6, sketch.rates.shape[1])
    steepness = sketch.rng.uniform(1, 12)
    bend = 1 / (1 + np.exp(-steepness * (turns - sketch.rng.uniform(0.3, 0.7))))
    sketch.rates *= np.exp(whole * bend + own * turns)


def storms(sketch: Sketch) -> None:
    """Four to ten times, neighbouring places have a multiple of their counts for one to three days."""
    n_places = sketch.rates.shape[1]
    for _ in range(sketch.rng.integers(4, 11)):
        first, lasts = sketch.day(0.02, 0.98), sketch.rng.integers(1, 4)
        reach = max(int(n_places * sketch.rng.uniform(0.05, 0.5)), 1)
        hit = (sketch.rng.integers(n_places) + np.arange(reach)) % n_places
        sketch.rates[first : first + lasts, hit] *= sketch.rng.uniform(3, 15, reach)


def timetables(sketch: Sketch) -> None:
    """Events follow a timetable: counts hardly vary, and many places have days of the week without any."""
    weekday = (sketch.days.astype(np.int64) + 3) % 7
    for place in sketch.some_places(0.3, 0.8):
        free = sketch.rng.choice(7, sketch.rng.integers(1, 4), replace=False)
        sketch.rates[np.isin(weekday, free), place] *= sketch.rng.choice([0.0, 0.3])
    sketch.is_regular = True


def gaps(sketch: Sketch) -> None:
    """Two to five times, nothing is counted anywhere for 3 to 40 days."""
    for _ in range(sketch.rng.integers(2, 6)):
        first = sketch.day(0.1, 0.8)
        sketch.gaps[first : first + sketch.rng.integers(3, 41)] = True


def feasts(sketch: Sketch) -> None:
    """Some days of the year are far from usual, every year."""
    of_year = np.array([str(day)[5:] for day in sketch.days])
    for feast in sketch.rng.choice(np.unique(of_year), sketch.rng.integers(3, 7), replace=False):
        sketch.rates[of_year == feast] *= sketch.rng.choice([0.3, 1.8, 2.5])


KINDS: Final[Mapping[str, Callable[[Sketch], None]]] = {
    kind.__name__: kind for kind in (closures, openings, growth, storms, timetables, gaps, feasts)
}


def draw(
    kind: str, seed: int, *, tiny: bool = False, epsilons: tuple[float, float] = EPSILONS, days: int | None = None
) -> World:
    """Return the world of a kind and a seed; a ``tiny`` one has four places, 200 days and 200 events a day.

    ``epsilons`` are the smallest and the largest epsilon of reports, ``days`` the length of longer worlds, which have
    fewer places.
    """
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    n_places = round(3 * 100 ** rng.random())
    per_day = 5 * 1000 ** rng.random()
    n_days = int(min(rng.integers(300, 701), max(MOST_CELLS // n_places, FEWEST_DAYS)))
    if kind == "feasts":  # what comes round by the year needs years
        n_places, n_days = 3 + n_places % 2, 1461
    if days is not None:
        n_places, n_days = min(n_places, max(LONG_CELLS // days, 3)), days
    if tiny:
        n_places, per_day, n_days = 4, 200.0, 200
    first_day = np.datetime64("2021-01-01") + rng.integers(365)
    rates = per_day * _sizes(rng, n_places) * _common(rng, first_day, n_days) * _own(rng, n_days, n_places)
    sketch = Sketch(rng, first_day, rates, np.zeros(n_days, bool))
    KINDS[kind](sketch)
    counts = _counted(sketch)
    counts[sketch.gaps] = 0
    return World(
        kind,
        seed,
        str(first_day),
        counts,
        sketch.gaps,
        is_told=bool(rng.random() < 0.5),
        local_epsilon=float(epsilons[0] * (epsilons[1] / epsilons[0]) ** rng.random()),
        curator_epsilon=float(0.1 * 20 ** rng.random()),
    )


def _sizes(rng: np.random.Generator, n_places: int) -> FloatArray:
    """Sizes that add up to 1: alike, by rank, or of a few large places and many small ones."""
    drawn = (
        np.ones(n_places),
        1 / np.arange(1, n_places + 1) ** rng.uniform(0.5, 1.3),
        rng.gamma(rng.choice([0.4, 1.0, 4.0]), size=n_places) + 1e-4,
    )[rng.integers(3)]
    return np.asarray(drawn / drawn.sum())


def _common(rng: np.random.Generator, first_day: np.datetime64, n_days: int) -> FloatArray:
    """What moves all places alike: the week, the year, weather that lasts, and single days."""
    days = np.arange(n_days) + first_day.astype("datetime64[D]").astype(np.int64)
    week = rng.normal(0, rng.uniform(0, 0.3), 7)[days % 7]
    angle = 2 * np.pi * days / 365.25 + rng.uniform(0, 2 * np.pi)
    year = rng.uniform(0, 0.4) * np.sin(angle + 0.8 * np.sin(angle))
    lasting = _forgetting(rng, n_days, 1, rng.uniform(0, 0.15), rng.uniform(2, 30))[:, 0]
    single = rng.normal(0, rng.uniform(0, 0.12), n_days)
    return np.asarray(np.exp(week + year + lasting + single)[:, None])


def _own(rng: np.random.Generator, n_days: int, n_places: int) -> FloatArray:
    """What is particular to places: their own weeks, slow and fast changes, and single days."""
    days = np.arange(n_days)
    week = rng.normal(0, rng.uniform(0, 0.25), (7, n_places))[days % 7]
    slow = _forgetting(rng, n_days, n_places, rng.uniform(0, 0.25), rng.uniform(60, 400))
    fast = _forgetting(rng, n_days, n_places, rng.uniform(0, 0.2), rng.uniform(2, 30))
    single = rng.normal(0, rng.uniform(0, 0.15), (n_days, n_places))
    return np.asarray(np.exp(week + slow + fast + single))


def _forgetting(rng: np.random.Generator, n_days: int, n_places: int, sd: float, timescale: float) -> FloatArray:
    """A first-order autoregression that starts in its stationary distribution."""
    phi = np.exp(-1 / timescale)
    steps = rng.normal(0, sd, (n_days, n_places))
    found = np.empty_like(steps)
    found[0] = steps[0]
    for t in range(1, n_days):
        found[t] = phi * found[t - 1] + np.sqrt(1 - phi * phi) * steps[t]
    return found


def _counted(sketch: Sketch) -> NDArray[np.int64]:
    """Counts by chance; by timetable they are the rate itself, rounded up or down, and a few events fall out."""
    if not sketch.is_regular:
        return np.asarray(sketch.rng.poisson(sketch.rates), np.int64)
    planned = np.floor(sketch.rates + sketch.rng.random(sketch.rates.shape)).astype(np.int64)
    return np.asarray(sketch.rng.binomial(planned, sketch.rng.uniform(0.9, 0.99)), np.int64)
