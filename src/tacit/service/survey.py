"""A survey: reports that are collected under one plan, in which periods they are taken, and what a message adds.

Time, where it is public, is cut into the plan's periods. A report is taken in its own period and in the ``late`` ones
after it; nothing is taken for a period that has not begun. Where time is private there is one period, which lasts as
long as the plan's axis. What is closed stays closed, whatever the clock says later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.collection.wire import MessageFormat
from tacit.domain import TimeAxis
from tacit.domain.names import is_on_one_line
from tacit.errors import PlanError, SettingError
from tacit.plan import Plan
from tacit.service.refusals import Reason, Refused
from tacit.service.settings import check_late

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")  # it stands in addresses and in names of files


def is_name(word: str) -> bool:
    """Return whether a survey may have this name.

    >>> is_name("visits-2026"), is_name("Visits"), is_name("visits-")
    (True, False, False)
    """
    return _NAME.fullmatch(word) is not None


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """What one message adds to a survey: its id, and for each public bin the reports and their statistics."""

    survey_id: str
    message_id: bytes
    bins: NDArray[np.int64]
    run_lengths: NDArray[np.int64]
    statistics: NDArray[np.int64]
    reports: NDArray[np.uint8]
    periods: tuple[int, int]
    """The first and the last period that it speaks of."""

    @property
    def n_reports(self) -> int:
        return len(self.reports)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """A plan that is collected under a name. ``is_simulation`` takes simulated reports, and no others."""

    id: str
    form: MessageFormat
    late: int = 1
    is_open: bool = False
    """Whether anybody may send reports; else a write token is asked for."""
    is_simulation: bool = False

    def __post_init__(self) -> None:
        if not is_name(self.id):
            raise SettingError(
                f"a survey's name must have 1 to 64 small letters, digits and hyphens; got {self.id!r}. Use one "
                "such as visits-2026."
            )
        check_late(self.late)
        if not is_on_one_line(self.plan.name):
            raise PlanError("the plan's name must be on one line, without control characters. Rename it in the plan.")

    def check_same(self, other: Survey) -> None:
        """Refuse another survey under this one's name, by the first setting that differs."""
        for setting, there, here in (
            ("plan", self.form.plan_id[:12], other.form.plan_id[:12]),
            ("simulation", self.is_simulation, other.is_simulation),
            ("late", self.late, other.late),
            ("open", self.is_open, other.is_open),
        ):
            if there != here:
                raise SettingError(
                    f"there is a survey {self.id} already, whose {setting} is {there}, and not {here}. Choose another "
                    "name for this one."
                )

    @property
    def plan(self) -> Plan:
        return self.form.plan

    @property
    def has_public_time(self) -> bool:
        return "time" not in self.plan.private

    def period_of(self, bin: int) -> int:
        """The period of a public bin."""
        return bin // self.plan.public_per_period if self.has_public_time else 0

    def n_bins(self, n_periods: int) -> int:
        """The number of public bins of the first so many periods."""
        if not self.has_public_time:
            return self.form.n_public if n_periods else 0
        return n_periods * self.plan.public_per_period

    def bins_of(self, period: int) -> range:
        """The public bins of a period."""
        return range(self.n_bins(period), self.n_bins(period + 1))

    def bin_of(self, time: str | None, place: str | None, kind: str | None) -> int:
        """The public bin of a report whose public coordinates come in words; of a time its period is left."""
        public = self.plan.public
        told = {axis for axis, word in (("time", time), ("place", place), ("kind", kind)) if word is not None}
        if told != set(public):
            raise Refused(
                Reason.MALFORMED, f"besides id and report, one of this survey has: {', '.join(public) or 'nothing'}."
            )
        try:
            period = 0 if time is None else _period_of(self.plan.domain.time, time)
        except ValueError:
            raise Refused(
                Reason.MALFORMED, "the report's time is not in the form 2026-11-17T09:30+01:00, or 2026-11-17."
            ) from None
        within = _within_period(self, place, kind)
        if period < 0:
            raise Refused(Reason.MALFORMED, _NOT_HERE.format("time"))
        return self.n_bins(period) + within if self.has_public_time else within

    def now(self, clock: datetime) -> int:
        """The period that a moment falls into: -1 before the first, one behind the last after the end."""
        time = self.plan.domain.time.without_end()
        moment = np.array([clock.astimezone(UTC).replace(tzinfo=None)], "datetime64[s]")
        found = int(time.bins_of_utc(moment)[0])
        end = self.plan.domain.time.n_bins
        if not self.has_public_time:
            assert end is not None  # a private time has an end
            return -1 if found < 0 else max(0, found - end + 1)
        return found

    def taken(self, clock: datetime) -> range:
        """The periods for which reports are taken at a moment."""
        return _taken_at(self, int(clock.timestamp()))

    def label(self, period: int) -> str | None:
        """The name of a period, none before the first; that of a survey which hides the time is all of it."""
        if period < 0:
            return None
        time = self.plan.domain.time
        if not self.has_public_time:
            return "all"
        return time.label(period if time.n_bins is None else min(period, time.n_bins - 1))

    def n_periods_through(self, until: str, clock: datetime) -> int:
        """Return how many periods there are up to the one that ``until`` names; one that has not begun is refused.

        A day names the period that it lies in. Where periods are shorter than a day, ``until`` is the moment at which
        one begins, with its offset. Anything else is refused: what is closed is never opened again.
        """
        if not self.has_public_time:
            raise Refused(Reason.QUESTION, "this survey hides the time: it is one period, which closes at its end.")
        time = self.plan.domain.time
        is_short = "hour" in time.step
        form, rule = (_MOMENT, _A_MOMENT) if is_short else (_DAY, "until must be a day in the form 2026-11-17.")
        try:
            period = _period_of(time, until) if form.fullmatch(until) else None
        except ValueError:
            period = None
        if period is None:
            raise Refused(Reason.QUESTION, rule)
        if not 0 <= period <= self.now(clock):
            raise Refused(Reason.QUESTION, f"until must be {'in' if is_short else 'a day of'} a period that has begun.")
        if is_short:
            begins = time.starts_utc(period + 1 if time.n_bins is None else None)[period].item()
            if begins != datetime.fromisoformat(until).astimezone(UTC).replace(tzinfo=None):
                raise Refused(Reason.QUESTION, _A_MOMENT)
        return period + 1

    def addition(self, data: bytes, clock: datetime) -> Addition:
        """Return what a message adds; one that is damaged, of another plan, or not taken now is refused whole."""
        batch = self.form.parse(data)
        if batch.provenance.is_simulation != self.is_simulation:
            kind = "simulated reports" if self.is_simulation else "reports with real noise"
            raise Refused(Reason.LABEL, f"this survey takes {kind} alone.")
        if batch.provenance.prior_epsilon:
            raise Refused(Reason.LABEL, "these events were randomized before, and would count twice.")
        if not batch.n_reports:
            raise Refused(Reason.EMPTY, "the message holds no report.")
        return self._addition(batch.id, batch.bins, batch.run_lengths, batch.reports, clock)

    def addition_of_one(self, id: bytes, bin: int, report: bytes, clock: datetime) -> Addition:
        """Return what a message of one report adds, without making the message."""
        return self._addition(id, np.array([bin]), _ONE, np.frombuffer(report, np.uint8)[None], clock)

    def _addition(
        self,
        id: bytes,
        bins: NDArray[np.int64],
        run_lengths: NDArray[np.int64],
        reports: NDArray[np.uint8],
        clock: datetime,
    ) -> Addition:
        periods = self.period_of(int(bins[0])), self.period_of(int(bins[-1]))
        taken = self.taken(clock)
        if periods[1] >= taken.stop:
            raise Refused(Reason.EARLY, "the message speaks of a period that has not begun, or of none of this survey.")
        if periods[0] < taken.start:
            raise Refused(Reason.LATE, "the message speaks of a period for which no more reports are taken.")
        statistics = self.form.mechanism.statistics(reports, run_lengths)
        return Addition(self.id, id, bins, run_lengths, statistics, reports, periods)


_ONE: Final = np.ones(1, np.int64)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT: Final = re.compile(_DAY.pattern + r"T[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})")
_A_MOMENT: Final = (
    "until must be the moment at which a period begins, in the form 2026-11-17T09:00Z, or 2026-11-17T10:00%2B01:00: "
    "in an address + is written as %2B."
)
_NOT_HERE: Final = "the report's {} is none of this survey's."


@lru_cache(maxsize=64)  # one for each survey; the time is the collector's own, never that of a report
def _taken_at(survey: Survey, second: int) -> range:
    now = survey.now(datetime.fromtimestamp(second, UTC))
    end = survey.plan.domain.time.n_bins if survey.has_public_time else 1
    last = now if end is None else min(now, end - 1)
    return range(max(0, now - survey.late), last + 1)


@lru_cache(maxsize=4096)  # of the places and kinds of surveys; four times as many would be a megabyte
def _within_period(survey: Survey, place: str | None, kind: str | None) -> int:
    """The number of a public bin within its period. What is refused is not kept here."""
    domain = survey.plan.domain
    numbers = [
        0 if word is None or axis is None else int(axis.match([word])[0])
        for axis, word in ((domain.place, place), (domain.kind, kind))
    ]
    if min(numbers) < 0:
        raise Refused(Reason.MALFORMED, _NOT_HERE.format("place" if numbers[0] < 0 else "kind"))
    column = numbers[0] * domain.n_kinds + numbers[1]
    return int(survey.plan.split(np.zeros(1, np.int64), np.array([column]))[0][0])


def _period_of(axis: TimeAxis, time: str) -> int:
    """The bin of a time in ISO 8601: an instant with its offset, or the local time of the survey's zone.

    What is not in that form, or in no calendar, raises ValueError.
    """
    moment = datetime.fromisoformat(time)
    try:
        if moment.tzinfo is None:
            return int(axis.bins_of_local(np.array([moment], "datetime64[s]"))[0])
        return int(axis.bins_of_utc(np.array([moment.astimezone(UTC).replace(tzinfo=None)], "datetime64[s]"))[0])
    except OverflowError as problem:
        raise ValueError("time") from problem
