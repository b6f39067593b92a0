"""Interventions per day that fit the paper's Table 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.events.datasets._draws import Draws, Floats, Integers, cos_turns, exp, log
from tacit.events.datasets.doubs.calendar import PAPER_TABLE_2, Calendar, YearFigures
from tacit.events.datasets.doubs.regions import N_REGIONS, autoregression, base_shares, bell, index_of

# Regions that are hit together, by their main towns; the first is hit hardest.
CLUSTERS: Final = tuple(
    tuple(index_of(town) for town in towns)
    for towns in (
        ("Besançon", "Recologne", "Ornans"),
        ("Montbéliard", "Aibre"),
        ("L'Isle-sur-le-Doubs", "Baume-les-Dames"),
        ("Valdahon", "Levier", "Frasne"),
        ("Pontarlier", "Jougne", "Gilley", "Frasne"),
        ("Maîche", "Sancey", "Le Russey"),
        ("Morteau", "Le Russey"),
        ("Montbéliard", "L'Isle-sur-le-Doubs", "Maîche"),
        ("Besançon", "Baume-les-Dames"),
        ("Ornans", "Levier"),
    )
)
SMALL_STORMS_PER_YEAR: Final = 7.0  # invented, as all sizes here
SMALL_STORM_SIZE: Final = 0.21  # mean, in ordinary days of the department
LARGEST_SMALL_STORM: Final = 3.0  # in mean small storms; a larger one would take a year's deviation past its figure
GREAT_STORM_SEASON: Final = (140, 260)  # days of the year
GREAT_STORM_FOCUS: Final = 0.4  # the part that falls on one cluster; the rest of it strikes the whole department
AFTERMATH: Final = (0.10, 0.25)  # the day after a great storm, in parts of the storm


@dataclass(frozen=True, slots=True)
class YearOfStorms:
    """The storms of one year.

    ``small`` is extra interventions, days by regions. The great storm fills day ``great_day`` up to the
    maximum of the year, divided like ``great_shares``; the day after has ``aftermath`` of its size.
    """

    small: Integers
    great_day: int
    great_shares: Floats
    aftermath: float


def storms_of_year(calendar: Calendar, figures: YearFigures, draws: Draws) -> YearOfStorms:
    """Draw one year's storms."""
    days = calendar.where(figures.year)
    n_days = days.stop - days.start
    n_storms = int(draws.poisson(np.array([SMALL_STORMS_PER_YEAR]))[0])
    struck = draws.integers(n_storms, below=n_days)
    clusters = draws.integers(n_storms, below=len(CLUSTERS))
    sizes = np.minimum(draws.exponentials(n_storms), LARGEST_SMALL_STORM) * (SMALL_STORM_SIZE * figures.mean)
    small = np.zeros((n_days, N_REGIONS), dtype=np.int64)
    for day, cluster, size in zip(struck.tolist(), clusters.tolist(), sizes.tolist(), strict=True):
        small[day] += np.rint(size * cluster_shares(cluster)).astype(np.int64)
    low, high = GREAT_STORM_SEASON
    mildest, worst = AFTERMATH
    return YearOfStorms(
        small=small,
        great_day=low + int(draws.integers(1, below=high - low)[0]),
        great_shares=great_storm_shares(int(draws.integers(1, below=len(CLUSTERS))[0])),
        aftermath=mildest + (worst - mildest) * float(draws.uniforms(1)[0]),
    )


def cluster_shares(cluster: int) -> Floats:
    """Return the regions' shares of a storm: twice as much for the one hit hardest."""
    struck = CLUSTERS[cluster]
    shares = np.zeros(N_REGIONS)
    shares[list(struck)] = 1.0 / (len(struck) + 1)
    shares[struck[0]] *= 2.0
    return shares


def great_storm_shares(cluster: int) -> Floats:
    """Return the regions' shares of a great storm."""
    return GREAT_STORM_FOCUS * cluster_shares(cluster) + (1.0 - GREAT_STORM_FOCUS) * base_shares()


def split(total: int, shares: Floats) -> Integers:
    """Divide ``total`` like ``shares`` in whole numbers; what rounding leaves goes to the largest."""
    parts = np.floor(total * shares).astype(np.int64)
    parts[int(np.argmax(shares))] += total - int(parts.sum())
    return parts


# Relative effects (in log expected count): invented, and frozen with the data; Table 2 sets only what is fitted below.
SEASON_EFFECT: Final = 0.075
WEEK_EFFECTS: Final = (0.011, -0.033, -0.0275, -0.022, 0.0385, 0.077, -0.044)
HOLIDAY_EFFECT: Final = 0.06
NIGHT_EFFECTS: Final = {(1, 1): 0.35, (7, 13): 0.22, (7, 14): 0.22, (12, 31): 0.12, (6, 21): 0.12}
WEATHER_PHI: Final = 0.7
QUIET_WEATHER: Final = 0.05

# The step from 2008 to 2009 is kept sharp.
STEP_YEAR: Final = 2009
# Up to this year the brigade also removed the nests of wasps: a broad peak every summer.
LAST_NEST_YEAR: Final = 2011
NEST_PEAK_DAY: Final = 215  # the 3rd of August
NEST_SEASON_DAYS: Final = 24.0  # the standard deviation of the season: July and August

LARGEST_NEST_EFFECT: Final = 4.0  # in ordinary days of the department
LARGEST_WEATHER_EFFECT: Final = 0.35  # where the search for a year's strength ends
BISECTION_STEPS: Final = 30  # halvings: the strength is then known to nine digits
# Any other day stays this far below the maximum of its year.
BELOW_MAXIMUM: Final = 0.97


@dataclass(frozen=True, slots=True)
class DailyTotals:
    """Interventions per day: the ordinary ones in total, those of storms by region."""

    ordinary: Integers
    storms: Integers

    @property
    def all(self) -> Integers:
        totals: Integers = self.ordinary + self.storms.sum(axis=1)
        return totals


@dataclass(frozen=True, slots=True)
class _Year:
    """The parts of one year, before the strength of its weather (or nests) is known."""

    figures: YearFigures
    rate: Floats
    weather: Floats
    nests: Floats
    noise: Floats
    storms: YearOfStorms
    order: Integers

    @property
    def has_nests(self) -> bool:
        return self.figures.year <= LAST_NEST_YEAR


def daily_totals(calendar: Calendar, *, seed: int) -> DailyTotals:
    """Draw all days, a year at a time, each as lively as its standard deviation asks."""
    weather = autoregression(Draws.seeded(seed, "doubs weather").normals(calendar.n_days), phi=WEATHER_PHI)
    rate = level(calendar) * exp(seasonal_effects(calendar))
    parts = []
    for figures in PAPER_TABLE_2:
        days = calendar.where(figures.year)
        draws = Draws.seeded(seed, f"doubs days of {figures.year}")
        n_days = days.stop - days.start
        parts.append(
            _fit_deviation(
                _Year(
                    figures=figures,
                    rate=rate[days],
                    weather=weather[days],
                    nests=bell((calendar.day_of_year[days] - NEST_PEAK_DAY) / NEST_SEASON_DAYS),
                    noise=draws.normals(n_days),
                    storms=storms_of_year(calendar, figures, draws),
                    order=draws.permutation(n_days),
                )
            )
        )
    return DailyTotals(
        ordinary=np.concatenate([part.ordinary for part in parts]),
        storms=np.concatenate([part.storms for part in parts]),
    )


def level(calendar: Calendar) -> Floats:
    """Return the expected count of an average day: lines between the means of the years, on a log scale."""
    position = np.arange(calendar.n_days, dtype=np.float64)
    value = np.empty(calendar.n_days)
    for is_era, in_era in (
        (calendar.year < STEP_YEAR, [f for f in PAPER_TABLE_2 if f.year < STEP_YEAR]),
        (calendar.year >= STEP_YEAR, [f for f in PAPER_TABLE_2 if f.year >= STEP_YEAR]),
    ):
        years = [calendar.where(figures.year) for figures in in_era]
        midpoints = [(days.start + days.stop - 1) / 2 for days in years]
        means = [f.total / (days.stop - days.start) for f, days in zip(in_era, years, strict=True)]
        value[is_era] = _lines_through(np.array(midpoints), log(np.array(means)), position[is_era])
    return exp(value)


def _lines_through(knots: Floats, heights: Floats, at: Floats) -> Floats:
    """Return straight lines between the knots, flat beyond them (np.interp is not the same bits everywhere)."""
    after = np.clip(np.searchsorted(knots, at), 1, len(knots) - 1)
    fraction = np.clip((at - knots[after - 1]) / (knots[after] - knots[after - 1]), 0.0, 1.0)
    return heights[after - 1] * (1.0 - fraction) + heights[after] * fraction


def seasonal_effects(calendar: Calendar) -> Floats:
    """Return season, week, public holidays and the nights the department celebrates."""
    day = calendar.day_of_year.astype(np.float64)
    effects = SEASON_EFFECT * cos_turns((day - 190.0) / 365.25)
    effects += 0.35 * SEASON_EFFECT * cos_turns((day - 15.0) * 2.0 / 365.25)
    effects += np.array(WEEK_EFFECTS)[calendar.weekday]
    effects += HOLIDAY_EFFECT * calendar.is_public_holiday
    for (month, day_of_month), effect in NIGHT_EFFECTS.items():
        effects += effect * calendar.is_date(month, day_of_month)
    return effects


def _fit_deviation(year: _Year) -> DailyTotals:
    """Find by bisection how strong weather (or nests) must be for the year's standard deviation."""
    low, high = 0.0, LARGEST_NEST_EFFECT if year.has_nests else LARGEST_WEATHER_EFFECT
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if deviation(_draw_year(year, middle).all) < year.figures.deviation:
            low = middle
        else:
            high = middle
    return _draw_year(year, (low + high) / 2)


def deviation(totals: Integers) -> float:
    """Return the standard deviation (n - 1) of whole numbers, from exact sums."""
    n, total = len(totals), int(totals.sum())
    squares = int((totals * totals).sum())
    return math.sqrt((n * squares - total * total) / (n * (n - 1)))


def _draw_year(year: _Year, strength: float) -> DailyTotals:
    expected = _expected(year, strength)
    ordinary = np.maximum(0, np.rint(expected + np.sqrt(expected) * year.noise)).astype(np.int64)
    ordinary[year.storms.great_day] = round(float(expected[year.storms.great_day]))
    storms = _place_great_storm(year, ordinary)
    _keep_below_maximum(year, ordinary, storms)
    _reach_minimum(year, ordinary, storms)
    _reach_total(year, ordinary, storms)
    return DailyTotals(ordinary, storms)


def _expected(year: _Year, strength: float) -> Floats:
    """Return ordinary interventions expected per day, scaled so that the year adds up once the storms are in."""
    weather = QUIET_WEATHER if year.has_nests else strength
    expected = year.rate * exp(weather * year.weather)
    if year.has_nests:
        expected = expected + strength * year.figures.mean * year.nests
    great = max(0.0, year.figures.maximum - float(expected[year.storms.great_day]))
    of_storms = int(year.storms.small.sum()) + great * (1.0 + year.storms.aftermath)
    return expected * ((year.figures.total - of_storms) / math.fsum(expected))


def _place_great_storm(year: _Year, ordinary: Integers) -> Integers:
    """Fill the day of the great storm up to the maximum of the year, and add its aftermath."""
    day, storms = year.storms.great_day, year.storms.small.copy()
    storms[day] = 0
    size = year.figures.maximum - int(ordinary[day])
    storms[day] = split(size, year.storms.great_shares)
    storms[day + 1] += split(int(size * year.storms.aftermath), year.storms.great_shares)
    return storms


def _keep_below_maximum(year: _Year, ordinary: Integers, storms: Integers) -> None:
    """Lower every other day to below the maximum: its ordinary part first, then its storm."""
    highest = int(year.figures.maximum * BELOW_MAXIMUM)
    is_other = np.arange(len(ordinary)) != year.storms.great_day
    np.minimum(ordinary, highest, out=ordinary, where=is_other)
    of_storms = storms.sum(axis=1)
    room = highest - ordinary
    for day in np.flatnonzero(is_other & (of_storms > room)):
        storms[day] = storms[day] * room[day] // of_storms[day]


def _reach_minimum(year: _Year, ordinary: Integers, storms: Integers) -> None:
    """Raise days below the minimum of the year to it, and lower the quietest day to it."""
    totals = ordinary + storms.sum(axis=1)
    ordinary += np.maximum(0, year.figures.minimum - totals)
    totals = ordinary + storms.sum(axis=1)
    quietest = int(np.argmin(totals))
    ordinary[quietest] -= int(totals[quietest]) - year.figures.minimum


def _reach_total(year: _Year, ordinary: Integers, storms: Integers) -> None:
    """Add or remove one intervention on days in random order until the year adds up."""
    while missing := year.figures.total - int(ordinary.sum() + storms.sum()):
        step = 1 if missing > 0 else -1
        totals = ordinary + storms.sum(axis=1)
        is_free = (ordinary > 0) & (totals > year.figures.minimum + 1) & (totals < year.figures.maximum - 2)
        ordinary[year.order[is_free[year.order]][: abs(missing)]] += step
