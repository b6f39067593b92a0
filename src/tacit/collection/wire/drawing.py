"""Reports drawn from exact counts and a key, block by block: the same for any order of rows, engine or retry.

Event number j (:mod:`tacit.collection.wire.cell_counts`) belongs to block j // BLOCK_REPORTS. Each block has a key of
its own, made of the drawing key and its number, and its reports are drawn from that key's words from the first on. So
any range of blocks can be drawn alone, on any machine and in any order, by whoever has the keys of these blocks; and
whoever has them learns nothing of the words of other blocks.

The drawing key is made of a secret, the plan's fingerprint and the digest of the exact counts. Counts that differ in
one event therefore have other words throughout: no two files can be drawn whose difference holds no noise.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.collection.wire.cell_counts import CellCounts
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.randomness import Randomness
from tacit.randomness.source import KeyedRandomness

BLOCK_REPORTS: Final = 1 << 16
"""Reports of a block. Halved, the fastest mechanisms draw at two thirds to three quarters of the rate, because of keys
and calls; doubled, an engine that cuts between public bins draws more in vain at every cut. Sorting, not drawing, takes
the time at this size. It is part of what a key gives: it stays."""

_DRAWING: Final = b"tacit reports 1"
_BLOCK: Final = b"tacit block 1"


def secret_key(randomness: Randomness) -> bytes:
    """32 bytes for :func:`drawing_key`, where no ledger keeps them; of seeded randomness they follow from the seed."""
    return randomness.words(4).astype("<u8").tobytes()


def drawing_key(secret: bytes, plan_id: str, counts_digest: bytes) -> bytes:
    """The key of all reports of the counts of this digest under this plan."""
    return hmac.digest(secret, _DRAWING + bytes.fromhex(plan_id) + counts_digest, hashlib.sha256)


def block_keys(key: bytes, blocks: range) -> dict[int, bytes]:
    """The keys of some blocks: all that must be known to draw these and no others."""
    return {block: hmac.digest(key, _BLOCK + block.to_bytes(8, "little"), hashlib.sha256) for block in blocks}


def blocks_of(reports: range) -> range:
    """The blocks that hold some of these reports.

    >>> blocks_of(range(65_535, 65_537)), blocks_of(range(0))
    (range(0, 2), range(0, 0))
    """
    return range(reports.start // BLOCK_REPORTS, -(-reports.stop // BLOCK_REPORTS)) if reports else range(0)


def draw_reports(
    mechanism: LocalRandomizer, keys: Mapping[int, bytes], counts: CellCounts, reports: range, *, first: int = 0
) -> NDArray[np.uint8]:
    """The reports of these numbers, in the order (public bin, cell, ordinal): that order tells the cells. Sort them.

    ``keys`` must hold those of ``blocks_of(reports)``. A block that is cut by the range is drawn whole. ``counts`` may
    be those of some blocks only, from the first event of one, which has the number ``first``, to the last of another.
    """
    drawn = [np.empty((0, mechanism.report_bytes), np.uint8)]
    for block in blocks_of(reports):
        start = block * BLOCK_REPORTS
        stop = min(start + BLOCK_REPORTS, first + counts.n_events)
        _, private = counts.events(start - first, stop - first)
        made = mechanism.randomize(private, randomness=KeyedRandomness(keys[block]))
        drawn.append(made[max(0, reports.start - start) : reports.stop - start])
    return np.concatenate(drawn)
