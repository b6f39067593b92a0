"""The endless bins of a step in a time zone, before anything is said of where counting ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tacit.domain.step import EPOCH, Seconds, When, bins_from, edges_at, floor, parse_period, seconds_of
from tacit.domain.zone import ZoneTable
from tacit.errors import SettingError

_UNITS = {"day": "D", "month": "M", "year": "Y"}
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
        return edges_at(self.origin, self.step, np.arange(n_bins + 1, dtype=np.int64))

    def edge(self, bin: int) -> int:
        """Return the moment on the clock at which a bin starts."""
        return int(edges_at(self.origin, self.step, np.array([bin], np.int64))[0])

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
        """Return where a period starts and ends on the clock, as :mod:`tacit.domain.step` reads it."""
        period = parse_period(when, setting=setting)
        low = self._moment(period.start)
        if period.end is not None:
            return low, self._moment(period.end)
        if self.is_elapsed:
            low -= (low - self.origin) % 3600
            return low, low + 3600
        step = self.step if self.step.endswith("hours") else "day"
        first = floor(_datetime(low), step)
        low, high = edges_at(seconds_of(first), step, np.array([0, 1])).tolist()
        return low, high

    def names(self, lows: Seconds, highs: Seconds, is_part: Sequence[bool]) -> list[str]:
        """Name periods on the clock by their start, or, if only part of a bin, by both ends."""
        if self.step == "week":
            weeks = (_datetime(low).isocalendar() for low in lows.tolist())
            names = [f"{year}-W{week:02d}" for year, week, _ in weeks]
        elif self.step in _UNITS:
            names = lows.astype("datetime64[s]").astype(f"datetime64[{_UNITS[self.step]}]").astype(str).tolist()
        else:
            names = self._times(lows)
        for number in np.flatnonzero(is_part):
            low, high = lows[number : number + 1], highs[number : number + 1]
            if self.step in ("week", *_UNITS) and low[0] % 86400 == high[0] % 86400 == 0:
                first, last = (edge.astype("datetime64[s]").astype("datetime64[D]") for edge in (low, high - 1))
                names[number] = f"{first[0]}/{last[0]}"
            else:
                names[number] = "/".join(self._times(np.concatenate([low, high])))
        return names

    def check_representable(self, n_bins: int) -> None:
        """Refuse an end beyond the calendar."""
        years = {"year": 1, "month": 12}.get(self.step, 366 * 24)
        if n_bins > 9999 * years or not self.edge(n_bins) <= _LAST_SECOND:
            raise SettingError(
                f"n_bins must end the time axis before the year 9999; got n_bins={n_bins}. Give fewer bins."
            )

    def _times(self, clock: Seconds) -> list[str]:
        local = self.local_of(clock)
        offsets = (local - self.utc_of(clock)).tolist()
        texts = local.astype("datetime64[s]").astype("datetime64[m]").astype(str).tolist()
        return [text + _offset_text(offset) for text, offset in zip(texts, offsets, strict=True)]

    def _moment(self, when: datetime) -> int:
        if when.tzinfo is not None:
            offset = when.utcoffset()
            assert offset is not None
            instant = seconds_of(when.replace(tzinfo=None)) - int(offset.total_seconds())
            return int(self.clock_of_utc(np.array([instant]))[0])
        local = seconds_of(when)
        # the edges of wall-clock bins are wall-clock times, also where that hour was skipped
        return int(self.clock_of_local(np.array([local]))[0]) if self.is_elapsed else local

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
        return ZoneTable.over(self.zone, self.start.year, _datetime(latest).year)


def _datetime(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def _offset_text(offset: int) -> str:
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    text = f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return f"{text}:{seconds:02d}" if seconds else text
