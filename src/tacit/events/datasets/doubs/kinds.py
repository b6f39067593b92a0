"""Kinds of the simulated interventions: one for every row, from words of their own.

Shares of kinds are those of the French fire services as their yearly statistics give them, rounded: of a hundred
operations about 78 help persons, 6 are road accidents, 6 or 7 fires, and 9 or 10 technical operations of all sorts.
How they change with month, weekday, hour and place is invented but has the known direction: fires of vegetation in
summer and in the evening, chimneys in winter, wasps from June to September, accidents in the rush hours of working days
and on nights before free days, burning cars in cities at night, falls on ice and skis. A storm brings water and trees.
The kinds and their groups are the table ``doubs`` of kinds.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain.gazetteer import Gazetteer
from tacit.events.datasets._draws import Draws, Floats, Integers
from tacit.events.datasets.doubs.calendar import Booleans

# In a hundred ordinary interventions, and in a hundred of those that a storm adds, in the order of the table.
SHARES: Final = {
    "medical emergency": (46.0, 5.0),
    "fall or injury": (24.5, 3.0),
    "help to a person": (7.5, 2.0),
    "road accident": (6.0, 4.0),
    "building fire": (2.7, 2.0),
    "vehicle fire": (1.1, 0.0),
    "outdoor fire": (2.8, 1.0),
    "water damage": (1.9, 45.0),
    "fallen tree": (0.9, 36.0),
    "gas or pollution": (1.8, 1.5),
    "animals and insects": (2.6, 0.0),
    "door opening": (2.2, 0.5),
}
KINDS: Final = tuple(SHARES)
N_CITIES: Final = 2  # the first regions of the list, Besançon and Montbéliard
PLAIN_SPELLING_SHARE: Final = 0.02  # typed in capitals, as of the towns
OTHER_NAME_SHARE: Final = 0.03  # written by another name of the table

# By month, January first.
_OUTDOOR: Final = (0.3, 0.4, 1.0, 1.3, 1.1, 1.4, 2.0, 1.9, 1.2, 0.7, 0.4, 0.3)
_CHIMNEYS: Final = (1.4, 1.3, 1.1, 1.0, 0.8, 0.8, 0.8, 0.8, 0.9, 1.0, 1.2, 1.4)
_INSECTS: Final = (0.1, 0.1, 0.2, 0.4, 0.9, 1.8, 3.0, 3.2, 1.7, 0.4, 0.1, 0.1)
_ICE: Final = (1.25, 1.25, 1.1, 0.95, 0.95, 0.95, 0.95, 0.95, 0.9, 0.9, 0.95, 1.15)
# By hour, midnight first.
_EVENING: Final = (0.8,) * 8 + (0.7,) * 6 + (1.0, 1.1, 1.2, 1.4, 1.5, 1.5, 1.4, 1.3, 1.1, 0.9)
_NIGHT: Final = (2.4, 2.5, 2.4, 2.1, 1.8, 1.3) + (0.6,) * 14 + (1.0, 1.5, 1.9, 2.3)
_RUSH: Final = (0.5,) * 6 + (0.9, 1.6, 1.5, 0.9, 0.8, 0.9, 1.1, 1.1, 1.0, 1.1, 1.4, 1.7, 1.6, 1.2, 0.9, 0.8, 0.7, 0.6)
_OUTINGS: Final = (1.5, 1.5, 1.5, 1.5, 1.3, 1.3, 1.0) + (0.7,) * 5 + (0.9,) + (1.1,) * 6 + (1.0,) * 5
# Monday first.
_WORKING_WEEK: Final = (1.05, 1.0, 1.0, 1.05, 1.2, 0.95, 0.8)
# (in cities, elsewhere)
_IN_CITIES: Final = {"vehicle fire": (1.4, 0.4), "outdoor fire": (0.8, 1.3), "door opening": (1.3, 0.5)}
_OF_LAND: Final = {"animals and insects": (0.7, 1.5), "fallen tree": (0.6, 1.6), "road accident": (0.85, 1.25)}


def weights() -> Floats:
    """Return the weight of each kind in (city or not, month, weekday, hour): one row each, that of a storm last.

    >>> weights().shape
    (4033, 12)
    """
    table = np.empty((2, 12, 7, 24, len(KINDS)))
    table[:] = [ordinary for ordinary, _ in SHARES.values()]
    at = {kind: number for number, kind in enumerate(KINDS)}
    for kind, by_month in (
        ("outdoor fire", _OUTDOOR),
        ("building fire", _CHIMNEYS),
        ("animals and insects", _INSECTS),
        ("fall or injury", _ICE),
    ):
        table[..., at[kind]] *= np.array(by_month)[:, None, None]
    for kind, by_hour in (("outdoor fire", _EVENING), ("building fire", _EVENING), ("vehicle fire", _NIGHT)):
        table[..., at[kind]] *= np.array(by_hour)
    for kind, by_place in (_IN_CITIES | _OF_LAND).items():
        table[..., at[kind]] *= np.array(by_place)[:, None, None, None]
    accidents = np.array([_RUSH] * 5 + [_OUTINGS] * 2) * np.array(_WORKING_WEEK)[:, None]
    table[..., at["road accident"]] *= accidents
    return np.vstack([table.reshape(-1, len(KINDS)), [storm for _, storm in SHARES.values()]])


def draw_kinds(started: NDArray[np.datetime64], region: Integers, is_storm: Booleans, *, seed: int) -> NDArray[Any]:
    """Return the kind of every row as somebody wrote it, by its time, its region and whether a storm brought it."""
    draws = Draws.seeded(seed, "doubs kinds")
    days = started.astype("datetime64[D]")
    month = started.astype("datetime64[M]").astype(np.int64) % 12
    weekday = (days.astype(np.int64) + 3) % 7  # the first day of 1970 was a Thursday
    hour = (started - days).astype("timedelta64[h]").astype(np.int64)
    row = (((region >= N_CITIES) * 12 + month) * 7 + weekday) * 24 + hour
    table = weights()
    kind = draws.categories(table, np.where(is_storm, len(table) - 1, row))
    return _written(kind, draws)


def _written(kind: Integers, draws: Draws) -> NDArray[Any]:
    """Return names of kinds, some of them in capitals or by another name of the public table."""
    named = {row.name: row.aliases for row in Gazetteer.builtin("doubs", of="kinds").rows}
    spellings = np.array([(name, name.upper(), named[name][0]) for name in KINDS], dtype=object)
    chance = draws.uniforms(len(kind))
    is_plain, is_other = chance < PLAIN_SPELLING_SHARE, chance > 1 - OTHER_NAME_SHARE
    written: NDArray[Any] = spellings[kind, is_plain + 2 * is_other]
    return written
