"""Randomized response is exactly as private as it says, and exactly unbiased."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomized_response import CHUNK_REPORTS, RandomizedResponse
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

GRID = list(product((2, 3, 17, 100, 1000, 10_000), (0.01, 0.1, 0.4, 1.0, 2.2, 5.89, 10.0)))
RESPONSES = [
    RandomizedResponse.from_epsilon(epsilon=0.01, n_cells=3),
    RandomizedResponse.from_epsilon(epsilon=1.0, n_cells=5),
    RandomizedResponse.from_epsilon(epsilon=10.0, n_cells=2),
    RandomizedResponse.from_epsilon(epsilon=3.0, n_cells=300),
    RandomizedResponse(n_cells=4, keep=COIN // 3),
]


def plan_of(response: RandomizedResponse, domain: Domain) -> Plan:
    return Plan(domain, "response", response.epsilon, tuple(sorted(response.thresholds().items())))


@pytest.mark.parametrize("response", RESPONSES)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(response):
    check_channel(response)


@pytest.mark.parametrize("response", RESPONSES)
def test_moving_the_threshold_by_one_changes_the_channel(response):
    for step in (-1, 1):
        moved = RandomizedResponse(response.n_cells, response.keep + step)
        assert moved.channel() != response.channel()
        # more truth is less privacy
        assert (moved.p / moved.q > response.p / response.q) == (step > 0)


@pytest.mark.parametrize(("n_cells", "epsilon"), GRID)
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(n_cells, epsilon):
    response = RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    assert epsilon * (1 - 1e-9) <= response.epsilon <= epsilon
    odds = math.exp(epsilon)
    assert float(response.p) == pytest.approx(odds / (odds + n_cells - 1), rel=1e-9)
    assert float(response.q) == pytest.approx(1 / (odds + n_cells - 1), rel=1e-9)


@given(st.floats(0.01, 10), st.integers(2, 10_000))
def test_the_next_threshold_would_exceed_the_epsilon_asked_for(epsilon, n_cells):
    response = RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    assert response.epsilon <= epsilon <= RandomizedResponse(n_cells, response.keep + 1).epsilon


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("response", RESPONSES)
def test_reports_have_the_channels_distribution(response, seed):
    small = response.n_cells <= 5
    if small:
        check_reports(response, seed=seed, false_failure=1e-9)
    else:
        reports = response.randomize(np.full(200_000, 7), randomness=SeededRandomness(seed))
        assert_frequencies(np.bincount(numbers_of(reports)), response.channel()[7], false_failure=1e-9)


def numbers_of(reports: np.ndarray) -> np.ndarray:
    return reports.astype(np.int64) @ 256 ** np.arange(reports.shape[1])


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_epsilon_are_caught(seed):
    right, wrong = (RandomizedResponse.from_epsilon(epsilon=e, n_cells=3) for e in (1.0, 1.1))
    reports = wrong.randomize(np.zeros(200_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=3), right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize(
    ("n_cells", "n_bytes"), [(2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3), (1 << 24, 3), (1 << 25, 4)]
)
def test_a_report_is_the_cell_in_as_few_bytes_as_hold_the_largest(n_cells, n_bytes):
    certain = RandomizedResponse(n_cells, COIN - 1)
    check_one_at_a_time(certain, (0, n_cells // 2, n_cells - 1), seed=1)
    cells = np.arange(n_cells - 2, n_cells)
    reports = certain.randomize(cells, randomness=SeededRandomness(1))
    assert certain.report_bytes == reports.shape[1] == n_bytes
    assert numbers_of(reports).tolist() == cells.tolist()


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("n_cells", [2, 17, 100])
def test_one_at_a_time_and_millions_share_one_distribution(n_cells, seed):
    response = RandomizedResponse.from_epsilon(epsilon=1.0, n_cells=n_cells)
    cell, source = n_cells - 1, SeededRandomness(seed)
    single = np.concatenate([response.randomize(np.array([cell]), randomness=source) for _ in range(2_000)])
    many = response.randomize(np.full(CHUNK_REPORTS + 50_000, cell), randomness=SeededRandomness(seed + 1))
    for reports in (single, many):
        counts = response.statistics(reports, np.array([len(reports)]))[0]
        assert_frequencies(counts, response.channel()[cell], false_failure=1e-9)


def test_the_estimate_is_unbiased_with_the_stated_variance_by_listing_all_outcomes():
    """Three events in three cells: all 27 outcomes with their exact probabilities."""
    truth, weights = (0, 0, 2), (1, 2, -1)
    response = RandomizedResponse(3, COIN // 3)
    channel, p, q = response.channel(), response.p, response.q
    mean = square = Fraction(0)
    for reports in product(range(3), repeat=3):
        chance = math.prod((channel[t][y] for t, y in zip(truth, reports, strict=True)), start=Fraction(1))
        answer = sum(w * (reports.count(v) - 3 * q) / (p - q) for v, w in enumerate(weights))
        mean, square = mean + chance * answer, square + chance * answer**2
    assert mean == sum(w * truth.count(v) for v, w in enumerate(weights))
    one = response.distribution.variances(np.array(weights, np.float64))
    assert float(square - mean**2) == pytest.approx(sum(one[t] for t in truth), rel=1e-12)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(("n_cells", "epsilon"), [(10, 1.0), (1000, 5.0)])
def test_large_simulations_meet_the_truth(n_cells, epsilon, seed):
    """z-scores of many cells: their mean square is 1 within 7 standard errors (false failure below 1e-9)."""
    n_days = 4000 // n_cells
    domain = days_and_places(n_days, n_cells)
    response = RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    plan = plan_of(response, domain)
    counts = np.random.default_rng(seed).poisson(100, (n_days, n_cells))
    cells = np.repeat(np.tile(np.arange(n_cells), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = response.statistics(response.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    estimate = response.estimate(Tally(Provenance(plan.fingerprint), statistics, per_day), plan, domain)
    np.testing.assert_allclose(estimate.values.sum(axis=1), per_day)
    p, q = float(response.p), float(response.q)
    variances = (per_day[:, None] * q * (1 - q) + counts * (p - q) * (1 - p - q)) / (p - q) ** 2
    z = (estimate.values - counts) / np.sqrt(variances)
    assert abs((z**2).mean() - 1) < 7 * math.sqrt(3 / z.size)
    assert abs(z.mean()) < 7 / math.sqrt(z.size)


@pytest.mark.parametrize(("n_cells", "bad"), [(17, 17), (17, 255), (1000, 1000), (1000, 65_535), (70_000, 1 << 23)])
def test_reports_of_cells_that_do_not_exist_are_refused_with_their_number(n_cells, bad):
    response = RandomizedResponse.from_epsilon(epsilon=1.0, n_cells=n_cells)
    reports = response.randomize(np.zeros(10, int), randomness=SeededRandomness(1))
    for row in (3, 9):
        reports[row] = np.frombuffer(bad.to_bytes(response.report_bytes, "little"), np.uint8)
    with pytest.raises(FormatError, match="2 of 10 reports"):
        response.statistics(reports, np.array([4, 6]))


@pytest.mark.parametrize("n_cells", [17, 1000, 70_000])
def test_reports_may_lie_anywhere_in_memory(n_cells):
    response = RandomizedResponse.from_epsilon(epsilon=1.0, n_cells=n_cells)
    reports = response.randomize(np.arange(1000) % n_cells, randomness=SeededRandomness(1))
    right = response.statistics(reports, np.array([1000]))
    elsewhere = np.frombuffer(b"x" + reports.tobytes(), np.uint8)[1:].reshape(reports.shape)
    assert (response.statistics(elsewhere, np.array([1000])) == right).all()
    assert (response.statistics(reports[::-1], np.array([1000])) == right).all()


@pytest.mark.parametrize("bad", [{"keep": 0}, {"keep": COIN}, {"keep": -1}, {"n_cells": 1}, {"n_cells": 1 << 32}])
def test_thresholds_without_noise_or_without_signal_are_refused(bad):
    with pytest.raises(SettingError):
        RandomizedResponse(**({"n_cells": 3, "keep": COIN // 2} | bad))


@pytest.mark.parametrize("cells", [np.array([0, 3]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError, match="cells must"):
        RandomizedResponse(3, COIN // 2).randomize(cells, randomness=SeededRandomness(1))


def test_no_cells_make_no_reports():
    response = RandomizedResponse(3, COIN // 2)
    reports = response.randomize(np.array([], int), randomness=SeededRandomness(1))
    assert reports.shape == (0, 1)
    assert response.statistics(reports, np.array([0])).tolist() == [[0, 0, 0]]


def test_a_channel_too_large_to_list_says_so():
    with pytest.raises(SettingError, match="Ask for epsilon"):
        RandomizedResponse(2000, COIN // 2).channel()
