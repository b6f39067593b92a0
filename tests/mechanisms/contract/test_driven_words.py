"""randomize() has exactly the probabilities that channel() lists: found by driving it with chosen random words.

The thresholds of the sampler are found by bisection over words of 64 bits, so a threshold that is off by one, 2**-64
of probability, is seen. No luck is involved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from driven_reports import EPSILON, driven_repairs, driven_row, listed_row, made
from driven_words import DrivenLaw, DrivenWords
from reference_samplers import coins, reports_of
from tacit._base import kernels as _kernels
from tacit.mechanisms.local import subset
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.registry import MECHANISMS
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits

COUNTS = ("size", "bits", "fan-out", "hashes", "n_bits", "axes", "axis 1", "axis 2")
"""What stands among thresholds and is none."""


LAST = {
    "level 1 chance": "level 2 chance",
    "table 1 chance": "table 3 chance",
    "table 2 chance": "table 3 chance",
}
"""The chances of the last levels, which are what the others leave."""


@contextmanager
def kernels(compiled: bool) -> Iterator[None]:
    if compiled:
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "WORTH_LOADING", 0 if compiled else 1 << 62)
        yield


def moved(name: str, threshold: str, by: int) -> LocalRandomizer:
    """The mechanism with one threshold moved; what a level's chance gains the last one loses."""
    right = made(name)
    thresholds = right.thresholds()
    other = {**thresholds, threshold: thresholds[threshold] + by}
    if threshold in LAST:
        other[LAST[threshold]] -= by
    return MECHANISMS[name].from_thresholds(other, right.n_cells)


COINS = [
    (name, threshold)
    for name in MECHANISMS
    for threshold in made(name).thresholds()
    if not threshold.endswith(COUNTS) and threshold not in LAST.values()
]


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_drawn_with_the_probabilities_of_the_channel(name):
    randomizer = made(name)
    with kernels(compiled=False):
        for cell in range(randomizer.n_cells):
            assert driven_row(randomizer, cell) == listed_row(randomizer, cell)


@pytest.mark.parametrize("name", MECHANISMS)
def test_compiled_kernels_draw_them_so_too(name):
    randomizer = made(name)
    with kernels(compiled=True):
        last = randomizer.n_cells - 1
        assert driven_row(randomizer, last) == listed_row(randomizer, last)


@pytest.mark.parametrize("compiled", [False, True])
def test_subsets_of_two_cells_are_drawn_with_the_probabilities_of_the_channel(compiled):
    selection = SubsetSelection.of_size(2, epsilon=EPSILON, n_cells=4)
    with kernels(compiled):
        assert driven_row(selection, 1) == listed_row(selection, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("compiled", "cell"), [(False, 1), (True, 3)])
def test_repaired_subsets_are_drawn_with_the_probabilities_of_the_channel(compiled, cell, monkeypatch):
    """As subsets of many cells are: a coin for each place, then repairs at random places."""
    monkeypatch.setattr(subset, "MOST_RANKED_CELLS", 1)
    selection = SubsetSelection.of_size(2, epsilon=EPSILON, n_cells=4)
    with kernels(compiled):
        assert driven_repairs(selection, cell) == listed_row(selection, cell)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.slow
def test_subsets_of_two_blocks_are_drawn_evenly(compiled):
    """The channel of 18 cells is too long to list; its two probabilities are not."""
    selection = SubsetSelection.of_size(1, epsilon=EPSILON, n_cells=18)
    with kernels(compiled):
        row = driven_row(selection, 5)
    assert row == {1 << cell: selection.p if cell == 5 else (1 - selection.p) / 17 for cell in range(18)}


def test_permanent_bits_are_drawn_with_the_probabilities_of_their_channel():
    rappor = LongitudinalRappor.from_epsilon(epsilon=EPSILON, n_cells=2)

    def bits(source: DrivenWords) -> int:
        (row,) = rappor.permanent_bits(np.array([1]), randomness=source)
        return int(row[0])

    assert DrivenLaw(bits, {}).probabilities() == dict(enumerate(rappor.permanent_channel()[1]))


@pytest.mark.parametrize(("name", "threshold"), dict(COINS).items())
def test_a_threshold_that_is_off_by_one_is_found(name, threshold):
    """The twin: the channel is the right one, the sampler compares words with a threshold 2**-64 beside it.

    For the last coin of every mechanism, whose words come last: it is the hardest to see.
    """
    assert driven_row(moved(name, threshold, 1), 0) != listed_row(made(name), 0)


@pytest.mark.parametrize(("name", "threshold"), COINS)
def test_every_threshold_moves_what_the_channel_lists(name, threshold):
    """So a sampler that is off by one in any coin differs from the list, with which it is compared exactly above."""
    assert listed_row(moved(name, threshold, 1), 0) != listed_row(made(name), 0)


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("n_reports", [1, 2, 65, 5000])
@pytest.mark.parametrize("n_cells", [3, 17, 64])
@pytest.mark.parametrize("name", MECHANISMS)
def test_many_reports_are_made_of_their_words_by_the_same_rule_as_one(name, n_cells, n_reports, seed):
    """Five thousand reports toss their coins digit by digit, one report word by word; plain and compiled kernels."""
    n_reports = min(n_reports, 200_000 // n_cells)
    randomizer = MECHANISMS[name].from_epsilon(EPSILON, n_cells)
    cells = np.arange(n_reports) * 7 % n_cells
    expected = reports_of(randomizer, cells.tolist(), SeededRandomness(seed))
    for compiled in (False, True):
        with kernels(compiled):
            reports = randomizer.randomize(cells, randomness=SeededRandomness(seed))
        assert [int.from_bytes(row.tobytes(), "little") for row in reports] == expected, f"{compiled=}"


@pytest.mark.false_failure(0)
@pytest.mark.parametrize(
    ("n_cells", "size"),
    [
        *[(2, 1), (17, 16), (18, 1), (18, 5), (20, 18), (33, 9), (33, 16), (33, 32)],
        *[(34, 9), (34, 33), (64, 1), (65, 17), (65, 40), (130, 129), (1000, 2), (1000, 270), (5000, 1345)],
    ],
)
def test_subsets_of_any_size_are_made_of_their_words_by_the_rule(n_cells, size, seed):
    selection = SubsetSelection.of_size(size, epsilon=EPSILON, n_cells=n_cells)
    cells = np.arange(max(3, 20_000 // n_cells)) * 7 % n_cells
    expected = reports_of(selection, cells.tolist(), SeededRandomness(seed))
    for compiled in (False, True):
        with kernels(compiled):
            reports = selection.randomize(cells, randomness=SeededRandomness(seed))
        assert [int.from_bytes(row.tobytes(), "little") for row in reports] == expected, f"{compiled=}"


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("threshold", [1, COIN // 3, COIN // 2, 5 << 61, COIN - 1, 0, COIN])
def test_the_rule_of_coins_takes_the_words_that_the_coins_take(threshold, seed):
    source, again = SeededRandomness(seed), SeededRandomness(seed)
    heads = coins(6000, threshold, source)
    tossed = bernoulli_bits(6000, threshold, again).astype("<u8").view(np.uint8)
    assert np.unpackbits(tossed, count=6000, bitorder="little").tolist() == heads
    assert source.words(1)[0] == again.words(1)[0]
