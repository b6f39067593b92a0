"""The numbers of events a running counter has counted of each person: a bound holds over its life or each window.

Persons are known by the keyed hashes of their windows (:class:`tacit.events.contribution_bound.PersonHash`), under a
key that follows from the counter's own. The file stands beside the counter's state, for its owner only, and is named by
the number of bins that are counted: a new one is written whole before the state that needs it, and the old one removed
after, so that after any interruption the state finds the file that belongs to it. Guard it like the events: it tells
how many events somebody had of whom the key can be guessed.

A line of JSON (``format``, ``kind``, ``warning``, ``identity``, ``position``, ``n_persons``), then the hashes (two
64-bit words each), the numbers of events (32 bits each) and the number of bins that were counted when each was last
added to (64 bits each), all little-endian, in the order of the hashes; then an HMAC-SHA256 over all of it under a key
that follows from the counter's.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.files import sync_folder, write_whole
from tacit._base.reading import LARGEST_EXPANDED, check_regular, claim, parse_json, reading
from tacit.errors import SettingError

Hashes = NDArray[np.uint64]

FORMAT: Final = 1
_MAC_BYTES: Final = 32  # of SHA-256
_PERSON_BYTES: Final = 28  # two words of the hash, four bytes of a number of events, a number of bins
MOST_PERSONS: Final = LARGEST_EXPANDED // _PERSON_BYTES
"""The most that a file holds: 38 million persons in a gigabyte, read at once; halved, half the memory."""


class Contributions:
    """The numbers of events counted so far of each group (a person in a window), after ``position`` bins.

    ``before`` tells them and ``add`` notes more: it is what :meth:`tacit.events.Events.count` asks. What was added is
    seen only after :meth:`advanced`.

    >>> known = Contributions("a counter", 0)
    >>> persons = np.array([[7, 1], [5, 2]], np.uint64)
    >>> known.add(persons, np.array([3, 0]))
    >>> known.advanced(1).before(persons).tolist()
    [3, 0]
    """

    def __init__(
        self,
        identity: str,
        position: int,
        hashes: Hashes | None = None,
        counted: IntArray | None = None,
        last: IntArray | None = None,
    ) -> None:
        self.identity = identity
        self.position = position
        self._hashes = np.empty((0, 2), np.uint64) if hashes is None else hashes
        self._counted = np.empty(0, np.int64) if counted is None else counted
        self._last = np.empty(0, np.int64) if last is None else last
        self._added: list[tuple[Hashes, IntArray]] = []

    def __repr__(self) -> str:
        return f"Contributions({self.identity}, {self.position} bins, values withheld)"

    def __len__(self) -> int:
        return len(self._hashes)

    def before(self, groups: Hashes) -> IntArray:
        """Return the number of events counted of each of these groups."""
        counted = np.zeros(len(groups), np.int64)
        if not len(self._hashes):
            return counted
        where = np.searchsorted(self._hashes[:, 0], groups[:, 0])
        open_rows = np.arange(len(groups))
        while len(open_rows):  # again only where two hashes share their first word
            where_open = where[open_rows]
            is_near = where_open < len(self._hashes)
            found = self._hashes[np.minimum(where_open, len(self._hashes) - 1)]
            is_near &= found[:, 0] == groups[open_rows, 0]
            is_same = is_near & (found[:, 1] == groups[open_rows, 1])
            counted[open_rows[is_same]] = self._counted[where_open[is_same]]
            open_rows = open_rows[is_near & ~is_same]
            where[open_rows] += 1
        return counted

    def add(self, groups: Hashes, counted: IntArray) -> None:
        """Note further events of each of these groups."""
        is_some = counted > 0
        self._added.append((groups[is_some], counted[is_some]))

    def advanced(self, position: int, *, forget: int = 0) -> Contributions:
        """Return what is known after more bins; of groups that had none since bin ``forget`` nothing is kept."""
        is_kept = self._last > forget
        hashes = np.concatenate([self._hashes[is_kept], *(groups for groups, _ in self._added)])
        if len(hashes) > MOST_PERSONS:
            raise SettingError(
                f"a counter can bound at most {MOST_PERSONS:,} persons and windows; here are more. Nothing was "
                "counted. Start one that protects persons in each month, or user-days."
            )
        counted = np.concatenate([self._counted[is_kept], *(counted for _, counted in self._added)])
        n_new = len(hashes) - int(np.count_nonzero(is_kept))
        last = np.concatenate([self._last[is_kept], np.full(n_new, position)])
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        hashes, counted, last = hashes[order], counted[order], last[order]
        if not len(hashes):
            return Contributions(self.identity, position)
        starts = np.flatnonzero(np.append(True, (hashes[1:] != hashes[:-1]).any(axis=1)))
        return Contributions(
            self.identity,
            position,
            hashes[starts],
            np.add.reduceat(counted, starts),
            np.maximum.reduceat(last, starts),
        )

    def write(self, state: Path, key: bytes) -> None:
        """Write the file beside a counter's state, whole or not at all."""
        about = {
            "format": FORMAT,
            "kind": "counter persons",
            "warning": "Private: numbers of events of persons. Guard it like the events.",
            "identity": self.identity,
            "position": self.position,
            "n_persons": len(self),
        }
        content = json.dumps(about, sort_keys=True).encode() + b"\n"
        content += self._hashes.astype("<u8").tobytes() + self._counted.astype("<u4").tobytes()
        content += self._last.astype("<i8").tobytes()
        write_whole(path_of(state, self.position), content + _mac(key, content), is_private=True)

    @classmethod
    def read(cls, state: Path, key: bytes, identity: str, position: int) -> Contributions:
        """Read the file that belongs to a counter's state after ``position`` bins; before the first there is none."""
        if position == 0:
            return cls(identity, 0)
        path = path_of(state, position)
        remedy = "Restore it from a copy that is as new as the counter's state; nothing was counted."
        with reading(path, "a counter's file of persons", remedy, missing=remedy):
            check_regular(path)
            claim(path.stat().st_size)
            content = path.read_bytes()
            body, mac = content[:-_MAC_BYTES], content[-_MAC_BYTES:]
            if not hmac.compare_digest(_mac(key, body), mac):
                raise ValueError("changed")
            end = body.index(b"\n") + 1
            about = parse_json(body[:end])
            if (about["kind"], about["identity"], about["position"]) != ("counter persons", identity, position):
                raise ValueError("another counter's")
            n = about["n_persons"]
            hashes = np.frombuffer(body, "<u8", 2 * n, end).reshape(n, 2)
            counted = np.frombuffer(body, "<u4", n, end + 16 * n)
            last = np.frombuffer(body, "<i8", n, end + 20 * n)
            return cls(identity, position, hashes.astype(np.uint64), counted.astype(np.int64), last.astype(np.int64))


def path_of(state: Path, position: int) -> Path:
    """Return the path of a counter's file of persons after so many bins."""
    return state.with_name(f"{state.name}.persons-{position}")


def remove_others(state: Path, position: int) -> None:
    """Remove the files of persons of earlier bins, and what an interruption left of later ones."""
    kept, others = path_of(state, position), list(state.parent.glob(f"{state.name}.persons-*"))
    for path in others:
        if path != kept and path.name.removeprefix(f"{state.name}.persons-").isdigit():
            path.unlink(missing_ok=True)
    sync_folder(state.parent)


def bounding_key(key: bytes) -> bytes:
    """Return the key by which a counter tells persons apart: made from the counter's, of which it tells nothing."""
    return hashlib.blake2b(key=key, digest_size=32, person=b"bounding").digest()


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(hashlib.blake2b(key=key, digest_size=32, person=b"persons").digest(), content, hashlib.sha256)
