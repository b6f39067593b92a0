"""A block of a CSV file as a table: the columns asked for, and which rows could not be taken."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._extras import require
from tacit.events.arrays import bytes_and_offsets, is_utf8
from tacit.events.csv_lines import Block, RegularRows, regular_rows
from tacit.events.csv_spanning import row_at
from tacit.events.csv_streams import UNFIT, marked
from tacit.events.sources import RawTable

_MARKS: Final = re.compile(rb"(^|[\r\n])(?:" + BOM_UTF8 + rb")+")

UNPARSABLE: Final = "the rows from here on cannot be told apart. Give the separator, or export the file again"


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How the rows of a file are written: the number of fields, what is between them and what may enclose them."""

    n_fields: int
    separator: str
    quote: str = '"'
    fields_span_lines: bool = False


def parse_block(block: Block, layout: CsvLayout, positions: Sequence[int]) -> RawTable:
    """Parse a block; what stands in the way of all that follows is returned as damage, with its row.

    Rows whose text in the columns asked for does not fit the encoding are set aside, each by itself.
    """
    if block.damage is not None:
        return RawTable((), row_at(block.data, len(block.data)), damage=block.damage)
    is_ascii = block.data.isascii()
    # the parser is given nothing but UTF-8: what it would do with a row that is none might hang on others
    rows = RegularRows(block.data if is_ascii or is_utf8(block.data) else marked(block.data))
    if not layout.fields_span_lines:
        rows = regular_rows(rows.data, separator=layout.separator, quote=layout.quote)
    if not is_ascii and BOM_UTF8 in rows.data:
        # the parser drops a mark from the first row of a block; which row that is hangs on the rows before it
        rows = replace(rows, data=_MARKS.sub(rb"\1", rows.data))
    parsed = _parse(rows.data, layout, positions)
    if parsed is None:
        return RawTable((), 0, damage=UNPARSABLE)
    columns, ragged = parsed
    left_out = rows.left_out
    n_records = len(columns[0]) + len(ragged) + len(left_out)
    there = np.delete(np.arange(n_records), left_out) if len(left_out) else np.arange(n_records)
    table = RawTable(
        columns,
        n_records,
        row=np.delete(there, ragged) if len(ragged) else there,
        ragged=there[ragged],
        misquoted=rows.misquoted,
        too_long=rows.too_long,
    )
    table = _without_blank_rows(table, rows.data, layout)
    return table if is_ascii else _without_unreadable_rows(table, rows.data)


def _parse(
    data: bytes, layout: CsvLayout, positions: Sequence[int]
) -> tuple[tuple[Any, ...], NDArray[np.int64]] | None:
    pa, pa_csv = require("pyarrow", extra="events"), require("pyarrow.csv", extra="events")
    ragged: list[int] = []
    if not data:
        return tuple(pa.array([], pa.string()) for _ in positions), np.empty(0, np.int64)

    def set_aside(row: Any) -> str:
        ragged.append(row.number - 1)
        return "skip"

    fields = [str(position) for position in range(layout.n_fields)]
    chosen = list(dict.fromkeys(str(position) for position in positions))
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            # one block and one thread, without which rows have no numbers; blocks run side by side instead
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=fields),
            parse_options=pa_csv.ParseOptions(
                delimiter=layout.separator,
                quote_char=layout.quote or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=set_aside,
            ),
            # every column is text: a type that is inferred would hang on all rows
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


def _without_blank_rows(table: RawTable, data: bytes, layout: CsvLayout) -> RawTable:
    """Leave out rows in which every field is blank: the ends of many a spreadsheet, no events."""
    pa = require("pyarrow", extra="events")
    if not _all_blank(table.columns).any():
        return table
    whole = _parse(data, layout, range(layout.n_fields))
    kept = np.flatnonzero(~_all_blank(whole[0])) if whole is not None else np.arange(len(table.columns[0]))
    row = table.records()
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        n_blank=len(row) - len(kept),
    )


def _without_unreadable_rows(table: RawTable, data: bytes) -> RawTable:
    """Set aside rows whose text in one of the columns does not fit the encoding."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    if UNFIT.encode() not in data:
        return table
    is_good = np.ones(len(table.columns[0]), np.bool_)
    for column in table.columns:
        is_good &= ~pc.match_substring(column, UNFIT).to_numpy(zero_copy_only=False)
    if is_good.all():
        return table
    row, kept = table.records(), np.flatnonzero(is_good)
    return replace(
        table,
        columns=tuple(column.take(pa.array(kept)) for column in table.columns),
        row=row[kept],
        unreadable=row[~is_good],
    )


def _all_blank(columns: Sequence[Any]) -> NDArray[np.bool_]:
    is_blank = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        is_blank &= np.diff(bytes_and_offsets(column)[1]) == 0
        if not is_blank.any():
            break
    return is_blank
