"""The 17 regions of the paper, in its order: how many interventions fall in each, where it lies, and its towns.

The shares of the regions in a day change slowly, and each region has effects of its own (:func:`daily_shares`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.domain.gazetteer import Gazetteer
from tacit.events.datasets._draws import Draws, Floats, cos_turns, exp, log, sin_turns
from tacit.events.datasets.doubs.calendar import Calendar


@dataclass(frozen=True, slots=True)
class Region:
    """A region of Doubs.

    ``stations`` are towns with a fire station, the main one first. ``centre`` (latitude, longitude) and
    ``radius_km`` are a disc well inside the region, rounded from the outlines of IGN Admin Express 2018:
    the public list of towns has no coordinates, so simulated towns are scattered in that disc.
    """

    name: str
    weight: float
    stations: tuple[str, ...]
    main_town_at: tuple[float, float]
    centre: tuple[float, float]
    radius_km: float

    @property
    def main_town(self) -> str:
        return self.stations[0]

    @property
    def spread_km(self) -> float:
        """The largest distance of an intervention from the middle of its town; small regions have small towns."""
        return 0.2 + 0.1 * self.radius_km


# The weight is thousands of inhabitants, save for the two cities, whose shares are set below.
REGIONS: Final = (
    Region("CA du Grand Besançon", 0.0, ("Besançon", "Saint-Vit", "Saône"), (47.24, 6.02), (47.254, 6.020), 8.0),
    Region(
        "CA Pays de Montbéliard Agglomération",
        0.0,
        ("Montbéliard", "Audincourt", "Valentigney", "Pont-de-Roide-Vermondans"),
        (47.51, 6.80),
        (47.451, 6.779),
        9.0,
    ),
    Region("CC Altitude 800", 6.3, ("Levier", "Goux-les-Usiers"), (46.96, 6.12), (46.957, 6.151), 3.8),
    Region("CC de Montbenoit", 7.6, ("Gilley", "Arc-sous-Cicon"), (47.05, 6.48), (47.008, 6.421), 5.4),
    Region(
        "CC des Deux Vallées Vertes",
        16.3,
        ("L'Isle-sur-le-Doubs", "Rougemont", "Pays-de-Clerval"),
        (47.44, 6.58),
        (47.431, 6.533),
        6.5,
    ),
    Region(
        "CC des Lacs et Montagnes du Haut-Doubs",
        15.7,
        ("Jougne", "Mouthe", "Labergement-Sainte-Marie"),
        (46.76, 6.40),
        (46.773, 6.325),
        5.5,
    ),
    Region(
        "CC des Portes du Haut-Doubs",
        25.9,
        ("Valdahon", "Orchamps-Vennes", "Pierrefontaine-les-Varans"),
        (47.15, 6.34),
        (47.168, 6.457),
        10.0,
    ),
    Region("CC du Doubs Baumois", 16.2, ("Baume-les-Dames", "Roulans"), (47.35, 6.36), (47.322, 6.317), 6.5),
    Region("CC du Grand Pontarlier", 27.0, ("Pontarlier",), (46.91, 6.36), (46.907, 6.328), 4.3),
    Region("CC du Pays d'Héricourt", 1.0, ("Aibre",), (47.55, 6.695), (47.552, 6.693), 0.7),
    Region("CC du Pays de Maîche", 18.7, ("Maîche", "Saint-Hippolyte"), (47.25, 6.80), (47.271, 6.841), 7.5),
    Region("CC du Pays de Sancey-Belleherbe", 5.5, ("Sancey", "Belleherbe"), (47.30, 6.58), (47.313, 6.615), 4.8),
    Region(
        "CC du Plateau de Frasne et du Val de Drugeon (CFD)",
        5.9,
        ("Frasne",),
        (46.86, 6.16),
        (46.865, 6.177),
        5.0,
    ),
    Region("CC du Plateau de Russey", 6.5, ("Le Russey",), (47.16, 6.73), (47.159, 6.716), 5.0),
    Region("CC du Val de Morteau", 20.5, ("Morteau", "Villers-le-Lac"), (47.06, 6.60), (47.037, 6.591), 4.7),
    Region("CC du Val Marnaysien", 7.0, ("Recologne",), (47.27, 5.83), (47.238, 5.783), 3.9),
    Region("CC Loue-Lison", 25.3, ("Ornans", "Quingey", "Amancey"), (47.11, 6.14), (47.076, 6.073), 9.5),
)
N_REGIONS: Final = len(REGIONS)

# The department's two cities call more often than their inhabitants alone would.
BESANCON_SHARE: Final = 0.39
MONTBELIARD_SHARE: Final = 0.26


def base_shares() -> Floats:
    """Return the long-run share of each region in all interventions."""
    weights = np.array([region.weight for region in REGIONS])
    shares = (1.0 - BESANCON_SHARE - MONTBELIARD_SHARE) * weights / math.fsum(weights)
    shares[:2] = BESANCON_SHARE, MONTBELIARD_SHARE
    return shares


def index_of(main_town: str) -> int:
    """Return the region with this main town.

    >>> index_of("Pontarlier")
    8
    """
    return [region.main_town for region in REGIONS].index(main_town)


KM_PER_DEGREE_NORTH: Final = 111.2  # of a great circle
KM_PER_DEGREE_EAST: Final = 75.6  # at 47.2 degrees north

# A city has several stations, this many kilometres east of its middle.
CITY_STATIONS: Final = {
    "Besançon": (("Besançon Ouest", -0.8), ("Besançon Centre", 0.0), ("Besançon Est", 0.8)),
}


@dataclass(frozen=True, slots=True)
class Town:
    """A town of the public list."""

    name: str
    code: str
    population: int
    former_names: tuple[str, ...]


def towns_by_region() -> tuple[tuple[Town, ...], ...]:
    """Return the towns of each region, in the order of the public list."""
    inside: dict[str, list[Town]] = {region.name: [] for region in REGIONS}
    for row in Gazetteer.builtin("doubs").rows:
        if not row.is_outside:
            town = Town(row.name, row.codes[0], row.population or 0, row.aliases)
            inside[row.parents[0]].append(town)
    return tuple(tuple(towns) for towns in inside.values())


def town_place(region: Region, town: Town) -> tuple[float, float]:
    """Return kilometres north and east of the region's centre.

    The main town is where it is, to a hundredth of a degree. The list has no coordinates for the others:
    each gets a place inside the region's disc that depends on its code alone.
    """
    if town.name == region.main_town:
        (latitude, longitude), (middle, meridian) = region.main_town_at, region.centre
        return (latitude - middle) * KM_PER_DEGREE_NORTH, (longitude - meridian) * KM_PER_DEGREE_EAST
    share, turn = np.split(Draws.seeded(0, f"doubs town {town.code}").uniforms(2), 2)
    distance = (region.radius_km - region.spread_km) * np.sqrt(share)
    return float((distance * cos_turns(turn))[0]), float((distance * sin_turns(turn))[0])


def station_places(region: Region, towns: Sequence[Town]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the fire stations of a region, and where they are."""
    for town in towns:
        if town.name in region.stations:
            north, east = town_place(region, town)
            for name, offset in CITY_STATIONS.get(town.name, ((town.name, 0.0),)):
                yield name, (north, east + offset)


# Standard deviations of a region's relative effects (in log share): invented, and frozen with the data. Doubled, shares
# vary twice as much between days, seasons and years.
WEEKDAY_SD: Final = 0.05
SEASON_SD: Final = 0.07
LEVEL_SD_PER_YEAR: Final = 0.04
AR_SD: Final = 0.10
DAY_SD: Final = 0.04
AR_PHI: Final = 0.85
# A city is an average of many quarters: it varies half as much.
CITY_STEADINESS: Final = 0.5

SKI_REGIONS: Final = tuple(index_of(town) for town in ("Pontarlier", "Jougne", "Gilley", "Frasne"))
# Invented, too: in winter and at weekends the ski regions have more of a day, on Sundays Besançon less.
SKI_SEASON_EFFECT: Final = 0.16
SKI_WEEKEND_EFFECT: Final = (0.10, 0.14)
BESANCON_SUNDAY_EFFECT: Final = -0.05


def daily_shares(calendar: Calendar, *, seed: int) -> Floats:
    """Return weights (not summing to 1) of the regions, a row for each day."""
    draws = Draws.seeded(seed, "doubs shares")
    effects = _week(calendar, draws) + _season(calendar, draws) + _random_walk(calendar, draws) + _ar1(calendar, draws)
    return exp(log(base_shares()) + effects)


def _week(calendar: Calendar, draws: Draws) -> Floats:
    by_weekday = WEEKDAY_SD * draws.normals(7, N_REGIONS)
    for region in SKI_REGIONS:
        by_weekday[5:, region] += SKI_WEEKEND_EFFECT
    by_weekday[6, index_of("Besançon")] += BESANCON_SUNDAY_EFFECT
    return by_weekday[calendar.weekday]


def _season(calendar: Calendar, draws: Draws) -> Floats:
    day = calendar.day_of_year[:, None].astype(np.float64)
    height = SEASON_SD * draws.normals(N_REGIONS)
    peak_day = 365.25 * draws.uniforms(N_REGIONS)
    effects = height * cos_turns((day - peak_day) / 365.25)
    from_mid_february = (day[:, 0] - 40 + 183) % 365 - 183
    ski_season = SKI_SEASON_EFFECT * bell(from_mid_february / 30.0)
    for region in SKI_REGIONS:
        effects[:, region] += ski_season
    return effects


def _random_walk(calendar: Calendar, draws: Draws) -> Floats:
    """Return the random-walk level of each region: lines between its knots, one knot a year."""
    n_knots = len(set(calendar.year.tolist())) + 1
    steps = LEVEL_SD_PER_YEAR * draws.normals(n_knots, N_REGIONS)
    knots: Floats = np.cumsum(steps, axis=0)
    knots = knots - np.cumsum(knots, axis=0)[-1] / n_knots
    position = np.arange(calendar.n_days) * (n_knots - 1) / calendar.n_days
    before = np.floor(position).astype(np.int64)
    fraction = (position - before)[:, None]
    lines: Floats = knots[before] * (1.0 - fraction) + knots[before + 1] * fraction
    return lines


def _ar1(calendar: Calendar, draws: Draws) -> Floats:
    """Return the AR(1) component: good and bad weeks of a region, and days of its own."""
    steadiness = np.ones(N_REGIONS)
    steadiness[[index_of("Besançon"), index_of("Montbéliard")]] = CITY_STEADINESS
    shape = (calendar.n_days, N_REGIONS)
    weeks = autoregression(draws.normals(*shape), phi=AR_PHI)
    return steadiness * (AR_SD * weeks + DAY_SD * draws.normals(*shape))


def autoregression(innovations: Floats, *, phi: float) -> Floats:
    """Return an AR(1) series of variance 1 along the first axis: ``phi`` times the last value, and an innovation."""
    scale = float(np.sqrt(1.0 - phi * phi))
    values = innovations.copy()
    for t in range(1, len(values)):
        values[t] = phi * values[t - 1] + scale * innovations[t]
    return values


def bell(distance: Floats) -> Floats:
    """Return the bell curve of height 1 and deviation 1."""
    return exp(-0.5 * (distance * distance))
