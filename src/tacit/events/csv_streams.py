"""Streams of bytes in UTF-8, whatever the file is packed or written in.

Libraries quote the bytes they fail on; here a failure becomes a :class:`StreamDamage` that only says what to do.
"""

from __future__ import annotations

import codecs
import gzip
import importlib
import zlib
from typing import BinaryIO, Final, Protocol

CUT_OFF: Final = "the compressed file is damaged or cut off here. Copy or download it again"
UNREADABLE: Final = "the file cannot be read further. Copy it again, or check the disk"
NOT_IN_ENCODING: Final = "the text does not begin as its encoding asks. Give the encoding that it is written in"
# far beyond any row of text, and little enough to be held in memory
MAX_ROW_BYTES: Final = 1 << 22
# lines before the first event: column names, and what a program writes above them
_MAX_HEAD_BYTES: Final = 1 << 22
# no encoding needs more bytes than this for a character that has one byte in UTF-8
_MOST_BYTES: Final = 4


class StreamDamage(Exception):
    """The stream cannot be read on; says why. A signal between modules of this package, which never leaves it."""


class ByteStream(Protocol):
    """Something that gives bytes until there are no more."""

    def read(self, size: int, /) -> bytes:
        """At most about ``size`` bytes, fewer at will, none at the end."""


class Plain:
    """A file as it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""
        try:
            return self._file.read(size)
        except OSError:
            pass
        raise StreamDamage(UNREADABLE)


class Unzipped:
    """A file compressed with gzip."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = gzip.GzipFile(fileobj=file, mode="rb")
        self._is_damaged = False

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""
        if not self._is_damaged:
            try:
                # read1 hands out what is good before the damage
                return self._file.read1(size)
            except (EOFError, OSError, zlib.error):
                self._is_damaged = True
        raise StreamDamage(CUT_OFF)


# no character, and in no text: it stands for what does not fit the encoding
UNFIT: Final = "\uffff"


class Transcoded:
    """A stream in another encoding, row by row: a mark stands for what does not fit it.

    An encoding of one byte a character, and UTF-16 and UTF-32, know no state that could outlive a line end. Any other
    is decoded line by line.
    """

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._by_line = not (is_one_byte(encoding) or codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")))
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=_UNFIT)
        self._carry = bytearray()
        self._is_done = False

    def read(self, size: int, /) -> bytes:
        """About ``size`` bytes."""
        data = b""
        while not data and not self._is_done:
            part = self._stream.read(size)
            self._is_done = not part
            data = self._lines(part) if self._by_line else self._decoded(part)
        return data

    def _decoded(self, part: bytes) -> bytes:
        try:
            return self._decoder.decode(part, final=not part).encode()
        except UnicodeError:  # a byte order mark that is missing is not a character that does not fit
            pass
        raise StreamDamage(NOT_IN_ENCODING)

    def _lines(self, part: bytes) -> bytes:
        was_return = self._carry.endswith(b"\r")
        self._carry += part
        if part and not was_return and b"\n" not in part and b"\r" not in part:
            # of a line that is too long only so much is kept that it is seen to be; a return may be half of a line end
            del self._carry[_MOST_BYTES * MAX_ROW_BYTES + 1 :]
            return b""
        end = len(self._carry) if not part else last_line_end(self._carry)
        whole = bytes(self._carry[:end])
        del self._carry[:end]
        return b"".join(marked(line, self._encoding) for line in whole.splitlines(keepends=True))


_UNFIT: Final = "tacit-unfit"
codecs.register_error(_UNFIT, lambda problem: (UNFIT, problem.end))  # type: ignore[attr-defined]


def marked(data: bytes, encoding: str = "utf-8") -> bytes:
    """Text in UTF-8, with a mark in place of whatever does not fit its encoding; line ends stay where they are.

    >>> marked(b"Besan\\xe7on\\n").decode() == f"Besan{UNFIT}on\\n"
    True
    """
    return data.decode(encoding, errors=_UNFIT).encode()


def is_one_byte(encoding: str) -> bool:
    """Whether every byte of an encoding is one character, or none, whatever stands before it.

    >>> is_one_byte("cp1252"), is_one_byte("utf-8"), is_one_byte("shift_jis")
    (True, False, False)
    """
    name = codecs.lookup(encoding).name.replace("-", "_")
    if name in ("ascii", "iso8859_1"):
        return True
    return hasattr(importlib.import_module(f"encodings.{name}"), "decoding_table")


def last_line_end(data: bytes | bytearray) -> int:
    """Where the last whole line of some data ends; a final carriage return may be half of a line end.

    >>> last_line_end(b"a\\nb"), last_line_end(b"a\\rb\\r"), last_line_end(b"a")
    (2, 2, 0)
    """
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))) + 1


class LineFeeds:
    """A stream whose lines end as on any system, given with line feeds."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._carry = b""

    def read(self, size: int, /) -> bytes:
        """About ``size`` bytes."""
        part = self._stream.read(size)
        data = self._carry + part
        self._carry = b"\r" if part and data.endswith(b"\r") else b""
        data = data[: len(data) - len(self._carry)]
        if part and not data:
            return self.read(size)
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class _Rejoined:
    """A stream of which a part was read too much."""

    def __init__(self, start: bytes, stream: ByteStream) -> None:
        self._start = start
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""
        if self._start:
            part, self._start = self._start[:size], self._start[size:]
            return part
        return self._stream.read(size)


def take_lines(stream: ByteStream, count: int) -> tuple[list[bytes], ByteStream]:
    """The first ``count`` lines of a stream, and the stream after them.

    >>> import io
    >>> lines, rest = take_lines(io.BytesIO(b"SDate,Town\\r\\n2018-01-01,Ornans\\n"), 1)
    >>> lines, rest.read(10)
    ([b'SDate,Town\\r\\n'], b'2018-01-01')
    """
    start, lines = b"", list[bytes]()
    # one more line than asked for, so that a carriage return is not half of a line end
    while count and len(lines) <= count and len(start) <= _MAX_HEAD_BYTES:
        part = stream.read(1 << 16)
        if not part:
            break
        start += part
        lines = start.splitlines(keepends=True)
    lines = lines[:count]
    return lines, _Rejoined(start[sum(len(line) for line in lines) :], stream)


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
