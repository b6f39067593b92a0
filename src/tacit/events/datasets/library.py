"""Synthetic visits to the libraries of a city, 2014 to 2019: nobody's real data, frozen for good.

A table of (date, library, visits), as a city would keep it, over the 2,006 days the thesis on range counting worked
with. Weeks, seasons, holidays, a slow AR(1) level and days of their own are there; one library is closed for a summer
while it is rebuilt and comes back busier. One series, Hillside, has about the size of the thesis' own.

>>> from tacit.events.datasets import library
>>> data = library.visits()
>>> data
LibraryVisits(5 synthetic libraries, 2006 days, 2014-01-02 to 2019-06-30, seed 7)
>>> int(data.counts[:, data.libraries.index("Hillside")].sum())
394908
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import write_whole
from tacit.errors import SettingError
from tacit.events.datasets._draws import Draws, Floats, Integers, cos_turns, exp

DEFAULT_SEED: Final = 7  # any: it is frozen
DEFAULT_FILE_NAME: Final = "library-synthetic-visits.csv"
COLUMNS: Final = ("Date", "Library", "Visits")
FIRST_DAY: Final = np.datetime64("2014-01-02", "D")
N_DAYS: Final = 2006  # as the thesis has

LIBRARIES: Final = ("Centre", "Harbour", "Hillside", "Station", "West")
# visits on a weekday, invented but for Hillside, which has about the total of the thesis' series
WEEKDAY_MEANS: Final = (980.0, 430.0, 285.0, 240.0, 150.0)
# Monday to Sunday, relative to a weekday: the small ones close on Sundays
WEEKS: Final = (
    (1.0, 1.0, 1.0, 1.0, 0.9, 1.2, 0.7),
    (1.0, 1.05, 1.0, 1.0, 0.7, 0.6, 0.0),
    (1.0, 1.04, 0.96, 1.0, 0.55, 0.65, 0.25),
    (1.0, 1.0, 1.0, 1.0, 1.1, 0.5, 0.0),
    (1.0, 1.0, 0.9, 1.0, 0.6, 0.4, 0.0),
)
CLOSED_DAYS: Final = ((1, 1), (6, 5), (12, 24), (12, 25), (12, 26), (12, 31))
SEASON_EFFECTS: Final = ((1, -0.02), (2, 0.12))
"""Relative effects of the first harmonics of the year: busy in March and October, quiet in July and December."""
SEASON_PEAK: Final = 0.22  # in years: the 21st of March
# Standard deviations on a log scale, invented: a day's step of the AR(1) level, and what is a day's own.
LEVEL_SD: Final = 0.012
DAY_SD: Final = 0.12
LEVEL_PHI: Final = 0.997  # the level forgets half in 231 days
REBUILT: Final = "Harbour"
REBUILT_FROM: Final = np.datetime64("2016-06-01", "D")
REBUILT_UNTIL: Final = np.datetime64("2016-09-12", "D")
REBUILT_GAIN: Final = 1.35  # a third more visits than before


@dataclass(frozen=True, eq=False, repr=False)
class LibraryVisits:
    """Simulated visits: ``counts`` has a row for every day and a column for every library."""

    seed: int
    days: NDArray[np.datetime64]
    libraries: tuple[str, ...]
    counts: Integers

    def __repr__(self) -> str:
        return (
            f"LibraryVisits({len(self.libraries)} synthetic libraries, {len(self.days)} days, {self.days[0]} to "
            f"{self.days[-1]}, seed {self.seed})"
        )

    def write(self, path: str | Path, places: str | Path) -> None:
        """Write the table of visits as CSV, and the table of libraries that a plan is made with beside it."""
        path, places = Path(path), Path(places)
        for file in (path, places):
            if file.suffix.lower() != ".csv":
                raise SettingError(f"path must end in .csv; got path={file}. Give the file this ending.")
        labels = self.days.astype(str).tolist()
        lines = [",".join(COLUMNS)]
        for label, row in zip(labels, self.counts.tolist(), strict=True):
            lines += [f"{label},{name},{count}" for name, count in zip(self.libraries, row, strict=True)]
        write_whole(path, ("\n".join(lines) + "\n").encode())
        write_whole(places, ("library\n" + "\n".join(self.libraries) + "\n").encode())


def visits(seed: int = DEFAULT_SEED) -> LibraryVisits:
    """Simulate five and a half years of visits. The data set of a seed never changes: it is pinned by tests."""
    days = FIRST_DAY + np.arange(N_DAYS)
    rates = np.stack([_rates(days, number, seed) for number in range(len(LIBRARIES))], axis=1)
    draws = Draws.seeded(seed, "library visits")
    # a Poisson variable of a large mean is a sum of ten of a tenth of it
    counts = sum((draws.poisson(rates / 10) for _ in range(10)), np.zeros(rates.shape, np.int64))
    return LibraryVisits(seed, days, LIBRARIES, counts)


def _rates(days: NDArray[np.datetime64], number: int, seed: int) -> Floats:
    """Return the expected visits of every day to one library."""
    draws = Draws.seeded(seed, f"library rates {LIBRARIES[number]}")
    weekday = (days.astype(np.int64) + 3) % 7
    year = days.astype("datetime64[Y]")
    turn = (days - year).astype(np.float64) / 365.25
    season = sum((size * cos_turns(order * (turn - SEASON_PEAK)) for order, size in SEASON_EFFECTS), np.zeros(N_DAYS))
    levels = np.empty(N_DAYS)
    level = 0.0
    for day, step in enumerate((LEVEL_SD * draws.normals(N_DAYS)).tolist()):
        level = LEVEL_PHI * level + step
        levels[day] = level
    own = DAY_SD * draws.normals(N_DAYS)
    rates = WEEKDAY_MEANS[number] * np.array(WEEKS[number])[weekday] * exp(season + levels + own)
    month, day_of_month = _month_and_day(days)
    for closed in CLOSED_DAYS:
        rates[(month == closed[0]) & (day_of_month == closed[1])] = 0.0
    if LIBRARIES[number] == REBUILT:
        rates[(days >= REBUILT_FROM) & (days < REBUILT_UNTIL)] = 0.0
        rates[days >= REBUILT_UNTIL] *= REBUILT_GAIN
    return rates


def _month_and_day(days: NDArray[np.datetime64]) -> tuple[Integers, Integers]:
    months = days.astype("datetime64[M]")
    return months.astype(np.int64) % 12 + 1, (days - months).astype(np.int64) + 1
