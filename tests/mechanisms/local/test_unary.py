"""Unary encoding is exactly as private as it says, and exactly unbiased."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import PlanMismatch, SettingError
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import plan_for
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

QUARTER = COIN // 4
ENCODINGS = [
    UnaryEncoding.symmetric(epsilon=0.01, n_cells=3),
    UnaryEncoding.symmetric(epsilon=1.0, n_cells=4),
    UnaryEncoding.symmetric(epsilon=10.0, n_cells=2),
    UnaryEncoding.rappor(f=0.3, n_cells=8),
    UnaryEncoding(n_cells=3, ones=COIN // 2, zeros=QUARTER // 2),
]


def domain_of(n_days: int, n_places: int) -> Domain:
    last = np.datetime64("2018-01-01") + n_days - 1
    return Domain(TimeAxis.between("2018-01-01", str(last)), PlaceAxis.of([f"place {i}" for i in range(n_places)]))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(encoding):
    check_channel(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_moving_one_threshold_by_one_changes_epsilon(encoding):
    def ratio(e: UnaryEncoding) -> Fraction:
        return e.p * (1 - e.q) / (e.q * (1 - e.p))

    for ones, zeros in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        moved = UnaryEncoding(encoding.n_cells, encoding.ones + ones, encoding.zeros + zeros)
        assert ratio(moved) != ratio(encoding)
        # more truth or less noise is less privacy
        assert (ratio(moved) > ratio(encoding)) == (ones - zeros > 0)
        assert moved.channel() != encoding.channel()


@given(st.floats(0.01, 10), st.integers(2, 1000))
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(epsilon, n_cells):
    realized = UnaryEncoding.symmetric(epsilon=epsilon, n_cells=n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@given(st.floats(1e-3, 0.999))
def test_by_f_epsilon_is_the_papers_and_never_above(f):
    encoding = UnaryEncoding.rappor(f=f, n_cells=17)
    exact_flip = Fraction(repr(f)) / 2
    assert encoding.q >= exact_flip
    assert encoding.epsilon <= log_of_ratio(((1 - exact_flip) / exact_flip) ** 2)
    assert encoding.epsilon == pytest.approx(2 * math.log((1 - f / 2) / (f / 2)), rel=1e-9)


@pytest.mark.parametrize(
    ("f", "epsilon"), [(0.1, 5.89), (0.2, 4.39), (0.4, 2.77), (0.5, 2.20), (0.6, 1.69), (0.8, 0.81), (0.9, 0.40)]
)
def test_the_papers_epsilons_come_back(f, epsilon):
    # the paper truncates 0.4013 to 0.40
    assert UnaryEncoding.rappor(f=f, n_cells=17).epsilon == pytest.approx(epsilon, abs=0.0051)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_reports_have_the_channels_distribution(encoding, seed):
    check_reports(encoding, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_epsilon_are_caught(seed):
    right, wrong = (UnaryEncoding.symmetric(epsilon=e, n_cells=2) for e in (1.0, 1.1))
    reports = wrong.randomize(np.zeros(100_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=4), right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize("n_cells", [2, 8, 9, 17, 64, 65, 1024])
def test_every_report_has_the_same_length_whatever_the_value(n_cells):
    encoding = UnaryEncoding.rappor(f=0.5, n_cells=n_cells)
    check_one_at_a_time(encoding, range(0, n_cells, max(1, n_cells // 5)), seed=1)
    assert encoding.report_bytes == -(-n_cells // 8)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n_cells", [2, 17, 100])
def test_one_at_a_time_and_millions_share_one_distribution(n_cells, symmetric, seed):
    """Single reports and a compiled batch: each bit's mean is its threshold's, both ways."""
    encoding = UnaryEncoding(n_cells, COIN - QUARTER if symmetric else COIN // 2, QUARTER)
    cell, n_single, n_many = n_cells - 1, 2_000, 300_000
    source = SeededRandomness(seed)
    single = np.concatenate([encoding.randomize(np.array([cell]), randomness=source) for _ in range(n_single)])
    many = encoding.randomize(np.full(n_many, cell), randomness=SeededRandomness(seed + 1))
    for rows in (single, many):
        counts = encoding.statistics(rows, np.array([len(rows)]))[0]
        for j, count in enumerate(counts.tolist()):
            chance = encoding.p if j == cell else encoding.q
            assert_frequencies([count, len(rows) - count], [chance, 1 - chance], false_failure=1e-11)


def test_the_estimate_is_unbiased_with_the_stated_variance_by_listing_all_outcomes():
    """Three events in three cells, all 2**9 outcomes with their exact probabilities."""
    truth = [0, 0, 2]
    for encoding in (UnaryEncoding.rappor(f=0.5, n_cells=3), UnaryEncoding(3, COIN // 2, QUARTER // 2)):
        channel = encoding.channel()
        supports = {}
        for reports in product(range(8), repeat=3):
            chance = math.prod((channel[t][y] for t, y in zip(truth, reports, strict=True)), start=Fraction(1))
            key = tuple(sum(y >> j & 1 for y in reports) for j in range(3))
            supports[key] = supports.get(key, 0) + chance
        weights = [Fraction(1), Fraction(2), Fraction(-1)]
        p, q = encoding.p, encoding.q
        counts = [truth.count(j) for j in range(3)]

        def question(key, weights=weights, p=p, q=q):
            return sum(w * (c - 3 * q) / (p - q) for w, c in zip(weights, key, strict=True))

        mean = sum(question(key) * chance for key, chance in supports.items())
        variance = sum((question(key) - mean) ** 2 * chance for key, chance in supports.items())
        assert mean == sum(w * c for w, c in zip(weights, counts, strict=True))
        by_formula = sum(
            w**2 * (3 * q * (1 - q) + c * (p * (1 - p) - q * (1 - q))) / (p - q) ** 2
            for w, c in zip(weights, counts, strict=True)
        )
        assert variance == by_formula
        if not encoding.distribution.needs_counts:
            domain = domain_of(1, 3)
            plan = plan_for(domain, f=0.5)
            tally = Tally(Provenance(plan.fingerprint), np.array([[2, 1, 1]]), np.array([3]))
            noise = encoding.estimate(tally, plan, domain).noise
            assert noise.variance(np.array([[1.0, 2.0, -1.0]])) == pytest.approx(float(variance))


def test_estimates_follow_the_papers_equation_without_its_clip():
    domain = domain_of(2, 2)
    plan = plan_for(domain, f=0.2)
    tally = Tally(Provenance(plan.fingerprint), np.array([[4, 0], [1, 1]]), np.array([5, 2]))
    estimate = UnaryEncoding.rappor(f=0.2, n_cells=2).estimate(tally, plan, domain)
    expected = [[(n_i - 0.2 * n / 2) / (1 - 0.2) for n_i in row] for row, n in (((4, 0), 5), ((1, 1), 2))]
    np.testing.assert_allclose(estimate.values, expected, rtol=1e-12)


@pytest.mark.false_failure(2e-9)
def test_large_simulations_meet_the_truth(seed):
    """z-scores of 4,000 cells: their mean square is 1 within 7 standard errors (false failure below 1e-9)."""
    rng = np.random.default_rng(seed)
    n_days, k = 400, 10
    domain = domain_of(n_days, k)
    plan = plan_for(domain, f=0.3)
    encoding = UnaryEncoding.rappor(f=0.3, n_cells=k)
    counts = rng.poisson(40, (n_days, k))
    cells = np.repeat(np.tile(np.arange(k), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = encoding.statistics(encoding.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    estimate = encoding.estimate(Tally(Provenance(plan.fingerprint), statistics, per_day), plan, domain)
    z = (estimate.values - counts) / estimate.noise.standard_errors()
    assert abs((z**2).mean() - 1) < 7 * math.sqrt(2 / z.size)
    assert abs(z.mean()) < 7 / math.sqrt(z.size)


@pytest.mark.parametrize(
    ("f", "words"),
    [(0, "unprotected"), (1, "know nothing"), (math.nan, "between 0 and 1"), (-0.1, "between"), (1.5, "between")],
)
def test_an_f_that_protects_nothing_or_measures_nothing_is_refused_with_advice(f, words):
    with pytest.raises(SettingError, match=words):
        UnaryEncoding.rappor(f=f, n_cells=17)


@pytest.mark.parametrize(
    "bad", [{"ones": QUARTER, "zeros": QUARTER}, {"ones": COIN, "zeros": 1}, {"ones": 5, "zeros": 0}]
)
def test_thresholds_without_noise_or_without_signal_are_refused(bad):
    with pytest.raises(SettingError):
        UnaryEncoding(n_cells=3, **bad)


@pytest.mark.parametrize("cells", [np.array([0, 3]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError) as refusal:
        UnaryEncoding.rappor(f=0.5, n_cells=3).randomize(cells, randomness=SeededRandomness(1))
    assert "cells must" in str(refusal.value)


def test_a_tally_of_another_plan_is_not_estimated():
    domain = domain_of(1, 3)
    plan = plan_for(domain, f=0.5)
    tally = Tally(Provenance("another"), np.zeros((1, 3), np.int64), np.zeros(1, np.int64))
    with pytest.raises(PlanMismatch):
        UnaryEncoding.rappor(f=0.5, n_cells=3).estimate(tally, plan, domain)


def test_a_channel_too_large_to_list_says_so():
    with pytest.raises(SettingError, match="Ask for epsilon"):
        UnaryEncoding.rappor(f=0.5, n_cells=17).channel()
