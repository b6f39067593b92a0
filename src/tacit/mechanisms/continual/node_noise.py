"""The noise of every node by its number: the same number has the same noise, however often it is asked for."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit.counts.continual_noise import NodeNoise
from tacit.errors import SettingError
from tacit.randomness import KeyedRandomness
from tacit.randomness.gaussian import discrete_gaussian
from tacit.randomness.laplace import discrete_laplace

KEY_BYTES: Final = 32  # 256 bits, as ChaCha20 takes
_VALUES_A_BLOCK: Final = 1 << 14  # drawn together: 128 KiB, and enough for compiled kernels
_KEPT_BLOCKS: Final = 4  # half a MiB together


class NodeDraws:
    """Noise of nodes, for all places, drawn in blocks from keys of their own that are derived from one.

    Nodes are numbered within sections (an epoch, a level of a tree). A block has as many nodes as make about 16,000
    values, and is drawn as a whole when the first of them is needed; a few blocks are kept.
    """

    __slots__ = ("_blocks", "_key", "n_places", "nodes_a_block")

    def __init__(self, key: bytes, n_places: int) -> None:
        if not (isinstance(key, bytes) and len(key) == KEY_BYTES):
            raise SettingError(
                "key must be 32 bytes. Take them from the randomness of a spend, once for every counter."
            )
        self._key = key
        self.n_places: Final = n_places
        self.nodes_a_block: Final = max(1, _VALUES_A_BLOCK // n_places)
        self._blocks: OrderedDict[tuple[NodeNoise, int, int], IntArray] = OrderedDict()

    def __repr__(self) -> str:
        return f"NodeDraws(<key>, {self.n_places})"

    def take(self, noise: NodeNoise, section: int, first: int, stop: int) -> IntArray:
        """The noise of the nodes ``first`` .. ``stop`` - 1 of a section: a row for each, a column for each place."""
        size = self.nodes_a_block
        out = np.empty((stop - first, self.n_places), np.int64)
        for number in range(first // size, -(-stop // size)):
            block = self._block(noise, section, number)
            low, high = max(first, number * size), min(stop, (number + 1) * size)
            out[low - first : high - first] = block[low - number * size : high - number * size]
        return out

    def _block(self, noise: NodeNoise, section: int, number: int) -> IntArray:
        at = (noise, section, number)
        if at in self._blocks:
            self._blocks.move_to_end(at)
            return self._blocks[at]
        where = section.to_bytes(8, "little") + number.to_bytes(8, "little")
        key = hashlib.blake2b(where, digest_size=KEY_BYTES, key=self._key, person=b"counter noise").digest()
        draw = discrete_gaussian if noise.is_gaussian else discrete_laplace
        drawn = draw(self.nodes_a_block * self.n_places, noise.parameter, randomness=KeyedRandomness(key))
        block = self._blocks[at] = drawn.reshape(self.nodes_a_block, self.n_places)
        if len(self._blocks) > _KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return block
