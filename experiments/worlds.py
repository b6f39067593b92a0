"""The worlds of the experiments: true counts of days and places.

The synthetic interventions come with the package. Where the environment names a folder in ``TACIT_DATA``, calls of
Montgomery County and incidents of Dublin's fire brigade are read from it; they are for the laboratory alone.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events.datasets import doubs
from tacit.publication.laboratory import World


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
