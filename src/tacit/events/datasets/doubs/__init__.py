"""Synthetic interventions of the fire brigade of Doubs, 2006 to 2018: nobody's real data, frozen for good.

The real file behind the paper is not public. This one has its columns, its number of rows, its regions and
its Table 2 (total, maximum and minimum of every year exactly, standard deviation within 1), with seasons,
weeks, public holidays, growth and local storms. The rest is invented: minutes, towns within a region, places
within a town. What each was about (:mod:`tacit.events.datasets.doubs.rows`) follows the yearly statistics of the
French fire services.

>>> from tacit.events.datasets import doubs
>>> data = doubs.interventions()
>>> data
DoubsInterventions(382046 synthetic interventions, 2006-01-01 to 2018-12-31, 17 regions, seed 25)
>>> first = data.table2()[0]
>>> first.year, first.total, round(first.mean), round(first.deviation), first.maximum, first.minimum
(2006, 17333, 47, 20, 131, 17)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.events.datasets._draws import Draws, Integers
from tacit.events.datasets.doubs.calendar import PAPER_TABLE_2, Calendar, YearFigures
from tacit.events.datasets.doubs.regions import REGIONS, daily_shares
from tacit.events.datasets.doubs.rows import COLUMNS, LABEL, Columns, Progress, check_path, make_rows, write_rows
from tacit.events.datasets.doubs.totals import daily_totals, deviation

__all__ = [
    "COLUMNS",
    "DEFAULT_FILE_NAME",
    "DEFAULT_SEED",
    "LABEL",
    "PAPER_TABLE_2",
    "DoubsInterventions",
    "YearFigures",
    "interventions",
]

DEFAULT_SEED: Final = 25  # the number of the department; another one gives another world
DEFAULT_FILE_NAME: Final = "doubs-synthetic-interventions.csv"


@dataclass(frozen=True, eq=False, repr=False)
class DoubsInterventions:
    """Simulated interventions: their counts, and on demand their rows.

    ``ordinary`` and ``storms`` are counts of days by regions, in the paper's order of regions.
    """

    seed: int
    days: NDArray[np.datetime64]
    ordinary: Integers
    storms: Integers

    def __post_init__(self) -> None:
        for array in (self.days, self.ordinary, self.storms):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"DoubsInterventions({self.n_rows} synthetic interventions, {self.days[0]} to {self.days[-1]}, "
            f"{len(self.regions)} regions, seed {self.seed})"
        )

    @property
    def n_rows(self) -> int:
        return int(self.ordinary.sum() + self.storms.sum())

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the columns of ``counts``."""
        return tuple(region.name for region in REGIONS)

    @property
    def counts(self) -> Integers:
        """Interventions per day and region."""
        return self.ordinary + self.storms

    def table2(self) -> tuple[YearFigures, ...]:
        """Return the paper's Table 2 of these interventions."""
        calendar, totals = Calendar(self.days), self.counts.sum(axis=1)
        of_years = {year: totals[calendar.where(year)] for year in np.unique(calendar.year).tolist()}
        return tuple(
            YearFigures(
                year=year,
                total=int(n.sum()),
                mean=int(n.sum()) / len(n),
                deviation=deviation(n),
                maximum=int(n.max()),
                minimum=int(n.min()),
            )
            for year, n in of_years.items()
        )

    def rows(self) -> Columns:
        """Return one entry per intervention in the order of time, under the paper's column names, and its kind.

        SDate is the wall clock in France (``datetime64[s]``), the other columns are text. Every ID begins
        with ``SYN``, so that no row can be taken for a real one.
        """
        return make_rows(Calendar(self.days), self.ordinary, self.storms, seed=self.seed)

    def write(self, path: str | Path, *, progress: Progress | None = None) -> None:
        """Write the rows as CSV or Parquet, as the suffix of ``path`` says.

        ``progress`` is called with the number of rows written and the number in all. The CSV has the paper's
        columns and the kind, so only its IDs say that it is synthetic; Parquet says so in its metadata.
        """
        path = Path(path)
        check_path(path)
        write_rows(path, self.rows(), progress=progress)


def interventions(seed: int = DEFAULT_SEED) -> DoubsInterventions:
    """Simulate 13 years of interventions.

    The data set of a seed never changes: its counts and its file are pinned by tests. Published figures use
    seed 25.
    """
    years = [figures.year for figures in PAPER_TABLE_2]
    calendar = Calendar.of_years(years[0], years[-1])
    totals = daily_totals(calendar, seed=seed)
    shares = daily_shares(calendar, seed=seed)
    ordinary = Draws.seeded(seed, "doubs regions").multinomial(totals.ordinary, shares)
    return DoubsInterventions(seed, calendar.days, ordinary, totals.storms)
