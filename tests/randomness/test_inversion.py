"""Draws by cumulative probabilities have these probabilities, to the last digit and beyond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_inversion import assert_inverts, compiled_if_there, drawn
from tacit._base.kernels import draws_plain
from tacit.audit.testing import ListedWords
from tacit.randomness import SeededRandomness
from tacit.randomness.inversion import DIGITS, Inversion, settle

ALL_ONES = (1 << 64) - 1


def distribution_of(cumulative: Sequence[Fraction]):
    def distribution(bits: int) -> Iterator[tuple[int, int]]:
        for share in cumulative:
            scaled = share * (1 << bits)
            yield scaled.__floor__(), scaled.__ceil__()

    return distribution


shares = st.lists(st.fractions(0, 1, max_denominator=15), min_size=1, max_size=6, unique=True).map(
    lambda drawn: sorted(share for share in drawn if share < 1)
)


@given(cumulative=shares.filter(lambda c: all(share.denominator & (share.denominator - 1) for share in c)))
@pytest.mark.slow
def test_every_distribution_on_few_values_is_met_exactly(cumulative):
    inversion = Inversion.of(distribution_of(cumulative))
    assert_inverts(inversion, [(share, share) for share in cumulative])
    assert len(inversion.thresholds) == len(cumulative) + 1


@pytest.mark.parametrize("kernels", [draws_plain, compiled_if_there()])
def test_probabilities_of_few_binary_digits_are_met_by_listing_all_words(kernels):
    # 2**12 words stand for all: thresholds end after at most 11 digits, and the last bit takes no part
    shares = [Fraction(1, 4), Fraction(3, 4), Fraction(7, 8), Fraction(2047, 2048)]
    inversion = Inversion.of(distribution_of(shares))
    for rest in (0, (1 << 52) - 1):
        words = np.arange(1 << 12, dtype=np.uint64) << np.uint64(52) | np.uint64(rest)
        out = np.empty(words.size, np.int64)
        inversion.draw(words, out, kernels, ListedWords([ALL_ONES] * 2))
        assert np.bincount(out).tolist() == [1 << 10, 1 << 11, 1 << 9, (1 << 9) - 2, 2]


@given(words=st.lists(st.integers(0, ALL_ONES), min_size=1, max_size=40), cumulative=shares, n_bits=st.integers(0, 63))
def test_compiled_and_plain_kernels_draw_the_same(words, cumulative, n_bits):
    inversion = Inversion.of(distribution_of(cumulative))
    words += [ALL_ONES >> n_bits, ALL_ONES ^ (ALL_ONES >> n_bits)]  # every bucket of the guide is visited
    drawn(inversion, words, spare=[5] * 400)


@pytest.mark.false_failure(0)
def test_many_words_are_drawn_as_one_by_one(seed):
    inversion = Inversion.of(distribution_of([Fraction(k, 97) for k in range(1, 97)]))
    words = SeededRandomness(seed).words(3000)
    out = np.empty(words.size, np.int64)
    inversion.draw(words, out, compiled_if_there(), ListedWords([]))
    np.testing.assert_array_equal(out, [int(word >> 1) * 97 >> DIGITS for word in words.tolist()])


def test_digits_that_never_differ_are_drawn_for_as_long_as_they_do_not():
    third = Inversion.of(distribution_of([Fraction(1, 3)]))
    one, other = 0x5555555555555555, 0xAAAAAAAAAAAAAAAA  # 1/3 is 0.010101... in binary digits, 63 and then 64 at a time
    assert int(third.thresholds[0]) == one >> 1
    for last, value in ((other - 1, 0), (other + 1, 1)):
        source = ListedWords([other] * 20 + [last])
        assert settle(third.distribution, one >> 1, DIGITS, source) == value
        assert source.n_left == 0


def test_values_less_likely_than_the_last_digit_are_drawn_too():
    # F(k) = 1 - 2**-(40 (k + 1)), a distribution without an end whose table ends after two values
    def distribution(bits: int) -> Iterator[tuple[int, int]]:
        k = 1
        while True:
            yield (1 << bits) - (1 << bits >> 40 * k) - (bits < 40 * k), (1 << bits) - (1 << bits >> 40 * k)
            k += 1

    inversion = Inversion.of(distribution)
    assert len(inversion.thresholds) == 2
    assert drawn(inversion, [ALL_ONES], spare=[0], all_used=True) == 1
    assert drawn(inversion, [ALL_ONES], spare=[ALL_ONES - (1 << 24)], all_used=True) == 2
    assert drawn(inversion, [ALL_ONES], spare=[ALL_ONES - (1 << 7) + 1], all_used=True) == 3
    assert drawn(inversion, [ALL_ONES], spare=[ALL_ONES, 0], all_used=True) == 3


def test_a_distribution_of_too_many_values_for_its_guide_is_refused():
    with pytest.raises(AssertionError, match="too many values"):
        Inversion.of(distribution_of([Fraction(k, 1025) for k in range(1, 1025)]))
