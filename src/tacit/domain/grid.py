"""The endless bins of a step in a time zone, before anything is said of where counting ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tacit.domain.period import When, parse_period
from tacit.domain.step import EPOCH, Seconds, bins_from, edges_from, floor, seconds_of
from tacit.domain.zone import ZoneTable
from tacit.errors import SettingError

_LAST_SECOND = seconds_of(datetime(9998, 12, 31))


@dataclass(frozen=True, slots=True)
class Grid:
    """Bins counted on a clock: of instants for the elapsed hour, of the local wall for all other steps."""

    start: datetime
    step: str
    zone: str

    @property
    def is_elapsed(self) -> bool:
        """Say whether the clock is that of instants."""
        return self.step == "hour"

    @property
    def origin(self) -> int:
        """The moment on the clock at which bin 0 starts."""
        local = np.array([seconds_of(self.start)])
        return int(self._table(local).to_utc(local)[0]) if self.is_elapsed else int(local[0])

    def bins(self, clock: Seconds) -> NDArray[np.int64]:
        """Number the bins of moments on the clock; negative before the start."""
        return bins_from(self.origin, self.step, clock)

    def edges(self, n_bins: int) -> Seconds:
        """Return the moments on the clock at which ``n_bins`` bins start and the last one ends."""
        return edges_from(self.origin, self.step, n_bins)

    def edge(self, bin: int) -> int:
        """Return the moment on the clock at which a bin starts."""
        # one year or month back and forth is cheaper than all the edges before it
        return int(edges_from(self.origin, self.step, bin)[-1])

    def clock_of_local(self, local: Seconds) -> Seconds:
        """Turn wall-clock seconds into moments on the clock."""
        table = self._table(local)
        return table.to_utc(local) if self.is_elapsed else self._moved_forward(local, table)

    def clock_of_utc(self, instants: Seconds) -> Seconds:
        """Turn instants into moments on the clock."""
        return instants if self.is_elapsed else self._table(instants).to_local(instants)

    def local_of(self, clock: Seconds) -> Seconds:
        """Turn moments on the clock into wall-clock seconds."""
        return self._table(clock).to_local(clock) if self.is_elapsed else clock

    def utc_of(self, clock: Seconds) -> Seconds:
        """Turn moments on the clock into instants."""
        return clock if self.is_elapsed else self._table(clock).to_utc(clock)

    def period(self, when: When, *, setting: str) -> tuple[int, int]:
        """Return where a period starts and ends on the clock, as :mod:`tacit.domain.period` reads it."""
        period = parse_period(when, setting=setting)
        low = self._moment(period.start)
        if period.end is not None:
            return low, self._moment(period.end)
        if self.is_elapsed:
            low -= (low - self.origin) % 3600
            return low, low + 3600
        step = self.step if self.step.endswith("hours") else "day"
        first = floor(EPOCH + timedelta(seconds=low), step)
        low, high = edges_from(seconds_of(first), step, 1).tolist()
        return low, high

    def check_representable(self, n_bins: int) -> None:
        """Refuse an end beyond the calendar."""
        years = {"year": 1, "month": 12}.get(self.step, 366 * 24)
        if n_bins > 9999 * years or not self.edge(n_bins) <= _LAST_SECOND:
            raise SettingError(
                f"n_bins must end the time axis before the year 9999; got n_bins={n_bins}. Give fewer bins."
            )

    def _moment(self, when: datetime) -> int:
        if when.tzinfo is not None:
            offset = when.utcoffset()
            assert offset is not None
            instant = seconds_of(when.replace(tzinfo=None)) - int(offset.total_seconds())
            return int(self.clock_of_utc(np.array([instant]))[0])
        return int(self.clock_of_local(np.array([seconds_of(when)]))[0])

    def _moved_forward(self, local: Seconds, table: ZoneTable) -> Seconds:
        """Move skipped times forward, where that changes their bin."""
        gaps = np.array(table.skipped(), np.int64).reshape(-1, 2)
        lands = 2 * gaps[:, 1] - gaps[:, 0]
        matters = self.bins(gaps[:, 0]) != self.bins(lands - 1)
        for low, high in gaps[matters]:
            local = np.where((local >= low) & (local < high), local + (high - low), local)
        return local

    def _table(self, seconds: Seconds) -> ZoneTable:
        latest = min(max(int(seconds.max(initial=0)), 0), _LAST_SECOND)
        return ZoneTable.over(self.zone, self.start.year, (EPOCH + timedelta(seconds=latest)).year)
