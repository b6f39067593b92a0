"""A coin of threshold t is heads with probability t / 2**64: by listing all digits, then by counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.audit.testing import assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import CHUNK_WORDS, COIN, FEW, ROUNDS, ROWS_WORDS, bernoulli_bits, bernoulli_rows

N_DIGITS = sum(ROUNDS)
N_TWINS = 8  # coins of the same digits: enough that every round has more than a few coins to toss
N_LANES = N_TWINS << N_DIGITS
INTERESTING = [1, 255, COIN // 4, COIN // 3, COIN // 2, COIN // 2 + 1, COIN - (COIN // 3), COIN - 1]

thresholds = st.one_of(
    st.integers(1, COIN - 1),
    st.builds(lambda digits, bits: digits << (64 - bits), st.integers(1, 255), st.just(8)),
    st.sampled_from(INTERESTING),
)


class Scripted:
    """Words that were written down beforehand; asking for one more is an error."""

    is_simulation = True

    def __init__(self, words: list[int]) -> None:
        self.left = words
        self.n_drawn = 0

    def fill(self, out: NDArray[np.uint64]) -> None:
        assert out.size <= len(self.left), "more words were drawn than documented"
        out[:], self.left = self.left[: out.size], self.left[out.size :]
        self.n_drawn += out.size

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out


class Counted(SeededRandomness):
    """Seeded words, counted."""

    n_drawn = 0

    def fill(self, out: NDArray[np.uint64]) -> None:
        self.n_drawn += out.size
        super().fill(out)

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out


@contextmanager
def kernels(compiled: bool) -> Iterator[None]:
    if compiled:
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "WORTH_LOADING", 0 if compiled else 1 << 62)
        yield


def bits_of(words: NDArray[np.uint64], count: int) -> NDArray[np.uint8]:
    return np.unpackbits(words.astype("<u8").view(np.uint8), count=count, bitorder="little")


def paths(n_digits: int = N_DIGITS) -> list[int]:
    """Words that take ``N_LANES`` coins through all sequences of ``n_digits`` digits, in order and equally often.

    Coins that a round leaves undecided are neighbors, so that the digits of the next round are in order too.
    """
    words, n_lanes = [], N_LANES
    for n_in_round in ROUNDS:
        for digit in range(min(n_in_round, n_digits)):
            bits = np.arange(n_lanes) // (n_lanes >> digit + 1) % 2
            words += np.packbits(bits.astype(np.uint8), bitorder="little").view("<u8").tolist()
        n_digits -= min(n_in_round, n_digits)
        n_lanes >>= n_in_round
    return words


def heads_among_paths(threshold: int, words: list[int]) -> NDArray[np.uint8]:
    scripted = Scripted(words)
    bits = bits_of(bernoulli_bits(N_LANES, threshold, scripted), N_LANES)
    assert scripted.left == [], "fewer words were drawn than documented"
    return bits


def test_the_scripted_coins_are_tossed_in_every_round():
    assert N_LANES >> sum(ROUNDS[:-1]) > FEW
    assert N_TWINS <= FEW


@settings(max_examples=30)
@given(threshold=thresholds.filter(lambda t: t << N_DIGITS & COIN - 1))
def test_the_probability_is_exact(threshold):
    # all equally likely beginnings are tossed at once; just one is undecided, and words of their own decide its twins
    top, rest = divmod(threshold << N_DIGITS, COIN)
    heads = heads_among_paths(threshold, paths() + [rest, rest - 1, 0, COIN - 1] + [rest] * (N_TWINS - 4))
    assert heads.tolist() == [1] * (N_TWINS * top) + [0, 1, 1] + [0] * (N_LANES - N_TWINS * top - 3)
    assert Fraction(top, 1 << N_DIGITS) + Fraction(1, 1 << N_DIGITS) * Fraction(rest, COIN) == Fraction(threshold, COIN)


@given(threshold=thresholds, n_bits=st.integers(2, FEW))
def test_the_probability_of_few_coins_is_exact(threshold, n_bits):
    words = ([threshold - 1, threshold] * FEW)[:n_bits]
    heads = bits_of(bernoulli_bits(n_bits, threshold, Scripted(words)), n_bits)
    assert heads.tolist() == ([1, 0] * FEW)[:n_bits]


@pytest.mark.parametrize("n_digits", range(1, N_DIGITS + 1))
def test_a_threshold_of_few_digits_draws_only_these(n_digits):
    for top in {1, (1 << n_digits) // 3 | 1, (1 << n_digits) - 1}:  # the last digit is a one
        heads = heads_among_paths(top << (64 - n_digits), paths(n_digits))
        n_heads = top * (N_LANES >> n_digits)
        assert heads.tolist() == [1] * n_heads + [0] * (N_LANES - n_heads)


@pytest.mark.parametrize("n_bits", [0, 1, 17, 63, 64, 65, 1000])
def test_certain_coins_draw_nothing(n_bits):
    nothing = Scripted([])
    assert bits_of(bernoulli_bits(n_bits, 0, nothing), n_bits).sum() == 0
    assert bits_of(bernoulli_bits(n_bits, COIN, nothing), n_bits).sum() == n_bits


@given(n_bits=st.integers(0, 3 * FEW), threshold=st.integers(0, COIN), seed=st.integers(0, 1 << 30))
def test_bits_beyond_the_last_coin_are_zero(n_bits, threshold, seed):
    words = bernoulli_bits(n_bits, threshold, SeededRandomness(seed))
    assert words.size == -(-n_bits // 64)
    assert not bits_of(words, words.size * 64)[n_bits:].any()


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("threshold", INTERESTING)
@pytest.mark.parametrize(
    "n_bits", [1, 65, FEW, FEW + 1, 40 * FEW + 1, CHUNK_WORDS * 64 - 1, CHUNK_WORDS * 64, CHUNK_WORDS * 64 * 2 + 70]
)
def test_compiled_and_plain_kernels_toss_the_same_coins(threshold, n_bits, seed):
    tossed = []
    for compiled in (True, False):
        with kernels(compiled):
            source = Counted(seed)
            tossed.append((bernoulli_bits(n_bits, threshold, source).tobytes(), source.n_drawn))
    assert tossed[0] == tossed[1]


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("n_cells", [2, 17, 57, 58, 1024, 100_000])
@pytest.mark.parametrize(
    ("ones", "zeros"), [(3 * COIN // 4, COIN // 4), (COIN - COIN // 7, COIN // 7), (COIN // 2, 99)]
)
def test_compiled_and_plain_kernels_write_the_same_rows(n_cells, ones, zeros, seed):
    n = min(3 * ROWS_WORDS * 64 // n_cells // 2, 100_000)  # more than one part of the work where that is quick
    cells = np.random.default_rng(seed).integers(0, n_cells, n)
    written = []
    for compiled in (True, False):
        with kernels(compiled):
            written.append(bernoulli_rows(cells, n_cells, ones, zeros, SeededRandomness(seed)).tobytes())
    assert written[0] == written[1]


@given(
    n_cells=st.integers(1, 130),
    n=st.integers(0, 60),
    zeros=st.integers(0, COIN),
    ones=st.none() | st.integers(0, COIN),
    seed=st.integers(0, 1 << 30),
)
def test_rows_are_the_coins_cut_up_with_the_true_cell_flipped_or_replaced(n_cells, n, zeros, ones, seed):
    cells = np.random.default_rng(seed).integers(0, n_cells, n)
    rows = bernoulli_rows(cells, n_cells, COIN - zeros if ones is None else ones, zeros, SeededRandomness(seed))
    source = SeededRandomness(seed)
    bits = bits_of(bernoulli_bits(n * n_cells, zeros, source), n * n_cells).reshape(n, n_cells)
    each = np.arange(n)
    if ones is None or ones + zeros == COIN:
        bits[each, cells] ^= 1
    else:
        bits[each, cells] = bits_of(bernoulli_bits(n, ones, source), n)
    assert rows.tolist() == np.packbits(bits, axis=1, bitorder="little").tolist()


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("ones", [COIN - COIN // 3, COIN // 2])
def test_how_many_words_are_drawn_does_not_depend_on_the_cells(ones, seed):
    drawn = set()
    assert FEW < 17 * 1000
    for cells in (np.zeros(1000, np.int32), np.full(1000, 16, np.int32), np.arange(1000) % 17):
        source = Counted(seed)
        bernoulli_rows(cells, 17, ones, COIN // 3, source)
        drawn.add(source.n_drawn)
    assert len(drawn) == 1


def pairs(words: NDArray[np.uint64], n_bits: int, lag: int) -> NDArray[np.int64]:
    """How often the disjoint pairs (coin i, coin i + lag) are 00, 01, 10 and 11."""
    bits = bits_of(words, n_bits)[: n_bits // (2 * lag) * 2 * lag].reshape(-1, 2, lag)
    return np.bincount((2 * bits[:, 0] + bits[:, 1]).ravel(), minlength=4)


def chances(p: float) -> list[float]:
    return [(1 - p) ** 2, (1 - p) * p, p * (1 - p), p * p]


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("share", [0.15, 0.25, 0.001, 0.9])
@pytest.mark.parametrize("lag", [1, 64])
def test_coins_and_pairs_of_coins_come_as_often_as_they_should(share, lag, seed):
    n_bits = 1_000_000
    tossed = bernoulli_bits(n_bits, round(share * COIN), SeededRandomness(seed))
    assert_frequencies(pairs(tossed, n_bits, lag), chances(share), false_failure=1e-9)


@pytest.mark.false_failure(1e-9)
def test_coins_of_a_wrong_threshold_are_caught(seed):
    n_bits = 1_000_000
    tossed = bernoulli_bits(n_bits, round(0.155 * COIN), SeededRandomness(seed))
    with pytest.raises(AssertionError):
        assert_frequencies(pairs(tossed, n_bits, 1), chances(0.15), false_failure=1e-9)


@pytest.mark.false_failure(1e-9)
def test_coins_left_undecided_as_tails_are_caught(seed):
    # what would happen if the coins that eight digits leave undecided were never decided: 0.15 becomes 38/256
    n_bits = 10_000_000
    cut_off = round(0.15 * COIN) >> 56 << 56
    tossed = bernoulli_bits(n_bits, cut_off, SeededRandomness(seed))
    with pytest.raises(AssertionError):
        assert_frequencies(pairs(tossed, n_bits, 1), chances(0.15), false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(("p", "q"), [(0.85, 0.15), (0.75, 0.25), (0.5, 0.1)])
def test_the_true_cell_and_the_others_come_as_often_as_they_should(p, q, seed):
    n, n_cells = 100_000, 17
    cells = np.full(n, 11)
    rows = bernoulli_rows(cells, n_cells, COIN - round((1 - p) * COIN), round(q * COIN), SeededRandomness(seed))
    bits = np.unpackbits(rows, axis=1, count=n_cells, bitorder="little")
    for cell, heads in enumerate(bits.sum(axis=0, dtype=np.int64).tolist()):
        chance = p if cell == 11 else q
        assert_frequencies([n - heads, heads], [1 - chance, chance], false_failure=1e-10)


@pytest.mark.parametrize("threshold", [-1, COIN + 1, 0.5, float("nan"), "1"])
def test_a_threshold_outside_its_range_is_refused(threshold):
    with pytest.raises(SettingError, match=r"threshold must be a whole number from 0 to 2\*\*64"):
        bernoulli_bits(8, threshold, SeededRandomness(1))


@pytest.mark.parametrize("outside", [-1, 17, 2**31, -(2**40)])
def test_cells_outside_are_refused_by_their_number_alone(outside):
    with pytest.raises(SettingError, match="cells must lie between 0 and 16; 1 of the first 3 do not") as refusal:
        bernoulli_rows(np.array([1, outside, 5]), 17, 3 * COIN // 4, COIN // 4, SeededRandomness(1))
    assert str(outside) not in str(refusal.value).replace("0 and 16", "")
