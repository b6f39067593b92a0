"""A CSV file whose fields may span lines, cut into blocks of whole rows, whatever their quotes hold.

One row can then swallow those after it, which is why a description must say so (:mod:`tacit.events.csv_lines` is for
all other files).

A quote that opens a field follows a separator or a line end; one that closes it precedes one; within, quotes come
in pairs. Where every quote of a block does so, as in nearly every file, a line end is the end of a row exactly
when the number of quotes before it is even, and NumPy tells. A block with other quotes is rewritten by the standard
library's reader into one without, so that a single parser sees them all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.events.csv_lines import MAX_ROW_BYTES, Block
from tacit.events.csv_streams import ByteStream, read_fully

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'

UNCLOSED: Final = 'a quote is opened and never closed. Close it, or write "" for a quote that belongs to the text'
DAMAGED_QUOTES: Final = (
    'text follows a closing quote. Write "" for a quote that belongs to the text, or export the file again'
)
TOO_LONG: Final = "the row is longer than 4 MB. Its line ends are missing or the file is damaged: export it again"


def cut_blocks(stream: ByteStream, *, separator: str, block_bytes: int) -> Iterator[Block]:
    """Cut a stream that begins at the start of a row into blocks of about ``block_bytes``.

    >>> [block.data for block in cut_blocks(io.BytesIO(b'a,"1\\n2"\\nb,3\\n'), separator=",", block_bytes=8)]
    [b'a,"1\\n2"\\n', b'b,3\\n']
    """
    carry, damage, is_end = b"", None, False
    wanted = block_bytes
    while not is_end:
        data, damage = read_fully(stream, wanted)
        is_end = len(data) < wanted
        carry = carry + data if carry else data
        taken, block = _cut(carry, separator, is_end=is_end)
        carry = carry[taken:]
        if block.damage is None and len(carry) > MAX_ROW_BYTES:
            block = Block(block.data, UNCLOSED if b'"' in carry else TOO_LONG)
        if block.data or block.damage is not None:
            yield block
        if block.damage is not None:
            return
        # a row that does not fit is given room by doubling, not one small block at a time
        wanted = max(block_bytes, len(carry))
    if damage is not None:
        yield Block(b"", damage)


def row_at(data: bytes, position: int) -> int:
    """How many rows of a block end before a position."""
    if not position:
        return 0
    view = np.frombuffer(data, np.uint8, count=position)
    ends = np.flatnonzero(view == _NEWLINE)
    n_quotes_before = np.searchsorted(np.flatnonzero(view == _QUOTE), ends)
    return int(np.count_nonzero(n_quotes_before % 2 == 0))


def _cut(buffer: bytes, separator: str, *, is_end: bool) -> tuple[int, Block]:
    """How many bytes of whole rows the buffer begins with, and the block made of them."""
    end = len(buffer) if is_end else buffer.rfind(b"\n") + 1
    if buffer.find(b'"', 0, end) < 0:
        return end, Block(buffer[:end])
    view = np.frombuffer(buffer, np.uint8, count=end)
    quotes = np.flatnonzero(view == _QUOTE)
    if not _is_regular(view, quotes, ord(separator)):
        return _rewrite(buffer[:end], separator, is_end=is_end)
    if len(quotes) % 2:
        start = _start_of_row(buffer, quotes)
        if is_end:
            return end, Block(buffer[:start], UNCLOSED)
        end = start
    return end, Block(buffer[:end])


def _is_regular(view: NDArray[np.uint8], quotes: NDArray[np.int64], separator: int) -> bool:
    opening, closing = quotes[0::2], quotes[1::2]
    before = view[opening[opening > 0] - 1]
    after = view[closing[closing < len(view) - 1] + 1]
    return all(
        ((beside == separator) | (beside == _NEWLINE) | (beside == _RETURN) | (beside == _QUOTE)).all()
        for beside in (before, after)
    )


def _start_of_row(buffer: bytes, quotes: NDArray[np.int64]) -> int:
    """Where the row with the last, unclosed quote begins: after a line end with an even number of quotes before it."""
    start = buffer.rfind(b"\n", 0, int(quotes[-1])) + 1
    while start and np.searchsorted(quotes, start) % 2:
        start = buffer.rfind(b"\n", 0, start - 1) + 1
    return start


def _rewrite(data: bytes, separator: str, *, is_end: bool) -> tuple[int, Block]:
    """Read the rows with the standard library and write them with regular quotes.

    Bytes pass as Latin-1, one character each, so that the encoding does not matter and lengths stay true.
    """
    lines = [line.decode("latin-1") for line in data.splitlines(keepends=True)]
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    n_lines, damage = 0, None
    try:
        for record in reader:
            writer.writerow(record)
            n_lines = reader.line_num
    except csv.Error as error:
        is_unclosed = "expected after" not in str(error)
        is_cut = "end of data" in str(error) and not is_end  # the rest of the row is still to come
        damage = None if is_cut else UNCLOSED if is_unclosed else DAMAGED_QUOTES
    taken = sum(len(line) for line in lines[:n_lines])
    return taken, Block(out.getvalue().encode("latin-1"), damage)
