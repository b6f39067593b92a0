"""Discrete Laplace noise has its probabilities: first by the digits that decide, then by counting."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exact_exponentials import exp_minus_between
from exact_inversion import Between, assert_inverts, digits_of, kernels
from tacit.audit.testing import ListedWords, RecordedWords, assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import KeyedRandomness, SeededRandomness, discrete_laplace, laplace_variance
from tacit.randomness.inversion import DIGITS
from tacit.randomness.laplace import CHUNK, SMALLEST_RATE, _tables

ALL_ONES = (1 << 64) - 1
TABLED = [Fraction(64), Fraction(5, 3), Fraction(1), Fraction(0.1), Fraction(1, 32)]
GROUPED = [Fraction(1, 33), Fraction(1, 1000), Fraction(1, 10**6), Fraction(1e-9), SMALLEST_RATE]


def without(number: Between) -> Between:
    return 1 - number[1], 1 - number[0]


def beyond(rate: Fraction, k: int) -> Between:
    """P(|z| > k) = 2 q**(k+1) / (1 + q)."""
    low, high = exp_minus_between(rate)
    least, most = exp_minus_between(rate * (k + 1))
    return 2 * least / (1 + high), 2 * most / (1 + low)


def mass(rate: Fraction, z: int) -> Between:
    """P(z) = (1 - q) / (1 + q) q**|z|."""
    low, high = exp_minus_between(rate)
    least, most = exp_minus_between(rate * abs(z))
    return (1 - high) / (1 + high) * least, (1 - low) / (1 + low) * most


def masses(rate: float, n: int) -> np.ndarray:
    """P(-n) .. P(n) as floats, and what is left."""
    q = math.exp(-rate)
    inside = (1 - q) / (1 + q) * q ** np.abs(np.arange(-n, n + 1.0))
    return np.append(inside, 2 * q ** (n + 1) / (1 + q))


def counted(values: np.ndarray, n: int) -> np.ndarray:
    """How often -n .. n came, and all others."""
    inside = values[np.abs(values) <= n]
    return np.append(np.bincount(inside + n, minlength=2 * n + 1), values.size - inside.size)


@pytest.mark.parametrize("rate", TABLED)
def test_magnitudes_have_their_cumulative_probabilities_exactly(rate):
    blocks = _tables(rate).blocks
    assert not _tables(rate).groups
    n = len(blocks.thresholds) - 1
    some = sorted({*range(0, n, n // 40 + 1), *range(min(n, 4)), n - 1} - {-1})  # of a long table
    assert [int(blocks.thresholds[k]) for k in some] == [digits_of(without(beyond(rate, k)), DIGITS) for k in some]
    if n < 50:
        assert_inverts(blocks, [without(beyond(rate, k)) for k in range(n)])


@pytest.mark.parametrize("rate", [*TABLED, *GROUPED])
def test_the_digits_enclose_the_probability_of_every_value(rate):
    # a draw of the table has between (c_k - c_(k-1) - 1) and (c_k - c_(k-1) + 1) words of 2**63; parts are independent
    tables = _tables(rate)
    most_blocks = len(tables.blocks.thresholds) - 1
    for magnitude in sorted({0, 1, 2, 3, 7, 300, 54_321, 1 << 20, 1 << tables.n_low_bits, most_blocks // 2}):
        block, place = divmod(max(magnitude, 1) - 1, 1 << tables.n_low_bits)
        block = min(magnitude, 1 + block)
        if block >= most_blocks:
            continue
        shares = [enclosed(tables.blocks.thresholds, block)]
        if block:
            for first_bit, group in tables.groups:
                shares.append(enclosed(group.thresholds, place >> first_bit & len(group.thresholds) - 1))
            shares.append((Fraction(1, 2), Fraction(1, 2)))  # the sign
        least, most = mass(rate, magnitude)
        assert math.prod(low for low, _ in shares) <= most
        assert math.prod(high for _, high in shares) >= least


def enclosed(thresholds: np.ndarray, k: int) -> Between:
    before = int(thresholds[k - 1]) if k else -1  # nothing lies before the first
    last = (1 << DIGITS) if k == len(thresholds) - 1 else int(thresholds[k])
    width = last - before
    return Fraction(max(width - 1, 0), 1 << DIGITS), Fraction(width + 1, 1 << DIGITS)


@pytest.mark.parametrize("rate", GROUPED)
def test_groups_of_digits_have_their_probabilities_exactly(rate):
    tables = _tables(rate)
    assert sum(len(group.thresholds).bit_length() - 1 for _, group in tables.groups) == tables.n_low_bits
    for first_bit, group in tables.groups[:: max(1, len(tables.groups) - 1)]:
        size = len(group.thresholds)
        at_least_size = without(exp_minus_between(rate * (size << first_bit)))
        cumulative = []
        for place in range(size - 1):
            below = without(exp_minus_between(rate * (place + 1 << first_bit)))
            cumulative.append((below[0] / at_least_size[1], below[1] / at_least_size[0]))
            if size > 8 and place == 20:
                break
        assert_inverts(group, cumulative[: 8 if size > 8 else size])
        assert [int(t) for t in group.thresholds[: len(cumulative)]] == [digits_of(f, DIGITS) for f in cumulative]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 10)])
def test_all_beginnings_of_words_together_give_the_distribution(rate, compiled):
    # with 16 digits listed, the lowest and the highest words that begin with them enclose P(|z| <= k) by 2**-16
    beginnings = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    for is_negative in (0, 1):
        with kernels(compiled):
            ends = [
                discrete_laplace(1 << 16, rate, randomness=ListedWords([*(beginnings + np.uint64(rest)), *[9] * 99]))
                for rest in (is_negative, (1 << 48) - 2 + is_negative)
            ]
        assert all((end <= 0).all() if is_negative else (end >= 0).all() for end in ends)
        lowest, highest = (np.abs(end) for end in ends)
        for k in range(30):
            least, most = without(beyond(rate, k))
            assert np.count_nonzero(highest <= k) <= most * (1 << 16)
            assert np.count_nonzero(lowest <= k) >= least * (1 << 16)
            assert np.count_nonzero(lowest <= k) - np.count_nonzero(highest <= k) <= 1


@pytest.mark.false_failure(3e-9)
@pytest.mark.parametrize(("rate", "n"), [(2.0, 4), (1.0, 8), (0.1, 60), (1 / 32, 150), (1 / 33, 150), (1 / 300, 900)])
def test_values_come_as_often_as_they_should(rate, n, seed):
    drawn = discrete_laplace(400_000, rate, randomness=SeededRandomness(seed))
    assert_frequencies(counted(drawn, n), masses(rate, n), false_failure=1e-9)


@pytest.mark.false_failure(3e-9)
def test_values_of_a_wrong_rate_are_caught(seed):
    drawn = discrete_laplace(400_000, 1.03, randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError):
        assert_frequencies(counted(drawn, 8), masses(1.0, 8), false_failure=1e-9)


@pytest.mark.false_failure(3e-9)
@pytest.mark.parametrize("rate", [1e-6, 1e-9])
def test_large_noise_has_its_quantiles_its_sign_and_its_last_digits(rate, seed):
    drawn = discrete_laplace(200_000, rate, randomness=SeededRandomness(seed))
    edges = np.array([math.ceil(-math.log(1 - share / 50) / rate) for share in range(50)])
    q = math.exp(-rate)
    at_least = np.where(edges > 0, 2 * np.exp(-rate * edges) / (1 + q), 1.0)  # P(|z| >= edge)
    shares = at_least - np.append(at_least[1:], 0.0)
    places = np.searchsorted(edges, np.abs(drawn), side="right") - 1
    assert_frequencies(np.bincount(places, minlength=50), shares, false_failure=1e-9)
    assert_frequencies(np.bincount(np.sign(drawn) + 1, minlength=3)[[0, 2]], [0.5, 0.5], false_failure=1e-9)
    assert_frequencies(np.bincount(drawn & 15, minlength=16), np.full(16, 1 / 16), false_failure=1e-9)


@pytest.mark.false_failure(3e-9)
@pytest.mark.parametrize("lag", [1, 64])
def test_sums_of_neighbours_have_the_distribution_of_sums(lag, seed):
    drawn = discrete_laplace(400_000 // (2 * lag) * 2 * lag, 0.5, randomness=SeededRandomness(seed))
    sums = drawn.reshape(-1, 2, lag).sum(axis=1).ravel()
    single = masses(0.5, 200)[:-1]
    distribution = np.convolve(single, single)[400 - 20 : 400 + 21]
    assert_frequencies(counted(sums, 20), np.append(distribution, 1 - distribution.sum()), false_failure=1e-9)


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("rate", [64, 2.0, 0.1, 1 / 40, 1e-6, float(SMALLEST_RATE)])
@pytest.mark.parametrize("count", [0, 1, 100, CHUNK - 1, CHUNK + 513])
def test_compiled_and_plain_kernels_draw_the_same(rate, count, seed):
    drawn = []
    for compiled in (True, False):
        with kernels(compiled):
            drawn.append(discrete_laplace(count, rate, randomness=SeededRandomness(seed)).tolist())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == count


@pytest.mark.false_failure(0)
@pytest.mark.parametrize(("rate", "n_words"), [(64, 1), (1, 1), (1 / 32, 1), (1 / 33, 2), (1e-6, 3), (2.0**-40, 6)])
def test_how_many_words_are_drawn_depends_on_the_rate_alone(rate, n_words, seed):
    source = KeyedRandomness(seed.to_bytes(32, "little"))
    discrete_laplace(1000, rate, randomness=source)
    assert source.position == 1000 * n_words


@settings(max_examples=40)
@given(octave=st.floats(-40, 7), seed=st.integers(0, 1 << 30))
@example(octave=-40.0, seed=1)
@example(octave=-5.0, seed=1)
def test_every_rate_has_tables(octave, seed):
    rate = 2.0**octave
    drawn = discrete_laplace(50, rate, randomness=SeededRandomness(seed))
    # 50 values beyond 100 scales come with probability below 1e-40
    assert np.abs(drawn).max() <= 100 / rate + 1


@pytest.mark.false_failure(0)
def test_a_restart_draws_the_same_noise(seed):
    key = seed.to_bytes(32, "big")
    source = KeyedRandomness(key)
    discrete_laplace(999, 0.3, randomness=source)
    position = source.position
    drawn = discrete_laplace(50, 1e-4, randomness=source)
    np.testing.assert_array_equal(drawn, discrete_laplace(50, 1e-4, randomness=KeyedRandomness(key, position)))


@pytest.mark.parametrize("rate", [Fraction(64), Fraction(300)])
def test_values_that_63_digits_never_give_are_drawn_by_further_ones(rate):
    # U = 1 - 2**-63 u with the digits of u from P(|z| > 0), P(|z| > 1), ...: just inside and just outside
    n_words = 16
    bits = DIGITS + 64 * n_words
    for k in (0, 1):
        low = (beyond(rate, k)[0] * (1 << bits)).__floor__()
        for sign in (0, 1):
            inside = words_of((1 << bits) - (low - (low >> 40)), n_words, sign)
            outside = words_of((1 << bits) - (low + (low >> 40)), n_words, sign)
            assert abs(discrete_laplace(1, rate, randomness=ListedWords(inside))).tolist() == [k + 1]
            assert discrete_laplace(1, rate, randomness=ListedWords(outside)).tolist() == [-k if sign else k]


def words_of(number: int, n_words: int, sign: int) -> list[int]:
    """The words whose digits are those of a number of 63 + 64 n_words digits; the lowest bit of the first is a sign."""
    later = [number >> 64 * j & ALL_ONES for j in reversed(range(n_words))]
    return [number >> 64 * n_words << 1 | sign, *later]


def test_the_largest_noise_fits_in_64_bits():
    # all digits that the table decides are ones, and a further word of ones: P = 2**-126
    source = ListedWords([ALL_ONES, ALL_ONES, 0, *[ALL_ONES, 0] * 5])
    drawn = int(discrete_laplace(1, SMALLEST_RATE, randomness=source)[0])
    assert -(1 << 47) < drawn < -(1 << 46)


@pytest.mark.false_failure(0)
def test_a_record_of_words_repeats_the_noise(seed):
    source = RecordedWords(SeededRandomness(seed))
    drawn = discrete_laplace(500, 0.01, randomness=source)
    assert discrete_laplace(500, 0.01, randomness=ListedWords(source.drawn)).tolist() == drawn.tolist()


@pytest.mark.parametrize("rate", [Fraction(1, 3), 1.0, 0.001, 20.0])
def test_the_variance_is_that_of_the_distribution(rate):
    q, z = math.exp(-rate), np.arange(1.0, 60 / rate + 2)
    assert laplace_variance(rate) == pytest.approx(float((2 * z * z * (1 - q) / (1 + q) * q**z).sum()), rel=1e-9)


def test_the_variance_of_no_noise_is_zero_and_of_much_noise_finite():
    assert laplace_variance(10**400) == 0
    assert laplace_variance(SMALLEST_RATE) == pytest.approx(2.0**81)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), True, None, 1e-13])
def test_a_rate_outside_its_range_is_refused(rate):
    with pytest.raises(SettingError, match="rate must be"):
        discrete_laplace(3, rate, randomness=SeededRandomness(1))
    with pytest.raises(SettingError, match="rate must be"):
        laplace_variance(rate)


@pytest.mark.parametrize("count", [-1, 1.5, None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(SettingError, match="count must be"):
        discrete_laplace(count, 1.0, randomness=SeededRandomness(1))
