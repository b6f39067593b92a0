"""A block of a CSV file as a table: the columns asked for, and which rows could not be taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.events.arrays import bytes_and_offsets
from tacit.events.csv_blocks import Block, row_at
from tacit.events.csv_dialect import CsvDialect, decode_western, is_broken_utf8
from tacit.events.sources import RawTable

NUL_BYTES: Final = "the row holds NUL bytes: the file is damaged. Export or copy it again"
UNPARSABLE: Final = "the rows from here on cannot be told apart. Give the separator, or export the file again"
MIXED_ENCODING: Final = (
    "the text is not UTF-8 although other rows are. Save the whole file in one encoding, or give the encoding"
)


def parse_block(block: Block, dialect: CsvDialect, positions: Sequence[int]) -> RawTable:
    """Parse a block; what stands in the way of all that follows is returned as damage, with its row."""
    data = block.data
    if block.damage is not None:
        return _damaged(data, len(data), block.damage)
    if (nul := data.find(b"\0")) >= 0:
        return _damaged(data, nul, NUL_BYTES)
    western: bool | None = None
    first_special = 0
    if not data.isascii():
        first_special = len(data) - len(data.lstrip(_ASCII))
        western = not _is_utf8(data)
        if western and (dialect.encoding is not None or is_broken_utf8(data)):
            return _damaged(data, _first_invalid(data), MIXED_ENCODING)
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
    )
    return _without_blank_rows(table, data, dialect)


_ASCII: Final = bytes(range(128))


def _damaged(data: bytes, position: int, damage: str) -> RawTable:
    return RawTable((), row_at(data, position), damage=damage)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8; several times as fast as decoding them."""
    pa = require("pyarrow", extra="events")
    buffers = [None, pa.py_buffer(np.array([0, len(data)], np.int64)), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowException:
        return False
    return True


def _first_invalid(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


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


def _all_blank(columns: Sequence[Any]) -> NDArray[np.bool_]:
    is_blank = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        is_blank &= np.diff(bytes_and_offsets(column)[1]) == 0
        if not is_blank.any():
            break
    return is_blank
