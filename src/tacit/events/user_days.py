"""Users and their days as keyed hashes: enough to tell two apart, not enough to know one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.events.arrays import bytes_and_offsets, is_text, text_of
from tacit.events.badrows import Reason

UserDays = NDArray[np.uint64]

KEY_BYTES: Final = 32
_BLOCK: Final = 16
_WORD: Final = 8
_MASKS: Final = np.array([2 ** (8 * n_bytes) - 1 for n_bytes in range(_WORD + 1)], "<u8")
_WHOLE: Final = r"^(?P<whole>[-+]?[0-9]+)(?:\.0*)?$"


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


def read_users(column: Any) -> tuple[Any, NDArray[np.uint8]]:
    """The users of a column as text or bytes, and a reason's code for each row, 0 where it names a user.

    Text counts as it is written, but for spaces around it; numbers must be whole, so that 7, 7.0 and 7.00 are one
    user whatever the rows around them hold.

    >>> import pyarrow as pa
    >>> users, reason = read_users(pa.array([7.0, None, 2.5]))
    >>> users.to_pylist()[0], [bool(code) for code in reason]
    ('7', [False, True, True])
    """
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_number = types.is_floating(column.type) or types.is_decimal(column.type)
    if is_text(column.type):
        users = pc.utf8_trim_whitespace(text_of(column))
    elif types.is_binary(column.type) or types.is_large_binary(column.type) or types.is_fixed_size_binary(column.type):
        users = column.cast(pa.large_binary()).fill_null(b"")
    elif is_number:
        users = _whole_texts(pa, pc, column)
    else:
        users = text_of(column)
    reason = np.zeros(len(column), np.uint8)
    is_blank = np.diff(bytes_and_offsets(users)[1]) == 0 if len(column) else np.empty(0, np.bool_)
    reason[is_blank] = Reason.UNREADABLE_USER.code if is_number else Reason.NO_USER.code
    if is_number:
        reason[column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)] = Reason.NO_USER.code
    return users, reason


def _whole_texts(pa: Any, pc: Any, column: Any) -> Any:
    """Numbers as the digits of a whole number, blank where they are none."""
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64())
        # beyond 2^53 two users may have become one number
        is_whole = pc.and_(pc.equal(values, pc.floor(values)), pc.less(pc.abs(values), 2.0**53))
        column = pc.if_else(is_whole, values, None).cast(pa.int64())
        return column.cast(pa.large_string()).fill_null("")
    text = column.cast(pa.string())
    return pc.struct_field(pc.extract_regex(text, _WHOLE), ["whole"]).fill_null("")


def _kept(left: NDArray[np.int64]) -> UserDays:
    """Masks that blank the bytes behind the end of each user: they are the next one's."""
    return _MASKS[np.clip(left, 0, _WORD)]
