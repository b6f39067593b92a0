"""Time cut into bins: hours, slots of several hours, days, weeks, months or years.

Bins are contiguous, so a day on which nothing happened is there, as zero. All but the hour are bins of the
*local* calendar and clock: a day is a local date, "6 hours" is a quarter of the local day whatever its
length. The hour is an elapsed hour: the day on which clocks go forward has 23 of them, the one on which
they go back 25, and these are told apart by their offset (``02:00+02:00``, then ``02:00+01:00``). What a
wall clock leaves ambiguous is settled in :mod:`tacit.domain.zone`: a repeated time is its first occurrence, a
skipped one is moved forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import Times
from tacit._base.validation import check_at_least
from tacit.domain.step import (
    STEPS,
    Grid,
    When,
    check_coarsens,
    floor,
    parse_period,
    parse_step,
)
from tacit.domain.zone import Seconds, datetime_of, seconds_of, zone_info
from tacit.errors import SettingError

Bins = NDArray[np.int64]

__all__ = ["STEPS", "TimeAxis"]


@dataclass(frozen=True, slots=True, init=False)
class TimeAxis:
    """Bins of one step from ``start`` on, in one time zone; without ``n_bins`` they never end.

    ``start`` is the wall-clock time at which bin 0 starts and lies on a boundary of the step. An axis may
    count only a part of its first or last bin (days from 15 March on, summed to months): then
    ``covered_from`` or ``covered_until`` (not included) says where counting really begins or ends, times
    outside of it have no bin, :meth:`is_partial` is true and the label gives the days covered in place of the
    month.

    >>> axis = TimeAxis.between("2018-01-01", "2018-12-31", zone="Europe/Paris")
    >>> axis.n_bins, axis.label(62)
    (365, '2018-03-04')
    >>> months, month_of_day = axis.coarsen("month")
    >>> months.n_bins, months.label(int(month_of_day[62]))
    (12, '2018-03')
    """

    start: datetime
    step: str
    zone: str
    n_bins: int | None
    covered_from: datetime | None
    covered_until: datetime | None

    def __init__(
        self,
        start: When,
        step: str,
        zone: str = "UTC",
        n_bins: int | None = None,
        covered_from: When | None = None,
        covered_until: When | None = None,
    ) -> None:
        zone_info(zone)
        values = {
            "start": _naive(start, setting="start"),
            "step": parse_step(step),
            "zone": zone,
            "n_bins": n_bins,
            "covered_from": None if covered_from is None else _naive(covered_from, setting="covered_from"),
            "covered_until": None if covered_until is None else _naive(covered_until, setting="covered_until"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if floor(self.start, self.step) != self.start:
            raise SettingError(
                f"start must be the start of a {self.step}; got start={_iso(self.start)}. "
                f"Take {_iso(floor(self.start, self.step))}, or TimeAxis.between for a first bin counted in part."
            )
        if n_bins is not None:
            check_at_least(1, n_bins=n_bins)
            self._grid.check_representable(n_bins)
        self._check_cover()

    @classmethod
    def between(cls, first: When, last: When | None, step: str = "day", zone: str = "UTC") -> TimeAxis:
        """Build the axis that covers the periods ``first`` to ``last``, both included; ``None`` is no end.

        >>> TimeAxis.between("2018", "2018", step="week").labels()[-1]   # the year ends on a Monday
        '2018-12-31/2018-12-31'
        """
        begins = parse_period(first, setting="first").start
        if begins.tzinfo is not None:
            begins = begins.astimezone(zone_info(zone)).replace(tzinfo=None)
        grid = Grid(floor(begins, parse_step(step)), parse_step(step), zone)
        low, _ = grid.period(first, setting="first")
        if grid.is_elapsed and low != grid.origin:
            raise SettingError(
                f"first must not be the second of two repeated hours; got first={first}. Start an hour earlier."
            )
        covered_from = None if low == grid.origin else datetime_of(low)
        if last is None:
            return cls(grid.start, step, zone, None, covered_from)
        _, high = grid.period(last, setting="last")
        if not low < high:
            raise SettingError(f"last must not be before first; got first={first}, last={last}. Swap them.")
        n_bins = int(grid.bins(np.array([high - 1]))[0]) + 1
        covered_until = None if high == grid.edge(n_bins) else datetime_of(high)
        if grid.is_elapsed and covered_until is not None:
            raise SettingError(
                f"step must be longer than an hour from {first} to {last} in {zone}, where clocks were changed by a "
                f"part of an hour; got step={step!r}. Start after that change, end before it, or take '2 hours' or day."
            )
        return cls(grid.start, step, zone, n_bins, covered_from, covered_until)

    def bins_of_local(self, times: Times) -> Bins:
        """Return the bin of each naive wall-clock time; -1 for one outside the axis and for NaT.

        >>> hours = TimeAxis.between("2018-03-25", "2018-03-25", step="hour", zone="Europe/Paris")
        >>> when = np.array(["2018-03-25T01:59", "2018-03-25T02:30", "2018-03-25T03:30"], "datetime64[s]")
        >>> hours.bins_of_local(when)   # 02:30 was skipped: moved forward to 03:30
        array([1, 2, 2])
        """
        return self._bins_covered(self._grid.clock_of_local(_seconds(times)), ~np.isnat(times))

    def bins_of_utc(self, instants: Times) -> Bins:
        """Return the bin of each instant (UTC); -1 for one outside the axis and for NaT."""
        return self._bins_covered(self._grid.clock_of_utc(_seconds(instants)), ~np.isnat(instants))

    def starts(self, n: int | None = None) -> Times:
        """Return the wall-clock time at which each bin starts to count (``n`` bins of an axis without end)."""
        return self._grid.local_of(self._edges(n)[:-1]).astype("datetime64[s]")

    def starts_utc(self, n: int | None = None) -> Times:
        """Return the instant at which each bin starts to count."""
        return self._grid.utc_of(self._edges(n)[:-1]).astype("datetime64[s]")

    def span(self, bins: slice | None = None) -> tuple[bool, int, int | None]:
        """Return between which moments some bins count, on which clock: that of instants, or of the wall.

        Axes of one zone with equal spans hold the same times; without an end there is no second moment.

        >>> days, weeks = (TimeAxis.between("2018-01-01", "2018-01-14", step=step) for step in ("day", "week"))
        >>> days.span() == weeks.span(), days.span(slice(0, 7)) == weeks.span(slice(0, 1))
        (True, True)
        """
        first = 0 if bins is None else bins.start
        n_bins = self.n_bins if bins is None or self.n_bins is None else min(bins.stop, self.n_bins)
        last = None if n_bins is None else self._covered(n_bins - 1)[1]
        return self._grid.is_elapsed, self._covered(first)[0], last

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day that it covers, in its own zone; it must have an end."""
        edges = self.with_end((self.n_bins or 0) + 1).starts()
        last = (edges[-1] - np.timedelta64(1, "s")).astype("datetime64[D]")
        return str(edges[0].astype("datetime64[D]")), str(last)

    def label(self, bin: int) -> str:
        """Return the name of a bin: 2018-03-04T05:00+01:00, 2018-03-04, 2018-W10, 2018-03 or 2018.

        A partial bin is named by what it covers, an ISO 8601 interval: dates, both included, or two times.
        """
        check_at_least(0, bin=bin)
        if self.n_bins is not None and bin >= self.n_bins:
            raise SettingError(f"bin must be below {self.n_bins}, the number of bins; got bin={bin}.")
        low, high = self._covered(bin)
        return self._grid.names(np.array([low]), np.array([high]), [self.is_partial(bin)])[0]

    def labels(self, n: int | None = None) -> list[str]:
        """Return the names of the bins in order (``n`` of an axis without end)."""
        edges = self._edges(n)
        is_part = [self.is_partial(bin) for bin in range(edges.size - 1)]
        return self._grid.names(edges[:-1], edges[1:], is_part)

    def is_partial(self, bin: int) -> bool:
        """Say whether only a part of the bin's period is counted."""
        first = bin == 0 and self.covered_from is not None
        return first or (bin + 1 == self.n_bins and self.covered_until is not None)

    def with_end(self, n_bins: int) -> TimeAxis:
        """Return the same axis, ending after ``n_bins`` bins."""
        return replace(self, n_bins=n_bins, covered_until=self.covered_until if n_bins == self.n_bins else None)

    def without_end(self) -> TimeAxis:
        """Return the same axis without an end."""
        return replace(self, n_bins=None, covered_until=None)

    def range(self, first: When | None = None, last: When | None = None) -> slice:
        """Return the bins of the periods ``first`` to ``last``, both included; ``None`` is the axis' own end.

        >>> axis = TimeAxis.between("2018-01-01", "2018-12-31")
        >>> axis.range("2018-02", "2018-03-04")
        slice(31, 63, None)
        """
        low = self._covered(0)[0] if first is None else self._grid.period(first, setting="first")[0]
        if last is not None:
            high = self._grid.period(last, setting="last")[1]
        elif self.n_bins is not None:
            high = self._covered(self.n_bins - 1)[1]
        else:
            raise SettingError("last must be given on a time axis without end; got last=None. Give a date.")
        if not low < high and None in (first, last):
            raise self._off_axis("first", first) if last is None else self._off_axis("last", last)
        if not low < high:
            raise SettingError(f"last must not be before first; got first={first}, last={last}. Swap the two.")
        bins = self._bins_covered(np.array([low, high - 1]), np.ones(2, bool)).tolist()
        for setting, when, bin in (("first", first, bins[0]), ("last", last, bins[1])):
            if bin < 0:
                raise self._off_axis(setting, when)
        self._check_whole("first", first, low == self._covered(bins[0])[0], bins[0])
        self._check_whole("last", last, high == self._covered(bins[1])[1], bins[1])
        return slice(bins[0], bins[1] + 1)

    def coarsen(self, step: str, n_bins: int | None = None) -> tuple[TimeAxis, Bins]:
        """Return the axis of a coarser step and, for every bin of this one, its bin there.

        Sums over these groups are exact: every bin lies within one coarser bin, and a coarser bin of which this
        axis holds only a part is partial. Without an end, ``n_bins`` says for how many bins groups are wanted.

        >>> days = TimeAxis.between("2018-03-30", "2018-04-02")
        >>> months, month_of_day = days.coarsen("month")
        >>> months.labels(), month_of_day
        (['2018-03-30/2018-03-31', '2018-04-01/2018-04-02'], array([0, 0, 1, 1]))
        """
        step = parse_step(step)
        check_coarsens(self.step, step)
        edges = self._edges(n_bins)
        if step == self.step:
            return self, np.arange(edges.size - 1, dtype=np.int64)
        local = self._grid.local_of(edges)
        grid = Grid(floor(datetime_of(local[0]), step), step, self.zone)
        groups = grid.bins(local[:-1])
        self._check_exact(grid, groups, edges)
        covered_from = None if self._is_edge(edges[0], grid.origin) else datetime_of(local[0])
        if self.n_bins is None:
            return TimeAxis(grid.start, step, self.zone, None, covered_from), groups
        n_groups = int(groups[-1]) + 1
        covered_until = None if self._is_edge(edges[-1], grid.edge(n_groups)) else datetime_of(local[-1])
        return TimeAxis(grid.start, step, self.zone, n_groups, covered_from, covered_until), groups

    def to_dict(self, *, with_end: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML; without the end, what a fingerprint may cover.

        >>> TimeAxis.between("2006", "2018", zone="Europe/Paris").to_dict()
        {'start': '2006-01-01', 'step': 'day', 'zone': 'Europe/Paris', 'n_bins': 4748}
        """
        values: dict[str, Any] = {"start": _iso(self.start), "step": self.step, "zone": self.zone}
        if self.covered_from is not None:
            values["covered_from"] = _iso(self.covered_from)
        if with_end and self.n_bins is not None:
            values["n_bins"] = self.n_bins
            if self.covered_until is not None:
                values["covered_until"] = _iso(self.covered_until)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TimeAxis:
        """Rebuild an axis from the values of :meth:`to_dict`."""
        known = {"start", "step", "zone", "n_bins", "covered_from", "covered_until"}
        if not isinstance(values, Mapping) or not {"start", "step", "zone"} <= values.keys() <= known:
            raise SettingError(
                "a time axis must have start, step and zone, and may have n_bins, covered_from and covered_until. "
                "Correct these names."
            )
        return cls(**values)

    @property
    def _grid(self) -> Grid:
        return Grid(self.start, self.step, self.zone)

    def _edges(self, n: int | None) -> Seconds:
        """Return the moments on the clock between which the bins count, one more than there are bins."""
        if self.n_bins is None:
            if n is None:
                raise SettingError("the number of bins must be given on a time axis without end. Say how many.")
            check_at_least(1, n_bins=n)
        elif n is not None and n != self.n_bins:
            raise SettingError(
                f"the number of bins must be {self.n_bins} on this axis, or left out; got {n}. "
                "Cut the axis first: axis.with_end(n_bins)."
            )
        edges = self._grid.edges(self.n_bins or n or 1)
        if self.covered_from is not None:
            edges[0] = seconds_of(self.covered_from)
        if self.covered_until is not None:
            edges[-1] = seconds_of(self.covered_until)
        return edges

    def _covered(self, bin: int) -> tuple[int, int]:
        """Return the moments on the clock between which a bin counts."""
        low, high = self._grid.edge(bin), self._grid.edge(bin + 1)
        if bin == 0 and self.covered_from is not None:
            low = seconds_of(self.covered_from)
        if bin + 1 == self.n_bins and self.covered_until is not None:
            high = seconds_of(self.covered_until)
        return low, high

    def _bins_covered(self, clock: Seconds, is_time: NDArray[np.bool_]) -> Bins:
        inside = is_time & (clock >= self._covered(0)[0])
        if self.n_bins is not None:
            inside &= clock < self._covered(self.n_bins - 1)[1]
        return np.where(inside, self._grid.bins(clock), -1)

    def _off_axis(self, setting: str, when: When | None) -> SettingError:
        first = self.label(0)
        extent = f"from {first} on" if self.n_bins is None else f"{first} to {self.label(self.n_bins - 1)}"
        part = self._part_of(when)
        advice = "Ask for a time inside it." if part is None else f"Of that, {part} is counted: ask for it."
        return SettingError(f"{setting} must lie on the time axis, {extent}; got {setting}={when}. {advice}")

    def _part_of(self, when: When | None) -> str | None:
        """Return the first and last bin of a longer period that lie on the axis, in words; None if none does."""
        if when is None or self.n_bins is None:
            return None
        low, high = self._grid.period(when, setting="first")
        edges = self._edges(None)
        inside = np.flatnonzero((edges[:-1] >= low) & (edges[1:] <= high))
        return f"{self.label(int(inside[0]))} to {self.label(int(inside[-1]))}" if inside.size else None

    def _check_whole(self, setting: str, when: When | None, is_whole: bool, bin: int) -> None:
        if not is_whole:
            raise SettingError(
                f"{setting} must be a whole {self.step} of the axis; got {setting}={when}, inside {self.label(bin)}. "
                "Ask for whole bins, or count by a finer step."
            )

    def _check_cover(self) -> None:
        grid = self._grid
        if self.covered_from is not None:
            at = seconds_of(self.covered_from)
            if grid.is_elapsed or not grid.origin < at < grid.edge(1):
                raise _cover_error("covered_from", "inside the first bin", self.covered_from)
        if self.covered_until is not None:
            at = seconds_of(self.covered_until)
            last = None if self.n_bins is None else self.n_bins - 1
            if last is None or grid.is_elapsed or not grid.edge(last) < at < grid.edge(last + 1):
                raise _cover_error("covered_until", "inside the last bin", self.covered_until)
            if not self._covered(last)[0] < at:
                raise _cover_error("covered_until", "after covered_from, inside the last bin", self.covered_until)

    def _is_edge(self, moment: np.int64, local: int) -> bool:
        """Say whether a moment on the clock is this wall-clock time; a skipped midnight is one o'clock."""
        if not self._grid.is_elapsed:
            return bool(moment == local)
        return bool(moment == self._grid.clock_of_local(np.array([local]))[0])

    def _check_exact(self, grid: Grid, groups: Bins, edges: Seconds) -> None:
        """Refuse where an elapsed hour straddles two coarser bins, or the end falls in a repeated hour."""
        if not self._grid.is_elapsed:
            return
        lasts = grid.bins(self._grid.local_of(edges[1:] - 1))
        ends = self._grid.local_of(edges[-1:])
        is_first = self._grid.clock_of_local(ends)[0] == edges[-1]
        if not (np.array_equal(groups, lasts) and (self.n_bins is None or is_first)):
            raise SettingError(
                f"step must be made of whole hours of the axis in {self.zone}; got step={grid.step!r}: a change of the "
                "clocks cuts one in two. Start and end the axis at midnight, or count by that step from the start."
            )


def _naive(when: When, *, setting: str) -> datetime:
    start = parse_period(when, setting=setting).start
    if start.tzinfo is not None or start.microsecond:
        raise SettingError(
            f"{setting} must be a local time in whole seconds, without offset; got {setting}={when}. "
            "Give the zone apart."
        )
    return start


def _cover_error(setting: str, rule: str, value: datetime) -> SettingError:
    return SettingError(
        f"{setting} must lie {rule} of an axis of a step above the hour; got {setting}={_iso(value)}. "
        "Use TimeAxis.between."
    )


def _iso(when: datetime) -> str:
    text = when.isoformat()
    return text[:10] if text.endswith("T00:00:00") else text.removesuffix(":00")


def _seconds(times: Times) -> Seconds:
    return np.asarray(times).astype("datetime64[s]", copy=False).astype(np.int64, copy=False)
