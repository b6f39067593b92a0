"""What of a release a page shows: enough to read, little enough to open quickly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import PlaceAxis
from tacit.pages.figures import Counts, coarser_steps, counts_by, counts_in_all, totals_by
from tacit.release import Release

MOST_PLACES: Final = 600  # the towns of a department; the largest are shown. Twice as many make a page twice as long
MOST_CELLS: Final = 50_000
"""Numbers of one kind in a page, which keeps it to a few megabytes. Halved, fewer steps are offered."""
RECENT_DAYS: Final = 90  # a quarter of a year: a line of days that can still be read
_MOST_MAPS: Final = 40  # periods to choose from in one list: years, or three years of months
_MOST_PERIODS: Final = 800  # two years of days: more points than a screen has pixels say nothing more
_COMFORTABLE_PERIODS: Final = 200  # a choice: a chart with more periods is not shown first


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The counts a page draws.

    ``whole`` is all time together, ``maps`` the periods a reader may choose on the map (years, as a rule), ``series``
    and ``totals`` the steps in which time series are offered, ``recent`` the last days. ``kept`` are the numbers of
    the places shown.
    """

    release: Release
    kept: NDArray[np.int64]
    whole: Counts
    maps: Counts | None
    series: Mapping[str, Counts]
    totals: Mapping[str, Counts]
    recent: Counts | None

    @property
    def places(self) -> PlaceAxis:
        """The places shown, as an axis of their own."""
        return self.release.domain.place.keep(self.kept)

    @property
    def first_series(self) -> str | None:
        """The step shown first: the finest that is not crowded."""
        steps = list(self.series)
        calm = [step for step in steps if len(self.series[step].periods) <= _COMFORTABLE_PERIODS]
        return calm[-1] if calm else (steps[0] if steps else None)

    @property
    def map_periods(self) -> list[tuple[Counts, int]]:
        """The periods a reader may choose, each as counts and a number in them; the whole time first."""
        if self.maps is None:
            return [(self.whole, 0)]
        return [(self.whole, 0), *((self.maps, bin) for bin in range(len(self.maps.periods)))]

    @property
    def first_map(self) -> int:
        """The period shown first: the last that was counted in full and has a number, or the whole time."""
        if self.maps is None:
            return 0
        without_numbers = np.flatnonzero(self.maps.is_hidden.all(axis=1))
        full = [bin for bin, is_partial in enumerate(self.maps.is_partial) if not is_partial]
        full = [bin for bin in full if bin not in without_numbers]
        return full[-1] + 1 if full else 0


def select(release: Release) -> Selection:
    """Choose steps and places for a page."""
    whole = counts_in_all(release)
    kept = np.sort(np.argsort(-whole.values[0], kind="stable")[:MOST_PLACES])
    steps = {step: _n_bins(release, step) for step in coarser_steps(release.domain.time)}
    maps = next((s for s, n in steps.items() if s in ("year", "month") and 2 <= n <= _MOST_MAPS), None)
    in_series = [s for s, n in steps.items() if 2 <= n <= _MOST_PERIODS and n * len(kept) <= MOST_CELLS]
    return Selection(
        release=release,
        kept=kept,
        whole=whole.of_places(kept),
        maps=counts_by(release, maps).of_places(kept) if maps else None,
        series={step: counts_by(release, step).of_places(kept) for step in in_series},
        totals={step: totals_by(release, step) for step in in_series},
        recent=_recent(release, steps, in_series, kept),
    )


def _recent(release: Release, steps: Mapping[str, int], in_series: list[str], kept: NDArray[np.int64]) -> Counts | None:
    if "day" not in steps or "day" in in_series or RECENT_DAYS * len(kept) > MOST_CELLS:
        return None
    return counts_by(release, "day").last(RECENT_DAYS).of_places(kept)


def _n_bins(release: Release, step: str) -> int:
    axis, _ = release.domain.time.coarsen(step)
    return axis.n_bins or 0
