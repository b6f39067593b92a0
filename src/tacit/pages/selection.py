"""The part of a release that a page shows: enough to read, little enough to open quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import ALL, PlaceAxis
from tacit.pages.figures import Counts, coarser_steps, counts_by, counts_in_all, totals_by
from tacit.pages.figures.counts import added_up
from tacit.release import Release, Rules
from tacit.release.rules import SHOWN

MOST_PLACES: Final = 600  # the towns of a department; the largest are shown. Twice as many make a page twice as long
MOST_CELLS: Final = 50_000
"""Numbers of one kind in a page, which keeps it to a few megabytes. Halved, fewer steps are offered."""
MOST_KINDS: Final = 60  # single kinds to choose from, the largest: twice as many leave half the places or steps
RECENT_DAYS: Final = 90  # a quarter of a year: a line of days that can still be read
_MOST_MAPS: Final = 40  # periods to choose from in one list: years, or three years of months
_MOST_PERIODS: Final = 800  # two years of days: more points than a screen has pixels say nothing more
HANDFUL: Final = 5  # periods that make a line: of fewer, as with twelve months for two years, a finer step says more
_COMFORTABLE_PERIODS: Final = 200  # a choice: a chart with more periods is not shown first


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The counts of one choice of kind: of all kinds, of a group of them, or of one.

    ``name`` is that of the group or kind, empty for all kinds, and ``number`` its place on its ``level``. ``whole`` is
    all time together, ``total`` that of all places, ``maps`` the periods a reader may choose on the map (years, as a
    rule), ``series`` and ``totals`` the steps in which time series are offered, ``recent`` the last days.
    """

    name: str
    level: str
    number: int
    whole: Counts
    total: Counts
    maps: Counts | None
    series: Mapping[str, Counts]
    totals: Mapping[str, Counts]
    recent: Counts | None

    @property
    def map_periods(self) -> list[tuple[Counts, int]]:
        """The periods a reader may choose, each as counts and a number in them; the whole time first."""
        if self.maps is None:
            return [(self.whole, 0)]
        return [(self.whole, 0), *((self.maps, bin) for bin in range(len(self.maps.periods)))]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Return the views that a page draws: one for every choice of kind, all kinds first. Without kinds there is one.

    ``kept`` are the numbers of the places shown. ``left_out`` are steps in which the page would show time series if
    there were no kinds. ``events`` is what readers call them.
    """

    release: Release
    kept: NDArray[np.int64]
    views: tuple[View, ...]
    left_out: tuple[str, ...] = ()
    events: str = "events"

    @property
    def all_kinds(self) -> View:
        """The view that a page begins with."""
        return self.views[0]

    @property
    def single_kinds(self) -> list[int]:
        """The numbers of the views of single kinds, the largest first."""
        kind = self.release.domain.kind
        found = [n for n, view in enumerate(self.views) if kind is not None and view.level == kind.level]
        return sorted(
            found, key=lambda n: (bool(self.views[n].total.is_hidden[0, 0]), -self.views[n].total.values[0, 0])
        )

    @property
    def places(self) -> PlaceAxis:
        """The places shown, as an axis of their own."""
        return self.release.domain.place.keep(self.kept)

    @property
    def first_series(self) -> str | None:
        """The step shown first: the coarsest that can be read and has at least a handful of whole periods.

        Where none has both, the finest that can be read and is not crowded; where none can be read, the coarsest.
        """
        series = self.all_kinds.series
        readable = [step for step in series if _is_readable(series[step].reliable)]
        for step in readable:
            if series[step].is_partial.count(False) >= HANDFUL:
                return step
        calm = [step for step in readable if len(series[step].periods) <= _COMFORTABLE_PERIODS]
        return calm[-1] if calm else next(iter(series), None)


def _is_readable(reliable: NDArray[np.bool_]) -> bool:
    """Return whether as many counts as not are worth a number of their own; with few, a page shows longer periods."""
    return bool(2 * np.count_nonzero(reliable) >= reliable.size)


def select(release: Release, events: str = "events", *, like: Selection | None = None) -> Selection:
    """Choose steps, places and kinds for a page; or those of another selection, which hides the same counts."""
    levels = _levels(release)
    wholes = {level: counts_in_all(added) for level, added in levels.items()}
    kinds = {
        level: _largest_kinds(added) if like is None else np.array([v.number for v in like.views if v.level == level])
        for level, added in levels.items()
    }
    n_views = sum(map(len, kinds.values()))
    steps = {step: _n_bins(release, step) for step in coarser_steps(release.domain.time)}
    maps = next((s for s, n in steps.items() if s in ("year", "month") and 2 <= n <= _MOST_MAPS), None)
    most_places = MOST_PLACES
    if n_views > 1:
        most_places = min(MOST_PLACES, max(1, MOST_CELLS // (n_views * (1 + steps.get(maps or "", 0)))))
    kept = np.sort(np.argsort(-wholes[ALL].values[0], kind="stable")[:most_places]) if like is None else like.kept

    def offered(n_columns: int) -> list[str]:
        return [s for s, n in steps.items() if 2 <= n <= _MOST_PERIODS and n * n_columns <= MOST_CELLS]

    in_series = offered(n_views * len(kept))
    is_recent = "day" in steps and "day" not in in_series and RECENT_DAYS * n_views * len(kept) <= MOST_CELLS
    drawn = _Drawn(maps, in_series, is_recent, kept)
    views = [view for level, added in levels.items() for view in drawn.views(level, added, wholes[level], kinds[level])]
    if like is not None:
        views = [_hiding(view, other, release.rules) for view, other in zip(views, like.views, strict=True)]
    without_kinds = offered(min(MOST_PLACES, release.domain.place.n_cells))
    left_out = tuple(step for step in without_kinds if step not in in_series)
    return Selection(release, kept, tuple(views), left_out, events)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The periods and places that are drawn of every kind."""

    maps: str | None
    series: Sequence[str]
    is_recent: bool
    kept: NDArray[np.int64]

    def views(self, level: str, release: Release, whole: Counts, kinds: NDArray[np.int64]) -> list[View]:
        """Return the views of some kinds of a release that was added up to a level of kinds."""
        total = counts_in_all(release, place=ALL)
        by_step = {step: counts_by(release, step) for step in {self.maps, *self.series} if step is not None}
        maps = None if self.maps is None else by_step[self.maps]
        series = {step: by_step[step] for step in self.series}
        totals = {step: totals_by(release, step) for step in self.series}
        recent = counts_by(release, "day").last(RECENT_DAYS) if self.is_recent else None
        places, axis = release.domain.place.cells, release.domain.kind

        def part(counts: Counts, kind: int) -> Counts:
            return (counts if axis is None else counts.of_kind(kind, places)).of_places(self.kept)

        def in_all(counts: Counts, kind: int) -> Counts:
            return counts if axis is None else counts.of_kind(kind, (ALL,))

        return [
            View(
                name="" if axis is None else axis.cells[kind],
                level=level,
                number=kind,
                whole=part(whole, kind),
                total=in_all(total, kind),
                maps=None if maps is None else part(maps, kind),
                series={step: part(counts, kind) for step, counts in series.items()},
                totals={step: in_all(counts, kind) for step, counts in totals.items()},
                recent=None if recent is None else part(recent, kind),
            )
            for kind in kinds.tolist()
        ]


def _hiding(view: View, other: View, rules: Rules) -> View:
    """Return a view of which no number is drawn where the other has none: rules judge the recommended counts alone."""

    def alike(counts: Counts, judged: Counts) -> Counts:
        status = np.where(judged.is_hidden, judged.status, np.where(counts.is_hidden, SHOWN, counts.status))
        return replace(counts, status=status, reliable=rules.reliable(counts.values, counts.standard_errors, status))

    return replace(
        view,
        whole=alike(view.whole, other.whole),
        total=alike(view.total, other.total),
        maps=None if view.maps is None or other.maps is None else alike(view.maps, other.maps),
        series={step: alike(counts, other.series[step]) for step, counts in view.series.items()},
        totals={step: alike(counts, other.totals[step]) for step, counts in view.totals.items()},
        recent=None if view.recent is None or other.recent is None else alike(view.recent, other.recent),
    )


def _levels(release: Release) -> dict[str, Release]:
    """Return the release of all kinds together, by groups of them, and as it is; without kinds, as it is alone."""
    axis = release.domain.kind
    if axis is None:
        return {ALL: release}
    found = {level: added_up(release, kind=level) for level in (ALL, *axis.groups)}
    return {**found, axis.level: release}


def _largest_kinds(release: Release) -> NDArray[np.int64]:
    """Return the numbers of the kinds to choose from, in their order."""
    if release.domain.kind is None:
        return np.zeros(1, np.int64)
    by_kind = np.nan_to_num(release.recommended.values).reshape(release.domain.grid).sum(axis=(0, 1))
    return np.sort(np.argsort(-by_kind, kind="stable")[:MOST_KINDS])


def _n_bins(release: Release, step: str) -> int:
    axis, _ = release.domain.time.coarsen(step)
    return axis.n_bins or 0
