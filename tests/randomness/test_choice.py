"""A choice by rational exponents has the probabilities of the real numbers, to the last digit that is asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.testing import assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness
from tacit.randomness.choice import cumulative, draw_choice

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
