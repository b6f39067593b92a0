"""One row per intervention: its minute, its town as somebody might have typed it, a point, a station and a kind.

A file is CSV with the paper's columns and the kind, or Parquet that says what it is.

Shares of kinds are those of the French fire services as their yearly statistics give them, rounded: of a hundred
operations about 78 help persons, 6 are road accidents, 6 or 7 fires, and 9 or 10 technical operations of all sorts.
How they change with month, weekday, hour and place is invented but has the known direction: fires of vegetation in
summer and in the evening, chimneys in winter, wasps from June to September, accidents in the rush hours of working days
and on nights before free days, burning cars in cities at night, falls on ice and skis. A storm brings water and trees.
The kinds and their groups are the table ``doubs`` of kinds.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.files import written_whole
from tacit.domain.gazetteer import Gazetteer
from tacit.errors import SettingError
from tacit.events.datasets._draws import Draws, Floats, Integers, cos_turns, sin_turns
from tacit.events.datasets.doubs.calendar import Booleans, Calendar
from tacit.events.datasets.doubs.regions import (
    KM_PER_DEGREE_EAST,
    KM_PER_DEGREE_NORTH,
    REGIONS,
    Region,
    Town,
    station_places,
    town_place,
    towns_by_region,
)

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


Columns = dict[str, NDArray[Any]]

COLUMNS: Final = ("ID", "SDate", "Station", "Town", "Location", "Kind")
ID_PREFIX: Final = "SYN"

# Interventions by hour of the day, in percent; a storm breaks in the afternoon.
HOURS: Final = (
    2.4, 2.0, 1.8, 1.6, 1.5, 1.7, 2.3, 3.4, 4.6, 5.5, 6.0, 6.1,
    5.6, 5.4, 5.6, 5.7, 5.9, 6.3, 6.4, 5.9, 5.0, 4.2, 3.6, 2.9,
)  # fmt: skip
STORM_HOURS: Final = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 5, 9, 13, 16, 16, 14, 11, 8, 6, 4, 3)

FORMER_NAME_SHARE: Final = 0.15  # of the rows of towns that have one
PLAIN_SPELLING_SHARE: Final = 0.02  # typed in capitals without accents


def make_rows(calendar: Calendar, ordinary: Integers, storms: Integers, *, seed: int) -> Columns:
    """Lay the counts out as rows in the order of time, under the paper's column names; and what each was about."""
    draws = Draws.seeded(seed, "doubs rows")
    day, region, is_storm = _events(ordinary, storms)
    minute = _minutes(calendar, day, is_storm, draws)
    order = np.argsort(minute, kind="stable")
    minute, region, is_storm = minute[order], region[order], is_storm[order]
    n_rows = len(minute)
    town_names = np.empty(n_rows, dtype=object)
    station_names = np.empty(n_rows, dtype=object)
    locations = np.empty(n_rows, dtype=object)
    for index, (described, towns) in enumerate(zip(REGIONS, towns_by_region(), strict=True)):
        rows = np.flatnonzero(region == index)
        town = draws.choices(len(rows), np.array([t.population for t in towns], dtype=np.float64))
        north, east = _points(described, towns, town, draws)
        town_names[rows] = _typed_names(towns, town, draws)
        station_names[rows] = _nearest_stations(described, towns, north, east)
        locations[rows] = _written_locations(described, north, east)
    started = calendar.days[0].astype("datetime64[s]") + (60 * minute).astype("timedelta64[s]")
    ids = np.array([f"{ID_PREFIX}{row:06d}" for row in range(1, n_rows + 1)], dtype=object)
    kinds = draw_kinds(started, region, is_storm, seed=seed)
    return dict(zip(COLUMNS, (ids, started, station_names, town_names, locations, kinds), strict=True))


def _events(ordinary: Integers, storms: Integers) -> tuple[Integers, Integers, Booleans]:
    """Return day and region of every intervention, and whether a storm brought it; those of storms last."""
    parts = []
    for counts in (ordinary, storms):
        day, region = np.nonzero(counts)
        times = counts[day, region]
        parts.append((np.repeat(day, times), np.repeat(region, times)))
    (day, region), (storm_day, storm_region) = parts
    is_storm = np.arange(len(day) + len(storm_day)) >= len(day)
    return np.concatenate([day, storm_day]), np.concatenate([region, storm_region]), is_storm


def _minutes(calendar: Calendar, day: Integers, is_storm: Booleans, draws: Draws) -> Integers:
    """Return minutes of the wall clock since the first midnight."""
    weights = np.array([HOURS, STORM_HOURS], dtype=np.float64)
    hour = draws.categories(weights, is_storm.astype(np.int64))
    # two o'clock does not exist on the night the clocks go forward
    hour += calendar.is_clock_forward[day] & (hour == 2)
    return (day * 24 + hour) * 60 + draws.integers(len(day), below=60)


def _points(region: Region, towns: Sequence[Town], town: Integers, draws: Draws) -> tuple[Floats, Floats]:
    """Return kilometres north and east of the region's centre: near the town, evenly over a small disc."""
    places = np.array([town_place(region, t) for t in towns])
    distance = region.spread_km * np.sqrt(draws.uniforms(len(town)))
    turn = draws.uniforms(len(town))
    return places[town, 0] + distance * cos_turns(turn), places[town, 1] + distance * sin_turns(turn)


def _typed_names(towns: Sequence[Town], town: Integers, draws: Draws) -> NDArray[Any]:
    """Return town names, some of them former or plainly typed: whoever counts the rows has to recognize them."""
    spellings: list[str] = []
    first: list[int] = []
    for t in towns:
        first.append(len(spellings))
        spellings += [t.name, plain_spelling(t.name), *t.former_names]
    n_former = np.array([len(t.former_names) for t in towns])[town]
    is_former = (draws.uniforms(len(town)) < FORMER_NAME_SHARE) & (n_former > 0)
    former = np.floor(draws.uniforms(len(town)) * n_former).astype(np.int64)
    is_plain = draws.uniforms(len(town)) < PLAIN_SPELLING_SHARE
    chosen = np.where(is_former, 2 + former, is_plain.astype(np.int64))
    typed: NDArray[Any] = np.array(spellings, dtype=object)[np.array(first)[town] + chosen]
    return typed


def plain_spelling(name: str) -> str:
    """Return the name as an old terminal had it.

    >>> plain_spelling("L'Isle-sur-le-Doubs"), plain_spelling("Étalans"), plain_spelling("Saint-Vit")
    ("L'ISLE SUR LE DOUBS", 'ETALANS', 'ST VIT')
    """
    letters = unicodedata.normalize("NFD", name.replace("Saint-", "St-").replace("Sainte-", "Ste-"))
    return "".join(c for c in letters if not unicodedata.combining(c)).replace("-", " ").upper()


def _nearest_stations(region: Region, towns: Sequence[Town], north: Floats, east: Floats) -> NDArray[Any]:
    names, places = zip(*station_places(region, towns), strict=True)
    distances = np.stack([np.square(north - y) + np.square(east - x) for y, x in places])
    nearest: NDArray[Any] = np.array(names, dtype=object)[np.argmin(distances, axis=0)]
    return nearest


def _written_locations(region: Region, north: Floats, east: Floats) -> list[str]:
    """Return latitude and longitude with four digits, as in the paper's ``(47.2380, 6.0243)``."""
    latitude = np.rint((region.centre[0] + north / KM_PER_DEGREE_NORTH) * 10_000).astype(np.int64)
    longitude = np.rint((region.centre[1] + east / KM_PER_DEGREE_EAST) * 10_000).astype(np.int64)
    parts = (latitude // 10_000, latitude % 10_000, longitude // 10_000, longitude % 10_000)
    return [f"({a}.{b:04d}, {c}.{d:04d})" for a, b, c, d in zip(*(p.tolist() for p in parts), strict=True)]


Progress = Callable[[int, int], None]

LABEL: Final = "Synthetic: simulated interventions, not those of any real person or fire brigade."
METADATA_KEY: Final = b"tacit.synthetic"
_BATCH_ROWS: Final = 50_000  # rows written at a time: some megabytes, and steps of the progress bar


def check_path(path: Path) -> None:
    """Refuse a file we could not write, before there are rows to write."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise SettingError(f"path must end in .csv or .parquet; got path={path}. Give the file one of these endings.")
    if not path.parent.is_dir():
        raise SettingError(f"path must lie in a folder that exists; got path={path}. Make {path.parent} first.")


def write_rows(path: Path, columns: Columns, *, progress: Progress | None = None) -> None:
    """Write the rows to ``path``, as its suffix says; the file appears whole or not at all."""
    check_path(path)
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with written_whole(path) as file:
        write(file, columns, progress or _ignore)


def _write_csv(binary: BinaryIO, columns: Columns, progress: Progress) -> None:
    n_rows = len(columns["ID"])
    file = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    file.write(",".join(COLUMNS) + "\n")
    for start in range(0, n_rows, _BATCH_ROWS):
        batch = {name: values[start : start + _BATCH_ROWS] for name, values in columns.items()}
        fields = (
            batch["ID"].tolist(),
            written_dates(batch["SDate"]),
            batch["Station"].tolist(),
            batch["Town"].tolist(),
            batch["Location"].tolist(),
            batch["Kind"].tolist(),
        )
        # no name holds a comma or a quote; a location always holds a comma
        file.writelines(map('%s,%s,%s,%s,"%s",%s\n'.__mod__, zip(*fields, strict=True)))
        progress(start + len(batch["ID"]), n_rows)
    file.detach()  # all of it is written; closing is for whoever opened


def written_dates(times: NDArray[np.datetime64]) -> list[str]:
    """Return dates as the paper writes them.

    >>> written_dates(np.array(["2008-08-08T08:08"], dtype="datetime64[s]"))
    ['2008/08/08 08:08']
    """
    joined = "\n".join(np.datetime_as_string(times, unit="m").tolist())
    return joined.replace("-", "/").replace("T", " ").split("\n")


def _write_parquet(binary: BinaryIO, columns: Columns, progress: Progress) -> None:
    pa = require("pyarrow", extra="events")
    parquet = require("pyarrow.parquet", extra="events")
    n_rows = len(columns["ID"])
    table: Any = pa.table({name: pa.array(columns[name]) for name in COLUMNS})
    table = table.replace_schema_metadata({METADATA_KEY: LABEL.encode()})
    parquet.write_table(table, binary)
    progress(n_rows, n_rows)


def _ignore(done: int, total: int) -> None:
    return None
