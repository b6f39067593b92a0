"""How the interventions of a day divide over the regions: shares that change slowly, and local habits."""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit.events.datasets._draws import Draws, Floats, cos_turns, exp, log
from tacit.events.datasets.doubs.calendar import Calendar
from tacit.events.datasets.doubs.regions import N_REGIONS, base_shares, index_of

# Standard deviations of a region's relative effects (in log share).
WEEKDAY_DEVIATION: Final = 0.05
SEASON_DEVIATION: Final = 0.07
DRIFT_DEVIATION_PER_YEAR: Final = 0.04
WANDER_DEVIATION: Final = 0.10
DAY_DEVIATION: Final = 0.04
WANDER_MEMORY: Final = 0.85
# A city is an average of many quarters and wanders half as much.
CITY_STEADINESS: Final = 0.5

SKI_REGIONS: Final = tuple(index_of(town) for town in ("Pontarlier", "Jougne", "Gilley", "Frasne"))
SKI_SEASON_EFFECT: Final = 0.16
SKI_WEEKEND_EFFECT: Final = (0.10, 0.14)
BESANCON_SUNDAY_EFFECT: Final = -0.05


def daily_shares(calendar: Calendar, *, seed: int) -> Floats:
    """Weights (not summing to 1) of the regions, a row for each day."""
    draws = Draws.seeded(seed, "doubs shares")
    effects = _week(calendar, draws) + _season(calendar, draws) + _drift(calendar, draws) + _wander(calendar, draws)
    return exp(log(base_shares()) + effects)


def _week(calendar: Calendar, draws: Draws) -> Floats:
    by_weekday = WEEKDAY_DEVIATION * draws.normals(7, N_REGIONS)
    for region in SKI_REGIONS:
        by_weekday[5:, region] += SKI_WEEKEND_EFFECT
    by_weekday[6, index_of("Besançon")] += BESANCON_SUNDAY_EFFECT
    return by_weekday[calendar.weekday]


def _season(calendar: Calendar, draws: Draws) -> Floats:
    day = calendar.day_of_year[:, None].astype(np.float64)
    height = SEASON_DEVIATION * draws.normals(N_REGIONS)
    peak_day = 365.25 * draws.uniforms(N_REGIONS)
    effects = height * cos_turns((day - peak_day) / 365.25)
    from_mid_february = (day[:, 0] - 40 + 183) % 365 - 183
    ski_season = SKI_SEASON_EFFECT * bell(from_mid_february / 30.0)
    for region in SKI_REGIONS:
        effects[:, region] += ski_season
    return effects


def _drift(calendar: Calendar, draws: Draws) -> Floats:
    """Lines between the knots of a random walk, one knot a year."""
    n_knots = len(set(calendar.year.tolist())) + 1
    steps = DRIFT_DEVIATION_PER_YEAR * draws.normals(n_knots, N_REGIONS)
    knots: Floats = np.cumsum(steps, axis=0)
    knots = knots - np.cumsum(knots, axis=0)[-1] / n_knots
    position = np.arange(calendar.n_days) * (n_knots - 1) / calendar.n_days
    before = np.floor(position).astype(np.int64)
    fraction = (position - before)[:, None]
    lines: Floats = knots[before] * (1.0 - fraction) + knots[before + 1] * fraction
    return lines


def _wander(calendar: Calendar, draws: Draws) -> Floats:
    """Good and bad weeks of a region, and days of its own."""
    steadiness = np.ones(N_REGIONS)
    steadiness[[index_of("Besançon"), index_of("Montbéliard")]] = CITY_STEADINESS
    shape = (calendar.n_days, N_REGIONS)
    wander = autoregression(draws.normals(*shape), memory=WANDER_MEMORY)
    return steadiness * (WANDER_DEVIATION * wander + DAY_DEVIATION * draws.normals(*shape))


def autoregression(shocks: Floats, *, memory: float) -> Floats:
    """A series of deviation 1 along the first axis: each value is ``memory`` times the last, and a shock."""
    fresh = float(np.sqrt(1.0 - memory * memory))
    values = shocks.copy()
    for t in range(1, len(values)):
        values[t] = memory * values[t - 1] + fresh * shocks[t]
    return values


def bell(distance: Floats) -> Floats:
    """The bell curve of height 1 and deviation 1."""
    return exp(-0.5 * (distance * distance))
