"""A CSV file in which a line end ends a row: every row is read by itself, whatever the others hold.

The file is cut into blocks of whole lines. Where every quote of a line opens or closes a field, as in nearly every
file, a fast parser reads the line as it is. A line with other quotes is read by the standard library's reader, alone,
and written again with regular quotes; one that cannot be read is left out of the block and known by its number. So is
a line that is too long.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.events.csv_streams import ByteStream, last_line_end, read_fully

# far beyond any row of text, and little enough to be held in memory
MAX_ROW_BYTES: Final = 1 << 22
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'

Rows = NDArray[np.int64]


def _none() -> Rows:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines as bytes; ``damage`` says why nothing can be read after them."""

    data: bytes
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class RegularRows:
    """Rows whose quotes are regular, and the numbers of those that were left out of them."""

    data: bytes
    misquoted: Rows = field(default_factory=_none)
    too_long: Rows = field(default_factory=_none)

    @property
    def left_out(self) -> Rows:
        """The numbers of all rows that were left out, in order."""
        return np.sort(np.concatenate([self.misquoted, self.too_long]))


def cut_lines(stream: ByteStream, *, block_bytes: int) -> Iterator[Block]:
    """Cut a stream into blocks of whole lines, of about ``block_bytes`` each.

    Of a line that is too long only so much is kept that it is seen to be.

    >>> [block.data for block in cut_lines(io.BytesIO(b'a,"1\\n2"\\nb,3\\n'), block_bytes=6)]
    [b'a,"1\\n', b'2"\\nb,3\\n']
    """
    carry, damage, is_end = b"", None, False
    wanted = block_bytes
    while not is_end:
        data, damage = read_fully(stream, wanted)
        is_end = len(data) < wanted
        carry = carry + data if carry else data
        end = len(carry) if is_end else last_line_end(carry)
        if end:
            yield Block(carry[:end])
            carry = carry[end:]
        if len(carry) > MAX_ROW_BYTES + 2:
            # the last byte may be half of a line end
            carry = carry[: MAX_ROW_BYTES + 1] + carry[-1:]
        # a line that does not fit is given room by doubling, not one small block at a time
        wanted = max(block_bytes, len(carry))
    if damage is not None:
        yield Block(b"", damage)


def regular_rows(data: bytes, *, separator: str, quote: str) -> RegularRows:
    """Make the quotes of every line regular, each line by itself.

    >>> regular_rows(b'1,"a\\n2,5" pipe\\n3,"b"c\\n4,"d, e"\\n', separator=",", quote='"')
    RegularRows(data=b'2,"5"" pipe"\\n4,"d, e"\\n', misquoted=array([0, 2]), too_long=array([], dtype=int64))
    """
    longest = _too_long(data)
    if not quote or b'"' not in data:
        if not longest:
            return RegularRows(data)
        starts, ends = _bounds(data)
        return _rewritten(data, starts, ends, np.array(longest, np.int64), separator, _none())
    view = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(view == _QUOTE)
    starts, ends = _bounds(data)
    first = np.searchsorted(quotes, starts)
    irregular = _irregular(view, quotes, first, ord(separator))
    if not len(irregular) and not longest:
        return RegularRows(data)
    return _rewritten(data, starts, ends, np.array(longest, np.int64), separator, irregular)


def _too_long(data: bytes) -> list[int]:
    """The numbers of the lines that are longer than a row may be; a short block has none."""
    if len(data) <= MAX_ROW_BYTES:
        return []
    start, is_suspect = 0, False
    while len(data) - start > MAX_ROW_BYTES and not is_suspect:
        window = data[start : start + MAX_ROW_BYTES + 1]
        end = max(window.rfind(b"\n"), window.rfind(b"\r")) + 1
        is_suspect, start = not end, start + end
    if not is_suspect:
        return []
    starts, ends = _bounds(data)
    return np.flatnonzero(ends - starts > MAX_ROW_BYTES).tolist()


def _bounds(data: bytes) -> tuple[Rows, Rows]:
    """Where each line begins, and where it ends without its line end."""
    view = np.frombuffer(data, np.uint8)
    if b"\r" not in data:
        ends = np.flatnonzero(view == _NEWLINE)
        after = ends + 1
    else:
        marks = np.flatnonzero((view == _NEWLINE) | (view == _RETURN))
        # a line feed right after a carriage return belongs to it
        is_half = (view[marks] == _NEWLINE) & (view[np.maximum(marks - 1, 0)] == _RETURN) & (marks > 0)
        ends = marks[~is_half]
        after = ends + 1
        followed = np.zeros(len(view) + 1, np.bool_)
        followed[marks[is_half]] = True
        after += followed[after]
    starts = np.concatenate([np.zeros(1, np.int64), after])
    if starts[-1] == len(view):
        return starts[:-1], ends
    return starts, np.append(ends, len(view))


def _irregular(view: NDArray[np.uint8], quotes: Rows, first: Rows, separator: int) -> Rows:
    """The lines in which a quote neither opens nor closes a field; ``first`` is the first quote from each line on."""
    n_quotes = np.diff(np.append(first, len(quotes)))
    if not (n_quotes % 2).any() and _are_regular(view, quotes, np.arange(len(quotes)) % 2 == 0, separator).all():
        return _none()
    line = np.repeat(np.arange(len(first)), n_quotes)
    opens = (np.arange(len(quotes)) - first[line]) % 2 == 0
    is_irregular = n_quotes % 2 == 1
    is_irregular[line[~_are_regular(view, quotes, opens, separator)]] = True
    return np.flatnonzero(is_irregular)


def _are_regular(view: NDArray[np.uint8], quotes: Rows, opens: NDArray[np.bool_], separator: int) -> NDArray[np.bool_]:
    """Which quotes stand beside a separator, a line end or another quote, on the outer side of the field."""
    beside = np.where(opens, quotes - 1, quotes + 1)
    is_edge = (beside < 0) | (beside >= len(view))
    byte = view[np.where(is_edge, 0, beside)]
    is_good: NDArray[np.bool_] = (
        is_edge | (byte == separator) | (byte == _NEWLINE) | (byte == _RETURN) | (byte == _QUOTE)
    )
    return is_good


def _rewritten(data: bytes, starts: Rows, ends: Rows, longest: Rows, separator: str, irregular: Rows) -> RegularRows:
    """The block without the lines that are too long or misquoted, and with regular quotes in the irregular ones."""
    parts: list[bytes] = []
    misquoted: list[int] = []
    done = 0
    too_long = set(longest.tolist())
    for line in sorted(too_long | set(irregular.tolist())):
        start, after = int(starts[line]), int(starts[line + 1]) if line + 1 < len(starts) else len(data)
        parts.append(data[done:start])
        done = after
        if line in too_long:
            continue
        record = _read_line(data[start : int(ends[line])], separator)
        if record is None:
            misquoted.append(line)
        else:
            parts.append(record)
    parts.append(data[done:])
    return RegularRows(b"".join(parts), np.array(misquoted, np.int64), longest)


def _read_line(line: bytes, separator: str) -> bytes | None:
    """A line as the standard library reads it, with regular quotes; None if its quotes make no sense.

    Bytes pass as Latin-1, one character each, so that the encoding does not matter.
    """
    out = io.StringIO(newline="")
    try:
        (record,) = csv.reader([line.decode("latin-1")], delimiter=separator, strict=True, skipinitialspace=True)
        csv.writer(out, delimiter=separator, lineterminator="\n").writerow(record)
    except csv.Error:
        return None
    return out.getvalue().encode("latin-1")
