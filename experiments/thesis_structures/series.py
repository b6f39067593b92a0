"""The days that are counted: the thesis' own series where it is at hand, else a synthetic one of the same size."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.events.datasets import library

FILE_NAME = "aarhus_hasle_daily_2014_2019.csv"
SYNTHETIC = "Hillside"


@dataclass(frozen=True, eq=False)
class Series:
    """Visits of consecutive days, none missing."""

    name: str
    is_the_thesis_own: bool
    days: NDArray[np.datetime64]
    counts: NDArray[np.int64]

    def first(self, n_days: int) -> NDArray[np.int64]:
        """The first days; the thesis' "2048" are the 2,006 there are."""
        return self.counts[:n_days]


def read_series() -> Series:
    """The file in the folder that ``TACIT_DATA`` names, else the synthetic library of the thesis' size."""
    path = Path(os.environ.get("TACIT_DATA", "")) / FILE_NAME
    if not os.environ.get("TACIT_DATA") or not path.is_file():
        data = library.visits()
        return Series(
            f"synthetic library {SYNTHETIC}",
            False,
            data.days,
            data.counts[:, data.libraries.index(SYNTHETIC)],
        )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    given = np.array([row["date"] for row in rows], "datetime64[D]")
    first = given.min()
    counts = np.zeros(int((given.max() - first).astype(int)) + 1, np.int64)
    counts[(given - first).astype(int)] = [int(float(row["count"])) for row in rows]
    return Series("the thesis' own: Hasle library, Aarhus", True, first + np.arange(len(counts)), counts)
