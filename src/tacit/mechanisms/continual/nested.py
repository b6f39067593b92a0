"""Totals of trees whose nodes come and go as on a stack."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit.counts.continual_noise import LONGEST, NestedTree
from tacit.errors import FormatError
from tacit.mechanisms.continual.engine import Memory, running
from tacit.mechanisms.continual.node_noise import NodeDraws

_BINS_A_CHUNK: Final = 4096


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
    """The noise of totals: each is its own node's plus that of the total it starts from, an earlier one.

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
    """The spans and ends of the nodes that complete with totals ``first`` + 1 .. ``stop``."""
    chunks = [_chunk(noise_model, number) for number in range(first // _BINS_A_CHUNK, -(-stop // _BINS_A_CHUNK))]
    offset = first // _BINS_A_CHUNK * _BINS_A_CHUNK
    spans, ends = (np.concatenate(part) if len(part) > 1 else part[0] for part in zip(*chunks, strict=True))
    return spans[first - offset : stop - offset], ends[first - offset : stop - offset]


@lru_cache(maxsize=32)
def _chunk(noise_model: NestedTree, number: int) -> tuple[IntArray, IntArray]:
    first = number * _BINS_A_CHUNK
    totals = np.arange(first + 1, min(first + _BINS_A_CHUNK, noise_model.horizon) + 1)
    return noise_model.spans(totals), noise_model.ends(totals)
