"""What runs on the executors where rows are counted: a batch of rows becomes part of a sum.

A task may run twice, at the same time or after it failed. It draws nothing of its own and writes nothing down: it is a
function of its rows, and gives one row of bytes to whoever asked. What is refused on purpose is given back
like a result, so that it is not tried again and its sentence is not lost in a stack trace.

Results are added up in the cluster: few come to the driver, however many partitions the rows have. They have the
numbers of their parts, and those of neighbouring parts are added: row numbers grow along the way. The driver gets at
most :data:`FAN_IN` of them, each no larger than the cells that hold events.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from operator import add, itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame

from tacit.domain import Domain
from tacit.errors import TacitError, UnreadableFile
from tacit.events.contribution_bound import BoundedCount, Hashes
from tacit.events.csv_blocks import Block, marked
from tacit.events.csv_source import CsvLayout, parse_block
from tacit.events.passes import Pass, TableReader
from tacit.events.sources import RawTable
from tacit.events.spill import Part, Spill
from tacit.events.tables import TablePiece
from tacit.plan import Plan

SCHEMA: Final = "part long, payload binary"
"""A number, by which parts are put in order, and a pickled result."""

Batches = Iterator[pa.RecordBatch]
Tables = Callable[[Batches, int], Iterator[RawTable]]


@dataclass(frozen=True, slots=True)
class FrameTables:
    """Makes tables of batches whose columns are those asked for, of about so many rows."""

    n_rows: int

    def __call__(self, batches: Batches, part: int) -> Iterator[RawTable]:
        for batch in gathered(batches, self.n_rows):
            yield TablePiece(tuple(batch.columns), batch.num_rows, 0).load()


@dataclass(frozen=True, slots=True)
class LineTables:
    """Makes tables of batches of lines of a CSV file, which the same parser reads as on one machine."""

    n_rows: int
    layout: CsvLayout
    positions: tuple[int, ...]
    encoding: str
    n_head: int

    def __call__(self, batches: Batches, part: int) -> Iterator[RawTable]:
        left = self.n_head if part == 0 else 0  # the file begins with the first part
        for batch in gathered(batches, self.n_rows):
            lines = batch.column(0).slice(left).to_pylist()
            left = max(0, left - batch.num_rows)
            if not lines:
                continue
            data = b"\n".join(lines) + b"\n"
            yield parse_block(
                Block(data if self.encoding == "utf-8" else marked(data, self.encoding)), self.layout, self.positions
            )


def gathered(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Join small batches to batches of at least ``n_rows``; calls cost the same for ten rows and for ten thousand."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= n_rows:
            yield from _joined(waiting)
            waiting = []
    yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(batches) < 2:
        return iter(batches)
    return iter(pa.Table.from_batches(batches).combine_chunks().to_batches())


def take_rows(batches: Batches, *, tables: Tables, reader: TableReader, start: Pass[Any]) -> Batches:
    """Give what the rows of a partition add up to; its rows are numbered from 0 on."""
    part = _part()
    try:
        for table in tables(batches, part):
            _take(start, reader, table)
    except TacitError as refusal:
        yield _row(part, refusal)
        return
    yield _row(part, start)


def _take(done: Pass[Any], reader: TableReader, table: RawTable) -> None:
    if table.damage is not None:
        raise UnreadableFile(f"{reader.name}: {table.damage}.")
    done.take(reader.read(table), done.n_records)
    done.n_records += table.n_records


PERSON_SCHEMA: Final = f"{SCHEMA}, first long, second long, word long"
"""A result, or a row of a person: two words of a keyed hash of person and window, one of the cell and the events."""


class _Buffer:
    """Holds the rows of persons of one table."""

    def __init__(self) -> None:
        self._rows: list[tuple[Hashes, NDArray[np.uint64]]] = []

    def add(self, hashes: Hashes, words: NDArray[np.uint64], /) -> None:
        self._rows.append((hashes, words))

    def parts(self) -> Iterator[Part]:
        return iter(())  # nothing is counted before all rows of a person have met

    def close(self) -> None:
        self._rows = []

    def batches(self) -> Batches:
        for hashes, words in self._rows:
            first, second, word = (pa.array(np.ascontiguousarray(one).view(np.int64)) for one in (*hashes.T, words))
            nothing = pa.nulls(len(words), pa.int64()), pa.nulls(len(words), pa.binary())
            yield pa.record_batch([*nothing, first, second, word], names=_PERSON_NAMES)
        self.close()


_PERSON_NAMES: Final = ["part", "payload", "first", "second", "word"]


def send_persons(batches: Batches, *, tables: Tables, reader: TableReader, start: Pass[BoundedCount]) -> Batches:
    """Give the rows of persons by their keyed hash, and last what became of all rows of the partition."""
    part, buffer = _part(), _Buffer()
    start.total.sink = buffer
    result: object = start
    try:
        for table in tables(batches, part):
            _take(start, reader, table)
            yield from buffer.batches()
    except TacitError as refusal:
        result = refusal
    start.total.close()
    yield _person_row(part, result)


def count_persons(batches: Batches, *, start: BoundedCount) -> Batches:
    """Count what a bound allows of persons whose rows have all come here; results of other tasks pass through."""
    start.sink = Spill()
    result: object = start
    with closing(start.sink):
        try:
            for batch in batches:
                is_row = batch.column(1).is_null()
                for part, payload in zip(*(batch.filter(pc.invert(is_row)).column(at) for at in (0, 1)), strict=True):
                    yield pa.record_batch({"part": [part.as_py()], "payload": [payload.as_py()]})
                rows = [batch.filter(is_row).column(at).to_numpy().view(np.uint64) for at in (2, 3, 4)]
                if len(rows[0]):
                    start.sink.add(np.stack(rows[:2], axis=1), rows[2])
            start.count()
        except TacitError as refusal:
            result = refusal
    yield _row(-1 - _part(), result)  # numbers of their own: they have no place among the parts of the source


def packed(result: object) -> bytes:
    """Pack what goes from one machine to another; the agreement, which all sides have, is left out."""
    written = io.BytesIO()
    _Packer(written, pickle.HIGHEST_PROTOCOL).dump(result)
    return written.getvalue()


def unpacked(content: bytes, shared: Mapping[str, object]) -> Any:
    """Unpack a result of our own task, with the agreement put back; raise it if it is a refusal."""
    result = _Unpacker(io.BytesIO(content), shared).load()
    if isinstance(result, TacitError):
        raise result
    return result


_SHARED: Final = {Domain: "domain", Plan: "plan"}


class _Packer(pickle.Pickler):
    def persistent_id(self, obj: object) -> str | None:
        return _SHARED.get(type(obj))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, shared: Mapping[str, object]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, name: str) -> object:
        return self._shared[name]


def _part() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _row(part: int, result: object) -> pa.RecordBatch:
    return pa.record_batch({"part": [part], "payload": [packed(result)]})


def _person_row(part: int, result: object) -> pa.RecordBatch:
    nothing = [pa.nulls(1, pa.int64())] * 3
    return pa.record_batch([pa.array([part]), pa.array([packed(result)], pa.binary()), *nothing], names=_PERSON_NAMES)


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
