r"""Counts in which one user's day weighs at most so much, whatever the user did.

The rule: of each user's events on one calendar day (on the wall clock of the time axis' zone, whatever its step), the
first ``most`` in the order of the file are counted. A row that stands for several events counts as far as the bound
allows.

Why the sensitivity is ``most`` for adding or removing all events of one user on one day: rows are taken together by
user and day, and what is counted of a group depends on its own rows and their order alone. Without one group, all
others hold the same rows in the same order and count the same; the group itself had counted at most ``most`` events.
So the counts differ by at most ``most`` in all (:math:`\ell_1`). Neither the order of other users' rows nor that of
other days matters. How a row is read does not depend on other rows either (:mod:`tacit.events.source_description`).

Users and their days are known by keyed hashes (:class:`UserDayHash`): enough to tell two apart, not enough to know one.

Memory does not grow with the number of events. Rows go to temporary files by their user-day, in the order they come,
and are bounded file by file; a file of too many rows is first spread over further files. The files have no name (or,
where the system knows no nameless files, are deleted when closed), so nothing is left behind even by a crash; they hold
keyed hashes, cells and counts, never a user. They lie where ``TMPDIR`` says, and take 24 bytes a row; up to a few
hundred thousand rows stay in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.errors import SettingError
from tacit.events.columns import bytes_and_offsets

if TYPE_CHECKING:
    from tacit.events.counts import CountKeeper
    from tacit.events.interpret import EventBatch

UserDays = NDArray[np.uint64]

KEY_BYTES: Final = 32  # of AES-256
_BLOCK: Final = 16  # bytes of a block of AES
_WORD: Final = 8  # bytes of a 64-bit word
_MASKS: Final = np.array([2 ** (8 * n_bytes) - 1 for n_bytes in range(_WORD + 1)], "<u8")


class UserDayHash:
    """A hash of 128 bits for each pair of a user and a day, with a new key for every table that is opened.

    It is the CBC-MAC with AES-256 of the user's length, the day and the user's bytes. The length comes first, so no
    message begins another and the MAC is a pseudorandom function: without the key a hash tells neither the user nor
    which days are the same user's, and two user-days share one with a probability of 2^-128.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def hashes(self, users: Any, days: NDArray[np.int64]) -> UserDays:
        """Two words for every row of a column of text or bytes; rows are hashed side by side, block by block."""
        data, offsets = bytes_and_offsets(users)
        starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
        padded = np.concatenate([data[offsets[0] : offsets[-1]], np.zeros(_BLOCK + _WORD, np.uint8)])
        # the eight bytes from any position on, as one word
        words = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))
        block = np.empty((len(starts), 2), "<u8")
        block[:, 0] = lengths.astype("<u4") | days.astype("<i4").view("<u4").astype("<u8") << np.uint64(32)
        block[:, 1] = words[starts] & _kept(lengths)
        state = self._encrypted(block)
        done = _WORD
        rows = np.flatnonzero(lengths > done)
        while len(rows):
            start, left = starts[rows] + done, lengths[rows] - done
            block = state[rows]
            block[:, 0] ^= words[start] & _kept(left)
            block[:, 1] ^= words[start + _WORD] & _kept(left - _WORD)
            state[rows] = self._encrypted(block)
            done += _BLOCK
            rows = rows[left > _BLOCK]
        return state.astype(np.uint64, copy=False)

    def _encrypted(self, blocks: UserDays) -> UserDays:
        encryptor = self._cipher.encryptor()
        content = encryptor.update(blocks.tobytes()) + encryptor.finalize()
        return np.frombuffer(bytearray(content), "<u8").reshape(-1, 2)


def _kept(left: NDArray[np.int64]) -> UserDays:
    """Masks that blank the bytes behind the end of each user: they are the next one's."""
    return _MASKS[np.clip(left, 0, _WORD)]


Rows = NDArray[np.uint64]  # three words each: those of the user-day, then the cell and the number of events

MOST: Final = 1_000_000_000  # a bound beyond it bounds nothing, and 32 bits hold it
_ROW_WORDS: Final = 3
_UNITS_BITS: Final = np.uint64(32)  # the lower half of a word holds the number of events, the upper the cell
_UNITS: Final = np.uint64(2**32 - 1)
_PART_BITS: Final = 5  # 32 files at a time, far below what a process may open
_MAX_DEPTH: Final = 3  # 32^3 files of a million rows: 34 billion
_MAX_ROWS: Final = 1 << 20  # 24 MiB are sorted at a time; halved, half the memory
_HELD_BYTES: Final = 1 << 19  # of a file before it goes to the disk: 16 MiB for 32 of them


class UserDayBound:
    """Takes batches in the order of the file, then counts what the bound allows.

    To be used with ``contextlib.closing``: its files are gone when it is left, however it is left.
    """

    def __init__(self, most: int, keeper: CountKeeper) -> None:
        check_at_least(1, most_per_user_day=most)
        if most > MOST:
            raise SettingError(
                f"most_per_user_day must be at most {MOST}; got most_per_user_day={most}. "
                "Take the number of events that one person may plausibly have in a day."
            )
        self._most = most
        self._keeper = keeper
        self._files = ExitStack()
        self._spill = _Spill(self._files, depth=0)
        self._n_events = self._n_within = 0
        self.n_rows_beyond = 0

    @property
    def n_beyond(self) -> int:
        """The events beyond the bound."""
        return self._n_events - self._n_within

    def close(self) -> None:
        """Remove all files."""
        self._files.close()

    def add(self, batch: EventBatch) -> None:
        """Set the rows of a batch down."""
        assert batch.user_day is not None
        cells = self._keeper.take_in(batch).astype(np.uint64)
        if batch.count is None:
            units = np.ones(len(batch), np.uint64)
            self._n_events += len(batch)
        else:
            # one more than the bound, so that a row cut by it is still seen to be
            units = np.minimum(batch.count, self._most + 1).astype(np.uint64)
            self._n_events += int(batch.count.sum())
        rows = np.column_stack([batch.user_day, cells << _UNITS_BITS | units])
        if batch.count is not None:
            rows = rows[units > 0]
        self._spill.add(rows)

    def count(self) -> None:
        """Count what the bound allows, one file after the other."""
        self._count(self._spill)

    def _count(self, spill: _Spill) -> None:
        for part in spill.parts():
            with closing(part):
                if part.n_rows <= _MAX_ROWS or spill.depth == _MAX_DEPTH:
                    self._count_part(part)
                    continue
                with ExitStack() as files:
                    finer = _Spill(files, depth=spill.depth + 1)
                    for rows in part.rows():
                        finer.add(rows)
                    self._count(finer)

    def _count_part(self, part: _Part) -> None:
        """Count a file; the user-days seen so far are carried on as rows that are counted already."""
        carried = np.empty((0, _ROW_WORDS), np.uint64)
        for rows in part.rows():
            carried = self._count_rows(carried, rows)

    def _count_rows(self, carried: Rows, rows: Rows) -> Rows:
        together = np.concatenate([carried, rows])
        order = _by_user_day(together)
        together = together.take(order, axis=0)
        starts = np.flatnonzero(_begins(together))
        cells = (together[:, 2] >> _UNITS_BITS).astype(np.int64)
        units = (together[:, 2] & _UNITS).astype(np.int64)
        before = np.cumsum(units) - units
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(together))))
        within = np.clip(self._most - before, 0, units)
        is_new = order >= len(carried)
        self._keeper.add_units(cells[is_new], within[is_new])
        self._n_within += int(within[is_new].sum())
        self.n_rows_beyond += int(np.count_nonzero((within < units) & is_new))
        seen = together[starts]
        seen[:, 2] = np.add.reduceat(within, starts)
        return seen


class _Spill:
    """Rows spread over files by the bits of their user-day, each in the order it was given them."""

    def __init__(self, files: ExitStack, *, depth: int) -> None:
        self.depth = depth
        self._shift = np.uint64(64 - _PART_BITS * (depth + 1))
        with _disk():
            self._parts = [files.enter_context(closing(_Part())) for _ in range(1 << _PART_BITS)]

    def add(self, rows: Rows) -> None:
        number = ((rows[:, 0] >> self._shift) & np.uint64(len(self._parts) - 1)).astype(np.uint8)
        rows = rows.take(np.argsort(number, kind="stable"), axis=0)
        ends = np.cumsum(np.bincount(number, minlength=len(self._parts)))
        for part, piece in zip(self._parts, np.split(rows, ends[:-1]), strict=True):
            part.write(piece)

    def parts(self) -> list[_Part]:
        return self._parts


class _Part:
    """One temporary file of rows, in memory as long as it is small."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_HELD_BYTES)  # noqa: SIM115
        self.n_rows = 0

    def close(self) -> None:
        self._file.close()

    def write(self, rows: Rows) -> None:
        with _disk():
            self._file.write(rows.tobytes())
        self.n_rows += len(rows)

    def rows(self) -> Iterator[Rows]:
        with _disk():
            self._file.seek(0)
        while True:
            with _disk():
                content = self._file.read(_MAX_ROWS * _ROW_WORDS * 8)
            if not content:
                return
            yield np.frombuffer(content, np.uint64).reshape(-1, _ROW_WORDS)


def _by_user_day(rows: Rows) -> NDArray[np.int64]:
    """An order in which user-days stand together, each in the order of the file."""
    order = np.argsort(rows[:, 0], kind="stable")
    first, second = rows[:, 0][order], rows[:, 1][order]
    if ((first[1:] == first[:-1]) & (second[1:] != second[:-1])).any():
        # two of them share the first word: once in 10^5 for ten million user-days
        return np.lexsort((rows[:, 1], rows[:, 0]))
    return order


def _begins(rows: Rows) -> NDArray[np.bool_]:
    """Return which of the ordered rows are the first of a user-day."""
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    return is_first


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise SettingError(
            f"temporary files cannot be kept in {tempfile.gettempdir()}: it is full or not yours to write to. "
            "Set TMPDIR to a folder with 24 bytes of room for every event."
        ) from None
