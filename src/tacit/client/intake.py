"""What a collector takes now: a sender asks before it randomizes anything, so that nothing is spent in vain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from tacit.counts.provenance import check_plan
from tacit.domain import TimeAxis
from tacit.errors import Remedy, SettingError
from tacit.plan import Plan

_ACCESS: Final = {
    "no-token": "the survey asks for a token to send reports, and none was given.",
    "no-right": "the token given may not send reports to this survey: it is of another one, or was taken back.",
}


@dataclass(frozen=True, slots=True)
class Intake:
    """The answer of a collector to one sender. ``periods`` are numbered as in the plan; hidden time is one period."""

    plan_id: str
    access: str
    is_simulation: bool
    periods: range

    @classmethod
    def of(cls, document: dict[str, Any]) -> Intake:
        """Read an answer; one in another form raises KeyError, TypeError or ValueError."""
        first, last = document["first"], document["last"]
        periods = range(0) if first is None else range(int(first), int(last) + 1)
        return cls(str(document["plan"]), str(document["access"]), bool(document["is_simulation"]), periods)

    def check_sender(self, plan: Plan, *, is_simulation: bool) -> None:
        """Refuse a sender whose messages would be refused, whatever their periods."""
        if self.access != "allowed":
            raise SettingError(f"{_ACCESS.get(self.access, _ACCESS['no-right'])} {_NOTHING}", remedy=Remedy.GIVE_TOKEN)
        check_plan("what the collector asks for", self.plan_id, plan.fingerprint)
        if is_simulation != self.is_simulation:
            kind = "simulated reports" if self.is_simulation else "reports with real noise"
            raise SettingError(f"the survey takes {kind} alone. {_NOTHING} Use another survey.")

    def check_periods(self, time: TimeAxis | None, first: int, last: int) -> None:
        """Refuse reports of periods that are not all taken. No ``time`` is given where it is hidden: one period."""
        if first in self.periods and last in self.periods:
            return
        if time is None or not self.periods:
            raise SettingError(f"the survey takes no reports now: {_why_none(time)} {_NOTHING}")
        raise SettingError(
            f"the survey takes reports of {_span(time, self.periods[0], self.periods[-1])} now, and these are of "
            f"{_span(time, first, last)}. {_NOTHING}",
            remedy=Remedy.KEEP_TO_TAKEN,
        )


_NOTHING: Final = "Nothing was randomized."


def _why_none(time: TimeAxis | None) -> str:
    """Say why no period is taken, by the clock of whoever asks; each period that is taken is open and has begun."""
    if time is None:
        return "it has not begun, is over, or was closed."
    endless = time.without_end()
    now = int(endless.bins_of_utc(np.array([datetime.now(UTC).replace(tzinfo=None)], "datetime64[s]"))[0])
    if now < 0:
        return f"it begins with {time.label(0)}."
    if time.n_bins is not None and now >= time.n_bins:
        return f"it is over; its last period was {time.label(time.n_bins - 1)}."
    is_last = time.n_bins is not None and now + 1 == time.n_bins
    after = "It was the last one." if is_last else f"The next one, {time.label(now + 1)}, is taken when it begins."
    return f"the period of now, {time.label(now)}, is closed already, and so are those before it. {after}"


def _span(time: TimeAxis, first: int, last: int) -> str:
    return time.label(first) if first == last else f"{time.label(first)} to {time.label(last)}"
