"""Sources of random words.

The secure source is an AES-256-CTR keystream under a key from the operating system: about 7 GB/s on one
core where the operating system alone gives 0.2. The keyed source runs the same cipher under a key that its owner
keeps, from any word of the stream on: a restart continues where it stopped instead of drawing again. The seeded source
runs it under a key made from a seed; whatever is made with it is a *simulation* and carries that label for good.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Final, NoReturn, Protocol, runtime_checkable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.errors import SettingError

# 4 GiB: 2**28 blocks of a key are told from uniform ones with advantage 2**-73 at most
REKEY_AFTER_BYTES: Final = 1 << 32

KEYED_WORDS: Final = 1 << 40
"""Words that one key gives: q blocks of 16 bytes are told from uniform ones with advantage at most q**2 / 2**129
(Bellare1997), here 2**-51."""

_BLOCK_BYTES: Final = 1 << 20  # enciphered at once: 1 MiB
_ZEROS: Final = memoryview(bytes(_BLOCK_BYTES))  # sliced without a copy


@runtime_checkable
class Randomness(Protocol):
    """Independent uniform 64-bit words.

    Distribution: the words of all calls together are independent and uniform on 0 .. 2**64 - 1 (for the secure
    source: indistinguishable from that for anyone without the key). Safe to share between threads.
    """

    @property
    def is_simulation(self) -> bool:
        """Whether whoever knows the seed knows every word."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw ``count`` fresh words."""

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite a contiguous array with fresh words."""


class _Keystream:
    """AES-256 in counter mode from one key: the zero message encrypted is the keystream, from any word of it on."""

    def __init__(self, key: bytes, position: int = 0) -> None:
        block, is_odd = divmod(position, 2)  # a block of the cipher is two words
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(block.to_bytes(16, "big"))).encryptor()
        if is_odd:
            self._encryptor.update(_ZEROS[:8])

    def write(self, target: memoryview) -> None:
        for start in range(0, len(target), _BLOCK_BYTES):
            part = target[start : start + _BLOCK_BYTES]
            self._encryptor.update_into(_ZEROS[: len(part)], part)


class SecureRandomness:
    """Words nobody can predict: the default wherever real data is involved.

    Keyed by the operating system, rekeyed after 4 GiB and in every forked child, and locked, so that two
    threads or two processes never see the same word.

    >>> SecureRandomness().words(3).shape
    (3,)
    """

    __slots__ = ("__weakref__", "_lock", "_pid", "_stream", "_used_bytes")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rekey()
        _LIVE_SOURCES.add(self)

    def __repr__(self) -> str:
        return "SecureRandomness()"

    def __reduce__(self) -> tuple[type[SecureRandomness], tuple[()]]:
        # a pickled copy must not repeat our words: the copy keys itself afresh
        return (SecureRandomness, ())

    @property
    def is_simulation(self) -> bool:
        return False

    def words(self, count: int) -> NDArray[np.uint64]:
        return _drawn(self, count)

    def fill(self, out: NDArray[np.uint64]) -> None:
        target = _bytes_of(out)
        with self._lock:
            # one rekeying interval at a time, however large the request
            while target:
                if self._pid != os.getpid() or self._used_bytes >= REKEY_AFTER_BYTES:
                    self._rekey()
                part = target[: REKEY_AFTER_BYTES - self._used_bytes]
                self._stream.write(part)
                self._used_bytes += len(part)
                target = target[len(part) :]

    def _rekey(self) -> None:
        self._stream = _Keystream(os.urandom(32))
        self._pid = os.getpid()
        self._used_bytes = 0

    def _reset_after_fork(self) -> None:
        # the parent may have held the lock at the moment of the fork
        self._lock = threading.Lock()
        self._rekey()


class KeyedRandomness:
    """Words of a key that its owner keeps, from a position on: noise that a restart continues and never redraws.

    Nobody without the key can predict them, so this is no simulation. Whoever makes two sources of one key and
    position draws the same words twice, by design: after a crash that gives the same noise for the same release. For
    two different releases it would be fatal, since the difference of two answers would then hold no noise; a key is for
    one release, and is wiped when that is written. For the same reason a copy or pickle of a source is refused, and a
    source is not for use after a fork: parent and child would draw the same words. Threads may share one, and no word
    is given twice, but which thread gets which is a matter of their order: what must be repeatable is drawn by one.

    >>> source = KeyedRandomness(bytes(32))
    >>> noise = source.words(5)
    >>> source.position, KeyedRandomness(bytes(32), position=3).words(2).tolist() == noise[3:].tolist()
    (5, True)
    """

    __slots__ = ("__weakref__", "_key", "_lock", "_position", "_stream")

    def __init__(self, key: bytes, position: int = 0) -> None:
        if not (isinstance(key, bytes) and len(key) == 32):
            raise SettingError("key must be 32 bytes. Take them from os.urandom(32), once for every release.")
        check_at_least(0, position=position)
        _check_left(position, 0)
        self._key, self._position = key, position
        self._lock = threading.Lock()
        self._stream = _Keystream(key, position)
        _LIVE_SOURCES.add(self)

    def __repr__(self) -> str:
        return f"KeyedRandomness(<key>, position={self._position})"

    def __reduce__(self) -> NoReturn:
        raise SettingError(
            "a KeyedRandomness cannot be copied or pickled: the copy would repeat its words. "
            "Keep the key and the position where the release is kept, and make a new source of them."
        )

    @property
    def is_simulation(self) -> bool:
        return False

    @property
    def position(self) -> int:
        """The number of words of the key that have been used: those before the first position too."""
        return self._position

    def words(self, count: int) -> NDArray[np.uint64]:
        return _drawn(self, count)

    def fill(self, out: NDArray[np.uint64]) -> None:
        target = _bytes_of(out)
        with self._lock:
            _check_left(self._position, out.size)
            self._stream.write(target)
            self._position += out.size
        if not _IS_LITTLE_ENDIAN:  # a key gives the same words on every platform
            out.byteswap(inplace=True)

    def _reset_after_fork(self) -> None:
        # the parent may have been in the middle of a call, its lock held and its stream ahead of its position
        self._lock = threading.Lock()
        self._stream = _Keystream(self._key, self._position)


class SeededRandomness:
    """Words that repeat with the seed: for tests and experiments only.

    >>> SeededRandomness(7).words(2).tolist() == SeededRandomness(7).words(2).tolist()
    True
    >>> SeededRandomness(7).is_simulation
    True
    """

    __slots__ = ("_lock", "_stream", "seed")

    def __init__(self, seed: int) -> None:
        check_at_least(0, seed=seed)
        self.seed: Final = seed
        self._lock = threading.Lock()
        self._stream = _Keystream(hashlib.sha256(b"tacit simulation %d" % seed).digest())

    def __repr__(self) -> str:
        return f"SeededRandomness({self.seed})"

    @property
    def is_simulation(self) -> bool:
        return True

    def words(self, count: int) -> NDArray[np.uint64]:
        return _drawn(self, count)

    def fill(self, out: NDArray[np.uint64]) -> None:
        target = _bytes_of(out)
        with self._lock:
            self._stream.write(target)
        if not _IS_LITTLE_ENDIAN:  # a seed gives the same words on every platform
            out.byteswap(inplace=True)


def _drawn(source: SecureRandomness | KeyedRandomness | SeededRandomness, count: int) -> NDArray[np.uint64]:
    check_at_least(0, count=count)
    out = np.empty(count, dtype=np.uint64)
    source.fill(out)
    return out


def _check_left(position: int, count: int) -> None:
    if position + count > KEYED_WORDS:
        raise SettingError(
            f"position must not pass 2**40 words of one key; got position={position} and {count} more words. "
            "Start a new release with a new key."
        )


def _bytes_of(out: NDArray[np.uint64]) -> memoryview:
    if out.dtype != np.uint64 or not out.flags.c_contiguous or not out.flags.writeable:
        raise SettingError("out must be a writeable contiguous array of uint64 words. Pass np.empty(n, np.uint64).")
    return out.reshape(-1).view(np.uint8).data if out.size else memoryview(b"")


_IS_LITTLE_ENDIAN: Final = np.little_endian


def _track_forks() -> set[SecureRandomness | KeyedRandomness]:
    import weakref

    live: weakref.WeakSet[SecureRandomness | KeyedRandomness] = weakref.WeakSet()

    def reset() -> None:
        for source in list(live):
            source._reset_after_fork()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)
    return live  # type: ignore[return-value]


_LIVE_SOURCES = _track_forks()
