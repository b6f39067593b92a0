"""A stream of CSV in UTF-8 cut into blocks of whole rows.

*A line end ends a row* (:func:`cut_lines`): every row is read by itself, whatever the others hold. Where every quote of
a line opens or closes a field, as in nearly every file, a fast parser reads the line as it is. A line with other quotes
is read by the standard library's reader, alone, and written again with regular quotes; one that cannot be read is left
out of the block and known by its number (:func:`regular_rows`). So is a line that is too long.

*Fields may span lines* (:func:`cut_blocks`): one row can then swallow those after it, which is why a description must
say so. Where every quote of a block opens or closes a field, a line end is the end of a row exactly when the number of
quotes before it is even, and NumPy tells. A block with other quotes is rewritten by the standard library's reader into
one without, so that a single parser sees them all.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
# far beyond any row of text, and little enough to be held in memory
MAX_ROW_BYTES: Final = 1 << 22
# no character, and in no text: it stands for what does not fit the encoding
UNFIT: Final = "\uffff"
UNFIT_HANDLER: Final = "tacit-unfit"
codecs.register_error(UNFIT_HANDLER, lambda problem: (UNFIT, problem.end))  # type: ignore[attr-defined]

UNCLOSED: Final = 'a quote is opened and never closed. Close it, or write "" for a quote that belongs to the text'
DAMAGED_QUOTES: Final = (
    'text follows a closing quote. Write "" for a quote that belongs to the text, or export the file again'
)
TOO_LONG: Final = "the row is longer than 4 MB. Its line ends are missing or the file is damaged: export it again"

Rows = NDArray[np.int64]


class StreamDamage(Exception):
    """The stream cannot be read on; says why. A signal between modules of this package, which never leaves it."""


class ByteStream(Protocol):
    """Something that gives bytes until there are no more."""

    def read(self, size: int, /) -> bytes:
        """Return at most about ``size`` bytes, fewer at will, none at the end."""


def read_fully(stream: ByteStream, size: int) -> tuple[bytes, str | None]:
    """Read ``size`` bytes even from a stream that gives fewer at a time; at damage, what was good and why."""
    parts: list[bytes] = []
    n_bytes = 0
    while n_bytes < size:
        try:
            part = stream.read(size - n_bytes)
        except StreamDamage as damage:
            return b"".join(parts), str(damage)
        if not part:
            break
        parts.append(part)
        n_bytes += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts), None


def last_line_end(data: bytes | bytearray) -> int:
    """Return the end of the last whole line of some data; a final carriage return may be half of a line end.

    >>> last_line_end(b"a\\nb"), last_line_end(b"a\\rb\\r"), last_line_end(b"a")
    (2, 2, 0)
    """
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))) + 1


def marked(data: bytes, encoding: str = "utf-8") -> bytes:
    """Return text in UTF-8, with a mark in place of whatever does not fit its encoding; line ends stay where they are.

    >>> marked(b"Besan\\xe7on\\n").decode() == f"Besan{UNFIT}on\\n"
    True
    """
    return data.decode(encoding, errors=UNFIT_HANDLER).encode()


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

    def cut(buffer: bytes, is_end: bool) -> tuple[Block, bytes]:
        end = len(buffer) if is_end else last_line_end(buffer)
        rest = buffer[end:]
        if len(rest) > MAX_ROW_BYTES + 2:
            # the last byte may be half of a line end
            rest = rest[: MAX_ROW_BYTES + 1] + rest[-1:]
        return Block(buffer[:end]), rest

    return _cut_stream(stream, cut, block_bytes)


def cut_blocks(stream: ByteStream, *, separator: str, block_bytes: int) -> Iterator[Block]:
    """Cut a stream that begins at the start of a row into blocks of about ``block_bytes``; fields may span lines.

    >>> [block.data for block in cut_blocks(io.BytesIO(b'a,"1\\n2"\\nb,3\\n'), separator=",", block_bytes=8)]
    [b'a,"1\\n2"\\n', b'b,3\\n']
    """

    def cut(buffer: bytes, is_end: bool) -> tuple[Block, bytes]:
        taken, block = _cut_rows(buffer, separator, is_end=is_end)
        rest = buffer[taken:]
        if block.damage is None and len(rest) > MAX_ROW_BYTES:
            block = Block(block.data, UNCLOSED if b'"' in rest else TOO_LONG)
        return block, rest

    return _cut_stream(stream, cut, block_bytes)


def _cut_stream(
    stream: ByteStream, cut: Callable[[bytes, bool], tuple[Block, bytes]], block_bytes: int
) -> Iterator[Block]:
    """Yield the blocks that ``cut`` takes from the bytes so far; it is told whether these are the last."""
    rest, damage, is_end = b"", None, False
    while not is_end:
        # a row that does not fit is given room by doubling, not one small block at a time
        wanted = max(block_bytes, len(rest))
        data, damage = read_fully(stream, wanted)
        is_end = len(data) < wanted
        block, rest = cut(rest + data, is_end)
        if block.data or block.damage is not None:
            yield block
        if block.damage is not None:
            return
    if damage is not None:
        yield Block(b"", damage)


def regular_rows(data: bytes, *, separator: str, quote: str) -> RegularRows:
    """Make the quotes of every line regular, each line by itself.

    >>> regular_rows(b'1,"a\\n2,5" pipe\\n3,"b"c\\n4,"d, e"\\n', separator=",", quote='"')
    RegularRows(data=b'2,"5"" pipe"\\n4,"d, e"\\n', misquoted=array([0, 2]), too_long=array([], dtype=int64))
    """
    too_long, has_quotes = _too_long(data), bool(quote) and b'"' in data
    if not has_quotes and not len(too_long):
        return RegularRows(data)
    starts, ends = _bounds(data)
    irregular = _irregular(np.frombuffer(data, np.uint8), starts, ord(separator)) if has_quotes else _none()
    if not len(irregular) and not len(too_long):
        return RegularRows(data)
    return _rewritten(data, starts, ends, too_long, separator, irregular)


def _too_long(data: bytes) -> Rows:
    """Return the numbers of the lines that are longer than a row may be; a short block has none."""
    if len(data) <= MAX_ROW_BYTES:
        return _none()
    start, is_suspect = 0, False
    while len(data) - start > MAX_ROW_BYTES and not is_suspect:
        window = data[start : start + MAX_ROW_BYTES + 1]
        end = max(window.rfind(b"\n"), window.rfind(b"\r")) + 1
        is_suspect, start = not end, start + end
    if not is_suspect:
        return _none()
    starts, ends = _bounds(data)
    return np.flatnonzero(ends - starts > MAX_ROW_BYTES)


def _bounds(data: bytes) -> tuple[Rows, Rows]:
    """Return where each line begins, and where it ends without its line end."""
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


def _irregular(view: NDArray[np.uint8], starts: Rows, separator: int) -> Rows:
    """Return the lines in which a quote neither opens nor closes a field."""
    quotes = np.flatnonzero(view == _QUOTE)
    first = np.searchsorted(quotes, starts)  # the first quote from each line on
    n_quotes = np.diff(np.append(first, len(quotes)))
    if not (n_quotes % 2).any() and _are_regular(view, quotes, _alternating(quotes), separator).all():
        return _none()
    line = np.repeat(np.arange(len(first)), n_quotes)
    opens = (np.arange(len(quotes)) - first[line]) % 2 == 0
    is_irregular = n_quotes % 2 == 1
    is_irregular[line[~_are_regular(view, quotes, opens, separator)]] = True
    return np.flatnonzero(is_irregular)


def _alternating(quotes: Rows) -> NDArray[np.bool_]:
    """Return which quotes open a field, where every other one closes it."""
    opens: NDArray[np.bool_] = np.arange(len(quotes)) % 2 == 0
    return opens


def _are_regular(view: NDArray[np.uint8], quotes: Rows, opens: NDArray[np.bool_], separator: int) -> NDArray[np.bool_]:
    """Return which quotes have a separator, a line end or another quote on the outer side of their field."""
    beside = np.where(opens, quotes - 1, quotes + 1)
    is_edge = (beside < 0) | (beside >= len(view))
    byte = view[np.where(is_edge, 0, beside)]
    is_good: NDArray[np.bool_] = (
        is_edge | (byte == separator) | (byte == _NEWLINE) | (byte == _RETURN) | (byte == _QUOTE)
    )
    return is_good


def _rewritten(data: bytes, starts: Rows, ends: Rows, too_long: Rows, separator: str, irregular: Rows) -> RegularRows:
    """Return the block without lines too long or misquoted, and with regular quotes in the irregular ones."""
    parts: list[bytes] = []
    misquoted: list[int] = []
    done = 0
    for line in np.union1d(too_long, irregular).tolist():
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
    return RegularRows(b"".join(parts), np.array(misquoted, np.int64), too_long)


def _read_line(line: bytes, separator: str) -> bytes | None:
    """Return a line as the standard library reads it, with regular quotes; None if its quotes make no sense.

    Bytes pass as Latin-1, one character each, so that the encoding does not matter.
    """
    out = io.StringIO(newline="")
    try:
        (record,) = csv.reader([line.decode("latin-1")], delimiter=separator, strict=True, skipinitialspace=True)
        csv.writer(out, delimiter=separator, lineterminator="\n").writerow(record)
    except csv.Error:
        return None
    return out.getvalue().encode("latin-1")


def row_at(data: bytes, position: int) -> int:
    """Return how many rows of a block end before a position."""
    if not position:
        return 0
    view = np.frombuffer(data, np.uint8, count=position)
    ends = np.flatnonzero(view == _NEWLINE)
    n_quotes_before = np.searchsorted(np.flatnonzero(view == _QUOTE), ends)
    return int(np.count_nonzero(n_quotes_before % 2 == 0))


def _cut_rows(buffer: bytes, separator: str, *, is_end: bool) -> tuple[int, Block]:
    """Return the number of bytes of whole rows that the buffer begins with, and the block made of them."""
    end = len(buffer) if is_end else buffer.rfind(b"\n") + 1
    if buffer.find(b'"', 0, end) < 0:
        return end, Block(buffer[:end])
    view = np.frombuffer(buffer, np.uint8, count=end)
    quotes = np.flatnonzero(view == _QUOTE)
    if not _are_regular(view, quotes, _alternating(quotes), ord(separator)).all():
        return _rewrite(buffer[:end], separator, is_end=is_end)
    if len(quotes) % 2:
        start = _start_of_row(buffer, quotes)
        if is_end:
            return end, Block(buffer[:start], UNCLOSED)
        end = start
    return end, Block(buffer[:end])


def _start_of_row(buffer: bytes, quotes: NDArray[np.int64]) -> int:
    """Return the start of the row with the last, unclosed quote: one that an even number of quotes precedes."""
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
