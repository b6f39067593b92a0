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
from tacit.audit.testing import ListedWords, assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness
from tacit.randomness.inversion import DIGITS, Inversion, cumulative, draw_choice, settle

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


EXPONENTS = [
    (Fraction(0), Fraction(0)),
    (Fraction(1, 3), Fraction(7, 5), Fraction(0)),
    (Fraction(5), Fraction(5), Fraction(11, 2), Fraction(400)),
    (Fraction(100_000), Fraction(1, 1000), Fraction(0)),
]


def exp_series(x: Fraction) -> tuple[Fraction, Fraction]:
    """exp(-x) between two fractions closer than 2^-300, by a power series of x / 2^k."""
    halvings = max(0, int(x).bit_length())
    small, term, total, n = x / (1 << halvings), Fraction(1), Fraction(1), 1
    while term > Fraction(1, 1 << 700):
        term = term * small / n
        total += term
        n += 1
    low, high = total, total + 2 * term
    for _ in range(halvings):
        low, high = (_cut(low**2, 900), _cut(high**2, 900) + Fraction(1, 1 << 900))
    return 1 / high, 1 / low


def _cut(value: Fraction, bits: int) -> Fraction:
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


@pytest.mark.parametrize("exponents", EXPONENTS[:3])
@pytest.mark.parametrize("bits", [1, 64, 200])
def test_probabilities_are_enclosed(exponents, bits):
    weights = [exp_series(exponent) for exponent in exponents]
    low_total, high_total = (sum(weight[side] for weight in weights) for side in (0, 1))
    enclosed = list(cumulative(exponents, bits))
    assert len(enclosed) == len(exponents) - 1
    for number, (low, high) in enumerate(enclosed, 1):
        below = sum(weight[0] for weight in weights[:number]) / high_total
        above = sum(weight[1] for weight in weights[:number]) / low_total
        assert Fraction(low, 1 << bits) <= below
        assert above <= Fraction(high, 1 << bits)
        assert high - low <= 2


class Given:
    """Chosen words."""

    def __init__(self, *words: int) -> None:
        self.given = list(words)

    def words(self, count: int) -> np.ndarray:
        assert count == 1
        return np.array([self.given.pop(0)], np.uint64)


def test_words_below_the_first_probability_choose_the_first_and_others_the_next():
    exponents = (Fraction(0), Fraction(1))
    ((low, high),) = cumulative(exponents, 64)
    assert draw_choice(exponents, randomness=Given(low - 1)) == 0
    assert draw_choice(exponents, randomness=Given(high)) == 1
    ((fine_low, fine_high),) = cumulative(exponents, 128)
    # a word that does not decide is followed by another
    tied = low
    assert fine_low >> 64 == tied
    assert draw_choice(exponents, randomness=Given(tied, (fine_low & (1 << 64) - 1) - 1)) == 0
    assert draw_choice(exponents, randomness=Given(tied, fine_high & (1 << 64) - 1)) == 1


def test_one_thing_is_chosen_without_a_word_and_none_is_refused():
    assert draw_choice([Fraction(3)], randomness=Given()) == 0
    with pytest.raises(SettingError, match="at least one thing"):
        draw_choice([], randomness=Given())


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("exponents", EXPONENTS[1:2])
def test_draws_have_their_probabilities(exponents, seed):
    source = SeededRandomness(seed)
    drawn = np.bincount([draw_choice(exponents, randomness=source) for _ in range(5_000)], minlength=len(exponents))
    weights = np.exp([-float(exponent) for exponent in exponents])
    assert_frequencies(drawn, weights / weights.sum(), false_failure=1e-9)
