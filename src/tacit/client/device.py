"""A device that reports to a survey: it randomizes every value before anything is kept or sent.

The folder of a device holds the plan that it agreed to, how many reports it made in each period, the memo of a plan
whose mechanism remembers, and randomized messages that wait to be sent. The plan is fetched once: whoever runs the
collector cannot lower the noise afterwards.

Before it spends anything a device asks whether the collector would take the report: when it is made, and again when
a new period has begun or after a call of ``send`` that left something uncounted. It does not ask for every report,
because a network would see when the events are. While the collector does not answer, reports wait.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import alone, make_folders, write_whole
from tacit._base.reading import parse_json, read_document, reading
from tacit._base.validation import check_at_least
from tacit.client.outbox import Intake, Outbox, Sent
from tacit.collection.wire import MessageFormat
from tacit.counts.provenance import check_plan
from tacit.domain import TimeAxis
from tacit.errors import BudgetExhausted, PlanError, SettingError
from tacit.mechanisms.local.memo import DeviceMemo, RepeatedRandomizer
from tacit.plan import Plan
from tacit.privacy.device import remembers
from tacit.randomness import Randomness, SecureRandomness

_PLAN: Final = "plan.json"
_SPENT: Final = "spent.json"
_MEMO: Final = "memo.json"
_LOCK: Final = "lock"
_RESTORE: Final = "Restore it. Without it, or in a new folder, the device would not know what it has reported."


class Device:
    """One device, or one station that reports single events.

    ``plan_id`` is the fingerprint that the device's maker agreed to; left out, the first plan that is fetched is kept
    for ever. At most ``per_period`` reports are made of one period of time. Processes that use one folder take turns,
    on systems with locks on files.
    """

    def __init__(
        self,
        url: str,
        folder: str | Path,
        *,
        token: str | None = None,
        plan_id: str | None = None,
        per_period: int = 1,
        randomness: Randomness | None = None,
    ) -> None:
        check_at_least(1, per_period=per_period)
        self._folder = Path(folder)
        make_folders(self._folder)
        self.outbox: Final = Outbox(self._folder, url, token=token)
        self._per_period = per_period
        self._randomness = SecureRandomness() if randomness is None else randomness
        self._form = MessageFormat.of(self._agreed_plan(plan_id))
        self._lock = self._folder / _LOCK
        self._lock.touch(mode=0o600)
        with alone(self._lock):
            self._own_memo()  # a damaged one is refused before anything is reported
        self._read_spent()
        self._intake: Intake | None = None
        self._asked_in: int | None = None
        self._ask()

    @property
    def plan(self) -> Plan:
        return self._form.plan

    @property
    def epsilon(self) -> float:
        """The epsilon of one report."""
        return self.plan.epsilon

    def report(self, place: str | None = None, kind: str | None = None, *, time: datetime | None = None) -> None:
        """Randomize one event and queue its report; the event itself is kept nowhere.

        The ``time`` is now if it is left out; without a time zone it is that of the plan's zone. What the collector
        would refuse is refused here, before anything is spent: ``BudgetExhausted`` where the period has all of its
        reports, ``SettingError`` for what is not the plan's, a token that is not allowed or a period that is not taken.
        """
        domain = self.plan.domain
        bins = _bins_of(domain.time, datetime.now(UTC) if time is None else time)
        if bins[0] < 0:
            raise SettingError("the time of the event lies outside the plan's. Nothing was reported.")
        column = _number(domain.place, "place", place) * domain.n_kinds
        if domain.kind is not None:
            column += _number(domain.kind, "kind", kind)
        period = int(bins[0]) if self._has_public_time else 0
        self._check_budget(period)
        self._check_taken(period)
        with alone(self._lock):
            self._check_budget(period)  # another process may have reported meanwhile
            self._spend(period)
            memo = self._own_memo()
            message = self._form.randomize(bins, np.array([column]), randomness=self._randomness, memo=memo)
            self.outbox.put(message, self._form.parse(message).id)

    def send(self, **settings: Any) -> Sent:
        """Send all reports that wait (:meth:`Outbox.send`)."""
        sent = self.outbox.send(**settings)
        if sent.n_waiting or sent.refused or self._intake is None:
            self._asked_in = None  # what it said no longer holds, or it said nothing
        return sent

    @property
    def _has_public_time(self) -> bool:
        return "time" not in self.plan.private

    def _now(self) -> int:
        """The period of this moment by the device's own clock, beyond the end of the axis too."""
        if not self._has_public_time:
            return 0
        return int(_bins_of(self.plan.domain.time.without_end(), datetime.now(UTC))[0])

    def _ask(self) -> None:
        self._intake, self._asked_in = self.outbox.intake(), self._now()

    def _check_taken(self, period: int) -> None:
        """Refuse a report that the collector would refuse. Without an answer of it, the report may wait."""
        is_refused = self._intake is not None and period not in self._intake.periods
        if is_refused or self._asked_in != self._now():
            self._ask()
        if self._intake is not None:
            self._intake.check_sender(self.plan, is_simulation=self._randomness.is_simulation)
            self._intake.check_periods(self.plan.domain.time if self._has_public_time else None, period, period)

    def _agreed_plan(self, plan_id: str | None) -> Plan:
        path = self._folder / _PLAN
        if path.exists():
            with reading(path, "a device's plan", _RESTORE, refusal=PlanError):
                plan = Plan.from_dict(parse_json(read_document(path)))
        else:
            plan = Plan.from_dict(self.outbox.fetch("plan"))
        if plan_id is not None:
            check_plan("what the collector asks for", plan.fingerprint, plan_id)
        MessageFormat.of(plan)  # a plan whose thresholds do not give its epsilon is not kept
        if not path.exists():
            if not (self._folder / _SPENT).exists():
                self._note_spent({})
            write_whole(path, plan.to_json().encode())  # last: with a plan, an account is there too
        return plan

    def _own_memo(self) -> DeviceMemo | None:
        if not remembers(dict(self.plan.thresholds)):
            return None
        mechanism, path = cast(RepeatedRandomizer, self._form.mechanism), self._folder / _MEMO
        return DeviceMemo.read(mechanism, path) if path.exists() else DeviceMemo.create(mechanism, path)

    def _read_spent(self) -> dict[str, int]:
        path = self._folder / _SPENT
        with reading(path, "a device's own account", _RESTORE):
            found = parse_json(read_document(path))
            return {str(period): int(n) for period, n in found.items()}

    def _check_budget(self, period: int) -> None:
        spent = self._read_spent().get(str(period), 0)
        if spent >= self._per_period:
            raise BudgetExhausted(
                f"this device has made {spent} of {self._per_period} reports for the period. Nothing was reported."
            )

    def _spend(self, period: int) -> None:
        """Note a report before it is made: a crash in between loses it, and never makes two of it."""
        spent = self._read_spent()
        self._note_spent(spent | {str(period): spent.get(str(period), 0) + 1})

    def _note_spent(self, spent: dict[str, int]) -> None:
        write_whole(self._folder / _SPENT, json.dumps(spent).encode(), is_private=True)


def _bins_of(axis: TimeAxis, moment: datetime) -> NDArray[np.int64]:
    """The bin of a moment; one without a time zone is of the axis' own zone."""
    if not isinstance(moment, datetime):  # a text or a day; it is not repeated in the message
        raise SettingError(
            f"time must be a datetime; got one of type {type(moment).__name__}. Nothing was reported. Give "
            "datetime.fromisoformat(...), say."
        )
    if moment.tzinfo is None:
        return axis.bins_of_local(np.array([moment], "datetime64[s]"))
    return axis.bins_of_utc(np.array([moment.astimezone(UTC).replace(tzinfo=None)], "datetime64[s]"))


def _number(axis: Any, name: str, word: str | None) -> int:
    """Return the number of a place or kind; one that is not known is not repeated in the message."""
    if word is None:
        if axis.n_cells == 1:
            return 0
        raise SettingError(f"{name} must be given: the plan counts events by {name}.")
    found = int(axis.match([word])[0])
    if found < 0:
        raise SettingError(f"the {name} of the event is none of the plan's. Nothing was reported.")
    return found
