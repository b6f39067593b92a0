"""Digests by which the same events are known again, in another file, format or row order.

Each event is mixed with a secret key into two 64-bit words; a day's digest is the sum of the words of its events.
Sums forget the order, and a row that counts three events adds what three rows would. Places enter by their name,
so that the order of the cells does not matter either. Kinds do not enter: the same events are known with and without
them. The mix is fast, not a cipher: the key makes the digests of
different ledgers differ, and whoever has it can test a guess of a day's events. Guard both like the events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from typing import Final

import numpy as np

from tacit._base.mixing import Words, mix
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.events.interpret import EventBatch

_MIN_KEY_BYTES: Final = 16  # 128 bits, which nobody guesses


class DayDigest:
    """Keeps one digest of 16 bytes for every calendar day, on the axis' wall clock, that holds an event.

    By them a ledger knows events under a plan of any step. Digests of parts of a source add up: ``+`` is associative
    and commutative, and a new digest is its zero.

    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-31"), PlaceAxis.of(["North", "South"]))
    >>> DayDigest(bytes(16), domain).digests()
    {}
    """

    def __init__(self, key: bytes, domain: Domain) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise SettingError(
                f"key must have at least {_MIN_KEY_BYTES} bytes; got {len(key)} bytes. "
                "Draw it with secrets.token_bytes(32)."
            )
        # what may be sent to other machines: words that the key gives, not the key
        self._domain = domain
        self._keys = _words(key, b"keys", 4)
        self._place_words = np.stack([_words(key, b"place:" + cell.encode(), 2) for cell in domain.place.cells])
        self._sums: dict[str, tuple[int, int]] = {}

    def update(self, batch: EventBatch) -> None:
        """Add the events of a batch."""
        if not len(batch):
            return
        second = batch.seconds.astype("datetime64[s]").astype(np.int64).view(np.uint64)
        days, position = np.unique(batch.seconds.astype("datetime64[D]"), return_inverse=True)
        sums = np.zeros((2, len(days)), np.uint64)
        place = batch.column if self._domain.kind is None else batch.column // self._domain.n_kinds
        for lane in range(2):
            first_key, second_key = self._keys[2 * lane : 2 * lane + 2]
            word = mix(mix(second + first_key) ^ self._place_words[:, lane][place]) + second_key
            word = mix(word)
            if batch.count is not None:
                word *= batch.count.view(np.uint64)
            np.add.at(sums[lane], position, word)
        for number, day in enumerate(days.astype(str).tolist()):
            self._add(day, [int(word) for word in sums[:, number]])

    def __add__(self, other: DayDigest) -> DayDigest:
        if not isinstance(other, DayDigest):
            return NotImplemented
        if self._domain != other._domain or not np.array_equal(self._keys, other._keys):
            raise SettingError(
                "digests under different keys or over different domains cannot be added. Make both under one key and "
                "over one domain."
            )
        total = copy(self)
        total._sums = dict(self._sums)
        for day, words in other._sums.items():
            total._add(day, words)
        return total

    def empty(self) -> DayDigest:
        """Return a digest under the same key with no event in it."""
        zero = copy(self)
        zero._sums = {}
        return zero

    def take_over(self, other: DayDigest) -> None:
        """Take the days of another digest under the same key in place of one's own."""
        self._sums = dict(other._sums)

    def _add(self, day: str, words: Sequence[int]) -> None:
        old = self._sums.get(day, (0, 0))
        self._sums[day] = ((old[0] + words[0]) % 2**64, (old[1] + words[1]) % 2**64)

    def digests(self) -> dict[str, bytes]:
        """Return the digest of each day that holds an event, by its date: ``2018-01-31``."""
        return {
            day: b"".join(word.to_bytes(8, "big") for word in words)
            for day, words in sorted(self._sums.items())
            if any(words)
        }


def _words(key: bytes, what: bytes, count: int) -> Words:
    digest = hashlib.blake2b(what, key=hashlib.sha256(key).digest(), digest_size=8 * count).digest()
    return np.frombuffer(digest, ">u8").astype(np.uint64)
