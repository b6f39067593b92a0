"""The exact probabilities of reports, as randomize() draws them, beside those that channel() lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from driven_words import DrivenLaw, DrivenWords, Field, Layout
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.registry import MECHANISMS

EPSILON = 1.3
"""No threshold of it ends in zeros, and both sides of every coin are likely: no continuation goes unseen."""
SMALL = {"longitudinal": 2, "optimized longitudinal": 2, "longitudinal hashing": 2, "hierarchical": 4}
CELLS = dict.fromkeys(MECHANISMS, 3) | SMALL
LANE_BITS = 16
"""A narrow integer is drawn from so many bits, the lowest first."""
HASH_COIN = Field(48, 16)
"""Where a hashed report's word has its coin."""


def made(name: str, n_cells: int | None = None, epsilon: float = EPSILON) -> LocalRandomizer:
    if name == "hierarchical":  # two levels, of which the default tree over so few leaves has one
        return HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_cells or CELLS[name], fan_out=2)
    return MECHANISMS[name].from_epsilon(epsilon, n_cells or CELLS[name])


def lanes(count: int) -> tuple[Field, ...]:
    return tuple(Field(LANE_BITS * i, LANE_BITS) for i in range(count))


def layout_of(randomizer: LocalRandomizer) -> Layout:
    """How the words of one report are laid out that are not compared with a threshold as they are."""
    if isinstance(randomizer, SubsetSelection):
        return {0: lanes(randomizer.size)}
    if isinstance(randomizer, HierarchicalHistogram):
        assert all(isinstance(oracle, SubsetSelection) and oracle.size == 1 for oracle in randomizer.oracles)
        return {1: lanes(1)}
    if isinstance(randomizer, HadamardResponse):
        return {0: (Field(0, randomizer.n_bits, is_listed=True),)}
    if isinstance(randomizer, LocalHashing):
        return {0: (Field(0, randomizer.degree + randomizer.bits, is_listed=True), HASH_COIN)}
    if isinstance(randomizer, LongitudinalHashing):
        function, value = (Field(0, n_bits, is_listed=True) for n_bits in (randomizer.degree, randomizer.bits))
        return {0: (function,), 1: (value,), 3: (value,)}  # each value is followed by its coin
    return {0: lanes(1)} if randomizer.thresholds().keys() == {"keep"} else {}


def driven_row(randomizer: LocalRandomizer, cell: int) -> dict[int, Fraction]:
    """The probabilities of all reports of a cell, by their number, as the sampler draws them."""

    def report(source: DrivenWords) -> int:
        (row,) = randomizer.randomize(np.array([cell]), randomness=source)
        return int.from_bytes(row.tobytes(), "little")

    return DrivenLaw(report, layout_of(randomizer)).probabilities()


def listed_row(randomizer: LocalRandomizer, cell: int) -> dict[int, Fraction]:
    return {number: chance for number, chance in enumerate(randomizer.channel()[cell]) if chance}
