"""Discrete Gaussian noise has its probabilities: first by the digits that decide, then by counting."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exact_exponentials import exp_minus_between, rounded
from exact_inversion import Between, assert_inverts, compiled_if_there, digits_of, kernels
from tacit._base.kernels import draws_plain
from tacit.audit.testing import ListedWords, RecordedWords, assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import KeyedRandomness, SeededRandomness, discrete_gaussian, gaussian, gaussian_variance
from tacit.randomness.gaussian import CHUNK, LARGEST_TABLED_VARIANCE, LARGEST_VARIANCE, _blocked, _tabled
from tacit.randomness.inversion import DIGITS

ALL_ONES = (1 << 64) - 1
LARGE = [Fraction(LARGEST_TABLED_VARIANCE + 1), Fraction(10**12), Fraction(1e9), Fraction(LARGEST_VARIANCE)]


def cumulative(variance: Fraction, weight: int, n: int) -> list[Between]:
    """P(|z| <= k) for k below n, where the mass of k > 0 is ``weight`` * exp(-k**2 / (2 variance))."""
    n_masses = math.isqrt(math.ceil(variance * 600)) + 10  # beyond, less than exp(-300) is left
    mass, ratio, step = (
        (Fraction(1), Fraction(1)),
        exp_minus_between(1 / (2 * variance)),
        exp_minus_between(1 / variance),
    )
    sums = [mass]
    for _ in range(n_masses):
        mass = rounded(mass[0] * ratio[0], mass[1] * ratio[1])
        ratio = rounded(ratio[0] * step[0], ratio[1] * step[1])
        sums.append((sums[-1][0] + weight * mass[0], sums[-1][1] + weight * mass[1]))
    least, most = sums[-1][0], sums[-1][1] + Fraction(1, 1 << 420)
    return [(low / most, high / least) for low, high in sums[:n]]


def masses_between(variance: float, n: int) -> np.ndarray:
    """P(-n) .. P(n) as floats, and what is left."""
    z = np.arange(-n, n + 1.0)
    wide = np.arange(-40 * math.sqrt(variance) - 5, 40 * math.sqrt(variance) + 5).round()
    total = np.exp(-wide * wide / (2 * variance)).sum()
    inside = np.exp(-z * z / (2 * variance)) / total
    return np.append(inside, max(0.0, 1 - inside.sum()))


def counted(values: np.ndarray, n: int) -> np.ndarray:
    """How often -n .. n came, and all others."""
    inside = values[np.abs(values) <= n]
    return np.append(np.bincount(inside + n, minlength=2 * n + 1), values.size - inside.size)


@pytest.mark.parametrize("variance", [Fraction(1, 1000), Fraction(1, 4), Fraction(1), Fraction(10, 3)])
def test_magnitudes_have_their_cumulative_probabilities_exactly(variance):
    magnitudes = _tabled(variance).magnitudes
    assert_inverts(magnitudes, cumulative(variance, 2, len(magnitudes.thresholds)))


@pytest.mark.parametrize("variance", [Fraction(100), Fraction(1000)])
def test_a_long_table_has_the_digits_of_the_real_numbers(variance):
    thresholds = _tabled(variance).magnitudes.thresholds
    real = cumulative(variance, 2, len(thresholds))
    assert [int(t) for t in thresholds[:-1]] == [digits_of(number, DIGITS) for number in real[:-1]]


def test_blocks_have_their_cumulative_probabilities():
    sampler = _blocked(Fraction(20_000))
    variance = Fraction(20_000, 4**sampler.n_low_bits)
    assert 1 << 10 < variance <= 1 << 12
    thresholds = sampler.blocks.thresholds
    real = cumulative(variance, 1, len(thresholds))
    assert [int(t) for t in thresholds[:-1]] == [digits_of(number, DIGITS) for number in real[:-1]]


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("variance", LARGE)
def test_what_is_accepted_makes_up_for_the_block(variance, seed):
    # the distribution of 2**s x + y is that of the block x times the probability accepted: for every pair, exactly
    sampler, rng = _blocked(variance), np.random.default_rng(seed)
    side, n_blocks = 1 << sampler.n_low_bits, len(sampler.blocks.thresholds)
    for x, y in [
        (0, 0),
        (0, 1),
        (n_blocks - 1, side - 1),
        *zip(rng.integers(n_blocks, size=20), rng.integers(side, size=20), strict=True),
    ]:
        x, y = int(x), int(y)
        excess = y * (y + 2 * side * x)
        assert (side * x) ** 2 + excess == (side * x + y) ** 2
        least, most = exp_minus_between(excess / (2 * variance))
        low, error = lower_bound(sampler.factors, excess), 3 * len(sampler.factors)
        assert low <= most * (1 << 64)
        assert low + error >= least * (1 << 64)
        coins = [max(0, low - 1), low, min(low + error, ALL_ONES), min(low + error + 1, ALL_ONES)]
        outcomes = ["kept", "open", "open", "rejected" if low + error < ALL_ONES else "open"]
        assert placed(sampler, x, y, coins) == outcomes or low == 0


def lower_bound(factors: np.ndarray, exponent: int) -> int:
    bound = int(factors[0][exponent & 1023])
    for row in factors[1:]:
        exponent >>= 10
        bound = bound * int(row[exponent & 1023]) >> 64
    assert exponent < 1024
    return bound


def placed(sampler: gaussian._Blocked, x: int, y: int, coins: list[int], sign: int = 0) -> list[str]:
    """What the coins say of a proposal, with compiled and with plain kernels."""
    said = []
    for kind in (draws_plain, compiled_if_there()):
        signs, places = np.full(len(coins), 8 + sign, np.uint64), np.full(len(coins), y, np.uint64)
        places = places << np.uint64(64 - sampler.n_low_bits) | np.uint64(5)
        values, rejected, is_open = np.full(len(coins), x), np.empty(len(coins), bool), np.empty(len(coins), bool)
        words, error = np.array(coins, np.uint64), 3 * len(sampler.factors)
        any_open = kind.place(
            signs, places, words, sampler.n_low_bits, sampler.factors, error, values, rejected, is_open
        )
        assert any_open == is_open.any()
        magnitude = (x << sampler.n_low_bits) + y
        assert set(values.tolist()) == {-magnitude if sign else magnitude}
        said.append(["open" if o else "rejected" if r else "kept" for o, r in zip(is_open, rejected, strict=True)])
    assert said[0] == said[1]
    return said[0]


def test_a_block_far_beyond_the_tables_is_left_open_and_decided_by_the_real_number():
    sampler = _blocked(Fraction(20_000))
    far = 1 << 10 * len(sampler.factors)  # more than the tables have factors for, with y = 1 too
    assert placed(sampler, far, 1, [0, 1, ALL_ONES], sign=1) == ["open"] * 3
    assert placed(sampler, 1, 1, [0]) == ["kept"]
    magnitude = (far << sampler.n_low_bits) + 1
    # it is kept with probability exp(-209.7), between 2**-303 and 2**-302: 64 + 192 zeros do not decide
    assert sampler._is_tails(magnitude, 1, ListedWords([]))
    assert sampler._is_tails(magnitude, 0, ListedWords([0, 0, 0, ALL_ONES]))
    assert not sampler._is_tails(magnitude, 0, ListedWords([0, 0, 0, 0]))


def test_a_negative_zero_is_rejected_whatever_its_coin():
    sampler = _blocked(Fraction(20_000))
    assert placed(sampler, 0, 0, [0, ALL_ONES], sign=1) == ["rejected"] * 2
    assert placed(sampler, 0, 0, [0, ALL_ONES], sign=0) == ["kept", "open"]


def block_word(sampler: gaussian._Blocked, x: int, sign: int) -> int:
    return (int(sampler.blocks.thresholds[x - 1]) + 1 if x else 0) << 1 | sign


@pytest.mark.parametrize("variance", [Fraction(20_000), Fraction(10**12)])
@pytest.mark.parametrize("x", [0, 1, 50])
def test_a_coin_within_the_error_of_its_bound_is_decided_by_the_real_number(variance, x):
    sampler = _blocked(variance)
    y = (1 << sampler.n_low_bits) - 1
    excess = y * (y + (x << sampler.n_low_bits + 1))
    chance = exp_minus_between(excess / (2 * variance))
    place = y << 64 - sampler.n_low_bits
    first, second = digits_of(chance, 64), digits_of(chance, 128) & ALL_ONES
    again = [block_word(sampler, 1, 0), 0, 0]  # after a rejection: the place 0 of the first block, accepted
    low = lower_bound(sampler.factors, excess)
    assert low <= first <= low + 3 * len(sampler.factors)
    accepted, after = [-((x << sampler.n_low_bits) + y)], [1 << sampler.n_low_bits]
    for coin, expected in (
        ([first - 1], accepted),
        ([first, second - 1], accepted),
        ([first, second + 1], after),
        ([first + 1], after),
    ):
        words = [block_word(sampler, x, 1), place, *coin, *(again if expected is after else [])]
        source = ListedWords(words)
        assert discrete_gaussian(1, variance, randomness=source).tolist() == expected
        assert source.n_left == 0


def test_zero_is_accepted_with_one_sign_only():
    variance = Fraction(20_000)
    sampler = _blocked(variance)
    again = [block_word(sampler, 2, 1), 0, 0]
    for coin in (0, 12345, ALL_ONES):  # of probability 1: the table alone leaves the highest words open
        assert discrete_gaussian(
            1, variance, randomness=ListedWords([block_word(sampler, 0, 0), 0, coin])
        ).tolist() == [0]
        source = ListedWords([block_word(sampler, 0, 1), 0, coin, *again])
        assert discrete_gaussian(1, variance, randomness=source).tolist() == [-2 << sampler.n_low_bits]


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(("variance", "n"), [(0.25, 2), (1.0, 4), (Fraction(10, 3), 6), (100.0, 35), (1000.0, 110)])
def test_values_come_as_often_as_they_should(variance, n, seed):
    drawn = discrete_gaussian(400_000, variance, randomness=SeededRandomness(seed))
    assert_frequencies(counted(drawn, n), masses_between(float(variance), n), false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(("variance", "block_variance", "n"), [(100, 1, 35), (30, 2, 20), (900, 4, 100)])
def test_values_by_blocks_come_as_often_as_they_should(variance, block_variance, n, seed, monkeypatch):
    # blocks as wide as the standard deviation: up to two in five proposals are rejected, and the distribution is the
    # same
    monkeypatch.setattr(gaussian, "LARGEST_TABLED_VARIANCE", 0)
    monkeypatch.setattr(gaussian, "_LARGEST_BLOCK_VARIANCE", block_variance)
    gaussian._blocked.cache_clear()
    try:
        drawn = discrete_gaussian(400_000, variance, randomness=SeededRandomness(seed))
    finally:
        gaussian._blocked.cache_clear()
    assert_frequencies(counted(drawn, n), masses_between(variance, n), false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_values_of_a_wrong_variance_are_caught(seed):
    drawn = discrete_gaussian(400_000, 1.06, randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError):
        assert_frequencies(counted(drawn, 4), masses_between(1.0, 4), false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("variance", [2**14, 2**14 + 1, 10**8, 10**12])
def test_large_noise_has_its_quantiles_and_its_last_digits(variance, seed):
    # sums over integers and integrals between half-integers differ by less than 1e-5 of a share, here
    drawn = discrete_gaussian(200_000, variance, randomness=SeededRandomness(seed))
    deviation = math.sqrt(variance)
    edges = np.round(np.linspace(-3.5, 3.5, 57) * deviation)
    below = np.array([0.5 * math.erfc(-(edge - 0.5) / (deviation * math.sqrt(2))) for edge in edges])
    counts = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=58)
    assert_frequencies(counts, np.diff([0.0, *below, 1.0]), false_failure=1e-9)
    assert_frequencies(np.bincount(drawn & 15, minlength=16), np.full(16, 1 / 16), false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("lag", [1, 64])
def test_sums_of_neighbours_have_the_distribution_of_sums(lag, seed):
    drawn = discrete_gaussian(400_000 // (2 * lag) * 2 * lag, 4.0, randomness=SeededRandomness(seed))
    sums = drawn.reshape(-1, 2, lag).sum(axis=1).ravel()
    single = masses_between(4.0, 60)[:-1]
    distribution = np.convolve(single, single)[120 - 12 : 120 + 13]
    assert_frequencies(counted(sums, 12), np.append(distribution, 1 - distribution.sum()), false_failure=1e-9)


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("variance", [0.001, 1.0, 100.0, 2.0**14, 2.0**14 + 1, 1e12, 2.0**50])
@pytest.mark.parametrize("count", [0, 1, 100, CHUNK - 1, CHUNK + 513])
def test_compiled_and_plain_kernels_draw_the_same(variance, count, seed):
    drawn = []
    for compiled in (True, False):
        with kernels(compiled):
            drawn.append(discrete_gaussian(count, variance, randomness=SeededRandomness(seed)).tolist())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == count


@settings(max_examples=40)
@given(octave=st.floats(-10, 50), seed=st.integers(0, 1 << 30))
@example(octave=14.0, seed=1)
@example(octave=50.0, seed=1)
def test_every_variance_has_tables(octave, seed):
    variance = 2.0**octave
    drawn = discrete_gaussian(50, variance, randomness=SeededRandomness(seed))
    # 50 values beyond 15 standard deviations come with probability below 1e-45
    assert np.abs(drawn).max() <= 15 * math.sqrt(variance) + 1


@pytest.mark.false_failure(0)
def test_how_many_words_are_drawn_does_not_depend_on_the_values_of_a_table(seed):
    source = KeyedRandomness(seed.to_bytes(32, "little"))
    discrete_gaussian(1000, 10.0, randomness=source)
    assert source.position == 1000


@pytest.mark.false_failure(2e-9)
def test_a_proposal_takes_three_words_and_few_are_rejected(seed):
    source = KeyedRandomness(seed.to_bytes(32, "little"))
    n = 200_000
    discrete_gaussian(n, 10**12, randomness=source)
    n_rejected, rest = divmod(source.position - 3 * n, 3)
    assert rest == 0
    sampler = _blocked(Fraction(10**12))
    ratio = math.sqrt(10**12) / (1 << sampler.n_low_bits)  # standard deviations in blocks
    # all masses of a magnitude over all of its proposals, which include the negative zero
    chance = 1 - ratio * math.sqrt(math.pi / 2) / (0.5 + ratio * math.sqrt(math.pi / 2))
    assert_frequencies([n, n_rejected], [1 - chance, chance], false_failure=1e-9)


@pytest.mark.false_failure(0)
def test_a_record_of_words_repeats_the_noise(seed):
    source = RecordedWords(SeededRandomness(seed))
    drawn = discrete_gaussian(500, 1e7, randomness=source)
    assert discrete_gaussian(500, 1e7, randomness=ListedWords(source.drawn)).tolist() == drawn.tolist()


def test_values_that_63_digits_never_give_are_drawn_by_further_ones():
    # at variance 1/100 the value 1 has the probability 2 exp(-50), about 2**-71
    chance = 1 - cumulative(Fraction(1, 100), 2, 1)[0][1]
    digits = (chance * (1 << 127)).__floor__()
    for further, value in (((1 << 64) - digits - 2, 0), ((1 << 64) - digits + 2, 1)):
        for sign in (0, 1):
            source = ListedWords([ALL_ONES - 1 + sign, further])
            assert discrete_gaussian(1, Fraction(1, 100), randomness=source).tolist() == [-value if sign else value]


@pytest.mark.parametrize("variance", [0.01, 0.3, Fraction(1), 3.9, 4, 25.0])
def test_the_variance_is_that_of_the_distribution(variance):
    z = np.arange(-200, 201)
    masses = masses_between(float(variance), 200)[:-1]
    assert gaussian_variance(variance) == pytest.approx(float((z * z * masses).sum()), rel=1e-9, abs=1e-12)
    assert gaussian_variance(variance) <= variance * (1 + 1e-15)


def test_the_variance_of_no_noise_is_zero():
    assert gaussian_variance(Fraction(1, 10**400)) == 0
    assert discrete_gaussian(3, Fraction(1, 10**400), randomness=SeededRandomness(1)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("variance", [0, -1, float("nan"), float("inf"), True, None, 2.0**51, 10**30])
def test_a_variance_outside_its_range_is_refused(variance):
    with pytest.raises(SettingError, match="variance must be"):
        discrete_gaussian(3, variance, randomness=SeededRandomness(1))
    with pytest.raises(SettingError, match="variance must be"):
        gaussian_variance(variance)


@pytest.mark.parametrize("count", [-1, 1.5, None])
def test_a_count_is_a_whole_number(count):
    with pytest.raises(SettingError, match="count must be"):
        discrete_gaussian(count, 1.0, randomness=SeededRandomness(1))
