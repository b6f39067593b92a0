"""Where random words come from.

The secure source is an AES-256-CTR keystream under a key from the operating system: about 7 GB/s on one
core where the operating system alone gives 0.2. The seeded source runs the same cipher under a key made from
a seed; whatever is made with it is a *simulation* and carries that label for good.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Final, Protocol, runtime_checkable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit._validate import check_at_least
from tacit.errors import SettingError

REKEY_AFTER_BYTES: Final = 1 << 32
_BLOCK_BYTES: Final = 1 << 20
_ZEROS: Final = memoryview(bytes(_BLOCK_BYTES))  # sliced without a copy


@runtime_checkable
class Randomness(Protocol):
    """Independent uniform 64-bit words.

    Law: the words of all calls together are independent and uniform on 0 .. 2**64 - 1 (for the secure
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
    """AES-256 in counter mode from one key: the zero message encrypted is the keystream."""

    def __init__(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

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


def _drawn(source: SecureRandomness | SeededRandomness, count: int) -> NDArray[np.uint64]:
    check_at_least(0, count=count)
    out = np.empty(count, dtype=np.uint64)
    source.fill(out)
    return out


def _bytes_of(out: NDArray[np.uint64]) -> memoryview:
    if out.dtype != np.uint64 or not out.flags.c_contiguous or not out.flags.writeable:
        raise SettingError("out must be a writeable contiguous array of uint64 words. Pass np.empty(n, np.uint64).")
    return out.reshape(-1).view(np.uint8).data if out.size else memoryview(b"")


_IS_LITTLE_ENDIAN: Final = np.little_endian


def _track_forks() -> set[SecureRandomness]:
    import weakref

    live: weakref.WeakSet[SecureRandomness] = weakref.WeakSet()

    def reset() -> None:
        for source in list(live):
            source._reset_after_fork()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)
    return live  # type: ignore[return-value]


_LIVE_SOURCES = _track_forks()
