"""Results of tasks added up in the cluster: few come to the driver, however many partitions the rows have.

Results have the numbers of their parts, and those of neighbouring parts are added: row numbers grow along the way. The
driver gets at most :data:`FAN_IN` of them, each no larger than the cells that hold events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from operator import add, itemgetter
from typing import Any, Final

from pyspark.sql import DataFrame

from tacit.engines.tasks import packed, unpacked
from tacit.errors import TacitError

FAN_IN: Final = 16
"""Results that one task, or the driver, adds up. Halved, a third more rounds where there are thousands of partitions;
doubled, twice the memory of the driver and of a task, which hold so many results at a time."""

Numbered = tuple[int, bytes]


def results_of(frame: DataFrame, shared: Mapping[str, object], *, n_rounds: int = 0) -> list[tuple[int, Any]]:
    """Return the results that a frame of parts and payloads holds, by their numbers; a refusal among them is raised.

    Results with negative numbers are a sequence of their own, -1 its first. ``n_rounds`` are made in any case.
    """
    rows: Any = frame.rdd
    n_left = rows.getNumPartitions()
    while n_left > FAN_IN or n_rounds > 0:
        n_left, n_rounds = -(-n_left // FAN_IN), n_rounds - 1
        rows = rows.map(_grouped).partitionBy(n_left, int).mapPartitions(partial(merge, shared=dict(shared)))
    found = sorted(((int(part), payload) for part, payload in rows.collect()), key=itemgetter(0))
    return [(part, unpacked(bytes(payload), shared)) for part, payload in found]


def _grouped(row: Any) -> tuple[int, Numbered]:
    """The group of a result among neighbours, and the result."""
    part, payload = row
    return group_of(int(part)), (int(part), bytes(payload))


def group_of(part: int) -> int:
    """Return the group of a part; negative parts are in groups of their own, counted from -1 downwards.

    >>> [group_of(part) for part in (0, 15, 16, -1, -16, -17)]
    [0, 0, 1, -1, -1, -2]
    """
    return part // FAN_IN if part >= 0 else -1 - (-1 - part) // FAN_IN


def merge(rows: Iterable[tuple[int, Numbered]], *, shared: Mapping[str, object]) -> Iterator[Numbered]:
    """Add the results of each group up in the order of their parts; runs on the executors."""
    groups: dict[int, list[Numbered]] = {}
    for group, one in rows:
        groups.setdefault(group, []).append(one)
    for group, some in groups.items():
        # from -1 downwards, or from 0 upwards
        some.sort(key=lambda one: one[0] if one[0] >= 0 else -one[0])
        try:
            result: object = reduce(add, (unpacked(payload, shared) for _, payload in some))
        except TacitError as refusal:
            result = refusal
        some.clear()
        yield group, packed(result)
