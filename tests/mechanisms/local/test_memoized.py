"""Longitudinal RAPPOR states both of its epsilons exactly, and a device never draws its permanent bits twice."""

from __future__ import annotations

import json
import math
import os
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_randomizer, check_reports
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.memo import DeviceMemo, FleetMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor, bloom_positions, design_of, largest_difference
from tacit.plan import Plan
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import SecureRandomness, SeededRandomness
from tacit.randomness.bernoulli import COIN
from tacit.release.files import noise_from_dict

from_parameters = LongitudinalRappor.from_parameters
from_epsilons = LongitudinalRappor.from_epsilons

ENCODINGS = [
    from_parameters(f=0.5, q=0.75, p=0.5, n_cells=3),
    from_parameters(f=0.2, q=0.75, p=0.25, n_cells=4),
    from_parameters(f=0, q=0.75, p=0.5, n_cells=2),
    from_parameters(f=0.3, q=1, p=0, n_cells=3),
    from_parameters(f=0.5, q=0.75, p=0.5, n_cells=4, hashes=2, n_bits=8),
    from_parameters(f=0.4, q=0.9, p=0.2, n_cells=5, hashes=3, n_bits=6),
    from_parameters(f=0.4, q=0.9, p=0.2, n_cells=3, hashes=3, n_bits=4),  # any two cells share two bits
    from_epsilons(epsilon_infinity=3.0, epsilon_1=0.7, n_cells=3),
]
MEMOIZED = [encoding for encoding in ENCODINGS if encoding.permanent]


def domain_of(n_days: int, n_places: int) -> Domain:
    last = np.datetime64("2018-01-01") + n_days - 1
    return Domain(TimeAxis.between("2018-01-01", str(last)), PlaceAxis.of([f"place {i}" for i in range(n_places)]))


def plan_of(encoding: LongitudinalRappor, domain: Domain) -> Plan:
    return Plan(domain, "longitudinal", encoding.epsilon, tuple(sorted(encoding.thresholds().items())))


def largest_ratio(channel: list[list[Fraction]]) -> Fraction:
    return max(max(column) / min(column) for column in zip(*channel, strict=True))


def channel_of_many(encoding: LongitudinalRappor, n_reports: int) -> list[list[Fraction]]:
    """P(reports | cell) of a device that remembers its permanent bits, by adding up all of them."""
    n_patterns = 1 << encoding.n_statistics
    one, zero = Fraction(encoding.ones, COIN), Fraction(encoding.zeros, COIN)

    def sent(report: int, permanent: int) -> Fraction:
        chances = [one if permanent >> j & 1 else zero for j in range(encoding.n_statistics)]
        return math.prod((c if report >> j & 1 else 1 - c for j, c in enumerate(chances)), start=Fraction(1))

    once = [[sent(report, permanent) for report in range(n_patterns)] for permanent in range(n_patterns)]
    return [
        [
            sum(chance * math.prod(once[b][y] for y in reports) for b, chance in enumerate(row))
            for reports in product(range(n_patterns), repeat=n_reports)
        ]
        for row in encoding.permanent_channel()
    ]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_channel_of_one_report_gives_epsilon_1_exactly(encoding):
    check_channel(encoding)
    assert encoding.epsilon == encoding.epsilon_1 == encoding.epsilon_after(1)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(
    "encoding", [ENCODINGS[0], ENCODINGS[7], from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=9)]
)
def test_one_hot_bits_keep_the_contract_of_every_randomizer(encoding, seed):
    check_randomizer(encoding, seed=seed)


@pytest.mark.parametrize("encoding", MEMOIZED)
def test_the_channel_of_the_permanent_bits_gives_epsilon_infinity_exactly(encoding):
    channel = encoding.permanent_channel()
    assert all(sum(row) == 1 for row in channel)
    assert log_of_ratio(largest_ratio(channel)) == encoding.epsilon_infinity


def test_one_report_is_the_permanent_bits_seen_through_the_instantaneous_coins():
    for encoding in (ENCODINGS[0], ENCODINGS[6]):
        assert channel_of_many(encoding, 1) == encoding.channel()


@pytest.mark.parametrize(
    ("encoding", "n_reports"),
    [
        (from_parameters(f=0.5, q=0.75, p=0.5, n_cells=2), 4),
        (from_parameters(f=0.2, q=0.9, p=0.05, n_cells=2), 3),
        (from_parameters(f=0.5, q=0.75, p=0.5, n_cells=3), 2),
        (from_parameters(f=0.3, q=1, p=0.25, n_cells=2), 3),
        (from_parameters(f=0.4, q=0.9, p=0.2, n_cells=3, hashes=3, n_bits=4), 2),
    ],
)
def test_several_reports_of_one_device_tell_exactly_epsilon_after(encoding, n_reports):
    channel = channel_of_many(encoding, n_reports)
    assert log_of_ratio(largest_ratio(channel)) == encoding.epsilon_after(n_reports)


@pytest.mark.parametrize("encoding", MEMOIZED)
def test_more_reports_tell_more_but_never_more_than_epsilon_infinity(encoding):
    told = [encoding.epsilon_after(n) for n in (1, 2, 5, 20, 1000, 10**9)]
    assert told == sorted(told)
    assert told[-1] == encoding.epsilon_infinity
    assert told[-2] == pytest.approx(encoding.epsilon_infinity, rel=1e-6)


@pytest.mark.parametrize(
    ("f", "q", "p", "h", "infinity", "once"),
    [
        (0, 0.75, 0.5, 1, math.inf, 1.09),  # printed cut, not rounded
        (0.5, 0.75, 0.5, 2, 4.39, 1.07),
        (0.75, 0.75, 0.5, 2, 2.04, 0.53),
        (0.2, 0.75, 0.25, 1, 4.39, 1.69),
    ],
)
def test_the_numbers_of_the_literature_come_back(f, q, p, h, infinity, once):
    encoding = from_parameters(f=f, q=q, p=p, n_cells=10, hashes=h, n_bits=32 if h > 1 else None)
    assert encoding.n_differing == h
    assert encoding.epsilon_infinity == pytest.approx(infinity, abs=0.0051)
    assert encoding.epsilon_1 == pytest.approx(once, abs=0.01)
    q_star, p_star = f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p
    assert encoding.epsilon_1 == pytest.approx(h * math.log(q_star * (1 - p_star) / (p_star * (1 - q_star))), rel=1e-12)
    if f:
        assert encoding.epsilon_infinity == pytest.approx(2 * h * math.log((1 - f / 2) / (f / 2)), rel=1e-12)


def test_bloom_bits_that_always_overlap_tell_less_than_the_literature_states():
    overlapping = ENCODINGS[6]
    assert (overlapping.hashes, overlapping.n_differing) == (3, 1)


@given(
    st.floats(0.01, 10),
    st.floats(0.01, 1),
    st.integers(2, 1000),
    st.sampled_from([(1, None), (2, 64), (3, 17), (5, 128)]),
)
def test_realized_epsilons_equal_the_ones_asked_for_and_never_exceed_them(infinity, part, n_cells, bloom):
    once = max(0.01, infinity * part)
    encoding = from_epsilons(
        epsilon_infinity=infinity, epsilon_1=once, n_cells=n_cells, hashes=bloom[0], n_bits=bloom[1]
    )
    assert infinity * (1 - 1e-9) <= encoding.epsilon_infinity <= infinity
    assert once * (1 - 1e-9) <= encoding.epsilon_1 <= once


@pytest.mark.parametrize("encoding", MEMOIZED[:2] + MEMOIZED[3:])
def test_moving_one_threshold_by_one_changes_the_channel_towards_privacy(encoding):
    def moved(**change: int) -> LongitudinalRappor:
        return LongitudinalRappor.from_thresholds(
            {name: value + change.get(name, 0) for name, value in encoding.thresholds().items()}, encoding.n_cells
        )

    ratio = largest_ratio(encoding.channel())
    for noisier in ({"permanent": 1}, {"ones": -1}, {"zeros": 1}):
        other = moved(**noisier)
        assert other.channel() != encoding.channel()
        assert largest_ratio(other.channel()) < ratio
        assert largest_ratio(moved(**{n: -c for n, c in noisier.items()}).channel()) > ratio


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_first_reports_have_the_channels_distribution(encoding, seed):
    check_reports(encoding, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_f_are_caught(seed):
    right, wrong = (from_parameters(f=f, q=0.75, p=0.25, n_cells=2) for f in (0.2, 0.3))
    reports = wrong.randomize(np.zeros(100_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=4), right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize("n_bits", [None, 8, 9, 64, 65])
def test_every_report_has_the_same_length_whatever_the_value(n_bits):
    hashes = 1 if n_bits is None else 2
    encoding = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17, hashes=hashes, n_bits=n_bits)
    check_one_at_a_time(encoding, range(17), seed=1)
    assert encoding.report_bytes == -(-(n_bits or 17) // 8)


@pytest.mark.false_failure(2e-9)
def test_one_device_keeps_its_permanent_bits_and_renews_the_others(seed):
    """Of 1000 reports about one value each bit's share of ones is q or p: what averaging reveals, and no more."""
    encoding = from_parameters(f=0.5, q=0.75, p=0.25, n_cells=12)
    memo, source = DeviceMemo(encoding), SeededRandomness(seed)
    reports = np.stack([memo.report(5, randomness=source) for _ in range(1000)])
    assert len(np.unique(reports, axis=0)) > 500
    counts = encoding.statistics(reports, np.array([1000]))[0]
    permanent = np.unpackbits(memo._rows[5], count=12, bitorder="little")
    for count, bit in zip(counts.tolist(), permanent.tolist(), strict=True):
        chance = 0.75 if bit else 0.25
        assert_frequencies([count, 1000 - count], [chance, 1 - chance], false_failure=1e-10)
    assert list(memo._rows) == [5]
    memo.report(6, randomness=source)
    assert list(memo._rows) == [5, 6]


@pytest.mark.false_failure(2e-9)
@pytest.mark.slow
def test_what_averaging_reveals_of_many_devices_has_the_permanent_distribution(seed):
    """20,000 devices report 200 times each; rounding the averages gives their permanent bits, almost surely.

    A bit of 200 coins of 0.9 or 0.1 is on the wrong side of one half with probability below 1e-40.
    """
    encoding = from_parameters(f=0.6, q=0.9, p=0.1, n_cells=3)
    fleet, source, n = FleetMemo(encoding), SeededRandomness(seed), 20_000
    cells = np.full(n, 1)
    ones = sum(
        np.unpackbits(
            fleet.randomize(np.arange(n), cells, randomness=source), axis=1, count=3, bitorder="little"
        ).astype(int)
        for _ in range(200)
    )
    averaged = (ones > 100) @ [1, 2, 4]
    drawn = np.bincount(averaged, minlength=8)
    assert_frequencies(drawn, encoding.permanent_channel()[1], false_failure=1e-9)
    with pytest.raises(AssertionError):
        assert_frequencies(
            drawn, from_parameters(f=0.7, q=0.9, p=0.1, n_cells=3).permanent_channel()[1], false_failure=1e-9
        )


def test_a_fleet_remembers_each_device_and_value_apart():
    encoding = from_parameters(f=0.5, q=1, p=0, n_cells=40)  # no instantaneous noise: reports are the permanent bits
    fleet, source = FleetMemo(encoding), SeededRandomness(3)
    devices = np.array([7, 2, 7])
    first = fleet.randomize(devices, np.array([1, 1, 2]), randomness=source)
    again = fleet.randomize(devices[::-1], np.array([2, 1, 1]), randomness=source)
    np.testing.assert_array_equal(first, again[::-1])
    assert len(np.unique(first, axis=0)) == 3
    assert "withheld" in repr(fleet)


def test_a_restart_never_draws_permanent_bits_again(tmp_path):
    encoding, path = from_parameters(f=0.5, q=1, p=0, n_cells=40), tmp_path / "memo.json"
    source = SecureRandomness()
    sent = DeviceMemo.create(encoding, path).report(3, randomness=source)
    for _ in range(3):
        np.testing.assert_array_equal(DeviceMemo.read(encoding, path).report(3, randomness=source), sent)
    assert not np.array_equal(DeviceMemo.read(encoding, path).report(4, randomness=source), sent)
    np.testing.assert_array_equal(DeviceMemo.read(encoding, path).report(3, randomness=source), sent)
    with pytest.raises(SettingError, match="already"):
        DeviceMemo.create(encoding, path)


def test_permanent_bits_are_on_the_disk_before_a_report_exists(tmp_path, monkeypatch):
    encoding, path = from_parameters(f=0.5, q=1, p=0, n_cells=40), tmp_path / "memo.json"
    memo = DeviceMemo.create(encoding, path)
    empty = path.read_bytes()

    def fail(*names):
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="full"):
            memo.report(3, randomness=SeededRandomness(1))
    assert path.read_bytes() == empty
    sent = memo.report(3, randomness=SeededRandomness(2))
    np.testing.assert_array_equal(DeviceMemo.read(encoding, path).report(3, randomness=SeededRandomness(9)), sent)
    assert [name.name for name in tmp_path.iterdir()] == ["memo.json"]


def test_a_memo_says_that_it_is_private_and_shows_nothing(tmp_path):
    encoding, path = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17), tmp_path / "memo.json"
    memo = DeviceMemo.create(encoding, path)
    for cell in (11, 2):
        memo.report(cell, randomness=SecureRandomness())
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["format"] == 1
    assert "PRIVATE" in content["notice"]
    assert list(content["permanent"]) == ["2", "11"]  # not in the order of the days
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
    assert repr(memo) == "DeviceMemo(values withheld)"
    with pytest.raises(SettingError, match="stays on its device"):
        pickle.dumps(memo)


def test_memos_that_are_damaged_newer_or_of_another_mechanism_are_refused(tmp_path):
    encoding, path = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17), tmp_path / "memo.json"
    DeviceMemo.create(encoding, path).report(3, randomness=SeededRandomness(1))
    good = json.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(FormatError, match="another mechanism"):
        DeviceMemo.read(from_parameters(f=0.6, q=0.75, p=0.5, n_cells=17), path)
    for wrong in (
        good | {"format": 2},
        good | {"kind": "tally"},
        good | {"permanent": {"3": "00"}},
        good | {"permanent": {"3": "0000ff"}},
        good | {"permanent": {"17": "000000"}},
        good | {"permanent": {"x": "000000"}},
        good | {"permanent": 3},
        {},
        [],
    ):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(FormatError):
            DeviceMemo.read(encoding, path)
    path.write_bytes(b"\xff{")
    with pytest.raises(FormatError, match="backup"):
        DeviceMemo.read(encoding, path)
    with pytest.raises(FormatError, match="never reported"):
        DeviceMemo.read(encoding, tmp_path / "lost.json")


def test_simulated_and_secure_randomness_do_not_share_a_memo(tmp_path):
    encoding, path = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17), tmp_path / "memo.json"
    DeviceMemo.create(encoding, path).report(3, randomness=SeededRandomness(1))
    with pytest.raises(SettingError, match="simulat"):
        DeviceMemo.read(encoding, path).report(3, randomness=SecureRandomness())


def test_without_permanent_noise_there_is_one_report_and_no_memo():
    encoding = from_parameters(f=0, q=0.75, p=0.5, n_cells=17)
    assert encoding.epsilon_infinity == math.inf
    with pytest.raises(SettingError, match="averaging"):
        DeviceMemo(encoding)


def test_one_hot_estimates_are_unbiased_with_the_stated_variance_by_listing_all_outcomes():
    """Three devices in three cells, all outcomes with their exact probabilities."""
    truth, n = [0, 0, 2], 3
    for encoding in (ENCODINGS[0], ENCODINGS[7]):
        p, q = encoding.q_star, encoding.p_star
        supports: dict[tuple[int, ...], Fraction] = {}
        channel = encoding.channel()
        for reports in product(range(8), repeat=n):
            chance = math.prod((channel[t][y] for t, y in zip(truth, reports, strict=True)), start=Fraction(1))
            key = tuple(sum(y >> j & 1 for y in reports) for j in range(3))
            supports[key] = supports.get(key, 0) + chance
        weights = [Fraction(1), Fraction(2), Fraction(-1)]

        def question(key, weights=weights, p=p, q=q):
            return sum(w * (c - n * q) / (p - q) for w, c in zip(weights, key, strict=True))

        mean = sum(question(key) * chance for key, chance in supports.items())
        variance = sum((question(key) - mean) ** 2 * chance for key, chance in supports.items())
        assert mean == 1 * 2 + 2 * 0 - 1 * 1
        by_distribution = encoding.distribution.variances(np.array([1.0, 2.0, -1.0]))[truth].sum()
        assert by_distribution == pytest.approx(float(variance), rel=1e-12)


def test_estimates_keep_their_noise_in_files():
    encoding = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=3)
    domain = domain_of(2, 3)
    plan = plan_of(encoding, domain)
    tally = Tally(Provenance(plan.fingerprint), np.array([[9, 4, 5], [7, 8, 5]]), np.array([12, 11]))
    estimate = encoding.estimate(tally, plan, domain)
    gap = float(encoding.q_star - encoding.p_star)
    np.testing.assert_allclose(estimate.values[0], (np.array([9, 4, 5]) - 12 * float(encoding.p_star)) / gap)
    again = noise_from_dict(json.loads(json.dumps(estimate.noise.to_dict())))
    weights = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert again.variance(weights) == estimate.noise.variance(weights)
    assert again.interval(3.0, weights, 0.9) == estimate.noise.interval(3.0, weights, 0.9)


@pytest.mark.false_failure(2e-9)
def test_large_simulations_meet_the_truth(seed):
    """z-scores of 4,000 cells of memoized devices, each once a day: mean square 1 within 7 standard errors (1e-9).

    Every day has other devices, so that all cells are independent.
    """
    rng = np.random.default_rng(seed)
    n_days, k = 400, 10
    encoding = from_epsilons(epsilon_infinity=6.0, epsilon_1=3.0, n_cells=k)
    domain = domain_of(n_days, k)
    plan = plan_of(encoding, domain)
    counts = rng.poisson(40, (n_days, k))
    cells = np.repeat(np.tile(np.arange(k), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    reports = FleetMemo(encoding).randomize(np.arange(cells.size), cells, randomness=SeededRandomness(seed))
    tally = Tally(Provenance(plan.fingerprint), encoding.statistics(reports, per_day), per_day)
    estimate = encoding.estimate(tally, plan, domain)
    errors = estimate.values - counts

    def is_plausible(standard_errors: np.ndarray) -> bool:
        z = errors / standard_errors
        return abs((z**2).mean() - 1) < 7 * math.sqrt(2 / z.size) and abs(z.mean()) < 7 / math.sqrt(z.size)

    assert is_plausible(estimate.noise.standard_errors())
    assert not is_plausible(estimate.noise.standard_errors() * 1.3)


@pytest.mark.false_failure(2e-9)
@pytest.mark.slow
def test_reports_of_one_device_are_correlated_so_a_bin_may_hold_one_of_each(seed):
    """100 devices reporting 50 times into one bin err with more than 10 times the stated variance."""
    encoding = from_parameters(f=0.5, q=0.9, p=0.1, n_cells=2)
    errors = []
    for repeat in range(300):
        fleet, source = FleetMemo(encoding), SeededRandomness((seed + repeat) % 2**32)
        devices = np.tile(np.arange(100), 50)
        counts = encoding.statistics(fleet.randomize(devices, np.zeros(5000, int), randomness=source), np.array([5000]))
        errors.append((counts[0, 0] - 5000 * float(encoding.p_star)) / float(encoding.q_star - encoding.p_star) - 5000)
    stated = 5000 * encoding.distribution.variances(np.array([1.0, 0.0]))[0]
    # the true ratio is above 20; 300 draws stay above half of it except with probability below 1e-9
    assert np.var(errors) > 10 * stated


def bloom_truth(encoding: LongitudinalRappor, counts: np.ndarray) -> np.ndarray:
    return design_of(encoding._positions, encoding.n_statistics) @ counts


def test_least_squares_on_bloom_bits_is_unbiased_with_its_covariance_by_listing_all_outcomes():
    """Two devices, three cells, five bits: all 1024 outcomes with their exact probabilities."""
    encoding = from_parameters(f=0.3, q=0.9, p=0.1, n_cells=3, hashes=3, n_bits=5)
    truth, n = [0, 2], 2
    channel = encoding.channel()
    values, chances = [], []
    for reports in product(range(32), repeat=n):
        chances.append(float(math.prod(channel[t][y] for t, y in zip(truth, reports, strict=True))))
        bits = np.array([sum(y >> j & 1 for y in reports) for j in range(5)])
        values.append(encoding.estimate_cells(bits, n).values)
    values, chances = np.array(values), np.array(chances)
    mean = chances @ values
    np.testing.assert_allclose(mean, [1, 0, 1], atol=1e-12)
    covariance = (values - mean).T @ ((values - mean) * chances[:, None])
    stated = encoding.estimate_cells(np.zeros(5, int), n)  # q + p = 1: the same whatever the counts
    np.testing.assert_allclose(stated.covariance, covariance, rtol=1e-10)
    weights = np.array([1.0, -2.0, 0.5])
    assert stated.variance(weights) == pytest.approx(weights @ covariance @ weights)


@pytest.mark.false_failure(2e-9)
def test_simulated_bloom_estimates_meet_the_truth(seed):
    """Squared distance in the covariance's own measure, over 200 draws of 10 cells: chi-square within 7 deviations."""
    encoding = from_parameters(f=0.3, q=0.8, p=0.3, n_cells=10, hashes=2, n_bits=24)
    counts = np.array([500, 0, 20, 100, 0, 0, 300, 5, 75, 0])
    cells = np.repeat(np.arange(10), counts)
    n, distances = len(cells), []
    for draw in range(200):
        reports = encoding.randomize(cells, randomness=SeededRandomness((seed + draw) % 2**32))
        estimate = encoding.estimate_cells(encoding.statistics(reports, np.array([n]))[0], n)
        error = estimate.values - counts
        distances.append(error @ np.linalg.solve(estimate.covariance, error))
    assert abs(np.mean(distances) - 10) < 7 * math.sqrt(2 * 10 / 200)
    assert not abs(np.mean(distances) / 2 - 10) < 7 * math.sqrt(2 * 10 / 200)  # twice the covariance would be seen
    # the exact covariance given the true counts agrees with the one that plugs estimates in
    p, q = float(encoding.q_star), float(encoding.p_star)
    bits = bloom_truth(encoding, counts)
    variances = (bits * p * (1 - p) + (n - bits) * q * (1 - q)) / (p - q) ** 2
    solve = np.linalg.pinv(design_of(encoding._positions, 24))
    np.testing.assert_allclose(estimate.covariance, (solve * variances) @ solve.T, rtol=0.1, atol=0.5)


def test_candidates_stand_for_the_whole_domain():
    encoding = from_parameters(f=0.3, q=0.9, p=0.1, n_cells=1000, hashes=2, n_bits=64)
    counts = np.zeros(1000)
    counts[[5, 700, 20]] = 30, 60, 10
    bits = bloom_truth(encoding, counts) * float(encoding.q_star - encoding.p_star) + 100 * float(encoding.p_star)
    estimate = encoding.estimate_cells(bits, 100, candidates=[20, 700, 5, 6])
    np.testing.assert_allclose(estimate.values, [10, 60, 30, 0], atol=1e-9)
    assert estimate.cells.tolist() == [20, 700, 5, 6]


def test_designs_that_do_not_tell_cells_apart_are_refused():
    encoding = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17, hashes=2, n_bits=16)
    with pytest.raises(SettingError, match="tell the cells apart"):
        encoding.estimate_cells(np.zeros(16, int), 10)
    with pytest.raises(SettingError, match="estimate_cells"):
        _ = encoding.distribution


def test_the_public_hash_never_changes():
    """Test vectors that other languages share."""
    assert bloom_positions(3, 16, 2).tolist() == [[3, 10], [11, 8], [5, 1]]
    assert bloom_positions(1000, 128, 4)[999].tolist() == [24, 112, 101, 58]
    assert bloom_positions(2, 10, 9).tolist() == [[3, 4, 2, 1, 5, 8, 0, 6, 9], [5, 2, 4, 0, 9, 6, 8, 1, 7]]
    assert all(len(set(row)) == 9 for row in bloom_positions(50, 10, 9).tolist())


@given(st.integers(2, 40), st.integers(4, 30), st.integers(1, 3))
def test_the_largest_difference_is_that_of_some_pair(n_cells, n_bits, hashes):
    sets = [set(row) for row in bloom_positions(n_cells, n_bits, hashes).tolist()]
    assert largest_difference(n_cells, n_bits, hashes) == max(len(a - b) for a in sets for b in sets)


@pytest.mark.parametrize(
    "wrong",
    [
        {"f": 1},
        {"f": math.nan},
        {"f": -0.1},
        {"q": 0.5},
        {"q": 0.4},
        {"q": 1.1},
        {"p": -0.1},
        {"f": 0, "q": 1},
        {"f": 0, "p": 0},
        {"n_cells": 1},
        {"hashes": 2},
        {"hashes": 0, "n_bits": 16},
        {"hashes": 4, "n_bits": 4},
    ],
)
def test_settings_without_noise_signal_or_bits_are_refused(wrong):
    with pytest.raises(SettingError):
        from_parameters(**({"f": 0.5, "q": 0.75, "p": 0.5, "n_cells": 3} | wrong))


@pytest.mark.parametrize(
    "pair", [(1.0, 2.0), (1.0, 0.0), (math.inf, 1.0), (50.0, 1.0), (math.nan, 1.0), (1e-19, 1e-19)]
)
def test_epsilons_that_cannot_be_are_refused(pair):
    with pytest.raises(SettingError):
        from_epsilons(epsilon_infinity=pair[0], epsilon_1=pair[1], n_cells=3)


def test_reports_that_nobody_could_have_sent_are_refused():
    encoding = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=17)
    reports = encoding.randomize(np.arange(17), randomness=SeededRandomness(1))
    reports[3, 2] |= 2
    with pytest.raises(FormatError, match="1 of 17 reports they are not, the first at position 3"):
        encoding.statistics(reports, np.array([17]))
    with pytest.raises(FormatError, match="3 bytes"):
        encoding.statistics(reports[:, :2], np.array([17]))


@pytest.mark.parametrize("cells", [np.array([0, 3]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError, match="cells must"):
        from_parameters(f=0.5, q=0.75, p=0.5, n_cells=3).randomize(cells, randomness=SeededRandomness(1))


def test_no_report_gives_no_counts():
    encoding = from_parameters(f=0.5, q=0.75, p=0.5, n_cells=3)
    reports = encoding.randomize(np.array([], int), randomness=SeededRandomness(1))
    assert encoding.statistics(reports, np.array([0, 0])).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_bits_that_did_not_reach_the_disk_are_never_sent(tmp_path, monkeypatch):
    """Also where the interruption is not the disk's: what is not written is drawn again, and was never told."""
    rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=2.0, n_cells=17)
    memo = DeviceMemo.create(rappor, tmp_path / "memo.json")

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memo.report(4, randomness=SeededRandomness(1))
    memo.report(4, randomness=SeededRandomness(2))
    again = DeviceMemo.read(rappor, tmp_path / "memo.json")
    assert again._rows[4].tolist() == memo._rows[4].tolist()


def test_a_memo_behind_a_link_stays_behind_it(tmp_path):
    rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=2.0, n_cells=17)
    DeviceMemo.create(rappor, tmp_path / "memo.json")
    (tmp_path / "link").symlink_to(tmp_path / "memo.json")
    DeviceMemo.read(rappor, tmp_path / "link").report(9, randomness=SeededRandomness(1))
    assert (tmp_path / "link").is_symlink()
    assert 9 in DeviceMemo.read(rappor, tmp_path / "memo.json")._rows


def test_device_numbers_too_large_to_tell_apart_are_refused():
    rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=2.0, n_cells=17)
    with pytest.raises(SettingError, match="devices must be"):
        FleetMemo(rappor).randomize(np.array([1 << 60]), np.array([3]), randomness=SeededRandomness(1))
