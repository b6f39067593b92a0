"""A block of a CSV file as a table: the columns asked for, and which rows could not be taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.events.arrays import bytes_and_offsets
from tacit.events.csv_blocks import Block, row_at
from tacit.events.csv_dialect import CsvDialect, count_special, decode_western, looks_western
from tacit.events.sources import RawTable

NUL_BYTES: Final = "the row holds NUL bytes: the file is damaged. Export or copy it again"
UNPARSABLE: Final = "the rows from here on cannot be told apart. Give the separator, or export the file again"

_LEAD_BYTE: Final = 0xC0  # the first byte of a character beyond ASCII, in UTF-8, or a greater one


def parse_block(block: Block, dialect: CsvDialect, positions: Sequence[int]) -> RawTable:
    """Parse a block; what stands in the way of all that follows is returned as damage, with its row.

    Rows that are no UTF-8 in the columns asked for are set aside where the block is not Western as a whole.
    """
    data = block.data
    if block.damage is not None:
        return _damaged(data, len(data), block.damage)
    if (nul := data.find(b"\0")) >= 0:
        return _damaged(data, nul, NUL_BYTES)
    western: bool | None = None
    first_special = n_special = n_strays = 0
    if not data.isascii():
        first_special = len(data) - len(data.lstrip(_ASCII))
        western, n_special, n_strays = _judge(data, dialect)
        if western:
            data = decode_western(data).encode()
    parsed = _parse(data, dialect, positions)
    if parsed is None:
        return _damaged(data, 0, UNPARSABLE)
    columns, ragged = parsed
    n_records = len(columns[0]) + len(ragged)
    table = RawTable(
        columns,
        n_records,
        row=np.delete(np.arange(n_records), ragged) if len(ragged) else None,
        ragged=ragged,
        western=western,
        western_at=row_at(block.data, first_special) if western is not None else 0,
        as_utf8=partial(parse_block, block, replace(dialect, is_western=False), positions) if western else None,
        n_special=n_special,
        n_strays=n_strays,
    )
    table = _without_blank_rows(table, data, dialect)
    return _without_unreadable_rows(table) if n_strays and not western else table


def _judge(data: bytes, dialect: CsvDialect) -> tuple[bool, int, int]:
    """Whether a block is Western, and how much of it is UTF-8 and how much is not."""
    if _is_utf8(data):
        return False, int(np.count_nonzero(np.frombuffer(data, np.uint8) >= _LEAD_BYTE)), 0
    n_special, n_strays = count_special(data)
    if dialect.is_western is None:
        return looks_western(n_special, n_strays), n_special, n_strays
    return dialect.is_western and n_strays >= n_special, n_special, n_strays


_ASCII: Final = bytes(range(128))


def _damaged(data: bytes, position: int, damage: str) -> RawTable:
    return RawTable((), row_at(data, position), damage=damage)


def _is_utf8(data: bytes | NDArray[np.uint8]) -> bool:
    """Whether bytes are valid UTF-8; several times as fast as decoding them."""
    pa = require("pyarrow", extra="events")
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int64)), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowException:
        return False
    return True


def _parse(
    data: bytes, dialect: CsvDialect, positions: Sequence[int]
) -> tuple[tuple[Any, ...], NDArray[np.int64]] | None:
    pa, pa_csv = require("pyarrow", extra="events"), require("pyarrow.csv", extra="events")
    ragged: list[int] = []

    def set_aside(row: Any) -> str:
        ragged.append(row.number - 1)
        return "skip"

    fields = [str(position) for position in range(len(dialect.names))]
    chosen = list(dict.fromkeys(str(position) for position in positions))
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            # one block and one thread, without which rows have no numbers; blocks run side by side instead
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=fields),
            parse_options=pa_csv.ParseOptions(
                delimiter=dialect.separator,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=set_aside,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=chosen,
                column_types={name: pa.string() for name in chosen},
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowException:
        return None
    columns = {name: _one_array(pa, table.column(name)) for name in chosen}
    return tuple(columns[str(position)] for position in positions), np.array(ragged, np.int64)


def _one_array(pa: Any, column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.array([], column.type)])


def _without_blank_rows(table: RawTable, data: bytes, dialect: CsvDialect) -> RawTable:
    """Leave out rows in which every field is blank: the ends of many a spreadsheet, no events."""
    pa = require("pyarrow", extra="events")
    if not _all_blank(table.columns).any():
        return table
    whole = _parse(data, dialect, range(len(dialect.names)))
    kept = np.flatnonzero(~_all_blank(whole[0])) if whole is not None else np.arange(len(table.columns[0]))
    row = table.records()
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        n_blank=len(row) - len(kept),
    )


def _without_unreadable_rows(table: RawTable) -> RawTable:
    """Set aside rows that are no UTF-8 in one of the columns."""
    pa = require("pyarrow", extra="events")
    is_good = np.ones(len(table.columns[0]), np.bool_)
    for column in table.columns:
        is_good[_unreadable_texts(column)] = False
    if is_good.all():
        return table
    row, kept = table.records(), np.flatnonzero(is_good)
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        unreadable=row[~is_good],
    )


def _unreadable_texts(column: Any) -> list[int]:
    """Which texts of a column are no UTF-8."""
    data, offsets = bytes_and_offsets(column)
    part = data[offsets[0] : offsets[-1]]
    if _is_utf8(part):
        return []
    special = np.flatnonzero(part >= 0x80) + offsets[0]
    with_special = np.unique(np.searchsorted(offsets, special, side="right") - 1).tolist()
    return [number for number in with_special if not _is_utf8(data[offsets[number] : offsets[number + 1]])]


def _all_blank(columns: Sequence[Any]) -> NDArray[np.bool_]:
    is_blank = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        is_blank &= np.diff(bytes_and_offsets(column)[1]) == 0
        if not is_blank.any():
            break
    return is_blank
