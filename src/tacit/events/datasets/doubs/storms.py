"""Days on which a storm, a flood or heavy snow strikes a few neighbouring regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.events.datasets._draws import Draws, Integers
from tacit.events.datasets._elementary import Floats
from tacit.events.datasets.doubs.calendar import Calendar, YearFigures
from tacit.events.datasets.doubs.regions import N_REGIONS, base_shares, index_of

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
SMALL_STORMS_PER_YEAR: Final = 7.0
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
    """How a storm divides over the regions: twice as much for the one hit hardest."""
    struck = CLUSTERS[cluster]
    shares = np.zeros(N_REGIONS)
    shares[list(struck)] = 1.0 / (len(struck) + 1)
    shares[struck[0]] *= 2.0
    return shares


def great_storm_shares(cluster: int) -> Floats:
    """How a great storm divides over the regions."""
    return GREAT_STORM_FOCUS * cluster_shares(cluster) + (1.0 - GREAT_STORM_FOCUS) * base_shares()


def split(total: int, shares: Floats) -> Integers:
    """Divide ``total`` like ``shares`` in whole numbers; what rounding leaves goes to the largest."""
    parts = np.floor(total * shares).astype(np.int64)
    parts[int(np.argmax(shares))] += total - int(parts.sum())
    return parts
