"""Rows of a fixed width, spread over temporary files by the bits of their first word, in flat memory.

The files have no name (or, where the system knows no nameless files, are deleted when closed), so nothing is left
behind even by a crash. They lie where ``TMPDIR`` says; up to a few hundred thousand rows stay in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError

Rows = NDArray[np.uint64]

ROW_WORDS: Final = 3  # of 64 bits, of which a row is made
MAX_ROWS: Final = 1 << 20
"""24 MiB of rows are worked on at a time; halved, half the memory."""
# 64 files at a time, far below what a process may open: rows are spread once up to 60 million; with half as many files,
# half as many, and rows that are spread twice take a fifth more time
_PART_BITS: Final = 6
_MAX_DEPTH: Final = 3  # 64^4 files of a million rows: 10^13
_HELD_BYTES: Final = 1 << 18  # of a file before it goes to the disk: 16 MiB for 64 of them


class Spill:
    """Rows of :data:`ROW_WORDS` words in files; rows of one first word stay together, whatever their number.

    To be used with ``contextlib.closing``: its files are gone when it is left, however it is left.
    """

    def __init__(self, *, depth: int = 0) -> None:
        self._depth = depth
        self._shift = np.uint64(64 - _PART_BITS * (depth + 1))
        self._files = ExitStack()
        with _disk():
            self._parts = [self._files.enter_context(closing(Part())) for _ in range(1 << _PART_BITS)]

    def close(self) -> None:
        """Remove all files."""
        self._files.close()

    def add(self, hashes: Rows, words: NDArray[np.uint64]) -> None:
        """Set rows down: two words of a hash and one more each."""
        number = ((hashes[:, 0] >> self._shift) & np.uint64(len(self._parts) - 1)).astype(np.uint8)
        order = np.argsort(number, kind="stable")
        rows = np.empty((len(words), ROW_WORDS), np.uint64)
        # an index in brackets would take ten times as long for pairs of words
        rows[:, :2], rows[:, 2] = hashes.take(order, axis=0), words[order]
        ends = np.cumsum(np.bincount(number, minlength=len(self._parts))).tolist()
        for part, first, end in zip(self._parts, [0, *ends[:-1]], ends, strict=True):
            part.write(rows[first:end])

    def parts(self) -> Iterator[Part]:
        """Yield files of at most :data:`MAX_ROWS` rows, or of so many first words that they cannot be told apart."""
        for part in self._parts:
            with closing(part):
                if part.n_rows <= MAX_ROWS or self._depth == _MAX_DEPTH:
                    yield part
                    continue
                with closing(Spill(depth=self._depth + 1)) as finer:
                    for rows in part.rows():
                        finer.add(rows[:, :2], rows[:, 2])
                    part.close()
                    yield from finer.parts()


class Part:
    """One temporary file of rows, in memory as long as it is small."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_HELD_BYTES)  # noqa: SIM115
        self.n_rows = 0

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def write(self, rows: Rows) -> None:
        """Add rows at the end."""
        with _disk():
            self._file.write(rows.data)
        self.n_rows += len(rows)

    def rows(self) -> Iterator[Rows]:
        """Yield the rows, at most :data:`MAX_ROWS` at a time."""
        with _disk():
            self._file.seek(0)
        while True:
            with _disk():
                content = self._file.read(MAX_ROWS * ROW_WORDS * 8)
            if not content:
                return
            yield np.frombuffer(content, np.uint64).reshape(-1, ROW_WORDS)


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise SettingError(
            f"temporary files cannot be kept in {tempfile.gettempdir()}: it is full or not yours to write to. "
            "Set TMPDIR to a folder with 24 bytes of room for every event."
        ) from None
