"""Engines: they turn counts into published totals, one kind for each kind of noise model."""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.kernels import buffer_kernels
from tacit.counts.continual_noise import (
    LONGEST,
    BufferedRoot,
    ContinualNoise,
    Epochs,
    FusedTree,
    NestedTree,
    RefinedTree,
)
from tacit.counts.continual_noise.refined import SHARE_BITS
from tacit.counts.node_distributions import NodeDistribution
from tacit.errors import FormatError, SettingError
from tacit.randomness import KeyedRandomness

KEY_BYTES: Final = 32  # 256 bits, as ChaCha20 takes
# drawn together: 128 KiB. Part of what a key gives: another size is another noise
VALUES_A_BLOCK: Final = 1 << 14
_KEPT_BLOCKS: Final = 4  # half a MiB together; fewer are drawn again more often, more cost memory


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
        self.nodes_a_block: Final = max(1, VALUES_A_BLOCK // n_places)
        self._blocks: OrderedDict[tuple[NodeDistribution, int, int], IntArray] = OrderedDict()

    def __repr__(self) -> str:
        return f"NodeDraws(<key>, {self.n_places})"

    def take(self, noise: NodeDistribution, section: int, first: int, stop: int) -> IntArray:
        """Return the noise of the nodes ``first`` .. ``stop`` - 1 of a section: nodes in rows, places in columns."""
        size = self.nodes_a_block
        out = np.empty((stop - first, self.n_places), np.int64)
        for number in range(first // size, -(-stop // size)):
            block = self._block(noise, section, number)
            low, high = max(first, number * size), min(stop, (number + 1) * size)
            out[low - first : high - first] = block[low - number * size : high - number * size]
        return out

    def _block(self, noise: NodeDistribution, section: int, number: int) -> IntArray:
        at = (noise, section, number)
        if at in self._blocks:
            self._blocks.move_to_end(at)
            return self._blocks[at]
        where = section.to_bytes(8, "little") + number.to_bytes(8, "little")
        key = hashlib.blake2b(where, digest_size=KEY_BYTES, key=self._key, person=b"counter noise").digest()
        drawn = noise.draw(self.nodes_a_block * self.n_places, randomness=KeyedRandomness(key))
        block = self._blocks[at] = drawn.reshape(self.nodes_a_block, self.n_places)
        if len(self._blocks) > _KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return block


Memory = Mapping[str, IntArray]
"""The state that an engine keeps from bin to bin: named arrays of whole numbers, true sums among them."""


class Engine(Protocol):
    """Publishes totals by a noise model, bin by bin or many at once, with the same result.

    Mathematical contract: what is published is the noise model's decoder applied to the nodes' counts plus their noise,
    and is computed from these sums alone: no rounding lets anything else about the counts through.
    """

    def start(self) -> Memory:
        """Return the memory before the first bin."""

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        """Return the memory after these bins (rows), and the totals after each in units of 1/grid.

        ``position`` is the number of bins before them. Nothing that is passed in is changed.
        """


def running(total: IntArray, counts: IntArray) -> IntArray:
    """Return true totals after each of these bins."""
    totals: IntArray = np.cumsum(counts, axis=0, dtype=np.int64) + total
    return totals


_BINS_A_CHUNK: Final = 4096  # whose spans and ends are computed together and kept: memory for time


class NestedEngine:
    """Remembers the true total, and the noise of the totals that later ones start from.

    The noise is whole numbers with weights of 1, so that the true total plus noise is the sum of noisy nodes exactly.
    """

    def __init__(self, noise_model: NestedTree, draws: NodeDraws) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws

    def start(self) -> Memory:
        n_places = self._draws.n_places
        return {
            "total": np.zeros(n_places, np.int64),
            "standing": np.zeros(1, np.int64),  # the empty total, which stands for ever
            "ends": np.full(1, LONGEST + 1, np.int64),
            "noise": np.zeros((1, n_places), np.int64),
        }

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        n_bins = len(counts)
        last = position + n_bins
        numbers = np.arange(position + 1, last + 1)
        spans, ends = _structure(self.noise_model, position, last)
        drawn = self._draws.take(self.noise_model.node_noise, 0, position, last)
        noise = _summed(memory, numbers - spans, position, drawn)
        totals = running(memory["total"], counts)
        all_ends = np.concatenate([memory["ends"], ends])
        stand = all_ends > last
        after = {
            "total": totals[-1],
            "standing": np.concatenate([memory["standing"], numbers])[stand],
            "ends": all_ends[stand],
            "noise": np.concatenate([memory["noise"], noise])[stand],
        }
        return after, totals + noise


def _summed(memory: Memory, bases: IntArray, position: int, drawn: IntArray) -> IntArray:
    """Return the noise of totals: each is its own node's plus that of the total it starts from, an earlier one.

    Paths are halved again and again until each leads to a total from before these bins.
    """
    noise = drawn
    inside = bases > position
    standing = memory["standing"]
    found = np.minimum(np.searchsorted(standing, bases), len(standing) - 1)
    if not (inside | (standing[found] == bases)).all():
        raise FormatError("the memory of the counter lacks a total that later ones start from. Restore it from a copy.")
    base = np.where(inside, bases - position - 1, found)
    while inside.any():
        rows = np.flatnonzero(inside)
        step = noise.copy()
        step[rows] += noise[base[rows]]
        next_base, next_inside = base.copy(), inside.copy()
        next_base[rows], next_inside[rows] = base[base[rows]], inside[base[rows]]
        noise, base, inside = step, next_base, next_inside
    summed: IntArray = noise + memory["noise"][base]
    return summed


def _structure(noise_model: NestedTree, first: int, stop: int) -> tuple[IntArray, IntArray]:
    """Return the spans and ends of the nodes that complete with totals ``first`` + 1 .. ``stop``."""
    chunks = [_chunk(noise_model, number) for number in range(first // _BINS_A_CHUNK, -(-stop // _BINS_A_CHUNK))]
    offset = first // _BINS_A_CHUNK * _BINS_A_CHUNK
    spans, ends = (np.concatenate(part) if len(part) > 1 else part[0] for part in zip(*chunks, strict=True))
    return spans[first - offset : stop - offset], ends[first - offset : stop - offset]


@lru_cache(maxsize=32)
def _chunk(noise_model: NestedTree, number: int) -> tuple[IntArray, IntArray]:
    first = number * _BINS_A_CHUNK
    totals = np.arange(first + 1, min(first + _BINS_A_CHUNK, noise_model.horizon) + 1)
    return noise_model.spans(totals), noise_model.ends(totals)


class RefinedEngine:
    r"""Remembers, for each level, the true sum of the open node and the estimates of its complete children.

    A node's estimate is computed from noisy sums alone, in whole numbers of the grid, so that it is the same however
    many bins come at once:

    .. math:: \hat y = \Sigma - \mathrm{round}\bigl(a (\Sigma - y)\bigr), \qquad \Sigma = \sum_c \hat y_c,

    with the share :math:`a = m_l / \Lambda_l` of its own measurement, to twenty binary digits.
    """

    def __init__(self, noise_model: RefinedTree, draws: NodeDraws, section: int = 0) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws
        self._section: Final = section
        self._shares: Final = [
            round((size << SHARE_BITS) / total) for size, total in zip(noise_model.sizes, noise_model.sums, strict=True)
        ]

    def start(self) -> Memory:
        empty = np.zeros((self.noise_model.levels, self._draws.n_places), np.int64)
        return {"open": empty, "estimates": empty}

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        last = position + len(counts)
        bins = np.arange(position + 1, last + 1)
        first_node, last_node = self._nodes_before(np.array([position, last])).tolist()
        drawn = self._draws.take(self.noise_model.node_noise, self._section, first_node, last_node)
        true = running(np.zeros(counts.shape[1], np.int64), np.concatenate([counts[:1] * 0, counts]))
        published = np.zeros(counts.shape, np.int64)
        opened, estimates = memory["open"].copy(), memory["estimates"].copy()
        fused = memory["estimates"][:1]
        for level, size in enumerate(self.noise_model.sizes):
            first, until = position // size, bins // size
            done = np.arange((first + 1) * size, last + 1, size)
            sums = _between(true, done - size - position, done - position, memory["open"][level])
            nodes = (sums + drawn[self._nodes_before(done - 1) - first_node + level]) * self.noise_model.grid
            if level:
                below = self.noise_model.sizes[level - 1]
                inner = _between(fused, (done - size) // below - position // below, done // below - position // below)
                nodes = inner - (((inner - nodes) * self._shares[level] + (1 << (SHARE_BITS - 1))) >> SHARE_BITS)
            # estimates of this level, added up from the start of the open parent on
            fused = np.cumsum(np.concatenate([memory["estimates"][level : level + 1], nodes]), axis=0)
            parent = self.noise_model.sizes[level + 1] if level + 1 < self.noise_model.levels else last + 1
            standing = _between(fused, bins // parent * parent // size - first, until - first)
            published += standing
            estimates[level] = standing[-1]
            opened[level] = true[-1] - true[done[-1] - position] if len(done) else memory["open"][level] + true[-1]
        return {"open": opened, "estimates": estimates}, published

    def _nodes_before(self, totals: IntArray) -> IntArray:
        """Return the number of nodes that are complete with each total."""
        nodes: IntArray = sum((totals // size for size in self.noise_model.sizes), np.zeros_like(totals))
        return nodes


class EpochsEngine:
    """Remembers what finished epochs came to, and the memory of the epoch that runs."""

    def __init__(self, noise_model: Epochs, draws: NodeDraws) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws

    def start(self) -> Memory:
        return {"finished": np.zeros(self._draws.n_places, np.int64), **self._engine(0).start()}

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        finished = memory["finished"]
        inner: Memory = {name: part for name, part in memory.items() if name != "finished"}
        published = []
        done = 0
        while done < len(counts):
            epoch = self.noise_model.epoch_of(position + done)
            start, stop = self.noise_model.starts[epoch], self.noise_model.starts[epoch + 1]
            part = counts[done : done + stop - position - done]
            inner, totals = self._engine(epoch).advance(inner, position + done - start, part)
            published.append(totals + finished)
            done += len(part)
            if position + done == stop:
                finished, inner = published[-1][-1], self._engine(epoch + 1).start()
        return {"finished": finished, **inner}, np.concatenate(published)

    def _engine(self, epoch: int) -> RefinedEngine:
        # after the last epoch nothing comes: its engine stands for the one that never starts
        epoch = min(epoch, len(self.noise_model.trees) - 1)
        return RefinedEngine(self.noise_model.trees[epoch], self._draws, section=epoch)


class FusedEngine:
    """Remembers the true total; the noise of all totals is computed from the key when it is first needed.

    It is computed in whole numbers of one over the tree's denominator, and rounded to the grid once: the sum of the
    true total and this noise is the rounded least-squares total exactly.
    """

    def __init__(self, noise_model: FusedTree, draws: NodeDraws) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws
        self._path: IntArray | None = None

    def start(self) -> Memory:
        return {"total": np.zeros(self._draws.n_places, np.int64)}

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        if self._path is None:
            self._path = self._noise()
        totals = running(memory["total"], counts)
        return {"total": totals[-1]}, totals * self.noise_model.grid + self._path[position : position + len(counts)]

    def _noise(self) -> IntArray:
        """Return the noise of every total."""
        noise_model, n_places = self.noise_model, self._draws.n_places
        n_top = -(-noise_model.horizon // noise_model.sizes[-1])
        up: list[IntArray] = []
        below = 1
        for level, size in enumerate(noise_model.sizes):
            n_nodes = n_top * (noise_model.sizes[-1] // size)
            own = self._draws.take(noise_model.node_noise, level, 0, n_nodes) * (size * below)
            if level:
                own += noise_model.sums[level - 1] * _children(up[-1], noise_model.fan_outs[level - 1], n_places).sum(
                    axis=1
                )
            up.append(own)
            below *= noise_model.sums[level]
        down, scale = up[-1], 1
        for level in range(noise_model.levels - 2, -1, -1):
            fan_out = noise_model.fan_outs[level]
            # from numerators over the sums of the levels below to ones over all of them
            above_unit, scale = scale * math.prod(noise_model.sums[level + 1 :]), scale * fan_out
            mine = _children(up[level], fan_out, n_places)
            shared = down - mine.sum(axis=1) * above_unit
            down = (mine * (above_unit * fan_out) + shared[:, None, :]).reshape(-1, n_places)
        units, rest = np.divmod(np.cumsum(down, axis=0)[: noise_model.horizon], noise_model.denominator)
        path: IntArray = (
            units * noise_model.grid
            + (rest * noise_model.grid + noise_model.denominator // 2) // noise_model.denominator
        )
        return path


def _children(nodes: IntArray, fan_out: int, n_places: int) -> IntArray:
    return nodes.reshape(-1, fan_out, n_places)


def _between(running_sums: IntArray, since: IntArray, until: IntArray, carried: IntArray | int = 0) -> IntArray:
    """Return what was added between two rows of running sums; from before the first row if ``since`` is negative."""
    earlier = np.where((since >= 0)[:, None], running_sums[np.maximum(since, 0)], -np.asarray(carried))
    between: IntArray = running_sums[until] - earlier
    return between


class BufferedEngine:
    """Remembers the true total, the noise in the last published one, and a buffer for each exponential."""

    def __init__(self, noise_model: BufferedRoot, draws: NodeDraws) -> None:
        self.noise_model: Final = noise_model
        self._draws: Final = draws
        self._decays, self._decay_shifts = np.array(noise_model.decays, np.int64).T.copy()
        self._weights, self._weight_shifts = np.array(noise_model.weights, np.int64).T.copy()

    def start(self) -> Memory:
        n_places = self._draws.n_places
        return {
            "total": np.zeros(n_places, np.int64),
            "noise": np.zeros(n_places, np.int64),
            "buffers": np.zeros((len(self.noise_model.decays), n_places), np.int64),
        }

    def advance(self, memory: Memory, position: int, counts: IntArray) -> tuple[Memory, IntArray]:
        left = self._draws.take(self.noise_model.node_noise, 0, position, position + len(counts))
        buffers = memory["buffers"].copy()
        kernels = buffer_kernels(len(counts))
        kernels.take_back(
            left,
            buffers,
            self._decays,
            self._decay_shifts,
            self._weights,
            self._weight_shifts,
            self.noise_model.guard_bits,
        )
        totals, noise = running(memory["total"], counts), running(memory["noise"], left)
        after = {"total": totals[-1], "noise": noise[-1], "buffers": buffers}
        return after, totals * self.noise_model.grid + noise


def engine_of(noise_model: ContinualNoise, draws: NodeDraws) -> Engine:
    """Return the engine of a noise model."""
    engines: Mapping[str, Callable[[Any, NodeDraws], Engine]] = {
        "k-ary tree": NestedEngine,
        "smooth tree": NestedEngine,
        "refined tree": RefinedEngine,
        "fused tree, noise drawn ahead": FusedEngine,
        "epochs of refined trees": EpochsEngine,
        "buffered root": BufferedEngine,
    }
    return engines[noise_model.kind](noise_model, draws)
