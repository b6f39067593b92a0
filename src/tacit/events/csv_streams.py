"""Streams of bytes in UTF-8, whatever the file is packed or written in.

Libraries quote the bytes they fail on; here a failure becomes a :class:`StreamDamage` that only says what to do.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from typing import BinaryIO, Final, Protocol

CUT_OFF: Final = "the compressed file is damaged or cut off here. Copy or download it again"
UNREADABLE: Final = "the file cannot be read further. Copy it again, or check the disk"
NOT_IN_ENCODING: Final = "the text does not fit the encoding. Give the right encoding, or save the file as UTF-8"


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


class Transcoded:
    """A stream in another encoding."""

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._is_damaged = self._is_done = False

    def read(self, size: int, /) -> bytes:
        """About ``size`` bytes."""
        text = ""
        while not text and not self._is_done and not self._is_damaged:
            data = self._stream.read(size)
            self._is_done = not data
            text = self._decode(data)
        if not text and self._is_damaged:
            raise StreamDamage(NOT_IN_ENCODING)
        return text.encode("utf-8", errors="replace")

    def _decode(self, data: bytes) -> str:
        try:
            return self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            self._is_damaged = True
            return bytes(error.object[: error.start]).decode(self._encoding, errors="ignore")


class MacLineEnds:
    """A stream whose lines end with a carriage return alone, given with line feeds."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes."""
        return self._stream.read(size).replace(b"\r", b"\n")


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


def skip_lines(stream: ByteStream, count: int) -> ByteStream:
    """The stream after its first ``count`` lines.

    >>> import io
    >>> skip_lines(io.BytesIO(b"SDate,Town\\n2018-01-01,Ornans\\n"), 1).read(10)
    b'2018-01-01'
    """
    start = b""
    while start.count(b"\n") < count:
        part = stream.read(1 << 16)
        if not part:
            return _Rejoined(b"", stream)
        start += part
    return _Rejoined(start.split(b"\n", count)[count], stream)


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
