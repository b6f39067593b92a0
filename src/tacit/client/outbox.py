"""Messages on their way to a collector: on the disk until they are counted, sent again with the same id.

A message lies in ``waiting`` under its id. When the collector has counted it, now or earlier, the file goes. One that
the collector refuses for good moves to ``refused``, so that nothing is lost without a word. A token that is not
allowed can be mended, so messages wait for that, and where anything but a collector answers. A message that was damaged
on the disk is not sent: it is made again from what it was made of, or moves to ``refused`` as lost. What lies here is
randomized: it tells a finder no more than it tells the collector.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, unique
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tacit._base.extras import require
from tacit._base.files import make_folders, write_whole
from tacit.collection.wire.message import is_whole
from tacit.counts.provenance import check_plan
from tacit.domain import TimeAxis
from tacit.errors import FormatError, Remedy, SettingError
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


MESSAGE_TYPE: Final = "application/vnd.tacit.message"
# what proxies and collectors say when the same may be counted later
_TRY_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_NOT_ALLOWED: Final = frozenset({401, 403, 407})
_OWN: Final = "urn:tacit:problem:"  # how the types of a collector's own problem documents begin
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # what RFC 6750 lets a bearer token be
_LOST: Final = "Damaged on this disk, with nothing to make it from again: its reports cannot be counted any more."
_TIMEOUT_SECONDS: Final = 30.0  # far longer than a commit takes, so that a slow answer is not asked for twice
_ASKING_SECONDS: Final = 5.0  # to be told what is taken; a device that hears nothing by then is offline
_LONGEST_WAIT: Final = 60.0  # seconds between two tries: the collector is back soon after, and is not pressed


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of the messages that were waiting."""

    n_counted: int = 0
    n_waiting: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """How many messages were refused for good, or were lost, by the reason."""
    held_up: str = ""
    """Why messages wait, if the collector said so; empty where nobody answered."""
    counted: frozenset[str] = frozenset()
    """The ids of the messages that were counted, in hexadecimal digits."""


@unique
class _End(Enum):
    COUNTED = "counted"
    REFUSED = "refused"
    WAITING = "waiting"


class _Told(NamedTuple):
    """What became of one message, and what the collector said of it."""

    end: _End
    words: str = ""


_LOST_ONE: Final = _Told(_End.REFUSED, _LOST)


class Outbox:
    """The messages of one device or station for one survey, in a folder."""

    def __init__(self, folder: str | Path, url: str, *, token: str | None = None) -> None:
        if not url.startswith(("https://", "http://")):
            raise SettingError(f"the address of a survey begins with https://; got {url!r}.")
        self.url: Final = url.rstrip("/")
        self._waiting = Path(folder) / "waiting"
        self.refused: Final = Path(folder) / "refused"
        self._headers = authorization(token)
        for one in (self._waiting, self.refused):
            make_folders(one)

    def put(self, message: bytes, id: bytes) -> None:
        """Take a message; on return it is on the disk."""
        write_whole(self._waiting / f"{id.hex()}.message", message)

    def has_refused(self, id: str) -> bool:
        """Return whether the message of this id was refused for good, or lost."""
        return (self.refused / f"{id}.message").exists()

    def has(self, id: str) -> bool:
        """Return whether the message of this id waits, or was refused."""
        return self.has_refused(id) or (self._waiting / f"{id}.message").exists()

    def __len__(self) -> int:
        return len(self._paths())

    def _paths(self) -> list[Path]:
        # by random ids: the order says nothing
        return sorted(path for path in self._waiting.glob("*.message") if path.is_file())

    def fetch(self, what: str) -> Any:
        """Return a public document of the survey, such as its plan."""
        httpx2 = require("httpx2", extra="client")
        try:
            answer = httpx2.get(f"{self.url}/{what}", headers=self._headers, timeout=_TIMEOUT_SECONDS)
            if answer.status_code != 200:
                raise FormatError(f"{self.url} gave no {what}. {_reason(answer)} Check the address.")
            return answer.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
            raise FormatError(
                f"{self.url} gave no {what} ({type(problem).__name__}). Check the address, or try again later."
            ) from None

    def intake(self) -> Intake | None:
        """Return what the collector takes now from this sender; None if it cannot be reached.

        Whatever answers in another form is not taken for the collector: a network may put a page of its own before it.
        """
        httpx2 = require("httpx2", extra="client")
        try:
            answer = httpx2.get(f"{self.url}/intake", headers=self._headers, timeout=_ASKING_SECONDS)
            return Intake.of(answer.json()) if answer.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError, TypeError):
            return None

    def send(
        self,
        *,
        tries: int = 5,
        progress: Callable[[int, int], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        rebuild: Callable[[str], bytes | None] = lambda _: None,
    ) -> Sent:
        """Send what waits. A message that cannot be delivered after so many tries stays, and so do those after it.

        ``rebuild`` gives the message of an id again, if it can: for those that were damaged on the disk.
        """
        httpx2 = require("httpx2", extra="client")
        paths, counted, refused, held_up = self._paths(), set[str](), Counter[str](), ""
        with httpx2.Client(headers=self._headers, timeout=_TIMEOUT_SECONDS) as client:
            for path in paths:
                found = path.read_bytes()
                content = found if is_whole(found) else rebuild(path.stem)
                told = _LOST_ONE if content is None else self._deliver(httpx2, client, content, tries, sleep)
                if told.end is _End.WAITING:
                    held_up = told.words
                    break
                if told.end is _End.REFUSED:
                    refused[told.words] += 1
                    path.replace(self.refused / path.name)
                else:
                    counted.add(path.stem)
                    (self.refused / path.name).unlink(missing_ok=True)  # another copy of it, refused earlier
                    path.unlink()
                if progress is not None:
                    progress(len(counted) + refused.total(), len(paths))
        return Sent(len(counted), len(self), dict(refused), held_up, frozenset(counted))

    def _deliver(self, httpx2: Any, client: Any, content: bytes, tries: int, sleep: Callable[[float], None]) -> _Told:
        """Send one message until it is counted, refused, or so many tries are over."""
        words = ""
        for number in range(tries):
            # no secret: senders that were cut off together shall not come back together
            wait = min(_LONGEST_WAIT, 2.0**number) * random.uniform(0.5, 1.0)
            try:
                answer = client.post(f"{self.url}/reports", content=content, headers={"Content-Type": MESSAGE_TYPE})
            except httpx2.HTTPError:
                answer = None
            is_last = number + 1 == tries
            if answer is not None:
                if _is_counted(answer):
                    return _Told(_End.COUNTED)
                words, kind = _reason(answer), _problem(answer).get("type", "")
                # damaged on its way, it is whole when it comes again
                may_help = answer.status_code in _TRY_AGAIN or kind == f"{_OWN}damaged"
                if not may_help:
                    is_final = kind.startswith(_OWN) and answer.status_code not in _NOT_ALLOWED
                    return _Told(_End.REFUSED if is_final else _End.WAITING, words)
            if not is_last:
                told = "" if answer is None else answer.headers.get("Retry-After", "")
                sleep(max(wait, min(_LONGEST_WAIT, float(told)) if told.isdigit() else 0.0))
        return _Told(_End.WAITING, words)


def authorization(token: str | None) -> dict[str, str]:
    """Return the header that shows a token; one that no header can hold is refused, and not repeated."""
    if token is None:
        return {}
    if not _TOKEN.fullmatch(token):
        raise SettingError(
            "the token must have letters, digits and - . _ ~ + / = alone; got another character, or nothing. Look for "
            "a space or the end of a line at its end."
        )
    return {"Authorization": f"Bearer {token}"}


def _problem(answer: Any) -> dict[str, str]:
    """Return the problem document of an answer; nothing where it has none."""
    try:
        found = answer.json()
        return {name: str(found[name]) for name in ("type", "title", "detail") if name in found}
    except (ValueError, TypeError):
        return {}


def _reason(answer: Any) -> str:
    """Return what a collector said of a message that it did not count."""
    told = _problem(answer)
    if {"title", "detail"} <= told.keys():
        return f"{told['title']}: {told['detail']}"
    return f"What answered is no collector: HTTP status {answer.status_code}."


def _is_counted(answer: Any) -> bool:
    """Return whether a collector says that it has counted the message; a network may answer with a page of its own."""
    try:
        return bool(answer.status_code == 200 and answer.json()["outcome"] in ("counted", "seen"))
    except (ValueError, TypeError, KeyError):
        return False
