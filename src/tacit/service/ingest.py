"""The way of a message into the store: many wait together for one commit, and each is answered after it.

While a transaction is written, further messages gather and share the next one. So one report at a time costs little,
and the disk is waited for a few hundred times a second at most. Messages that wait have a limit in bytes; beyond it
senders are told to come again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

from tacit.service.activity import Activity
from tacit.service.commits import Outcome
from tacit.service.refusals import Reason, Refused
from tacit.service.single import addition_of
from tacit.service.store import Store
from tacit.service.survey import Addition, Survey
from tacit.service.watching import LOOKED_FROM, look_at_message

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
        self._counter = ThreadPoolExecutor(1, "tacit-count")
        self._writer = ThreadPoolExecutor(1, "tacit-write")  # its own, so that no commit waits for a large message
        self._watcher = ThreadPoolExecutor(1, "tacit-watch")
        self._refusals: Counter[tuple[str, Reason]] = Counter()
        self._noting = threading.Lock()  # of refusals: they are noted here and written down by other threads
        self.activity = Activity(clock)

    @property
    def n_waiting(self) -> int:
        """How many messages wait for a commit."""
        return self._waiting.qsize()

    @property
    def n_bytes(self) -> int:
        """How many bytes of messages are held."""
        return self._n_bytes

    def refused(self, survey: Survey, reason: Reason) -> None:
        """Note that something was refused; it is written down with the next messages."""
        with self._noting:
            self._refusals[survey.id, reason] += 1
        self.activity.refused(survey.id, reason)

    async def take(self, survey: Survey, data: bytes) -> tuple[Outcome, int]:
        """Count a message, and return what became of it and how many reports it has; on return it is durable."""
        with self._held(data):
            if len(data) <= COUNTED_AT_ONCE:
                return await self._written(survey, survey.addition(data, self._clock()))
            loop = asyncio.get_running_loop()
            addition = await loop.run_in_executor(self._counter, survey.addition, data, self._clock())
            return await self._written(survey, addition)

    async def take_one(self, survey: Survey, data: bytes) -> tuple[Outcome, int]:
        """Count a single report that comes as JSON."""
        with self._held(data):
            return await self._written(survey, addition_of(data, survey, self._clock()))

    @contextmanager
    def _held(self, data: bytes) -> Iterator[None]:
        """Count the bytes that are held until they are written, and refuse beyond the limit."""
        if self._n_bytes + len(data) > MOST_WAITING:
            raise Refused(
                Reason.BUSY, "too many reports are waiting to be counted. Send it again later.", retry_after=2
            )
        self._n_bytes += len(data)
        try:
            yield
        finally:
            self._n_bytes -= len(data)

    async def _written(self, survey: Survey, addition: Addition) -> tuple[Outcome, int]:
        """Wait until an addition is on the disk."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((addition, done))
        outcome = await done
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
                outcomes = await loop.run_in_executor(self._writer, self.activity.timed, self._store.add, added)
            except Exception as problem:
                for _, done in group:
                    if not done.done():
                        done.set_exception(problem)
                continue
            for (addition, done), outcome in zip(group, outcomes, strict=True):
                if not done.done():  # else the sender is gone, and will ask again with the same id
                    done.set_result(outcome)
                if outcome is Outcome.COUNTED and addition.n_reports >= LOOKED_FROM:  # few: the way there costs
                    self._watcher.submit(self._look, addition)

    def _look(self, addition: Addition) -> None:
        """Look for poisoned reports; whatever goes wrong, the message is counted."""
        with suppress(Refused):
            look_at_message(self._store, self._store.survey(addition.survey_id), addition)

    def refusals(self, survey: Survey) -> dict[str, int]:
        """Return how many messages were refused for each reason, with those that could not be written down yet."""
        with suppress(Refused):  # a full disk can still be read
            self.flush()
        with self._noting:
            unwritten = {reason.value: n for (name, reason), n in self._refusals.items() if name == survey.id}
        return dict(sorted((Counter(self._store.refusals(survey)) + Counter(unwritten)).items()))

    def flush(self) -> None:
        """Write down what was refused since the last time."""
        with self._noting:
            refusals, self._refusals = self._refusals, Counter()
        try:
            if refusals:
                self._store.add_refusals(refusals)
        except Refused:
            with self._noting:
                self._refusals.update(refusals)
            raise
