"""The towns of the public list, each at an invented place in its region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.domain.gazetteer import Gazetteer
from tacit.events.datasets._draws import Draws
from tacit.events.datasets._elementary import cos_turns, sin_turns
from tacit.events.datasets.doubs.regions import REGIONS, Region

KM_PER_DEGREE_NORTH: Final = 111.2
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
    """The towns of each region, in the order of the public list."""
    inside: dict[str, list[Town]] = {region.name: [] for region in REGIONS}
    for row in Gazetteer.builtin("doubs").rows:
        if not row.is_outside:
            town = Town(row.name, row.codes[0], row.population or 0, row.aliases)
            inside[row.parents[0]].append(town)
    return tuple(tuple(towns) for towns in inside.values())


def town_place(region: Region, town: Town) -> tuple[float, float]:
    """Kilometres north and east of the region's centre.

    The main town is where it is, to a hundredth of a degree. The list has no coordinates for the others:
    each gets a place inside the region's disc that depends on its code alone.
    """
    if town.name == region.main_town:
        (latitude, longitude), (middle, meridian) = region.main_town_at, region.centre
        return (latitude - middle) * KM_PER_DEGREE_NORTH, (longitude - meridian) * KM_PER_DEGREE_EAST
    distance, turn = np.split(Draws.seeded(0, f"doubs town {town.code}").uniforms(2), 2)
    reach = (region.radius_km - region.spread_km) * np.sqrt(distance)
    return float((reach * cos_turns(turn))[0]), float((reach * sin_turns(turn))[0])


def station_places(region: Region, towns: Sequence[Town]) -> Iterator[tuple[str, tuple[float, float]]]:
    """The fire stations of a region, and where they are."""
    for town in towns:
        if town.name in region.stations:
            north, east = town_place(region, town)
            for name, offset in CITY_STATIONS.get(town.name, ((town.name, 0.0),)):
                yield name, (north, east + offset)
