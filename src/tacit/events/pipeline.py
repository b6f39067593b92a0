"""Work done on several pieces at once, results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_WORKERS: Final = 4


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in the order of the items, with a few under way in other threads.

    Only as many items are taken as are under way, so that memory stays flat.

    >>> list(in_order(lambda number: number * number, range(5)))
    [0, 1, 4, 9, 16]
    """
    workers = min(_MAX_WORKERS, os.cpu_count() or 1)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="tacit-events") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
