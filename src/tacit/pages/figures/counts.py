"""Counts ready to be drawn: a release added up to one step, with limits, and nothing that a chart must compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.languages import gettext, message
from tacit._base.rounding import whole_limits
from tacit.counts.estimate import Estimate
from tacit.counts.noise import Noise
from tacit.counts.tally import ExactTally
from tacit.domain import ALL, Grouping, TimeAxis, sum_groups
from tacit.errors import SettingError
from tacit.postprocess import clip
from tacit.release import Release
from tacit.release.rules import MISSING, SHOWN, SUPPRESSED

HIDDEN_WORDS: Final = {SUPPRESSED: message("suppressed"), MISSING: message("no data")}
"""The words that stand where no number is drawn."""
_COARSE_STEPS: Final = ("year", "month", "day")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The counts that a release recommends per period and place, with limits for the true ones.

    Counts of a release with kinds of events first have a column for every place and kind; :meth:`of_kind` keeps one.
    ``starts`` are ISO dates or times to place a period on an axis, ``is_partial`` marks periods of which only a part
    was counted, at an end of the time or because data are missing for ``days_missing`` of their days. ``status`` is
    what the release's rules say of each count: shown, greyed, suppressed or missing; of the last two no number is
    drawn, and there need not be any. ``is_exact`` says that the values are public numbers of reports, which carry no
    noise.
    """

    step: str
    periods: tuple[str, ...]
    starts: tuple[str, ...]
    is_partial: tuple[bool, ...]
    places: tuple[str, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    standard_errors: FloatArray
    reliable: NDArray[np.bool_]
    status: NDArray[np.object_]
    level: float
    is_exact: bool = False
    days_missing: tuple[int, ...] = ()

    @property
    def shown(self) -> FloatArray:
        """The values drawn: an estimate below zero, or otherwise impossible, is drawn at the nearest limit."""
        return np.clip(self.values, self.lower, self.upper)

    def first(self, n_periods: int) -> Counts:
        """Keep the first periods only."""
        return self._of_periods(slice(n_periods))

    def last(self, n_periods: int) -> Counts:
        """Keep the last periods only."""
        return self._of_periods(slice(max(len(self.periods) - n_periods, 0), None))

    def _of_periods(self, part: slice) -> Counts:
        names = ("periods", "starts", "is_partial", "days_missing", *_ARRAYS)
        return replace(self, **{name: getattr(self, name)[part] for name in names})

    def of_places(self, numbers: NDArray[np.int64]) -> Counts:
        """Keep these places only, in this order."""
        places = tuple(self.places[number] for number in numbers)
        return replace(self, places=places, **{name: getattr(self, name)[:, numbers] for name in _ARRAYS})

    def of_kind(self, kind: int, places: Sequence[str]) -> Counts:
        """Keep one kind of event of these places, which are all that were counted, each with every kind."""
        numbers = np.arange(kind, len(self.places), len(self.places) // len(places))
        return replace(self.of_places(numbers), places=tuple(places))

    def period_columns(self) -> dict[str, list[Any]]:
        """Return the columns that all series share: start, name and whether a period is partial."""
        return {"start": list(self.starts), "period": list(self.periods), "partial": list(self.is_partial)}

    def series_columns(self, place: int) -> dict[str, list[Any]]:
        """Return one place through time."""
        return self._columns((slice(None), place))

    def places_columns(self, period: int) -> dict[str, list[Any]]:
        """Return all places in one period."""
        return {"place": list(self.places)} | self._columns((period, slice(None)))

    def _columns(self, part: tuple[Any, Any]) -> dict[str, list[Any]]:
        is_hidden = self.is_hidden[part].tolist()
        columns: dict[str, list[Any]] = {
            name: [None if hide else v for v, hide in zip(tenths(values[part]).tolist(), is_hidden, strict=True)]
            for name, values in (
                ("estimate", self.values),
                ("shown", self.shown),
                ("lower", self.lower),
                ("upper", self.upper),
            )
        }
        columns["reliable"] = self.reliable[part].tolist()
        if self.has_rules:
            columns["status"] = self.status[part].tolist()
            columns["word"] = [hidden_word(status) for status in columns["status"]]
        return columns

    @property
    def is_hidden(self) -> NDArray[np.bool_]:
        """The counts of which no number is drawn, as a mask."""
        return np.isin(self.status.astype(str), tuple(HIDDEN_WORDS))

    @property
    def has_rules(self) -> bool:
        """Whether any count is not simply shown."""
        return bool((self.status != SHOWN).any())


def hidden_word(status: str) -> str | None:
    """Return the word that stands where a count of this status has no number; None where it has one."""
    return gettext(HIDDEN_WORDS[status]) if status in HIDDEN_WORDS else None


_ARRAYS: Final = ("values", "lower", "upper", "standard_errors", "reliable", "status")


def rounded(values: FloatArray, digits: int = 0) -> FloatArray:
    """Return values rounded, zero without a sign.

    >>> rounded(np.array([-0.04, 1.26]), 1).tolist()
    [0.0, 1.3]
    """
    return np.round(values, digits) + 0.0


def tenths(values: FloatArray) -> FloatArray:
    """Return values to a tenth that becomes the same whole number as the value does, however a half is rounded.

    Pages round such numbers once more: 305.457 is 305 in the table, and must not be 306 in the map by way of 305.5.

    >>> tenths(np.array([305.457, 305.52, 304.5, -0.04, 1.26])).tolist()
    [305.4, 305.6, 304.4, 0.0, 1.3]
    """
    whole, near = rounded(values), rounded(values, 1)
    is_half = np.abs(near - whole) > 0.45  # of a tenth that is exactly between two whole numbers
    return rounded(np.where(is_half, whole + np.copysign(0.4, near - whole), near), 1)


def rows_of(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Turn columns into the rows a chart takes.

    >>> rows_of({"place": ["north", "south"], "shown": [3, 4]})
    [{'place': 'north', 'shown': 3}, {'place': 'south', 'shown': 4}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def coarser_steps(axis: TimeAxis) -> Iterator[str]:
    """Yield the steps a release over this axis can be drawn in, coarsest first, its own last."""
    for step in _COARSE_STEPS:
        if step != axis.step:
            try:
                axis.coarsen(step)
            except SettingError:  # a week is no part of a month
                continue
            yield step
    yield axis.step


def counts_by(release: Release, step: str) -> Counts:
    """Add a release up to years, months or days; noise included."""
    added = added_up(release, time=step)
    about = _about(added.domain.time, added.domain.columns, release)
    if added.totals_are_counts:  # as where the kind is private, all else is public, and all kinds are added up
        found = _exact(np.asarray(added.unbiased.cell_totals, np.float64), about)
        status = added.statuses()
        return replace(found, status=status, reliable=np.equal(status.astype(str), SHOWN))
    status = added.statuses()
    return _estimated(added.recommended.values, added.recommended.noise, lambda _: status, release, about)


def added_up(release: Release, *, time: str | None = None, kind: str | None = None) -> Release:
    """Return a release in longer periods or larger groups; refined in the simplest way where its own fails."""
    try:
        return release.coarsen(time=time, kind=kind)
    except SettingError:
        return Release.of(
            release.plan, release.unbiased, by=time, kind=kind, level=release.level, refine=clip, rules=release.rules
        )


def _about(axis: TimeAxis, places: tuple[str, ...], release: Release) -> dict[str, Any]:
    """Return the periods of an axis, the places, and what all counts of a release share."""
    rules = release.rules
    lacks_days = rules.missing_bins(axis, partly=True)
    return {
        "step": axis.step,
        "periods": tuple(axis.labels()),
        "starts": starts_of(axis),
        "is_partial": tuple(axis.is_partial(bin) or bool(lacking) for bin, lacking in enumerate(lacks_days)),
        "places": places,
        "level": release.level,
        "days_missing": tuple(rules.days_missing(axis).tolist()),
    }


def _estimated(
    values: FloatArray,
    noise: Noise,
    judge: Callable[[FloatArray], NDArray[np.object_]],
    release: Release,
    about: Mapping[str, Any],
) -> Counts:
    """Return counts with limits; of what is suppressed and gone all are 0, and its status says that none is drawn."""
    known, errors = np.nan_to_num(values), noise.standard_errors()
    status = judge(errors)
    limits = map(whole_limits, noise.intervals(known, release.level))
    lower, upper = (np.where(np.isnan(values), 0.0, limit) for limit in limits)
    return Counts(
        **about,
        values=known,
        lower=lower,
        upper=upper,
        standard_errors=errors,
        reliable=release.rules.reliable(known, errors, status),
        status=status,
    )


def counts_in_all(release: Release, *, place: str | None = None) -> Counts:
    """Add a release up over its whole time, and to a level of places. Where that number is public, it is the answer."""
    estimate, axis = release.recommended, release.domain.time
    if place is not None:
        estimate = estimate.coarsen(place=place)
    domain, grid = estimate.domain, estimate.domain.grid
    about = {
        "step": "all",
        "periods": (whole_period(axis),),
        "starts": starts_of(axis)[:1],
        "is_partial": (bool(release.rules.missing),),
        "places": domain.columns,
        "level": release.level,
        "days_missing": (release.rules.n_days_missing,),
    }
    totals = None if estimate.totals is None else estimate.totals.sum(axis=0, keepdims=True)
    if totals is not None and totals.shape == (1, *grid[1:]) and (domain.n_columns > 1 or place is not None):
        return _exact(totals.reshape(1, -1).astype(np.float64), about)
    sizes = (1, domain.place.n_cells, domain.n_kinds)
    in_all = Grouping(np.zeros(grid[0], np.int64), np.arange(sizes[1]), sizes, np.arange(sizes[2]))
    return _summed(estimate, in_all, release, about)


def totals_by(release: Release, step: str) -> Counts:
    """Add a release up over all places. Where the number of reports per period is public, that is the answer."""
    estimate = release.recommended.coarsen(time=step)
    domain, in_all = estimate.domain.coarsen(place=ALL)
    axis, about = domain.time, _about(domain.time, domain.columns, release)
    totals = estimate.coarsen(place=ALL).totals
    if totals is not None and totals.shape == domain.grid:
        found = _exact(totals.reshape(domain.shape).astype(np.float64), about)
    else:
        found = _summed(estimate, in_all, release, about)
    is_missing = release.rules.missing_bins(axis)[:, None]  # no data, which is not zero
    return replace(found, status=np.where(is_missing, MISSING, found.status), reliable=found.reliable & ~is_missing)


def truth_by(release: Release, truth: ExactTally, step: str | None) -> NDArray[np.int64]:
    """Add true counts up to the same periods; laboratory only. ``None`` is the whole time."""
    counts = truth.reveal()
    if counts.shape != release.domain.shape:
        raise SettingError(
            f"truth must have the release's shape {release.domain.shape}; got shape={counts.shape}. "
            "Count the events over the same periods, places and kinds."
        )
    if step is None:
        return np.asarray(counts.sum(axis=0, keepdims=True))
    axis, groups = release.domain.time.coarsen(step)
    return sum_groups(counts, groups, n_groups=axis.n_bins)


def _summed(estimate: Estimate, grouping: Grouping, release: Release, about: Mapping[str, Any]) -> Counts:
    noise, values = estimate.noise.coarsen(grouping), grouping.sums(estimate.values)
    # sums over the whole time, or over all places, are never wholly without data
    return _estimated(values, noise, lambda errors: release.rules.judged(values, errors), release, about)


def _exact(values: FloatArray, about: Mapping[str, Any]) -> Counts:
    return Counts(
        **about,
        values=values,
        lower=values,
        upper=values,
        standard_errors=np.zeros_like(values),
        reliable=np.ones(values.shape, bool),
        status=np.full(values.shape, SHOWN, object),
        is_exact=True,
    )


def whole_period(axis: TimeAxis) -> str:
    """Return the name of all periods of an axis together."""
    first, last = axis.label(0), axis.label((axis.n_bins or 1) - 1)
    return first if first == last else f"{first} to {last}"


def starts_of(axis: TimeAxis) -> tuple[str, ...]:
    """Return the start of every period, as a chart's time scale reads it."""
    # a date alone is read as UTC by JavaScript, a time only with a Z; charts use UTC scales throughout
    has_times = axis.step not in ("day", "week", "month", "year")
    return tuple(f"{start}Z" if has_times else str(start)[:10] for start in axis.starts())
