"""The way of a message into the store: many wait together for one commit, and each is answered after it.

While a transaction is written, further messages gather and share the next one. So one report at a time costs little,
and the disk is waited for a few hundred times a second at most. Messages that wait have a limit in bytes; beyond it
senders are told to come again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from tacit.service.activity import Activity
from tacit.service.refusals import Reason, Refused, reason_of
from tacit.service.store import Outcome, Store
from tacit.service.survey import Addition, Survey
from tacit.service.watching import look_at_message

MOST_WAITING: Final = 64 << 20
"""Bytes of messages that may wait for the store: some seconds of a fast sender. Doubled, twice the memory."""
MOST_TOGETHER: Final = 256
"""Messages of one transaction. Four times as many are hardly faster, and a failure concerns four times as many."""

COUNTED_AT_ONCE: Final = 1024
"""Bytes of a message that is counted without another thread: some hundred reports, which take less than the way there
and back."""


class Ingest:
    """Takes messages for all surveys of a store. One for each process; ``run`` must be running."""

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store, self._clock = store, clock
        self._waiting: asyncio.Queue[tuple[Addition, asyncio.Future[Outcome]]] = asyncio.Queue()
        self._n_bytes = 0
        self._threads = ThreadPoolExecutor(2, "tacit-ingest")  # one counts reports, one writes
        self._watcher = ThreadPoolExecutor(1, "tacit-watch")
        self._refusals: Counter[tuple[str, Reason]] = Counter()
        self.activity = Activity(clock)

    @property
    def n_waiting(self) -> int:
        """How many messages wait for a commit."""
        return self._waiting.qsize()

    @property
    def n_bytes(self) -> int:
        """How many bytes of messages are held."""
        return self._n_bytes

    async def take(self, survey: Survey, data: bytes) -> tuple[Outcome, int]:
        """Count a message, and return what became of it and how many reports it has; on return it is durable."""
        try:
            return await self._taken(survey, data)
        except Exception as problem:
            self.refused(survey, reason_of(problem))
            raise

    def refused(self, survey: Survey, reason: Reason) -> None:
        """Note that something was refused; it is written down with the next messages."""
        self._refusals[survey.id, reason] += 1
        self.activity.refused(survey.id, reason)

    async def _taken(self, survey: Survey, data: bytes) -> tuple[Outcome, int]:
        if self._n_bytes + len(data) > MOST_WAITING:
            raise Refused(
                Reason.BUSY, "too many reports are waiting to be counted. Send it again later.", retry_after=2
            )
        self._n_bytes += len(data)
        try:
            loop = asyncio.get_running_loop()
            if len(data) <= COUNTED_AT_ONCE:
                addition = survey.addition(data, self._clock())
            else:
                addition = await loop.run_in_executor(self._threads, survey.addition, data, self._clock())
            done: asyncio.Future[Outcome] = loop.create_future()
            self._waiting.put_nowait((addition, done))
            outcome = await done
        finally:
            self._n_bytes -= len(data)
        if outcome is Outcome.CLOSED:
            raise Refused(Reason.CLOSED, "the period of these reports is closed.")
        if outcome is Outcome.COUNTED:
            self.activity.counted(survey.id, addition.n_reports)
        return outcome, addition.n_reports

    async def run(self) -> None:
        """Write what waits, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            group = [await self._waiting.get()]
            while len(group) < MOST_TOGETHER and not self._waiting.empty():
                group.append(self._waiting.get_nowait())
            try:
                added = [one for one, _ in group]
                outcomes = await loop.run_in_executor(self._threads, self.activity.timed, self._store.add, added)
            except Exception as problem:
                for _, done in group:
                    if not done.done():
                        done.set_exception(problem)
                continue
            for (_, done), outcome in zip(group, outcomes, strict=True):
                if not done.done():  # else the sender is gone, and will ask again with the same id
                    done.set_result(outcome)
            for (addition, _), outcome in zip(group, outcomes, strict=True):
                if outcome is Outcome.COUNTED:
                    self._watcher.submit(self._look, addition)

    def _look(self, addition: Addition) -> None:
        """Look for poisoned reports; whatever goes wrong, the message is counted."""
        with suppress(Refused):
            look_at_message(self._store, self._store.survey(addition.survey_id), addition)

    def flush(self) -> None:
        """Write down what was refused since the last time."""
        refusals, self._refusals = self._refusals, Counter()
        try:
            if refusals:
                self._store.add_refusals(refusals)
        except Refused:
            self._refusals.update(refusals)
            raise
