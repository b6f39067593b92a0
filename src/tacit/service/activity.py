"""What a process remembers of its own work, in memory alone: sums over all senders of a survey, gone when it stops.

Reports by hour are finer than what the store keeps, so nothing writes them down. A small sum is not shown: in an hour
with one report it would say when somebody reported.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tacit.service.refusals import Reason

N_HOURS: Final = 48
"""Hours that are remembered: today and yesterday. Twice as many do not fit on a phone."""
LEAST_SHOWN: Final = 10
"""Reports of an hour that are shown as a number. With 5, the hour of a small group could be read."""
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Limits in seconds of the histogram of commits: from a fast disk to a store that is stuck, about twice each."""
_SECONDS: Final = 3600  # of an hour


@dataclass(slots=True)
class Histogram:
    """How many commits took how long: ``counts`` has one number more than there are limits."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class Activity:
    """The work of one process. Everything but commits is noted by its one event loop."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self.commits = Histogram()
        self.n_failed = 0
        """Commits that failed."""
        self.n_messages = 0
        """Messages that were counted."""
        self._hours: deque[tuple[int, Counter[str]]] = deque(maxlen=N_HOURS)
        self._refusals: dict[int, Counter[tuple[str, Reason]]] = {}

    def counted(self, survey_id: str, n_reports: int) -> None:
        """Note that a message was counted."""
        hour = self._hour()
        if not self._hours or self._hours[-1][0] < hour:  # a clock that jumps back adds to the last hour
            self._hours.append((hour, Counter()))
        self._hours[-1][1][survey_id] += n_reports
        self.n_messages += 1

    def hours(self, survey_id: str) -> list[int | None]:
        """Return the reports of each of the last hours, the present one last; none stands for a small number."""
        sums = {hour: found[survey_id] for hour, found in tuple(self._hours)}
        last = self._hour()
        found = (sums.get(hour, 0) for hour in range(last - N_HOURS + 1, last + 1))
        return [n if n == 0 or n >= LEAST_SHOWN else None for n in found]

    def refused(self, survey_id: str, reason: Reason) -> None:
        """Note that something was refused, for the log of the hour."""
        self._refusals.setdefault(self._hour(), Counter())[survey_id, reason] += 1

    def finished_refusals(self, *, is_end: bool = False) -> Iterator[tuple[str, Reason, int]]:
        """Yield survey, reason and number of what was refused in hours that are over, each once; at the end all."""
        now = self._hour()
        for hour in [hour for hour in self._refusals if is_end or hour < now]:
            for (survey_id, reason), n in sorted(self._refusals.pop(hour).items(), key=lambda one: one[0][0]):
                yield survey_id, reason, n

    def timed(self, add: Callable[[Sequence[Any]], Any], group: Sequence[Any]) -> Any:
        """Commit a group, and note how long it took or that it failed."""
        began = time.perf_counter()
        try:
            outcomes = add(group)
        except BaseException:
            self.n_failed += 1
            raise
        self.commits.add(time.perf_counter() - began)
        return outcomes

    def _hour(self) -> int:
        return int(self._clock().timestamp()) // _SECONDS
