"""The exact probabilities of reports, as randomize() draws them, beside those that channel() lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from driven_words import TAIL_WORDS, TAILS, DrivenLaw, DrivenWords, Field, Layout
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.sampled_levels import SampledLevels
from tacit.mechanisms.local.subset import MOST_RANKED_CELLS, SubsetSelection, coins_and_lanes
from tacit.mechanisms.local.tables import SampledTables
from tacit.mechanisms.registry import MECHANISMS

EPSILON = 1.3
"""No threshold of it ends in zeros, and both sides of every coin are likely: no continuation goes unseen."""
SMALL = {
    "longitudinal": 2,
    "optimized longitudinal": 2,
    "longitudinal hashing": 2,
    "hierarchical": 4,
    "sampled tables": 4,
}
CELLS = dict.fromkeys(MECHANISMS, 3) | SMALL
LANE_BITS = 16
"""A narrow integer is drawn from so many bits, the lowest first."""
RANK_AND_COIN = (Field(0, 32), Field(32, 32))
"""How a word that names a subset of few cells is laid out."""
HASH_COIN = Field(48, 16)
"""Where a hashed report's word has its coin."""


def made(name: str, n_cells: int | None = None, epsilon: float = EPSILON) -> LocalRandomizer:
    if name == "hierarchical":  # two levels, of which the default tree over so few leaves has one
        return HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_cells or CELLS[name], fan_out=2)
    if name == "sampled tables" and not n_cells:  # three tables, of which the default over so few cells has one
        return SampledTables.from_epsilon(epsilon=epsilon, sizes=(2, 2), asked={(0,): 1.0, (1,): 1.0})
    return MECHANISMS[name].from_epsilon(epsilon, n_cells or CELLS[name])


def lanes(count: int) -> tuple[Field, ...]:
    return tuple(Field(LANE_BITS * i, LANE_BITS) for i in range(count))


def layout_of(randomizer: LocalRandomizer) -> Layout:
    """How the words of one report are laid out that are not compared with a threshold as they are."""
    if isinstance(randomizer, SubsetSelection):
        return {0: RANK_AND_COIN} if randomizer.n_cells <= MOST_RANKED_CELLS else layout_of_repairs(randomizer)
    if isinstance(randomizer, SampledLevels):
        assert all(isinstance(oracle, SubsetSelection) and oracle.size == 1 for oracle in randomizer.oracles)
        return {1: RANK_AND_COIN}
    if isinstance(randomizer, HadamardResponse):
        return {0: (Field(0, randomizer.n_bits, is_listed=True),)}
    if isinstance(randomizer, LocalHashing):
        return {0: (Field(0, randomizer.degree + randomizer.bits, is_listed=True), HASH_COIN)}
    if isinstance(randomizer, LongitudinalHashing):
        function, value = (Field(0, n_bits, is_listed=True) for n_bits in (randomizer.degree, randomizer.bits))
        return {0: (function,), 1: (value,), 3: (value,)}  # each value is followed by its coin
    return {0: lanes(1)} if randomizer.thresholds().keys() == {"keep"} else {}


def layout_of_repairs(selection: SubsetSelection) -> Layout:
    """The digits of the places, the coin, then lanes of places to repair."""
    assert selection.n_cells <= 64, "a word of places"
    digits, _ = coins_and_lanes(selection.n_cells, selection.size)
    places = (Field(0, selection.n_cells - 1, is_listed=True),)
    return dict.fromkeys(range(len(digits)), places) | dict.fromkeys(range(len(digits) + 1, TAIL_WORDS), lanes(4))


def driven_row(randomizer: LocalRandomizer, cell: int) -> dict[int, Fraction]:
    """The probabilities of all reports of a cell, by their number, as the sampler draws them."""
    return _driven(randomizer, cell, layout_of(randomizer), TAILS)


def driven_repairs(selection: SubsetSelection, cell: int) -> dict[int, Fraction]:
    """The same for a subset of few cells that is drawn as those of many are.

    What the first digit of a place was matters to few reports, so more continuations tell states apart.
    """
    return _driven(selection, cell, layout_of_repairs(selection), 2 * TAILS)


def _driven(randomizer: LocalRandomizer, cell: int, layout: Layout, n_tails: int) -> dict[int, Fraction]:
    def report(source: DrivenWords) -> int:
        (row,) = randomizer.randomize(np.array([cell]), randomness=source)
        return int.from_bytes(row.tobytes(), "little")

    return DrivenLaw(report, layout, n_tails).probabilities()


def listed_row(randomizer: LocalRandomizer, cell: int) -> dict[int, Fraction]:
    return {number: chance for number, chance in enumerate(randomizer.channel()[cell]) if chance}
